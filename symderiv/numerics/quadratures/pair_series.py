r"""All means of two factors of a rule, in one pass over its fields.

They are sums over Hermite polynomials (see ``smooth_mean``), of which each depends on one field and
one factor: the series of every field are computed once, all of its factors at the same points. Text
for modules.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from symderiv.numerics.quadratures.noise_mean import _all_fields
from symderiv.numerics.quadratures.smooth_mean import _correlation_of, _orders, _series

if TYPE_CHECKING:  # what stands in the module
    _Fields = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]
    _Triple = tuple[np.ndarray, np.ndarray, np.ndarray]
    _Pair = tuple[np.ndarray, np.ndarray]


def _terms_of_pairs(
    rule: np.ndarray, covariance: np.ndarray, correlations: np.ndarray, counts: np.ndarray
) -> int:
    """Write the correlations of fields, and how many terms their means have; return the most.

    On the diagonal of counts stands how many terms any mean of a field with another one has.
    """
    most = 1
    for a in range(covariance.shape[0]):
        counts[a, a] = 1
    for a in range(covariance.shape[0]):
        width = math.sqrt(max(covariance[a, a], 0.0))
        for b in range(a):
            other = math.sqrt(max(covariance[b, b], 0.0))
            correlation = _correlation_of(width, other, covariance[a, b])
            correlations[a, b] = correlation
            counts[a, b] = count = _orders(width, other, correlation, rule)
            counts[a, a], counts[b, b] = max(counts[a, a], count), max(counts[b, b], count)
            most = max(most, count)
    return most


def _series_product(
    powers: np.ndarray, series: np.ndarray, others: np.ndarray, count: int
) -> float:
    """Return the sum of products of two series and powers of the correlation."""
    total = 0.0
    for k in range(count):
        total += powers[k] * series[k] * others[k]
    return total


def _pair_means(
    rule: np.ndarray, fields: _Fields, values: _Triple, slopes: _Pair, curvatures: _Pair
) -> None:
    """Write means of two values, two slopes, and half a second derivative and a value.

    ``fields`` are their covariances and biases. First come means of students, then those of a
    student and a teacher, and of teachers.
    """
    Q, R, T, student_biases, teacher_biases = fields
    K, M = R.shape[0], R.shape[1]
    covariance = _all_fields(Q, R, T)
    correlations, counts = np.empty((K + M, K + M)), np.empty((K + M, K + M), np.int64)
    most = _terms_of_pairs(rule, covariance, correlations, counts)
    series, alone = np.empty((K + M, 3, most)), np.empty((K + M, 3))
    for a in range(K + M):
        first, kinds = (0, 3) if a < K else (3, 2)
        bias = student_biases[a] if a < K else teacher_biases[a - K]
        width = math.sqrt(max(covariance[a, a], 0.0))
        _series(rule, (first, kinds, counts[a, a]), width, bias, series[a], alone[a, :kinds])
    for a in range(K):
        values[0][a, a], slopes[0][a, a], curvatures[0][a, a] = (
            alone[a, 0],
            alone[a, 1],
            alone[a, 2],
        )
    for n in range(M):
        values[2][n, n] = alone[K + n, 0]
    powers = np.ones(most)
    for a in range(K + M):
        for b in range(a):
            count, own, other = counts[a, b], series[a], series[b]
            for k in range(1, count):
                powers[k] = powers[k - 1] * correlations[a, b]
            value = _series_product(powers, own[0], other[0], count)
            if b >= K:
                values[2][a - K, b - K] = values[2][b - K, a - K] = value
                continue
            slope = _series_product(powers, own[1], other[1], count)
            curvature = _series_product(powers, other[2], own[0], count)
            if a >= K:
                values[1][b, a - K], slopes[1][b, a - K] = value, slope
                curvatures[1][b, a - K] = curvature
                continue
            values[0][a, b] = values[0][b, a] = value
            slopes[0][a, b] = slopes[0][b, a] = slope
            curvatures[0][b, a] = curvature
            curvatures[0][a, b] = _series_product(powers, own[2], other[0], count)
