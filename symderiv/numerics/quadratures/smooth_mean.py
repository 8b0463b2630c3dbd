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
line lie at the same distance from the lattice, so that they take the same weights of the
polynomials through twelve entries of the table. Where a field moves too little for that, the
polynomials through the middle serve all points.

``rule`` is a constant of the module: 0 step in units of the fields, 1 step in t, 2 reach in t (and
radius of the sphere), 3 terms of a series beyond those that the step asks for, 4 what is
negligible. Factors are called by number (see ``tensor_mean``). Text for modules.
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

    _Steps = tuple[int, int, int]

    _Grid = tuple[float, int, float, int]
    _Five = tuple[float, float, float, float, float]

_MOST_TERMS = 400
_WHOLE_NUMBERS = np.arange(64.0)
_OVER_12 = 1.0 / np.arange(1.0, 13.0)
_FINE = 0.18  # cell of a lattice that polynomials go through, in units of the rule's step
_BITS = 0xFFFFFFF  # places with these bits are not negative, which compilers then know
_NEAR = 0.02  # below which steps of a field are none of a lattice, in the same unit


def _inner(numbers: np.ndarray, others: np.ndarray) -> float:
    """Return the sum of products; four at a time, which do not wait for each other."""
    a = b = c = d = 0.0
    fours = numbers.size // 4
    for n in range(fours):
        a += numbers[4 * n] * others[4 * n]
        b += numbers[4 * n + 1] * others[4 * n + 1]
        c += numbers[4 * n + 2] * others[4 * n + 2]
        d += numbers[4 * n + 3] * others[4 * n + 3]
    for n in range(4 * fours, numbers.size):
        a += numbers[n] * others[n]
    return (a + b) + (c + d)


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


def _normal(t: float, step: float, half: int) -> float:
    """Return the weight of a point of equal steps; of the only one, one."""
    return step * math.exp(-0.5 * t * t) / math.sqrt(2.0 * math.pi) if half > 0 else 1.0


def _terms(width: float, rule: np.ndarray) -> int:
    """Return how many terms a series in a field of this standard deviation has."""
    wide = math.pi * width / rule[0]
    return int(min(math.ceil(rule[3] * (0.6 + width) + wide * wide) + 1, _MOST_TERMS))


def _orders(width1: float, width2: float, correlation: float, rule: np.ndarray) -> int:
    """Return how many n of the sum over ρ^n f^n g^n are not negligible."""
    terms = min(_terms(width1, rule), _terms(width2, rule))
    power, count = 1.0, 0
    while count < terms and power > rule[4]:
        power *= abs(correlation)
        count += 1
    return count


def _series(
    rule: np.ndarray, factors: _Steps, width: float, bias: float, series: np.ndarray
) -> None:
    """Write E[f he_k] of factors of a field, k from 0 on, he_k of the field over its width.

    ``factors`` are the number of the first, how many follow each other, and how many k.
    """
    first, kinds, terms = factors
    step = 0.7 * _step_of(width, rule)
    half = math.ceil((rule[2] + 0.5) / step) if width > 0.0 else 0
    size = half + 1
    t, last, now = np.empty(size), np.zeros(size), np.empty(size)
    places, values, sums = np.empty(2 * size), np.empty(2 * size), np.empty((2, kinds, size))
    _equally_apart(0.0, step, t)
    for n in range(size):
        places[n], places[size + n] = bias + width * t[n], bias - width * t[n]
        now[n] = _normal(t[n], step, half)
    now[0] *= 0.5
    for f in range(kinds):
        quadrature_factors(first + f, places, values)
        for n in range(size):
            # polynomials of even k take the first, the others the second
            sums[0, f, n] = values[n] + values[size + n]
            sums[1, f, n] = values[n] - values[size + n]
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
    series1, series2 = np.empty((1, count)), np.empty((1, count))
    _series(rule, (kinds[0], 1, count), width1, b1, series1)
    _series(rule, (kinds[1], 1, count), width2, b2, series2)
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


def _kernel(width: float, step: float, half: int, orders: int, weights: np.ndarray) -> np.ndarray:
    """Return weights of points of a lattice, from -half on, for E[f(y + s ξ) he_n(ξ)] at one of
    them.

    They are those of equal steps in ξ; where ``step`` is zero, averages of the polynomials through
    twelve points, with s = ``width`` cells.
    """
    kernel = np.zeros((orders, 2 * half + 1))
    over, back = np.empty(orders), np.empty(orders)
    for n in range(orders):
        over[n] = 1.0 / math.sqrt(n + 1.0)
        back[n] = math.sqrt(float(n)) * over[n]
    thin = step == 0.0
    for m in range(10 if thin else 2 * half + 1):
        if thin:
            xi, now = _HERMITE_10[0, m], _HERMITE_10[1, m]
            first = half - 5 + math.floor(width * xi)
            _between_12(width * xi - math.floor(width * xi), weights)
        else:
            xi, first = (m - half) * step, m
            now = _normal(xi, abs(step), 1)
        last = 0.0
        for n in range(min(orders, 10) if thin else orders):
            if thin:
                for p in range(12):
                    kernel[n, first + p] += now * weights[p]
            else:
                kernel[n, first] = now
            last, now = now, over[n] * xi * now - back[n] * last
    return kernel


