"""Whether the covariances of fields at a state could be covariances; of one run or eight.

The functions take a value that is ``like`` those of the runs first, 0.0 for one run.
"""

from __future__ import annotations

import math

import numpy as np
from symderiv_kernels.layout import LAYOUT

from symderiv.compiled_code.compiled import part_of_compiled
from symderiv.integrate.steppers.one_or_eight import chosen, values_of
from symderiv.problem.flat_layout import place_of, places

_K, _M, _L = (LAYOUT["sizes"].index(name) for name in ("K", "M", "L"))
_STUDENTS, _CROSS = place_of("student_overlap"), place_of("cross_overlap")
_EIGENVALUE, _WEIGHT, _TEACHER = place_of("eigenvalue"), place_of("weight"), place_of("T")


@part_of_compiled
def field_covariance(like, state, sizes, places, parameters, covariance):  # type: ignore[no-untyped-def]
    """Fill the lower triangle of [[Q, R], [R^T, T]], K + M rows, of a flat state.

    ``places`` are those of :func:`symderiv.problem.flat_layout.places`, ``covariance`` has
    shape ((K + M)^2,).
    """
    K, M, L = sizes[_K], sizes[_M], sizes[_L]
    students = values_of(like, state, places[_STUDENTS], (K, K, L))
    cross = values_of(like, state, places[_CROSS], (K, M, L))
    eigenvalue = values_of(like, parameters, places[_EIGENVALUE], (L,))
    weight = values_of(like, parameters, places[_WEIGHT], (L,))
    teacher = values_of(like, parameters, places[_TEACHER], (M, M))
    lower = values_of(like, covariance, 0, (K + M, K + M))
    for b in range(K):
        for a in range(b, K):
            total = 0.0 * like
            for k in range(L):
                total += weight[k] * eigenvalue[k] * students[b, a, k]
            lower[a, b] = total
        for n in range(M):
            total = 0.0 * like
            for k in range(L):
                total += weight[k] * cross[b, n, k]
            lower[K + n, b] = total
    for n in range(M):
        for m in range(n + 1):
            lower[K + n, K + m] = teacher[m, n]


@part_of_compiled
def outside_cone(like, covariance, size, tolerance, least=0.0):  # type: ignore[no-untyped-def]
    """Tell whether a symmetric matrix, (size^2,), has an eigenvalue clearly below zero.

    "Clearly" means that the matrix with its diagonal enlarged by the relative ``tolerance`` still
    has no Cholesky factor, which takes the place of the lower triangle. Errors of variances below
    ``least`` are absolute ones.
    """
    factor = values_of(like, covariance, 0, (size, size))
    outside = like != like
    for a in range(size):
        for b in range(a + 1):
            total = factor[a, b]
            if a == b:
                total += tolerance * (abs(total) + least)
            for c in range(b):
                total -= factor[a, c] * factor[b, c]
            if a == b:
                # a field of variance exactly zero is on the edge of the cone, not outside
                outside = outside | (total < 0.0) | (total != total)
                factor[a, a] = math.sqrt(max(total, 0.0))
            else:
                pivot = factor[b, b]
                free = pivot > 0.0
                outside = outside | (chosen(free, 0.0 * total, total) != 0.0)
                factor[a, b] = chosen(free, total, 0.0) / chosen(free, pivot, 1.0)
    return outside


def is_outside(
    state: np.ndarray,
    sizes: np.ndarray,
    parameters: np.ndarray,
    tolerance: float,
    least: float = 0.0,
) -> bool:
    """Tell it of one flat state."""
    size = int(sizes[_K] + sizes[_M])
    covariance = np.empty((size, size))
    field_covariance(0.0, state, sizes, places(sizes), parameters, covariance.ravel())
    return bool(outside_cone(0.0, covariance.ravel(), size, tolerance, least))
