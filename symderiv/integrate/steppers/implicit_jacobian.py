"""The Jacobian that implicit steps iterate with, from values of the right-hand side.

Given the sums over the modes and the numbers alone, the equations of one mode are linear in it, so
that its block follows exactly from changes of all modes at once that leave the sums alone. Where
there is no such change, because few modes are in the sums, its block counts as part of the border.
The border is a difference quotient, accurate to about 1e-7.
"""

from __future__ import annotations

from symderiv.compiled_code.compiled import hidden_part

# Relative to what is changed, which is no smaller than a part of the largest one.
_DIFFERENCE = 1e-7
_SMALLEST = 1e-3


@hidden_part
def fill_jacobian(rhs, work, runs, space, alpha):  # type: ignore[no-untyped-def]
    """Fill blocks, border and corner at ``space.y``, whose slope is the first stage.

    ``space.scratch`` and ``space.new`` are overwritten.

    Args:
        rhs: of one run.
        work: see :class:`~symderiv.integrate.steppers.implicit_work.Work`.
        runs: see :class:`~symderiv.integrate.steppers.memory.Runs`; its sizes are used.
        space: see :class:`~symderiv.integrate.steppers.stepper.Workspace`.
        alpha: the time.

    Returns:
        The number of evaluations.
    """
    S, B, G = work.border.shape[0], work.border.shape[1], work.alone.size
    evaluations = B
    moved, slope = space.scratch, space.new
    for c in range(space.y.size):
        moved[c] = space.y[c]
    for c in range(S):
        if _mixed(work, space, moved, c):
            rhs(alpha, moved, runs.sizes, space.parameters, slope)
            evaluations += 1
        _fill_block(work, space, moved, slope, c)
    _fill_differences(work, space)
    for c in range(B):
        if c < G:
            moved[int(work.alone[c])] += work.sums_real[c, 0]
        else:
            _moved_sum(work, space, moved, c - G)
        rhs(alpha, moved, runs.sizes, space.parameters, slope)
        _fill_border(work, space, moved, slope, c)
    return evaluations


@hidden_part
def _mixed(work, space, moved, row):  # type: ignore[no-untyped-def]
    """Change a number of all modes so that its sums stay; tell whether that is possible."""
    L, begin = work.unsummed.shape[1], int(work.rows[row])
    largest, changed = _SMALLEST, 0.0
    for k in range(L):
        largest = max(largest, abs(space.y[begin + k]))
    for k in range(L):
        change = work.unsummed[row, k]
        moved[begin + k] = space.y[begin + k] + largest * change
        changed += abs(change)
    return changed > 0.0


@hidden_part
def _fill_block(work, space, moved, slope, column):  # type: ignore[no-untyped-def]
    """Fill a column of all blocks, and undo the change; nothing was changed: zeros."""
    S, L = work.unsummed.shape
    begin = int(work.rows[column])
    for row in range(S):
        at = int(work.rows[row])
        for k in range(L):
            change = moved[begin + k] - space.y[begin + k]
            quotient = 0.0
            if change != 0.0:
                quotient = (slope[at + k] - space.stages[at + k]) / change
            work.blocks[row, column, k] = quotient
    for k in range(L):
        moved[begin + k] = space.y[begin + k]


@hidden_part
def _fill_differences(work, space):  # type: ignore[no-untyped-def]
    """Fill ``sums_real`` with the changes of numbers alone and of sums: larger lengths and smaller
    angles.
    """
    G, values, largest = work.alone.size, work.sums_real, 0.0
    for c in range(work.border.shape[1]):
        value = 0.0
        if c < G:
            value = space.y[int(work.alone[c])]
        else:
            begin = int(work.rows[int(work.summed[c - G])])
            for k in range(work.weights.shape[1]):
                value += work.weights[c - G, k] * space.y[begin + k]
        values[c, 0] = value
        largest = max(largest, abs(value))
    for c in range(work.border.shape[1]):
        # rounding in the slopes does not vanish with what is changed
        size = _DIFFERENCE * max(abs(values[c, 0]), _SMALLEST * max(largest, _SMALLEST))
        upwards = work.squared[c] != 0.0 or values[c, 0] <= 0.0
        values[c, 0] = size if upwards else -size


@hidden_part
def _moved_sum(work, space, moved, number):  # type: ignore[no-untyped-def]
    """Change a number of the modes by what changes one of its sums by the size that is wanted."""
    begin = int(work.rows[int(work.summed[number])])
    change = work.sums_real[work.alone.size + number, 0]
    for k in range(work.lifts.shape[1]):
        moved[begin + k] += change * work.lifts[number, k]


@hidden_part
def _fill_border(work, space, moved, slope, column):  # type: ignore[no-untyped-def]
    """Fill a column of border and corner, and undo the change."""
    S, L, G = work.border.shape[0], work.border.shape[2], work.alone.size
    number, row, count = column - G, 0, 1
    at = int(work.alone[column]) if column < G else 0
    if column >= G:
        row, count = int(work.summed[number]), L
        at = int(work.rows[row])
    total = moved[at] - space.y[at]
    if column >= G:
        total = 0.0
        for k in range(L):
            total += work.weights[number, k] * (moved[at + k] - space.y[at + k])
    inverse = 1.0 / total if total != 0.0 else 0.0
    for a in range(S):
        begin = int(work.rows[a])
        for k in range(L):
            apart = slope[begin + k] - space.stages[begin + k]
            if column >= G:
                apart -= work.blocks[a, row, k] * (moved[at + k] - space.y[at + k])
            work.border[a, column, k] = apart * inverse
    for a in range(G):
        place = int(work.alone[a])
        work.corner[a, column] = (slope[place] - space.stages[place]) * inverse
    for k in range(count):
        moved[at + k] = space.y[at + k]
