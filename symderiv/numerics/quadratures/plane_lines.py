r"""Points of a line where factors have kinks, or layers where they are nearly kinks.

A line of t is cut where factors have their kinks and where a kink is smoothed over a width. In each
piece t = c ± w sinh(u) from its end c, with w that width or the scale on which factors vary, and
Gauss' rule in u: the number of points grows with the logarithm of w. Numbers of the ``rule`` are
those of ``plane_mean``. Pasted into generated modules.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from symderiv.numerics.nodes import _HALF_LINES, _LEGENDRES

if TYPE_CHECKING:  # defined by the module into which this text is pasted
    from symderiv.numerics.quadratures.tensor_mean import _Three

    def quadrature_kinks(kind: int) -> np.ndarray:
        """Return the places where a factor is not smooth."""
        return np.zeros(kind)


_LINE = 6000  # points of a line, at most
_SMOOTH = 0.6  # wider layers, in t, need no cut
_NO_CUT = 100.0
_FAR = 2.0  # farther from a cut, in t, its layer does not matter
_STILL = 0.36  # points of a half line where fields do not move, relative to those of a piece
_MOVED = 1.0  # how many more are needed for each unit by which fields move
_DENSITY = 1.0 / math.sqrt(2.0 * math.pi)


def _most_kinks(kinds: np.ndarray) -> int:
    """Return the largest number of kinks of any factor, at least one."""
    most = 1
    for a in range(kinds.size):
        most = max(most, quadrature_kinks(kinds[a]).size)
    return most


def _write_kinks(kinds: np.ndarray, kinks: np.ndarray) -> None:
    """Write the kinks of each factor to a row, padded with the last one, or with zeros if there is
    none.
    """
    for a in range(kinds.size):
        own = quadrature_kinks(kinds[a])
        for k in range(kinks.shape[1]):
            kinks[a, k] = own[min(k, own.size - 1)] if own.size > 0 else 0.0


def _cut(cuts: np.ndarray, count: int, place: float, width: float) -> int:
    """Insert a cut in the order of places, or narrow the one that is there; return the number of
    cuts.
    """
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


def _cut_at(
    cuts: np.ndarray,
    count: int,
    kinks: np.ndarray,
    field: _Three,
    rule: np.ndarray,
    counted: float,
) -> int:
    """Add cuts where a field of given mean, slope and residual meets its kinks; return their
    number.

    The last row of the cuts gets the largest rate at which fields move with t, in units of the
    scale on which factors vary; its second number leaves out layers that have a cut.
    """
    mean, slope, rest = field
    if slope == 0.0:
        return count
    width, own, last = rest / abs(slope), rule[3] / abs(slope), cuts.shape[0] - 1
    layer = width > rule[4]
    for k in range(kinks.size):
        place = (kinks[k] - mean) / slope
        far = abs(place) > rule[2] + 8.0 * width
        moved = 1.0 / min(width, own) if layer and not far else 1.0 / own
        moved, none = counted * moved, width >= _SMOOTH or far
        cuts[last, 0] = max(cuts[last, 0], moved)
        cuts[last, 1] = max(cuts[last, 1], moved if none else counted / own)
        if not none:
            # what matters at a true kink is the scale of the smooth function beside it
            count = _cut(cuts, count, place, min(2.5 * width, own) if layer else own)
    return count


def _cut_where_met(
    cuts: np.ndarray,
    count: int,
    kinks: tuple[np.ndarray, np.ndarray],
    ratio: float,
    field: _Three,
    rule: np.ndarray,
) -> int:
    """Add cuts where kinks of two fields meet; return the number of cuts.

    ``field`` is mean, slope and residual of the first field less ``ratio`` times the other.
    """
    (own, others), (mean, slope, rest) = kinks, field
    for k in range(others.size):
        moved = mean + ratio * others[k], slope, rest
        count = _cut_at(cuts, count, own, moved, rule, 0.4)
    return count


def _piece(
    start: float,
    end: float,
    width: float,
    rule: np.ndarray,
    share: float,
    line: np.ndarray,
    at: int,
) -> int:
    """Add points and weights between two places, denser towards ``start``; return their number.

    Layers wider than ``_FAR`` do not make points denser: these would be scarce where the weight is.
    """
    length, dense = abs(end - start), width < _FAR
    if length < 1e-12:
        return at
    sign = 1.0 if end > start else -1.0
    reach, ratio = length, length / width
    if dense:
        # asinh(ratio), which takes longer as a call
        reach = math.log(ratio + math.sqrt(ratio * ratio + 1.0))
    usual = max(0.35 + 0.09 * length, 0.145 * length)
    if dense:
        usual = max(usual, 0.3 + 0.265 * reach)
    size = rule[0] * share * usual
    parts = 1 if size <= 32.0 else math.ceil(size / 24.0)
    row = max(math.ceil(0.5 * size / parts) - 2, 0)
    half, first, count = 0.5 * reach / parts, at, 4 + 2 * row
    if at + parts * count > line.shape[1]:
        # no room: NaN ends a run, but the mean over a part of the line would be wrong silently
        line[0, 0], line[1, 0] = math.nan, math.nan
        return max(at, 1)
    for k in range(parts):
        middle = half * (2.0 * k + 1.0)
        places, weights = line[0, at : at + count], line[1, at : at + count]
        for n in range(count):
            places[n], weights[n] = half * _LEGENDRES[row, 0, n], half * _LEGENDRES[row, 1, n]
        if not dense:
            for n in range(count):
                places[n] += middle
        else:
            grown, below = 0.5 * width * math.exp(middle), 0.25 * width * width
            for n in range(count):
                up = grown * _power_of_e(places[n])
                down = below / up
                places[n] = up - down
                weights[n] *= up + down
        at += count
    places, weights = line[0, first:at], line[1, first:at]
    for n in range(at - first):
        t = start + sign * places[n]
        places[n] = t
        weights[n] *= _DENSITY * _power_of_e(-0.5 * t * t)
    return at


def _power_of_e(x: float) -> float:
    """Return exp(x) for |x| up to 35, with an error of a hundred roundings.

    There are no branches, so that compilers compute many numbers at once.
    """
    y = x * (1.0 / 64.0)
    z = y * y
    # Taylor's series of the 64th root up to the thirteenth power; even and odd powers are
    # separate, so that they are computed in parallel
    even = (1.0 / 479001600.0 * z + 1.0 / 3628800.0) * z + 1.0 / 40320.0
    even = (((even * z + 1.0 / 720.0) * z + 1.0 / 24.0) * z + 0.5) * z + 1.0
    odd = (1.0 / 6227020800.0 * z + 1.0 / 39916800.0) * z + 1.0 / 362880.0
    odd = (((odd * z + 1.0 / 5040.0) * z + 1.0 / 120.0) * z + 1.0 / 6.0) * z + 1.0
    e = odd * y + even
    e = e * e * e * e
    e = e * e * e * e
    return e * e * e * e


def _points(cuts: np.ndarray, count: int, radius: float, rule: np.ndarray, line: np.ndarray) -> int:
    """Write points and weights of one t, given the squared distance of the others; return their
    number.
    """
    reach = math.sqrt(max(rule[2] * rule[2] - radius, 0.0))
    if reach < 0.1:
        return 0
    share = math.sqrt(max(1.0 - 0.5 * radius / rule[1], 0.1))
    # a cut close to a layer is as narrow as their distance plus the layer's width
    for n in range(1, count):
        gap = cuts[n, 0] - cuts[n - 1, 0]
        cuts[n, 1] = min(cuts[n, 1], cuts[n - 1, 1] + gap)
    for n in range(count - 2, -1, -1):
        gap = cuts[n + 1, 0] - cuts[n, 0]
        cuts[n, 1] = min(cuts[n, 1], cuts[n + 1, 1] + gap)
    first, moved = 0, cuts[cuts.shape[0] - 1]
    while first < count and cuts[first, 0] <= -reach:
        first += 1
    last = first
    while last < count and cuts[last, 0] < reach:
        last += 1
    if first == last:
        return _piece(-reach, reach, _NO_CUT, rule, _closer(share, moved), line, 0)
    used = _to_the_end(cuts[first], -reach, moved, rule, share, line, 0)
    closer = _closer(share, moved)
    for n in range(first, last - 1):
        middle = 0.5 * (cuts[n, 0] + cuts[n + 1, 0])
        used = _from_cut(cuts[n], middle, rule, closer, line, used)
        used = _from_cut(cuts[n + 1], middle, rule, closer, line, used)
    return _to_the_end(cuts[last - 1], reach, moved, rule, share, line, used)


def _closer(share: float, moved: np.ndarray) -> float:
    """Return the share of points, increased where layers too wide for a cut need more."""
    return share * (1.0 + 0.3 * max(min(float(moved[1]), 2.0) - 0.6, 0.0))


def _to_the_end(
    cut: np.ndarray,
    end: float,
    moved: np.ndarray,
    rule: np.ndarray,
    share: float,
    line: np.ndarray,
    at: int,
) -> int:
    """Add points from the last cut to the end of a line; return their number.

    Where fields move little, behind layers, they are those of a rule for the Gaussian weight of a
    half line.
    """
    place, width = cut[0], cut[1]
    sizes = _HALF_LINES.shape[0]
    size = math.ceil(0.25 * rule[0] * share * (_STILL + _MOVED * moved[0])) - 2
    if size >= sizes and width < _FAR and abs(end - place) > 1.5 * _FAR:
        near = place + math.copysign(_FAR, end - place)
        size = math.ceil(0.25 * rule[0] * share * (_STILL + _MOVED * moved[1])) - 2
        if size < sizes:
            at = _piece(place, near, width, rule, _closer(share, moved), line, at)
            place = near
    if size >= sizes:
        return _from_cut(cut, end, rule, _closer(share, moved), line, at)
    sign, size = (1.0 if end > place else -1.0), max(size, 0)
    row = min(max(math.floor(2.0 * sign * place + 0.5) + 16, 0), 32)
    apart, weight = sign * place - 0.5 * (row - 16), math.exp(-0.5 * place * place)
    count: int = 8 + 4 * size
    while count > 0 and sign * place + _HALF_LINES[size, row, count - 1] >= abs(end):
        count -= 1
    if at + count > line.shape[1]:
        line[0, 0], line[1, 0] = math.nan, math.nan
        return max(at, 1)
    for n in range(count):
        t = _HALF_LINES[size, row, n]
        line[0, at + n] = place + sign * t
        line[1, at + n] = weight * _power_of_e(-apart * t) * _HALF_LINES[size, row + 33, n]
    return at + count


def _from_cut(
    cut: np.ndarray, end: float, rule: np.ndarray, share: float, line: np.ndarray, at: int
) -> int:
    """Add points from a cut to a place, with the usual spacing away from the cut; return their
    number.
    """
    place, width = cut[0], cut[1]
    if abs(end - place) > 1.5 * _FAR and width < _FAR:
        near = place + math.copysign(_FAR, end - place)
        at = _piece(place, near, width, rule, share, line, at)
        return _piece(near, end, _NO_CUT, rule, share, line, at)
    return _piece(place, end, width, rule, share, line, at)
