r"""Means of four factors that have a kink each, over points of the plane of two fields.

The first two fields span a plane, with independent t1 and t2 of variance one. Given these, another
field is y + s ξ; its factor counts as F(y) = E[f(y + s ξ)] (``smoothed``), two others as

    E[f(y + s ξ) g(z + r ζ)] = E[F(y + a η) G(z ± b η)],

where ρ is the correlation of ξ and ζ, F and G average over what is left of the fields when they
share η, of variances s² (1 - |ρ|) and r² (1 - |ρ|), and a² = s² |ρ|, b² = r² |ρ|. F and G vary on
scales of a/√|ρ|, so that Gauss-Hermite rules do for moderate ρ. Nearly aligned rests are integrated
over that of the second field, in pieces.

The lines of t1 and t2 are cut where factors of the plane have their kinks and where other factors
are nearly in the plane: a kink of y is seen over a width s. In each piece t = c ± w sinh(u) from
its end c, with w that width or the scale on which factors vary, and Gauss' rule in u: the number of
points grows with the logarithm of w.

``rule`` is a constant of the module: 0 points of a piece of usual length, 1 what is negligible, in
exponents, 2 reach in t, 3 scale on which factors vary away from kinks, 4 widths below are none.
Text for modules.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from symderiv.numerics.nodes import _HERMITES, _LEGENDRES
from symderiv.numerics.noise_mean import (
    _all_fields,
    _correlation_left,
    _parts_in_plane,
    _spread,
)
from symderiv.numerics.smoothed import _smoothed_at, _smoothed_table

if TYPE_CHECKING:  # what stands in the module
    from symderiv.numerics.tensor_mean import _Four, _Kinds, _Ten, _Three, quadrature_factor

    QUADRATURE_RULE = np.zeros(5)

    def quadrature_kinks(kind: int) -> np.ndarray:
        """Return places where a factor is not smooth."""
        return np.zeros(kind)


_LINE = 2000  # points of a line, at most
_SMOOTH = 0.6  # layers wider than this, in t, are no layers
_MOST_ETA = 8.5
_ALIGNED = 0.85  # correlations of rests above are integrated in pieces
_NO_CUT = 100.0
_ETAS = 80


def _kink_of(kind: int) -> float:
    """Return the kink of a factor, or zero for one without."""
    kinks = quadrature_kinks(kind)
    return kinks[0] if kinks.size > 0 else 0.0


def _cut(cuts: np.ndarray, count: int, place: float, width: float) -> int:
    """Add a cut in the order of places, or narrow the one that is there; return their number."""
    n = 0
    while n < count and cuts[n, 0] < place - 1e-9:
        n += 1
    if n < count and cuts[n, 0] < place + 1e-9:
        cuts[n, 1] = min(cuts[n, 1], width)
        return count
    for m in range(count, n, -1):
        cuts[m, 0], cuts[m, 1] = cuts[m - 1, 0], cuts[m - 1, 1]
    cuts[n, 0], cuts[n, 1] = place, width
    return count + 1


def _cut_at(cuts: np.ndarray, count: int, kink: float, field: _Three, rule: np.ndarray) -> int:
    """Add where a field of mean, slope and rest meets its kink."""
    mean, slope, rest = field
    if abs(slope) * _SMOOTH <= rest or slope == 0.0:
        return count
    place = (kink - mean) / slope
    width = rest / abs(slope)
    if abs(place) > rule[2] + 8.0 * width:
        return count
    # a kink proper is as wide as what is behind it
    own = rule[3] / abs(slope)
    width = 2.5 * width if width > rule[4] else own
    return _cut(cuts, count, place, min(width, own))


def _piece(
    start: float,
    end: float,
    width: float,
    rule: np.ndarray,
    share: float,
    line: np.ndarray,
    at: int,
) -> int:
    """Add points and weights between two places, denser towards ``start``; return their number."""
    length = abs(end - start)
    if length < 1e-12:
        return at
    sign = 1.0 if end > start else -1.0
    reach = math.asinh(length / width) if width < _NO_CUT else length
    size = (
        rule[0] * share * max(0.3 + 0.265 * reach if width < _NO_CUT else 0.0, 0.35 + 0.09 * length)
    )
    parts = 1 if size <= 32.0 else math.ceil(size / 24.0)
    row = max(math.ceil(0.5 * size / parts) - 2, 0)
    half = 0.5 * reach / parts
    for k in range(parts):
        for n in range(4 + 2 * row):
            u = half * (2.0 * k + 1.0 + _LEGENDRES[row, 0, n])
            weight = half * _LEGENDRES[row, 1, n]
            t = start + sign * u
            if width < _NO_CUT:
                grown = math.exp(u)
                t = start + sign * 0.5 * width * (grown - 1.0 / grown)
                weight *= 0.5 * width * (grown + 1.0 / grown)
            line[0, at] = t
            line[1, at] = weight * math.exp(-0.5 * t * t) / math.sqrt(2.0 * math.pi)
            at += 1
    return at


def _points(cuts: np.ndarray, count: int, radius: float, rule: np.ndarray, line: np.ndarray) -> int:
    """Write points and weights of one t, given the square of the distance of the others."""
    reach = math.sqrt(max(rule[2] * rule[2] - radius, 0.0))
    if reach < 0.1:
        return 0
    share = max(1.0 - 0.5 * radius / rule[1], 0.3)
    # what is close to a layer varies with it
    for n in range(1, count):
        gap = cuts[n, 0] - cuts[n - 1, 0]
        cuts[n, 1] = min(cuts[n, 1], cuts[n - 1, 1] + gap)
    for n in range(count - 2, -1, -1):
        gap = cuts[n + 1, 0] - cuts[n, 0]
        cuts[n, 1] = min(cuts[n, 1], cuts[n + 1, 1] + gap)
    first = 0
    while first < count and cuts[first, 0] <= -reach:
        first += 1
    last = first
    while last < count and cuts[last, 0] < reach:
        last += 1
    if first == last:
        return _piece(-reach, reach, _NO_CUT, rule, share, line, 0)
    used = _outwards(cuts[first, 0], cuts[first, 1], -reach, rule, share, line, 0)
    for n in range(first, last - 1):
        middle = 0.5 * (cuts[n, 0] + cuts[n + 1, 0])
        used = _piece(cuts[n, 0], middle, cuts[n, 1], rule, share, line, used)
        used = _piece(cuts[n + 1, 0], middle, cuts[n + 1, 1], rule, share, line, used)
    return _outwards(cuts[last - 1, 0], cuts[last - 1, 1], reach, rule, share, line, used)


def _outwards(
    place: float,
    width: float,
    end: float,
    rule: np.ndarray,
    share: float,
    line: np.ndarray,
    at: int,
) -> int:
    """Add points from a cut to the end of a line, on which the Gaussian weight may be between."""
    if place * end < 0.0 and width < 0.6 * abs(place):
        at = _piece(place, 0.0, width, rule, share, line, at)
        return _piece(0.0, end, _NO_CUT, rule, share, line, at)
    return _piece(place, end, width, rule, share, line, at)


def _cuts_of_first(
    parts: np.ndarray,
    rests: np.ndarray,
    kinks: np.ndarray,
    pair: tuple[int, int],
    cuts: np.ndarray,
    rule: np.ndarray,
) -> int:
    """Write where the line of t1 is cut: kinks of all fields, and where those of two meet."""
    i, fields = pair[0], parts.shape[0]
    count = _cut_at(cuts, 0, kinks[i], (0.0, parts[i, 0], 0.0), rule)
    for a in range(fields):
        if a != i:
            rest = math.sqrt(parts[a, 1] ** 2 + parts[a, 2] ** 2)
            count = _cut_at(cuts, count, kinks[a], (0.0, parts[a, 0], rest), rule)
    for a in range(fields):
        for b in range(a):
            if a != i and b != i:
                own = parts[b, 1] ** 2 + parts[b, 2] ** 2
                both = parts[a, 1] * parts[b, 1] + rests[a, b] * parts[a, 2] * parts[b, 2]
                if own > 0.0:
                    # field a less what field b explains of it beyond t1
                    ratio = both / own
                    rest = parts[a, 1] ** 2 + parts[a, 2] ** 2 - both * ratio
                    field = 0.0, parts[a, 0] - ratio * parts[b, 0], math.sqrt(max(rest, 0.0))
                    count = _cut_at(cuts, count, kinks[a] - ratio * kinks[b], field, rule)
    return count


def _cuts_of_second(
    t1: float,
    parts: np.ndarray,
    rests: np.ndarray,
    kinks: np.ndarray,
    pair: tuple[int, int],
    cuts: np.ndarray,
    rule: np.ndarray,
) -> int:
    """Write where the line of t2 at one t1 is cut."""
    i, count = pair[0], 0
    for a in range(parts.shape[0]):
        if a != i:
            field = parts[a, 0] * t1, parts[a, 1], parts[a, 2]
            count = _cut_at(cuts, count, kinks[a], field, rule)
        for b in range(a):
            if abs(rests[a, b]) > _ALIGNED:
                ratio = rests[a, b] * parts[a, 2] / parts[b, 2]
                rest = parts[a, 2] * math.sqrt(1.0 - rests[a, b] * rests[a, b])
                slope = parts[a, 1] - ratio * parts[b, 1]
                field = (parts[a, 0] - ratio * parts[b, 0]) * t1, slope, rest
                count = _cut_at(cuts, count, kinks[a] - ratio * kinks[b], field, rule)
    return count


def _shared_points(correlation: float, negligible: float, line: np.ndarray) -> int:
    """Write points and weights of η for two rests with this correlation; return their number."""
    both, enough = abs(correlation), 0.75 * negligible
    if both < 1e-14:
        line[0, 0], line[1, 0] = 0.0, 1.0
        return 1
    size = math.ceil(enough / -math.log(both))
    if size <= _HERMITES.shape[0]:
        for n in range(size):
            line[0, n], line[1, n] = _HERMITES[size - 1, 0, n], _HERMITES[size - 1, 1, n]
        return size
    step = math.pi * math.sqrt(2.0 / enough * (1.0 - both) / (1.0 + both))
    half = math.ceil(math.sqrt(2.1 * enough) / step)
    for n in range(2 * half + 1):
        t = (n - half) * step
        line[0, n], line[1, n] = t, step * math.exp(-0.5 * t * t) / math.sqrt(2.0 * math.pi)
    return 2 * half + 1


def _shared_rests(
    etas: tuple[np.ndarray, int],
    tables: np.ndarray,
    rests: _Three,
    places: tuple[np.ndarray, np.ndarray],
    count: int,
    values: np.ndarray,
) -> None:
    """Write E[f(y + s ξ) g(z + r ζ)] at points; ``places`` are distances of y and z from their
    kinks, ``rests`` are s, r and the correlation of ξ and ζ, and tables are of F and G.
    """
    width1, width2, correlation = rests
    both = abs(correlation)
    own1, own2 = width1 * math.sqrt(1.0 - both), width2 * math.sqrt(1.0 - both)
    shift1 = width1 * math.sqrt(both)
    shift2 = math.copysign(width2 * math.sqrt(both), correlation)
    for p in range(count):
        values[p] = 0.0
    for m in range(etas[1]):
        eta, weight = etas[0][0, m], etas[0][1, m]
        for p in range(count):
            first = _smoothed_at(tables[0], places[0][p] + shift1 * eta, own1, 0)
            second = _smoothed_at(tables[1], places[1][p] + shift2 * eta, own2, 0)
            values[p] += weight * first * second


def _aligned_rests(
    rule: np.ndarray,
    kinds: tuple[int, int],
    table: np.ndarray,
    rests: _Three,
    places: tuple[np.ndarray, np.ndarray],
    radii: np.ndarray,
    values: np.ndarray,
) -> None:
    """Write the same for nearly aligned rests; the table is of f given the second field."""
    width1, width2, correlation = rests
    left = width1 * math.sqrt(1.0 - correlation * correlation)
    shift = width1 * correlation
    kink1, kink2 = _kink_of(kinds[0]), _kink_of(kinds[1])
    line, cuts = np.empty((2, _LINE)), np.empty((4, 2))
    for p in range(radii.size):
        first, second = places[0][p], places[1][p]
        found = _cut_at(cuts, 0, 0.0, (second, width2, 0.0), rule)
        found = _cut_at(cuts, found, 0.0, (first, shift, left), rule)
        total = 0.0
        for n in range(_points(cuts, found, radii[p], rule, line)):
            t = line[0, n]
            other = quadrature_factor(kinds[1], kink2 + second + width2 * t)
            if left > rule[4]:
                other *= _smoothed_at(table, first + shift * t, left, 0)
            else:
                other *= quadrature_factor(kinds[0], kink1 + first + shift * t)
            total += line[1, n] * other
        values[p] = total


def _rest_tables(
    rule: np.ndarray,
    kinds: tuple[int, int],
    rests: _Three,
    far: tuple[float, float],
    tables: np.ndarray,
) -> None:
    """Write the tables that the mean of two rests needs; ``far`` is how far fields go without."""
    width1, correlation = rests[0], rests[2]
    both = abs(correlation)
    if both > _ALIGNED:
        left = width1 * math.sqrt(1.0 - correlation * correlation)
        if left > rule[4]:
            most = far[0] + rule[2] * width1
            _smoothed_table(kinds[0], _kink_of(kinds[0]), left, most, rule[3], tables[0])
        return
    root = math.sqrt(both)
    for n in range(2):
        width = rests[n]
        most = far[n] + width * root * _MOST_ETA
        own = width * math.sqrt(1.0 - both)
        _smoothed_table(kinds[n], _kink_of(kinds[n]), own, most, rule[3], tables[n])


def _tables_of_fields(
    rule: np.ndarray, kinds: np.ndarray, parts: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return kinks of the factors of fields, how far these go, and tables of smoothed factors."""
    fields = parts.shape[0]
    kinks, far, tables = np.empty(fields), np.empty(fields), np.empty((fields, 29, 24))
    for a in range(fields):
        kinks[a] = _kink_of(kinds[a])
        far[a] = rule[2] * math.sqrt(parts[a, 0] ** 2 + parts[a, 1] ** 2) + abs(kinks[a])
        if parts[a, 2] > rule[4]:
            _smoothed_table(kinds[a], kinks[a], parts[a, 2], far[a], rule[3], tables[a])
    return kinks, far, tables


