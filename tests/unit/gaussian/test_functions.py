"""SignMean4 and Owen's T: special values, symmetry, derivatives, digits, and the float version."""

from itertools import combinations, permutations
from typing import Any

import mpmath
import numpy as np
import pytest
import sympy as sp
from mpmath import mp
from symderiv_codegen.printers.pasting import pasted

from symderiv.compiled_code.translated_functions import TranslatedModule
from symderiv.gaussian.functions import OwenT, SignMean2, SignMean4
from symderiv.numerics import GAUSSIAN

R = sp.Rational
PAIRS = list(combinations(range(4), 2))
GENERIC = (R(1, 2), R(1, 3), R(-1, 5), R(1, 7), R(1, 4), R(2, 5))
SEED = 20240611


def difference(a: sp.Expr, b: sp.Expr, digits: int) -> float:
    # Apart: SymPy would look for ever more digits of an exact zero.
    return abs(float(a.evalf(digits) - b.evalf(digits)))


def as_mpf(value: sp.Expr, digits: int) -> mpmath.mpf:
    return mp.mpf(value.evalf(digits)._mpf_)


# --- SignMean4: exact special cases -----------------------------------------------------------


def test_equal_and_opposite_fields_merge_into_one_arcsine() -> None:
    s = sp.Symbol("s", real=True)
    r = sp.Symbol("r", real=True)
    assert SignMean4(1, r, s, r, s, R(1, 3)) == 2 / sp.pi * sp.asin(R(1, 3))
    assert SignMean4(r, s, -1, R(1, 3), -r, -s) == -2 / sp.pi * sp.asin(R(1, 3))


def test_an_independent_field_makes_the_mean_vanish() -> None:
    a, b, c = sp.symbols("a b c", real=True)
    assert SignMean4(a, 0, b, 0, c, 0) == 0
    assert SignMean4(0, 0, 0, a, b, c) == 0


def test_two_independent_pairs_give_a_product_of_arcsines() -> None:
    a, b = sp.symbols("a b", real=True)
    expected = 4 / sp.pi**2 * sp.asin(a) * sp.asin(b)
    assert SignMean4(a, 0, 0, 0, 0, b) == expected
    assert SignMean4(0, 0, a, b, 0, 0) == expected


@pytest.mark.parametrize("independent", [(), (2, 5)])
def test_fields_may_be_exchanged_and_turned_round(independent: tuple[int, ...]) -> None:
    symbols = [0 if n in independent else r for n, r in enumerate(sp.symbols("r0:6", real=True))]
    table = dict(zip(PAIRS, symbols, strict=True))
    reference = SignMean4(*symbols)
    for order in permutations(range(4)):
        moved = {pair: tuple(sorted(order[i] for i in pair)) for pair in PAIRS}
        assert SignMean4(*(table[moved[pair]] for pair in PAIRS)) == reference  # type: ignore[index]
        for turned in range(4):
            sign = {pair: -1 if turned in pair else 1 for pair in PAIRS}
            other = SignMean4(*(sign[pair] * table[moved[pair]] for pair in PAIRS))  # type: ignore[index]
            assert other == -reference


# --- SignMean4: numbers -----------------------------------------------------------------------


def test_rewriting_as_an_integral_gives_the_same_digits() -> None:
    value = SignMean4(*GENERIC)
    rewritten = value.rewrite(sp.Integral)
    (integral,) = rewritten.atoms(sp.Integral)
    (t, *_), integrand = integral.limits[0], integral.function
    with mp.workdps(30):
        factor = as_mpf(rewritten / integral, 30)
        total = factor * mp.quad(sp.lambdify(t, integrand, "mpmath"), [0, 1])
        assert abs(total - as_mpf(value, 30)) < mp.mpf(10) ** -28


def test_orthoscheme_with_equal_halves_has_its_known_probability() -> None:
    # Correlations 1/2: the four fields are differences from a fifth; by exchange symmetry of five
    # independent variables the all-positive orthant has probability 1/5 (the fifth is smallest).
    # With means of two signs 1/3, P = (1 + 6/3 + E4)/16.
    half = R(1, 2)
    for digits in (40, 100):
        assert difference(SignMean4(*[half] * 6), R(16, 5) - 3, digits) < 10.0 ** (2 - digits)


