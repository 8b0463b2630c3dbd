r"""Means of two factors that are analytic on either side of zero, in polar coordinates.

With x = σ r sin(ψ) and y = ±τ r sin(Ω - ψ), where cos(Ω) = ∓ the correlation, the two factors have
their kinks at the ends of the sector 0 < ψ < Ω; two sectors and their opposites make the plane. So
nothing is nearly singular where fields are nearly aligned: one sector becomes thin. Gauss' rule for
the weight r exp(-r²/2) takes r, and that of Legendre takes ψ. Fields that are one, as that of a
student with itself, need a line alone.

``rule`` is a constant of the module: 7 points of a right angle, 8 whether no mean changes when all
fields change their signs, 9 points of r, 12, 20 or 28; the numbers before are those of
``kinked_mean``. Pasted into generated modules.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from symderiv.numerics.nodes import _LEGENDRES, _RAYLEIGHS
from symderiv.numerics.quadratures.kinked_mean import _apart
from symderiv.numerics.quadratures.plane_lines import _power_of_e
from symderiv.numerics.quadratures.smooth_mean import _BITS
from symderiv.numerics.quadratures.tensor_mean import _share_left

if TYPE_CHECKING:  # defined by the module into which this text is pasted
    from symderiv.numerics.quadratures.tensor_mean import _Three, _Two, quadrature_factors

_PANELS = np.array([0.0, 1.2, 4.0, 8.3])


def _polar_mean_of_2(rule: np.ndarray, kinds: tuple[int, int], c: _Three, b: _Two) -> float:
    """Return E[factor(kinds[0], x) factor(kinds[1], y)] of fields with covariances c, without
    biases.
    """
    c11, c12, c22 = c
    width1, width2 = math.sqrt(max(c11, 0.0)), math.sqrt(max(c22, 0.0))
    apart = _apart(c11, c12, c22)
    if apart == 0.0:
        return _of_line(rule, kinds, width1, math.copysign(width2, c12))
    opening = math.atan2(apart, _share_left(c12, width1, c22))
    total = 0.0
    for side in range(2):
        sign = 2.0 * side - 1.0
        angle = math.pi - opening if side == 1 else opening
        if angle > 0.0:
            total += _of_sector(rule, kinds, width1, sign * width2, angle)
    return total


def _of_line(rule: np.ndarray, kinds: tuple[int, int], width1: float, width2: float) -> float:
    """Return the mean of two factors of multiples of one variable, in panels around zero."""
    panels, row, sides = _PANELS.size - 1, _LEGENDRES.shape[0] - 3, 1 if rule[8] > 0.0 else 2
    count = 4 + 2 * row
    half = panels * count
    weights, x, y = np.empty(half), np.empty(2 * half), np.empty(2 * half)
    first, second = np.empty(sides * half), np.empty(sides * half)
    for panel in range(panels):
        middle = 0.5 * (_PANELS[panel + 1] + _PANELS[panel])
        own = 0.5 * (_PANELS[panel + 1] - _PANELS[panel])
        for n in range(count):
            t = middle + own * _LEGENDRES[row, 0, n]
            weights[panel * count + n] = own * _LEGENDRES[row, 1, n] * _power_of_e(-0.5 * t * t)
            x[panel * count + n] = t
    for n in range(half):
        x[half + n], y[half + n] = -width1 * x[n], -width2 * x[n]
        y[n] = width2 * x[n]
        x[n] *= width1
    quadrature_factors(kinds[0], x[: sides * half], first)
    quadrature_factors(kinds[1], y[: sides * half], second)
    total = 0.0
    for side in range(sides):
        at = (side * half) & _BITS
        for n in range(half):
            total += weights[n] * first[at + n] * second[at + n]
    return total * (3.0 - sides) / math.sqrt(2.0 * math.pi)


def _of_sector(
    rule: np.ndarray, kinds: tuple[int, int], width1: float, width2: float, angle: float
) -> float:
    """Return the contribution of a sector and its opposite to a mean."""
    wanted = rule[7] * (0.4 + 0.6 * angle / (0.5 * math.pi))
    row = min(max(math.ceil(0.5 * wanted) - 2, 0), _LEGENDRES.shape[0] - 1)
    count, turns, sides = int(rule[9]), 4 + 2 * row, 1 if rule[8] > 0.0 else 2
    radii = _RAYLEIGHS[(count - 12) // 8]
    # all points of a sector at once, because for few numbers a call is most of the work
    size = turns * sides * count
    x, y, first, second = np.empty(size), np.empty(size), np.empty(size), np.empty(size)
    for n in range(turns):
        turn = 0.5 * angle * (1.0 + _LEGENDRES[row, 0, n])
        along, aside = width1 * math.sin(turn), width2 * math.sin(angle - turn)
        for mirrored in range(sides):
            sign, at = 1.0 - 2.0 * mirrored, ((n * sides + mirrored) * count) & _BITS
            for q in range(count & _BITS):
                x[at + q] = sign * along * radii[0, q]
                y[at + q] = sign * aside * radii[0, q]
    quadrature_factors(kinds[0], x, first)
    quadrature_factors(kinds[1], y, second)
    sums = np.zeros(count)
    for n in range(turns * sides):
        weight, at = 0.5 * angle * _LEGENDRES[row, 1, n // sides], (n * count) & _BITS
        for q in range(count & _BITS):
            sums[q] += weight * first[at + q] * second[at + q]
    total = 0.0
    for q in range(count):
        total += radii[1, q] * sums[q]
    return total * (3.0 - sides) / (2.0 * math.pi)
