r"""Means of four factors with kinks, two of which have strongly correlated residuals.

The parts of y and z in the plane of x1 and x2, and the η that their residuals share (see
``plane_mean``), span a plane of their own. The two planes meet in a line, with coordinate τ. Given
τ, the first two factors are functions of one variable t, and the two others are smoothed ones F(y)
G(z) of one variable ζ; t and ζ have a correlation κ. With the orthonormal polynomials h of the
normal density,

    E[w(t) F G] = E[w(t) Σ_n κ^n E[F(ζ) G(ζ) h_n(ζ)] h_n(t)],

so points along a line of t and a line of ζ suffice, and no grid of both is needed. Pasted into
generated modules.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from symderiv.numerics.quadratures.plane_lines import (
    _LINE,
    _cut_at,
    _cut_where_met,
    _most_kinks,
    _points,
    _write_kinks,
)
from symderiv.numerics.quadratures.smooth_mean import _inner
from symderiv.numerics.quadratures.smoothed import (
    _TABLE,
    _placed,
    _powers,
    _smoothed_table,
)
from symderiv.numerics.quadratures.tensor_mean import _root_left

if TYPE_CHECKING:  # defined by the module into which this text is pasted
    from symderiv.numerics.quadratures.tensor_mean import (
        _Four,
        _Kinds,
        _Three,
        quadrature_factors,
    )

_DENSER = 0.9  # density of points of ζ, relative to a line of an uncorrelated variable
_LINES = 4 * _LINE  # room for lines that are as much denser as correlations allow
_MOST_WORK = 4.0  # largest work of polynomials that is accepted, relative to points of η
_ALIGNED = 0.97  # larger correlations of residuals are integrated in pieces


def _write_coefficients(
    parts: np.ndarray, places: tuple[int, int, int, int], correlation: float, rows: np.ndarray
) -> float:
    """Write the coefficients of τ, t and η in four fields and their residuals to rows; return κ.

    The residuals of the last two fields have the given correlation.
    """
    root, (_, _, a, b) = math.sqrt(abs(correlation)), places
    shared1, shared2 = parts[a, 2] * root, math.copysign(parts[b, 2] * root, correlation)
    along1 = shared1 * parts[b, 0] - shared2 * parts[a, 0]
    along2 = shared1 * parts[b, 1] - shared2 * parts[a, 1]
    size = math.hypot(along1, along2)
    along1, along2 = (along1 / size, along2 / size) if size > 0.0 else (1.0, 0.0)
    rows[:] = 0.0
    for n in range(4):
        part1, part2 = parts[places[n], 0], parts[places[n], 1]
        rows[n, 0], rows[n, 1] = part1 * along1 + part2 * along2, part2 * along1 - part1 * along2
    own = math.sqrt(1.0 - root * root)
    rows[2, 2], rows[2, 3] = shared1, parts[a, 2] * own
    rows[3, 2], rows[3, 3] = shared2, parts[b, 2] * own
    return float(rows[2, 1] / math.hypot(rows[2, 1], shared1))


def _work_factor(correlation: float) -> float:
    """Return (1 + |r|)/(1 - |r|), which measures how much work a correlation r makes."""
    both = min(abs(correlation), _ALIGNED)
    return (1.0 + both) / (1.0 - both)


def _along_lines(
    rule: np.ndarray, parts: np.ndarray, places: tuple[int, int, int, int], correlation: float
) -> bool:
    """Return whether lines take less work than points of η at every point of the plane."""
    i, j, _, _ = places
    if i == j or parts[j, 1] == 0.0 or abs(correlation) < rule[6]:
        return False
    kappa = _write_coefficients(parts, places, correlation, np.empty((4, 4)))
    return _work_factor(kappa) < _MOST_WORK * math.sqrt(_work_factor(correlation))


def _points_of_meeting(
    rows: np.ndarray, kinks: np.ndarray, cuts: np.ndarray, rule: np.ndarray, line: np.ndarray
) -> int:
    """Write points and weights of τ, the line in which the two planes meet; return their number."""
    cuts[:] = 0.0
    count = 0
    for a in range(4):
        square = rows[a, 1] ** 2 + rows[a, 2] ** 2 + rows[a, 3] ** 2
        field = 0.0, rows[a, 0], math.sqrt(square)
        count = _cut_at(cuts, count, kinks[a], field, rule, 1.0)
        for b in range(a):
            own = rows[b, 1] ** 2 + rows[b, 2] ** 2 + rows[b, 3] ** 2
            both = rows[a, 1] * rows[b, 1] + rows[a, 2] * rows[b, 2]
            if own > 0.0:
                # the residual of field a given field b, both beyond τ
                ratio = both / own
                rest = _root_left(square - both * ratio, 4.0 * square)
                field = 0.0, rows[a, 0] - ratio * rows[b, 0], rest
                met = kinks[a], kinks[b]
                count = _cut_where_met(cuts, count, met, ratio, field, rule)
    return _points(cuts, count, 0.0, rule, line)


def _points_at(
    tau: float,
    fields: np.ndarray,
    kinks: np.ndarray,
    cuts: np.ndarray,
    rule: np.ndarray,
    least: float,
    line: np.ndarray,
) -> int:
    """Write points and weights of t or ζ given τ; return their number.

    Each row of ``fields`` has a field's coefficients of τ and of the variable, and its residual.
    ``least`` is how fast the rest of the integrand varies along the line.
    """
    cuts[:], cuts[cuts.shape[0] - 1] = 0.0, least
    count = 0
    for a in range(4):
        field = fields[a, 0] * tau, fields[a, 1], fields[a, 2]
        count = _cut_at(cuts, count, kinks[a], field, rule, 1.0)
    return _points(cuts, count, tau * tau, rule, line)


def _given_polynomials(
    numbers: tuple[float, int],
    t: np.ndarray,
    zeta: np.ndarray,
    products: np.ndarray,
    given: np.ndarray,
) -> None:
    """Write Σ_n κ^n (Σ products h_n(ζ)) h_n(t) at points t; ``numbers`` are κ and the number of
    terms.
    """
    kappa, size = numbers
    here, before = np.ones(t.size), np.zeros(t.size)
    there, earlier = np.ones(zeta.size), np.zeros(zeta.size)
    given[:] = 0.0
    power = 1.0
    for n in range(size):
        total = power * _inner(there, products)
        power *= kappa
        up = 1.0 / math.sqrt(n + 1.0)
        down = math.sqrt(1.0 * n) * up
        for p in range(t.size):
            given[p] += total * here[p]
            following = up * t[p] * here[p] - down * before[p]
            before[p] = here[p]
            here[p] = following
        for q in range(zeta.size):
            following = up * zeta[q] * there[q] - down * earlier[q]
            earlier[q] = there[q]
            there[q] = following


def _smoothed_products(
    rule: np.ndarray,
    factors: tuple[np.ndarray, np.ndarray],
    tables: np.ndarray,
    fields: np.ndarray,
    line: np.ndarray,
    products: np.ndarray,
) -> None:
    """Write weights times F(y) G(z) along a line.

    Each row of ``fields`` has the offset, the slope and the residual of y or z; ``factors`` are the
    numbers of all four factors and their kinks.
    """
    (kinds, kinks), count = factors, products.size
    places, values = np.empty(count), np.empty(count)
    at, x = np.empty(count, np.int64), np.empty(count)
    for q in range(count):
        products[q] = line[1, q]
    for n in range(2):
        for q in range(count):
            places[q] = fields[n, 0] + fields[n, 1] * line[0, q]
        if fields[n, 2] > rule[4]:
            _placed(tables[n], places, 0.0, at, x)
            _powers(tables[n], 0, at, x, values)
        else:
            for q in range(count):
                places[q] += kinks[2 + n, 0]
            quadrature_factors(kinds[2 + n], places, values)
        for q in range(count):
            products[q] *= values[q]


def _sums_of_slopes(
    slopes: tuple[int, int],
    fields: _Four,
    line: np.ndarray,
    given: np.ndarray,
    sums: np.ndarray,
) -> None:
    """Add sums over points of t, weighted by the first slope squared, both, and the second squared.

    ``fields`` are offset and slope along t of the two fields.
    """
    count = given.size
    first, second, slope1, slope2 = (
        np.empty(count),
        np.empty(count),
        np.empty(count),
        np.empty(count),
    )
    for p in range(count):
        first[p] = fields[0] + fields[1] * line[0, p]
        second[p] = fields[2] + fields[3] * line[0, p]
    quadrature_factors(slopes[0], first, slope1)
    quadrature_factors(slopes[1], second, slope2)
    for p in range(count):
        value = line[1, p] * given[p]
        sums[0] += value * slope1[p] * slope1[p]
        sums[1] += value * slope1[p] * slope2[p]
        sums[2] += value * slope2[p] * slope2[p]


def _seen_from_lines(rows: np.ndarray, kappa: float, of_t: np.ndarray, of_zeta: np.ndarray) -> None:
    """Write the coefficients of τ and t, and of τ and ζ, in the four fields, and the residuals."""
    across = math.sqrt(1.0 - kappa * kappa)
    for a in range(4):
        of_t[a, 0], of_t[a, 1] = rows[a, 0], rows[a, 1]
        of_t[a, 2] = math.hypot(rows[a, 2], rows[a, 3])
        of_zeta[a, 0], of_zeta[a, 1] = rows[a, 0], rows[a, 1] * kappa + rows[a, 2] * across
        of_zeta[a, 2] = rows[a, 3] if a > 1 else abs(rows[a, 1]) * across


def _across(
    rule: np.ndarray,
    kinds: _Kinds,
    places: tuple[int, int, int, int],
    parts: np.ndarray,
    correlation: float,
) -> _Three:
    """Return means with the square of the first slope, both slopes, and the square of the second.

    Args:
        rule: The numbers of the rule.
        kinds: The factors; the first two are the slopes.
        places: Their fields, the first two of which span the plane.
        parts: Coefficients of all fields in the plane, and their residuals.
        correlation: The correlation of the residuals of the last two.
    """
    rows, own, sums = np.empty((4, 4)), np.empty(4, np.int64), np.zeros(3)
    for a in range(4):
        own[a] = kinds[a]
    several = _most_kinks(own)
    kinks = np.empty((4, several))
    _write_kinks(own, kinks)
    kappa = _write_coefficients(parts, places, correlation, rows)
    of_t, of_zeta, tables = np.empty((4, 3)), np.empty((4, 3)), np.empty((2, several * _TABLE))
    _seen_from_lines(rows, kappa, of_t, of_zeta)
    for a in range(2, 4):
        if rows[a, 3] > rule[4]:
            far = rule[2] * math.hypot(of_zeta[a, 0], of_zeta[a, 1])
            _smoothed_table(own[a], kinks[a], rows[a, 3], far, rule[3], tables[a - 2])
    size = 1 if kappa == 0.0 else 2 + math.ceil(rule[7] / -math.log(abs(kappa)))
    denser = rule.copy()
    denser[0] *= max(1.0, _DENSER / math.sqrt(1.0 - kappa * kappa))
    least = abs(kappa) / math.sqrt(1.0 - kappa * kappa)
    cuts = np.empty((kinks.size * kinks.size + 2, 2))
    lines, now = np.empty((3, 2, _LINES)), np.empty((2, 3))
    even = rule[5] > 0.0
    taus = _points_of_meeting(rows, kinks, cuts, rule, lines[0])
    sums[:] = 0.0 if taus == 0 or lines[0, 0, 0] < math.inf else math.nan
    for m in range(taus):
        tau, weight = lines[0, 0, m], lines[0, 1, m] * (2.0 if even else 1.0)
        if even and tau < 0.0:
            continue
        count = _points_at(tau, of_t, kinks, cuts, rule, 0.0, lines[1])
        others = _points_at(tau, of_zeta, kinks, cuts, denser, least, lines[2])
        given, products = np.empty(count), np.empty(others)
        for n in range(2):
            now[n, 0] = of_zeta[2 + n, 0] * tau - kinks[2 + n, 0]
            now[n, 1], now[n, 2] = of_zeta[2 + n, 1], rows[2 + n, 3]
        _smoothed_products(rule, (own, kinks), tables, now, lines[2], products)
        t, zeta = lines[1, 0, :count], lines[2, 0, :others]
        _given_polynomials((kappa, size), t, zeta, products, given)
        for p in range(count):
            given[p] *= weight
        fields = rows[0, 0] * tau, rows[0, 1], rows[1, 0] * tau, rows[1, 1]
        _sums_of_slopes((kinds[0], kinds[1]), fields, lines[1], given, sums)
    return sums[0], sums[1], sums[2]
