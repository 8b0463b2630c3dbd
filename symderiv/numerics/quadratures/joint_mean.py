r"""Means of any function of a few jointly Gaussian fields, between the planes where it has kinks.

The fields are z = b + L t with independent t of variance one and a triangular L. The last fields
enter the function as a polynomial only, which was averaged before: the function given here depends
on the first fields, on the conditional means of the last ones (in their places), and on their
conditional covariance. Points beyond a sphere of t are left out.

The variables t of a smooth function have equal steps with a Gaussian weight, so small that no field
moves by more than the rule's step (see ``tensor_mean``), divided by how many times sharper the
function's numbers may make it. A function that is smooth except on planes g + Σ g_i z_i = 0 has
panels in place of steps, laid out anew for every t given the earlier ones (see ``kinked_mean``):
they end at the planes that no later t moves, and grow out of the layers in which later t smooth the
others, and of the lines in which two planes meet.

The rule of each mean is a constant of the module: 0 step in units of the fields, 1 step in t, 2
reach in t (and radius of the sphere); for panels the numbers of ``kinked_mean``. Pasted into
generated modules; ``templates`` writes a function for each number of fields.
"""

from __future__ import annotations

import math

import numpy as np

from symderiv.numerics.quadratures.force_mean import _step_of_rates, _triangle_of
from symderiv.numerics.quadratures.kinked_mean import _panels, _with_layers
from symderiv.numerics.quadratures.tensor_mean import _equal_steps, _matrix_of

_PARALLEL = 1e-14  # relative differences of two slopes below this are rounding
_AT_A_LAYER = 512  # points of panels on both sides of the narrowest layers
_MOST = 1e8  # this many points of a mean take a few seconds
_WIDEST = 9.0  # stated errors hold for fields that need up to this many times ``unit`` points per t


def _too_many(points: float, unit: float, levels: int) -> bool:
    """Return whether a mean would take minutes.

    That is so if there are more than twice the points of the largest fields for which errors are
    stated; ``unit`` is the number of steps in a reach.
    """
    most = 2.0
    for _ in range(levels):
        most *= _WIDEST * unit
    return points > max(most, _MOST)


def _joint_array(numbers: tuple[float, ...]) -> np.ndarray:
    """Return a tuple of numbers as an array."""
    array = np.empty(len(numbers))
    for n in range(len(numbers)):
        array[n] = numbers[n]
    return array


