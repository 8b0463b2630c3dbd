r"""Owen's function T(h, a) = (1/2π) ∫_0^a e^{-h²(1+x²)/2}/(1+x²) dx, as text for generated modules.

Slopes beyond one are reflected, T(h, a) + T(ah, 1/a) = (G(h) + G(ah))/2 - G(h) G(ah) for h, a > 0,
G the upper tail probability (D. B. Owen, Ann. Math. Stat. 27, 1075, 1956), which nowhere divides by
h. Gauss' rule has 16 points: the poles at ±i leave 1e-21 and the exponential less than rounding.
Absolute error below 4e-16.
"""

from __future__ import annotations

import math

from symderiv.numerics.nodes import _LEGENDRE_16

_OWEN_NODES = 0.5 + 0.5 * _LEGENDRE_16[0]
_OWEN_WEIGHTS = _LEGENDRE_16[1] / (4.0 * math.pi)


def _owen_along(h: float, along: float) -> float:
    """Return Owen's function T(h, along/h) for h >= 0 and along >= 0."""
    if along == 0.0:
        return 0.0
    near, far = min(h, along), max(h, along)
    # from the larger of both, along a slope of at most one
    slope, total, half = near / far, 0.0, -0.5 * far * far
    for n in range(_OWEN_NODES.size):
        x = slope * _OWEN_NODES[n]
        rest = 1.0 + x * x
        total += _OWEN_WEIGHTS[n] * math.exp(half * rest) / rest
    if along <= h:
        return slope * total
    tail_h = 0.5 * math.erfc(math.sqrt(0.5) * h)
    tail_along = 0.5 * math.erfc(math.sqrt(0.5) * along)
    return 0.5 * tail_h + tail_along * (0.5 - tail_h) - slope * total


def _owen_t(h: float, a: float) -> float:
    """Return Owen's function T(h, a)."""
    size, slope = abs(h), abs(a)
    value = _owen_along(size, slope * size) if size > 0.0 else 0.5 / math.pi * math.atan(slope)
    return -value if a < 0.0 else value
