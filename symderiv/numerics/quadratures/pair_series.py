r"""All means of two factors of a rule, in one pass over its fields.

They are sums over Hermite polynomials (see ``smooth_mean``), of products of coefficients that
depend on one field and one factor each: the series of all fields and factors are computed together,
as columns of one table. Pasted into generated modules.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from symderiv.numerics.quadratures.noise_mean import _all_fields
from symderiv.numerics.quadratures.smooth_mean import _correlation_of, _orders, _series

if TYPE_CHECKING:  # defined by the module into which this text is pasted
    _Fields = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]
    _Triple = tuple[np.ndarray, np.ndarray, np.ndarray]
    _Pair = tuple[np.ndarray, np.ndarray]
    from symderiv.numerics.quadratures.tensor_mean import _Four


def _terms_of_pairs(
    rule: np.ndarray, covariance: np.ndarray, correlations: np.ndarray, counts: np.ndarray
) -> int:
    """Write the correlations of all pairs of fields and the numbers of terms they need; return the
    most.
    """
    most = 1
    for a in range(covariance.shape[0]):
        width = math.sqrt(max(covariance[a, a], 0.0))
        for b in range(a):
            other = math.sqrt(max(covariance[b, b], 0.0))
            correlation = _correlation_of(width, other, covariance[a, b])
            correlations[a, b] = correlation
            counts[a, b] = count = _orders(width, other, correlation, rule)
            most = max(most, count)
    return most


def _columns_of(
    covariance: np.ndarray, biases: tuple[np.ndarray, np.ndarray], fields: np.ndarray
) -> np.ndarray:
    """Return the factor of each column of series, and with which column its product is wanted.

    Standard deviation and mean of each column's field are written to ``fields``. A student has
    three columns: value, slope, and half of the second derivative, whose product is that with the
    value. Teachers follow, with two columns each.
    """
    K, M = biases[0].size, biases[1].size
    numbers = np.empty((2, 3 * K + 2 * M), np.int64)
    for a in range(K + M):
        first = 3 * a if a < K else K + 2 * a
        for f in range(3 if a < K else 2):
            c = first + f
            numbers[0, c], numbers[1, c] = f if a < K else 3 + f, first + f % 2
            fields[0, c] = math.sqrt(max(covariance[a, a], 0.0))
            fields[1, c] = biases[0][a] if a < K else biases[1][a - K]
    return numbers


def _products(series: np.ndarray, first: int, second: int, correlation: float, count: int) -> _Four:
    """Return means of two values, two slopes, first curvature and second value, and the reverse.

    The columns of the two fields begin at ``first`` and ``second``.
    """
    values = slopes = curvatures = others = 0.0
    power = 1.0
    for k in range(count):
        row = series[k]
        own, other = power * row[first], power * row[second]
        values += own * row[second]
        slopes += power * row[first + 1] * row[second + 1]
        curvatures += other * row[first + 2]
        others += own * row[second + 2]
        power *= correlation
    return values, slopes, curvatures, others


def _pair_means(
    rule: np.ndarray, fields: _Fields, values: _Triple, slopes: _Pair, curvatures: _Pair
) -> None:
    """Write means of two values, two slopes, and half a second derivative and a value.

    ``fields`` are the arrays Q, R, T and the biases. First come means of students, then those of a
    student and a teacher, and of teachers.
    """
    Q, R, T, student_biases, teacher_biases = fields
    K, M = R.shape[0], R.shape[1]
    covariance, columns = _all_fields(Q, R, T), 3 * K + 2 * M
    correlations, counts = np.empty((K + M, K + M)), np.empty((K + M, K + M), np.int64)
    most = _terms_of_pairs(rule, covariance, correlations, counts)
    of_columns, own = np.empty((2, columns)), np.empty(columns)
    numbers = _columns_of(covariance, (student_biases, teacher_biases), of_columns)
    # teachers have no third column, but their products read one entry behind the last column
    series = np.empty((most, 8 * (columns // 8 + 1)))
    _series(rule, numbers, of_columns, series, own)
    for a in range(K):
        values[0][a, a], slopes[0][a, a] = own[3 * a], own[3 * a + 1]
        curvatures[0][a, a] = own[3 * a + 2]
    for n in range(M):
        values[2][n, n] = own[3 * K + 2 * n]
    for a in range(K + M):
        for b in range(a):
            first, second = 3 * a if a < K else K + 2 * a, 3 * b if b < K else K + 2 * b
            value, slope, curvature, other = _products(
                series, first, second, correlations[a, b], counts[a, b]
            )
            if b >= K:
                values[2][a - K, b - K] = values[2][b - K, a - K] = value
            elif a >= K:
                values[1][b, a - K], slopes[1][b, a - K] = value, slope
                curvatures[1][b, a - K] = other
            else:
                values[0][a, b] = values[0][b, a] = value
                slopes[0][a, b] = slopes[0][b, a] = slope
                curvatures[0][a, b], curvatures[0][b, a] = curvature, other