def _joint_start(
    moments: np.ndarray, size: int, levels: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the running sums before the first t, L, and the conditional covariance of the last
    fields.

    A row of the sums has the fields, the weight and the squared radius before each t.
    """
    factor, place = _triangle_of(_matrix_of(moments, size)), size * (size + 1) // 2
    sums = np.zeros((levels, size + 2))
    sums[0, size] = 1.0
    for i in range(size):
        sums[0, i] = moments[place + i]
    linear = size - levels
    left = np.zeros(linear * (linear + 1) // 2)
    place = 0
    for i in range(levels, size):
        for j in range(i, size):
            for level in range(levels, i + 1):
                left[place] += factor[i, level] * factor[j, level]
            place += 1
    return sums, factor, left


def _joint_longest(factor: np.ndarray, level: int) -> float:
    """Return the largest rate at which a field moves with one t."""
    longest = 0.0
    for i in range(factor.shape[0]):
        longest = max(longest, abs(factor[i, level]))
    return longest


def _joint_steps(
    factor: np.ndarray, levels: int, rule: np.ndarray, sharpness: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return equally spaced points and weights of each t, and their numbers."""
    counts = np.ones(levels, dtype=np.int64)
    steps = np.zeros(levels)
    most, points, alone = 1, 1.0, 1.0
    for level in range(levels):
        steps[level] = _step_of_rates(factor[:, level], sharpness, rule)
        if steps[level] > 0.0:
            points *= 2.0 * float(rule[2]) / float(steps[level]) + 1.0
    if _too_many(points, float(rule[2]) / float(rule[0]), levels):
        steps[:] = 0.0
        alone = math.nan
    for level in range(levels):
        if steps[level] > 0.0:
            counts[level] = 2 * math.ceil(float(rule[2]) / float(steps[level])) + 1
            most = max(most, counts[level])
    rows = np.empty((levels, 2, most))
    for level in range(levels):
        rows[level, 0, 0], rows[level, 1, 0] = 0.0, alone
        if steps[level] > 0.0:
            _equal_steps(-1.0 * (counts[level] // 2), steps[level], counts[level], rows[level])
    return rows, counts


def _joint_room(
    factor: np.ndarray, levels: int, rule: np.ndarray, sharpness: float, planes: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return empty arrays for points and weights of each t in panels, and numbers of points, 0."""
    shortest, points = float(rule[0]), 1.0
    for level in range(levels):
        panel, longest = float(rule[0]), _joint_longest(factor, level)
        if longest > 0.0:
            panel = min(panel, float(rule[1]) / (sharpness * longest))
        shortest, points = min(shortest, panel), points * 16.0 * float(rule[2]) / panel
    if _too_many(points, 8.0 * float(rule[2]) / float(rule[1]), levels):
        return np.empty((levels, 2, 8)), np.zeros(levels, dtype=np.int64)
    layers = planes.shape[0] * (planes.shape[0] + 1) // 2
    most = 8 * math.ceil(2.0 * float(rule[2]) / shortest) + _AT_A_LAYER * (1 + layers)
    return np.empty((levels, 2, most)), np.zeros(levels, dtype=np.int64)


def _joint_along(planes: np.ndarray, factor: np.ndarray, levels: int) -> np.ndarray:
    """Return the rate at which the number of each plane changes with each t."""
    along = np.zeros((planes.shape[0], levels))
    for n in range(planes.shape[0]):
        for level in range(levels):
            for i in range(levels):
                along[n, level] += planes[n, 1 + i] * factor[i, level]
    return along


def _joint_layers(
    level: int,
    before: np.ndarray,
    planes: np.ndarray,
    along: np.ndarray,
    layers: np.ndarray,
    rule: np.ndarray,
) -> int:
    """Write layers where one t, given the earlier ones, meets planes or lines of two; return how
    many.
    """
    count, levels, at = 0, along.shape[1], np.zeros(1)
    means = planes[:, 0].copy()
    for a in range(planes.shape[0]):
        square = 0.0
        for i in range(planes.shape[1] - 1):
            means[a] += planes[a, 1 + i] * before[i]
        for k in range(level + 1, levels):
            square += along[a, k] * along[a, k]
        rest = math.sqrt(square)
        count = _with_layers(layers, count, at, means[a], along[a, level], rest, rule)
        for b in range(a if rest > 0.0 else 0):
            shared = 0.0
            for k in range(level + 1, levels):
                shared += along[a, k] * along[b, k]
            # residual of the other plane's number given this one, over the later t
            ratio = shared / square
            slope, left = along[b, level] - ratio * along[a, level], 0.0
            if abs(slope) <= _PARALLEL * (abs(along[b, level]) + abs(ratio * along[a, level])):
                continue
            for k in range(level + 1, levels):
                left = math.hypot(left, along[b, k] - ratio * along[a, k])
            mean = means[b] - ratio * means[a]
            count = _with_layers(layers, count, at, mean, slope, left, rule)
    return count


def _joint_enter(
    level: int,
    sums: np.ndarray,
    factor: np.ndarray,
    row: np.ndarray,
    kinks: tuple[np.ndarray, np.ndarray, np.ndarray],
    rule: np.ndarray,
    sharpness: float,
) -> int:
    """Write the panels of one t within the sphere; return the number of points, -1 if too many."""
    (planes, along, layers), own = kinks, rule.copy()
    size = factor.shape[0]
    own[2] = math.sqrt(max(rule[2] * rule[2] - sums[level, size + 1], 0.0))
    count = _joint_layers(level, sums[level], planes, along, layers, own)
    longest = sharpness * _joint_longest(factor, level)
    return _panels(layers, count, longest, own, row[0], row[1])


def _joint_line(
    sums: np.ndarray,
    factor: np.ndarray,
    points: tuple[np.ndarray, np.ndarray, np.ndarray],
    kinks: tuple[np.ndarray, np.ndarray, np.ndarray],
    rule: np.ndarray,
    sharpness: float,
) -> bool:
    """Advance to the next line along the last t and lay out its points; return False after the last
    one.

    The last row of ``sums`` is then that of the line; its weight is NaN where a t has too many
    points.
    """
    rows, counts, index = points
    last, size, sphere = index.size - 1, factor.shape[0], rule[2] * rule[2]
    level = 0 if index[0] < 0 else last - 1
    while level >= 0:
        index[level] += 1
        if index[level] == 0 and kinks[0].shape[0] > 0:
            counts[level] = _joint_enter(level, sums, factor, rows[level], kinks, rule, sharpness)
            if counts[level] < 0:
                sums[last, size] = math.nan
                counts[:] = 1
                index[:] = 0
                return True
        if level == last:
            return True
        if index[level] >= counts[level]:
            index[level] = -1
            level -= 1
            continue
        t = rows[level, 0, index[level]]
        radius = sums[level, size + 1] + t * t
        if radius > sphere:
            continue
        level += 1
        for i in range(size):
            sums[level, i] = sums[level - 1, i] + factor[i, level - 1] * t
        sums[level, size] = sums[level - 1, size] * rows[level - 1, 1, index[level - 1]]
        sums[level, size + 1] = radius
        index[level] = -1
    return False
