r"""Means of any smooth function of a few jointly Gaussian fields by rules of equal steps.

The fields are z = b + L t with independent t of variance one and a triangular L, in an order in
which the function is a polynomial of the last fields. In the t of the others the step is that of a
Gaussian weight, and no field moves by more than the rule's step per step (see ``tensor_mean``);
the last ones take five points of Gauss and Hermite, exact for polynomials of degree nine. Points
beyond the sphere are left out.

``JOINT_RULE`` is a constant of the module: 0 step in units of the fields, 1 step in t, 2 reach in t
(and radius of the sphere). Text for modules; the functions without underscore are templates.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from symderiv.numerics.force_mean import _triangle_of

if TYPE_CHECKING:  # what stands in the module
    JOINT_RULE = np.zeros(3)
    NONLINEAR = 0

    def integrand(*fields: float) -> float:
        """A function of the module."""
        return sum(fields)


_HERMITE_NODES = np.array(
    [-2.8569700138728056, -1.3556261799742659, 0.0, 1.3556261799742659, 2.8569700138728056]
)
_HERMITE_WEIGHTS = np.array(
    [
        0.011257411327720689,
        0.22207592200561264,
        0.53333333333333333,
        0.22207592200561264,
        0.011257411327720689,
    ]
)


def _joint_rule_of(
    factor: np.ndarray, level: int, nonlinear: int, rule: np.ndarray, points: np.ndarray
) -> int:
    """Points (row 0) and weights (row 1) of one t; returns how many."""
    longest = together = 0.0
    for i in range(factor.shape[0]):
        longest = max(longest, abs(factor[i, level]))
        together += factor[i, level] * factor[i, level]
    if longest == 0.0:
        points[0, 0], points[1, 0] = 0.0, 1.0
        return 1
    if level >= nonlinear:
        points[0, :5] = _HERMITE_NODES
        points[1, :5] = _HERMITE_WEIGHTS
        return 5
    step = min(rule[1] / math.sqrt(1.0 + together), rule[0] / longest)
    count = min(math.ceil(float(rule[2]) / float(step)), 255)
    for n in range(2 * count + 1):
        t = (n - count) * step
        points[0, n] = t
        points[1, n] = step * math.exp(-0.5 * t * t) / math.sqrt(2.0 * math.pi)
    return 2 * count + 1


def _joint_start(
    covariance: np.ndarray, mean: np.ndarray, nonlinear: int, rule: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """L, points, their numbers, and what earlier t add to the fields (row of each level)."""
    size = mean.size
    factor = _triangle_of(covariance)
    points = np.zeros((size, 2, 512))
    counts = np.zeros(size, dtype=np.int64)
    for level in range(size):
        counts[level] = _joint_rule_of(factor, level, nonlinear, rule, points[level])
    sums = np.zeros((size + 1, size + 2))
    sums[0, :size] = mean
    sums[0, size] = 1.0
    return factor, points, counts, sums


def _joint_place(
    level: int,
    index: np.ndarray,
    factor: np.ndarray,
    points: np.ndarray,
    counts: np.ndarray,
    sums: np.ndarray,
    sphere: float,
) -> bool:
    """Fields, weight and squared radius with the points from this level on; False at the end."""
    size = index.size
    while level < size:
        if level < 0:
            return False
        if index[level] >= counts[level]:
            index[level] = 0
            level -= 1
            if level >= 0:
                index[level] += 1
            continue
        t = points[level, 0, index[level]]
        radius = sums[level, size + 1] + t * t
        if radius > sphere and counts[level] > 5:
            index[level] += 1
            continue
        for i in range(size):
            sums[level + 1, i] = sums[level, i] + factor[i, level] * t
        sums[level + 1, size] = sums[level, size] * points[level, 1, index[level]]
        sums[level + 1, size + 1] = radius if counts[level] > 5 else sums[level, size + 1]
        level += 1
    return True


def joint_mean_1(c11: float, b1: float) -> float:
    """Mean over one field."""
    factor, points, counts, _ = _joint_start(
        np.array([[c11]]), np.array([b1]), NONLINEAR, JOINT_RULE
    )
    total = 0.0
    for n in range(counts[0]):
        total += points[0, 1, n] * integrand(b1 + factor[0, 0] * points[0, 0, n])
    return total


def joint_mean_2(c11: float, c12: float, c22: float, b1: float, b2: float) -> float:
    """Mean over two fields."""
    factor, points, counts, sums = _joint_start(
        np.array([[c11, c12], [c12, c22]]), np.array([b1, b2]), NONLINEAR, JOINT_RULE
    )
    index = np.zeros(2, dtype=np.int64)
    sphere = JOINT_RULE[2] * JOINT_RULE[2]
    total = 0.0
    level = 0
    while _joint_place(level, index, factor, points, counts, sums, sphere):
        z = sums[2]
        total += z[2] * integrand(z[0], z[1])
        index[1] += 1
        level = 1
    return total


def joint_mean_3(
    c11: float,
    c12: float,
    c13: float,
    c22: float,
    c23: float,
    c33: float,
    b1: float,
    b2: float,
    b3: float,
) -> float:
    """Mean over three fields."""
    covariance = np.array([[c11, c12, c13], [c12, c22, c23], [c13, c23, c33]])
    factor, points, counts, sums = _joint_start(
        covariance, np.array([b1, b2, b3]), NONLINEAR, JOINT_RULE
    )
    index = np.zeros(3, dtype=np.int64)
    sphere = JOINT_RULE[2] * JOINT_RULE[2]
    total = 0.0
    level = 0
    while _joint_place(level, index, factor, points, counts, sums, sphere):
        z = sums[3]
        total += z[3] * integrand(z[0], z[1], z[2])
        index[2] += 1
        level = 2
    return total


def joint_mean_4(
    c11: float,
    c12: float,
    c13: float,
    c14: float,
    c22: float,
    c23: float,
    c24: float,
    c33: float,
    c34: float,
    c44: float,
    b1: float,
    b2: float,
    b3: float,
    b4: float,
) -> float:
    """Mean over four fields."""
    covariance = np.array(
        [[c11, c12, c13, c14], [c12, c22, c23, c24], [c13, c23, c33, c34], [c14, c24, c34, c44]]
    )
    factor, points, counts, sums = _joint_start(
        covariance, np.array([b1, b2, b3, b4]), NONLINEAR, JOINT_RULE
    )
    index = np.zeros(4, dtype=np.int64)
    sphere = JOINT_RULE[2] * JOINT_RULE[2]
    total = 0.0
    level = 0
    while _joint_place(level, index, factor, points, counts, sums, sphere):
        z = sums[4]
        total += z[4] * integrand(z[0], z[1], z[2], z[3])
        index[3] += 1
        level = 3
    return total


def joint_mean_5(
    c11: float,
    c12: float,
    c13: float,
    c14: float,
    c15: float,
    c22: float,
    c23: float,
    c24: float,
    c25: float,
    c33: float,
    c34: float,
    c35: float,
    c44: float,
    c45: float,
    c55: float,
    b1: float,
    b2: float,
    b3: float,
    b4: float,
    b5: float,
) -> float:
    """Mean over five fields."""
    covariance = np.array(
        [
            [c11, c12, c13, c14, c15],
            [c12, c22, c23, c24, c25],
            [c13, c23, c33, c34, c35],
            [c14, c24, c34, c44, c45],
            [c15, c25, c35, c45, c55],
        ]
    )
    factor, points, counts, sums = _joint_start(
        covariance, np.array([b1, b2, b3, b4, b5]), NONLINEAR, JOINT_RULE
    )
    index = np.zeros(5, dtype=np.int64)
    sphere = JOINT_RULE[2] * JOINT_RULE[2]
    total = 0.0
    level = 0
    while _joint_place(level, index, factor, points, counts, sums, sphere):
        z = sums[5]
        total += z[5] * integrand(z[0], z[1], z[2], z[3], z[4])
        index[4] += 1
        level = 4
    return total


def joint_mean_6(
    c11: float,
    c12: float,
    c13: float,
    c14: float,
    c15: float,
    c16: float,
    c22: float,
    c23: float,
    c24: float,
    c25: float,
    c26: float,
    c33: float,
    c34: float,
    c35: float,
    c36: float,
    c44: float,
    c45: float,
    c46: float,
    c55: float,
    c56: float,
    c66: float,
    b1: float,
    b2: float,
    b3: float,
    b4: float,
    b5: float,
    b6: float,
) -> float:
    """Mean over six fields."""
    covariance = np.array(
        [
            [c11, c12, c13, c14, c15, c16],
            [c12, c22, c23, c24, c25, c26],
            [c13, c23, c33, c34, c35, c36],
            [c14, c24, c34, c44, c45, c46],
            [c15, c25, c35, c45, c55, c56],
            [c16, c26, c36, c46, c56, c66],
        ]
    )
    factor, points, counts, sums = _joint_start(
        covariance, np.array([b1, b2, b3, b4, b5, b6]), NONLINEAR, JOINT_RULE
    )
    index = np.zeros(6, dtype=np.int64)
    sphere = JOINT_RULE[2] * JOINT_RULE[2]
    total = 0.0
    level = 0
    while _joint_place(level, index, factor, points, counts, sums, sphere):
        z = sums[6]
        total += z[6] * integrand(z[0], z[1], z[2], z[3], z[4], z[5])
        index[5] += 1
        level = 5
    return total
