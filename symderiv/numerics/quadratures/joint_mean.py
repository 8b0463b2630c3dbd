r"""Means of any smooth function of a few jointly Gaussian fields by rules of equal steps.

The fields are z = b + L t with independent t of variance one and a triangular L. The function
depends on the last ones as a polynomial, which was averaged over what is left of them when the
others are given: it is a function of all fields, with the conditional means in the places of the
last ones, and of the conditional covariance. In the other t the step is that of a Gaussian weight,
and no field moves by more than the rule's step per step (see ``tensor_mean``). Points beyond the
sphere are left out.

``JOINT_RULE`` is a constant of the module: 0 step in units of the fields, 1 step in t, 2 reach in t
(and radius of the sphere). Text for modules; ``templates`` writes one for each number of
fields.
"""

from __future__ import annotations

import math

import numpy as np

from symderiv.numerics.quadratures.force_mean import _triangle_of


def _joint_array(numbers: tuple[float, ...]) -> np.ndarray:
    """Return the numbers as an array."""
    array = np.empty(len(numbers))
    for n in range(len(numbers)):
        array[n] = numbers[n]
    return array


def _joint_rule_of(factor: np.ndarray, level: int, rule: np.ndarray, points: np.ndarray) -> int:
    """Return points (row 0) and weights (row 1) of one t; returns how many."""
    longest = together = 0.0
    for i in range(factor.shape[0]):
        longest = max(longest, abs(factor[i, level]))
        together += factor[i, level] * factor[i, level]
    if longest == 0.0:
        points[0, 0], points[1, 0] = 0.0, 1.0
        return 1
    step = min(rule[1] / math.sqrt(1.0 + together), rule[0] / longest)
    count = min(math.ceil(float(rule[2]) / float(step)), 255)
    for n in range(2 * count + 1):
        t = (n - count) * step
        points[0, n] = t
        points[1, n] = step * math.exp(-0.5 * t * t) / math.sqrt(2.0 * math.pi)
    return 2 * count + 1


def _joint_start(
    moments: np.ndarray, size: int, levels: int, rule: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return what :func:`_joint_next` needs: the first array is what it fills, weight and
    fields.
    """
    covariance = np.empty((size, size))
    place = 0
    for i in range(size):
        for j in range(i, size):
            covariance[i, j] = covariance[j, i] = moments[place]
            place += 1
    factor = _triangle_of(covariance)
    points = np.zeros((levels, 2, 512))
    counts = np.zeros(levels, dtype=np.int64)
    index = np.zeros(levels, dtype=np.int64)
    for level in range(levels):
        counts[level] = _joint_rule_of(factor, level, rule, points[level])
    index[levels - 1] = -1
    sums = np.zeros((levels + 1, size + 2))
    for i in range(size):
        sums[0, i] = moments[place + i]
    sums[0, size] = 1.0
    linear = size - levels
    out = np.zeros(1 + size + linear * (linear + 1) // 2)
    place = 1 + size
    for i in range(levels, size):
        for j in range(i, size):
            for level in range(levels, i + 1):
                out[place] += factor[i, level] * factor[j, level]
            place += 1
    return out, sums, factor, points, counts, index


def _joint_next(
    out: np.ndarray,
    sums: np.ndarray,
    factor: np.ndarray,
    points: np.ndarray,
    counts: np.ndarray,
    index: np.ndarray,
    sphere: float,
) -> bool:
    """Go to the next point within the sphere: its weight and fields; False behind the last."""
    levels, size = index.size, factor.shape[0]
    level = levels - 1
    if index[level] < 0:
        level = 0
        index[levels - 1] = 0
    else:
        index[level] += 1
    while level < levels:
        if index[level] >= counts[level]:
            if level == 0:
                return False
            index[level] = 0
            level -= 1
            index[level] += 1
            continue
        t = points[level, 0, index[level]]
        radius = sums[level, size + 1] + t * t
        if radius > sphere:
            index[level] += 1
            continue
        for i in range(size):
            sums[level + 1, i] = sums[level, i] + factor[i, level] * t
        sums[level + 1, size] = sums[level, size] * points[level, 1, index[level]]
        sums[level + 1, size + 1] = radius
        level += 1
    out[0] = sums[levels, size]
    for i in range(size):
        out[1 + i] = sums[levels, i]
    return True
