r"""Means of waves (sin, cos) times signs, as text for generated modules.

``_dawson`` is Dawson's integral D(x) = e^{-x^2} int_0^x e^{t^2} dt, by the sampling theorem for a
Gaussian (G. B. Rybicki, Computers in Physics 3, 85, 1989): step 1/4, error e^{-(2 pi)^2} of the
method. With it E[sin(u) sgn(x)] stays of order one where erfi overflows.

``_tilted_signs`` is e^E E[sgn(x + i h1) sgn(y + i h2)] for standard Gaussian x, y of correlation r.
Along the path h -> t h its derivative is two terms of one sign each:

    e^E (2/pi) asin(r) - (2 sqrt(2)/pi) int_0^1 e^{E + t^2 m/2} sum_j h_j D(t k_j / sqrt(2)) dt,

k_1 = (h2 - r h1)/sqrt(1 - r^2), k_2 the same with h1, h2 exchanged, m = h1^2 + k_1^2. In a mean of
waves E + m/2 is minus half of a conditional variance: nothing overflows and nothing cancels.

The angle asin(r) of fields that are nearly one has the error of r divided by sqrt(1 - r^2), 1e-8 at
worst; a field and itself, whose r is 1 up to rounding, are told from these.
"""

from __future__ import annotations

import math

import numpy as np

from symderiv.numerics.nodes import _LEGENDRE_32

_WAVE_NODES = 0.5 + 0.5 * _LEGENDRE_32[0]
_WAVE_WEIGHTS = 0.5 * _LEGENDRE_32[1]
# Correlations of a field with itself are 1 but for the rounding of two roots and a quotient.
_ONE_FIELD = 1.0 - 5e-16
_DAWSON = np.exp(-((0.25 * np.arange(1, 27, 2)) ** 2)) / math.sqrt(math.pi)


def _dawson(x: float) -> float:
    """Return Dawson's integral with a relative error below 2e-15."""
    square = x * x
    if square < 0.04:
        value = 1.0
        for n in range(19, 1, -2):
            value = 1.0 - 2.0 * square / n * value
        return x * value
    size = abs(x)
    if size > 1e7:
        return 0.5 / x
    nearest = 2 * int(2.0 * size + 0.5)
    rest = size - 0.25 * nearest
    step = math.exp(0.5 * rest)
    factor = step
    above, below = nearest + 1.0, nearest - 1.0
    total = 0.0
    for n in range(_DAWSON.size):
        total += _DAWSON[n] * (factor / above + 1.0 / (below * factor))
        factor *= step * step
        above += 2.0
        below -= 2.0
    value = math.exp(-rest * rest) * total
    return -value if x < 0.0 else value


def _tilted_signs(exponent: float, h1: float, h2: float, r: float) -> float:
    """Return exp(exponent) times the mean of two signs with imaginary means h1, h2 (see above)."""
    bounded = r if abs(r) < _ONE_FIELD else math.copysign(1.0, r)
    rest = (1.0 - bounded) * (1.0 + bounded)
    k1, k2 = 0.0, 0.0
    if rest > 0.0:
        k1 = (h2 - bounded * h1) / math.sqrt(rest)
        k2 = (h1 - bounded * h2) / math.sqrt(rest)
    m = 0.5 * (h1 * h1 + k1 * k1)
    # Where the integrand is below e^-40 of its value at the end, it is left out.
    begin = math.sqrt(1.0 - 40.0 / m) if m > 40.0 else 0.0
    total = 0.0
    for n in range(_WAVE_NODES.size):
        t = begin + (1.0 - begin) * _WAVE_NODES[n]
        waves = h1 * _dawson(math.sqrt(0.5) * t * k1) + h2 * _dawson(math.sqrt(0.5) * t * k2)
        total += _WAVE_WEIGHTS[n] * math.exp(exponent + t * t * m) * waves
    centred = 2.0 / math.pi * math.exp(exponent) * math.asin(bounded)
    return centred - 2.0 * math.sqrt(2.0) / math.pi * (1.0 - begin) * total


def _exp_difference(first: float, second: float) -> float:
    """Return exp(first) - exp(second) with a small relative error."""
    if first > second:
        return -math.exp(first) * math.expm1(second - first)
    return math.exp(second) * math.expm1(first - second)