def test_a_singular_matrix_of_rank_two_is_a_sum_over_angles() -> None:
    # Fields at angles in a plane: the product of signs is piecewise constant in the angle.
    angles = [0, R(1, 5), R(1, 2), R(4, 7)]
    r = [sp.cos(sp.pi * (angles[i] - angles[j])) for i, j in PAIRS]
    edges = sorted((a + R(1, 2)) % 1 for a in angles)
    mean = sp.S.Zero
    for k, edge in enumerate(edges):
        end = edges[k + 1] if k < 3 else edges[0] + 1
        middle = float((edge + end) / 2)
        signs = [np.sign(np.cos(np.pi * (middle - float(a)))) for a in angles]
        mean += int(np.prod(signs)) * (end - edge)
    assert difference(SignMean4(*r), mean, 40) < 1e-25


def test_fields_equal_to_more_than_the_digits_asked_for_are_merged() -> None:
    near = 1 - R(1, 10**60)
    r, s, t = R(1, 3), R(-1, 5), R(1, 7)
    for sign in (1, -1):
        value = SignMean4(sign * near, r, s, sign * r, sign * s, t)
        assert abs(value.evalf(15) - sign * 2 / sp.pi * sp.asin(t)) < 1e-14


def test_numbers_that_are_no_correlation_matrix_give_nan() -> None:
    near = R(9, 10)
    assert SignMean4(near, near, R(1, 2), -near, R(1, 2), 0).evalf() is sp.nan
    assert SignMean4(R(3, 2), R(1, 3), R(1, 2), R(1, 4), R(1, 2), R(1, 5)).evalf() is sp.nan


def test_derivatives_are_prices_partial_correlations() -> None:
    step = R(1, 10**15)
    x = sp.Symbol("x", real=True)
    for slot in range(6):
        up, down, symbolic = list(GENERIC), list(GENERIC), list(GENERIC)
        up[slot] += step
        down[slot] -= step
        symbolic[slot] = x
        slope = (SignMean4(*up).evalf(60) - SignMean4(*down).evalf(60)) / (2 * step)
        exact = SignMean4(*symbolic).diff(x).subs(x, GENERIC[slot])
        assert difference(exact, slope, 40) < 1e-28


def test_symbols_stay_unevaluated_and_print() -> None:
    value = SignMean4(*sp.symbols("r0:6", real=True))
    assert value.evalf() == value
    assert value.is_extended_real
    assert sp.latex(value**2).startswith(r"\mathrm{S}_4^{2}")


# --- the float version ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def compiled() -> dict[str, Any]:
    """The functions with decorators, as in solver modules, made ready as runs do."""
    wanted = ("sign_mean4", "sign_mean4_cov")
    decorator = '@njit(error_model="numpy", fastmath=False)'
    of_many = '@njit(error_model="numpy", fastmath={"contract"})'
    parts = pasted(wanted, GAUSSIAN.doubles, decorator, of_many=of_many)
    imports = "import math\nimport numpy as np\nfrom numba import njit\n"
    module = TranslatedModule("\n\n".join([imports, *parts]))
    return {name: module.function(name, pytest.fail) for name in wanted}


def exact_mean(covariance: np.ndarray) -> sp.Expr:
    """SignMean4 of the covariance's binary numbers, taken as exact."""
    c = [[sp.Rational(float(entry)) for entry in row] for row in covariance]
    return SignMean4(*[c[i][j] / sp.sqrt(c[i][i] * c[j][j]) for i, j in PAIRS])


