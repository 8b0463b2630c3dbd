r"""Parts of derivatives of means at kinks: means in which a field is fixed; pasted into modules.

Where a derivative of a factor jumps, the next one has a delta function there. A delta function of
one field is its density times the mean of the other factors, given that field; the derivative of a
delta function follows from that by parts.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from symderiv.numerics.quadratures.kinked_mean import _kinked_mean_of_4, _mean_at

if TYPE_CHECKING:  # defined by the module into which this text is pasted
    from symderiv.numerics.quadratures.tensor_mean import _Four, _Ten, _Three, _Two

_FIXED = 12  # the number of the constant factor 1, that of a fixed field; see ``mean_slopes``


def _mean_beside(
    rule: np.ndarray, kinds: tuple[int, int], place: float, c: _Three, b: _Two
) -> float:
    """Return E[delta'(x - place) factor(kinds[0], y)]; kinds[1] is that factor's derivative."""
    if c[0] <= 0.0:
        return 0.0
    own = _mean_at(rule, kinds[0], place, c, b)
    slope = _mean_at(rule, kinds[1], place, c, b)
    return ((place - b[0]) * own - c[1] * slope) / c[0]


def _left_of(variance: float, share: float) -> float:
    """Return a variance less the part that a field explains, 0 if the rest is only rounding."""
    left = variance - share
    return left if left > 1e-14 * variance else 0.0


def _mean_of_4_at(
    rule: np.ndarray, kinds: tuple[int, int, int], place: float, c: _Ten, b: _Four
) -> float:
    """Return E[delta(x - place) f(y) g(z) h(w)]; c is given row by row, from the diagonal on."""
    c11, c12, c13, c14, c22, c23, c24, c33, c34, c44 = c
    if c11 <= 0.0:
        return 0.0
    s2, s3, s4 = c12 / c11, c13 / c11, c14 / c11
    gap = place - b[0]
    density = math.exp(-0.5 * gap * gap / c11) / math.sqrt(2.0 * math.pi * c11)
    left2, left3, left4 = _left_of(c22, s2 * c12), _left_of(c33, s3 * c13), _left_of(c44, s4 * c14)
    left23, left24, left34 = c23 - s2 * c13, c24 - s2 * c14, c34 - s3 * c14
    left = 0.0, 0.0, 0.0, 0.0, left2, left23, left24, left3, left34, left4
    means = 0.0, b[1] + s2 * gap, b[2] + s3 * gap, b[3] + s4 * gap
    own = _FIXED, kinds[0], kinds[1], kinds[2]
    return density * _kinked_mean_of_4(rule, own, left, means)
