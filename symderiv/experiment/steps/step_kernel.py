"""The compiled loop of a stated step: project, change, constrain.

The loop knows no learning problem. What a step does comes as one compiled function from the values
of fields, overlaps, scalars, latents and parameters to the coefficients of all changes.

It works on N coordinates, or on those in the span of the vectors: inputs are Gaussian and isotropic
in each eigenspace of their covariance, so that all that a step sees of them is their coordinates in
an orthonormal basis that goes on from the slow vectors through the inputs one by one. There the
f-th input has normal numbers up to D + f for D vectors, then the root of a chi-squared number with
n_k − D − f degrees of freedom, and nothing behind (Bartlett's decomposition). After the step, or
a few, reflections bring the vectors back into D coordinates; those that never move come first in
the basis. Overlaps have the law of those of vectors at every N (``docs/notes/gram-simulation.md``).

A step is of one example, or of the mean over a batch of them at one state. The arguments of
:func:`learn` have these parts:

``changes``
    The function that goes from ``values`` to ``results``.

``numbers``
    Counts: first and last example of the block; how many were learnt before the first; examples
    after which vectors are brought back; examples of a step; scalars that are values, in front of
    their velocities. Units: N; what 1/√N of forces, 1/N of drifts and 1/N of scalars are here; the
    time of an example; the factor of velocities; 1/√N of forces that occur once in a step.
``state``
    Vectors, shape (V, N), and scalars, shape (U,); the sums over the batch so far, of forces times
    inputs, shape (V, N) or (0, 0) for steps of one example, and of results.
``drawn``
    Independent inputs, shape (examples · A, N), overwritten; latents, shape (examples, C).
``law``
    The inputs are the product of a triangular matrix, shape (A, A), with the normals, times roots
    of eigenvalues, shape (A, N), or (0, 0) for ones. What squares are weighed by on spheres, shape
    (1, N).
``tables``
    Rows (vector, input) of fields, (vector, vector, the first row of the same) of overlaps,
    (vector, input, whether once in a step) of forces, (vector, vector, whether the first is a
    velocity) of drifts, (scalar, its velocity or −1) of scalars that move, (vector, its velocity)
    of vectors that have one; (first, end) of the coordinates of eigenspaces that inputs leave the
    span in.
``lists``
    Constraints of the vectors: 0 for a vector that is free, −1 for one on its sphere, and a
    positive number that orthonormal vectors have in common. Vectors that move. Sizes that
    ``changes`` takes.
``space``
    Values of fields, overlaps, scalars, latents, parameters and time, of which the parameters are
    given; results: F of the forces, G of the drifts and g; changed vectors, shape (V, N). Then what
    is only written here: amounts of forces, (F,); squares and products of vectors, (V,) and (V, V);
    which vectors drifts move, (V,).

Nothing is allocated, so that the code runs without numba: it comes with the package, and
:mod:`symderiv.experiment.steps.step_loop` calls it.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numba import types

from symderiv.compiled_code.compiled import (
    INTEGERS,
    MATRIX,
    RIGHT_HAND_SIDE,
    VECTOR,
    compiled,
    hidden_part,
)

__all__ = ["learn"]

_TABLE = types.int64[:, ::1]
# only the order of sums is given up, which lets the inner products use vector instructions
_FREE = {"reassoc", "contract"}


@compiled(types.void(MATRIX, INTEGERS, types.int64, types.float64, MATRIX, MATRIX), fastmath=_FREE)
def _orthonormalise(
    vectors: np.ndarray,
    constraints: np.ndarray,
    group: int,
    dimension: float,
    gram: np.ndarray,
    space: np.ndarray,
) -> None:
    """Replace W by (W Wᵀ/N)^(−1/2) W for the vectors of a group.

    W W^T/N is 1 + E with E of order 1/N here, so that 1 − E/2 + 3 E²/8 is right to N^(−3), and what
    is left is taken back at the next step.
    """
    V, N = vectors.shape
    for a in range(V):
        for b in range(a + 1):
            if constraints[a] == group and constraints[b] == group:
                total = 0.0
                for i in range(N):
                    total += vectors[a, i] * vectors[b, i]
                gram[a, b] = total / dimension - (1.0 if a == b else 0.0)
                gram[b, a] = gram[a, b]
    for a in range(V):
        if constraints[a] == group:
            for i in range(N):
                space[a, i] = vectors[a, i]
            for b in range(V):
                if constraints[b] == group:
                    square = 0.0
                    for c in range(V):
                        if constraints[c] == group:
                            square += gram[a, c] * gram[c, b]
                    share = -0.5 * gram[a, b] + 0.375 * square
                    for i in range(N):
                        space[a, i] += share * vectors[b, i]
    for a in range(V):
        if constraints[a] == group:
            for i in range(N):
                vectors[a, i] = space[a, i]


@compiled(types.void(MATRIX, INTEGERS, _TABLE), fastmath=_FREE)
def _bring_back(vectors: np.ndarray, moving: np.ndarray, spaces: np.ndarray) -> None:
    """Reflect the basis so that the vectors that moved are in the first coordinates again."""
    fixed = vectors.shape[0] - moving.size
    for s in range(spaces.shape[0]):
        stop = spaces[s, 1]
        for r in range(moving.size):
            v, p = moving[r], spaces[s, 0] + fixed + r
            square = 0.0
            for c in range(p + 1, stop):
                square += vectors[v, c] * vectors[v, c]
            if square == 0.0:
                continue
            head = vectors[v, p]
            length = math.copysign(math.sqrt(head * head + square), head)
            axis = head + length
            scale = 1.0 / (length * axis)
            for q in range(r + 1, moving.size):
                w = moving[q]
                total = axis * vectors[w, p]
                for c in range(p + 1, stop):
                    total += vectors[v, c] * vectors[w, c]
                total *= scale
                vectors[w, p] -= total * axis
                for c in range(p + 1, stop):
                    vectors[w, c] -= total * vectors[v, c]
            vectors[v, p] = -length
            for c in range(p + 1, stop):
                vectors[v, c] = 0.0


@compiled(types.void(MATRIX, types.int64, MATRIX, MATRIX), fastmath=_FREE)
def _correlate(x: np.ndarray, top: int, mixing: np.ndarray, roots: np.ndarray) -> None:
    """Give independent standard inputs their correlations and variances, in place."""
    A, N = mixing.shape[0], x.shape[1]
    mixed = False
    for a in range(A):
        for b in range(a):
            mixed = mixed or mixing[a, b] != 0.0
    if mixed:
        for a in range(A - 1, -1, -1):
            for i in range(N):
                x[top + a, i] *= mixing[a, a]
            for b in range(a):
                if mixing[a, b] != 0.0:
                    for i in range(N):
                        x[top + a, i] += mixing[a, b] * x[top + b, i]
    if roots.size > 0:
        for a in range(A):
            for i in range(N):
                x[top + a, i] *= roots[a, i]


@compiled(
    types.void(MATRIX, MATRIX, types.int64, _TABLE, _TABLE, types.float64, VECTOR), fastmath=_FREE
)
def _project(
    vectors: np.ndarray,
    x: np.ndarray,
    top: int,
    fields: np.ndarray,
    overlaps: np.ndarray,
    dimension: float,
    values: np.ndarray,
) -> None:
    """Put fields and overlaps into the first values."""
    N = vectors.shape[1]
    root = math.sqrt(dimension)
    f = 0
    # fields of one input, four at a time: it is read once
    while f < fields.shape[0]:
        w, a = fields[f, 0], top + fields[f, 1]
        total = 0.0
        alike = f + 3 < fields.shape[0]
        for g in range(f + 1, f + 4):
            alike = alike and fields[g, 1] == fields[f, 1]
        if alike:
            w1, w2, w3 = fields[f + 1, 0], fields[f + 2, 0], fields[f + 3, 0]
            total1, total2, total3 = 0.0, 0.0, 0.0
            for i in range(N):
                total += vectors[w, i] * x[a, i]
                total1 += vectors[w1, i] * x[a, i]
                total2 += vectors[w2, i] * x[a, i]
                total3 += vectors[w3, i] * x[a, i]
            values[f + 1], values[f + 2], values[f + 3] = (
                total1 / root,
                total2 / root,
                total3 / root,
            )
            values[f] = total / root
            f += 4
            continue
        for i in range(N):
            total += vectors[w, i] * x[a, i]
        values[f] = total / root
        f += 1
    for p in range(overlaps.shape[0]):
        w, v, known = overlaps[p, 0], overlaps[p, 1], overlaps[p, 2]
        if known < p:
            values[fields.shape[0] + p] = values[fields.shape[0] + known]
            continue
        total = 0.0
        for i in range(N):
            total += vectors[w, i] * vectors[v, i]
        values[fields.shape[0] + p] = total / dimension


@compiled(types.void(MATRIX, _TABLE, VECTOR, types.int64, VECTOR, MATRIX, INTEGERS), fastmath=_FREE)
def _drift(
    vectors: np.ndarray,
    drifts: np.ndarray,
    results: np.ndarray,
    first: int,
    units: np.ndarray,
    space: np.ndarray,
    moves: np.ndarray,
) -> None:
    """Add to vectors what is proportional to vectors, all of them as they were before.

    Rates stand in the results from ``first`` on. Those of velocities, which are those of scalars,
    are brought to the unit of drifts.
    """
    V, N = vectors.shape
    unit = units[2]
    for d in range(drifts.shape[0]):
        if drifts[d, 2] == 1:
            results[first + d] *= units[3] / unit
    # vectors that do not move may be added in place, after all others
    for v in range(V):
        moves[v] = 0
    for d in range(drifts.shape[0]):
        moves[drifts[d, 0]] = 1
    apart = False
    for d in range(drifts.shape[0]):
        v, w = drifts[d, 0], drifts[d, 1]
        apart = apart or (v != w and moves[w] == 1)
    if apart:
        for v in range(V):
            if moves[v] == 1:
                for i in range(N):
                    space[v, i] = vectors[v, i]
        for d in range(drifts.shape[0]):
            v, w = drifts[d, 0], drifts[d, 1]
            for i in range(N):
                space[v, i] += unit * results[first + d] * vectors[w, i]
        for v in range(V):
            if moves[v] == 1:
                for i in range(N):
                    vectors[v, i] = space[v, i]
        return
    for d in range(drifts.shape[0]):
        v = drifts[d, 0]
        if drifts[d, 1] == v:
            for i in range(N):
                vectors[v, i] *= 1.0 + unit * results[first + d]
    for d in range(drifts.shape[0]):
        v, w = drifts[d, 0], drifts[d, 1]
        if w != v:
            for i in range(N):
                vectors[v, i] += unit * results[first + d] * vectors[w, i]


@compiled(
    types.boolean(
        *(RIGHT_HAND_SIDE, INTEGERS, types.int64, MATRIX, types.int64),
        *(types.int64, VECTOR, VECTOR, VECTOR),
    )
)
def _changes_at(
    changes: Callable[..., None],
    sizes: np.ndarray,
    first: int,
    latents: np.ndarray,
    example: int,
    visible: int,
    scalars: np.ndarray,
    values: np.ndarray,
    results: np.ndarray,
) -> bool:
    """Call the function of the changes for an example; whether all numbers are finite."""
    for u in range(visible):
        values[first + u] = scalars[u]
    for c in range(latents.shape[1]):
        values[first + visible + c] = latents[example, c]
    changes(0.0, results, sizes, values, results)
    finite = True
    for r in range(results.size):
        finite = finite and math.isfinite(results[r])
    return finite


@compiled(types.void(MATRIX, MATRIX, types.int64, _TABLE, VECTOR), fastmath=_FREE)
def _add(
    vectors: np.ndarray, x: np.ndarray, top: int, forces: np.ndarray, amounts: np.ndarray
) -> None:
    """Add inputs to vectors, two vectors at a time where they take the same input."""
    N = vectors.shape[1]
    F = forces.shape[0]
    f = 0
    while f < F:
        v, a = forces[f, 0], top + forces[f, 1]
        change = amounts[f]
        if f + 1 < F and forces[f + 1, 1] == forces[f, 1]:
            w, other = forces[f + 1, 0], amounts[f + 1]
            for i in range(N):
                vectors[v, i] += change * x[a, i]
                vectors[w, i] += other * x[a, i]
            f += 2
            continue
        for i in range(N):
            vectors[v, i] += change * x[a, i]
        f += 1


@hidden_part  # type: ignore[untyped-decorator]
def _square(vectors: np.ndarray, v: int, metric: np.ndarray) -> float:
    """Return the square of a vector on its sphere."""
    square = 0.0
    for i in range(vectors.shape[1]):
        square += metric[0, i] * vectors[v, i] * vectors[v, i]
    return square


@hidden_part  # type: ignore[untyped-decorator]
def _measure(
    vectors: np.ndarray, constraints: np.ndarray, metric: np.ndarray, squares: np.ndarray
) -> bool:
    """Write the squares of the vectors that stay on their spheres; whether none is constrained."""
    free = True
    for v in range(vectors.shape[0]):
        free = free and constraints[v] == 0
        if constraints[v] < 0:
            squares[v] = _square(vectors, v, metric)
    return free


@hidden_part  # type: ignore[untyped-decorator]
def _constrain(
    vectors: np.ndarray,
    constraints: np.ndarray,
    squares: np.ndarray,
    metric: np.ndarray,
    dimension: float,
    gram: np.ndarray,
    changed: np.ndarray,
) -> None:
    """Bring vectors back to their spheres, and make those of every group orthonormal."""
    groups = 0
    for v in range(vectors.shape[0]):
        groups = max(groups, constraints[v])
        if constraints[v] < 0:
            scale = math.sqrt(squares[v] / _square(vectors, v, metric))
            for i in range(vectors.shape[1]):
                vectors[v, i] *= scale
    for group in range(1, groups + 1):
        _orthonormalise(vectors, constraints, group, dimension, gram, changed)


@hidden_part  # type: ignore[untyped-decorator]
def _is_plain(mixing: np.ndarray, roots: np.ndarray) -> bool:
    """Return whether inputs are independent and of variance one as they were drawn."""
    plain = roots.size == 0
    for a in range(mixing.shape[0]):
        for b in range(a):
            plain = plain and mixing[a, b] == 0.0
    return plain


@hidden_part  # type: ignore[untyped-decorator]
def _forces_of(
    forces: np.ndarray,
    results: np.ndarray,
    units: np.ndarray,
    batch: int,
    turn: int,
    amounts: np.ndarray,
) -> None:
    """Write by how much of its input every force moves its vector."""
    for f in range(forces.shape[0]):
        amounts[f] = units[1] * results[f] / batch
        if forces[f, 2] == 1:
            amounts[f] = units[6] * results[f] if turn == 0 else 0.0


@hidden_part  # type: ignore[untyped-decorator]
def _gather(
    gathered: np.ndarray, sums: np.ndarray, results: np.ndarray, batch: int, turn: int
) -> None:
    """Add the results of an example of a batch to its sums, which begin with the first one."""
    if turn == 0:
        for v in range(gathered.shape[0]):
            for i in range(gathered.shape[1]):
                gathered[v, i] = 0.0
        for r in range(sums.size):
            sums[r] = 0.0
    for r in range(results.size):
        sums[r] += results[r] / batch


@hidden_part  # type: ignore[untyped-decorator]
def _take(vectors: np.ndarray, gathered: np.ndarray) -> None:
    """Add to vectors what was gathered from a batch."""
    for v in range(vectors.shape[0]):
        for i in range(vectors.shape[1]):
            vectors[v, i] += gathered[v, i]


@hidden_part  # type: ignore[untyped-decorator]
def _slow_down(vectors: np.ndarray, velocities: np.ndarray, memory: float) -> None:
    """Multiply velocities by what is left of them."""
    for v in range(velocities.shape[0]):
        for i in range(vectors.shape[1]):
            vectors[velocities[v, 1], i] *= memory


@hidden_part  # type: ignore[untyped-decorator]
def _follow(vectors: np.ndarray, velocities: np.ndarray) -> None:
    """Move vectors by their velocities."""
    for v in range(velocities.shape[0]):
        for i in range(vectors.shape[1]):
            vectors[velocities[v, 0], i] += vectors[velocities[v, 1], i]


@hidden_part  # type: ignore[untyped-decorator]
def _move_scalars(
    scalars: np.ndarray, targets: np.ndarray, results: np.ndarray, first: int, units: np.ndarray
) -> None:
    """Move scalars, with a velocity (its number), without (−1), or in units of drifts (−2)."""
    for u in range(targets.shape[0]):
        change = units[3] * results[first + u]
        if targets[u, 1] >= 0:
            change += units[5] * scalars[targets[u, 1]]
            scalars[targets[u, 1]] = change
        elif targets[u, 1] == -2:
            change = units[2] * results[first + u]
        scalars[targets[u, 0]] += change


@compiled(
    types.int64(
        RIGHT_HAND_SIDE,
        types.Tuple((INTEGERS, VECTOR)),
        types.Tuple((MATRIX, VECTOR, MATRIX, VECTOR)),
        types.Tuple((MATRIX, MATRIX)),
        types.Tuple((MATRIX, MATRIX, MATRIX)),
        types.UniTuple(_TABLE, 7),
        types.UniTuple(INTEGERS, 3),
        types.Tuple((VECTOR, VECTOR, MATRIX, VECTOR, VECTOR, MATRIX, INTEGERS)),
    ),
    fastmath=_FREE,
)
def learn(
    changes: Callable[..., None],
    numbers: tuple[np.ndarray, np.ndarray],
    state: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray],
    drawn: tuple[np.ndarray, np.ndarray],
    law: tuple[np.ndarray, np.ndarray, np.ndarray],
    tables: tuple[np.ndarray, ...],
    lists: tuple[np.ndarray, np.ndarray, np.ndarray],
    space: tuple[np.ndarray, ...],
) -> int:
    """Learn examples of a block; return the number of the first that diverged, or −1."""
    counts, units = numbers
    vectors, scalars, gathered, sums = state
    x, latents = drawn
    mixing, roots, metric = law
    fields, overlaps, forces, drifts, targets, velocities, spaces = tables
    constraints, moving, sizes = lists
    values, results, changed, amounts, squares, gram, moves = space
    batch, visible = counts[4], counts[5]
    F, G = forces.shape[0], drifts.shape[0]
    first = fields.shape[0] + overlaps.shape[0]
    plain, free = (
        _is_plain(mixing, roots),
        _measure(vectors, constraints, metric, squares),
    )
    for e in range(counts[0], counts[1]):
        made = counts[2] + e - counts[0]
        top, turn = e * mixing.shape[0], made % batch
        if not plain:
            _correlate(x, top, mixing, roots)
        _project(vectors, x, top, fields, overlaps, units[0], values)
        values[-1] = units[4] * (made - turn)
        if not _changes_at(changes, sizes, first, latents, e, visible, scalars, values, results):
            return e
        _forces_of(forces, results, units, batch, turn, amounts)
        total = results
        if batch > 1:
            _gather(gathered, sums, results, batch, turn)
            _add(gathered, x, top, forces, amounts)
            if turn < batch - 1:
                continue
            total = sums
        _slow_down(vectors, velocities, units[5])
        if G > 0:
            _drift(vectors, drifts, total, F, units, changed, moves)
        if batch > 1:
            _take(vectors, gathered)
        else:
            _add(vectors, x, top, forces, amounts)
        _follow(vectors, velocities)
        _move_scalars(scalars, targets, total, F + G, units)
        if not free:
            _constrain(vectors, constraints, squares, metric, units[0], gram, changed)
        if spaces.shape[0] > 0 and (made + 1) % counts[3] == 0:
            _bring_back(vectors, moving, spaces)
    return -1