def _tables_of_rests(
    rule: np.ndarray,
    kinds: np.ndarray,
    parts: np.ndarray,
    covariance: np.ndarray,
    far: np.ndarray,
) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Return correlations of what the plane leaves of two fields, and what means over it need.

    The latter are shared points, how many, and tables, for each pair.
    """
    fields = parts.shape[0]
    rests, etas = np.zeros((fields, fields)), np.empty((fields, fields, 2, _ETAS))
    sizes = np.zeros((fields, fields), np.int64)
    tables = np.empty((fields, fields, 2, 29, 24))
    for a in range(fields):
        for b in range(a):
            if parts[a, 2] > rule[4] and parts[b, 2] > rule[4]:
                rests[a, b] = _correlation_left(covariance, parts, a, b)
                both, reach = (parts[a, 2], parts[b, 2], rests[a, b]), (far[a], far[b])
                if abs(rests[a, b]) <= _ALIGNED:
                    sizes[a, b] = _shared_points(rests[a, b], rule[1], etas[a, b])
                _rest_tables(rule, (kinds[a], kinds[b]), both, reach, tables[a, b])
    return rests, (etas, sizes, tables)


def _weights_along(
    slopes: tuple[int, int],
    point: tuple[float, float],
    along: tuple[float, float, float],
    line: np.ndarray,
    count: int,
    weights: np.ndarray,
    radii: np.ndarray,
) -> None:
    """Write weights of the points of a line times products of two slopes, and squared distances.

    ``point`` is the first variable with its weight; ``along`` is what both variables add to the
    fields of the slopes: the first to either, the second to the second one.
    """
    t1, outer = point
    slope1 = quadrature_factor(slopes[0], along[0] * t1)
    for p in range(count):
        slope2 = quadrature_factor(slopes[1], along[1] * t1 + along[2] * line[0, p])
        radii[p] = t1 * t1 + line[0, p] ** 2
        weight = outer * line[1, p]
        weights[0, p] = weight * slope1 * slope1
        weights[1, p] = weight * slope1 * slope2
        weights[2, p] = weight * slope2 * slope2


def _values_along(
    rule: np.ndarray,
    given: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray],
    t1: float,
    line: np.ndarray,
    places: np.ndarray,
    values: np.ndarray,
) -> None:
    """Write where fields are at the points of a line, and means of factors and of their squares.

    ``given`` are kinds, kinks, parts and tables of fields; places are counted from the kinks.
    """
    kinds, kinks, parts, tables = given
    for a in range(parts.shape[0]):
        width = parts[a, 2]
        for p in range(line.size):
            place = parts[a, 0] * t1 + parts[a, 1] * line[p] - kinks[a]
            places[a, p] = place
            if width > rule[4]:
                values[0, a, p] = _smoothed_at(tables[a], place, width, 0)
                values[1, a, p] = _smoothed_at(tables[a], place, width, 12)
            else:
                value = quadrature_factor(kinds[a], place + kinks[a])
                values[0, a, p], values[1, a, p] = value, value * value


def _add_together(
    weights: np.ndarray, together: np.ndarray, count: int, a: int, b: int, means: np.ndarray
) -> None:
    """Add the points of a line to the means of two fields, in either order."""
    for n in range(3):
        total = 0.0
        for p in range(count):
            total += weights[n, p] * together[p]
        means[n, a, b] += total
        if a != b:
            means[n, b, a] += total


def _means_of_plane(
    rule: np.ndarray,
    kinds: np.ndarray,
    slopes: tuple[int, int],
    pair: tuple[int, int],
    parts: np.ndarray,
    covariance: np.ndarray,
    means: np.ndarray,
) -> None:
    """Write means over all points of a plane.

    Args:
        rule: The numbers.
        kinds: The factor of each field.
        slopes: The factors of the two fields of the plane that all means have.
        pair: These fields; both the same where they span a line.
        parts: What t1 and t2 add to each field, and what is left, in rows.
        covariance: The covariance of all fields.
        means: Shape (3, fields, fields): with the square of the first slope, both, and the square
            of the second one.
    """
    (i, j), fields = pair, parts.shape[0]
    kinks, far, tables = _tables_of_fields(rule, kinds, parts)
    rests, (etas, sizes, of_rests) = _tables_of_rests(rule, kinds, parts, covariance, far)
    cuts = np.empty((fields * fields + 2, 2))
    line1, line2 = np.empty((2, _LINE)), np.empty((2, _LINE))
    places, values = np.empty((fields, _LINE)), np.empty((2, fields, _LINE))
    weights, together, radii = np.empty((3, _LINE)), np.empty(_LINE), np.empty(_LINE)
    means[:] = 0.0
    first = _points(cuts, _cuts_of_first(parts, rests, kinks, pair, cuts, rule), 0.0, rule, line1)
    # where no mean changes when all fields change their signs, half of the plane is enough
    even = 2.0 if rule[5] > 0.0 else 1.0
    for n1 in range(first):
        t1 = line1[0, n1]
        if even > 1.0 and t1 < 0.0:
            continue
        count = 1
        line2[0, 0], line2[1, 0] = 0.0, 1.0
        if parts[j, 1] != 0.0:
            cut = _cuts_of_second(t1, parts, rests, kinks, pair, cuts, rule)
            count = _points(cuts, cut, t1 * t1, rule, line2)
        point, along = (t1, even * line1[1, n1]), (parts[i, 0], parts[j, 0], parts[j, 1])
        _weights_along(slopes, point, along, line2, count, weights, radii)
        _values_along(rule, (kinds, kinks, parts, tables), t1, line2[0, :count], places, values)
        for a in range(fields):
            for b in range(a + 1):
                if a == b or rests[a, b] == 0.0:
                    for p in range(count):
                        both = values[0, a, p] * values[0, b, p]
                        together[p] = values[1, a, p] if a == b else both
                else:
                    own, at = (kinds[a], kinds[b]), (places[a], places[b])
                    rest = parts[a, 2], parts[b, 2], rests[a, b]
                    if abs(rests[a, b]) > _ALIGNED:
                        table, square = of_rests[a, b, 0], radii[:count]
                        _aligned_rests(rule, own, table, rest, at, square, together)
                    else:
                        given = etas[a, b], sizes[a, b]
                        _shared_rests(given, of_rests[a, b], rest, at, count, together)
                _add_together(weights, together, count, a, b, means)


def _plane_mean_of_4(rule: np.ndarray, kinds: _Kinds, c: _Ten, b: _Four) -> float:
    """Return the mean of four factors of fields without biases; c row by row, from the diagonal
    on.
    """
    covariance, own, place = np.empty((4, 4)), np.empty(4, np.int64), 0
    for n in range(4):
        own[n] = kinds[n]
        for m in range(n, 4):
            covariance[n, m] = covariance[m, n] = c[place]
            place += 1
    means = np.empty((3, 4, 4))
    parts = _parts_in_plane(covariance, 0, 1)
    _means_of_plane(rule, own, (kinds[0], kinds[1]), (0, 1), parts, covariance, means)
    found: float = means[1, 2, 3]
    return found


def kinked_noise_means(
    Q: np.ndarray,
    R: np.ndarray,
    T: np.ndarray,
    student_biases: np.ndarray,
    teacher_biases: np.ndarray,
    means_of_students: np.ndarray,
    means_of_both: np.ndarray,
    means_of_teachers: np.ndarray,
) -> None:
    """Return means of four factors."""
    K, M = R.shape[0], R.shape[1]
    covariance = _all_fields(Q, R, T)
    means, kinds = np.empty((3, K + M, K + M)), np.zeros(K + M, np.int64)
    for n in range(M):
        kinds[K + n] = 3
    for i in range(K):
        for j in range(i + 1 if K > 1 else i, max(K, 1)):
            parts = _parts_in_plane(covariance, i, j)
            _means_of_plane(QUADRATURE_RULE, kinds, (1, 1), (i, j), parts, covariance, means)
            _spread(means[1], (i, j), means_of_students, means_of_both, means_of_teachers)
            if j == i + 1 or K == 1:
                _spread(means[0], (i, i), means_of_students, means_of_both, means_of_teachers)
            if j == K - 1 and i == j - 1:
                _spread(means[2], (j, j), means_of_students, means_of_both, means_of_teachers)
