"""The arrays of means of four factors in the noise of a rule, and the covariance of all fields.

Pasted into generated modules, also into those for several runs at a time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    _Array = Any


def _fill_covariance(Q: _Array, R: _Array, T: _Array, covariance: _Array) -> None:
    """Write the covariance of all fields, students first."""
    K, M = R.shape[0], R.shape[1]
    for i in range(K):
        for j in range(K):
            covariance[i, j] = Q[i, j]
        for n in range(M):
            covariance[i, K + n] = R[i, n]
            covariance[K + n, i] = R[i, n]
    for m in range(M):
        for n in range(M):
            covariance[K + m, K + n] = T[m, n]


def _spread(
    means: _Array,
    pair: tuple[int, int],
    means_of_students: _Array,
    means_of_both: _Array,
    means_of_teachers: _Array,
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
