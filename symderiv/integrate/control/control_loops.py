"""Steps of a run with a control, and their discrete adjoint; compiled once for all flows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types

from symderiv.compiled_code.compiled import INTEGERS, RIGHT_HAND_SIDE, VECTOR, compiled

__all__ = ["backward", "forward"]

_TABLE = types.float64[:, ::1]
_STAGES = types.float64[:, :, ::1]
_PATH = types.Tuple((VECTOR, VECTOR, INTEGERS, _STAGES))
_NUMBERS = types.Tuple((INTEGERS, _TABLE, VECTOR))
_DIRECTIONS = types.Tuple((types.int64[:, ::1], INTEGERS))


@compiled(types.void(RIGHT_HAND_SIDE, VECTOR, INTEGERS, _TABLE, VECTOR, VECTOR, INTEGERS, _STAGES))
def forward(
    rhs: Callable[..., None],
    begin: np.ndarray,
    sizes: np.ndarray,
    table: np.ndarray,
    values: np.ndarray,
    lengths: np.ndarray,
    pieces: np.ndarray,
    stages: np.ndarray,
) -> None:
    """Write the states of all steps of a right-hand side to ``stages``, see ``Path``.

    Args:
        rhs: the right-hand side on flat vectors.
        begin: the flat state at the beginning.
        sizes: those that ``rhs`` is called with.
        table: constants of the flow, and their changes with the control, shape (2, p).
        values: the values of the control, one for each piece.
        lengths, pieces: the steps, see ``ControlSteps``.
        stages: the array that is written.
    """
    k = np.empty((4, begin.size))
    given = np.empty(table.shape[1])
    stages[0, 0] = begin
    for row in range(lengths.size):
        h, value = lengths[row], values[pieces[row]]
        given[:] = table[0] + value * table[1]
        own = stages[row]
        rhs(0.0, own[0], sizes, given, k[0])
        own[1] = own[0] + 0.5 * h * k[0]
        rhs(0.0, own[1], sizes, given, k[1])
        own[2] = own[0] + 0.5 * h * k[1]
        rhs(0.0, own[2], sizes, given, k[2])
        own[3] = own[0] + h * k[2]
        rhs(0.0, own[3], sizes, given, k[3])
        stages[row + 1, 0] = own[0] + h / 6.0 * (k[0] + 2.0 * k[1] + 2.0 * k[2] + k[3])


@compiled(types.void(RIGHT_HAND_SIDE, _PATH, _NUMBERS, _DIRECTIONS, _TABLE, VECTOR))
def backward(
    reverse: Callable[..., None],
    path: tuple[np.ndarray, ...],
    numbers: tuple[np.ndarray, ...],
    directions: tuple[np.ndarray, ...],
    covectors: np.ndarray,
    gradient: np.ndarray,
) -> None:
    """Add the derivatives by the control in each piece to ``gradient``.

    Args:
        reverse: gives the derivatives of weighted rates.
        path: values of the control, lengths and pieces of the steps, stages.
        numbers: sizes, constants with their changes, and the changes of those that change.
        directions: places of the two entries of each order parameter; its place in the state.
        covectors: derivatives by the order parameters, at the ends of the steps.
        gradient: the array that is added to.
    """
    values, lengths, pieces, stages = path
    sizes, table, moved = numbers
    places, used = directions
    size, count = stages.shape[2], used.size
    given = np.empty(size + table.shape[1])
    fields = np.max(places) + 1
    adjoint, weights = np.empty(fields + moved.size), np.zeros(size)
    pulled, own = np.empty((4, count)), np.empty(count)
    costate: Any = covectors[lengths.size].copy()
    for row in range(lengths.size - 1, -1, -1):
        h, piece = lengths[row], pieces[row]
        given[size:] = table[0] + values[piece] * table[1]
        for stage in range(3, -1, -1):
            if stage == 3:
                own[:] = h / 6.0 * costate
            elif stage == 2:
                own[:] = h / 3.0 * costate + h * pulled[3]
            elif stage == 1:
                own[:] = h / 3.0 * costate + 0.5 * h * pulled[2]
            else:
                own[:] = h / 6.0 * costate + 0.5 * h * pulled[1]
            given[:size] = stages[row, stage]
            for b in range(count):
                weights[used[b]] = own[b]
            reverse(0.0, weights, sizes, given, adjoint)
            for a in range(count):
                first, second = places[a]
                pulled[stage, a] = adjoint[first] + (adjoint[second] if second >= 0 else 0.0)
            for c in range(moved.size):
                gradient[piece] += adjoint[fields + c] * moved[c]
        costate += pulled[0] + pulled[1] + pulled[2] + pulled[3] + covectors[row]
