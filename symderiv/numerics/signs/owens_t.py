r"""Owen's function T(h, a) = (1/2π) ∫_0^a e^{-h²(1+x²)/2}/(1+x²) dx, as text for generated modules.

Gauss' rule with 24 points for |a| <= 1, where the poles at ±i leave an error of 1e-31 and the
exponential less than rounding; beyond, T(h, a) + T(ah, 1/a) = (G(h) + G(ah))/2 - G(h) G(ah) for
h, a > 0, G the upper tail probability (D. B. Owen, Ann. Math. Stat. 27, 1075, 1956). Absolute error
below 2e-16.
"""

from __future__ import annotations

import math

from symderiv.numerics.nodes import _LEGENDRE_24

_OWEN_NODES = 0.5 + 0.5 * _LEGENDRE_24[0]
_OWEN_WEIGHTS = _LEGENDRE_24[1] / (4.0 * math.pi)


def _owen_inside(h: float, a: float) -> float:
    """Return Owen's function T(h, a) for |a| <= 1."""
    total, half = 0.0, -0.5 * h * h
    for n in range(_OWEN_NODES.size):
        x = a * _OWEN_NODES[n]
        rest = 1.0 + x * x
        total += _OWEN_WEIGHTS[n] * math.exp(half * rest) / rest
    return a * total


def _owen_t(h: float, a: float) -> float:
    """Return Owen's function T(h, a)."""
    size, along = abs(h), abs(a)
    if size == 0.0:
        value = 0.5 / math.pi * math.atan(along)
    elif along <= 1.0:
        value = _owen_inside(size, along)
    else:
        near = 0.5 * math.erfc(math.sqrt(0.5) * size)
        far = 0.5 * math.erfc(math.sqrt(0.5) * along * size)
        value = 0.5 * near + far * (0.5 - near) - _owen_inside(along * size, 1.0 / along)
    return -value if a < 0.0 else value
