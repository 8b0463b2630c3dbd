r"""Means of products of functions with kinks of Gaussian fields, as text for modules.

The fields are z = L t with independent t of variance one and a triangular L in the order of the
factors, plus biases. The integral over t_j, given the earlier ones, is split where the factor of
z_j has its kinks. The factors of later fields are smoothed by what is still to come, but on a scale
of their own: the kink κ of z_k is seen at t = (κ - m)/L_kj, with m the field's value so far, in a
layer as wide as (standard deviation still to come)/|L_kj|. Where fields are nearly aligned the
layer is thin. So panels with Gauss' rule of eight points grow geometrically out of every layer,
from its own width on, and the work depends on the logarithm of the width. Layers narrower than the
rule's floor count as kinks. Where the kinks of two later fields meet there is a weaker layer,
treated alike. What of the second field of two is independent of the first comes from their
determinant in doubled precision: means of two jumps change by its root, which plain doubles know to
1e-8.

``rule`` is a constant of the module: 0 longest panel in t, 1 longest panel in units of
the fields, 2 reach in t, 3 cell of the table of the last average, 4 floor of the layers, 5 how much
longer panels may be than their distance from a layer, 6 below which width of a field seven points
of the Gauss-Hermite rule do.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from symderiv.numerics.nodes import _HERMITE_7_NODES, _HERMITE_7_WEIGHTS, _LEGENDRE_8
from symderiv.numerics.quadratures.plane_lines import _DENSITY, _power_of_e
from symderiv.numerics.quadratures.tensor_mean import (
    _between,
    _matrix_of,
    _root_left,
    _share_left,
    _triangle,
)
from symderiv.numerics.signs.fields import _root_of_minor

if TYPE_CHECKING:  # defined by the module into which this text is pasted
    from symderiv.numerics.quadratures.tensor_mean import (
        _Four,
        _Kinds,
        _Ten,
        _Three,
        _Two,
        quadrature_factor,
        quadrature_factors,
    )

    QUADRATURE_PAIR_RULE = np.zeros(7)
    number = 1
    own_kinks = STUDENT_KINKS = TEACHER_KINKS = STUDENT_SLOPE_JUMPS = TEACHER_JUMPS = np.zeros(0)

    def quadrature_kinks(kind: int) -> np.ndarray:
        """Return the places where a factor is not smooth."""
        return np.zeros(kind)

    other_kinks = quadrature_kinks


_SITES = 8192  # points of one t, at most


def _apart(c11: float, c12: float, c22: float) -> float:
    """Return the standard deviation of the second field given the first one."""
    return _root_of_minor(c11, c12, c22) / math.sqrt(c11) if c11 > 0.0 else math.sqrt(c22)


def _with_layers(
    layers: np.ndarray,
    count: int,
    kinks: np.ndarray,
    mean: float,
    slope: float,
    rest: float,
    rule: np.ndarray,
) -> int:
    """Add the places where mean + slope t meets kinks, and the widths of these layers.

    Return the number of layers.
    """
    if slope == 0.0:
        return count
    width = rest / abs(slope)
    if width > 8.0:
        return count
    for k in range(kinks.size):
        place = (kinks[k] - mean) / slope
        if abs(place) < rule[2] + 8.0 * width:
            layers[count, 0] = place
            layers[count, 1] = width if width > rule[4] else 0.0
            count += 1
    return count


def _with_crossings(
    layers: np.ndarray,
    count: int,
    kinks: np.ndarray,
    others: np.ndarray,
    ratio: float,
    field: _Three,
    rule: np.ndarray,
) -> int:
    """Add layers where kinks of two fields meet; return the number of layers.

    ``field`` is mean, slope and residual of the first field less ``ratio`` times the other.
    """
    mean, slope, rest = field
    for k in range(others.size):
        count = _with_layers(layers, count, kinks, mean + ratio * others[k], slope, rest, rule)
    return count


def _panels(
    layers: np.ndarray,
    count: int,
    longest: float,
    rule: np.ndarray,
    nodes: np.ndarray,
    weights: np.ndarray,
) -> int:
    """Write points and weights of one t; return their number, -1 if too many.

    ``longest`` is the largest rate at which a field moves with t.
    """
    if longest == 0.0:
        nodes[0], weights[0] = 0.0, 1.0
        return 1
    reach, ratio = rule[2], rule[5]
    if count == 0 and longest < rule[6]:
        for n in range(7):
            nodes[n], weights[n] = _HERMITE_7_NODES[n], _HERMITE_7_WEIGHTS[n]
        return 7
    panel = min(rule[0], rule[1] / longest)
    start, used = -reach, 0
    while start < reach:
        stop, length = reach, panel
        for k in range(count):
            gap, width = layers[k, 0] - start, layers[k, 1]
            if ratio * width > panel:
                continue
            if gap > 0.0:
                stop = min(stop, layers[k, 0])
                if width > 0.0:
                    length = min(length, ratio * (width + gap) / (1.0 + ratio))
            elif width > 0.0:
                length = min(length, ratio * (width - gap))
        left = stop - start
        end = stop
        if length < left:
            end = start + (length if length < 0.5 * left else 0.5 * left)
        half, middle = 0.5 * (end - start), 0.5 * (end + start)
        start = end
        if half < 1e-15:
            continue
        if used + 8 > nodes.size:
            return -1
        for j in range(8):
            t = middle + half * _LEGENDRE_8[0, j]
            nodes[used] = t
            weights[used] = half * _LEGENDRE_8[1, j] * _DENSITY * _power_of_e(-0.5 * t * t)
            used += 1
    return used


def _fitting_panels(
    layers: np.ndarray,
    count: int,
    longest: float,
    rule: np.ndarray,
    nodes: np.ndarray,
    weights: np.ndarray,
) -> int:
    """Write points and weights of one t; one of weight NaN if there are more than fit, so that no
    mean is wrong without a sign of it.
    """
    used = _panels(layers, count, longest, rule, nodes, weights)
    if used < 0:
        nodes[0], weights[0] = 0.0, math.nan
        return 1
    return used


def _gaussian_average(
    kind: int,
    mean: float,
    width: float,
    rule: np.ndarray,
    layers: np.ndarray,
    nodes: np.ndarray,
    weights: np.ndarray,
) -> float:
    """Return E[factor(mean + width t)]."""
    count = _with_layers(layers, 0, quadrature_kinks(kind), mean, width, 0.0, rule)
    count = _fitting_panels(layers, count, width, rule, nodes, weights)
    places, values, total = np.empty(count), np.empty(count), 0.0
    for n in range(count):
        places[n] = mean + width * nodes[n]
    quadrature_factors(kind, places, values)
    for n in range(count):
        total += weights[n] * values[n]
    return total


def _average_grids(
    kind: int, mean: float, width: float, spread: float, rule: np.ndarray
) -> tuple[np.ndarray, float]:
    """Return smoothed values of a factor on grids, and their cell.

    There is a grid around each kink if the width is small, else one around the mean of the field.
    """
    if width == 0.0:
        return np.empty((0, 1)), 1.0
    kinks = quadrature_kinks(kind)
    layers, nodes, weights = np.empty((kinks.size, 2)), np.empty(_SITES), np.empty(_SITES)
    thin = width < rule[6]
    cell = width / 6.0 if thin else min(rule[3], width / 6.0)
    half = math.ceil((rule[2] * width if thin else spread) / cell) + 3
    rows = kinks.size if thin else 1
    values = np.empty((rows, 2 * half + 1))
    for k in range(rows):
        middle = kinks[k] if thin else mean
        for n in range(2 * half + 1):
            place = middle + (n - half) * cell
            values[k, n] = _gaussian_average(kind, place, width, rule, layers, nodes, weights)
    return values, cell


def _average_from_grids(
    kind: int,
    mean: float,
    shift: float,
    width: float,
    values: np.ndarray,
    cell: float,
    rule: np.ndarray,
) -> float:
    """Return E[factor(mean + shift + width t)] from the grids; ``mean`` is that of the field."""
    place = mean + shift
    if width == 0.0:
        return quadrature_factor(kind, place)
    if width >= rule[6]:
        return _between(values[0], shift / cell)
    kinks = quadrature_kinks(kind)
    for k in range(kinks.size):
        if abs(place - kinks[k]) < rule[2] * width:
            return _between(values[k], (place - kinks[k]) / cell)
    total = 0.0
    for n in range(7):
        total += _HERMITE_7_WEIGHTS[n] * quadrature_factor(
            kind, place + width * _HERMITE_7_NODES[n]
        )
    return total


def _kinked_mean_of_2(rule: np.ndarray, kinds: tuple[int, int], c: _Three, b: _Two) -> float:
    """Return E[factor(kinds[0], x) factor(kinds[1], y)] for covariances c and means b."""
    kind_1, kind_2 = kinds
    c11, c12, c22 = c
    b1, b2 = b
    l11 = _root_left(c11, c11)
    l21 = _share_left(c12, l11, c22)
    l22 = _apart(c11, c12, c22)
    kinks1, kinks2 = quadrature_kinks(kind_1), quadrature_kinks(kind_2)
    layers = np.empty((kinks1.size + kinks2.size, 2))
    t1, w1, t2, w2 = np.empty(_SITES), np.empty(_SITES), np.empty(_SITES), np.empty(_SITES)
    count = _with_layers(layers, 0, kinks1, b1, l11, 0.0, rule)
    count = _with_layers(layers, count, kinks2, b2, l21, l22, rule)
    total = 0.0
    for n1 in range(_fitting_panels(layers, count, max(l11, abs(l21)), rule, t1, w1)):
        smooth = _gaussian_average(kind_2, b2 + l21 * t1[n1], l22, rule, layers, t2, w2)
        total += w1[n1] * quadrature_factor(kind_1, b1 + l11 * t1[n1]) * smooth
    return total


def _layers_of(
    layers: np.ndarray,
    kinds: _Kinds,
    factor: np.ndarray,
    means: np.ndarray,
    level: int,
    rule: np.ndarray,
) -> int:
    """Write layers of one t, at kinks of its field and of later ones, and where kinks of two later
    fields meet; return their number.

    ``means`` are those of all fields, given the earlier t.
    """
    count = 0
    for i in range(level, 4):
        rest, own = 0.0, quadrature_kinks(kinds[i])
        for k in range(i, level, -1):
            rest = math.hypot(factor[i, k], rest)
        count = _with_layers(layers, count, own, means[i], factor[i, level], rest, rule)
        for j in range(level + 1, i):
            # the residual of field i given field j, beyond this t
            both, square, left = factor[i, j], factor[j, j], 0.0
            for k in range(i, j, -1):
                left = math.hypot(factor[i, k], left)
            if j > level + 1:
                both = square = 0.0
                for k in range(level + 1, j + 1):
                    both += factor[i, k] * factor[j, k]
                    square += factor[j, k] * factor[j, k]
            if square == 0.0:
                continue
            ratio, off = both / square, 0.0
            if j > level + 1:
                for k in range(level + 1, j + 1):
                    off += (factor[i, k] - ratio * factor[j, k]) ** 2
                left = math.sqrt(off + left * left)
            slope = factor[i, level] - ratio * factor[j, level]
            field = means[i] - ratio * means[j], slope, left
            others = quadrature_kinks(kinds[j])
            count = _with_crossings(layers, count, own, others, ratio, field, rule)
    return count


def _kinked_mean_of_4(rule: np.ndarray, kinds: _Kinds, c: _Ten, b: _Four) -> float:
    """Return the mean of four factors of four fields; c is row by row, from the diagonal on."""
    kind_1, kind_2, kind_3, kind_4 = kinds
    factor, means, longest, most = _triangle(_matrix_of(c, 4)), np.empty((3, 4)), np.zeros(3), 1
    for i in range(4):
        means[0, i], most = b[i], max(most, quadrature_kinks(kinds[i]).size)
        for k in range(min(i + 1, 3)):
            longest[k] = max(longest[k], abs(factor[i, k]))
    layers = np.empty((4 * most + 3 * most * most, 2))
    t1, w1, t2, w2 = np.empty(_SITES), np.empty(_SITES), np.empty(_SITES), np.empty(_SITES)
    t3, w3 = np.empty(_SITES), np.empty(_SITES)
    l11, l22, l33 = factor[0, 0], factor[1, 1], factor[2, 2]
    l41, l42, l43, l44 = factor[3, 0], factor[3, 1], factor[3, 2], factor[3, 3]
    spread = rule[2] * math.sqrt(l41 * l41 + l42 * l42 + l43 * l43)
    averages, cell = _average_grids(kind_4, b[3], l44, spread, rule)
    sphere = rule[2] * rule[2]
    total = 0.0
    count = _layers_of(layers, kinds, factor, means[0], 0, rule)
    for n1 in range(_fitting_panels(layers, count, longest[0], rule, t1, w1)):
        for i in range(1, 4):
            means[1, i] = means[0, i] + factor[i, 0] * t1[n1]
        radius1 = t1[n1] * t1[n1]
        middle = 0.0
        count = _layers_of(layers, kinds, factor, means[1], 1, rule)
        for n2 in range(_fitting_panels(layers, count, longest[1], rule, t2, w2)):
            radius2 = radius1 + t2[n2] * t2[n2]
            if radius2 > sphere:
                continue
            for i in range(2, 4):
                means[2, i] = means[1, i] + factor[i, 1] * t2[n2]
            count = _layers_of(layers, kinds, factor, means[2], 2, rule)
            inner = 0.0
            for n3 in range(_fitting_panels(layers, count, longest[2], rule, t3, w3)):
                if radius2 + t3[n3] * t3[n3] > sphere:
                    continue
                shift = means[2, 3] - b[3] + l43 * t3[n3]
                smooth = _average_from_grids(kind_4, b[3], shift, l44, averages, cell, rule)
                inner += w3[n3] * quadrature_factor(kind_3, means[2, 2] + l33 * t3[n3]) * smooth
            middle += w2[n2] * quadrature_factor(kind_2, means[1, 1] + l22 * t2[n2]) * inner
        total += w1[n1] * quadrature_factor(kind_1, b[0] + l11 * t1[n1]) * middle
    return total


def _mean_at(rule: np.ndarray, kind: int, place: float, c: _Three, b: _Two) -> float:
    """Return E[delta(x - place) factor(kind, y)] of fields with covariances c and means b."""
    (c11, c12, c22), (b1, b2) = c, b
    l11 = _root_left(c11, c11)
    if l11 == 0.0:
        return 0.0 if place != b1 else math.inf
    l21 = _share_left(c12, l11, c22)
    l22 = _apart(c11, c12, c22)
    t = (place - b1) / l11
    density = math.exp(-0.5 * t * t) / (math.sqrt(2.0 * math.pi) * l11)
    layers, longer = np.empty((quadrature_kinks(kind).size, 2)), rule.copy()
    # there is one factor and the Gaussian weight only: eight points suffice for twice the length
    longer[0] *= 2.0
    nodes, weights = np.empty(_SITES), np.empty(_SITES)
    return density * _gaussian_average(kind, b2 + l21 * t, l22, longer, layers, nodes, weights)


def kinks_alone(kind: int) -> np.ndarray:
    """Return the kinks of the only factor."""
    return own_kinks


def kinks_or_other(kind: int) -> np.ndarray:
    """Return the kinks of the factor with this number, or of one with a lower number."""
    if kind < number:
        return other_kinks(kind)
    return own_kinks


def _at_slope_jumps(kind: int, c: _Three, b: _Two) -> float:
    """Return the part of the mean of half a student's second derivative that kinks contribute."""
    rule, total = QUADRATURE_PAIR_RULE, 0.0
    for k in range(STUDENT_KINKS.size):
        if STUDENT_SLOPE_JUMPS[k] != 0.0:
            jump = 0.5 * STUDENT_SLOPE_JUMPS[k]
            total += jump * _mean_at(rule, kind, STUDENT_KINKS[k], c, b)
    return total


def _at_jumps(kind: int, c: _Three, b: _Two) -> float:
    """Return the part of the mean of a teacher's slope that jumps contribute."""
    rule, total = QUADRATURE_PAIR_RULE, 0.0
    turned, biases = (c[2], c[1], c[0]), (b[1], b[0])
    for k in range(TEACHER_KINKS.size):
        if TEACHER_JUMPS[k] != 0.0:
            total += TEACHER_JUMPS[k] * _mean_at(rule, kind, TEACHER_KINKS[k], turned, biases)
    return total
