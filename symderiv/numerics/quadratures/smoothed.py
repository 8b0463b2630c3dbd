r"""Averages of one factor over the residual of its field, as a table: F(y) = E[f(y + s ξ)].

The factor is analytic on either side of its kink. Within seven and a half s of the kink, F is the
integral of f against a Gaussian weight that, in units of s, is the same for all factors and all s:
so a constant matrix takes the values of f at fixed places to polynomials in twelve panels. Farther
away f is analytic as far as the weight reaches, and up to ten points of the Gauss-Hermite rule give
F; panels grow there with the distance.

A factor with several kinks has such a table for each of them, used where this kink is the nearest;
where the weight reaches another kink, the integral is in pieces. Distances are from the first kink.
Pasted into generated modules.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from symderiv.numerics.nodes import _HERMITES, _LEGENDRE_12
from symderiv.numerics.quadratures.plane_lines import _power_of_e
from symderiv.numerics.quadratures.smooth_mean import _BITS, _inner

if TYPE_CHECKING:  # defined by the module into which this text is pasted
    from symderiv.numerics.quadratures.tensor_mean import _Three, quadrature_factors

_PANEL = 1.25  # length of the panels near the kink, in units of s
_FAR_PANELS = 16  # panels away from the kink on each side, at most
_POWERS = 24  # coefficients of a panel: twelve of F, twelve of the average of the square
# The index behind the coefficients, where these numbers begin: the start of the panels away from
# the kink, one over their cell, one over a panel near the kink; and for each panel away, on the
# right and then on the left, the slope and the offset of the place in it.
_NUMBERS = (12 + 2 * _FAR_PANELS) * _POWERS
_CELLS = _NUMBERS + 3 + 4 * _FAR_PANELS
_KINK = _CELLS + 128  # index of the kink, and of the place from which on the next one is nearer
_TABLE = _NUMBERS + 9 * _POWERS
_PART = 2.5  # longest piece between kinks, in units of s
_PARTS = 12  # number of pieces if there were no kinks; every kink adds one
_EDGES = np.array([0.0, 1.5, 4.5, 7.5, 10.5, 14.5])
_HALF_PLACES = np.concatenate(
    [
        0.5 * (_EDGES[n + 1] + _EDGES[n]) + 0.5 * (_EDGES[n + 1] - _EDGES[n]) * _LEGENDRE_12[0]
        for n in range(5)
    ]
)
_HALF_WEIGHTS = np.concatenate(
    [0.5 * (_EDGES[n + 1] - _EDGES[n]) * _LEGENDRE_12[1] for n in range(5)]
)
# places around a kink where a factor is evaluated, in units of s
_PLACES = np.concatenate([-_HALF_PLACES[::-1], _HALF_PLACES])
_TWELVE = np.cos(np.pi * (np.arange(12) + 0.5) / 12)
# matrix from values at twelve places of a panel to coefficients of powers
_TO_POWERS = np.linalg.inv(np.vander(_TWELVE, increasing=True))
_PANEL_PLACES = _PANEL * (np.arange(12)[:, None] - 5.5 + 0.5 * _TWELVE)
_WEIGHT = np.exp(-0.5 * (_PLACES - _PANEL_PLACES[:, :, None]) ** 2) / math.sqrt(2.0 * math.pi)
# for each panel, the first and last groups of four places that are within seven units of it
_FIRST = np.searchsorted(_PLACES, _PANEL * (np.arange(12) - 6.0) - 7.0) // 4
_LAST = (np.searchsorted(_PLACES, _PANEL * (np.arange(12) - 5.0) + 7.0) + 3) // 4
# matrix from values at the places to powers in each panel: [panel, place, power], padded to sixteen
# powers with four zeros
_SMOOTHING = np.pad(
    np.transpose(
        _TO_POWERS @ (_WEIGHT * np.concatenate([_HALF_WEIGHTS[::-1], _HALF_WEIGHTS])), (0, 2, 1)
    ),
    ((0, 0), (0, 0), (0, 4)),
)


def _smoothed_table(
    kind: int, kinks: np.ndarray, width: float, farthest: float, scale: float, tables: np.ndarray
) -> None:
    """Write the tables of a factor and its square, one for each kink.

    Args:
        kind: The factor.
        kinks: Where it is not smooth, ascending; one that is repeated counts once.
        width: s, not zero.
        farthest: The largest distance from zero at which they are needed.
        scale: The distance on which the factor varies away from kinks.
        tables: Shape (kinks · _TABLE,). In each first come coefficients of F and of that of the
            square, panel by panel, then the positions of panels, and the panel of each of 128
            cells away from the kink.
    """
    last = kinks.size - 1
    while last > 0 and kinks[last] == kinks[last - 1]:
        last -= 1
    before = math.inf
    for k in range(kinks.size):
        # no value is taken from a repeated kink's table, or from panels beyond another kink, but
        # places and speeds in them are computed
        tables[k * _TABLE + _NUMBERS : k * _TABLE + _CELLS] = 0.0
        tables[k * _TABLE + _KINK + 1] = math.inf
    for k in range(last + 1):
        table = tables[k * _TABLE : (k + 1) * _TABLE]
        after = 0.5 * (kinks[k + 1] - kinks[k]) if k < last else math.inf
        far, nearest = farthest + abs(kinks[k]), min(before, after)
        if 2.0 * nearest > _EDGES[5] * width:
            _near_panels(kind, kinks[k], width, far, table)
        else:
            around = kinks[k], -before, after
            _panels_of_parts(kind, kinks[: last + 1], around, width, far, table)
        _far_panels(kind, (kinks[k], before, after), width, far, scale, table)
        table[_KINK], table[_KINK + 1] = kinks[k] - kinks[0], kinks[k] - kinks[0] + after
        before = after


def _near_panels(kind: int, kink: float, width: float, farthest: float, table: np.ndarray) -> None:
    """Write the coefficients of the twelve panels around a kink that has no other one nearby."""
    places, values, sums = np.empty(120), np.empty(120), np.empty((2, 16))
    for q in range(120):
        places[q] = kink + width * _PLACES[q]
    quadrature_factors(kind, places, values)
    reach = min(math.floor(farthest / (_PANEL * width)) + 1, 6)
    for p in range(6 - reach, 6 + reach):
        at = p * _POWERS
        first, last = _FIRST[p], _LAST[p]
        sums[:] = 0.0
        # four places at a time, because memory limits the sums; rows of sixteen fill vectors
        for four in range(first, last):
            a, b = values[4 * four], values[4 * four + 1]
            c, d = values[4 * four + 2], values[4 * four + 3]
            for n in range(16):
                w0, w1 = _SMOOTHING[p, 4 * four, n], _SMOOTHING[p, 4 * four + 1, n]
                w2, w3 = _SMOOTHING[p, 4 * four + 2, n], _SMOOTHING[p, 4 * four + 3, n]
                sums[0, n] += (a * w0 + b * w1) + (c * w2 + d * w3)
                sums[1, n] += (a * a * w0 + b * b * w1) + (c * c * w2 + d * d * w3)
        for n in range(12):
            table[at + n], table[at + 12 + n] = sums[0, n], sums[1, n]


def _parts_between(
    kinks: np.ndarray, kink: float, width: float, u: np.ndarray, weights: np.ndarray
) -> int:
    """Write places and weights of pieces between all kinks; return the number of places.

    Places are distances from one kink in units of the width.
    """
    start, end, used = -_EDGES[5], _EDGES[5], 0
    while start < end:
        stop = end
        for k in range(kinks.size):
            place = (kinks[k] - kink) / width
            if start < place < stop:
                stop = place
        count = math.ceil((stop - start) / _PART)
        half = 0.5 * (stop - start) / count
        for part in range(count):
            middle = start + half * (2.0 * part + 1.0)
            for n in range(12):
                u[used + n] = middle + half * _LEGENDRE_12[0, n]
                weights[used + n] = half * _LEGENDRE_12[1, n] / math.sqrt(2.0 * math.pi)
            used += 12
        start = stop
    return used


def _panels_of_parts(
    kind: int,
    kinks: np.ndarray,
    around: _Three,
    width: float,
    farthest: float,
    table: np.ndarray,
) -> None:
    """Write the coefficients of the panels around a kink that has others nearby.

    ``around`` are the kink, and the distances on the left and right beyond which another is nearer.
    """
    space = 12 * (_PARTS + kinks.size)
    u, weights, places, values = np.empty(space), np.empty(space), np.empty(space), np.empty(space)
    count = _parts_between(kinks, around[0], width, u, weights)
    for q in range(count):
        places[q] = around[0] + width * u[q]
    quadrature_factors(kind, places[:count], values[:count])
    sums, squares, first = np.empty(12), np.empty(12), 0
    for p in range(12):
        start = _PANEL * (p - 6.0)
        end = start + _PANEL
        if max(start, -end) * width > farthest or end * width < around[1]:
            continue
        if start * width > around[2]:
            continue
        while first < count and u[first] < start - 7.0:
            first += 1
        last = first
        while last < count and u[last] < end + 7.0:
            last += 1
        for q in range(12):
            place, total, square = _PANEL_PLACES[p, q], 0.0, 0.0
            for n in range(first, last):
                apart = u[n] - place
                weighted = weights[n] * values[n] * _power_of_e(-0.5 * apart * apart)
                total += weighted
                square += weighted * values[n]
            sums[q], squares[q] = total, square
        at = p * _POWERS
        for n in range(12):
            table[at + n] = _inner(sums, _TO_POWERS[n])
            table[at + 12 + n] = _inner(squares, _TO_POWERS[n])


def _far_panels(
    kind: int, around: _Three, width: float, farthest: float, scale: float, table: np.ndarray
) -> None:
    """Write the part of a table away from the kink.

    Panels are some cells long, or end where another kink is nearer: ``around`` are the kink and
    these distances on the left and right.
    """
    kink, left, right = around
    start = 6.0 * _PANEL * width
    cell, ends = 0.15 * (scale + start), np.empty(_FAR_PANELS, dtype=np.int64)
    table[_NUMBERS], table[_NUMBERS + 1] = start, 1.0 / cell
    table[_NUMBERS + 2] = 1.0 / (_PANEL * width)
    used = 0
    for k in range(_cells_away(scale, start, ends)):
        edge = start + used * cell
        length, share = (ends[k] - used) * cell, width / (scale + edge)
        for side in range(2):
            sign, most = (1.0, right) if side == 0 else (-1.0, left)
            panel, own = side * _FAR_PANELS + k, min(length, most - edge)
            if own <= 0.0:
                continue
            if edge < farthest:
                _far_panel(kind, kink + sign * edge, sign * own, width, share, table, panel)
            table[_NUMBERS + 3 + 2 * panel] = 2.0 / own
            table[_NUMBERS + 4 + 2 * panel] = 2.0 * edge / own + 1.0
        for q in range(used, ends[k]):
            table[_CELLS + q] = k
        used = ends[k]


def _cells_away(scale: float, start: float, ends: np.ndarray) -> int:
    """Write at which of 128 cells each panel away from a kink ends; return the number of panels.

    The panels begin at a distance ``start``, and a cell is 0.15 times the sum of this and the
    scale.
    """
    cell, k, used = 0.15 * (scale + start), 0, 0
    # factors that vary on a scale below one do so everywhere: their panels must not grow
    longest = 1.25 * scale if scale < 1.0 else math.inf
    while k < _FAR_PANELS and used < 128:
        length = min(0.6 * (scale + start + used * cell), longest)
        used = min(used + max(math.floor(length / cell), 1), 128)
        if k == _FAR_PANELS - 1:
            used = 128
        ends[k] = used
        k += 1
    return k


def _far_panel(
    kind: int,
    start: float,
    length: float,
    width: float,
    share: float,
    table: np.ndarray,
    panel: int,
) -> None:
    """Write the coefficients of one panel away from the kink.

    ``share`` is the width over the distance on which the factor varies.
    """
    size, left, at = 0, 1.0, (12 + panel) * _POWERS
    while left > 1e-13 and size < 10:
        size += 1
        left *= size * share * share
    places, factors = np.empty(12 * size), np.empty(12 * size)
    for m in range(size):
        for q in range(12):
            place = start + 0.5 * length * (1.0 + _TWELVE[q])
            places[12 * m + q] = place + width * _HERMITES[size - 1, 0, m]
    quadrature_factors(kind, places, factors)
    values, squares = np.zeros(12), np.zeros(12)
    for m in range(size):
        weight = _HERMITES[size - 1, 1, m]
        for q in range(12):
            factor = factors[12 * m + q]
            values[q] += weight * factor
            squares[q] += weight * factor * factor
    for n in range(12):
        table[at + n] = _inner(values, _TO_POWERS[n])
        table[at + 12 + n] = _inner(squares, _TO_POWERS[n])


def _place_in(tables: np.ndarray, own: int, distance: float) -> tuple[int, float]:
    """Return where the coefficients of a panel begin, and the place in the panel, from -1 to 1.

    The table of the nearest kink begins at ``own``. Both kinds of panels are looked up, because a
    branch that is hard to predict takes longer.
    """
    left = distance - tables[own + _KINK]
    u, far, numbers = left * tables[own + _NUMBERS + 2] + 6.0, abs(left), own + _NUMBERS
    p = min(max(int(u), 0), 11)
    q = min(max(int((far - tables[numbers]) * tables[numbers + 1]), 0), 127)
    k = int(tables[own + _CELLS + q])
    side = k if left > 0.0 else _FAR_PANELS + k
    x = far * tables[numbers + 3 + 2 * side] - tables[numbers + 4 + 2 * side]
    near = 0.0 < u < 12.0
    return own + (p if near else 12 + side) * _POWERS, 2.0 * (u - p) - 1.0 if near else x


def _placed(
    tables: np.ndarray, places: np.ndarray, shift: float, at: np.ndarray, x: np.ndarray
) -> None:
    """Write coefficients' positions and places in panels for many distances from the first kink.

    ``shift`` is added to all distances.
    """
    count = places.size & _BITS
    if tables.size == _TABLE:
        for p in range(count):
            at[p], x[p] = _place_in(tables, 0, places[p] + shift)
        return
    for p in range(count):
        at[p] = 0
    for k in range(tables.size // _TABLE):
        border = tables[k * _TABLE + _KINK + 1]
        for p in range(count):
            at[p] += _TABLE if places[p] + shift > border else 0
    for p in range(count):
        at[p], x[p] = _place_in(tables, at[p] & _BITS, places[p] + shift)


def _speeds_of(tables: np.ndarray, width: float, speeds: np.ndarray) -> None:
    """Write for each panel by how much the place in it moves if the field moves by the width."""
    for own in range(0, tables.size, _TABLE):
        table, first = tables[own : own + _TABLE], own // _POWERS
        for panel in range(12):
            speeds[first + panel] = 2.0 * width * table[_NUMBERS + 2]
        for k in range(_FAR_PANELS):
            right, left = _NUMBERS + 3 + 2 * k, _NUMBERS + 3 + 2 * (_FAR_PANELS + k)
            speeds[first + 12 + k] = width * table[right]
            speeds[first + 12 + _FAR_PANELS + k] = -width * table[left]


def _orders_at(
    table: np.ndarray, speeds: np.ndarray, at: np.ndarray, x: np.ndarray, rows: np.ndarray
) -> None:
    """Write E[f(y + s ξ) he_n(ξ)] at many places in panels, a row for each n.

    They are s^n/√n! times derivatives of F, from the Taylor expansion of the panel's polynomial
    around each place.
    """
    count = x.size
    c, scale, power = np.empty((12, count)), np.empty(count), np.ones(count)
    for p in range(count):
        a = at[p] & _BITS
        scale[p] = speeds[a // _POWERS]
        for k in range(12):
            c[k, p] = table[a + k]
    for n in range(rows.shape[0]):
        for k in range(10, n - 1, -1):
            lower, upper = c[k], c[k + 1]
            for p in range(count):
                lower[p] += x[p] * upper[p]
        own, row, root = c[n], rows[n], math.sqrt(n + 1.0)
        for p in range(count):
            row[p] = own[p] * power[p]
            power[p] *= scale[p] * root


def _powers(
    table: np.ndarray, first: int, at: np.ndarray, x: np.ndarray, values: np.ndarray
) -> None:
    """Write F, or the average of the square, at many places in panels."""
    for p in range(x.size & _BITS):
        a, y = (at[p] + first) & _BITS, x[p]
        f = table[a + 11] * y + table[a + 10]
        f = (f * y + table[a + 9]) * y + table[a + 8]
        f = (f * y + table[a + 7]) * y + table[a + 6]
        f = (f * y + table[a + 5]) * y + table[a + 4]
        f = (f * y + table[a + 3]) * y + table[a + 2]
        values[p] = (f * y + table[a + 1]) * y + table[a]
