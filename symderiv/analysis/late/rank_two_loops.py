"""The loops of :mod:`symderiv.analysis.late.rank_two`; they allocate nothing."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from symderiv.compiled_code.compiled import compiled

Floats = npt.NDArray[np.float64]

_BISECTIONS = 200


@compiled()
def positive(a: float, b: float, c: float) -> int:
    """How many eigenvalues of [[a, b], [b, c]] are positive."""
    determinant = a * c - b * b
    if determinant < 0.0:
        return 1
    if determinant > 0.0:
        return 2 if a + c > 0.0 else 0
    return 1 if a + c > 0.0 else 0


@compiled(fastmath={"reassoc", "contract", "nsz"})
def _sums(distance: Floats, square0: Floats, square1: Floats, offset: float) -> tuple[float, float]:
    """The diagonal of W at origin + offset; u² is 0 in the array of the other class."""
    first = 0.0
    second = 0.0
    for i in range(distance.size):
        inverse = 1.0 / (distance[i] - offset)
        first += square0[i] * inverse
        second += square1[i] * inverse
    return first, second


@compiled()
def _distances(pole: Floats, origin: float, distance: Floats) -> None:
    """p - origin; apart from the sums, where the compiler may not regroup it."""
    for i in range(pole.size):
        distance[i] = pole[i] - origin


@compiled()
def solve(
    pole: Floats,
    u: Floats,
    kind: Any,
    inverse: Floats,
    bound: float,
    vectors: Floats,
    room: Floats,
    value: Floats,
    projection: Floats,
) -> None:
    """Fill what :class:`~symderiv.analysis.late.rank_two.RankTwoSpectrum` holds.

    Args:
        pole, u: ascending poles and their strengths, shape (n,).
        kind: the class of each, 0 or 1.
        inverse: of the coupling, shape (2, 2).
        bound: on how far an eigenvalue is from all poles.
        vectors: shape (m, n).
        room: shape (4, n).
        value, projection: shapes (n,) and (n, m), filled.
    """
    n = pole.size
    square0, square1, distance, y = room[0], room[1], room[2], room[3]
    for i in range(n):
        square0[i] = u[i] * u[i] if kind[i] == 0 else 0.0
        square1[i] = u[i] * u[i] if kind[i] == 1 else 0.0
    s0, s1, s01 = inverse[0, 0], inverse[1, 1], inverse[0, 1]
    before = positive(s0, s01, s1)
    for j in range(n):
        # A coupling of rank two moves an eigenvalue past at most two poles to either side.
        low = pole[max(j - 2, 0)] - (bound if j < 2 else 0.0)
        high = pole[min(j + 2, n - 1)] + (bound if j > n - 3 else 0.0)
        # First between which neighbouring poles, then how far from one of them.
        left, right = max(j - 2, 0) - 1, min(j + 2, n - 1) + 1
        while right - left > 1:
            # is the eigenvalue below the pole in the middle? counts just below it and just above it
            middle = (left + right) // 2
            p = pole[middle]
            previous = pole[middle - 1] if middle > 0 else low - 1.0
            _distances(pole, p, distance)
            step = -min(1e-3 * (p - previous), abs(p) * 1e-15 + 1e-300)
            w0, w1 = _sums(distance, square0, square1, step)
            count = middle + positive(s0 + w0, s01, s1 + w1) - before
            if count >= j + 1:
                right = middle
            else:
                left = middle
        if left >= 0:
            low = pole[left]
        if right < n:
            high = pole[right]
        below = left + 1  # poles below an eigenvalue in this interval
        # origin: the nearer pole
        origin = low if left >= 0 else high
        if left >= 0 and right < n:
            _distances(pole, low, distance)
            half = 0.5 * (high - low)
            w0, w1 = _sums(distance, square0, square1, half)
            count = below + positive(s0 + w0, s01, s1 + w1) - before
            if count < j + 1:
                origin = high
        _distances(pole, origin, distance)
        a, b = low - origin, high - origin
        if left >= 0 and right < n:
            if origin == low:
                b = 0.5 * (high - low)
            else:
                a = -0.5 * (high - low)
        offset = 0.5 * (a + b)
        for _ in range(_BISECTIONS):
            # geometric steps reach offsets far below the distance of the poles
            if a >= 0.0 and b > 4.0 * max(a, 1e-300):
                offset = math.sqrt(max(a, 1e-30 * b) * b)
            elif b <= 0.0 and a < 4.0 * min(b, -1e-300):
                offset = -math.sqrt(max(-b, -1e-30 * a) * -a)
            else:
                offset = 0.5 * (a + b)
            if not (a < offset < b):
                break
            w0, w1 = _sums(distance, square0, square1, offset)
            count = below + positive(s0 + w0, s01, s1 + w1) - before
            if count >= j + 1:
                b = offset
            else:
                a = offset
            if b - a <= 2.3e-16 * max(abs(a), abs(b)):
                break
        value[j] = origin + offset
        w0, w1 = _sums(distance, square0, square1, offset)
        x0, x1 = s0 + w0, s1 + w1
        if abs(x0) + abs(s01) >= abs(x1) + abs(s01):
            n0, n1 = -s01, x0
        else:
            n0, n1 = x1, -s01
        norm = 0.0
        for i in range(n):
            part = u[i] * (n0 if kind[i] == 0 else n1) / (distance[i] - offset)
            y[i] = part
            norm += part * part
        norm = math.sqrt(norm)
        for m in range(vectors.shape[0]):
            total = 0.0
            for i in range(n):
                total += y[i] * vectors[m, i]
            projection[j, m] = total / norm