def _tabulated(
    kernel: np.ndarray, steps: _Steps, values: np.ndarray, size: int, table: np.ndarray
) -> None:
    """Write a row for each row of the kernel: its sum at every ``split``-th point of a lattice,
    from -size to size, ``phases``-th ones after each other.

    ``steps`` are how many cells lie between points of the kernel, ``split`` and ``phases``.
    """
    stride, split, phases = steps
    count = 2 * size + 1
    columns, split_room = table.shape[1] // phases, values.size // split
    # eight points at a time, because lines in memory take longer than their sums
    eights = (kernel.shape[1] + 7) // 8
    firsts, w, line = np.zeros(8 * eights, np.int64), np.zeros(8 * eights), np.empty(count)
    for m in range(kernel.shape[1]):
        place = m * stride
        firsts[m] = (place % split) * split_room + place // split
    for n in range(kernel.shape[0]):
        for m in range(kernel.shape[1]):
            w[m] = kernel[n, m]
        for q in range(count):
            line[q] = 0.0
        for eight in range(eights):
            _add_eight(w[8 * eight :], firsts[8 * eight :], values, line)
        for p in range(phases):
            for q in range((count - 1 - p) // phases + 1):
                table[n, p * columns + q] = line[p + phases * q]


def _add_eight(w: np.ndarray, firsts: np.ndarray, values: np.ndarray, line: np.ndarray) -> None:
    """Add weighted values from eight places on to a line."""
    f0, f1, f2, f3 = firsts[0] & _BITS, firsts[1] & _BITS, firsts[2] & _BITS, firsts[3] & _BITS
    f4, f5, f6, f7 = firsts[4] & _BITS, firsts[5] & _BITS, firsts[6] & _BITS, firsts[7] & _BITS
    w0, w1, w2, w3, w4, w5, w6, w7 = w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7]
    for q in range(line.size & _BITS):
        first = (w0 * values[f0 + q] + w1 * values[f1 + q]) + w2 * values[f2 + q]
        second = (w3 * values[f3 + q] + w4 * values[f4 + q]) + w5 * values[f5 + q]
        line[q] += (first + second) + (w6 * values[f6 + q] + w7 * values[f7 + q])


def _along_line(
    table: np.ndarray, n: int, starts: np.ndarray, w: np.ndarray, line: np.ndarray, count: int
) -> None:
    """Write sums over twelve entries of a table at the points of a line."""
    e0, e1, e2 = starts[0] & _BITS, starts[1] & _BITS, starts[2] & _BITS
    e3, e4, e5 = starts[3] & _BITS, starts[4] & _BITS, starts[5] & _BITS
    e6, e7, e8 = starts[6] & _BITS, starts[7] & _BITS, starts[8] & _BITS
    e9, e10, e11 = starts[9] & _BITS, starts[10] & _BITS, starts[11] & _BITS
    w0, w1, w2, w3, w4, w5 = w[0], w[1], w[2], w[3], w[4], w[5]
    w6, w7, w8, w9, w10, w11 = w[6], w[7], w[8], w[9], w[10], w[11]
    for q in range(count & _BITS):
        first = w0 * table[n, e0 + q] + w1 * table[n, e1 + q] + w2 * table[n, e2 + q]
        second = w3 * table[n, e3 + q] + w4 * table[n, e4 + q] + w5 * table[n, e5 + q]
        third = w6 * table[n, e6 + q] + w7 * table[n, e7 + q] + w8 * table[n, e8 + q]
        last = w9 * table[n, e9 + q] + w10 * table[n, e10 + q] + w11 * table[n, e11 + q]
        line[q] = (first + second) + (third + last)


def _lines_of(
    field: _Four, grid: _Grid
) -> tuple[tuple[int, int], tuple[int, int], _Two, tuple[float, float]]:
    """Lay lines through a grid where the field moves most.

    Returned are, along lines and across them, how many points are on either side of zero, how far
    apart they stand in rows, the steps of the two t, and by how much these move the field.
    """
    (part1, part2, _, _), (step1, half1, step2, half2) = field, grid
    if half2 > 0 and abs(part2) * step2 >= abs(part1) * step1:
        return (half2, half1), (1, 2 * half2 + 1), (step2, step1), (part2 * step2, part1 * step1)
    return (half1, half2), (2 * half2 + 1, 1), (step1, step2), (part1 * step1, part2 * step2)


