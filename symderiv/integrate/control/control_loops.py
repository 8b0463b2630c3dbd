"""Steps of a run with a control, and their discrete adjoint; compiled once for all flows.

Nothing is allocated here, so that their code comes with the package.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numba import types

from symderiv.compiled_code.compiled import INTEGERS, RIGHT_HAND_SIDE, VECTOR, compiled

__all__ = ["backward", "forward"]

_TABLE = types.float64[:, ::1]
_STAGES = types.float64[:, :, ::1]
_PATH = types.Tuple((VECTOR, VECTOR, INTEGERS, _STAGES))
_CONSTANTS = types.Tuple((INTEGERS, _TABLE))
_NUMBERS = types.Tuple((INTEGERS, _TABLE, VECTOR))
_ROOM = types.Tuple((VECTOR, VECTOR, VECTOR, _TABLE))
_DIRECTIONS = types.Tuple((types.int64[:, ::1], INTEGERS))


@compiled(types.void(RIGHT_HAND_SIDE, _PATH, _CONSTANTS, VECTOR, _TABLE))
def forward(
    rhs: Callable[..., None],
    path: tuple[np.ndarray, ...],
    numbers: tuple[np.ndarray, ...],
    given: np.ndarray,
    k: np.ndarray,
) -> None:
    """Write the states of all steps of a right-hand side to the stages, the first of which is set.

    Args:
        rhs: the right-hand side on flat vectors.
        path: values of the control, lengths and pieces of the steps, stages; see ``Path``.
        numbers: the sizes that ``rhs`` is called with; constants of the flow, and their changes
            with the control, shape (2, p).
        given: room for p constants.
        k: room for four rates, shape (4, n).
    """
    values, lengths, pieces, stages = path
    sizes, table = numbers
    size = stages.shape[2]
    for row in range(lengths.size):
        h, value = lengths[row], values[pieces[row]]
        for c in range(given.size):
            given[c] = table[0, c] + value * table[1, c]
        for stage in range(4):
            rhs(0.0, stages[row, stage], sizes, given, k[stage])
            if stage < 3:
                share = h if stage == 2 else 0.5 * h
                for a in range(size):
                    stages[row, stage + 1, a] = stages[row, 0, a] + share * k[stage, a]
        for a in range(size):
            total = k[0, a] + 2.0 * k[1, a] + 2.0 * k[2, a] + k[3, a]
            stages[row + 1, 0, a] = stages[row, 0, a] + h / 6.0 * total


@compiled(types.void(RIGHT_HAND_SIDE, _PATH, _NUMBERS, _DIRECTIONS, _TABLE, VECTOR, _ROOM))
def backward(
    reverse: Callable[..., None],
    path: tuple[np.ndarray, ...],
    numbers: tuple[np.ndarray, ...],
    directions: tuple[np.ndarray, ...],
    covectors: np.ndarray,
    gradient: np.ndarray,
    space: tuple[np.ndarray, ...],
) -> None:
    """Add the derivatives by the control in each piece to ``gradient``.

    Args:
        reverse: gives the derivatives of weighted rates.
        path: values of the control, lengths and pieces of the steps, stages.
        numbers: sizes, constants with their changes, and the changes of those that change.
        directions: places of the two entries of each order parameter; its place in the state.
        covectors: derivatives by the order parameters, at the ends of the steps.
        gradient: the array that is added to.
        space: for n + p values that are given, for the adjoint, for n weights (all 0), and for six
            of each order parameter.
    """
    values, lengths, pieces, stages = path
    sizes, table, moved = numbers
    places, used = directions
    given, adjoint, weights, pulled = space
    size, count, fields = stages.shape[2], used.size, adjoint.size - moved.size
    own, costate = pulled[4], pulled[5]
    for a in range(count):
        costate[a] = covectors[lengths.size, a]
    for row in range(lengths.size - 1, -1, -1):
        h, piece = lengths[row], pieces[row]
        for c in range(table.shape[1]):
            given[size + c] = table[0, c] + values[piece] * table[1, c]
        for stage in range(3, -1, -1):
            for a in range(count):
                if stage == 3:
                    own[a] = h / 6.0 * costate[a]
                elif stage == 2:
                    own[a] = h / 3.0 * costate[a] + h * pulled[3, a]
                elif stage == 1:
                    own[a] = h / 3.0 * costate[a] + 0.5 * h * pulled[2, a]
                else:
                    own[a] = h / 6.0 * costate[a] + 0.5 * h * pulled[1, a]
                weights[used[a]] = own[a]
            for a in range(size):
                given[a] = stages[row, stage, a]
            reverse(0.0, weights, sizes, given, adjoint)
            for a in range(count):
                first, second = places[a]
                pulled[stage, a] = adjoint[first] + (adjoint[second] if second >= 0 else 0.0)
            for c in range(moved.size):
                gradient[piece] += adjoint[fields + c] * moved[c]
        for a in range(count):
            total = pulled[0, a] + pulled[1, a] + pulled[2, a] + pulled[3, a]
            costate[a] += total + covectors[row, a]
