"""Variants without vector loops of functions in the modules beside this one, for readable modules.

Each stands for the function of the same name there and computes the same up to rounding.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

    from symderiv.numerics.signs.sign_mean4 import _ROOM, _Path


def _summed_angles(nodes: np.ndarray, count: int, path: _Path) -> float:
    """Return the integrand summed over nodes (squared cosines, squared sines, weights)."""
    d, r, p, start, end = path
    total = 0.0
    for n in range(count):
        cc, ss, weight = nodes[n], nodes[_ROOM + n], nodes[2 * _ROOM + n]
        root = math.sqrt(max(d[0] * cc + d[1] * ss, 1e-300))
        for j in range(3):
            width = math.sqrt(max(cc + p[j] * ss, 1e-300))
            angle = math.atan((start[j] * cc + end[j] * ss) / width / root)
            total += weight * r[j] / width * angle
    return total
