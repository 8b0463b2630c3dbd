"""The loop of :mod:`symderiv.experiment.steps.step_normals`, the only part that numba compiles."""

from __future__ import annotations

import math

import numpy as np
from numba import types

from symderiv.compiled_code.compiled import VECTOR, compiled

__all__ = ["fill_normals"]

_STATE = types.uint64[::1]
_TAIL, _INVERSE_TAIL = 3.6541528853610088, 0.27366123732975828
_UNIT = 1.0 / 9007199254740992.0


@compiled(types.float64(_STATE))
def _uniform(state: np.ndarray) -> float:
    """Return the next uniform number."""
    a, b, c = state[0], state[1], state[2]
    word = a + b + state[3]
    state[0] = b ^ (b >> np.uint64(11))
    state[1] = c + (c << np.uint64(3))
    state[2] = ((c << np.uint64(24)) | (c >> np.uint64(40))) + word
    state[3] += np.uint64(1)
    return float(np.int64(word >> np.uint64(11))) * _UNIT


@compiled(
    types.Tuple((types.boolean, types.float64))(
        _STATE, types.uint64, types.uint64, types.float64, VECTOR
    )
)
def _at_the_edge(
    state: np.ndarray, layer: int, size: int, x: float, heights: np.ndarray
) -> tuple[bool, float]:
    """Return whether a number is taken that is not inside of its layer, and the number."""
    if layer == np.uint64(0):
        while True:
            beyond = -_INVERSE_TAIL * math.log1p(-_uniform(state))
            other = -math.log1p(-_uniform(state))
            if other + other > beyond * beyond:
                negative = (size >> np.uint64(8)) & np.uint64(1)
                return True, -(_TAIL + beyond) if negative else _TAIL + beyond
    low, high = heights[layer], heights[layer - np.uint64(1)]
    return (high - low) * _uniform(state) + low < math.exp(-0.5 * x * x), x


@compiled(types.void(_STATE, VECTOR, _STATE, VECTOR, VECTOR))
def fill_normals(
    state: np.ndarray,
    out: np.ndarray,
    inside: np.ndarray,
    widths: np.ndarray,
    heights: np.ndarray,
) -> None:
    """Fill an array with normal numbers, and leave the state behind them."""
    a, b, c, count = state[0], state[1], state[2], state[3]
    n, end = np.uint64(0), np.uint64(out.size)
    while n < end:
        word = a + b + count
        a = b ^ (b >> np.uint64(11))
        b = c + (c << np.uint64(3))
        c = ((c << np.uint64(24)) | (c >> np.uint64(40))) + word
        count += np.uint64(1)
        layer = word & np.uint64(0xFF)
        size = (word >> np.uint64(9)) & np.uint64(0x000FFFFFFFFFFFFF)
        # the sign by a product, not by a branch
        sign = np.int64(1) - (np.int64(word >> np.uint64(7)) & np.int64(2))
        x = float(np.int64(size)) * widths[layer] * float(sign)
        if size < inside[layer]:
            out[n] = x
            n += np.uint64(1)
            continue
        state[0], state[1], state[2], state[3] = a, b, c, count
        taken, x = _at_the_edge(state, layer, size, x, heights)
        a, b, c, count = state[0], state[1], state[2], state[3]
        if taken:
            out[n] = x
            n += np.uint64(1)
    state[0], state[1], state[2], state[3] = a, b, c, count
