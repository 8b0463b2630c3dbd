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
Factors are called by number (see ``tensor_mean``). Text for modules.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from symderiv.numerics.nodes import _HERMITE_10
from symderiv.numerics.quadratures.tensor_mean import _triangle4

if TYPE_CHECKING:  # what stands in the module
    from symderiv.numerics.quadratures.tensor_mean import (
        _Four,
        _Kinds,
        _Ten,
        _Three,
        _Two,
        quadrature_factors,
    )

    _Steps = tuple[int, int, int, int]

    _Grid = tuple[float, int, float, int, np.ndarray, np.ndarray]
    _Five = tuple[float, float, float, float, float]
    _Lines = tuple[tuple[int, int], bool, _Two]

_MOST_TERMS = 400
_WHOLE_NUMBERS = np.arange(64.0)
_OVER_12 = 1.0 / np.arange(1.0, 13.0)
_SPLINE_POLES = (-0.5352804307964381656, -0.1225546151923266905, -0.00914869480960827692857)
_SPLINE_PARTS = (6.01628400170178528, -1.05582029421124335, 0.00426917881113936108)
"""A spline of degree seven through values at whole numbers has as its coefficients the sums of
values times ``parts`` times powers of ``poles``, with the distance."""
_COLUMNS = 48
_FINE = 0.18  # cell of a lattice that polynomials go through, in units of the rule's step
_BITS = 0xFFFFFFF  # places with these bits are not negative, which compilers then know
_NEAR = 4.0  # cells on either side of the middle that polynomials through twelve points are for


def _inner(numbers: np.ndarray, others: np.ndarray) -> float:
    """Return the sum of products; sixteen at a time, which do not wait for each other."""
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
    """Write numbers that are equally far apart; whole numbers are slow to become doubles."""
    for begin in range(0, numbers.size, 64):
        start, some = first + step * begin, numbers[begin : min(begin + 64, numbers.size)]
        for n in range(some.size):
            some[n] = start + step * _WHOLE_NUMBERS[n]


def _step_of(moved: float, rule: np.ndarray) -> float:
    """Return the step of a t along which fields move by ``moved``.

    With poles at the distance d of the fields from the real line, errors are exp(y²/2 - 2πy/h) at
    y = d/moved, or at the best y if that is smaller.
    """
    ratio = 0.5 * rule[0] / (moved * rule[1]) if moved > 0.0 else 1.0
    return float(rule[1] * (2.0 * ratio / (1.0 + ratio * ratio) if ratio < 1.0 else 1.0))


def _half_of(moved: _Four, rule: np.ndarray) -> tuple[float, int]:
    """Return the step of a t and how many on either side of zero; ``moved`` says by how much
    fields move.

    Poles of several fields count for more than those of one.
    """
    m1, m2, m3, m4 = moved[0] ** 2, moved[1] ** 2, moved[2] ** 2, moved[3] ** 2
    longest = math.sqrt(math.sqrt(m1 * m1 + m2 * m2 + m3 * m3 + m4 * m4))
    if longest == 0.0:
        return 1.0, 0
    step = _step_of(longest, rule)
    return step, math.ceil(rule[2] / step)


def _grid_of(moved1: _Four, moved2: _Four, rule: np.ndarray) -> _Grid:
    """Return points of a circle in the plane of two t, by how much fields move with each of them.

    They are the steps of both t, each with the number on either side of zero, where lines along the
    first t begin, and how many points lines along the second have.
    """
    step1, half1 = _half_of(moved1, rule)
    step2, half2 = _half_of(moved2, rule)
    starts, widths = np.zeros(2 * half2 + 2, np.int64), np.zeros(2 * half1 + 1, np.int64)
    for j in range(2 * half2 + 1):
        left = rule[2] * rule[2] - ((j - half2) * step2) ** 2
        most = 0
        if half1 > 0:
            most = min(math.floor(math.sqrt(left) / step1), half1) if left >= 0.0 else -1
        starts[j + 1] = starts[j] + max(2 * most + 1, 0)
        for i in range(half1 - most, half1 + most + 1):
            widths[i] += 1
    return step1, half1, step2, half2, starts, widths


def _normal(t: float, step: float, half: int) -> float:
    """Return the weight of a point of equal steps; of the only one, one."""
    return step * math.exp(-0.5 * t * t) / math.sqrt(2.0 * math.pi) if half > 0 else 1.0


