r"""The loops of :mod:`symderiv.precision.balls.forms`; they allocate nothing.

Every number is a form :math:`c + \sum_k a_k \varepsilon_k \pm e`, where :math:`|\varepsilon_k| \le
1` are the scaled positions of the inputs in a box, together with its range. Only e contains
nonlinear parts and rounding, so that equal parts of different numbers cancel. A form is an array of
n + 5 numbers: a, then c, e, the two ends of the range, and the sum of the sizes of a. w boxes are
handled together.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from numba import types

from symderiv.compiled_code.compiled import CUBE, MATRIX, VECTOR, compiled

__all__ = ["narrow"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

# operations, as of symderiv.precision.balls.forms, which this module may not import
_CONSTANT, _INPUT, _ADD, _SUBTRACT, _MULTIPLY, _INVERSE, _SQUARE, _ROOT, _EXP = range(9)
# above the relative rounding error of 30 operations and the error of functions of the C library
_SHARE, _LEAST = 2.0**-48, 1e-90
_STEEP, _NOTHING, _UNKNOWN = 0.999, 1e-300, 1e300
# beyond these bounds numbers might overflow
_SMALL, _LARGE = 1e-30, 60.0


@compiled(forceinline=True)
def _near_line(
    ends: tuple[float, float], values: tuple[float, float, float], slope: float, tangent: float
) -> tuple[float, float, float, float, float]:
    """Return a line near a function of one curvature (slope, value at 0, error) and its range.

    The function lies between its chord and its tangent in the middle; the least and the largest
    distance of both from the line are at the ends.

    Args:
        ends: Least and largest argument.
        values: Those of the function at the ends and in the middle.
        slope: The slope of the line, about that of the chord.
        tangent: The derivative in the middle.
    """
    a, b = ends
    f, g, h = values
    apart = 0.5 * (b - a)
    at_a, at_b = f - slope * a, g - slope * b
    under_a, under_b = h - tangent * apart - slope * a, h + tangent * apart - slope * b
    low = min(min(at_a, at_b), min(under_a, under_b))
    high = max(max(at_a, at_b), max(under_a, under_b))
    sizes = abs(f) + abs(g) + abs(h) + (abs(slope) + abs(tangent)) * (abs(a) + abs(b))
    error = 0.5 * (high - low) + sizes * _SHARE + _LEAST
    slack = (abs(f) + abs(g)) * _SHARE + _LEAST
    return slope, 0.5 * (low + high), error, min(f, g) - slack, max(f, g) + slack


@compiled()
def _arcsine(a: float, b: float) -> tuple[float, float, float, float, float]:
    """Return line and range of an arcsine as :func:`_near_line` does.

    The ends of the range are in the wrong order if it has no value.
    """
    # arguments are correlations, so only the part in [-1, 1] matters
    a, b = max(a, -1.0), min(b, 1.0)
    if not a <= b:
        return 0.0, 0.0, 0.0, 1.0, -1.0
    low, high, middle = math.asin(a), math.asin(b), 0.5 * (a + b)
    slack = (abs(low) + abs(high)) * _SHARE + _LEAST
    if a <= -_STEEP or b >= _STEEP:
        error = 0.5 * (high - low) + slack
        return 0.0, 0.5 * (low + high), error, low - slack, high + slack
    # a difference of squares near 1 would lose digits
    value, tangent = math.asin(middle), 1.0 / math.sqrt((1.0 - middle) * (1.0 + middle))
    if a >= 0.0 or b <= 0.0:
        slope = (high - low) / (b - a) if b > a else tangent
        return _near_line((a, b), (low, high, value), slope, tangent)
    # slopes lie between 1 and those at the ends
    largest = max(-a, b)
    most = 1.0 / math.sqrt((1.0 - largest) * (1.0 + largest))
    slope = 0.5 * (1.0 + most)
    error = (0.5 * (most - 1.0) + most * _SHARE) * (b - a) * 0.5 * (1.0 + _SHARE)
    error += (abs(value) + abs(slope * middle)) * _SHARE + _LEAST
    return slope, value - slope * middle, error, low - slack, high + slack


@compiled()
def _exponential(a: float, b: float) -> tuple[float, float, float, float, float]:
    """Return line and range of an exponential as :func:`_near_line` does."""
    if not a <= b <= _LARGE:
        return 0.0, 0.0, 0.0, 1.0, -1.0
    low, high, value = math.exp(a), math.exp(b), math.exp(0.5 * (a + b))
    slope = (high - low) / (b - a) if b > a else value
    return _near_line((a, b), (low, high, value), slope, value)


@compiled(forceinline=True)
def _lines(operation: int, first: Floats, n: int, lines: Floats) -> None:
    """Write lines near a function and its ranges in w boxes, shape (5, w)."""
    for w in range(lines.shape[1]):
        a, b = first[n + 2, w], first[n + 3, w]
        if operation == _ROOT:
            possible = _SMALL < a <= b
            a, b = a if possible else 1.0, b if possible else 1.0
            f, g, h = math.sqrt(a), math.sqrt(b), math.sqrt(0.5 * (a + b))
            line = _near_line((a, b), (f, g, h), 1.0 / (f + g), 0.5 / h)
        elif operation == _INVERSE:
            possible = a <= b and (a > _SMALL or b < -_SMALL)
            a, b = a if possible else 1.0, b if possible else 1.0
            f, g, h = 1.0 / a, 1.0 / b, 2.0 / (a + b)
            line = _near_line((a, b), (f, g, h), -(f * g), -(h * h))
        else:
            line = _exponential(a, b) if operation == _EXP else _arcsine(a, b)
            possible = True
        lines[0, w], lines[1, w], lines[2, w] = line[0], line[1], line[2]
        lines[3, w] = line[3] if possible else 1.0
        lines[4, w] = line[4] if possible else -1.0


@compiled(forceinline=True)
def _sum(sign: float, first: Floats, second: Floats, form: Floats) -> None:
    """Write the form of a sum or a difference, shapes (n + 5, w)."""
    n, lanes = form.shape[0] - 5, form.shape[1]
    for k in range(n):
        for w in range(lanes):
            form[k, w] = first[k, w] + sign * second[k, w]
            form[n + 4, w] += abs(form[k, w])
    for w in range(lanes):
        form[n, w] = first[n, w] + sign * second[n, w]
        size = abs(first[n, w]) + abs(second[n, w]) + first[n + 4, w] + second[n + 4, w]
        error = (first[n + 1, w] + second[n + 1, w]) * (1.0 + _SHARE)
        form[n + 1, w] = error + size * (2.0 * _SHARE) + _LEAST
        a, b = sign * second[n + 2, w], sign * second[n + 3, w]
        low, high = first[n + 2, w] + min(a, b), first[n + 3, w] + max(a, b)
        form[n + 2, w] = low - abs(low) * _SHARE - _LEAST
        form[n + 3, w] = high + abs(high) * _SHARE + _LEAST


@compiled(forceinline=True)
def _product(first: Floats, second: Floats, form: Floats, space: Floats) -> None:
    """Write the form of a product; ``space`` is scratch space of shape (6, w).

    Of the deviations u and v, uv = ((u + v)² - (u - v)²)/4 with two squares in [0, r²], which is
    narrow if u and v have the same parts; v is scaled so that both are of one size.
    """
    n, lanes = form.shape[0] - 5, form.shape[1]
    scale, plus, minus = space[0], space[1], space[2]
    for w in range(lanes):
        u, v = first[n + 4, w], second[n + 4, w]
        scale[w] = u / v if u > _SMALL and v > _SMALL else 1.0
        plus[w] = minus[w] = 0.0
    # loops of few arrays become vector instructions
    for k in range(n):
        for w in range(lanes):
            plus[w] += abs(first[k, w] + scale[w] * second[k, w])
        for w in range(lanes):
            minus[w] += abs(first[k, w] - scale[w] * second[k, w])
        for w in range(lanes):
            form[k, w] = first[n, w] * second[k, w] + second[n, w] * first[k, w]
        for w in range(lanes):
            form[n + 4, w] += abs(form[k, w])
    for w in range(lanes):
        c, d, e, f = first[n, w], second[n, w], first[n + 1, w], second[n + 1, w]
        u, v = first[n + 4, w], second[n + 4, w]
        up, down = plus[w] * plus[w] / scale[w], minus[w] * minus[w] / scale[w]
        better = 0.125 * (up + down) < u * v
        rest, shift = 0.125 * (up + down) if better else u * v, 0.125 * (up - down)
        error = rest + e * (v + f) + f * u + abs(c) * f + abs(d) * e
        size = (abs(c) + u + e) * (abs(d) + v + f)
        form[n, w] = c * d + (shift if better else 0.0)
        form[n + 1, w] = error * (1.0 + _SHARE) + size * (4.0 * _SHARE) + _LEAST
        p, q = first[n + 2, w] * second[n + 2, w], first[n + 2, w] * second[n + 3, w]
        r, s = first[n + 3, w] * second[n + 2, w], first[n + 3, w] * second[n + 3, w]
        low, high = min(min(p, q), min(r, s)), max(max(p, q), max(r, s))
        form[n + 2, w] = low - abs(low) * _SHARE - _LEAST
        form[n + 3, w] = high + abs(high) * _SHARE + _LEAST


@compiled(forceinline=True)
def _square(first: Floats, form: Floats) -> None:
    """Write the form of a square: that of a deviation lies in [0, r²]."""
    n, lanes = form.shape[0] - 5, form.shape[1]
    for k in range(n):
        for w in range(lanes):
            form[k, w] = 2.0 * first[n, w] * first[k, w]
            form[n + 4, w] += abs(form[k, w])
    for w in range(lanes):
        c, u = first[n, w], (first[n + 4, w] + first[n + 1, w]) * (1.0 + _SHARE)
        half, size = 0.5 * u * u, abs(c) + u
        error = (2.0 * abs(c) * first[n + 1, w] + half) * (1.0 + _SHARE)
        form[n, w] = c * c + half
        form[n + 1, w] = error + size * size * (4.0 * _SHARE) + _LEAST
        a, b = first[n + 2, w], first[n + 3, w]
        least, most = min(abs(a), abs(b)), max(abs(a), abs(b))
        low = 0.0 if a <= 0.0 <= b else least * least
        form[n + 2, w] = max(low * (1.0 - _SHARE) - _LEAST, 0.0)
        form[n + 3, w] = most * most * (1.0 + _SHARE) + _LEAST


@compiled(forceinline=True)
def _function(operation: int, first: Floats, form: Floats, good: Floats, lines: Floats) -> None:
    """Write the form of a function of one number; set ``good`` to 0 where it has no value."""
    n, lanes = form.shape[0] - 5, form.shape[1]
    # with constant operation numbers, compilers make loops of vector instructions
    if operation == _ROOT:
        _lines(_ROOT, first, n, lines)
    elif operation == _INVERSE:
        _lines(_INVERSE, first, n, lines)
    else:
        _lines(operation, first, n, lines)
    for k in range(n):
        for w in range(lanes):
            form[k, w] = lines[0, w] * first[k, w]
            form[n + 4, w] += abs(form[k, w])
    for w in range(lanes):
        slope, value, error, low, high = (
            lines[0, w], lines[1, w], lines[2, w], lines[3, w], lines[4, w],
        )  # fmt: skip
        there = low <= high
        good[w] = good[w] if there else 0.0
        size = abs(slope * first[n, w]) + abs(value) + form[n + 4, w]
        form[n, w] = slope * first[n, w] + value
        error = (abs(slope) * first[n + 1, w] + error) * (1.0 + _SHARE) + _LEAST
        form[n + 1, w] = error + size * (2.0 * _SHARE) if there else _UNKNOWN
        form[n + 2, w] = low if there else -_UNKNOWN
        form[n + 3, w] = high if there else _UNKNOWN


@compiled(forceinline=True)
def _ranged(form: Floats) -> None:
    """Intersect the range of a number with that of its form."""
    n, lanes = form.shape[0] - 5, form.shape[1]
    for w in range(lanes):
        reach = form[n + 4, w] + form[n + 1, w]
        apart = (reach + abs(form[n, w])) * _SHARE + reach + _LEAST
        form[n + 2, w] = max(form[n + 2, w], form[n, w] - apart)
        form[n + 3, w] = min(form[n + 3, w], form[n, w] + apart)


@compiled(forceinline=True)
def _leaf(row: Integers, bounds: Floats, form: Floats, low: Floats, high: Floats, at: int) -> None:
    """Write the form of a constant or an input in w boxes, from number ``at`` on."""
    n, lanes = form.shape[0] - 5, form.shape[1]
    form[:n] = 0.0
    for w in range(lanes):
        a, b = bounds[0], bounds[1]
        if row[0] == _INPUT:
            box = min(at + w, low.shape[0] - 1)
            a, b = low[box, row[2]], high[box, row[2]]
        middle = 0.5 * (a + b)
        apart = max(middle - a, b - middle) * (1.0 + _SHARE) + _LEAST
        form[n, w], form[n + 2, w], form[n + 3, w] = middle, a, b
        if row[0] == _INPUT:
            form[row[2], w] = form[n + 4, w] = apart
            form[n + 1, w] = 0.0
        else:
            form[n + 1, w] = apart


@compiled()
def _by_row(row: Floats, places: Floats) -> bool:
    """Narrow the positions of inputs to where a form may vanish; return whether it may.

    Args:
        row: a, c and e, shape (n + 2,).
        places: Bounds of the positions of the inputs, shape (n, 2).
    """
    n = places.shape[0]
    low, high, size = row[n] - row[n + 1], row[n] + row[n + 1], abs(row[n]) + row[n + 1]
    for k in range(n):
        p, q = row[k] * places[k, 0], row[k] * places[k, 1]
        low, high, size = low + min(p, q), high + max(p, q), size + abs(row[k])
    slack = size * _SHARE
    if not size < _UNKNOWN:
        return True
    if low > slack or high < -slack:
        return False
    for k in range(n):
        if abs(row[k]) < 1e-9 * size:
            continue
        p, q = row[k] * places[k, 0], row[k] * places[k, 1]
        # the values of this input for which the others can cancel the rest
        least = (-(high - max(p, q)) - slack) / row[k]
        most = (-(low - min(p, q)) + slack) / row[k]
        least, most = min(least, most), max(least, most)
        places[k, 0] = max(places[k, 0], least - abs(least) * _SHARE)
        places[k, 1] = min(places[k, 1], most + abs(most) * _SHARE)
        if places[k, 0] > places[k, 1]:
            return False
        r, s = row[k] * places[k, 0], row[k] * places[k, 1]
        low, high = low + (min(r, s) - min(p, q)), high + (max(r, s) - max(p, q))
    return True


@compiled()
def _pivot(rows: Floats, places: Floats, used: Floats) -> tuple[int, int]:
    """Return row and input with the largest share of a row's size, or -1 if all shares are small.

    ``used``, shape (2, m), marks rows and inputs that were taken.
    """
    n, best, row, column = places.shape[0], 1e-3, -1, -1
    for i in range(rows.shape[0]):
        total = rows[i, n + 1] + _NOTHING
        for k in range(n):
            total += abs(rows[i, k]) * 0.5 * (places[k, 1] - places[k, 0])
        for k in range(n):
            share = abs(rows[i, k]) * 0.5 * (places[k, 1] - places[k, 0]) / total
            if used[0, i] == 0.0 and used[1, k] == 0.0 and share > best:
                best, row, column = share, i, k
    return row, column


@compiled()
def _by_rows(rows: Floats, places: Floats, used: Floats) -> bool:
    """Narrow positions by all forms, before and after Gauss-Jordan elimination of inputs."""
    m, n = rows.shape[0], places.shape[0]
    used[:] = 0.0
    for i in range(m):
        if not _by_row(rows[i], places):
            return False
    for _ in range(m):
        row, column = _pivot(rows, places, used)
        if row < 0:
            break
        used[0, row] = used[1, column] = 1.0
        for i in range(m):
            if i != row and rows[i, column] != 0.0:
                factor = rows[i, column] / rows[row, column]
                size = 0.0
                for k in range(n + 1):
                    size += abs(rows[i, k]) + abs(factor * rows[row, k])
                    rows[i, k] -= factor * rows[row, k]
                # the eliminated entry is exactly zero; its rounding is part of the error
                error = rows[i, n + 1] + abs(factor) * rows[row, n + 1]
                rows[i, n + 1] = error * (1.0 + _SHARE) + size * (4.0 * _SHARE) + _LEAST
                rows[i, column] = 0.0
            if not _by_row(rows[i], places):
                return False
    return True


@compiled()
def _moved(low: Floats, high: Floats, places: Floats) -> float:
    """Narrow a box to positions in it; return the remaining share of its volume."""
    share = 1.0
    for k in range(low.size):
        middle = 0.5 * (low[k] + high[k])
        apart = max(middle - low[k], high[k] - middle) * (1.0 + _SHARE) + _LEAST
        slack = (abs(middle) + apart) * _SHARE
        if places[k, 0] > -1.0:
            low[k] = max(low[k], middle + places[k, 0] * apart - slack)
        if places[k, 1] < 1.0:
            high[k] = min(high[k], middle + places[k, 1] * apart + slack)
        share *= 0.5 * (places[k, 1] - places[k, 0])
    return share


@compiled()
def _forms(
    operations: Integers, constants: Floats, ends: tuple[Floats, Floats], at: int, forms: Floats,
    good: Floats, space: Floats,
) -> None:  # fmt: skip
    """Write the forms of all numbers in w boxes, from number ``at`` on."""
    good[:] = 1.0
    n = forms.shape[1] - 5
    for p in range(operations.shape[0]):
        operation, place = operations[p, 0], operations[p, 1]
        form = forms[place]
        form[n + 4] = 0.0
        if operation <= _INPUT:
            _leaf(operations[p], constants[p], form, ends[0], ends[1], at)
            continue
        first, second = forms[operations[p, 2]], forms[operations[p, 3]]
        if operation == _ADD:
            _sum(1.0, first, second, form)
        elif operation == _SUBTRACT:
            _sum(-1.0, first, second, form)
        elif operation == _MULTIPLY:
            _product(first, second, form, space)
        elif operation == _SQUARE:
            _square(first, form)
        else:
            _function(operation, first, form, good, space[:5])
        _ranged(form)


@compiled(
    types.void(
        types.int64[:, ::1], MATRIX, types.int64[::1], MATRIX, MATRIX, VECTOR, CUBE, MATRIX
    )
)  # fmt: skip
def narrow(
    operations: Integers,
    constants: Floats,
    outputs: Integers,
    low: Floats,
    high: Floats,
    left: Floats,
    forms: Floats,
    space: Floats,
) -> None:
    """Narrow boxes, in place, to where all outputs may vanish.

    Args:
        operations, constants, outputs: Those of :class:`symderiv.precision.balls.forms.Forms`, p
            operations and m outputs.
        low, high: Bounds of B boxes, shape (B, n).
        left: The remaining shares of volumes, shape (B,): -1 where no output can vanish.
        forms: Room for s forms, shape (s, n + 5, w).
        space: Scratch space, shape (2 n + 2 m + 16, the largest of n + 2, m and w).
    """
    n, m, lanes = low.shape[1], outputs.size, forms.shape[2]
    lane_space, good = space[:6, :lanes], space[6, :lanes]
    rows, used = space[7 : 7 + m, : n + 2], space[7 + m : 9 + m, : max(n, m)]
    places = space[9 + m : 9 + m + n, :2]
    for begin in range(0, low.shape[0], lanes):
        _forms(operations, constants, (low, high), begin, forms, good, lane_space)
        for w in range(min(lanes, low.shape[0] - begin)):
            left[begin + w] = 1.0
            if good[w] == 0.0:
                continue
            possible = True
            for i in range(m):
                form = forms[outputs[i]]
                if form[n + 2, w] > 0.0 or form[n + 3, w] < 0.0:
                    possible = False
                for k in range(n + 2):
                    rows[i, k] = form[k, w]
            for k in range(n):
                places[k, 0], places[k, 1] = -1.0, 1.0
            if possible and _by_rows(rows, places, used):
                left[begin + w] = _moved(low[begin + w], high[begin + w], places)
            else:
                left[begin + w] = -1.0
