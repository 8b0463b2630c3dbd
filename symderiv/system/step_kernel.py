"""The compiled loop of a stated step on explicit vectors: draw, project, change, constrain.

The loop knows no learning problem. What a step does comes as one compiled function from the values
of fields, overlaps, scalars, latents and parameters to the coefficients of all changes.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numba import types

from symderiv.compiled import INTEGERS, MATRIX, RIGHT_HAND_SIDE, VECTOR, compiled

__all__ = ["learn"]

_PAIRS = types.int64[:, ::1]


@compiled(
    types.void(MATRIX, INTEGERS, types.int64, MATRIX, MATRIX), fastmath={"reassoc", "contract"}
)
def _orthonormalise(
    vectors: np.ndarray, constraints: np.ndarray, group: int, gram: np.ndarray, room: np.ndarray
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
                gram[a, b] = total / N - (1.0 if a == b else 0.0)
                gram[b, a] = gram[a, b]
    for a in range(V):
        if constraints[a] == group:
            room[a] = vectors[a]
            for b in range(V):
                if constraints[b] == group:
                    square = 0.0
                    for c in range(V):
                        if constraints[c] == group:
                            square += gram[a, c] * gram[c, b]
                    share = -0.5 * gram[a, b] + 0.375 * square
                    for i in range(N):
                        room[a, i] += share * vectors[b, i]
    for a in range(V):
        if constraints[a] == group:
            vectors[a] = room[a]


@compiled(
    types.int64(
        RIGHT_HAND_SIDE,
        INTEGERS,
        MATRIX,
        MATRIX,
        MATRIX,
        MATRIX,
        MATRIX,
        VECTOR,
        VECTOR,
        VECTOR,
        _PAIRS,
        _PAIRS,
        _PAIRS,
        _PAIRS,
        INTEGERS,
        INTEGERS,
        MATRIX,
    ),
    # only the order of sums is given up, which lets the inner products use vector instructions
    fastmath={"reassoc", "contract"},
)
def learn(
    changes: Callable[..., None],
    sizes: np.ndarray,
    vectors: np.ndarray,
    z: np.ndarray,
    mixing: np.ndarray,
    roots: np.ndarray,
    latents: np.ndarray,
    scalars: np.ndarray,
    values: np.ndarray,
    results: np.ndarray,
    fields: np.ndarray,
    overlaps: np.ndarray,
    forces: np.ndarray,
    drifts: np.ndarray,
    moving_scalars: np.ndarray,
    constraints: np.ndarray,
    room: np.ndarray,
) -> int:
    """Learn a block of examples; return the number of the first that diverged, or −1.

    Args:
        changes: From ``values`` to ``results``; ``sizes`` are handed to it.
        vectors: Shape (V, N); changed.
        z: Independent normals, shape (examples · A, N), A inputs for each example; overwritten.
        mixing: Shape (A, A), triangular: the inputs are its product with z …
        roots: … times these roots of eigenvalues, shape (A, N); a shape of (0, 0) means ones.
        latents: Shape (examples, C).
        scalars: Shape (U,); changed.
        values: Room for fields, overlaps, scalars and latents; parameters stand behind these.
        results: Room for F of ``forces``, G of ``drifts`` and g, in this order.
        fields, overlaps: Rows (vector, input) and (vector, vector).
        forces, drifts: Rows (vector, input) and (vector, vector) of changes.
        moving_scalars: Places of the scalars that g moves.
        constraints: 0 for a vector that is free, −1 for one on its sphere, and a positive number
            that orthonormal vectors have in common.
        room: Shape (V, N), for changed vectors.
    """
    V, N = vectors.shape
    A = mixing.shape[0]
    root = math.sqrt(N)
    first_overlap = fields.shape[0]
    first_scalar = first_overlap + overlaps.shape[0]
    first_latent = first_scalar + scalars.size
    mixed = False
    for a in range(A):
        for b in range(a):
            mixed = mixed or mixing[a, b] != 0.0
    squares = np.zeros(V)
    spherical = False
    orthonormal = 0
    for v in range(V):
        spherical = spherical or constraints[v] < 0
        orthonormal = max(orthonormal, constraints[v])
        if constraints[v] < 0:
            for i in range(N):
                squares[v] += vectors[v, i] * vectors[v, i]
    moves = np.zeros(V, dtype=np.int64)
    for f in range(forces.shape[0]):
        moves[forces[f, 0]] = 1
    for d in range(drifts.shape[0]):
        moves[drifts[d, 0]] = 1
    gram = np.zeros((V, V))
    for e in range(latents.shape[0]):
        x = z[e * A : (e + 1) * A]
        if mixed:
            for a in range(A - 1, -1, -1):
                for i in range(N):
                    x[a, i] *= mixing[a, a]
                for b in range(a):
                    if mixing[a, b] != 0.0:
                        for i in range(N):
                            x[a, i] += mixing[a, b] * x[b, i]
        if roots.size > 0:
            for a in range(A):
                for i in range(N):
                    x[a, i] *= roots[a, i]
        for f in range(fields.shape[0]):
            w, a = fields[f, 0], fields[f, 1]
            total = 0.0
            for i in range(N):
                total += vectors[w, i] * x[a, i]
            values[f] = total / root
        for p in range(overlaps.shape[0]):
            w, v = overlaps[p, 0], overlaps[p, 1]
            total = 0.0
            for i in range(N):
                total += vectors[w, i] * vectors[v, i]
            values[first_overlap + p] = total / N
        for u in range(scalars.size):
            values[first_scalar + u] = scalars[u]
        for c in range(latents.shape[1]):
            values[first_latent + c] = latents[e, c]
        changes(0.0, results, sizes, values, results)
        for r in range(results.size):
            if not math.isfinite(results[r]):
                return e
        if drifts.shape[0] > 0:
            for v in range(V):
                if moves[v] == 1:
                    room[v] = vectors[v]
            for d in range(drifts.shape[0]):
                v, w = drifts[d, 0], drifts[d, 1]
                change = results[forces.shape[0] + d] / N
                for i in range(N):
                    room[v, i] += change * vectors[w, i]
            for v in range(V):
                if moves[v] == 1:
                    vectors[v] = room[v]
        for f in range(forces.shape[0]):
            v, a = forces[f, 0], forces[f, 1]
            change = results[f] / root
            for i in range(N):
                vectors[v, i] += change * x[a, i]
        for u in range(moving_scalars.size):
            scalars[moving_scalars[u]] += results[forces.shape[0] + drifts.shape[0] + u] / N
        if spherical:
            for v in range(V):
                if constraints[v] < 0:
                    total = 0.0
                    for i in range(N):
                        total += vectors[v, i] * vectors[v, i]
                    scale = math.sqrt(squares[v] / total)
                    for i in range(N):
                        vectors[v, i] *= scale
        for group in range(1, orthonormal + 1):
            _orthonormalise(vectors, constraints, group, gram, room)
    return -1
