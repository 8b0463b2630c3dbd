r"""All means of four factors in the noise of a rule, in one pass for each pair of students.

They are E[g'(x_i) g'(x_j) f(z) f(w)], where z and w are any two of all fields and f is the
activation of their network. For every pair i < j one grid covers the plane of x_i and x_j (a line
if there is one student); each other field has rows of conditional coefficients there (see
``smooth_mean``) and the mean of its square. All means of the pair, and those with the square of
either slope, are sums over the same points. Pasted into generated modules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symderiv.numerics.quadratures.smooth_mean import (
    _LONGEST_SUM,
    _along_shared,
    _at_points,
    _coupled,
    _grid_of,
    _inner,
    _orders,
    _rows_of,
    _weights_of,
)
from symderiv.numerics.quadratures.tensor_mean import _root_left, _share_left

if TYPE_CHECKING:  # defined by the module into which this text is pasted
    _Array = np.ndarray
    _Fields = tuple[_Array, _Array, _Array, _Array, _Array]
    from symderiv.numerics.quadratures.tensor_mean import _Four

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


def _spread(
    means: np.ndarray,
    pair: tuple[int, int],
    means_of_students: np.ndarray,
    means_of_both: np.ndarray,
    means_of_teachers: np.ndarray,
) -> None:
    """Write the means of one pair of students to their places in the arrays of all means."""
    (i, j), K, M = pair, means_of_both.shape[0], means_of_both.shape[3]
    for a in range(K):
        for b in range(K):
            means_of_students[i, j, a, b] = means[a, b]
            means_of_students[j, i, a, b] = means[a, b]
        for n in range(M):
            means_of_both[i, j, a, n] = means[a, K + n]
            means_of_both[j, i, a, n] = means[a, K + n]
    for m in range(M):
        for n in range(M):
            means_of_teachers[i, j, m, n] = means[K + m, K + n]
            means_of_teachers[j, i, m, n] = means[K + m, K + n]


def _parts_in_plane(covariance: np.ndarray, i: int, j: int) -> np.ndarray:
    """Return coefficients of every field along the two t of the plane of fields i and j.

    The third number of each row is the standard deviation of the residual. If i = j, one t
    suffices.
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


def _correlation_left(covariance: np.ndarray, parts: np.ndarray, a: int, b: int) -> float:
    """Return the correlation of the residuals of two fields."""
    both = parts[a, 2] * parts[b, 2]
    if both == 0.0:
        return 0.0
    left = covariance[a, b] - parts[a, 0] * parts[b, 0] - parts[a, 1] * parts[b, 1]
    return float(min(max(left / both, -1.0), 1.0))


def _orders_of(
    rule: np.ndarray, covariance: np.ndarray, parts: np.ndarray, orders: np.ndarray
) -> int:
    """Write how many orders the means of two fields need in their residuals; return the most.

    On the diagonal stands the most that any mean of a field needs. Means that need too many have a
    third variable instead: they need one, and their number is zero.
    """
    count, highest = parts.shape[0], 1
    for a in range(count):
        orders[a, a] = 1
    for a in range(count):
        for b in range(a):
            correlation = _correlation_left(covariance, parts, a, b)
            own = _orders(parts[a, 2], parts[b, 2], correlation, rule)
            orders[a, b] = own = own if own < _LONGEST_SUM else 0
            orders[a, a], orders[b, b] = max(orders[a, a], own), max(orders[b, b], own)
            highest = max(highest, own)
    return highest


def _field_of(parts: np.ndarray, biases: np.ndarray, a: int) -> _Four:
    """Return the coefficients of a field, its residual's standard deviation, and its bias."""
    return parts[a, 0], parts[a, 1], parts[a, 2], biases[a]


def _means_of_pair(
    rule: np.ndarray,
    covariance: np.ndarray,
    biases: np.ndarray,
    pair: tuple[int, int, int],
    means: np.ndarray,
    slopes: np.ndarray,
) -> None:
    """Write all means with the slopes of two fields, as sums over the plane of these fields.

    Args:
        rule: The numbers of the rule.
        covariance, biases: The covariance and the means of all fields.
        pair: The two fields, or one of them twice, and the number of students.
        means: Shape (3, fields, fields): E[S f(z_a) f(z_b)] where S is the square of the first
            slope, the product of both, or the square of the second one.
        slopes: E[S].
    """
    (i, j, students), count = pair, covariance.shape[0]
    parts = _parts_in_plane(covariance, i, j)
    grid = _grid_of(rule, parts, (i, j))
    size = grid[2][grid[2].size - 1]
    orders = np.empty((count, count), np.int64)
    highest = _orders_of(rule, covariance, parts, orders)
    rows, weights = np.empty((count, highest + 1, size + 8)), np.empty((3, size))
    for a in range(count):
        kind, own = 0 if a < students else 3, orders[a, a] + 1
        _rows_of(rule, kind, _field_of(parts, biases, a), grid, rows[a, :own], 1)
    first, second, inner = np.empty(size), np.empty(size), np.empty(size)
    _weights_of(grid, weights[1])
    _at_points(1, (parts[i, 0], parts[i, 1], 0.0, biases[i]), grid, first)
    _at_points(1, (parts[j, 0], parts[j, 1], 0.0, biases[j]), grid, second)
    for p in range(size):
        weight1, weight2 = weights[1, p] * first[p], weights[1, p] * second[p]
        weights[0, p] = weight1 * first[p]
        weights[1, p] = weight1 * second[p]
        weights[2, p] = weight2 * second[p]
        inner[p] = 1.0
    for n in range(3):
        slopes[n] = _inner(weights[n], inner)
    for a in range(count):
        for b in range(a):
            correlation = _correlation_left(covariance, parts, a, b)
            if orders[a, b] > 0:
                _coupled(rows[a], rows[b], correlation, orders[a, b], inner)
            else:
                kinds = 0 if a < students else 3, 0 if b < students else 3
                fields = _field_of(parts, biases, a), _field_of(parts, biases, b)
                _along_shared(rule, kinds, fields, correlation, grid, inner)
            for n in range(3):
                means[n, a, b] = means[n, b, a] = _inner(weights[n], inner)
        for n in range(3):
            means[n, a, a] = _inner(weights[n], rows[a, orders[a, a], :size])


def _noise_means(rule: np.ndarray, fields: _Fields, means: _FourArrays) -> None:
    """Write means of four factors, and of the two slopes alone.

    ``fields`` are the arrays Q, R, T and the biases of students and teachers.
    """
    Q, R, T, student_biases, teacher_biases = fields
    of_students, of_both, of_teachers, of_slopes = means
    K, M = R.shape[0], R.shape[1]
    covariance, biases = _all_fields(Q, R, T), np.empty(K + M)
    of_pair, slopes = np.empty((3, K + M, K + M)), np.empty(3)
    for i in range(K):
        biases[i] = student_biases[i]
    for n in range(M):
        biases[K + n] = teacher_biases[n]
    for i in range(K):
        for j in range(i + 1 if K > 1 else i, max(K, 1)):
            _means_of_pair(rule, covariance, biases, (i, j, K), of_pair, slopes)
            of_slopes[i, j] = of_slopes[j, i] = slopes[1]
            _spread(of_pair[1], (i, j), of_students, of_both, of_teachers)
            if j == i + 1 or K == 1:
                of_slopes[i, i] = slopes[0]
                _spread(of_pair[0], (i, i), of_students, of_both, of_teachers)
            if j == K - 1 and i == j - 1:
                of_slopes[j, j] = slopes[2]
                _spread(of_pair[2], (j, j), of_students, of_both, of_teachers)
