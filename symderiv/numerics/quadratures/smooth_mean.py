r"""Means of products of analytic functions of Gaussian fields, two or four of them.

Means of two factors are sums over Hermite polynomials he_k, normalised, of the fields in units of
their standard deviations: E[f(x) g(y)] = Σ_k ρ^k f_k g_k with the correlation ρ of x and y.

A mean of four factors goes over the plane of the fields of the first two, by equal steps in two
independent variables t of variance one. When t is given, another field is y(t) plus an independent
rest of standard deviation s; with polynomials of the rest over s

    f^n(y) = E[f(y + s ξ) he_n(ξ)],    E[f(z) g(w) | t] = Σ_n ρ^n f^n g^n,

where ρ is the correlation of the rests of z and w. f^n depends on y alone, and along lines of the
plane y takes equal steps. So f is evaluated on one lattice of its field, of which the steps along
lines are multiples; f^n is tabulated on the same lattice by equal steps in ξ, or, where the rest is
small against the lattice, by averages of polynomials through twelve points; and all points of a
line lie at the same distance from the lattice, so that they take the same weights of the eight
splines of degree seven that are not zero there: what is tabulated are their coefficients. Where a
field moves little, the polynomials through twelve points around the middle serve all points.

``rule`` is a constant of the module: 0 step in units of the fields, 1 step in t, 2 reach in t (and
radius of the sphere), 3 half of the distance of poles from the real line, 4 what is negligible.
Factors are called by number (see ``tensor_mean``). Pasted into generated modules.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from symderiv.numerics.nodes import _HERMITES
from symderiv.numerics.quadratures.tensor_mean import _matrix_of, _triangle

if TYPE_CHECKING:  # defined by the module into which this text is pasted
    from symderiv.numerics.quadratures.tensor_mean import (
        _Four,
        _Kinds,
        _Ten,
        _Three,
        _Two,
        quadrature_factors,
    )

    _Steps = tuple[int, int, int, int]
    _Grid = tuple[float, np.ndarray, np.ndarray, int]
    _Lattice = tuple[int, int, float]

_MOST_TERMS = 400
_LONGEST_SUM = 100  # where more are needed, what two rests share is integrated instead
_WHOLE_NUMBERS = np.arange(64.0)
_OVER_12 = 1.0 / np.arange(1.0, 13.0)
_SPLINE_POLES = (-0.5352804307964381656, -0.1225546151923266905, -0.00914869480960827692857)
_SPLINE_PARTS = (6.01628400170178528, -1.05582029421124335, 0.00426917881113936108)
"""Coefficients of splines of degree seven are Σ_m value_m Σ_i parts_i poles_i^|n - m|."""
_SPLINES = np.array(
    [
        [
            sum(
                (-1) ** k * math.comb(8, k) * math.comb(7, d) * (7 - p - k) ** (7 - d)
                for k in range(8 - p)
            )
            / 5040.0
            for d in range(8)
        ]
        for p in range(8)
    ]
)  # the eight B-splines of degree seven in a cell: coefficients of powers, a row for each
_COLUMNS = 48
_FARTHER = 0.2
_WAVES = 0.08  # half of 1/2π; times √n, it is how fast polynomials of order n vary
_TURNS = np.sin(np.radians(np.arange(25.0, 70.0, 10.0)))
_FINE = 0.18  # cell of a lattice that polynomials interpolate, in units of the rule's step
_BITS = 0xFFFFFFF  # a mask from which compilers see that an index is not negative
_NEAR = 4.0  # one polynomial through twelve points serves so many cells on either side


def _inner(numbers: np.ndarray, others: np.ndarray) -> float:
    """Return the inner product of two arrays, with sixteen partial sums that run in parallel."""
    parts, blocks, total = np.zeros(16), numbers.size // 16, 0.0
    for block in range(blocks):
        for n in range(16):
            parts[n] += numbers[16 * block + n] * others[16 * block + n]
    for n in range(16 * blocks, numbers.size):
        total += numbers[n] * others[n]
    for n in range(8):
        parts[n] += parts[8 + n]
    low, high = (parts[0] + parts[1]) + (parts[2] + parts[3]), parts[4] + parts[5]
    return float(total + (low + (high + (parts[6] + parts[7]))))


def _equally_apart(first: float, step: float, numbers: np.ndarray) -> None:
    """Write equally spaced numbers.

    They are multiples of tabulated doubles, because integers are converted slowly.
    """
    for begin in range(0, numbers.size, 64):
        start, some = first + step * begin, numbers[begin : min(begin + 64, numbers.size)]
        for n in range(some.size):
            some[n] = start + step * _WHOLE_NUMBERS[n]


def _step_of(moved: float, rule: np.ndarray) -> float:
    """Return the step of a t that moves fields at the rate ``moved``.

    With poles at the distance d of the fields from the real line, errors are exp(y²/2 - 2πy/h) at y
    = d/moved, or at the best y if that is smaller.
    """
    ratio = 0.5 * rule[0] / (moved * rule[1]) if moved > 0.0 else 1.0
    return float(rule[1] * (2.0 * ratio / (1.0 + ratio * ratio) if ratio < 1.0 else 1.0))


def _half_of(longest: float, rule: np.ndarray) -> tuple[float, int]:
    """Return the step of a t that moves fields at most at this rate, and the steps on each side of
    zero.
    """
    if longest == 0.0:
        return 1.0, 0
    step = _step_of(longest, rule)
    return step, math.ceil(rule[2] / step)


def _longest(parts: np.ndarray, pair: tuple[int, int], along: _Two) -> float:
    """Return the rate at which fields move along a direction of the plane of two of them.

    Poles of several fields count for more than those of one; means have one of the two fields
    twice, or both, and any others.
    """
    (i, j), (first, second) = pair, along
    own = max(
        abs(parts[i, 0] * first + parts[i, 1] * second),
        abs(parts[j, 0] * first + parts[j, 1] * second),
    )
    most = own
    for a in range(parts.shape[0]):
        most = max(most, abs(parts[a, 0] * first + parts[a, 1] * second))
    own, most = own * own, most * most
    return math.sqrt(math.sqrt(2.0 * (own * own + most * most)))


def _step_of_shifted(
    rule: np.ndarray, parts: np.ndarray, pair: tuple[int, int], longest: _Two
) -> float:
    """Return the step along rows of points of which every second one is shifted by half of it.

    Steps across rows are what they are without shifts; ``longest`` are the rates at which fields
    move along rows and across them. A wave k that is one at all points leaves an error of exp(y²/2
    - k y) for any y along which no field comes closer than to its poles. Only the wave (2π/h1,
    π/h2) and its mirror image limit the step h1 along rows, for which some directions of y are
    tried; all others allow up to twice the step of rows without shifts.
    """
    digits, poles = 2.0 * math.pi**2 / rule[1] ** 2, math.pi * rule[0] / rule[1] ** 2
    usual, across = _step_of(longest[0], rule), _step_of(longest[1], rule)
    farthest = math.sqrt(2.0 * digits)
    side1, side2 = min(poles / longest[0], farthest), min(poles / longest[1], farthest)
    shifted, turns = 2.0 * usual, _TURNS.size
    for mirrored in range(2):
        most = usual
        for n in range(turns):
            first, second = side1 * _TURNS[n], side2 * _TURNS[turns - 1 - n]
            size = math.hypot(first, second)
            first, second = first / size, second / size
            sign = 1.0 - 2.0 * mirrored
            y = min(poles / _longest(parts, pair, (first, sign * second)), farthest)
            left = digits / y + 0.5 * y - math.pi * second / across
            enough = left * shifted <= 2.0 * math.pi * first
            most = max(most, shifted if enough else 2.0 * math.pi * first / left)
        shifted = min(shifted, most)
    return shifted


def _few_points(moved: float, negligible: float) -> int:
    """Return how many Gauss-Hermite points suffice for fields that move by so much of the scale on
    which factors vary, or 0 where they move too much.
    """
    size, left = 0, 1.0
    while left > negligible and size < _HERMITES.shape[0]:
        size += 1
        left *= size * moved * moved
    return size if left <= negligible else 0


def _all_move_along(rule: np.ndarray, parts: np.ndarray, step: float) -> bool:
    """Return whether all fields that move much move enough along rows for lattices of their own."""
    for a in range(parts.shape[0]):
        most = rule[2] * math.hypot(parts[a, 0], parts[a, 1])
        still = most > _NEAR * _widest(rule, parts[a, 2], _LONGEST_SUM)
        if still and abs(parts[a, 0]) * step < 0.5 * _spline_cell(rule):
            return False
    return True


def _grid_of(rule: np.ndarray, parts: np.ndarray, pair: tuple[int, int]) -> _Grid:
    """Return points of a circle in the plane of two t, in which fields have the coefficients
    ``parts``.

    The points lie in rows along the first t. Returned are the step along rows; the second t of each
    row and its weights; the index at which each row begins; and the number of rows from one point
    to the next one exactly across, or 0 if the rows are not equally spaced.
    """
    longest = _longest(parts, pair, (1.0, 0.0)), _longest(parts, pair, (0.0, 1.0))
    step1, half1 = _half_of(longest[0], rule)
    step2, half2 = _half_of(longest[1], rule)
    stride, rows, reach = 1, 2 * half2 + 1, rule[2]
    if half1 > 0 and half2 > 0:
        shifted = _step_of_shifted(rule, parts, pair, longest)
        few = _few_points(0.5 * longest[1] / rule[3], rule[4])
        fewer = few * shifted * step2 < 0.5 * math.pi * reach * step1
        if few > 0 and fewer and _all_move_along(rule, parts, step1):
            stride, rows = 0, few
        else:
            stride, step1 = 2, shifted
    seconds, starts = np.empty((2, rows)), np.zeros(rows + 1, np.int64)
    for j in range(rows):
        if stride == 0:
            seconds[0, j], seconds[1, j] = _HERMITES[rows - 1, 0, j], _HERMITES[rows - 1, 1, j]
        else:
            t = (j - half2) * step2
            seconds[0, j], seconds[1, j] = t, _normal(t, step2, half2)
        left, count = reach * reach - seconds[0, j] ** 2, 0
        if left >= 0.0:
            count = 1
            if half1 > 0 and stride == 2 and (j - half2) % 2 != 0:
                count = 2 * math.floor(math.sqrt(left) / step1 + 0.5)
            elif half1 > 0:
                count = 2 * math.floor(math.sqrt(left) / step1) + 1
        starts[j + 1] = starts[j] + count
    return step1, seconds, starts, stride


def _normal(t: float, step: float, half: int) -> float:
    """Return the weight of one of equally spaced points, or 1 for a single point."""
    return step * math.exp(-0.5 * t * t) / math.sqrt(2.0 * math.pi) if half > 0 else 1.0


def _normals(step: float, weights: np.ndarray) -> None:
    """Write the weights of equally spaced points, from zero on.

    Each is the one before times a ratio that falls by the same factor: exponentials take longer.
    """
    weight, ratio = step / math.sqrt(2.0 * math.pi), math.exp(-0.5 * step * step)
    falls = math.exp(-step * step)
    for n in range(weights.size):
        weights[n] = weight
        weight *= ratio
        ratio *= falls


def _longest_rows(starts: np.ndarray) -> tuple[int, int]:
    """Return the lengths of the longest row with a point at zero and of the longest other row."""
    odd = even = 0
    for j in range(starts.size - 1):
        count = starts[j + 1] - starts[j]
        if count % 2 == 1:
            odd = max(odd, count)
        else:
            even = max(even, count)
    return odd, even


def _to_rows(grid: _Grid, of_longest: np.ndarray, values: np.ndarray) -> None:
    """Write to all points of a grid what depends on the first t only, given at the longest two
    rows.
    """
    starts = grid[2]
    odd, even = _longest_rows(starts)
    for j in range(starts.size - 1):
        count = starts[j + 1] - starts[j]
        first = (odd - count) // 2 if count % 2 == 1 else odd + (even - count) // 2
        row, own = values[starts[j] :], of_longest[first:]
        for q in range(count & _BITS):
            row[q] = own[q]


def _weights_of(grid: _Grid, weights: np.ndarray) -> None:
    """Write the weights of all points of a grid."""
    step, seconds, starts = grid[0], grid[1], grid[2]
    odd, even = _longest_rows(starts)
    normals, of_longest = np.empty(max(odd, even)), np.empty(odd + even)
    _normals(0.5 * step, normals)
    for q in range(odd):
        of_longest[q] = 2.0 * normals[abs(2 * q + 1 - odd)]
    for q in range(even):
        of_longest[odd + q] = 2.0 * normals[abs(2 * q + 1 - even)]
    if odd == 1:
        of_longest[0] = 1.0
    _to_rows(grid, of_longest, weights)
    for j in range(starts.size - 1):
        row, own = weights[starts[j] : starts[j + 1]], seconds[1, j]
        for q in range(row.size):
            row[q] *= own


def _at_points(kind: int, field: _Four, grid: _Grid, values: np.ndarray) -> None:
    """Write a factor of a field without residual at all points of a grid.

    ``field`` has the coefficients of the two t, the residual (not used) and the bias.
    """
    part1, part2, _, bias = field
    step, starts = grid[0], grid[2]
    if part2 == 0.0:
        odd, even = _longest_rows(starts)
        fields, of_longest = np.empty(odd + even), np.empty(odd + even)
        _equally_apart(bias - 0.5 * (odd - 1.0) * part1 * step, part1 * step, fields[:odd])
        _equally_apart(bias - 0.5 * (even - 1.0) * part1 * step, part1 * step, fields[odd:])
        quadrature_factors(kind, fields, of_longest)
        _to_rows(grid, of_longest, values)
        return
    places = np.empty(values.size)
    _places_of(field, grid, 1.0, places)
    quadrature_factors(kind, places, values)


def _places_of(field: _Four, grid: _Grid, unit: float, places: np.ndarray) -> None:
    """Write the values of a field, over ``unit``, at all points of a grid."""
    part1, part2, _, bias = field
    step, seconds, starts = grid[0], grid[1], grid[2]
    along = part1 * step
    for j in range(starts.size - 1):
        first = bias + part2 * seconds[0, j] - 0.5 * along * (starts[j + 1] - starts[j] - 1.0)
        _equally_apart(first / unit, along / unit, places[starts[j] : starts[j + 1]])


def _falls(width: float, rule: np.ndarray) -> float:
    """Return the ratio of a coefficient f^n to f^(n-1), with ``width`` the field's deviation times
    √n.

    Fourier's transform of a function with poles at the distance d falls like exp(-d k), so that the
    largest part of f^n is that of k with s² k² + d k = n.
    """
    return float(width / (rule[3] + math.sqrt(rule[3] * rule[3] + width * width)))


def _orders(width1: float, width2: float, correlation: float, rule: np.ndarray) -> int:
    """Return how many terms of the sum over ρ^n f^n g^n are not negligible."""
    power, count = 1.0, 0
    while count < _MOST_TERMS and power > rule[4]:
        count += 1
        root = math.sqrt(1.0 * count)
        power *= abs(correlation) * _falls(width1 * root, rule) * _falls(width2 * root, rule)
    return count


def _series(
    rule: np.ndarray, numbers: np.ndarray, fields: np.ndarray, series: np.ndarray, own: np.ndarray
) -> None:
    """Write E[f he_k] of factors of fields, a row for each k, he_k of the field over its width.

    Args:
        rule: The numbers of the rule.
        numbers: The factor of each column, and the column with which its mean product is wanted.
        fields: The standard deviation and the mean of the field of each column.
        series: Where rows are written; columns up to a multiple of eight are zeros.
        own: Where mean products of columns of the same field are written; may be empty.
    """
    widest, columns = 0.0, numbers.shape[1]
    for c in range(columns):
        widest = max(widest, fields[0, c])
    step = 0.7 * _step_of(widest, rule)
    half = math.ceil((rule[2] + 0.5) / step) if widest > 0.0 else 0
    kernel = _kernel(1.0, step, half, series.shape[0])
    size = kernel.shape[1]
    # polynomials of even k take sums of values at opposite places, the others differences
    sides, parts = np.zeros((2, size, series.shape[1])), np.empty((columns, 2, size))
    places, values = np.empty(2 * size), np.empty(2 * size)
    for c in range(columns):
        _equally_apart(fields[1, c], fields[0, c] * step, places[:size])
        _equally_apart(fields[1, c], -fields[0, c] * step, places[size:])
        quadrature_factors(numbers[0, c], places, values)
        values[0], values[size] = 0.5 * values[0], 0.5 * values[size]
        for n in range(size):
            parts[c, 0, n] = values[n] + values[size + n]
            parts[c, 1, n] = values[n] - values[size + n]
    for side in range(2):
        for n in range(size):
            for c in range(columns):
                sides[side, n, c] = parts[c, side, n]
    for k in range(0, size, 8):
        _add_eight(kernel, k, sides, series, 0, series.shape[1])
    for c in range(own.size):
        other = numbers[1, c]
        for n in range(size):
            both = parts[c, 0, n] * parts[other, 0, n] + parts[c, 1, n] * parts[other, 1, n]
            values[n] = 0.5 * both
        # values at zero were halved and occur twice, so their product is half of what it should be
        values[0] *= 2.0
        own[c] = _inner(kernel[0], values[:size])


def _correlation_of(width1: float, width2: float, covariance: float) -> float:
    """Return the correlation of two fields, 0 if one has no variance."""
    both = width1 * width2
    return min(max(covariance / both, -1.0), 1.0) if both > 0.0 else 0.0


def _mean_of_2(rule: np.ndarray, kinds: tuple[int, int], c: _Three, b: _Two) -> float:
    """Return E[factor(kinds[0], x) factor(kinds[1], y)] for covariances c and means b."""
    width1, width2 = math.sqrt(max(c[0], 0.0)), math.sqrt(max(c[2], 0.0))
    correlation = _correlation_of(width1, width2, c[1])
    count = _orders(width1, width2, correlation, rule)
    numbers, fields, none = np.zeros((2, 2), np.int64), np.empty((2, 2)), np.empty(0)
    numbers[0, 0], numbers[0, 1] = kinds[0], kinds[1]
    fields[0, 0], fields[0, 1], fields[1, 0], fields[1, 1] = width1, width2, b[0], b[1]
    series = np.empty((count, 8))
    _series(rule, numbers, fields, series, none)
    total, power = 0.0, 1.0
    for k in range(count):
        total += power * series[k, 0] * series[k, 1]
        power *= correlation
    return total


def _between_12(place: float, weights: np.ndarray) -> None:
    """Write the weights of interpolation by the polynomial through twelve points, -5 to 6."""
    for p in range(12):
        weights[p] = 1.0
    left = right = 1.0
    for p in range(12):
        # products of distances over the points before and behind
        weights[p] *= left
        weights[11 - p] *= right
        left *= (place + 5.0 - p) * _OVER_12[p]
        right *= (6.0 - place - p) * _OVER_12[p]


def _kernel(width: float, step: float, half: int, orders: int) -> np.ndarray:
    """Return weights of lattice points, from the middle on, for E[f(y + s ξ) he_n(ξ)], a row for
    each n.

    Zeros fill rows up to a multiple of eight. On the other side weights are the same, for odd n
    with the other sign. They are those of equal steps in ξ or, if ``step`` is zero, averages of
    polynomials through twelve points, with s = ``width`` cells.
    """
    kernel, count = np.zeros((orders, 8 * ((half + 8) // 8))), half + 1
    if half == 0:
        kernel[0, 0] = 1.0
        return kernel
    if step != 0.0:
        places = np.empty(count)
        _equally_apart(0.0, step, places)
        _normals(abs(step), kernel[0, :count])
        _by_recursion(places, kernel)
        return kernel
    places, few, weights = np.empty(5), np.empty((min(orders, 10), 5)), np.empty((5, 12))
    for m in range(5):
        places[m], few[0, m] = _HERMITES[9, 0, 5 + m], _HERMITES[9, 1, 5 + m]
        _between_12(width * places[m] - math.floor(width * places[m]), weights[m])
    _by_recursion(places, few)
    for n in range(few.shape[0]):
        _add_averages(width, places, few[n], weights, 1.0 - 2.0 * (n % 2), kernel[n])
    return kernel


def _by_recursion(places: np.ndarray, rows: np.ndarray) -> None:
    """Write the first row times he_n of the places to row n, for every n above zero."""
    for n in range(1, rows.shape[0]):
        over, back = 1.0 / math.sqrt(1.0 * n), math.sqrt((n - 1.0) / n)
        row, before, last = rows[n], rows[n - 1], rows[max(n - 2, 0)]
        for m in range(places.size):
            row[m] = over * places[m] * before[m] - back * last[m]


def _add_averages(
    width: float,
    places: np.ndarray,
    now: np.ndarray,
    weights: np.ndarray,
    sign: float,
    kernel: np.ndarray,
) -> None:
    """Add the weights of interpolation at five places, and at their opposites."""
    for m in range(5):
        first = math.floor(width * places[m]) - 5
        for p in range(12):
            if first + p >= 0:
                kernel[first + p] += now[m] * weights[m, p]
            if first + p <= 0:
                kernel[-first - p] += sign * now[m] * weights[m, p]


def _tabulated(
    kernel: np.ndarray, steps: _Steps, values: np.ndarray, size: int, table: np.ndarray
) -> None:
    """Write sums of values with the rows of a kernel, at 2 ``size`` + 1 consecutive lattice points.

    ``steps`` are the number of cells between points of the kernel, the number of phases into which
    values are sorted, of how many phases sums are written, one behind the other, and the number of
    points of the kernel on either side.
    """
    stride, phases, stored, half = steps
    columns, per_phase = table.shape[1] // stored, (values.size - 8) // phases
    over, along = stride % phases, stride // phases
    # eight points at a time, and few columns, because memory takes longer than sums
    sides = np.empty((2, kernel.shape[1], _COLUMNS))
    for phase in range(stored):
        count = (2 * size - phase) // stored + 1
        for begin in range(0, count, _COLUMNS):
            width = 8 * (((min(count - begin, _COLUMNS) + 7) // 8) & _BITS)
            one = other = (phase + half * stride) % phases
            first = second = (phase + half * stride) // phases + begin
            for k in range(kernel.shape[1]):
                own = (0.5 if k == 0 else 1.0) if k <= half else 0.0
                heres, theres = (
                    values[one * per_phase + first :],
                    values[other * per_phase + second :],
                )
                for q in range(width):
                    here, there = heres[q], theres[q]
                    sides[0, k, q], sides[1, k, q] = own * (here + there), own * (here - there)
                if k < half:
                    one, first = one + over, first + along
                    other, second = other - over, second - along
                    if one >= phases:
                        one, first = one - phases, first + 1
                    if other < 0:
                        other, second = other + phases, second - 1
            for k in range(0, kernel.shape[1], 8):
                _add_eight(kernel, k, sides, table, phase * columns + begin, width)
        # entries behind the last point are read too; denormal numbers there would be slow
        for n in range(table.shape[0]):
            for q in range(8 * ((count + 7) // 8), columns):
                table[n, phase * columns + q] = 0.0


def _add_eight(
    kernel: np.ndarray, k: int, sides: np.ndarray, table: np.ndarray, place: int, width: int
) -> None:
    """Add eight lines, weighted by columns k to k + 7 of a kernel, to rows of a table.

    For k = 0 the rows are overwritten.
    """
    for n in range(kernel.shape[0]):
        w, lines, line = kernel[n, k:], sides[n % 2, k:], table[n, place:]
        w0, w1, w2, w3, w4, w5, w6, w7 = w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7]
        for q in range(width & (8 * _BITS)):
            first = (w0 * lines[0, q] + w1 * lines[1, q]) + w2 * lines[2, q]
            second = (w3 * lines[3, q] + w4 * lines[4, q]) + w5 * lines[5, q]
            before = line[q] if k > 0 else 0.0
            line[q] = before + ((first + second) + (w6 * lines[6, q] + w7 * lines[7, q]))


def _along_line(
    table: np.ndarray, starts: np.ndarray, w: np.ndarray, rows: np.ndarray, first: int, count: int
) -> None:
    """Write the weighted sums of eight table entries at a line's points, rounded up to eight."""
    e0, e1, e2, e3 = starts[0] & _BITS, starts[1] & _BITS, starts[2] & _BITS, starts[3] & _BITS
    e4, e5, e6, e7 = starts[4] & _BITS, starts[5] & _BITS, starts[6] & _BITS, starts[7] & _BITS
    w0, w1, w2, w3, w4, w5, w6, w7 = w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7]
    for n in range(rows.shape[0]):
        line, entries = rows[n, first:], table[n]
        for q in range(8 * (((count + 7) // 8) & _BITS)):
            one = (w0 * entries[e0 + q] + w1 * entries[e1 + q]) + w2 * entries[e2 + q]
            two = (w3 * entries[e3 + q] + w4 * entries[e4 + q]) + w5 * entries[e5 + q]
            line[q] = (one + two) + (w6 * entries[e6 + q] + w7 * entries[e7 + q])


def _coefficients(values: np.ndarray, coefficients: np.ndarray) -> None:
    """Write the coefficients of splines of degree seven through two rows of lattice values.

    Two rows are computed together, because each sum waits for the one before. Beyond the ends,
    values continue as parabolas.
    """
    (z1, z2, z3), (a1, a2, a3), size = _SPLINE_POLES, _SPLINE_PARTS, values.shape[1]
    own, other, of_own, of_other = values[0], values[1], coefficients[0], coefficients[1]
    b1, b2, b3 = a1 * z1, a2 * z2, a3 * z3
    f1, f2, f3 = _beyond(own[0], own[1], own[2])
    g1, g2, g3 = _beyond(other[0], other[1], other[2])
    for n in range(size):
        f, g = own[n], other[n]
        f1, f2, f3 = f + z1 * f1, f + z2 * f2, f + z3 * f3
        g1, g2, g3 = g + z1 * g1, g + z2 * g2, g + z3 * g3
        of_own[n] = a1 * f1 + (a2 * f2 + a3 * f3)
        of_other[n] = a1 * g1 + (a2 * g2 + a3 * g3)
    last = size - 1
    f1, f2, f3 = _beyond(own[last], own[last - 1], own[last - 2])
    g1, g2, g3 = _beyond(other[last], other[last - 1], other[last - 2])
    for n in range(last, -1, -1):
        of_own[n] += b1 * f1 + (b2 * f2 + b3 * f3)
        of_other[n] += b1 * g1 + (b2 * g2 + b3 * g3)
        f, g = own[n], other[n]
        f1, f2, f3 = f + z1 * f1, f + z2 * f2, f + z3 * f3
        g1, g2, g3 = g + z1 * g1, g + z2 * g2, g + z3 * g3


def _beyond(first: float, second: float, third: float) -> _Three:
    """Return the sums of extrapolated values, nearest first, times powers of each spline pole."""
    slope, bend = first - second, first - 2.0 * second + third
    # the value k places beyond is first + k slope + k (k + 1) / 2 bend
    z1, z2, z3 = _SPLINE_POLES
    o1, o2, o3 = 1.0 / (1.0 - z1), 1.0 / (1.0 - z2), 1.0 / (1.0 - z3)
    return (
        o1 * (first + o1 * (slope + o1 * bend)),
        o2 * (first + o2 * (slope + o2 * bend)),
        o3 * (first + o3 * (slope + o3 * bend)),
    )


def _spline_weights(places: np.ndarray, weights: np.ndarray) -> None:
    """Write the weights of eight coefficients, -3 to 4, in a column for each place in [0, 1]."""
    for p in range(8):
        c, own = _SPLINES[p], weights[p]
        c0, c1, c2, c3, c4, c5, c6, c7 = c[0], c[1], c[2], c[3], c[4], c[5], c[6], c[7]
        for o in range(places.size):
            x = places[o]
            high = ((c7 * x + c6) * x + c5) * x + c4
            own[o] = (((high * x + c3) * x + c2) * x + c1) * x + c0


def _spline_cell(rule: np.ndarray) -> float:
    """Return the widest cell of a lattice that splines interpolate.

    With poles at the distance d errors are 2 (k cell/2π)^8 exp(-d k) at the worst k.
    """
    return float(3.9 * rule[3] * math.sqrt(math.sqrt(math.sqrt(rule[4]))))


def _coarse(rule: np.ndarray, rest: float, orders: int) -> float:
    """Return the longest step in a field of the sums over its rest that give f^n."""
    step = _step_of(rest, rule)
    return step / (1.0 + _WAVES * step * math.sqrt(1.0 * orders)) * rest


def _widest(rule: np.ndarray, rest: float, orders: int) -> float:
    """Return the widest cell of a lattice that polynomials through twelve points interpolate, and
    whose values have sums over the rest.
    """
    return float(max(_FINE * rule[0], min(0.15 * rest, _coarse(rule, rest, orders))))


def _lattice_of(
    rule: np.ndarray, rest: float, along: float, orders: int, how: tuple[bool, bool]
) -> tuple[float, int, tuple[int, int, float]]:
    """Return a field's lattice (cell, cells in a step along lines) and its kernel.

    The kernel is given by how many cells lie between its points, how many points are on either
    side, and their step in ξ, which is zero where the residual is small against the lattice. The
    first of ``how`` says that all points of lines are lattice points, the second that all are near
    the middle.
    """
    direct, near = how
    fine, coarse = _FINE * rule[0], _coarse(rule, rest, orders)
    thin = coarse < fine
    cell, phases = _widest(rule, rest, orders), 1
    if not near:
        if thin:
            phases = math.ceil(abs(along) / fine)
        else:
            phases = math.ceil(abs(along) / (coarse if direct else min(_spline_cell(rule), coarse)))
        cell = along / phases
    if thin:
        return cell, phases, (1, math.ceil(4.9 * rest / abs(cell)) + 7, 0.0)
    stride = max(1, math.floor(coarse / abs(cell)))
    step, reach = stride * cell / rest, rule[2] - 0.3 + _FARTHER * math.sqrt(orders - 1.0)
    return cell, phases, (stride, math.ceil(reach / abs(step)), step)


def _values_on(kind: int, bias: float, cell: float, middle: int) -> np.ndarray:
    """Return a factor and its square at lattice points; the field has its bias at ``middle``."""
    places, values = np.empty(2 * middle + 1), np.empty((2, 2 * middle + 1))
    _equally_apart(bias - cell * middle, cell, places)
    quadrature_factors(kind, places, values[0])
    for n in range(places.size):
        values[1, n] = values[0, n] * values[0, n]
    return values


def _by_phases(values: np.ndarray, phases: int) -> np.ndarray:
    """Return numbers sorted by index modulo ``phases``, with room for eight more behind."""
    per_phase = (values.size + phases - 1) // phases
    parted = np.zeros(phases * per_phase + 8)
    for phase in range(phases):
        for n in range((values.size - 1 - phase) // phases + 1):
            parted[phase * per_phase + n] = values[phase + phases * n]
    return parted


def _rows_of(
    rule: np.ndarray, kind: int, field: _Four, grid: _Grid, rows: np.ndarray, squares: int
) -> None:
    """Write f^n of a factor at all points of a grid, a row for each n.

    Args:
        rule: The numbers of the rule.
        kind: The factor.
        field: The coefficients of the two t and of the residual, and the bias.
        grid: The points.
        rows: Where f^n is written; the last eight entries of a row may hold anything.
        squares: 1 if the last row is f^0 of the square of the factor, else 0.
    """
    (part1, part2, rest, bias), (step1, seconds, starts, stride) = field, grid
    lines, points, orders = starts.size - 1, rows.shape[1] - 8, rows.shape[0] - squares
    if rest == 0.0:
        _at_points(kind, field, grid, rows[0, :points])
        for q in range(points * squares):
            rows[orders, q] = rows[0, q] * rows[0, q]
        return
    # along one line, the field takes every phases-th value of a lattice
    most, along, columns = rule[2] * math.hypot(part1, part2), part1 * step1, False
    if lines > 1 and stride > 0:
        across = stride * part2 * (seconds[0, 1] - seconds[0, 0])
        columns = abs(along) < min(abs(across), 0.5 * _spline_cell(rule))
        along = across if columns else along
    near = most <= _NEAR * _widest(rule, rest, orders)
    direct = lines == 1 and not near
    cell, phases, (apart, half, step) = _lattice_of(rule, rest, along, orders, (direct, near))
    size, stored = math.ceil(most / abs(cell)) + 8, phases
    if near:
        size = 6
    elif direct:
        size, stored = (points - 1) // 2, 1
    kernel = _kernel(rest / cell, step, half, orders)
    values = _values_on(kind, bias, cell, phases // stored * size + half * apart)
    width = (
        2 * size // stored + 10
    )  # room behind the last point, as eight points are read at a time
    coefficients, table = np.empty(values.shape), np.empty((rows.shape[0], stored * width))
    if not near and not direct:
        _coefficients(values, coefficients)
    for power in range(1 + squares):
        parted = _by_phases(values[power] if near or direct else coefficients[power], phases)
        part = table[:orders] if power == 0 else table[orders:]
        rows_of = kernel if power == 0 else kernel[:1]
        _tabulated(rows_of, (apart, phases, stored, half), parted, size, part)
    if near:
        _through_the_middle(rule, table, (part1, part2, rest, 0.0), grid, cell, rows)
    elif direct:
        for n in range(rows.shape[0]):
            for q in range(points):
                rows[n, q] = table[n, q]
    elif columns:
        _on_columns(table, (size, phases, cell), grid, (part1, part2), rows)
    else:
        _on_rows(table, (size, phases, cell), grid, (part1, part2), rows)


def _on_rows(
    table: np.ndarray, lattice: _Lattice, grid: _Grid, parts: _Two, rows: np.ndarray
) -> None:
    """Write the rows at all points of a grid by splines, each from eight coefficients.

    ``lattice`` are the number of entries on either side of zero, the number of phases, and the
    cell.
    """
    step, seconds, starts = grid[0], grid[1], grid[2]
    lines = starts.size - 1
    places, weights = np.empty(lines), np.empty((8, lines))
    firsts = np.empty((lines, 8), np.int64)
    for j in range(lines):
        before = 0.5 * (starts[j + 1] - starts[j] - 1.0)
        places[j] = (parts[1] * seconds[0, j] - parts[0] * step * before) / lattice[2]
    _splines_at(places, lattice, table.shape[1], firsts, weights)
    for j in range(lines):
        first, count = starts[j], starts[j + 1] - starts[j]
        _along_line(table, firsts[j], weights[:, j], rows, first, count)


def _on_columns(
    table: np.ndarray, lattice: _Lattice, grid: _Grid, parts: _Two, rows: np.ndarray
) -> None:
    """Write the rows by splines for a field that moves more across rows than along them."""
    step, seconds, starts, stride = grid
    middle = (starts.size - 1) // 2
    across, most = parts[1] * stride * (seconds[0, 1] - seconds[0, 0]), 0
    ends = np.zeros(starts.size - 1, np.int64)
    for j in range(ends.size):
        ends[j] = (starts[j + 1] - starts[j] - 1) * stride // 2
        most = max(most, ends[j])
    lines = 2 * most + 1
    counts, places = np.zeros(lines, np.int64), np.empty(lines)
    for j in range(ends.size):
        for q in range(starts[j + 1] - starts[j]):
            counts[most - ends[j] + stride * q] += 1
    weights, firsts = np.empty((8, lines)), np.empty((lines, 8), np.int64)
    for c in range(lines):
        along = parts[0] * step * (c - most) / stride
        places[c] = (along - 0.5 * across * (counts[c] - 1.0)) / lattice[2]
    _splines_at(places, lattice, table.shape[1], firsts, weights)
    line, at = np.empty((rows.shape[0], ends.size + 8)), np.empty(ends.size, np.int64)
    for c in range(lines):
        _along_line(table, firsts[c], weights[:, c], line, 0, counts[c])
        j = middle - (counts[c] - 1) * stride // 2
        for q in range(counts[c]):
            at[q] = starts[j] + (ends[j] + c - most) // stride
            j += stride
        for n in range(rows.shape[0]):
            row, own = rows[n], line[n]
            for q in range(counts[c] & _BITS):
                row[at[q] & _BITS] = own[q]


def _splines_at(
    places: np.ndarray,
    lattice: _Lattice,
    columns: int,
    firsts: np.ndarray,
    weights: np.ndarray,
) -> None:
    """Write, for each line, where its eight spline coefficients begin in a table, and their
    weights.

    ``places`` are where lines begin, in cells; ``columns`` is the number of entries of a table row.
    """
    (size, phases, _), remainders = lattice, np.empty(places.size)
    per_phase = columns // phases
    for o in range(places.size):
        base = math.floor(places[o])
        remainders[o] = places[o] - base
        # floating-point division is faster than that of integers
        column = math.floor((size + base - 3.0) / phases)
        phase = size + base - 3 - phases * column
        for p in range(8):
            firsts[o, p] = phase * per_phase + column
            phase += 1
            if phase == phases:
                phase, column = 0, column + 1
    _spline_weights(remainders, weights)


def _through_the_middle(
    rule: np.ndarray,
    table: np.ndarray,
    field: _Four,
    grid: _Grid,
    cell: float,
    rows: np.ndarray,
) -> None:
    """Write the rows at all points of a grid by one polynomial through the twelve middle entries.

    It has Newton's form around the seventh entry, and ends where terms are negligible.
    """
    x, c, place, moves = np.empty(12), np.zeros(12), np.empty(rows.shape[1] - 8), np.empty(12)
    _places_of(field, grid, cell, place)
    most = rule[2] * math.hypot(field[0], field[1]) / abs(cell)
    for p in range(12):
        x[p] = (p + 1) // 2 if p % 2 == 1 else -(p // 2)
    for n in range(rows.shape[0]):
        size, terms = 1.0, 1
        for p in range(12):
            moves[p] = table[n, 1 + p]
        for k in range(12 if most > 0.0 else 1):
            # divided differences of k + 1 neighbours
            c[k] = moves[5 - k // 2] * size
            size *= _OVER_12[k]
            for p in range(11 - k):
                moves[p] = moves[p + 1] - moves[p]
        size = 1.0
        for k in range(12):
            if abs(c[k]) * size > 0.1 * rule[4]:
                terms = k + 1
            size *= most + abs(x[k])
        row = rows[n, : place.size]
        for q in range(row.size):
            row[q] = 0.0
        for four in range((terms - 1) // 4, -1, -1):
            k = 4 * four
            x0, x1, x2, x3 = x[k], x[k + 1], x[k + 2], x[k + 3]
            c0, c1, c2, c3 = c[k], c[k + 1], c[k + 2], c[k + 3]
            for q in range(row.size):
                u = place[q]
                high = (row[q] * (u - x3) + c3) * (u - x2) + c2
                row[q] = (high * (u - x1) + c1) * (u - x0) + c0


def _coupled(
    rows1: np.ndarray, rows2: np.ndarray, correlation: float, orders: int, inner: np.ndarray
) -> None:
    """Write Σ_n ρ^n f^n g^n at all points, four terms at a time."""
    size, power = inner.size, correlation
    for p in range(size):
        inner[p] = rows1[0, p] * rows2[0, p]
    for four in range((orders - 1) // 4):
        n = 4 * four + 1
        power1 = power * correlation
        power2 = power1 * correlation
        power3 = power2 * correlation
        for p in range(size):
            low = power * rows1[n, p] * rows2[n, p] + power1 * rows1[n + 1, p] * rows2[n + 1, p]
            high = power2 * rows1[n + 2, p] * rows2[n + 2, p]
            inner[p] += low + (high + power3 * rows1[n + 3, p] * rows2[n + 3, p])
        power = power3 * correlation
    for n in range((orders - 1) // 4 * 4 + 1, orders):
        for p in range(size):
            inner[p] += power * rows1[n, p] * rows2[n, p]
        power *= correlation


def _along_shared(
    rule: np.ndarray,
    kinds: tuple[int, int],
    fields: tuple[_Four, _Four],
    correlation: float,
    grid: _Grid,
    inner: np.ndarray,
) -> None:
    """Write E[f(z) g(w)] at all points for two fields whose sum over orders would be long.

    The part that both rests share is a third variable with equal steps, and what is left of them is
    independent. ``fields`` have coefficients, rests and biases.
    """
    (u1, u2, rest1, bias1), (w1, w2, rest2, bias2) = fields
    share, left = math.sqrt(abs(correlation)), math.sqrt(1.0 - abs(correlation))
    along1, along2 = rest1 * share, math.copysign(rest2 * share, correlation)
    step, half = _half_of(math.sqrt(math.hypot(along1 * along1, along2 * along2)), rule)
    rows, size = np.empty((2, 1, inner.size + 8)), inner.size
    for p in range(size):
        inner[p] = 0.0
    for k in range(-half, half + 1):
        t = k * step
        one = u1, u2, rest1 * left, bias1 + along1 * t
        other = w1, w2, rest2 * left, bias2 + along2 * t
        _rows_of(rule, kinds[0], one, grid, rows[0], 0)
        _rows_of(rule, kinds[1], other, grid, rows[1], 0)
        weight = _normal(t, step, half)
        for p in range(size):
            inner[p] += weight * rows[0, 0, p] * rows[1, 0, p]


def _mean_of_4(rule: np.ndarray, kinds: _Kinds, c: _Ten, b: _Four) -> float:
    """Return the mean of four factors of four fields; c is row by row, from the diagonal on."""
    factor, parts = _triangle(_matrix_of(c, 4)), np.empty((4, 3))
    for n in range(4):
        parts[n, 0], parts[n, 1], parts[n, 2] = factor[n, 0], factor[n, 1], factor[n, 2]
    own, shared = factor[2, 2], factor[3, 2]
    parts[3, 2] = rest = math.sqrt(shared * shared + factor[3, 3] * factor[3, 3])
    grid = _grid_of(rule, parts, (0, 1))
    size = grid[2][grid[2].size - 1]
    correlation = shared / rest if rest > 0.0 else 0.0
    orders = _orders(own, rest, correlation, rule)
    few = min(orders, _LONGEST_SUM)
    rows, values, weights = np.empty((2, few, size + 8)), np.empty(size), np.empty(size)
    _weights_of(grid, weights)
    for n in range(2):
        _at_points(kinds[n], (parts[n, 0], parts[n, 1], 0.0, b[n]), grid, values)
        for p in range(size):
            weights[p] *= values[p]
    third = parts[2, 0], parts[2, 1], parts[2, 2], b[2]
    fourth = parts[3, 0], parts[3, 1], parts[3, 2], b[3]
    if orders >= _LONGEST_SUM:
        _along_shared(rule, (kinds[2], kinds[3]), (third, fourth), correlation, grid, values)
    else:
        _rows_of(rule, kinds[2], third, grid, rows[0], 0)
        _rows_of(rule, kinds[3], fourth, grid, rows[1], 0)
        _coupled(rows[0], rows[1], correlation, orders, values)
    return _inner(weights, values)
