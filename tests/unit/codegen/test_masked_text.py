"""Functions as text for several runs at a time: the values of one run in each lane."""

import ast
import inspect
import math

import mpmath
import numpy as np
import pytest
import symderiv_kernels.lanes.runtime as lanes
from numba import njit
from symderiv_codegen.printers.masked_text import (
    OneByOneError,
    defined,
    for_lanes,
    masked_function,
)
from symderiv_codegen.printers.pasting import pasted

from symderiv.numerics.extension import GAUSSIAN
from symderiv.numerics.signs.fields import _vectors4
from symderiv.numerics.signs.owens_t import _owen_t
from symderiv.numerics.signs.shifted_signs import _shifted_signs, _sign_covariance
from symderiv.numerics.signs.sign_covariances import _SERIES_REACH
from symderiv.numerics.signs.sign_mean4 import _mean_of_signs

WIDTH = lanes.WIDTH


def _chosen_by_case(a, b):  # type: ignore[no-untyped-def]
    """Branches with and without another case, early returns, swaps, names of one case alone."""
    if a == 0.0 and not b > 1.0:
        return 7.0
    pair = (a, 0.0)
    largest = 0.0
    if a > b:
        twice = 2.0 * a
        pair = (twice, b)
        a, b = b, a
    elif a > -1.0:
        largest = a
    else:
        largest = -3.0 if b < -1.0 or a < -2.0 else 5.0
    if b < 0.0:
        found = -b
        found *= 1.5
    else:
        found = a * b
    for n in range(3):
        if found > n:
            found = found - 0.5 * (n + 1)
    return found + pair[0] - pair[1] + largest + min(a, b, 0.5)


def _for_lanes(names: set[str]) -> str:
    library = GAUSSIAN.doubles
    parts = pasted(names, library, "", (), "", library.lanes)
    single = lambda wanted: pasted(wanted, library, "")  # noqa: E731
    return "\n\n".join(for_lanes(parts, names, defined(library.lanes), single))


def _evaluated(text: str, name: str, arguments: np.ndarray, results: str = "found") -> np.ndarray:
    """Return the values of a function of lanes, arguments of shape (n, WIDTH)."""
    known = {**vars(lanes), "np": np, "math": math}
    made = [each.name for each in ast.parse(text).body if isinstance(each, ast.FunctionDef)]
    exec(compile(text, "lanes", "exec"), known)
    for each in made:
        known[each] = njit(known[each], error_model="numpy")
    given = ", ".join(f"lanes_at(given, {n})" for n in range(len(arguments)))
    caller = f"def call(given, out):\n    found = {name}({given})\n"
    parts = results.split()
    caller += "".join(f"    put_lanes(out, {n}, {part})\n" for n, part in enumerate(parts))
    exec(caller, known)
    found = np.zeros((len(parts), WIDTH))
    njit(known["call"], error_model="numpy")(np.ravel(arguments), found.ravel())
    return found


def test_branches_are_choices_in_each_lane() -> None:
    text = masked_function(inspect.getsource(_chosen_by_case))
    drawn = np.random.default_rng(0).uniform(-4, 4, (12, 2, WIDTH))
    drawn[0, 0], drawn[1, 1] = 0.0, 0.0
    known = {**vars(lanes), "math": math}
    exec(compile(text, "lanes", "exec"), known)
    function = njit(known["_chosen_by_case"], error_model="numpy")

    @njit(error_model="numpy")
    def call(given, out):  # type: ignore[no-untyped-def]
        lanes.put_lanes(out, 0, function(lanes.lanes_at(given, 0), lanes.lanes_at(given, 1)))

    for case in drawn:
        out = np.zeros(WIDTH)
        call(np.ravel(case), out)
        expected = [_chosen_by_case(*map(float, column)) for column in case.T]
        np.testing.assert_array_equal(out, expected)


def test_loops_that_differ_from_run_to_run_have_no_form() -> None:
    with pytest.raises(OneByOneError):
        masked_function("def f(x):\n    while x > 1.0:\n        x = 0.5 * x\n    return x\n")
    with pytest.raises(OneByOneError):
        masked_function("def f(x, v):\n    return v[int(x)]\n")


def test_what_has_no_form_is_called_run_by_run() -> None:
    text = "def halved(x):\n    while x > 1.0:\n        x = 0.5 * x\n    return x\n"
    found = "\n\n".join(for_lanes([text], {"halved"}, frozenset(), lambda names: [text]))
    given = np.random.default_rng(1).uniform(0, 40, (1, WIDTH))
    expected = [math.ldexp(math.frexp(x)[0], 0) if x > 1.0 else x for x in given[0]]
    values = _evaluated(found, "halved", given)[0]
    np.testing.assert_array_equal(values, [1.0 if e == 0.5 else e for e in expected])


def _covariances(drawn: np.random.Generator, kind: int) -> np.ndarray:
    """Covariances of four fields: general, on the edge, with equal, opposite or missing fields."""
    rows = drawn.normal(size=(4, 4)) * 10.0 ** drawn.uniform(-2, 2, (4, 1))
    if kind == 1:
        rows[3] = drawn.normal(size=3) @ rows[:3]
    elif kind == 2:
        rows[2] = -3.0 * rows[0]
    elif kind == 3:
        rows[1] = rows[3] * (1.0 + 1e-9)
    elif kind == 4:
        rows[drawn.integers(4)] = 0.0
    covariance = rows @ rows.T
    return covariance[np.triu_indices(4)]