def _lattice_of(
    rule: np.ndarray, rest: float, along: float, direct: bool
) -> tuple[float, int, tuple[int, int, float]]:
    """Return the cell of a field's lattice, its cells in a step along lines, and of a kernel how
    many cells lie between its points, how many points on either side, and their step in ξ.

    The last is zero where the rest is small against the lattice. ``direct`` is where all points of
    lines are points of the lattice.
    """
    fine, coarse = _FINE * rule[0], 0.85 * _step_of(rest, rule) * rest
    thin = coarse < fine
    cell, phases = fine, 1
    if abs(along) >= _NEAR * rule[0]:
        phases = math.ceil(abs(along) / (coarse if direct and not thin else fine))
        cell = along / phases
    if thin:
        return cell, phases, (1, math.ceil(4.9 * rest / abs(cell)) + 7, 0.0)
    stride = max(1, math.floor(coarse / abs(cell)))
    step = stride * cell / rest
    return cell, phases, (stride, math.ceil(rule[2] / abs(step)), step)


def _values_on(
    kind: int, power: int, bias: float, cell: float, middle: int, split: int
) -> np.ndarray:
    """Return values of a power of a factor at a lattice, every ``split``-th one after each other.

    ``middle`` is where the field is zero.
    """
    count = 2 * middle // split + 1
    places, values = np.empty(split * count), np.empty(split * count)
    for p in range(split):
        first = bias + cell * (p - middle)
        _equally_apart(first, cell * split, places[p * count : (p + 1) * count])
    quadrature_factors(kind, places, values)
    if power == 2:
        for n in range(split * count):
            values[n] *= values[n]
    return values


def _rows_of(
    rule: np.ndarray, kind: int, field: _Four, grid: _Grid, power: int, rows: np.ndarray
) -> None:
    """Write f^n of a power of a factor at all points of a grid within the circle, a row for each n.

    Args:
        rule: The numbers.
        kind: The factor.
        field: What the two t and the rest add to the field, and its bias.
        grid: Steps of the two t, each with the number on either side of zero.
        power: 1 or 2.
        rows: What is written.
    """
    (part1, part2, rest, bias), reach = field, rule[2]
    (inner, outer), strides, steps, (along, aside) = _lines_of(field, grid)
    # the points of one line are some of those of a lattice
    near = abs(along) < _NEAR * rule[0]
    direct = outer == 0 and not near
    cell, phases, (stride, half, step) = _lattice_of(rule, rest, along, direct)
    size = inner
    if not direct:
        size = math.ceil(reach * math.sqrt(part1 * part1 + part2 * part2) / abs(cell)) + 8
    split = phases if direct else 1
    weights, starts, line = np.empty(12), np.empty(12, np.int64), np.empty(2 * inner + 1)
    kernel = _kernel(rest / cell, step, half, rows.shape[0], weights)
    values = _values_on(kind, power, bias, cell, split * size + half * stride, split)
    columns = 2 * size // phases + 2
    table = np.zeros((rows.shape[0], phases * columns))
    _tabulated(kernel, (stride, split, 1 if direct else phases), values, size, table)
    if near:
        _through_the_middle(table, size, field, grid, cell, rows)
        return
    for o in range(-outer, outer + 1):
        left = reach * reach - (o * steps[1]) * (o * steps[1])
        if left < 0.0:
            continue
        most = inner if outer == 0 else min(math.floor(math.sqrt(left) / steps[0]), inner)
        first = (outer + o) * strides[1] + (inner - most) * strides[0]
        if not direct:
            place = (aside * o - along * most) / cell
            base = math.floor(place)
            _between_12(place - base, weights)
            for p in range(12):
                j = size + base - 5 + p
                starts[p] = (j % phases) * columns + j // phases
        for n in range(rows.shape[0]):
            if direct:
                for q in range(2 * most + 1):
                    rows[n, first + q * strides[0]] = table[n, q]
            else:
                _along_line(table, n, starts, weights, line, 2 * most + 1)
                for q in range(2 * most + 1):
                    rows[n, first + q * strides[0]] = line[q]


