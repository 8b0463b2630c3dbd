"""Normal numbers of NumPy's generator, drawn in one compiled loop: the same numbers, sooner.

A step on vectors spends most of its time here. NumPy calls its bit generator through a pointer for
every number, and takes its sign by a branch that no processor can foresee; with both written out a
number takes less than a third of the time. Streams are those of ``Generator.standard_normal`` on
SFC64 to the last bit (the ziggurat of 256 layers, tables as numba keeps them), which is looked at
once in a process: where it should not hold, NumPy draws.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from numba import types

from symderiv.compiled_code.compiled import VECTOR, compiled

__all__ = ["draw_normals"]

_STATE = types.uint64[::1]
_FEW = 1024  # below, handing the state over takes longer than it saves
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
def _fill(
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


@cache
def _tables() -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Return the tables of the ziggurat; None where they do not give NumPy's numbers."""
    try:
        from numba.np.random import _constants as known

        tables = (
            np.ascontiguousarray(known.ki_double, dtype=np.uint64),
            np.ascontiguousarray(known.wi_double, dtype=np.float64),
            np.ascontiguousarray(known.fi_double, dtype=np.float64),
        )
    except (ImportError, AttributeError):
        return None
    one, two = (np.random.Generator(np.random.SFC64(1)) for _ in range(2))
    here = np.empty(20_000)  # with some hundred of every kind of edge
    _drawn(one, here, tables)
    same = np.array_equal(here, two.standard_normal(here.size)) and one.random() == two.random()
    return tables if same else None


def _drawn(
    generator: np.random.Generator,
    out: np.ndarray,
    tables: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> None:
    state = generator.bit_generator.state
    words = np.array(state["state"]["state"], dtype=np.uint64)
    _fill(words, out, *tables)
    state["state"]["state"] = words
    generator.bit_generator.state = state


def draw_normals(generator: np.random.Generator, out: np.ndarray) -> None:
    """Fill an array with the next standard normal numbers of a generator."""
    known = isinstance(generator.bit_generator, np.random.SFC64) and out.flags.c_contiguous
    tables = _tables() if known and out.size >= _FEW else None
    if tables is None:
        generator.standard_normal(out=out)
    else:
        _drawn(generator, out.reshape(-1), tables)