@pytest.mark.turns(3)
def test_means_of_four_signs_are_those_of_one_run() -> None:
    drawn = np.random.default_rng(5)
    given = np.array([_covariances(drawn, lane % 5) for lane in range(WIDTH)]).T
    found = _evaluated(_for_lanes({"sign_mean4_cov"}), "sign_mean4_cov", given)[0]
    expected = [_mean_of_signs(tuple(map(float, column))) for column in given.T]
    np.testing.assert_allclose(found, expected, rtol=0, atol=3e-14)


@pytest.mark.turns(3)
def test_fields_and_owens_function_are_those_of_one_run() -> None:
    drawn = np.random.default_rng(6)
    given = np.array([_covariances(drawn, 4 * (lane % 2)) for lane in range(WIDTH)]).T
    parts = " ".join([*(f"found[{n}][{m}]" for n in range(4) for m in range(4)), "found[4]"])
    found = _evaluated(_for_lanes({"_fields4"}), "_fields4", given, parts)
    single = [_vectors4(tuple(map(float, column))) for column in given.T]
    expected = np.array([[*np.ravel(each[:4]), each[4]] for each in single]).T
    np.testing.assert_allclose(found, expected, rtol=1e-14, atol=1e-300)
    given = drawn.normal(size=(2, WIDTH)) * 10.0 ** drawn.uniform(-2, 1, (2, WIDTH))
    given[0, 3], given[1, 5] = 0.0, 1.0
    found = _evaluated(_for_lanes({"_owen_t"}), "_owen_t", given)[0]
    expected = np.array([_owen_t(*map(float, column)) for column in given.T])
    np.testing.assert_allclose(found, expected, rtol=0, atol=5e-16)
    given = np.array([*given, [0.0, 0.3, -0.6, 0.9, 0.99, -0.999, 1.0, -1.0]])
    found = _evaluated(_for_lanes({"_shifted_signs"}), "_shifted_signs", given)[0]
    expected = np.array([_shifted_signs(*map(float, column)) for column in given.T])
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-15)


@pytest.mark.turns(3)
def test_covariances_of_signs_take_each_runs_own_rule() -> None:
    text = _for_lanes({"_sign_covariances"})
    text += """

def covariances(h, k, r):
    first, second = stack_array(2, (2,)), stack_array(2, (2,))
    correlation, total = stack_array(2, (2,)), stack_array(2, (2,))
    first[0], second[0], correlation[0] = h, k, r
    first[1], second[1], correlation[1] = k, h, 0.5 * r
    _sign_covariances(first, second, correlation, total, 2)
    return first[0], first[1]
"""
    drawn = np.random.default_rng(7)
    given = drawn.normal(size=(3, WIDTH)) * 1.5
    given[2] = [0.1, -0.45, 0.6, -0.75, 0.8, -0.93, 0.97, -0.9999]
    found = _evaluated(text, "covariances", given, "found[0] found[1]")
    for column, values in zip(given.T, found.T, strict=True):
        h, k, r = map(float, column)
        expected = [_sign_covariance(h, k, r), _sign_covariance(k, h, 0.5 * r)]
        np.testing.assert_allclose(values, expected, rtol=0, atol=2e-15)
    # alone, or beside runs that need other rules: the same to the last bit
    alone = _evaluated(text, "covariances", np.tile(given[:, 1:2], WIDTH), "found[0] found[1]")
    np.testing.assert_array_equal(alone[:, 0], found[:, 1])


def _by_price(h: float, k: float, r: float) -> float:
    """Price's integral in multiprecision."""
    with mpmath.workdps(30):
        h, k, r = mpmath.mpf(h), mpmath.mpf(k), mpmath.mpf(r)

        def density(angle: mpmath.mpf) -> mpmath.mpf:
            square = h * h + k * k - 2 * h * k * mpmath.sin(angle)
            return mpmath.exp(-square / (2 * mpmath.cos(angle) ** 2))

        end = mpmath.asin(r)
        return float(2 / mpmath.pi * mpmath.quad(density, [0, end / 2, end]))


@pytest.mark.turns(3)
def test_mehlers_series_keeps_its_error_where_terms_end() -> None:
    text = _for_lanes({"_series_sum"})
    drawn = np.random.default_rng(8)
    ends = _SERIES_REACH.reshape(-1, WIDTH)
    for number in range(6):
        h, k = drawn.normal(size=(2, WIDTH)) * 2.0 ** drawn.uniform(-4, 3, (2, WIDTH))
        k = (k, h, -h)[number % 3]
        h[0], k[1], h[2] = 0.0, 0.0, 1e9
        r = ends[number % len(ends)] * drawn.choice([-1, 1], WIDTH) * drawn.uniform(0.98, 1.0)
        found = _evaluated(text, "_series_sum", np.array([h, k, r]))[0]
        expected = [_by_price(*column) for column in np.array([h, k, r]).T]
        np.testing.assert_allclose(found, expected, rtol=0, atol=5e-16)


def test_what_mehlers_series_leaves_out_is_below_rounding() -> None:
    """The largest |He_m(h) φ(h)| / √m! over h bound all terms, whatever the means."""
    h = np.linspace(0.0, 40.0, 40001)
    rows = [np.zeros_like(h), np.exp(-0.5 * h * h) / math.sqrt(2.0 * math.pi)]
    for m in range(300):
        rows.append((h * rows[-1] - math.sqrt(m) * rows[-2]) / math.sqrt(m + 1))
    largest = np.max(np.abs(rows[1:]), axis=1) ** 2
    orders = np.arange(largest.size)
    for number, r in enumerate(_SERIES_REACH):
        terms = 4.0 * r ** (orders + 1) / (orders + 1) * largest
        left_out = terms[4 * number + 4 :].sum()
        assert 5e-18 < left_out < 2.5e-17, (number, left_out)
