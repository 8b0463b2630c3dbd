"""Gauss' rules are exact for polynomials, in doubles and as balls, in panels and on grids."""

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx, fmpq

from symderiv.gaussian.legendre_balls import legendre_balls
from symderiv.numerics.nodes import (
    _HALF_LINES,
    gauss_hermite,
    gauss_legendre,
    gauss_panels,
    normal_steps,
)


@pytest.mark.parametrize("points", [1, 2, 5, 12])
def test_n_points_are_exact_up_to_degree_2n_minus_1_and_not_beyond(points: int) -> None:
    x, weight = gauss_legendre(points)
    for power in range(2 * points):
        exact = float(Fraction(1 + (-1) ** power, power + 1))
        assert weight @ x**power == pytest.approx(exact, abs=1e-14)
    # Gauss' error for the monic power 2n
    n = points
    gap = 2 ** (2 * n + 1) * math.factorial(n) ** 4 / math.factorial(2 * n) ** 2 / (2 * n + 1)
    missing = 2 / (2 * n + 1) - weight @ x ** (2 * n)
    assert missing == pytest.approx(gap, rel=1e-3, abs=1e-14)


def test_a_grid_averages_products_over_its_axes() -> None:
    z, weight = gauss_hermite(6, 3)
    assert z.shape == (216, 3)
    assert weight @ (z[:, 0] ** 2 * z[:, 1] ** 4 * z[:, 2] ** 6) == pytest.approx(3 * 15)
    assert weight @ (z[:, 0] ** 3 * z[:, 1]) == pytest.approx(0.0, abs=1e-13)


def test_panels_between_edges_integrate_what_is_smooth_in_each() -> None:
    edges = np.array([[-1.0, 0.25, 2.0], [0.0, 0.25, 0.25]])
    x, weight = gauss_panels(edges, 4)
    assert x.shape == weight.shape == (2, 8)
    found = (weight * np.abs(x - 0.25) ** 3).sum(axis=1)
    assert found == pytest.approx([(1.25**4 + 1.75**4) / 4, 0.25**4 / 4])


def test_equal_steps_average_waves_up_to_the_step() -> None:
    z, weight = normal_steps(9.0, 0.5)
    assert z[0] == -9.0
    assert z[-1] == 9.0
    assert weight @ np.cos(2 * z) == pytest.approx(math.exp(-2.0), abs=1e-15)


@pytest.mark.parametrize("start", [-3.0, 0.0, 1.5, 6.0])
def test_half_lines_average_exponentials(start: float) -> None:
    """E[exp(m t); t > c] = exp(m²/2) erfc((c - m)/√2)/2, over the factor of the density at c."""
    for row, points in enumerate((8, 12, 16, 20)):
        distance, weight = (_HALF_LINES[row, n + round(2 * start) + 16, :points] for n in (0, 33))
        for m in (-1.0, -0.5, 0.5):
            exact = math.exp(0.5 * m * m) * math.erfc((start - m) / math.sqrt(2)) / 2
            found = weight @ np.exp(m * (start + distance)) * math.exp(-start * start / 2)
            assert found == pytest.approx(exact, rel=1e-6 if points == 8 else 3e-11)


@pytest.mark.parametrize("bits", [53, 200])
def test_balls_contain_the_zeros_of_the_polynomial_and_are_thin(bits: int) -> None:
    rule = legendre_balls(9, bits)
    with ctx.workprec(4 * bits):
        for x, weight in rule:
            exact = x.mid()
            for _ in range(8):  # Newton's steps from the middle of the ball
                p, before = exact.legendre_p(9), exact.legendre_p(8)
                slope = 9 * (exact * p - before) / (exact * exact - 1)
                exact = (exact - p / slope).mid()
            assert x.contains(exact)
            assert weight.contains((2 / ((1 - exact**2) * slope**2)).mid())
            assert x.rad() < arb((1, 4 - bits))
            assert weight.rad() < arb((1, 4 - bits))
        total = sum((w * x**16 for x, w in rule), arb(0))
        assert total.contains(arb(fmpq(2, 17)))
