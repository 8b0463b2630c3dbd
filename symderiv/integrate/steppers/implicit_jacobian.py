"""The Jacobian that implicit steps iterate with, from values of the right-hand side.

Given the sums z (Q and R) over the modes and v, the equations of one mode are linear in it, so that
its block follows exactly from changes of all modes at once that leave the sums alone. Where there
is no such change, because one mode alone is in the sums, its block counts as part of the border.
The border is a difference quotient, accurate to about 1e-7.
"""

from __future__ import annotations

import math

from symderiv.compiled_code.compiled import hidden_part
from symderiv.integrate.steppers.cone import field_covariance
from symderiv.problem.flat_layout import place_of

_EIGENVALUE, _WEIGHT = place_of("eigenvalue"), place_of("weight")
# Relative to the scale of what is changed.
_DIFFERENCE = 1e-7
_SMALLEST = 1e-3


@hidden_part
def _fill_weights(work, runs, room):  # type: ignore[no-untyped-def]
    """Fill the weights of modes in the sums."""
    students, L = runs.sizes[0] * runs.sizes[0], runs.sizes[2]
    for row in range(work.weights.shape[0]):
        for k in range(L):
            weight = room.parameters[runs.places[_WEIGHT] + k]
            if row < students:
                weight *= room.parameters[runs.places[_EIGENVALUE] + k]
            work.weights[row, k] = weight


@hidden_part
def fill_jacobian(rhs, work, runs, room, alpha):  # type: ignore[no-untyped-def]
    """Fill blocks, border and corner at ``room.y``, whose slope is the first stage.

    ``room.scratch`` and ``room.new`` are overwritten.

    Args:
        rhs: of one run.
        work: see :class:`~symderiv.integrate.steppers.implicit_work.Work`.
        runs: see :class:`~symderiv.integrate.steppers.walk.Runs`; its sizes and places are used.
        room: see :class:`~symderiv.integrate.steppers.stepper.Room`.
        alpha: the time.

    Returns:
        The number of evaluations.
    """
    S, B = work.border.shape[0], work.border.shape[1]
    K, size, evaluations = B - S, room.y.size, B
    _fill_weights(work, runs, room)
    moved, slope = room.scratch, room.new
    for c in range(size):
        moved[c] = room.y[c]
    for c in range(S):
        if _cancelled(work, room, moved, c):
            rhs(alpha, moved, runs.sizes, room.parameters, slope)
            evaluations += 1
        _fill_block(work, room, moved, slope, c)
    _fill_scales(work, runs, room)
    for c in range(B):
        if c < K:
            place = size - K + c
            moved[place] += _DIFFERENCE * max(abs(room.y[place]), _SMALLEST)
        else:
            _moved_sum(work, room, moved, c - K)
        rhs(alpha, moved, runs.sizes, room.parameters, slope)
        _fill_border(work, room, moved, slope, c)
    return evaluations


@hidden_part
def _cancelled(work, room, moved, row):  # type: ignore[no-untyped-def]
    """Change a number of all modes so that its sum stays; tell whether that is possible.

    Signs alternate, and of an odd number of modes the last three are 1, 1, -2.
    """
    L = work.weights.shape[1]
    weights, y, to = work.weights[row], room.y[row * L :], moved[row * L :]
    count, heaviest, largest = 0, 0.0, _SMALLEST
    for k in range(L):
        count += weights[k] != 0.0
        heaviest = max(heaviest, abs(weights[k]))
        largest = max(largest, abs(y[k]))
    if count == 1:
        return False
    number = 0
    for k in range(L):
        change = 1.0
        if weights[k] != 0.0:
            change = 1.0 if number % 2 == 0 else -1.0
            if count % 2 == 1 and number >= count - 3:
                change = -2.0 if number == count - 1 else 1.0
            change *= heaviest / weights[k]
            number += 1
        to[k] = y[k] + largest * change
    return True


@hidden_part
def _fill_block(work, room, moved, slope, column):  # type: ignore[no-untyped-def]
    """Fill a column of all blocks, and undo the change; nothing was changed: zeros."""
    S, L = work.weights.shape
    begin = column * L
    for row in range(S):
        for k in range(L):
            change = moved[begin + k] - room.y[begin + k]
            quotient = 0.0
            if change != 0.0:
                quotient = (slope[row * L + k] - room.stages[row * L + k]) / change
            work.blocks[row, column, k] = quotient
    for k in range(L):
        moved[begin + k] = room.y[begin + k]


@hidden_part
def _fill_scales(work, runs, room):  # type: ignore[no-untyped-def]
    """Fill ``sums_real`` with the change of each sum: into the cone, larger lengths and smaller
    angles.
    """
    K, M = runs.sizes[0], runs.sizes[1]
    fields = K + M
    field_covariance(0.0, room.y, runs.sizes, runs.places, room.parameters, room.covariance)
    changes, largest = work.sums_real, 0.0
    for row in range(K * K + K * M):
        a, b = _fields_of(row, K, M)
        first = room.covariance[a * fields + a]
        second = room.covariance[b * fields + b]
        changes[row, 0] = math.sqrt(max(first, 1e-30) * max(second, 1e-30))
        largest = max(largest, changes[row, 0])
    for row in range(K * K + K * M):
        a, b = _fields_of(row, K, M)
        # rounding in the slopes does not vanish with the student
        size = _DIFFERENCE * max(changes[row, 0], _SMALLEST * largest)
        inward = a != b and room.covariance[max(a, b) * fields + min(a, b)] > 0.0
        changes[row, 0] = -size if inward else size


@hidden_part
def _fields_of(row, K, M):  # type: ignore[no-untyped-def]
    """Return which two fields a sum is a covariance of."""
    if row < K * K:
        return row // K, row % K
    return (row - K * K) // M, K + (row - K * K) % M


@hidden_part
def _moved_sum(work, room, moved, row):  # type: ignore[no-untyped-def]
    """Change a number of all modes alike, by what changes its sum by the size that is wanted."""
    L, total = work.weights.shape[1], 0.0
    for k in range(L):
        total += work.weights[row, k]
    change = work.sums_real[row, 0] / total if total != 0.0 else work.sums_real[row, 0]
    for k in range(L):
        moved[row * L + k] += change


@hidden_part
def _fill_border(work, room, moved, slope, column):  # type: ignore[no-untyped-def]
    """Fill a column of border and corner, and undo the change."""
    S, B, L = work.border.shape
    K, size = B - S, room.y.size
    at = size - K + column if column < K else (column - K) * L
    changed, row = moved[at] - room.y[at], column - K
    total = changed
    if row >= 0:
        total = 0.0
        for k in range(L):
            total += work.weights[row, k] * (moved[at + k] - room.y[at + k])
    inverse = 1.0 / total if total != 0.0 else 0.0
    for a in range(S):
        for k in range(L):
            apart = slope[a * L + k] - room.stages[a * L + k]
            if row >= 0:
                apart -= work.blocks[a, row, k] * (moved[at + k] - room.y[at + k])
            work.border[a, column, k] = apart * inverse
    for a in range(K):
        place = size - K + a
        work.corner[a, column] = (slope[place] - room.stages[place]) * inverse
    if row < 0:
        moved[at] = room.y[at]
    else:
        for k in range(L):
            moved[at + k] = room.y[at + k]
