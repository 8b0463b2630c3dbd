"""Elementary functions of many numbers: their stated errors, against mpmath."""

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import mpmath
import numpy as np
import pytest
from numba import njit
from symderiv_codegen.printers import elementary
from symderiv_codegen.printers.coefficients import POLYNOMIALS
from symderiv_kernels.fast import runtime

Numbers = np.ndarray
Function = Callable[[Numbers, int], None]

LANES = 16


@pytest.mark.parametrize("polynomial", POLYNOMIALS, ids=lambda p: p.name)
def test_coefficients_are_those_that_the_script_computes(polynomial: Any) -> None:
    assert getattr(elementary, polynomial.name) == polynomial.coefficients()


def values(function: Function, numbers: Numbers) -> Numbers:
    """The function of all numbers; the array has room for more."""
    work = np.concatenate([numbers, np.full(-len(numbers) % LANES, 0.5)])
    function(work, len(numbers))
    return work[: len(numbers)]


def largest_error(function: Function, exact: Callable[[Any], Any], numbers: Numbers) -> float:
    """In units of the last place of the exact value."""
    mp = mpmath.MPContext()
    mp.prec = 130
    worst = 0.0
    for x, found in zip(numbers, values(function, numbers), strict=True):
        wanted = exact(mp)(mp.mpf(float(x)))
        worst = max(worst, float(abs(mp.mpf(float(found)) - wanted)) / math.ulp(float(wanted)))
    return worst


@cache
def compiled(function: Function) -> Function:
    return njit(error_model="numpy")(function)


@cache
def fused(function: Function) -> Function:
    """As it would be where products and sums are rounded together."""
    return njit(error_model="numpy", fastmath={"contract"})(function)


def arcsine_points() -> Numbers:
    rng = np.random.default_rng(5)
    near = np.logspace(-16, -1, 200)
    half = 0.5 + np.arange(-40, 41) * 2.0**-53
    tiny = np.logspace(-323, -1, 150)
    inside = np.concatenate([np.linspace(0, 1, 1601), rng.uniform(0, 1, 1500)])
    points = np.concatenate([inside, 1 - near, half, tiny, np.nextafter(1, [0, 1])])
    return np.where(rng.random(points.size) < 0.5, -points, points)


@pytest.mark.parametrize("made", [compiled, fused, lambda function: function])
def test_arcsines_are_within_two_units_of_the_last_place(made: Callable[..., Function]) -> None:
    assert largest_error(made(elementary._arcsines), lambda mp: mp.asin, arcsine_points()) < 2.0


def test_arcsines_at_the_edges() -> None:
    arcsines = compiled(elementary._arcsines)
    tiny = 5e-324
    found = values(arcsines, np.array([1.0, -1.0, 0.0, -0.0, tiny, -tiny, 1e-300]))
    assert found.tolist() == [math.pi / 2, -math.pi / 2, 0.0, 0.0, tiny, -tiny, 1e-300]
    assert np.signbit(found).tolist() == [False, True, False, True, False, True, False]
    # As the library compiled by numba: nothing is clipped here.
    beyond = np.array([np.nextafter(1.0, 2.0), -1.0 - 1e-12, 7.0, math.inf, -math.inf, math.nan])
    assert np.isnan(values(arcsines, beyond)).all()


@pytest.mark.parametrize("made", [compiled, fused, lambda function: function])
def test_arctangents_are_within_two_units_of_the_last_place(made: Callable[..., Function]) -> None:
    rng = np.random.default_rng(6)
    sizes = np.exp(rng.uniform(-20, 20, 1500))
    edges = np.tan(math.pi / 8 * np.array([1.0, 3.0]))[:, None] * (1 + np.arange(-30, 31) * 2e-16)
    inside = np.concatenate(
        [sizes, edges.ravel(), np.linspace(0, 4, 1201), [5e-324, 1e-310, 1e300]]
    )
    points = np.where(rng.random(inside.size) < 0.5, -inside, inside)
    assert largest_error(made(elementary._arctangents), lambda mp: mp.atan, points) < 2.0


def test_arctangents_at_the_edges() -> None:
    found = values(compiled(elementary._arctangents), np.array([0.0, -0.0, math.inf, -math.inf]))
    assert found.tolist() == [0.0, 0.0, math.pi / 2, -math.pi / 2]
    assert np.signbit(found).tolist() == [False, True, False, True]
    assert np.isnan(values(compiled(elementary._arctangents), np.array([math.nan, 1.0]))[0])


def test_inverse_roots_by_vector_instructions() -> None:
    rng = np.random.default_rng(2)
    numbers = np.concatenate([np.exp(rng.uniform(-300, 300, 2000)), [1.0, 4.0, 5e-324, 1e308]])
    found = numbers.copy()
    found.resize(numbers.size + 8)
    found[-8:] = 9.0
    runtime.to_inverse_roots(found, numbers.size)
    # Two roundings, each of half a unit.
    exact = [1 / mpmath.sqrt(mpmath.mpf(x)) for x in numbers]
    for value, wanted in zip(found, exact, strict=False):
        assert abs(mpmath.mpf(value) - wanted) <= 1.51 * math.ulp(float(wanted))
    assert (found[-4:] == 9.0).all()
    edges = np.array([0.0, -0.0, math.inf, math.nan, -1.0, 1.0, 1.0, 1.0])
    runtime.to_inverse_roots(edges, 5)
    assert edges[:3].tolist() == [math.inf, -math.inf, 0.0]
    assert np.isnan(edges[3:5]).all()


def test_numbers_behind_the_last_sixteen_are_left_alone() -> None:
    work = np.full(48, 0.25)
    elementary._arcsines(work, 17)
    assert np.allclose(work[:17], math.asin(0.25), rtol=1e-15)
    assert (work[32:] == 0.25).all()
