r"""Covariances of two signs of Gaussian fields with means, many at once, as text for modules.

Price's rule for E[sgn(x + h) sgn(y + k)] of standard normal x, y with correlation r gives

    Cov = (2/π) ∫_0^{asin r} exp(-(h² + k² - 2hk sin θ)/(2 cos² θ)) dθ,

an integrand without singularity up to |θ| = π/2. With t = tan(θ/2) it is made of quotients, and
Gauss' rule between 0 and tan(asin(r)/2) has 8, 12 or 20 points, whatever the largest |r| of all
needs; beyond the last one the function of one pair is called. Loops have no branches and no calls,
so that the compiler turns them into vector instructions; exp(y) for y <= 0 is (exp(y/64))**64 with
exp - 1 doubled, which keeps its absolute error. Absolute error below 1e-15, largest found.

For several runs at a time (:mod:`~symderiv.numerics.signs.lane_signs`) each pair has its own rule.
There small correlations take Mehler's series

    Cov = 4 Σ_m r^(m+1)/((m+1) m!) He_m(h) He_m(k) φ(h) φ(k),

whose terms are a tenth of the work of a point: 48 of them suffice at |r| = 1/2, 8 at 0.02. What is
left out is bounded by the largest values of Hermite functions.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from symderiv.numerics.nodes import _LEGENDRE_8, _LEGENDRE_12, _LEGENDRE_20
from symderiv.numerics.signs.shifted_signs import _sign_covariance

if TYPE_CHECKING:  # the text of this module is pasted into others
    _Orders = tuple[float, float, float, float]

# exp(z) - 1 over z, for z from -40/64 to 0, interpolated at Chebyshev's nodes
_GROWTH = (
    0.9999999999999997,
    0.4999999999998926,
    0.16666666666098648,
    0.041666666550040546,
    0.008333332115531883,
    0.0013888815702999668,
    0.00019838584012810394,
    2.474026104727837e-05,
    2.6702300052535976e-06,
    2.0787653503419224e-07,
)
# erfc(x/sqrt(2)) exp(x**2/2) over w = (x - 4.5)/(x + 4.5), for x from 0 to 9
_TAIL = (
    0.16960678421560063,
    -0.31188628649396005,
    0.24149117273521345,
    -0.15546540377920412,
    0.08100542144627983,
    -0.032278649506276264,
    0.008465542201921701,
    -0.000549951456525714,
    -0.0005925734222979183,
    0.00020535713414425447,
    2.347875252455043e-05,
    -2.8410718456275105e-05,
    4.374371529694943e-07,
    3.86699985012512e-06,
    -4.3413267056554043e-07,
    -9.480215132618238e-07,
    -2.8351136092960864e-07,
    -2.8435694914889067e-08,
)
# Gauss' rules of 8, 12 and 20 points, one behind the other
_PRICE_RULES = np.hstack([_LEGENDRE_8, _LEGENDRE_12, _LEGENDRE_20])
_PRICE_NODES = 0.5 + 0.5 * _PRICE_RULES[0]
_PRICE_WEIGHTS = 2.0 / math.pi * _PRICE_RULES[1]
# the largest |r| for which each of these rules suffices
_REACH = (0.5, 0.76, 0.94)
# Mehler's series: the largest |r| for which 4, 8, 12, ... terms leave less than 2e-17, whatever the
# means, and the factors of the terms
_SERIES_REACH = np.array(
    (
        *(8e-4, 0.021, 0.073, 0.138, 0.203, 0.264, 0.319, 0.368),
        *(0.411, 0.449, 0.483, 0.513, 0.541, 0.565, 0.587, 0.607),
    )
)
_ORDERS = np.arange(64.0)
_SERIES_FACTORS = np.array([1.0 / (math.factorial(m) * (m + 1.0)) for m in range(64)])


def _decay(y: float) -> float:
    """Return exp(y) for y <= 0, with an absolute error of one rounding."""
    z = 0.015625 * (y if y > -40.0 else -40.0)
    z2 = z * z
    z4 = z2 * z2
    low = _GROWTH[0] + _GROWTH[1] * z + (_GROWTH[2] + _GROWTH[3] * z) * z2
    high = _GROWTH[4] + _GROWTH[5] * z + (_GROWTH[6] + _GROWTH[7] * z) * z2
    high += (_GROWTH[8] + _GROWTH[9] * z) * z4
    e = z * (low + high * z4)
    e = e * (2.0 + e)
    e = e * (2.0 + e)
    e = e * (2.0 + e)
    e = e * (2.0 + e)
    e = e * (2.0 + e)
    return 1.0 + e * (2.0 + e)


def _sign_of_mean(mean: float) -> float:
    """Return E[sgn(x + h)] = erf(h/sqrt(2)) for a mean h.

    The upper tail is exp(-h²/2) times a polynomial in (h - 4.5)/(h + 4.5). Absolute error below
    1e-15.
    """
    h = abs(mean)
    x = h if h < 9.0 else 9.0
    w = (x - 4.5) / (x + 4.5)
    w2 = w * w
    w4 = w2 * w2
    w8 = w4 * w4
    a = _TAIL[0] + _TAIL[1] * w + (_TAIL[2] + _TAIL[3] * w) * w2
    b = _TAIL[4] + _TAIL[5] * w + (_TAIL[6] + _TAIL[7] * w) * w2
    c = _TAIL[8] + _TAIL[9] * w + (_TAIL[10] + _TAIL[11] * w) * w2
    d = _TAIL[12] + _TAIL[13] * w + (_TAIL[14] + _TAIL[15] * w) * w2
    e = _TAIL[16] + _TAIL[17] * w
    total = a + b * w4 + (c + d * w4) * w8 + e * (w8 * w8)
    return math.copysign(1.0 - total * _decay(-0.5 * x * x), mean)


def _mean_signs(values: np.ndarray, count: int) -> None:
    """Replace the first numbers h of an array by E[sgn(x + h)].

    The array must have room for a multiple of 8 numbers.
    """
    for n in range(np.uint64((count + 7) // 8 * 8)):
        values[n] = _sign_of_mean(values[n])


def _price_density(t: float, squares: float, product: float) -> float:
    """Return the integrand over t = tan(theta/2); ``squares`` (h² + k²)/2, ``product`` 2hk."""
    u = t * t
    more = 1.0 + u
    less = (1.0 - u) * (1.0 - u)
    inverse = 1.0 / (more * less)
    return less * inverse * _decay(more * more * inverse * (product * t - squares * more))


def _four_terms(
    begin: int, h: float, along: float, square: float, at: _Orders
) -> tuple[float, _Orders]:
    """Return the sum of four terms of Mehler's series, and the next polynomials.

    Args:
        begin: the order of the first term.
        h, along, square: the mean h, r times the mean k, and r².
        at: Hermite polynomials of this order and of the one before, of h with the weight of all
            terms, and of k times the power of r.
    """
    first, first_before, second, second_before = at
    total = 0.0 * h
    for m in range(begin, begin + 4):
        total += _SERIES_FACTORS[m] * (first * second)
        first, first_before = h * first - _ORDERS[m] * first_before, first
        second, second_before = along * second - _ORDERS[m] * square * second_before, second
    return total, (first, first_before, second, second_before)


def _sign_covariances(
    first: np.ndarray, second: np.ndarray, correlation: np.ndarray, total: np.ndarray, count: int
) -> None:
    """Replace the first numbers of an array of means h by covariances (see above).

    ``second`` are the means k, ``total`` is scratch space; both and the correlations are
    overwritten. All must have room for a multiple of 8 numbers.
    """
    largest = 0.0
    for n in range(count):
        largest = max(largest, abs(correlation[n]))
    if largest > _REACH[2]:
        for n in range(count):
            first[n] = _sign_covariance(first[n], second[n], correlation[n])
        return
    start, stop = 0, 8
    if largest > _REACH[0]:
        start, stop = 8, 20
    if largest > _REACH[1]:
        start, stop = 20, 40
    padded = np.uint64((count + 7) // 8 * 8)
    for n in range(padded):
        h, k, r = first[n], second[n], correlation[n]
        first[n] = 0.5 * (h * h + k * k)
        second[n] = 2.0 * h * k
        correlation[n] = r / (1.0 + math.sqrt((1.0 - r) * (1.0 + r)))
        total[n] = 0.0
    # four at a time: fewer passes over the arrays
    for j in range(start, stop, 4):
        n0, n1, n2, n3 = (
            _PRICE_NODES[j],
            _PRICE_NODES[j + 1],
            _PRICE_NODES[j + 2],
            _PRICE_NODES[j + 3],
        )
        w0, w1, w2, w3 = (
            _PRICE_WEIGHTS[j],
            _PRICE_WEIGHTS[j + 1],
            _PRICE_WEIGHTS[j + 2],
            _PRICE_WEIGHTS[j + 3],
        )
        for n in range(padded):
            t, a, b = correlation[n], first[n], second[n]
            low = w0 * _price_density(n0 * t, a, b) + w1 * _price_density(n1 * t, a, b)
            high = w2 * _price_density(n2 * t, a, b) + w3 * _price_density(n3 * t, a, b)
            total[n] += low + high
    for n in range(padded):
        first[n] = correlation[n] * total[n]