def _falls(width: float, rule: np.ndarray) -> float:
    """Return the ratio of a coefficient f^n to the one before; ``width`` is the standard deviation
    of the field times √n.

    Fourier's transform of a function with poles at the distance d falls like exp(-d k), so that
    the largest part of f^n is that of k with s² k² + d k = n.
    """
    return float(width / (rule[3] + math.sqrt(rule[3] * rule[3] + width * width)))


def _orders(width1: float, width2: float, correlation: float, rule: np.ndarray) -> int:
    """Return how many n of the sum over ρ^n f^n g^n are not negligible."""
    power, count = 1.0, 0
    while count < _MOST_TERMS and power > rule[4]:
        count += 1
        root = math.sqrt(1.0 * count)
        power *= abs(correlation) * _falls(width1 * root, rule) * _falls(width2 * root, rule)
    return count


def _series(
    rule: np.ndarray,
    factors: tuple[int, int, int],
    width: float,
    bias: float,
    series: np.ndarray,
    own: np.ndarray,
) -> None:
    """Write E[f he_k] of factors of a field, k from 0 on, he_k of the field over its width.

    Args:
        rule: The numbers.
        factors: The number of the first, how many follow each other, and how many k.
        width, bias: The standard deviation and the mean of the field.
        series: What is written.
        own: If it has entries, the mean of each factor's square is written there, and that of a
            third one times the first.
    """
    first, kinds, terms = factors
    step = 0.7 * _step_of(width, rule)
    half = math.ceil((rule[2] + 0.5) / step) if width > 0.0 else 0
    size = 16 * ((half + 16) // 16)
    t, last, now = np.zeros(size), np.zeros(size), np.zeros(size)
    places, values, sums = np.empty(2 * size), np.empty(2 * size), np.empty((2, kinds, size))
    _equally_apart(0.0, step, t[: half + 1])
    for n in range(size):
        places[n], places[size + n] = bias + width * t[n], bias - width * t[n]
    for n in range(half + 1):
        now[n] = _normal(t[n], step, half)
    now[0] *= 0.5
    for f in range(kinds):
        quadrature_factors(first + f, places, values)
        for n in range(size):
            # polynomials of even k take the first, the others the second
            sums[0, f, n] = values[n] + values[size + n]
            sums[1, f, n] = values[n] - values[size + n]
    for f in range(own.size):
        other = f if f < 2 else 0
        for n in range(size):
            both = sums[0, f, n] * sums[0, other, n] + sums[1, f, n] * sums[1, other, n]
            values[n] = 0.5 * both
        own[f] = _inner(now, values[:size])
    for k in range(terms):
        for f in range(kinds):
            series[f, k] = _inner(now, sums[k % 2, f])
        over, back = 1.0 / math.sqrt(k + 1.0), math.sqrt(float(k))
        for n in range(size):
            following = over * (t[n] * now[n] - back * last[n])
            last[n] = now[n]
            now[n] = following


def _correlation_of(width1: float, width2: float, covariance: float) -> float:
    """Return the correlation of two fields; of one without variance, none."""
    both = width1 * width2
    return min(max(covariance / both, -1.0), 1.0) if both > 0.0 else 0.0


def _mean_of_2(rule: np.ndarray, kinds: tuple[int, int], c: _Three, b: _Two) -> float:
    """E[factor(kinds[0], x) factor(kinds[1], y)] of fields with covariances c and means b."""
    (c11, c12, c22), (b1, b2) = c, b
    width1, width2 = math.sqrt(max(c11, 0.0)), math.sqrt(max(c22, 0.0))
    correlation = _correlation_of(width1, width2, c12)
    count = _orders(width1, width2, correlation, rule)
    series1, series2, none = np.empty((1, count)), np.empty((1, count)), np.empty(0)
    _series(rule, (kinds[0], 1, count), width1, b1, series1, none)
    _series(rule, (kinds[1], 1, count), width2, b2, series2, none)
    total, power = 0.0, 1.0
    for k in range(count):
        total += power * series1[0, k] * series2[0, k]
        power *= correlation
    return total


def _between_12(place: float, weights: np.ndarray) -> None:
    """Write the weights of the polynomial through twelve points, -5 to 6."""
    for p in range(12):
        weights[p] = 1.0
    left = right = 1.0
    for p in range(12):
        # products over the points before and behind
        weights[p] *= left
        weights[11 - p] *= right
        left *= (place + 5.0 - p) * _OVER_12[p]
        right *= (6.0 - place - p) * _OVER_12[p]


def _kernel(width: float, step: float, half: int, orders: int) -> np.ndarray:
    """Return weights of points of a lattice, from the middle on, for E[f(y + s ξ) he_n(ξ)] there;
    zeros make their number a multiple of eight.

    On the other side they are the same, for odd n with the other sign. They are those of equal
    steps in ξ; where ``step`` is zero, averages of the polynomials through twelve points, with s =
    ``width`` cells.
    """
    kernel, places = np.zeros((orders, 8 * ((half + 8) // 8))), np.zeros(half + 1)
    if half == 0:
        kernel[0, 0] = 1.0
        return kernel
    last, now = np.zeros(half + 1), np.empty(half + 1)
    count = half + 1 if step != 0.0 else 5
    for m in range(count):
        if step != 0.0:
            places[m], now[m] = m * step, _normal(m * step, abs(step), 1)
        else:
            places[m], now[m] = _HERMITE_10[0, 5 + m], _HERMITE_10[1, 5 + m]
    weights = np.empty((5, 12))
    if step == 0.0:
        for m in range(5):
            _between_12(width * places[m] - math.floor(width * places[m]), weights[m])
    for n in range(orders if step != 0.0 else min(orders, 10)):
        if step != 0.0:
            for m in range(count):
                kernel[n, m] = now[m]
        else:
            _add_averages(width, places, now, weights, 1.0 - 2.0 * (n % 2), kernel[n])
        over, back = 1.0 / math.sqrt(n + 1.0), math.sqrt(n / (n + 1.0))
        for m in range(count):
            following = over * places[m] * now[m] - back * last[m]
            last[m] = now[m]
            now[m] = following
    return kernel


def _add_averages(
    width: float,
    places: np.ndarray,
    now: np.ndarray,
    weights: np.ndarray,
    sign: float,
    kernel: np.ndarray,
) -> None:
    """Add weights of polynomials through points around five places, and around their opposites."""
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
    """Write rows of sums with rows of a kernel, at points of a lattice from the first on.

    ``steps`` are how many cells lie between points of the kernel, after how many cells values of a
    phase follow each other, of how many phases sums are written, one behind the other, and how many
    points of the kernel are on either side; of all points there are 2 ``size`` + 1.
    """
    stride, phases, kept, half = steps
    columns, room = table.shape[1] // kept, (values.size - 8) // phases
    over, along = stride % phases, stride // phases
    # eight points at a time, and few columns, because memory takes longer than sums
    sides = np.empty((2, kernel.shape[1], _COLUMNS))
    for phase in range(kept):
        count = (2 * size - phase) // kept + 1
        for begin in range(0, count, _COLUMNS):
            width = 8 * (((min(count - begin, _COLUMNS) + 7) // 8) & _BITS)
            one = other = (phase + half * stride) % phases
            first = second = (phase + half * stride) // phases + begin
            for k in range(kernel.shape[1]):
                own = (0.5 if k == 0 else 1.0) if k <= half else 0.0
                heres, theres = values[one * room + first :], values[other * room + second :]
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


def _add_eight(
    kernel: np.ndarray, k: int, sides: np.ndarray, table: np.ndarray, place: int, width: int
) -> None:
    """Write eight lines to rows of a table, weighted by a kernel, or from the ninth on add them."""
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
    """Write sums over eight entries of rows of a table at the points of a line, and behind it."""
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
    """Write what splines of degree seven through values on a lattice are sums with."""
    (z1, z2, z3), (a1, a2, a3) = _SPLINE_POLES, _SPLINE_PARTS
    size = values.size
    f1, f2, f3 = values[0] / (1.0 - z1), values[0] / (1.0 - z2), values[0] / (1.0 - z3)
    coefficients[0] = a1 * f1 + (a2 * f2 + a3 * f3)
    for n in range(1, size):
        f1, f2, f3 = values[n] + z1 * f1, values[n] + z2 * f2, values[n] + z3 * f3
        coefficients[n] = a1 * f1 + (a2 * f2 + a3 * f3)
    last = values[size - 1]
    f1, f2, f3 = z1 * last / (1.0 - z1), z2 * last / (1.0 - z2), z3 * last / (1.0 - z3)
    coefficients[size - 1] += a1 * f1 + (a2 * f2 + a3 * f3)
    for n in range(size - 2, -1, -1):
        f1, f2, f3 = z1 * (values[n + 1] + f1), z2 * (values[n + 1] + f2), z3 * (values[n + 1] + f3)
        coefficients[n] += a1 * f1 + (a2 * f2 + a3 * f3)


def _spline_weights(places: np.ndarray, weights: np.ndarray) -> None:
    """Write the weights of eight coefficients, -3 to 4, a column for each place between 0 and 1,
    from the second row on; all rows are zeros before.
    """
    for o in range(places.size):
        weights[1, o] = 1.0
    for degree in range(1, 8):
        per = 1.0 / degree
        for p in range(degree, -1, -1):
            before, own = (degree - p) * per, (p + 1.0) * per
            left, right = weights[p], weights[p + 1]
            for o in range(places.size):
                part = per * places[o]
                right[o] = (before + part) * left[o] + (own - part) * right[o]


def _spline_cell(rule: np.ndarray) -> float:
    """Return the widest cell of a lattice that splines go through.

    With poles at the distance d errors are 2 (k cell/2π)^8 exp(-d k) at the worst k.
    """
    return float(3.9 * rule[3] * math.sqrt(math.sqrt(math.sqrt(rule[4]))))


def _lines_of(rule: np.ndarray, field: _Four, grid: _Grid) -> _Lines:
    """Lay lines through a grid along the first t, or along the second if the field moves more with
    that, and less than half a cell with the first.

    Returned are how many points are on either side of zero, along lines and across them, whether
    lines go along the first t, and by how much steps along lines and across them move the field.
    """
    half1, half2, move1, move2 = grid[1], grid[3], field[0] * grid[0], field[1] * grid[2]
    if half2 > 0 and abs(move1) < min(abs(move2), 0.5 * _spline_cell(rule)):
        return (half2, half1), False, (move2, move1)
    return (half1, half2), True, (move1, move2)


def _widest(rule: np.ndarray, rest: float) -> float:
    """Return the widest cell of a lattice that polynomials through twelve points may have."""
    return float(max(_FINE * rule[0], 0.15 * rest))


def _lattice_of(
    rule: np.ndarray, rest: float, along: float, direct: bool, near: bool
) -> tuple[float, int, tuple[int, int, float]]:
    """Return the cell of a field's lattice, its cells in a step along lines, and of a kernel how
    many cells lie between its points, how many points on either side, and their step in ξ.

    The last is zero where the rest is small against the lattice. ``direct`` is where all points of
    lines are points of the lattice, ``near`` where all are around the middle.
    """
    fine, coarse = _FINE * rule[0], 0.85 * _step_of(rest, rule) * rest
    thin = 0.0 < coarse < fine
    cell, phases = _widest(rule, rest), 1
    if not near:
        if thin:
            phases = math.ceil(abs(along) / fine)
        elif not direct:
            cell = _spline_cell(rule)
            phases = math.ceil(abs(along) / (min(cell, coarse) if rest > 0.0 else cell))
        elif rest > 0.0:
            phases = math.ceil(abs(along) / coarse)
        cell = along / phases
    if rest == 0.0:
        return cell, phases, (1, 0, 0.0)
    if thin:
        return cell, phases, (1, math.ceil(4.9 * rest / abs(cell)) + 7, 0.0)
    stride = max(1, math.floor(coarse / abs(cell)))
    step = stride * cell / rest
    return cell, phases, (stride, math.ceil((rule[2] - 0.6) / abs(step)), step)


def _values_on(kind: int, bias: float, cell: float, middle: int) -> np.ndarray:
    """Return values of a factor at a lattice; ``middle`` is where the field is zero."""
    places, values = np.empty(2 * middle + 1), np.empty(2 * middle + 1)
    _equally_apart(bias - cell * middle, cell, places)
    quadrature_factors(kind, places, values)
    return values


def _by_phases(values: np.ndarray, phases: int) -> np.ndarray:
    """Return numbers, every ``phases``-th one after each other; eight may be read behind them."""
    room = (values.size + phases - 1) // phases
    parted = np.zeros(phases * room + 8)
    for phase in range(phases):
        for n in range((values.size - 1 - phase) // phases + 1):
            parted[phase * room + n] = values[phase + phases * n]
    return parted


def _rows_of(
    rule: np.ndarray, kind: int, field: _Four, grid: _Grid, rows: np.ndarray, squares: int
) -> None:
    """Write f^n of a factor at all points of a grid, a row for each n.

    Args:
        rule: The numbers.
        kind: The factor.
        field: What the two t and the rest add to the field, and its bias.
        grid: The points.
        rows: What is written; eight entries behind the points are anything.
        squares: One if the last row is f^0 of the square of the factor, else zero.
    """
    (part1, part2, rest, bias), reach, lines = field, rule[2], _lines_of(rule, field, grid)
    inner, outer, along = lines[0][0], lines[0][1], lines[2][0]
    # the points of one line are some of those of a lattice
    most = reach * math.sqrt(part1 * part1 + part2 * part2)
    near = most <= _NEAR * _widest(rule, rest)
    direct = outer == 0 and not near
    cell, phases, (stride, half, step) = _lattice_of(rule, rest, along, direct, near)
    size = inner
    if near:
        size = 6
    elif not direct:
        size = math.ceil(most / abs(cell)) + 8
    kept, orders, points = 1 if direct else phases, rows.shape[0] - squares, rows.shape[1] - 8
    kernel = _kernel(rest / cell, step, half, orders)
    values = _values_on(kind, bias, cell, phases // kept * size + half * stride)
    columns = 2 * size // kept + 10  # eight points at a time may be behind the last
    coefficients, table = np.empty(values.size), np.empty((rows.shape[0], kept * columns))
    for power in range(1 + squares):
        if not near and not direct:
            _coefficients(values, coefficients)
        parted = _by_phases(values if near or direct else coefficients, phases)
        part = table[:orders] if power == 0 else table[orders:]
        rows_of = kernel if power == 0 else kernel[:1]
        _tabulated(rows_of, (stride, phases, kept, half), parted, size, part)
        for n in range(values.size):
            values[n] *= values[n]
    if near:
        _through_the_middle(rule, table, field, grid, cell, rows)
    elif direct:
        for n in range(rows.shape[0]):
            for q in range(points):
                rows[n, q] = table[n, inner - points // 2 + q]
    else:
        _on_lines(table, (size, phases, cell), grid, lines, rows)


def _on_lines(
    table: np.ndarray,
    lattice: tuple[int, int, float],
    grid: _Grid,
    lines_of: _Lines,
    rows: np.ndarray,
) -> None:
    """Write rows at all points of a grid, by splines with eight coefficients at each.

    ``lattice`` are how many entries are on either side of zero, of how many phases, and the cell.
    """
    size, phases, cell = lattice
    (inner, outer), first_t, (along, aside) = lines_of
    _, half1, _, half2, starts, widths = grid
    columns = table.shape[1] // phases
    lines = 2 * outer + 1
    weights, firsts, places = np.zeros((9, lines)), np.empty((lines, 8), np.int64), np.empty(lines)
    middles, line = np.empty(2 * half2 + 1, np.int64), np.empty((rows.shape[0], 2 * inner + 8))
    for j in range(2 * half2 + 1):
        middles[j] = (starts[j] + starts[j + 1]) // 2 - half1
    for o in range(lines):
        most = (starts[o + 1] - starts[o]) // 2 if first_t else widths[o] // 2
        place = (aside * (o - outer) - along * most) / cell
        base = math.floor(place)
        places[o] = place - base
        # floating points divide faster
        column = math.floor((size + base - 3.0) / phases)
        phase = size + base - 3 - phases * column
        for p in range(8):
            firsts[o, p] = phase * columns + column
            phase += 1
            if phase == phases:
                phase, column = 0, column + 1
    _spline_weights(places, weights)
    for o in range(lines):
        at = weights[1:, o]
        if first_t:
            _along_line(table, firsts[o], at, rows, starts[o], starts[o + 1] - starts[o])
            continue
        _along_line(table, firsts[o], at, line, 0, widths[o])
        first = inner - widths[o] // 2
        for n in range(rows.shape[0]):
            for q in range(widths[o]):
                rows[n, middles[first + q] + o] = line[n, q]


def _through_the_middle(
    rule: np.ndarray,
    table: np.ndarray,
    field: _Four,
    grid: _Grid,
    cell: float,
    rows: np.ndarray,
) -> None:
    """Write rows at all points of a grid by the polynomials through twelve entries around zero,
    the seventh of a table, as Newton wrote them: from the middle on, until no term counts.
    """
    part1, part2, half2, starts = field[0], field[1], grid[3], grid[4]
    step1, step2 = grid[0], grid[2]
    x, c, place, moves = np.empty(12), np.zeros(12), np.empty(rows.shape[1] - 8), np.empty(12)
    for j in range(2 * half2 + 1):
        most = part1 * step1 * ((starts[j + 1] - starts[j]) // 2)
        first = (part2 * (j - half2) * step2 - most) / cell
        _equally_apart(first, part1 * step1 / cell, place[starts[j] : starts[j + 1]])
    most = rule[2] * math.sqrt(part1 * part1 + part2 * part2) / cell
    for p in range(12):
        x[p] = (p + 1) // 2 if p % 2 == 1 else -(p // 2)
    for n in range(rows.shape[0]):
        size, terms = 1.0, 1
        for p in range(12):
            moves[p] = table[n, 1 + p]
        for k in range(12 if most > 0.0 else 1):
            # differences of so many neighbours over what their places differ by
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


def _weighted(
    rule: np.ndarray, kinds: tuple[int, int], fields: _Five, grid: _Grid, weights: np.ndarray
) -> None:
    """Write the weights of the points of a grid, times two factors; ``fields`` are what the two t
    add to theirs, and their biases.
    """
    (part, first, second, bias1, bias2), (step1, half1, step2, half2, starts, _) = fields, grid
    fields1, values = np.empty(2 * half1 + 1), np.empty(2 * half1 + 1)
    for i in range(2 * half1 + 1):
        fields1[i] = bias1 + part * (i - half1) * step1
    quadrature_factors(kinds[0], fields1, values)
    for i in range(2 * half1 + 1):
        values[i] *= _normal((i - half1) * step1, step1, half1)
    row = np.empty((1, weights.size + 8))
    _rows_of(rule, kinds[1], (first, second, 0.0, bias2), grid, row, 0)
    for j in range(2 * half2 + 1):
        normal, count = _normal((j - half2) * step2, step2, half2), starts[j + 1] - starts[j]
        for q in range(count):
            p = starts[j] + q
            weights[p] = normal * values[half1 - count // 2 + q] * row[0, p]


def _coupled(
    weights: np.ndarray, rows1: np.ndarray, rows2: np.ndarray, correlation: float, orders: int
) -> float:
    """Return the weighted sum over all points of Σ_n ρ^n f^n g^n; four n at a time."""
    size, power = weights.size, 1.0
    inner = np.empty(size)
    if orders == 1:
        for p in range(size):
            inner[p] = rows1[0, p] * rows2[0, p]
        return _inner(weights, inner)
    for p in range(size):
        inner[p] = 0.0
    for four in range(orders // 4):
        n = 4 * four
        power1 = power * correlation
        power2 = power1 * correlation
        power3 = power2 * correlation
        for p in range(size):
            low = power * rows1[n, p] * rows2[n, p] + power1 * rows1[n + 1, p] * rows2[n + 1, p]
            high = power2 * rows1[n + 2, p] * rows2[n + 2, p]
            inner[p] += low + (high + power3 * rows1[n + 3, p] * rows2[n + 3, p])
        power = power3 * correlation
    for n in range(orders // 4 * 4, orders):
        for p in range(size):
            inner[p] += power * rows1[n, p] * rows2[n, p]
        power *= correlation
    return _inner(weights, inner)


def _mean_of_4(rule: np.ndarray, kinds: _Kinds, c: _Ten, b: _Four) -> float:
    """Return the same of four factors and fields; c row by row, from the diagonal on."""
    l11, l21, l31, l41, l22, l32, l42, l33, l43, l44 = _triangle4(c)
    grid = _grid_of((l11, l21, l31, l41), (l22, l32, l42, 0.0), rule)
    size = grid[4][2 * grid[3] + 1]
    rest = math.sqrt(l43 * l43 + l44 * l44)
    correlation = l43 / rest if rest > 0.0 else 0.0
    orders = _orders(l33, rest, correlation, rule)
    rows3, rows4 = np.empty((orders, size + 8)), np.empty((orders, size + 8))
    weights = np.empty(size)
    _rows_of(rule, kinds[2], (l31, l32, l33, b[2]), grid, rows3, 0)
    _rows_of(rule, kinds[3], (l41, l42, rest, b[3]), grid, rows4, 0)
    _weighted(rule, (kinds[0], kinds[1]), (l11, l21, l22, b[0], b[1]), grid, weights)
    return _coupled(weights, rows3, rows4, correlation, orders)
