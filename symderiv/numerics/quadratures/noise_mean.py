r"""All means of four factors in the noise of a rule, in one pass for each pair of students.

They are E[g'(x_i) g'(x_j) f(z) f(w)], with z and w any two of all fields and f the activation of
their network. For every pair i <= j one grid goes over the plane of x_i and x_j (over a line if i =
j); each other field has its rows there (see ``smooth_mean``) and the mean of its square, and all
means of the pair are sums over the same points. Text for modules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symderiv.numerics.quadratures.smooth_mean import (
    _coupled,
    _grid_of,
    _inner,
    _orders,
    _rows_of,
    _weighted,
)
from symderiv.numerics.quadratures.tensor_mean import _root_left, _share_left

if TYPE_CHECKING:  # what stands in the module
    from symderiv.numerics.quadratures.smooth_mean import _Grid
    from symderiv.numerics.quadratures.tensor_mean import _Four, quadrature_factors

    _Array = np.ndarray
    _Fields = tuple[_Array, _Array, _Array, _Array, _Array]
    _FourArrays = tuple[_Array, _Array, _Array, _Array]


def _all_fields(Q: np.ndarray, R: np.ndarray, T: np.ndarray) -> np.ndarray:
    """Return the covariance of all fields, students first."""
    K, M = R.shape[0], R.shape[1]
    covariance = np.empty((K + M, K + M))
    for i in range(K):
        for j in range(K):
            covariance[i, j] = Q[i, j]
        for n in range(M):
            covariance[i, K + n] = covariance[K + n, i] = R[i, n]
    for m in range(M):
        for n in range(M):
            covariance[K + m, K + n] = T[m, n]
    return covariance


def _parts_in_plane(covariance: np.ndarray, i: int, j: int) -> np.ndarray:
    """Return what the two t of the plane of two fields add to every field, and what is left:
    rows of three numbers. One t is enough if i = j.
    """
    count = covariance.shape[0]
    parts = np.zeros((count, 3))
    first = _root_left(covariance[i, i], covariance[i, i])
    shared = _share_left(covariance[i, j], first, covariance[j, j])
    second = 0.0
    if i != j:
        second = _root_left(covariance[j, j] - shared * shared, covariance[j, j])
    for a in range(count):
        variance = covariance[a, a]
        part = _share_left(covariance[i, a], first, variance)
        rest = variance - part * part
        cross = covariance[j, a] - shared * part
        other = _share_left(cross, second, rest) if i != j else 0.0
        parts[a, 0], parts[a, 1] = part, other
        parts[a, 2] = _root_left(rest - other * other, variance)
    parts[i, 0], parts[i, 1], parts[i, 2] = first, 0.0, 0.0
    if i != j:
        parts[j, 0], parts[j, 1], parts[j, 2] = shared, second, 0.0
    return parts


def _most_moved(parts: np.ndarray, column: int) -> float:
    """Return how far any field moves at most with one t; it may be in a mean more than once."""
    most = 0.0
    for a in range(parts.shape[0]):
        most = max(most, abs(parts[a, column]))
    return most


def _correlation_left(covariance: np.ndarray, parts: np.ndarray, a: int, b: int) -> float:
    """Return the correlation of what is left of two fields."""
    both = parts[a, 2] * parts[b, 2]
    if both == 0.0:
        return 0.0
    left = covariance[a, b] - parts[a, 0] * parts[b, 0] - parts[a, 1] * parts[b, 1]
    return float(min(max(left / both, -1.0), 1.0))


def _means_of_pair(
    rule: np.ndarray,
    covariance: np.ndarray,
    biases: np.ndarray,
    pair: tuple[int, int, int],
    means: np.ndarray,
) -> float:
    """Write E[g'(x_i) g'(x_j) f(z_a) f(z_b)] for all a and b and return E[g'(x_i) g'(x_j)];
    ``pair`` are i, j and K.
    """
    (i, j, students), count = pair, covariance.shape[0]
    parts = _parts_in_plane(covariance, i, j)
    most = _most_moved(parts, 0)
    other = _most_moved(parts, 1) if i != j else 0.0
    moved = 0.0, parts[j, 1] if i != j else 0.0, other, other
    grid = _grid_of((parts[i, 0], parts[j, 0], most, most), moved, rule)
    size = grid[4][2 * grid[3] + 1]
    fields = parts[i, 0], parts[j, 0], parts[j, 1], biases[i], biases[j]
    weights = np.empty(size)
    _weighted(rule, (1, 1), fields, grid, weights)
    orders, most_orders = np.ones((count, count), np.int64), np.ones(count, np.int64)
    highest = 1
    for a in range(count):
        for b in range(a):
            if a != i and a != j and b != i and b != j:
                correlation = _correlation_left(covariance, parts, a, b)
                orders[a, b] = _orders(parts[a, 2], parts[b, 2], correlation, rule)
                most_orders[a] = max(most_orders[a], orders[a, b])
                most_orders[b] = max(most_orders[b], orders[a, b])
                highest = max(highest, orders[a, b])
    rows = np.empty((count, highest + 1, size + 8))
    for a in range(count):
        kind = 0 if a < students else 3
        in_plane = not (a != i and a != j)
        field = parts[a, 0], parts[a, 1], parts[a, 2], biases[a]
        if in_plane:
            _on_grid(rule, kind, field, grid, rows[a, :1])
        else:
            _rows_of(rule, kind, field, grid, rows[a, : most_orders[a] + 1], 1)
    for a in range(count):
        for b in range(a + 1):
            if a != b:
                correlation = _correlation_left(covariance, parts, a, b)
                value = _coupled(weights, rows[a], rows[b], correlation, orders[a, b])
            elif not (a != i and a != j):
                value = _coupled(weights, rows[a], rows[a], 0.0, 1)
            else:
                value = _inner(weights, rows[a, most_orders[a], :size])
            means[a, b] = means[b, a] = value
    return _inner(weights, np.ones(size))


def _on_grid(rule: np.ndarray, kind: int, field: _Four, grid: _Grid, rows: np.ndarray) -> None:
    """Write a factor at the points of a grid; ``field`` are what the two t add to it, nothing else,
    and its bias.
    """
    part1, part2, bias, step1 = field[0], field[1], field[3], grid[0]
    half1, half2, starts = grid[1], grid[3], grid[4]
    if part2 != 0.0:
        _rows_of(rule, kind, field, grid, rows, 0)
        return
    fields, values = np.empty(2 * half1 + 1), np.empty(2 * half1 + 1)
    for i in range(2 * half1 + 1):
        fields[i] = bias + part1 * (i - half1) * step1
    quadrature_factors(kind, fields, values)
    for j in range(2 * half2 + 1):
        first = half1 - (starts[j + 1] - starts[j]) // 2
        for q in range(starts[j + 1] - starts[j]):
            rows[0, starts[j] + q] = values[first + q]


def _spread(
    means: np.ndarray,
    pair: tuple[int, int],
    means_of_students: np.ndarray,
    means_of_both: np.ndarray,
    means_of_teachers: np.ndarray,
) -> None:
    """Write the means of a pair of students to their places."""
    (i, j), K = pair, means_of_both.shape[0]
    M = means_of_both.shape[3]
    for a in range(K):
        for b in range(K):
            means_of_students[i, j, a, b] = means_of_students[j, i, a, b] = means[a, b]
        for n in range(M):
            means_of_both[i, j, a, n] = means_of_both[j, i, a, n] = means[a, K + n]
    for m in range(M):
        for n in range(M):
            means_of_teachers[i, j, m, n] = means[K + m, K + n]
            means_of_teachers[j, i, m, n] = means[K + m, K + n]


def _noise_means(rule: np.ndarray, fields: _Fields, means: _FourArrays) -> None:
    """Write means of four factors, and of the two slopes alone.

    ``fields`` are their covariances and biases.
    """
    Q, R, T, student_biases, teacher_biases = fields
    of_students, of_both, of_teachers, slopes = means
    K, M = R.shape[0], R.shape[1]
    covariance = _all_fields(Q, R, T)
    biases, of_pair = np.empty(K + M), np.empty((K + M, K + M))
    for i in range(K):
        biases[i] = student_biases[i]
    for n in range(M):
        biases[K + n] = teacher_biases[n]
    for i in range(K):
        for j in range(i + 1):
            slope = _means_of_pair(rule, covariance, biases, (i, j, K), of_pair)
            slopes[i, j] = slopes[j, i] = slope
            _spread(of_pair, (i, j), of_students, of_both, of_teachers)
