"""The quadrature that checks the closed forms, against facts that need no engine."""

from __future__ import annotations

from fractions import Fraction

import pytest
from mpmath import mp, mpf
from support.quadrature import (
    ABSOLUTE,
    ERF,
    GELU,
    GELU_SLOPE,
    LINEAR,
    RELU,
    SIGN,
    Factor,
    gaussian_mean,
    smooth,
)

pytestmark = pytest.mark.turns(9)


HALF, THIRD = Fraction(1, 2), Fraction(1, 3)
FOUR = [
    [1, HALF, THIRD, Fraction(-1, 5)],
    [HALF, 1, Fraction(1, 7), Fraction(1, 4)],
    [THIRD, Fraction(1, 7), 1, Fraction(2, 5)],
    [Fraction(-1, 5), Fraction(1, 4), Fraction(2, 5), 1],
]


def close(value: mpf, expected: mpf, digits: int) -> bool:
    return bool(abs(value - expected) < mpf(10) ** -digits)


@pytest.mark.parametrize("digits", [22, 40])
def test_four_linear_fields_give_the_sum_over_pairings(digits: int) -> None:
    with mp.workdps(50):
        c = [[mpf(Fraction(e).numerator) / Fraction(e).denominator for e in row] for row in FOUR]
        pairings = c[0][1] * c[2][3] + c[0][2] * c[1][3] + c[0][3] * c[1][2]
        assert close(gaussian_mean([LINEAR] * 4, FOUR, digits=digits), pairings, digits)


@pytest.mark.parametrize("exponent", [0, 3, 12, 20])
@pytest.mark.parametrize("sign", [1, -1])
def test_two_signs_give_the_arcsine_however_aligned(exponent: int, sign: int) -> None:
    with mp.workdps(60):
        rho = sign * (1 - mpf(10) ** -exponent / 3)
        expected = 2 / mp.pi * mp.asin(rho)
        value = gaussian_mean([SIGN, SIGN], [[1, 2 * rho], [2 * rho, 4]])
        assert close(value, expected, 22)


@pytest.mark.parametrize("exponent", [0, 3, 12])
def test_two_absolute_values_have_their_known_mean_however_aligned(exponent: int) -> None:
    # E|u v| = (2/pi) (sqrt(1 - rho²) + rho asin rho).
    with mp.workdps(60):
        rho = 1 - mpf(10) ** -exponent / 3
        expected = 2 / mp.pi * (mp.sqrt(1 - rho**2) + rho * mp.asin(rho))
        assert close(gaussian_mean([ABSOLUTE, ABSOLUTE], [[1, rho], [rho, 1]]), expected, 22)


def test_exponentials_with_means_have_their_known_mean() -> None:
    with mp.workdps(40):
        factors = [smooth(mp.exp, 0)] * 3
        c = [row[:3] for row in FOUR[:3]]
        total = 3 + 2 * (mpf(1) / 2 + mpf(1) / 3 + mpf(1) / 7)
        expected = mp.exp(mpf(1) / 10 - mpf(3) / 10 + total / 2)
        value = gaussian_mean(factors, c, [Fraction(1, 10), 0, Fraction(-3, 10)])
        assert close(value / expected, mpf(1), 21)


def test_more_digits_agree_with_fewer_for_smooth_and_kinked_functions() -> None:
    for factors in ([GELU_SLOPE, GELU_SLOPE, GELU, ERF], [RELU, RELU, RELU, RELU]):
        few, many = (gaussian_mean(factors, FOUR, digits=digits) for digits in (12, 24))
        assert close(few, many, 12)


def test_aligned_coordinates_agree_with_plain_ones_where_both_work() -> None:
    # 1 - rho² just above and just below the threshold 0.2 of the change of coordinates.
    shifted = Factor((lambda x: -x, lambda x: x * x), (mpf(0),))
    values = []
    with mp.workdps(40):
        for offset in (mpf(-1), mpf(0), mpf(1)):
            rho = mp.sqrt(mpf("0.8")) + offset * mpf(10) ** -9
            values.append(
                gaussian_mean(
                    [RELU, shifted, GELU],
                    [[1, rho, mpf("0.3")], [rho, 1, mpf("0.2")], [mpf("0.3"), mpf("0.2"), 1]],
                )
            )
        # Smooth through the threshold: the second difference is of order 1e-18.
        assert abs(values[0] - 2 * values[1] + values[2]) < mpf(10) ** -15


def test_aligned_kinks_away_from_zero_are_refused() -> None:
    with pytest.raises(ValueError, match="zero means"):
        gaussian_mean([SIGN, SIGN], [[1, "0.99"], ["0.99", 1]], [1, 0])