def _through_the_middle(
    table: np.ndarray, size: int, field: _Four, grid: _Grid, cell: float, rows: np.ndarray
) -> None:
    """Write rows at all points of a grid by the polynomials through twelve entries around zero."""
    (part1, part2, _, _), (step1, half1, step2, half2) = field, grid
    wide, count = 2 * half2 + 1, rows.shape[1]
    place, now, basis = np.empty(count), np.ones(count), np.empty((12, count))
    for i in range(2 * half1 + 1):
        for j in range(wide):
            y = part1 * (i - half1) * step1 + part2 * (j - half2) * step2
            place[i * wide + j] = y / cell
    for p in range(12):
        for q in range(count):
            basis[p, q] = now[q]
            now[q] *= (place[q] + 5.0 - p) * _OVER_12[p]
    for q in range(count):
        now[q] = 1.0
    for p in range(12):
        for q in range(count):
            basis[11 - p, q] *= now[q]
            now[q] *= (6.0 - place[q] - p) * _OVER_12[p]
    for n in range(rows.shape[0]):
        for q in range(count):
            rows[n, q] = 0.0
        for p in range(12):
            entry = table[n, size - 5 + p]
            for q in range(count):
                rows[n, q] += entry * basis[p, q]


def _weighted(
    rule: np.ndarray, kinds: tuple[int, int], fields: _Five, grid: _Grid, weights: np.ndarray
) -> None:
    """Write the weights of the points of a grid within the circle, times two factors; ``fields``
    are what the two t add to theirs, and their biases.
    """
    (part, first, second, bias1, bias2), (step1, half1, step2, half2) = fields, grid
    long, wide = 2 * half1 + 1, 2 * half2 + 1
    normal, fields1, values = np.empty(wide), np.empty(long), np.empty(long)
    for j in range(wide):
        normal[j] = _normal((j - half2) * step2, step2, half2)
    for i in range(long):
        fields1[i] = bias1 + part * (i - half1) * step1
    quadrature_factors(kinds[0], fields1, values)
    fields2 = np.empty(long * wide)
    _fields_within(rule, (first, second, bias2), grid, fields2)
    quadrature_factors(kinds[1], fields2, weights)
    for i in range(long):
        t1 = (i - half1) * step1
        weight = _normal(t1, step1, half1) * values[i]
        for j in range(wide):
            t2 = (j - half2) * step2
            inside = half2 == 0 or t1 * t1 + t2 * t2 <= rule[2] * rule[2]
            weights[i * wide + j] *= weight * normal[j] if inside else 0.0


def _fields_within(rule: np.ndarray, field: _Three, grid: _Grid, fields: np.ndarray) -> None:
    """Write a field at the points of a grid, and its bias outside of the circle, where it might be
    large; ``field`` are what the two t add to it and its bias.
    """
    (part1, part2, bias), (step1, half1, step2, half2) = field, grid
    wide = 2 * half2 + 1
    for i in range(2 * half1 + 1):
        t1 = (i - half1) * step1
        for j in range(wide):
            t2 = (j - half2) * step2
            inside = half2 == 0 or t1 * t1 + t2 * t2 <= rule[2] * rule[2]
            fields[i * wide + j] = bias + (part1 * t1 + part2 * t2 if inside else 0.0)


def _coupled(
    weights: np.ndarray, rows1: np.ndarray, rows2: np.ndarray, correlation: float, orders: int
) -> float:
    """Return the weighted sum over all points of Σ_n ρ^n f^n g^n."""
    size = weights.size
    inner = np.zeros(size)
    power = 1.0
    for n in range(orders):
        for p in range(size):
            inner[p] += power * rows1[n, p] * rows2[n, p]
        power *= correlation
    return _inner(weights, inner)


def _mean_of_4(rule: np.ndarray, kinds: _Kinds, c: _Ten, b: _Four) -> float:
    """Return the same of four factors and fields; c row by row, from the diagonal on."""
    l11, l21, l31, l41, l22, l32, l42, l33, l43, l44 = _triangle4(c)
    step1, half1 = _half_of((l11, l21, l31, l41), rule)
    step2, half2 = _half_of((l22, l32, l42, 0.0), rule)
    grid = step1, half1, step2, half2
    size = (2 * half1 + 1) * (2 * half2 + 1)
    rest = math.sqrt(l43 * l43 + l44 * l44)
    correlation = l43 / rest if rest > 0.0 else 0.0
    orders = _orders(l33, rest, correlation, rule)
    rows3, rows4, weights = np.zeros((orders, size)), np.zeros((orders, size)), np.empty(size)
    _rows_of(rule, kinds[2], (l31, l32, l33, b[2]), grid, 1, rows3)
    _rows_of(rule, kinds[3], (l41, l42, rest, b[3]), grid, 1, rows4)
    _weighted(rule, (kinds[0], kinds[1]), (l11, l21, l22, b[0], b[1]), grid, weights)
    return _coupled(weights, rows3, rows4, correlation, orders)
