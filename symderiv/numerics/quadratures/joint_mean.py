r"""Means of any smooth function of a few jointly Gaussian fields by rules of equal steps.

The fields are z = b + L t with independent t of variance one and a triangular L. The function
depends on the last ones as a polynomial, which was averaged over what is left of them when the
others are given: it is a function of all fields, with the conditional means in the places of the
last ones, and of the conditional covariance. In the other t the step is that of a Gaussian weight,
and no field moves by more than the rule's step per step (see ``tensor_mean``), divided by how many
times sharper numbers in the function may make it. Points beyond the sphere are left out.

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


def _joint_step(factor: np.ndarray, level: int, rule: np.ndarray, sharpness: float) -> float:
    """Return the step of one t; none where nothing depends on it."""
    longest = together = 0.0
    for i in range(factor.shape[0]):
        longest = max(longest, abs(factor[i, level]))
        together += factor[i, level] * factor[i, level]
    if longest == 0.0:
        return 0.0
    step = float(rule[0]) / (sharpness * longest)
    return min(float(rule[1]) / math.sqrt(1.0 + together), step)


def _joint_start(
    moments: np.ndarray, size: int, levels: int, rule: np.ndarray, sharpness: float
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
    steps = np.zeros(levels)
    counts = np.zeros(levels, dtype=np.int64)
    index = np.zeros(levels, dtype=np.int64)
    sums = np.zeros((levels + 1, size + 2))
    sums[0, size] = 1.0
    for level in range(levels):
        steps[level] = _joint_step(factor, level, rule, sharpness)
        if steps[level] > 0.0:
            counts[level] = math.ceil(float(rule[2]) / float(steps[level]))
            sums[0, size] *= steps[level] / math.sqrt(2.0 * math.pi)
    index[levels - 1] = -1
    for i in range(size):
        sums[0, i] = moments[place + i]
    linear = size - levels
    out = np.zeros(1 + size + linear * (linear + 1) // 2)
    place = 1 + size
    for i in range(levels, size):
        for j in range(i, size):
            for level in range(levels, i + 1):
                out[place] += factor[i, level] * factor[j, level]
            place += 1
    return out, sums, factor, steps, counts, index


def _joint_next(
    out: np.ndarray,
    sums: np.ndarray,
    factor: np.ndarray,
    steps: np.ndarray,
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
        if index[level] > 2 * counts[level]:
            if level == 0:
                return False
            index[level] = 0
            level -= 1
            index[level] += 1
            continue
        t = (index[level] - counts[level]) * steps[level]
        radius = sums[level, size + 1] + t * t
        if radius > sphere:
            index[level] += 1
            continue
        for i in range(size):
            sums[level + 1, i] = sums[level, i] + factor[i, level] * t
        sums[level + 1, size + 1] = radius
        level += 1
    out[0] = sums[0, size] * math.exp(-0.5 * sums[levels, size + 1])
    for i in range(size):
        out[1 + i] = sums[levels, i]
    return True