def covariances(rng: np.random.Generator, kind: str, epsilon: float) -> np.ndarray:
    loadings = rng.normal(size=(4, 4))
    small = np.sqrt(2 * epsilon)
    if kind == "pair":
        loadings[1] = -loadings[0] + small * rng.normal(size=4)
    elif kind == "two pairs":
        loadings[1] = loadings[0] + small * rng.normal(size=4)
        loadings[3] = loadings[2] + small * rng.normal(size=4)
    elif kind == "all":
        loadings = loadings[:1] + small * loadings
    elif kind == "rank three":
        loadings[3] = loadings[:3].sum(axis=0) + small * loadings[3]
    return loadings[(order := rng.permutation(4))] @ loadings[order].T


@pytest.mark.turns(6)
@pytest.mark.parametrize("kind", ["regular", "pair", "two pairs", "all", "rank three"])
def test_the_compiled_mean_has_fourteen_digits_also_as_fields_align(
    compiled: dict[str, Any], kind: str
) -> None:
    rng = np.random.default_rng(SEED)
    print("seed", SEED)
    for exponent in (1, 4, 7, 10, 12):
        c = covariances(rng, kind, 10.0**-exponent)
        value = compiled["sign_mean4_cov"](*c[np.triu_indices(4)])
        expected = float(exact_mean(c).evalf(20))
        if np.isnan(expected):  # rounding left the matrix indefinite: nothing exact to compare
            assert abs(value) <= 1
            continue
        assert abs(value - expected) < 1e-14, (kind, exponent)


def test_exactly_singular_matrices_have_their_limits(compiled: dict[str, Any]) -> None:
    # Integer loadings: the entries and all minors are exact.
    rng = np.random.default_rng(SEED)
    for rank in (1, 2, 3):
        for _ in range(4):
            loadings = rng.integers(1, 6, size=(4, rank)) * rng.choice([-1, 1], size=(4, rank))
            c = (loadings @ loadings.T).astype(float)
            value = compiled["sign_mean4_cov"](*c[np.triu_indices(4)])
            assert abs(value - float(exact_mean(c).evalf(20))) < 1e-14, (rank, loadings)


def test_no_variance_and_no_room_never_give_nan(compiled: dict[str, Any]) -> None:
    mean = compiled["sign_mean4_cov"]
    one = np.ones((4, 4))
    for c in (
        np.zeros((4, 4)),
        one,
        1e-200 * one,
        1e200 * one,
        1.0000000001 * one - 1e-10 * np.eye(4),
    ):
        assert np.isfinite(mean(*c[np.triu_indices(4)]))
    assert mean(*one[np.triu_indices(4)]) == pytest.approx(1.0, abs=1e-14)
    outside = np.eye(4) + 0.9 * (one - np.eye(4))
    outside[0, 1] = outside[1, 0] = -0.9
    assert np.isfinite(mean(*outside[np.triu_indices(4)]))


def test_scaling_the_fields_changes_nothing(compiled: dict[str, Any]) -> None:
    rng = np.random.default_rng(SEED)
    c = covariances(rng, "two pairs", 1e-6)
    scale = np.array([1.0, 2.0**-300, 2.0**250, 2.0**-7])
    mean = compiled["sign_mean4_cov"]
    scaled = c * np.outer(scale, scale)
    upper = np.triu_indices(4)
    assert mean(*c[upper]) == mean(*scaled[upper])


# --- Owen's T ---------------------------------------------------------------------------------


def owen_brute(h: sp.Expr, a: sp.Expr) -> mpmath.mpf:
    square, end = as_mpf(h**2, 40), as_mpf(a, 40)
    points = mp.linspace(0, end, 9)
    return mp.quad(lambda x: mp.exp(-square * (1 + x * x) / 2) / (1 + x * x), points) / (2 * mp.pi)


def test_owens_t_has_its_exact_special_values() -> None:
    h = sp.Symbol("h", real=True)
    a = sp.Symbol("a", real=True)
    assert OwenT(h, 0) == 0
    assert OwenT(0, a) == sp.atan(a) / (2 * sp.pi)
    assert OwenT(sp.oo, a) == 0
    assert OwenT(0, sp.oo) == R(1, 4)
    assert OwenT(h, 1) == (1 - sp.erf(h / sp.sqrt(2)) ** 2) / 8
    assert OwenT(h, sp.oo) == sp.erfc(sp.Abs(h) / sp.sqrt(2)) / 4
    assert OwenT(-h, -a) == -OwenT(h, a)


