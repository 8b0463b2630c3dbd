r"""Means of two factors that are analytic on either side of zero, in polar coordinates.

With x = σ r sin(ψ) and y = ±τ r sin(Ω - ψ), where cos(Ω) = ∓ the correlation, the two factors have
their kinks at the ends of the sector 0 < ψ < Ω; two sectors and their opposites make the plane. So
nothing is nearly singular where fields are nearly aligned: one sector becomes thin. Gauss' rule for
the weight r exp(-r²/2) takes r, and that of Legendre takes ψ. Fields that are one, as that of a
student with itself, need a line alone.

``rule`` is a constant of the module: 7 points of a right angle, 8 whether no mean changes when all
fields change their signs, 9 points of r, 12, 20 or 28; the numbers before are those of
``kinked_mean``. Pasted into generated modules.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from symderiv.numerics.nodes import _LEGENDRES, _RAYLEIGHS
from symderiv.numerics.quadratures.kinked_mean import _apart
from symderiv.numerics.quadratures.plane_lines import _power_of_e
from symderiv.numerics.quadratures.smooth_mean import _BITS, _inner
from symderiv.numerics.quadratures.tensor_mean import _root_left, _share_left

if TYPE_CHECKING:  # defined by the module into which this text is pasted
    from symderiv.numerics.quadratures.tensor_mean import (
        _Three,
        _Two,
        quadrature_factors,
        quadrature_values_and_slopes,
    )

    _Four = tuple[float, float, float, float]
    _Arrays = tuple[np.ndarray, np.ndarray, np.ndarray]
    QUADRATURE_PAIR_RULE = np.zeros(10)
    STUDENT_KINKS = TEACHER_KINKS = STUDENT_SLOPE_JUMPS = TEACHER_JUMPS = np.zeros(0)

_PANELS = np.array([0.0, 1.2, 4.0, 8.3])


def _points_of_pair(rule: np.ndarray, c: _Three) -> _Arrays:
    """Return points of two fields with covariances c, without biases, and their weights."""
    c11, c12, c22 = c
    width1, width2 = math.sqrt(max(c11, 0.0)), math.sqrt(max(c22, 0.0))
    apart = _apart(c11, c12, c22)
    if apart == 0.0:
        return _points_of_one(rule, width1, math.copysign(width2, c12))
    opening = math.atan2(apart, _share_left(c12, width1, c22))
    rows = _row_of_sector(rule, opening), _row_of_sector(rule, math.pi - opening)
    turns, count = (8 + 2 * (rows[0] + rows[1])) & _BITS, int(rule[9])
    directions, radii = np.empty((3, turns)), _RAYLEIGHS[(count - 12) // 8]
    _directions(rows[0], (width1, -width2, opening), directions, 0)
    _directions(rows[1], (width1, width2, math.pi - opening), directions, 4 + 2 * rows[0])
    sides = 1 if rule[8] > 0.0 else 2
    size, share = count * turns, (3.0 - sides) / (2.0 * math.pi)
    x, y, weights = np.empty(sides * size), np.empty(sides * size), np.empty(sides * size)
    for q in range(count):
        radius, weight, at = radii[0, q], share * radii[1, q], (q * turns) & _BITS
        for n in range(turns):
            x[at + n] = radius * directions[0, n]
            y[at + n] = radius * directions[1, n]
            weights[at + n] = weight * directions[2, n]
    _opposite(sides, x, y, weights)
    return x, y, weights


def _points_of_one(rule: np.ndarray, width1: float, width2: float) -> _Arrays:
    """Return points of two multiples of one variable, in panels around zero, and their weights."""
    panels, row, sides = _PANELS.size - 1, _LEGENDRES.shape[0] - 3, 1 if rule[8] > 0.0 else 2
    count, density = (4 + 2 * row) & _BITS, (3.0 - sides) / math.sqrt(2.0 * math.pi)
    size = panels * count
    x, y, weights = np.empty(sides * size), np.empty(sides * size), np.empty(sides * size)
    for panel in range(panels):
        middle = 0.5 * (_PANELS[panel + 1] + _PANELS[panel])
        own, at = 0.5 * (_PANELS[panel + 1] - _PANELS[panel]), (panel * count) & _BITS
        for n in range(count):
            t = middle + own * _LEGENDRES[row, 0, n]
            x[at + n], y[at + n] = width1 * t, width2 * t
            weights[at + n] = density * own * _LEGENDRES[row, 1, n] * _power_of_e(-0.5 * t * t)
    _opposite(sides, x, y, weights)
    return x, y, weights


def _opposite(sides: int, x: np.ndarray, y: np.ndarray, weights: np.ndarray) -> None:
    """Write the opposites of the first half of the points to the second, if there are two sides."""
    half = (x.size // 2) & _BITS
    if sides == 2:
        for n in range(half):
            x[half + n], y[half + n], weights[half + n] = -x[n], -y[n], weights[n]


def _row_of_sector(rule: np.ndarray, angle: float) -> int:
    """Return the row of Gauss' rule for the angles of a sector."""
    wanted = rule[7] * (0.4 + 0.6 * angle / (0.5 * math.pi))
    row: int = min(max(math.ceil(0.5 * wanted) - 2, 0), _LEGENDRES.shape[0] - 1)
    return row


