"""Roots of the secular equation against dense eigenvalues and against 60-digit Newton steps."""

from __future__ import annotations

import math

import flint
import numpy as np
import pytest

from symderiv.analysis.linear import secular_loops
from symderiv.analysis.linear.secular import merged, secular_roots
from symderiv.inputs.spectra import power_law

SEED = 11


def linear_problem(L: int, exponent: float, eta: float) -> tuple[np.ndarray, np.ndarray]:
    component = power_law(L, exponent).single()
    rho = component.eigenvalue[::-1].copy()
    return 2.0 * eta * rho, eta**2 * component.weight * rho**2


def errors_in_60_digits(pole: np.ndarray, strength: np.ndarray) -> tuple[float, float, float]:
    """Largest relative errors of roots, of offsets, and of slopes."""
    roots = secular_roots(pole, strength, pole)
    worst = [0.0, 0.0, 0.0]
    before = flint.ctx.dps
    flint.ctx.dps = 60
    try:
        d, a = ([flint.arb(float(x)) for x in array] for array in (pole, strength))
        for j in range(pole.size):
            origin, offset = flint.arb(float(roots.origin[j])), flint.arb(float(roots.offset[j]))
            s = origin + offset
            for _ in range(4):
                value, slope = flint.arb(-1), flint.arb(0)
                for x, y in zip(d, a, strict=True):
                    value += y / (x - s)
                    slope += y / (x - s) ** 2
                s = (s - value / slope).mid()
            exact = (s, s - origin, slope)
            found = (origin + offset, offset, flint.arb(float(roots.slope[j])))
            for place, (one, two) in enumerate(zip(exact, found, strict=True)):
                worst[place] = max(worst[place], abs(float((one - two) / one)))
            # between its poles, so every root is there once
            assert s < d[j]
            assert j == 0 or s > d[j - 1]
    finally:
        flint.ctx.dps = before
    return worst[0], worst[1], worst[2]


@pytest.mark.parametrize("exponent", [0.25, 1.0, 1.5])
@pytest.mark.parametrize(("L", "eta"), [(1, 0.5), (2, 1.7), (9, 1.99), (60, 0.01), (60, 1.0)])
def test_roots_are_accurate_to_the_last_places(L: int, exponent: float, eta: float) -> None:
    root, offset, slope = errors_in_60_digits(*linear_problem(L, exponent, eta))
    # near the limit of stability the lowest root is as uncertain as 1 - eta/2
    assert root < 1e-14 if eta < 1.9 else root < 1e-13
    assert offset < 1e-13
    assert slope < 2e-13


def test_an_unstable_learning_rate_has_one_negative_root() -> None:
    pole, strength = linear_problem(20, 1.0, 2.7)
    roots = secular_roots(pole, strength, pole)
    assert roots.value[0] < 0.0 < roots.value[1]
    assert errors_in_60_digits(pole, strength)[0] < 1e-14


@pytest.mark.parametrize("eta", [0.3, 1.6, 2.5])
def test_roots_are_the_eigenvalues_of_the_matrix(eta: float) -> None:
    random = np.random.default_rng(SEED)
    pole = np.sort(random.uniform(0.1, 5.0, 25))
    vector = eta * random.uniform(0.01, 0.3, 25)
    expected, vectors = np.linalg.eigh(np.diag(pole) - np.outer(vector, vector))
    numerator = random.standard_normal(25)
    roots = secular_roots(pole, vector**2, numerator * vector)
    np.testing.assert_allclose(roots.value, expected, rtol=0.0, atol=3e-14)
    # eigenvectors are vector/(pole - s): the sums that weights are made of
    unnormalised = vector[:, None] / (pole[:, None] - expected[None, :])
    np.testing.assert_allclose(roots.slope, np.sum(unnormalised**2, axis=0), rtol=1e-9)
    np.testing.assert_allclose(roots.moment, numerator @ unnormalised, rtol=1e-8, atol=1e-8)
    assert np.allclose(np.abs(np.sum(vectors * unnormalised, axis=0)) ** 2, roots.slope)


