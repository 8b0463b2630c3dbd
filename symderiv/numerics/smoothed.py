r"""Averages of one factor over what is left of its field, as a table: F(y) = E[f(y + s ξ)].

The factor is analytic on either side of one kink. Within seven and a half s of the kink, F is the
integral of f against a Gaussian weight that, in units of s, is the same for all factors and all s:
so a constant matrix takes the values of f at fixed places to polynomials in twelve panels. Farther
away f is analytic as far as the weight reaches, and ten points of the Gauss-Hermite rule give F;
panels grow there with the distance. Text for modules.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from symderiv.numerics.nodes import _HERMITE_10, _LEGENDRE_12

if TYPE_CHECKING:  # what stands in the module
    from symderiv.numerics.tensor_mean import quadrature_factor

_PANEL = 1.25  # length of the panels near the kink, in units of s
_FAR_PANELS = 8  # at most, on each side
_EDGES = np.array([0.0, 1.5, 4.5, 7.5, 10.5, 14.5])
_HALF_PLACES = np.concatenate(
    [
        0.5 * (_EDGES[n + 1] + _EDGES[n]) + 0.5 * (_EDGES[n + 1] - _EDGES[n]) * _LEGENDRE_12[0]
        for n in range(5)
    ]
)
_HALF_WEIGHTS = np.concatenate(
    [0.5 * (_EDGES[n + 1] - _EDGES[n]) * _LEGENDRE_12[1] for n in range(5)]
)
# where a factor is evaluated around its kink, in units of s
_PLACES = np.concatenate([-_HALF_PLACES[::-1], _HALF_PLACES])
_TWELVE = np.cos(np.pi * (np.arange(12) + 0.5) / 12)
# values at twelve places of a panel to coefficients of powers
_TO_POWERS = np.linalg.inv(np.vander(_TWELVE, increasing=True))
_PANEL_PLACES = _PANEL * (np.arange(12)[:, None] - 5.5 + 0.5 * _TWELVE)
_WEIGHT = np.exp(-0.5 * (_PLACES - _PANEL_PLACES[:, :, None]) ** 2) / math.sqrt(2.0 * math.pi)
# which places are within seven units of a panel
_FIRST = np.searchsorted(_PLACES, _PANEL * (np.arange(12) - 6.0) - 7.0)
_LAST = np.searchsorted(_PLACES, _PANEL * (np.arange(12) - 5.0) + 7.0)
# values at the places to powers in each panel: [panel, place, power]
_SMOOTHING = np.ascontiguousarray(
    np.transpose(
        _TO_POWERS @ (_WEIGHT * np.concatenate([_HALF_WEIGHTS[::-1], _HALF_WEIGHTS])),
        (0, 2, 1),
    )
)


def _smoothed_table(
    kind: int, kink: float, width: float, farthest: float, scale: float, table: np.ndarray
) -> None:
    """Write the table of a factor and its square.

    Args:
        kind: The factor.
        kink: Where it is not smooth.
        width: s, not zero.
        farthest: How far from the kink the table is needed.
        scale: The distance on which the factor varies away from the kink.
        table: Shape (29, 24). The rows of panels have coefficients of F and of that of the square;
            the last row has the edges of the panels away from the kink.
    """
    values, squares = np.empty(120), np.empty(120)
    for q in range(120):
        values[q] = quadrature_factor(kind, kink + width * _PLACES[q])
        squares[q] = values[q] * values[q]
    reach = min(math.floor(farthest / (_PANEL * width)) + 1, 6)
    for p in range(6 - reach, 6 + reach):
        for n in range(24):
            table[p, n] = 0.0
        for q in range(_FIRST[p], _LAST[p]):
            value, square = values[q], squares[q]
            for n in range(12):
                table[p, n] += value * _SMOOTHING[p, q, n]
                table[p, 12 + n] += square * _SMOOTHING[p, q, n]
    edge, k = 6.0 * _PANEL * width, 0
    table[28, 0] = edge
    while edge < farthest and k < _FAR_PANELS:
        length = 0.6 * (scale + edge)
        for side in range(2):
            sign = 1.0 - 2.0 * side
            _far_panel(kind, kink + sign * edge, sign * length, width, table[12 + 8 * side + k])
        edge += length
        k += 1
        table[28, k] = edge
    table[28, k + 1] = math.inf


def _far_panel(kind: int, start: float, length: float, width: float, row: np.ndarray) -> None:
    """Write coefficients of one panel away from the kink."""
    for n in range(24):
        row[n] = 0.0
    for q in range(12):
        place = start + 0.5 * length * (1.0 + _TWELVE[q])
        value = square = 0.0
        for m in range(10):
            found = quadrature_factor(kind, place + width * _HERMITE_10[0, m])
            value += _HERMITE_10[1, m] * found
            square += _HERMITE_10[1, m] * found * found
        for n in range(12):
            row[n] += value * _TO_POWERS[n, q]
            row[12 + n] += square * _TO_POWERS[n, q]


def _smoothed_at(table: np.ndarray, distance: float, width: float, first: int) -> float:
    """Return F at a distance from the kink; ``first`` is 0, or 12 for the square."""
    u = distance / (_PANEL * width) + 6.0
    if 0.0 < u < 12.0:
        p = int(u)
        x = 2.0 * (u - p) - 1.0
    else:
        k, far = 0, abs(distance)
        while far > table[28, k + 1]:
            k += 1
        low, high = table[28, k], table[28, k + 1]
        x = (2.0 * far - low - high) / (high - low)
        p = 12 + k if distance > 0.0 else 20 + k
    found: float = table[p, first + 11]
    for n in range(10, -1, -1):
        found = found * x + table[p, first + n]
    return found