@pytest.mark.parametrize(
    ("h", "a"),
    [
        *((R(1, 2), R(1, 3)), (2, R(5, 2)), (5, R(1, 2)), (sp.I, 2), (2 * sp.I, R(3, 4))),
        *((sp.I / 10, 40), (sp.I / 20, 80), (sp.I / 2, 9), (R(1, 100), 60)),
    ],
)
def test_owens_t_equals_its_integral(h: sp.Expr, a: sp.Expr) -> None:
    h, a = sp.sympify(h), sp.sympify(a)
    with mp.workdps(35):
        expected = owen_brute(h, a)
        assert abs(as_mpf(OwenT(h, a), 25) / expected - 1) < mp.mpf(10) ** -24


def test_owens_t_keeps_relative_digits_far_out() -> None:
    # T(h, a) -> (1/4) erfc(h / sqrt 2) for a h large; Mills ratio for the tail.
    value, tail = OwenT(40, 3).evalf(30), (sp.erfc(40 / sp.sqrt(2)) / 4).evalf(30)
    assert abs(value / tail - 1) < sp.Float("1e-29", 30)
    assert difference(OwenT(R(1, 10), 10**6), OwenT(R(1, 10), sp.oo), 40) < 1e-30


def test_owens_t_differentiates_in_both_arguments() -> None:
    h, a = sp.symbols("h a", real=True)
    point = {h: R(2, 3), a: R(3, 5)}
    step = R(1, 10**15)
    for variable in (h, a):
        exact = OwenT(h, a).diff(variable).subs(point)
        up = {**point, variable: point[variable] + step}
        down = {**point, variable: point[variable] - step}
        slope = (OwenT(up[h], up[a]).evalf(60) - OwenT(down[h], down[a]).evalf(60)) / (2 * step)
        assert difference(exact, slope, 40) < 1e-28


def test_owens_t_with_symbols_stays_and_prints() -> None:
    h, a = sp.symbols("h a", real=True)
    assert OwenT(h, a).evalf() == OwenT(h, a)
    assert sp.latex(OwenT(h, a)) == r"T\!\left(h,\, a\right)"
    assert OwenT(h, a).rewrite(sp.Integral).has(sp.Integral)


@pytest.mark.parametrize(("h1", "h2"), [(R(1, 2), R(4, 3)), (0, R(-3, 4)), (R(5, 2), 1)])
@pytest.mark.parametrize("rho", [R(-2, 5), R(7, 10)])
def test_two_signs_at_imaginary_places_obey_price(h1: sp.Expr, h2: sp.Expr, rho: sp.Expr) -> None:
    """Independent they are erf(i h_1/√2) erf(i h_2/√2); the slope is 4 times the density."""
    with mp.workdps(30):
        a, b, end = (mp.mpf(sp.Rational(value).p) / sp.Rational(value).q for value in (h1, h2, rho))

        def density(r: mpmath.mpf) -> mpmath.mpf:
            square = (a * a - 2 * r * a * b + b * b) / (1 - r * r)
            return mp.exp(square / 2) / (2 * mp.pi * mp.sqrt(1 - r * r))

        start = -mp.erfi(a / mp.sqrt(2)) * mp.erfi(b / mp.sqrt(2))
        expected = start + 4 * mp.quad(density, mp.linspace(0, end, 4))
        assert abs(as_mpf(SignMean2(h1, h2, rho), 20) - expected) < mp.mpf(10) ** -18


def test_two_signs_at_imaginary_places_of_one_field() -> None:
    assert float(SignMean2(R(1, 2), R(1, 2), 1).evalf(20)) == 1
    assert float(SignMean2(R(1, 2), R(-1, 2), -1).evalf(20)) == -1
    assert SignMean2(sp.Symbol("h"), 1, 0).evalf() == SignMean2(sp.Symbol("h"), 1, 0)
