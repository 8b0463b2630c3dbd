r"""Means of four factors with kinks, over points of the plane of two fields.

The first two fields span a plane, with independent t1 and t2 of variance one. Given these, another
field is y + s ξ with the residual s ξ; its factor counts as F(y) = E[f(y + s ξ)] (``smoothed``),
two others as

    E[f(y + s ξ) g(z + r ζ)] = E[F(y + a η) G(z ± b η)],

where ρ is the correlation of ξ and ζ, F and G average over the part of the residuals that is not
shared, of variances s² (1 - |ρ|) and r² (1 - |ρ|), η is the shared part, and a² = s² |ρ|, b² = r²
|ρ|. F and G vary on scales of a/√|ρ|, so that Gauss-Hermite rules suffice for moderate ρ. For small
ρ the mean is the sum over ρ^n f^n g^n of means with orthonormal polynomials, of which derivatives
of averages over the whole residual give a few. Other pairs are integrated along lines
(``across_mean``), and nearly aligned residuals of fields that are nearly in the plane over that of
the second field, in pieces.

The lines of t1 and t2 are cut where factors of the plane have their kinks and where other factors
are nearly in the plane: a kink of y is smoothed over a width s (``plane_lines``). Kinks of a factor
are in a row; places of its field are distances from the first one.

``rule`` is a constant of the module: 0 points of a piece of usual length, 1 minus the logarithm of
what is negligible, 2 reach in t, 3 scale on which factors vary away from kinks, 4 widths below
count as zero, 5 whether no mean changes when all fields change their signs, 6 correlations of
residuals below are summed over η, 7 as 1 for polynomials, 8 residuals count as zero if their
products with others are a smaller part of the field's size in the plane. Pasted into generated
modules.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from symderiv.numerics.nodes import _HERMITES
from symderiv.numerics.quadratures.across_mean import _ALIGNED, _across, _along_lines
from symderiv.numerics.quadratures.noise_mean import (
    _all_fields,
    _correlation_left,
    _parts_in_plane,
    _spread,
)
from symderiv.numerics.quadratures.plane_lines import (
    _LINE,
    _cut_at,
    _cut_where_met,
    _most_kinks,
    _points,
    _write_kinks,
)
from symderiv.numerics.quadratures.smooth_mean import _BITS, _few_points, _inner
from symderiv.numerics.quadratures.smoothed import (
    _POWERS,
    _TABLE,
    _orders_at,
    _placed,
    _powers,
    _smoothed_table,
    _speeds_of,
)
from symderiv.numerics.quadratures.tensor_mean import _equal_steps, _matrix_of, _root_left

if TYPE_CHECKING:  # defined by the module into which this text is pasted
    from symderiv.numerics.quadratures.tensor_mean import (
        _Four,
        _Kinds,
        _Ten,
        _Three,
        quadrature_factor,
        quadrature_factors,
    )

    QUADRATURE_RULE = np.zeros(5)


_MOST_ETA = 8.5
_MEETING = 0.6  # lines are cut where kinks of two fields meet if residuals are correlated by more
_ETAS = 1000
_MOST_ORDERS = 11
_LEFT_OUT = 2.0  # marks, in place of a correlation, residuals that are integrated along lines
_NOT_ASKED = 3.0  # marks, on the diagonal, means of a single field that are not asked for


def _cuts_of_first(
    parts: np.ndarray,
    rests: np.ndarray,
    kinks: np.ndarray,
    pair: tuple[int, int],
    cuts: np.ndarray,
    rule: np.ndarray,
) -> int:
    """Write the cuts of the line of t1: kinks of all fields, and where kinks of two fields meet.

    Return their number.
    """
    i, fields = pair[0], parts.shape[0]
    cuts[:] = 0.0
    count = _cut_at(cuts, 0, kinks[i], (0.0, parts[i, 0], 0.0), rule, 1.0)
    for a in range(fields):
        if a != i:
            rest = math.sqrt(parts[a, 1] ** 2 + parts[a, 2] ** 2)
            count = _cut_at(cuts, count, kinks[a], (0.0, parts[a, 0], rest), rule, 1.0)
    for a in range(fields):
        for b in range(a):
            if a != i and b != i and rests[a, b] <= 1.0:
                own = parts[b, 1] ** 2 + parts[b, 2] ** 2
                both = parts[a, 1] * parts[b, 1] + rests[a, b] * parts[a, 2] * parts[b, 2]
                if own > 0.0:
                    # residual of field a given field b, both beyond t1
                    ratio = both / own
                    square = parts[a, 1] ** 2 + parts[a, 2] ** 2
                    rest = _root_left(square - both * ratio, 4.0 * square)
                    field = 0.0, parts[a, 0] - ratio * parts[b, 0], rest
                    met = kinks[a], kinks[b]
                    count = _cut_where_met(cuts, count, met, ratio, field, rule)
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
    """Write the cuts of the line of t2 given t1; return their number."""
    i, count = pair[0], 0
    cuts[:] = 0.0
    for a in range(parts.shape[0]):
        if a != i:
            field = parts[a, 0] * t1, parts[a, 1], parts[a, 2]
            count = _cut_at(cuts, count, kinks[a], field, rule, 1.0)
        for b in range(a):
            if _MEETING < abs(rests[a, b]) <= 1.0:
                ratio = rests[a, b] * parts[a, 2] / parts[b, 2]
                rest = parts[a, 2] * math.sqrt(1.0 - rests[a, b] * rests[a, b])
                slope = parts[a, 1] - ratio * parts[b, 1]
                field = (parts[a, 0] - ratio * parts[b, 0]) * t1, slope, rest
                met = kinks[a], kinks[b]
                count = _cut_where_met(cuts, count, met, ratio, field, rule)
    return count


def _few_orders(correlation: float, negligible: float) -> int:
    """Return how many orders of two residuals matter, or zero if these are too many.

    The coefficients of a function that jumps fall like n^(-3/4).
    """
    both, enough, power = abs(correlation), math.exp(-0.95 * negligible), 1.0
    for n in range(1, _MOST_ORDERS + 1):
        power *= both
        if power * n**-1.5 < enough:
            return n
    return 0


def _shared_points(correlation: float, negligible: float, line: np.ndarray) -> int:
    """Write points and weights of η for two residuals of this correlation; return how many."""
    both, enough = abs(correlation), 0.95 * negligible
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
    _equal_steps(-1.0 * half, step, 2 * half + 1, line)
    return 2 * half + 1


def _shared_rests(
    etas: tuple[np.ndarray, int],
    tables: np.ndarray,
    rests: _Three,
    places: tuple[np.ndarray, np.ndarray],
    values: np.ndarray,
) -> None:
    """Write E[f(y + s ξ) g(z + r ζ)] at points, as sums over η.

    ``places`` are distances of y and z from their kinks, ``rests`` are s, r and the correlation of
    ξ and ζ, and ``tables`` are those of F and G.
    """
    width1, width2, correlation = rests
    root, count = math.sqrt(abs(correlation)), values.size & _BITS
    shift1, shift2 = width1 * root, math.copysign(width2 * root, correlation)
    at, x = np.empty(count, np.int64), np.empty(count)
    first, second = np.empty(count), np.empty(count)
    for p in range(count):
        values[p] = 0.0
    for m in range(etas[1]):
        eta, weight = etas[0][0, m], etas[0][1, m]
        _placed(tables[0], places[0], shift1 * eta, at, x)
        _powers(tables[0], 0, at, x, first)
        _placed(tables[1], places[1], shift2 * eta, at, x)
        _powers(tables[1], 0, at, x, second)
        for p in range(count):
            values[p] += weight * first[p] * second[p]


def _aligned_rests(
    rule: np.ndarray,
    factors: tuple[int, int, np.ndarray, np.ndarray],
    table: np.ndarray,
    rests: _Three,
    places: tuple[np.ndarray, np.ndarray],
    squares: np.ndarray,
    values: np.ndarray,
) -> None:
    """Write E[f(y + s ξ) g(z + r ζ)] for nearly aligned residuals, by pieces of the line of ζ.

    ``squares`` are squared distances of the points from the origin, ``table`` is that of f averaged
    given the second field, ``factors`` are the numbers of both factors and their kinks.
    """
    kind1, kind2, kinks1, kinks2 = factors
    width1, width2, correlation = rests
    left = width1 * math.sqrt(1.0 - correlation * correlation)
    shift = width1 * correlation
    line, cuts = np.empty((2, _LINE)), np.empty((2 * kinks1.size + 2, 2))
    at, x = np.empty(_LINE, np.int64), np.empty(_LINE)
    at_first, at_second = np.empty(_LINE), np.empty(_LINE)
    own, others = np.empty(_LINE), np.empty(_LINE)
    for p in range(values.size):
        first, second = kinks1[0] + places[0][p], kinks2[0] + places[1][p]
        cuts[:] = 0.0
        cut_count = _cut_at(cuts, 0, kinks2, (second, width2, 0.0), rule, 1.0)
        cut_count = _cut_at(cuts, cut_count, kinks1, (first, shift, left), rule, 1.0)
        count = _points_between(cuts, cut_count, squares[p], rule, line)
        for n in range(count):
            t = line[0, n]
            at_first[n] = shift * t + (places[0][p] if left > rule[4] else first)
            at_second[n] = second + width2 * t
        quadrature_factors(kind2, at_second[:count], others[:count])
        if left > rule[4]:
            _placed(table, at_first[:count], 0.0, at[:count], x[:count])
            _powers(table, 0, at[:count], x[:count], own[:count])
        else:
            quadrature_factors(kind1, at_first[:count], own[:count])
        total = 0.0
        for n in range(count):
            total += line[1, n] * others[n] * own[n]
        values[p] = total


def _rest_tables(
    rule: np.ndarray,
    factors: tuple[int, int, np.ndarray, np.ndarray],
    rests: _Three,
    far: tuple[float, float],
    tables: np.ndarray,
) -> None:
    """Write the tables for the mean of two residuals; ``far`` is how far the fields move in the
    plane.
    """
    kind1, kind2, kinks1, kinks2 = factors
    width1, width2, correlation = rests
    both = abs(correlation)
    if both > _ALIGNED:
        left = width1 * math.sqrt(1.0 - correlation * correlation)
        if left > rule[4]:
            most = far[0] + rule[2] * width1
            _smoothed_table(kind1, kinks1, left, most, rule[3], tables[0])
        return
    reach, own = math.sqrt(both) * _MOST_ETA, math.sqrt(1.0 - both)
    most1, most2 = far[0] + width1 * reach, far[1] + width2 * reach
    _smoothed_table(kind1, kinks1, width1 * own, most1, rule[3], tables[0])
    _smoothed_table(kind2, kinks2, width2 * own, most2, rule[3], tables[1])


def _tables_of_plane(
    rule: np.ndarray,
    factors: tuple[np.ndarray, np.ndarray],
    parts: np.ndarray,
    of_two: tuple[np.ndarray, np.ndarray],
    tables: np.ndarray,
    of_rests: np.ndarray,
) -> None:
    """Write tables of fields outside the plane, and of pairs whose residuals share η or are
    aligned.

    ``factors`` are the factors and kinks of all fields, ``of_two`` are correlations and orders of
    the residuals.
    """
    (kinds, kinks), (rests, orders) = factors, of_two
    fields = parts.shape[0]
    far = np.empty(fields)
    for a in range(fields):
        far[a] = rule[2] * math.sqrt(parts[a, 0] ** 2 + parts[a, 1] ** 2)
        if parts[a, 2] > rule[4]:
            _smoothed_table(kinds[a], kinks[a], parts[a, 2], far[a], rule[3], tables[a])
    for a in range(fields):
        for b in range(a):
            if orders[a, b] == 0 and rests[a, b] <= 1.0:
                both, reach = (parts[a, 2], parts[b, 2], rests[a, b]), (far[a], far[b])
                two = kinds[a], kinds[b], kinks[a], kinks[b]
                _rest_tables(rule, two, both, reach, of_rests[a, b])


def _cuts_at_most(kinks: np.ndarray) -> int:
    """Return how many rows an array of cuts of a line needs."""
    most = kinks.size * kinks.size
    return most + 2


def _line_of_second(
    t1: float,
    plane: tuple[tuple[int, int], np.ndarray, np.ndarray, np.ndarray],
    rule: np.ndarray,
    line: np.ndarray,
) -> int:
    """Write points and weights of t2 given t1; return their number."""
    pair, parts, rests, kinks = plane
    if parts[pair[1], 1] == 0.0:
        line[0, 0], line[1, 0] = 0.0, 1.0
        return 1
    cuts = np.empty((_cuts_at_most(kinks), 2))
    cut_count = _cuts_of_second(t1, parts, rests, kinks, pair, cuts, rule)
    return _points_between(cuts, cut_count, t1 * t1, rule, line)


def _points_between(
    cuts: np.ndarray, count: int, square: float, rule: np.ndarray, line: np.ndarray
) -> int:
    """Write points and weights of a line, given the squared distance of the others; return their
    number.

    Where fields are far from all kinks and move little, as most do, a few Gauss-Hermite points
    suffice; those beyond the reach are left out, because tables of factors end before them.
    """
    size, used = 0, 0
    if count == 0:
        size = _few_points(cuts[cuts.shape[0] - 1, 0], math.exp(-rule[1]))
    for n in range(size):
        t = _HERMITES[size - 1, 0, n]
        if t * t < rule[2] * rule[2] - square:
            line[0, used], line[1, used] = t, _HERMITES[size - 1, 1, n]
            used += 1
    return used if used > 0 else _points(cuts, count, square, rule, line)


def _values_on_line(
    rule: np.ndarray,
    factors: tuple[np.ndarray, np.ndarray],
    rests: np.ndarray,
    tables: tuple[np.ndarray, np.ndarray, np.ndarray],
    places: np.ndarray,
    values: np.ndarray,
) -> None:
    """Write averages of each field's squared factor, and f^n, at distances from the kinks.

    ``factors`` are the factors of all fields and their kinks, ``tables`` the tables, their speeds,
    and the numbers of orders n.
    """
    (kinds, kinks), count = factors, places.shape[1]
    at, x = np.empty(count, np.int64), np.empty(count)
    for a in range(places.shape[0]):
        orders = tables[2][a, a]
        if orders < 0:
            continue
        if rests[a] > rule[4]:
            _placed(tables[0][a], places[a], 0.0, at, x)
            _powers(tables[0][a], 12, at, x, values[0, a])
            if orders > 1:
                rows = values[1 : orders + 1, a]
                _orders_at(tables[0][a], tables[1][a], at, x, rows)
            else:
                _powers(tables[0][a], 0, at, x, values[1, a])
        else:
            kink = kinks[a, 0]
            # the first field of the plane is constant along the line
            still = count > 0 and places[a, 0] == places[a, count - 1]
            for p in range(count):
                x[p] = places[a, p] + kink
            if still:
                value = quadrature_factor(kinds[a], x[0])
                for p in range(count):
                    values[1, a, p] = value
            else:
                quadrature_factors(kinds[a], x, values[1, a])
            for p in range(count):
                values[0, a, p] = values[1, a, p] * values[1, a, p]


def _weights_along(
    slopes: tuple[int, int],
    fields: _Three,
    weight: float,
    line: np.ndarray,
    weights: np.ndarray,
    sums: np.ndarray,
) -> None:
    """Write weights of a line times the first slope squared, both slopes, and the second squared.

    They are added to ``sums``. ``fields`` are the first field, and start and rate of the second one
    along the line; ``weight`` is that of the line.
    """
    slope1, count = quadrature_factor(slopes[0], fields[0]), weights.shape[1]
    places, slope2 = np.empty(count), np.empty(count)
    for p in range(count):
        places[p] = fields[1] + fields[2] * line[0, p]
    quadrature_factors(slopes[1], places, slope2)
    for p in range(count):
        weights[0, p] = weight * line[1, p] * slope1 * slope1
        weights[1, p] = weight * line[1, p] * slope1 * slope2[p]
        weights[2, p] = weight * line[1, p] * slope2[p] * slope2[p]
    ones = np.ones(count)
    for n in range(3):
        sums[n] += _inner(weights[n], ones)


def _add_line(
    rule: np.ndarray,
    fields_of: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray],
    of_rests: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray],
    on_line: tuple[np.ndarray, np.ndarray, np.ndarray],
    weights: np.ndarray,
    means: np.ndarray,
) -> None:
    """Add the contributions of the points of a line to all means.

    Args:
        rule: The numbers of the rule.
        fields_of: Factors of all fields, their kinks, parts in the plane, and correlations of
            residuals; pairs with a correlation above one are left out.
        of_rests: Points of η, their numbers, tables, and orders, for every pair of fields.
        on_line: Distances from first kinks, averages of squares and f^n, and squared distances
            from the origin.
        weights: Weights of points times slopes.
        means: The sums, shape (3, fields, fields).
    """
    (kinds, kinks, parts, rests), (etas, sizes, tables, orders) = fields_of, of_rests
    places, values, squares = on_line
    count = places.shape[1]
    together = np.empty(count)
    for a in range(places.shape[0]):
        for b in range(a + 1):
            both, at = (parts[a, 2], parts[b, 2], rests[a, b]), (places[a], places[b])
            if rests[a, b] > 1.0 or (a != b and orders[a, b] < 0):
                continue
            if a == b:
                for p in range(count):
                    together[p] = values[0, a, p]
            elif orders[a, b] > 0:
                _sum_of_orders(values[1:, a], values[1:, b], rests[a, b], orders[a, b], together)
            elif sizes[a, b] > 0:
                _shared_rests((etas[a, b], sizes[a, b]), tables[a, b], both, at, together)
            else:
                own = kinds[a], kinds[b], kinks[a], kinks[b]
                _aligned_rests(rule, own, tables[a, b, 0], both, at, squares, together)
            for n in range(3):
                means[n, a, b] += _inner(weights[n], together)


def _sum_of_orders(
    rows: np.ndarray, others: np.ndarray, correlation: float, orders: int, together: np.ndarray
) -> None:
    """Write Σ_n ρ^n f^n g^n at the points of a line."""
    power = 1.0
    for p in range(together.size):
        together[p] = rows[0, p] * others[0, p]
    for n in range(1, orders):
        power *= correlation
        row, other = rows[n], others[n]
        for p in range(together.size):
            together[p] += power * row[p] * other[p]


def _how_rests_go(
    rule: np.ndarray,
    covariance: np.ndarray,
    parts: np.ndarray,
    pair: tuple[int, int],
    of_two: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray],
) -> int:
    """Choose how the mean of every pair of residuals is computed; return the most orders of any
    pair.

    ``of_two`` are written: correlations of residuals, orders (1 for independent residuals, 0 for
    too many, on the diagonal the most of a field), numbers of points of η, and these points.
    """
    (rests, orders, sizes, etas), most = of_two, 1
    orders[:], rests[:], sizes[:] = 1, 0.0, 0
    for a in range(parts.shape[0]):
        for b in range(a):
            if parts[a, 2] > rule[4] and parts[b, 2] > rule[4]:
                rests[a, b] = correlation = _correlation_left(covariance, parts, a, b)
                orders[a, b] = own = _few_orders(correlation, rule[1])
                if own == 0 and _along_lines(rule, parts, (pair[0], pair[1], a, b), correlation):
                    rests[a, b] = _LEFT_OUT
                elif own == 0 and abs(correlation) <= _ALIGNED:
                    sizes[a, b] = _shared_points(correlation, rule[1], etas[a, b])
                orders[a, a], orders[b, b] = max(orders[a, a], own), max(orders[b, b], own)
                most = max(most, own)
    return most


def _leave_out_means(first: int, rests: np.ndarray, orders: np.ndarray) -> int:
    """Mark means with fields before ``first``, and those of one field, as not asked for.

    Return the most orders of the others. Lines are still cut where kinks of these fields meet
    others.
    """
    most = 1
    for a in range(rests.shape[0]):
        rests[a, a] = _NOT_ASKED
        orders[a, a] = 1 if a >= first else -1
        for b in range(a):
            own = orders[a, b]
            if b < first:
                orders[a, b] = -1
            else:
                orders[a, a], orders[b, b] = max(orders[a, a], own), max(orders[b, b], own)
                most = max(most, own)
    return most


def _leave_out_rests(rule: np.ndarray, parts: np.ndarray) -> None:
    """Set residuals to zero that are negligible.

    Where factors do not jump, means change by the residual's product with any other one, divided by
    the field's width in the plane.
    """
    most = 0.0
    for a in range(parts.shape[0]):
        most = max(most, parts[a, 2])
    for a in range(parts.shape[0]):
        if parts[a, 2] * most < rule[8] * math.hypot(parts[a, 0], parts[a, 1]):
            parts[a, 2] = 0.0


def _means_of_plane(
    rule: np.ndarray,
    kinds: np.ndarray,
    slopes: tuple[int, int],
    pair: tuple[int, int],
    covariance: np.ndarray,
    means: np.ndarray,
    alone: np.ndarray,
    asked: int,
) -> None:
    """Write all means with the slopes of two fields, as sums over the plane of these fields.

    Args:
        rule, kinds: The numbers of the rule, and the factor of each field.
        slopes: The factors of the two fields of the plane that all means have.
        pair: These fields; both the same where they span a line.
        covariance: The covariance of all fields.
        means: Shape (3, fields, fields): with the first slope squared, both, the second squared.
        alone: Shape (3): means of the slopes without further factors.
        asked: The first field whose means are asked for; if not 0, of two different fields only.
    """
    (i, j), fields, several = pair, kinds.size, _most_kinks(kinds)
    parts, kinks = _parts_in_plane(covariance, i, j), np.empty((fields, several))
    _write_kinks(kinds, kinks)
    _leave_out_rests(rule, parts)
    rests, etas = np.empty((fields, fields)), np.empty((fields, fields, 2, _ETAS))
    orders, sizes = np.empty((fields, fields), np.int64), np.empty((fields, fields), np.int64)
    most = _how_rests_go(rule, covariance, parts, pair, (rests, orders, sizes, etas))
    if asked > 0:
        most = _leave_out_means(asked, rests, orders)
    long = several * _TABLE
    tables, of_rests = np.empty((fields, long)), np.empty((fields, fields, 2, long))
    _tables_of_plane(rule, (kinds, kinks), parts, (rests, orders), tables, of_rests)
    speeds = np.zeros((fields, long // _POWERS))
    for a in range(fields):
        if orders[a, a] > 1:
            _speeds_of(tables[a], parts[a, 2], speeds[a])
    line1, line2 = np.empty((2, _LINE)), np.empty((2, _LINE))
    cuts = np.empty((_cuts_at_most(kinks), 2))
    first = _points(cuts, _cuts_of_first(parts, rests, kinks, pair, cuts, rule), 0.0, rule, line1)
    means[:], alone[:] = 0.0, 0.0
    if first > 0 and not line1[0, 0] < math.inf:
        means[:], alone[:] = math.nan, math.nan
        first = 0
    # where no mean changes when all fields change their signs, half of the plane is enough
    even = rule[5] > 0.0
    for n1 in range(first):
        t1, weight = line1[0, n1], line1[1, n1] * (2.0 if even else 1.0)
        if even and t1 < 0.0:
            continue
        count = _line_of_second(t1, (pair, parts, rests, kinks), rule, line2)
        weights, places, squares = np.empty((3, count)), np.empty((fields, count)), np.empty(count)
        fields_of = parts[i, 0] * t1, parts[j, 0] * t1, parts[j, 1]
        _weights_along(slopes, fields_of, weight, line2, weights, alone)
        _places_on_line(t1, line2, parts, kinks, places, squares)
        values, left = np.empty((1 + most, fields, count)), parts[:, 2].copy()
        _values_on_line(rule, (kinds, kinks), left, (tables, speeds, orders), places, values)
        on_line, how = (places, values, squares), (etas, sizes, of_rests, orders)
        _add_line(rule, (kinds, kinks, parts, rests), how, on_line, weights, means)
    _add_left_out(rule, (kinds, parts, rests), slopes, pair, covariance, means)


def _places_on_line(
    t1: float,
    line: np.ndarray,
    parts: np.ndarray,
    kinks: np.ndarray,
    places: np.ndarray,
    squares: np.ndarray,
) -> None:
    """Write the distances of all fields from their first kinks, and the squared radii, of points on
    a line.
    """
    for p in range(squares.size):
        squares[p] = t1 * t1 + line[0, p] * line[0, p]
    for a in range(places.shape[0]):
        for p in range(squares.size):
            places[a, p] = parts[a, 0] * t1 + parts[a, 1] * line[0, p] - kinks[a, 0]


def _add_left_out(
    rule: np.ndarray,
    fields_of: tuple[np.ndarray, np.ndarray, np.ndarray],
    slopes: tuple[int, int],
    pair: tuple[int, int],
    covariance: np.ndarray,
    means: np.ndarray,
) -> None:
    """Write the means of pairs that sums over the plane leave out, and copy all to the upper
    triangle.
    """
    kinds, parts, rests = fields_of
    for a in range(kinds.size):
        for b in range(a):
            if rests[a, b] == _LEFT_OUT:
                left = _correlation_left(covariance, parts, a, b)
                four = slopes[0], slopes[1], kinds[a], kinds[b]
                three = _across(rule, four, (pair[0], pair[1], a, b), parts, left)
                means[0, a, b], means[1, a, b], means[2, a, b] = three
            for n in range(3):
                means[n, b, a] = means[n, a, b]


def _plane_mean_of_4(rule: np.ndarray, kinds: _Kinds, c: _Ten, b: _Four) -> float:
    """Return the mean of four factors of fields without biases; c is row by row, from the diagonal
    on.
    """
    own, means, alone = np.empty(4, np.int64), np.empty((3, 4, 4)), np.empty(3)
    for n in range(4):
        own[n] = kinds[n]
    _means_of_plane(rule, own, (kinds[0], kinds[1]), (0, 1), _matrix_of(c, 4), means, alone, 2)
    mean: float = means[1, 2, 3]
    return mean


def kinked_noise_means(
    Q: np.ndarray,
    R: np.ndarray,
    T: np.ndarray,
    student_biases: np.ndarray,
    teacher_biases: np.ndarray,
    means_of_students: np.ndarray,
    means_of_both: np.ndarray,
    means_of_teachers: np.ndarray,
    slopes_of_students: np.ndarray,
) -> None:
    """Write the means of four factors, and of slopes alone, for every pair of students."""
    K, M = R.shape[0], R.shape[1]
    covariance = _all_fields(Q, R, T)
    means, alone, kinds = np.empty((3, K + M, K + M)), np.empty(3), np.zeros(K + M, np.int64)
    for n in range(M):
        kinds[K + n] = 3
    for i in range(K):
        for j in range(i + 1 if K > 1 else i, max(K, 1)):
            _means_of_plane(QUADRATURE_RULE, kinds, (1, 1), (i, j), covariance, means, alone, 0)
            slopes_of_students[i, j], slopes_of_students[j, i] = alone[1], alone[1]
            _spread(means[1], (i, j), means_of_students, means_of_both, means_of_teachers)
            if j == i + 1 or K == 1:
                slopes_of_students[i, i] = alone[0]
                _spread(means[0], (i, i), means_of_students, means_of_both, means_of_teachers)
            if j == K - 1 and i == j - 1:
                slopes_of_students[j, j] = alone[2]
                _spread(means[2], (j, j), means_of_students, means_of_both, means_of_teachers)