def _directions(row: int, sector: _Three, directions: np.ndarray, at: int) -> None:
    """Write both fields at radius one along the directions of a sector, and weights of these.

    ``sector`` are the standard deviations of both fields, the second with a sign, and the angle;
    ``at`` is the place of the first direction. The angles are symmetric about the middle.
    """
    (width1, width2, angle), count = sector, 4 + 2 * row
    for n in range(count):
        sine = math.sin(0.5 * angle * (1.0 + _LEGENDRES[row, 0, n]))
        directions[0, at + n], directions[1, at + count - 1 - n] = width1 * sine, width2 * sine
        directions[2, at + n] = 0.5 * angle * _LEGENDRES[row, 1, n]


def _polar_mean_of_2(rule: np.ndarray, kinds: tuple[int, int], c: _Three, b: _Two) -> float:
    """Return E[factor(kinds[0], x) factor(kinds[1], y)] of fields with covariances c, without
    biases.
    """
    x, y, weights = _points_of_pair(rule, c)
    first, second = np.empty(x.size), np.empty(x.size)
    quadrature_factors(kinds[0], x, first)
    quadrature_factors(kinds[1], y, second)
    for n in range(x.size):
        first[n] *= weights[n]
    return _inner(first, second)


def _polar_mean_at(rule: np.ndarray, kind: int, c: _Three) -> float:
    """Return E[delta(x) factor(kind, y)] of fields with covariances c, without biases."""
    c11, c12, c22 = c
    width = _root_left(c11, c11)
    if width == 0.0:
        return math.inf
    _, y, weights = _points_of_one(rule, 0.0, _apart(c11, c12, c22))
    values = np.empty(y.size)
    quadrature_factors(kind, y, values)
    return _inner(weights, values) / (math.sqrt(2.0 * math.pi) * width)


def _polar_at_slope_jumps(kind: int, c: _Three) -> float:
    """Return the part of the mean of half a student's second derivative that kinks contribute."""
    total = 0.0
    for k in range(STUDENT_KINKS.size):
        if STUDENT_SLOPE_JUMPS[k] != 0.0:
            total += 0.5 * STUDENT_SLOPE_JUMPS[k] * _polar_mean_at(QUADRATURE_PAIR_RULE, kind, c)
    return total


def _polar_at_jumps(kind: int, c: _Three) -> float:
    """Return the part of the mean of a teacher's slope that jumps contribute."""
    turned, total = (c[2], c[1], c[0]), 0.0
    for k in range(TEACHER_KINKS.size):
        if TEACHER_JUMPS[k] != 0.0:
            total += TEACHER_JUMPS[k] * _polar_mean_at(QUADRATURE_PAIR_RULE, kind, turned)
    return total


def _polar_products(rule: np.ndarray, owners: tuple[int, int], c: _Three) -> _Four:
    """Return means of two values, two slopes, first curvature and second value, and the reverse.

    ``owners`` are 0 for a student and 1 for a teacher, which has no curvature: means with it are
    not to be used.
    """
    x, y, weights = _points_of_pair(rule, c)
    first, second = np.zeros((3, x.size)), np.zeros((3, x.size))
    quadrature_values_and_slopes(owners[0], x, first)
    quadrature_values_and_slopes(owners[1], y, second)
    for m in range(3):
        for n in range(x.size):
            first[m, n] *= weights[n]
    return (
        _inner(first[0], second[0]),
        _inner(first[1], second[1]),
        _inner(first[2], second[0]),
        _inner(first[0], second[2]),
    )


def polar_pair_means(
    Q: np.ndarray,
    R: np.ndarray,
    T: np.ndarray,
    student_biases: np.ndarray,
    teacher_biases: np.ndarray,
    values_of_students: np.ndarray,
    values_of_both: np.ndarray,
    slopes_of_students: np.ndarray,
    slopes_of_both: np.ndarray,
    curvatures_of_students: np.ndarray,
    curvatures_of_both: np.ndarray,
) -> None:
    """Write the means of two factors of all students and of students and teachers."""
    K, M, rule = R.shape[0], R.shape[1], QUADRATURE_PAIR_RULE
    for i in range(K):
        for j in range(i + 1):
            c, turned = (Q[i, i], Q[i, j], Q[j, j]), (Q[j, j], Q[i, j], Q[i, i])
            value, slope, curvature, other = _polar_products(rule, (0, 0), c)
            values_of_students[i, j], values_of_students[j, i] = value, value
            slopes_of_students[i, j], slopes_of_students[j, i] = slope, slope
            curvatures_of_students[i, j] = curvature + _polar_at_slope_jumps(0, c)
            if j < i:
                curvatures_of_students[j, i] = other + _polar_at_slope_jumps(0, turned)
        for n in range(M):
            c = Q[i, i], R[i, n], T[n, n]
            value, slope, curvature, _ = _polar_products(rule, (0, 1), c)
            values_of_both[i, n], slopes_of_both[i, n] = value, slope + _polar_at_jumps(1, c)
            curvatures_of_both[i, n] = curvature + _polar_at_slope_jumps(3, c)