def test_poles_that_nearly_coincide_and_strengths_of_all_sizes() -> None:
    random = np.random.default_rng(SEED)
    pole = np.sort(random.uniform(0.5, 1.0, 30))
    pole[5] = np.nextafter(pole[4], 2.0)
    pole[11] = pole[10] * (1.0 + 1e-14)
    pole[20:23] = pole[20] * (1.0 + np.array([0.0, 1e-9, 2e-9]))
    strength = 10.0 ** random.uniform(-40.0, -2.0, 30)
    root, offset, _ = errors_in_60_digits(pole, strength)
    assert root < 1e-15
    assert offset < 1e-13


def test_equal_poles_count_once() -> None:
    pole, strength, other = merged(
        np.array([2.0, 1.0, 2.0]), np.array([0.1, 0.2, 0.3]), np.array([1.0, 2.0, 3.0])
    )
    assert pole.tolist() == [1.0, 2.0]
    np.testing.assert_allclose(strength, [0.2, 0.4])
    np.testing.assert_allclose(other, [2.0, 4.0])


def test_large_spectra_keep_the_accuracy() -> None:
    pole, strength = linear_problem(3000, 1.0, 1.0)
    roots = secular_roots(pole, strength, pole)
    assert np.all(np.diff(roots.value) > 0.0)
    before = flint.ctx.dps
    flint.ctx.dps = 60
    try:
        d, a = ([flint.arb(float(x)) for x in array] for array in (pole, strength))
        for j in (0, 1, 1500, 2990, 2999):
            s = start = flint.arb(float(roots.origin[j])) + flint.arb(float(roots.offset[j]))
            for _ in range(3):
                parts = [(y, x - s) for x, y in zip(d, a, strict=True)]
                value = sum((y / x for y, x in parts), flint.arb(-1))
                s = (s - value / sum((y / x**2 for y, x in parts), flint.arb(0))).mid()
            assert abs(float((s - start) / s)) < 1e-14
    finally:
        flint.ctx.dps = before


@pytest.mark.parametrize("bounds", [(1.0, 3.0), (-3.0, -1.0), (1e-9, 2.0), (-2.0, -1e-9)])
def test_steps_that_leave_the_bracket_end_in_its_middle(bounds: tuple[float, float]) -> None:
    """Far apart, in the middle of their logarithms: offsets from poles may be tiny."""
    lower, upper = bounds
    between = secular_loops._between.py_func
    middle = 0.5 * (lower + upper)
    if max(bounds, key=abs) / min(bounds, key=abs) > 4.0:
        middle = math.copysign(math.sqrt(lower * upper), lower)
    for step in (10.0, -10.0):
        assert between(lower, upper, step, 1.5) == pytest.approx(middle, rel=1e-14)
    assert between(lower, upper, 0.0, 0.7 * lower + 0.3 * upper) == 0.7 * lower + 0.3 * upper
    assert between(-1e-9, 2.0, 5.0, 0.0) == 0.5 * (2.0 - 1e-9)


@pytest.mark.parametrize("strength", [(0.3, 0.2), (0.02, 0.7), (0.7, 0.02)])
def test_between_two_poles_the_start_is_the_root(
    strength: tuple[float, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With others it is that of the two nearest poles and what the others are in the middle."""
    monkeypatch.setattr(secular_loops, "_MOST_ITERATIONS", 0)
    pole = np.array([1.0, 1.5])
    origin, offset = secular_loops._inner_root.py_func(pole, np.array(strength), 1, np.empty(2))
    s = origin + offset
    assert 1.0 < s < 1.5
    assert strength[0] / (1.0 - s) + strength[1] / (1.5 - s) == pytest.approx(1.0, rel=1e-12)
