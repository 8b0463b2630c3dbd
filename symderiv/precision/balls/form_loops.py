"""The loops of :mod:`symderiv.precision.balls.forms`; they allocate nothing.

Every number is a form :math:`c + \\sum_k a_k \\varepsilon_k \\pm e` in the places of the inputs in
a box, :math:`|\\varepsilon_k| \\le 1`, beside its range. Only e knows of what is not linear and of
rounding, so that equal parts of different numbers cancel. A form is an array of n + 4 numbers: a,
then c, e, and the two ends of the range. Boxes are looked at together, w at a time.
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
# more than what rounding costs in 30 operations, and than a function of the C library errs by
_SHARE, _LEAST = 2.0**-48, 1e-90
_STEEP, _NOTHING, _UNKNOWN = 0.999, 1e-300, 1e300
# further out numbers might overflow
_SMALL, _LARGE = 1e-30, 60.0


@compiled()
def _value(operation: int, x: float) -> float:
    if operation == _ROOT:
        return math.sqrt(x)
    if operation == _EXP:
        return math.exp(x)
    return 1.0 / x if operation == _INVERSE else math.asin(x)


@compiled()
def _slope(operation: int, x: float) -> float:
    if operation == _ROOT:
        return 0.5 / math.sqrt(x)
    if operation == _EXP:
        return math.exp(x)
    return -1.0 / (x * x) if operation == _INVERSE else 1.0 / math.sqrt(1.0 - x * x)


@compiled()
def _near_line(operation: int, a: float, b: float) -> tuple[float, float, float, float, float]:
    """Return slope, value at 0 and error of a line near a function of one curvature, and its ends.

    The function lies between its chord and its tangent in the middle; the least and the largest
    distance of both from the line are at the ends.
    """
    middle = 0.5 * (a + b)
    f, g, h = _value(operation, a), _value(operation, b), _value(operation, middle)
    tangent = _slope(operation, middle)
    slope = (g - f) / (b - a) if b > a else tangent
    at_a, at_b = f - slope * a, g - slope * b
    under_a, under_b = (
        h + tangent * (a - middle) - slope * a,
        h + tangent * (b - middle) - slope * b,
    )
    low = min(min(at_a, at_b), min(under_a, under_b))
    high = max(max(at_a, at_b), max(under_a, under_b))
    sizes = abs(f) + abs(g) + abs(h) + (abs(slope) + abs(tangent)) * (abs(a) + abs(b))
    error = 0.5 * (high - low) + sizes * _SHARE + _LEAST
    least, most = min(f, g), max(f, g)
    slack = (abs(f) + abs(g)) * _SHARE + _LEAST
    return slope, 0.5 * (low + high), error, least - slack, most + slack


@compiled()
def _line(operation: int, a: float, b: float) -> tuple[float, float, float, float, float]:
    """Return the same of any function in [a, b]; ends in the wrong order if it has no value."""
    nowhere = operation in (_ROOT, _INVERSE) and abs(a) < _SMALL
    nowhere |= (operation == _ROOT and a < 0.0) or (operation == _EXP and b > _LARGE)
    nowhere |= operation == _INVERSE and (abs(b) < _SMALL or a < 0.0 < b)
    if nowhere or not a <= b:
        return 0.0, 0.0, 0.0, 1.0, -1.0
    if operation <= _EXP:
        return _near_line(operation, a, b)
    # arguments are correlations of states that exist
    a, b = max(a, -1.0), min(b, 1.0)
    if b < a:
        return 0.0, 0.0, 0.0, 1.0, -1.0
    if a >= 0.0 and b < _STEEP:
        return _near_line(operation, a, b)
    if a > -_STEEP and b <= 0.0:
        return _near_line(operation, a, b)
    low, high = math.asin(a), math.asin(b)
    slack = (abs(low) + abs(high)) * _SHARE + _LEAST
    if a <= -_STEEP or b >= _STEEP:
        error = 0.5 * (high - low) + slack
        return 0.0, 0.5 * (low + high), error, low - slack, high + slack
    # slopes lie between 1 and those at the ends
    middle = 0.5 * (a + b)
    most = max(_slope(operation, a), _slope(operation, b))
    slope, value = 0.5 * (1.0 + most), math.asin(middle)
    error = (0.5 * (most - 1.0) + most * _SHARE) * (b - a) * 0.5 * (1.0 + _SHARE)
    error += (abs(value) + abs(slope * middle)) * _SHARE + _LEAST
    return slope, value - slope * middle, error, low - slack, high + slack


@compiled(forceinline=True)
def _sum(sign: float, first: Floats, second: Floats, form: Floats, room: Floats) -> None:
    """Write the form of a sum or a difference, shapes (n + 4, w); room: (6, w)."""
    n, lanes = form.shape[0] - 4, form.shape[1]
    size = room[0]
    size[:] = 0.0
    for k in range(n + 1):
        for w in range(lanes):
            size[w] += abs(first[k, w]) + abs(second[k, w])
            form[k, w] = first[k, w] + sign * second[k, w]
    for w in range(lanes):
        error = (first[n + 1, w] + second[n + 1, w]) * (1.0 + _SHARE)
        form[n + 1, w] = error + size[w] * _SHARE + _LEAST
        a, b = sign * second[n + 2, w], sign * second[n + 3, w]
        low, high = first[n + 2, w] + min(a, b), first[n + 3, w] + max(a, b)
        form[n + 2, w] = low - abs(low) * _SHARE - _LEAST
        form[n + 3, w] = high + abs(high) * _SHARE + _LEAST


@compiled(forceinline=True)
def _product(first: Floats, second: Floats, form: Floats, room: Floats) -> None:
    """Write the form of a product.

    Of the deviations u and v, uv = ((u + v)² - (u - v)²)/4 with two squares in [0, r²], which is
    narrow if u and v have the same parts; v is scaled so that both are of one size.
    """
    n, lanes = form.shape[0] - 4, form.shape[1]
    u, v, scale, plus, minus = room[0], room[1], room[2], room[3], room[4]
    room[:] = 0.0
    for k in range(n):
        for w in range(lanes):
            u[w] += abs(first[k, w])
            v[w] += abs(second[k, w])
    for w in range(lanes):
        scale[w] = u[w] / v[w] if u[w] > 1e-30 and v[w] > 1e-30 else 1.0
    for k in range(n):
        for w in range(lanes):
            plus[w] += abs(first[k, w] + scale[w] * second[k, w])
            minus[w] += abs(first[k, w] - scale[w] * second[k, w])
            form[k, w] = first[n, w] * second[k, w] + second[n, w] * first[k, w]
    for w in range(lanes):
        c, d, e, f = first[n, w], second[n, w], first[n + 1, w], second[n + 1, w]
        up, down = plus[w] * plus[w] / scale[w], minus[w] * minus[w] / scale[w]
        rest, shift = 0.125 * (up + down), 0.125 * (up - down)
        if not rest < u[w] * v[w]:
            rest, shift = u[w] * v[w], 0.0
        error = rest + e * (v[w] + f) + f * u[w] + abs(c) * f + abs(d) * e
        size = (abs(c) + u[w] + e) * (abs(d) + v[w] + f)
        form[n, w] = c * d + shift
        form[n + 1, w] = error * (1.0 + _SHARE) + size * (4.0 * _SHARE) + _LEAST
        p, q = first[n + 2, w] * second[n + 2, w], first[n + 2, w] * second[n + 3, w]
        r, s = first[n + 3, w] * second[n + 2, w], first[n + 3, w] * second[n + 3, w]
        low, high = min(min(p, q), min(r, s)), max(max(p, q), max(r, s))
        form[n + 2, w] = low - abs(low) * _SHARE - _LEAST
        form[n + 3, w] = high + abs(high) * _SHARE + _LEAST


@compiled(forceinline=True)
def _square(first: Floats, form: Floats, room: Floats) -> None:
    """Write the form of a square: that of a deviation lies in [0, r²]."""
    n, lanes = form.shape[0] - 4, form.shape[1]
    u = room[0]
    u[:] = first[n + 1]
    for k in range(n):
        for w in range(lanes):
            u[w] += abs(first[k, w])
            form[k, w] = 2.0 * first[n, w] * first[k, w]
    for w in range(lanes):
        c, half = first[n, w], 0.5 * u[w] * u[w]
        size = abs(c) + u[w]
        error = (2.0 * abs(c) * first[n + 1, w] + half) * (1.0 + _SHARE)
        form[n, w] = c * c + half
        form[n + 1, w] = error + size * size * (4.0 * _SHARE) + _LEAST
        a, b = first[n + 2, w], first[n + 3, w]
        least, most = min(abs(a), abs(b)), max(abs(a), abs(b))
        low = 0.0 if a <= 0.0 <= b else least * least
        form[n + 2, w] = max(low * (1.0 - _SHARE) - _LEAST, 0.0)
        form[n + 3, w] = most * most * (1.0 + _SHARE) + _LEAST


@compiled(forceinline=True)
def _function(operation: int, first: Floats, form: Floats, good: Floats, room: Floats) -> None:
    """Write the form of a function of one number, and 0 to ``good`` where it has no value."""
    n, lanes = form.shape[0] - 4, form.shape[1]
    slope, size = room[0], room[1]
    for w in range(lanes):
        slope[w], value, error, low, high = _line(operation, first[n + 2, w], first[n + 3, w])
        if low > high:
            good[w], error, low, high = 0.0, _UNKNOWN, -_UNKNOWN, _UNKNOWN
        size[w] = abs(slope[w] * first[n, w]) + abs(value)
        form[n, w] = slope[w] * first[n, w] + value
        form[n + 1, w] = (abs(slope[w]) * first[n + 1, w] + error) * (1.0 + _SHARE) + _LEAST
        form[n + 2, w], form[n + 3, w] = low, high
    for k in range(n):
        for w in range(lanes):
            form[k, w] = slope[w] * first[k, w]
            size[w] += abs(form[k, w])
    for w in range(lanes):
        form[n + 1, w] += size[w] * _SHARE


@compiled(forceinline=True)
def _ranged(form: Floats, room: Floats) -> None:
    """Cut the range of a number to that of its form."""
    n, lanes = form.shape[0] - 4, form.shape[1]
    reach = room[0]
    reach[:] = form[n + 1]
    for k in range(n):
        for w in range(lanes):
            reach[w] += abs(form[k, w])
    for w in range(lanes):
        apart = (reach[w] + abs(form[n, w])) * _SHARE + reach[w] + _LEAST
        form[n + 2, w] = max(form[n + 2, w], form[n, w] - apart)
        form[n + 3, w] = min(form[n + 3, w], form[n, w] + apart)


@compiled(forceinline=True)
def _leaf(row: Integers, bounds: Floats, form: Floats, low: Floats, high: Floats, at: int) -> None:
    """Write the form of a constant or an input in boxes from the one numbered ``at``."""
    n, lanes = form.shape[0] - 4, form.shape[1]
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
            form[row[2], w], form[n + 1, w] = apart, 0.0
        else:
            form[n + 1, w] = apart


@compiled()
def _by_row(row: Floats, places: Floats) -> bool:
    """Narrow places to where a form may vanish; return whether it may.

    Args:
        row: a, c and e, shape (n + 2,).
        places: Bounds of the places of the inputs, shape (n, 2).
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
        # what the others leave to this one
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
    """Return row and input of the largest share of a row, none (-1) if all that are left are
    small; ``used``: (2, m) for rows and inputs that were taken.
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
    """Narrow places by all forms, and by those in which inputs are eliminated, one by one."""
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
                # what rounding has left of it
                error = rows[i, n + 1] + abs(factor) * rows[row, n + 1]
                rows[i, n + 1] = error * (1.0 + _SHARE) + size * (4.0 * _SHARE) + _LEAST
                rows[i, column] = 0.0
            if not _by_row(rows[i], places):
                return False
    return True


@compiled()
def _moved(low: Floats, high: Floats, places: Floats) -> float:
    """Narrow a box to places in it; return the share that is left of its volume."""
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
    good: Floats, room: Floats,
) -> None:  # fmt: skip
    """Write the forms of all numbers in w boxes."""
    good[:] = 1.0
    for p in range(operations.shape[0]):
        operation, place = operations[p, 0], operations[p, 1]
        form = forms[place]
        if operation <= _INPUT:
            _leaf(operations[p], constants[p], form, ends[0], ends[1], at)
            continue
        first, second = forms[operations[p, 2]], forms[operations[p, 3]]
        if operation == _ADD:
            _sum(1.0, first, second, form, room)
        elif operation == _SUBTRACT:
            _sum(-1.0, first, second, form, room)
        elif operation == _MULTIPLY:
            _product(first, second, form, room)
        elif operation == _SQUARE:
            _square(first, form, room)
        else:
            _function(operation, first, form, good, room)
        _ranged(form, room)


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
    room: Floats,
) -> None:
    """Make boxes smaller where all outputs may vanish, in place.

    Args:
        operations, constants, outputs: Those of :class:`symderiv.precision.balls.forms.Forms`, p
            operations and m outputs.
        low, high: Bounds of B boxes, shape (B, n).
        left: The shares of volumes that are left, shape (B,): -1 where no output can vanish.
        forms: Room for s forms, shape (s, n + 4, w).
        room: Shape (2 n + 2 m + 16, the largest of n + 2, m and w).
    """
    n, m, lanes = low.shape[1], outputs.size, forms.shape[2]
    lane_room, good = room[:6, :lanes], room[6, :lanes]
    rows, used = room[7 : 7 + m, : n + 2], room[7 + m : 9 + m, : max(n, m)]
    places = room[9 + m : 9 + m + n, :2]
    for begin in range(0, low.shape[0], lanes):
        _forms(operations, constants, (low, high), begin, forms, good, lane_room)
        for w in range(min(lanes, low.shape[0] - begin)):
            left[begin + w] = 1.0
            if good[w] == 0.0:
                continue
            possible = True
            for i in range(m):
                form = forms[outputs[i]]
                if form[n + 2, w] > 0.0 or form[n + 3, w] < 0.0:
                    possible = False
                rows[i] = form[: n + 2, w]
            places[:, 0], places[:, 1] = -1.0, 1.0
            if possible and _by_rows(rows, places, used):
                left[begin + w] = _moved(low[begin + w], high[begin + w], places)
            else:
                left[begin + w] = -1.0
