"""The loops of :mod:`symderiv.precision.balls.boxes`; they allocate nothing.

Boxes are looked at together, w at a time, so that most is done by vector instructions.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from numba import types

from symderiv.compiled_code.compiled import CUBE, INTEGERS, MATRIX, compiled

__all__ = ["enclose"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

# operations, as of symderiv.precision.balls.box_operations, which this module may not import
_CONSTANT, _INPUT, _ADD, _SUBTRACT, _MULTIPLY, _DIVIDE, _SQUARE, _ROOT, _EXP = range(9)
_ONE, _FUNCTION, _LEAST = 2.0**-51, 2.0**-49, 1e-90
_FOUR_AXES = types.float64[:, :, :, ::1]


@compiled()
def _outwards(low: float, high: float, share: float) -> tuple[float, float]:
    return low - (abs(low) * share + _LEAST), high + (abs(high) * share + _LEAST)


@compiled()
def _product(a: float, b: float, c: float, d: float) -> tuple[float, float]:
    p, q, r, s = a * c, a * d, b * c, b * d
    return _outwards(min(min(p, q), min(r, s)), max(max(p, q), max(r, s)), _ONE)


@compiled()
def _square(a: float, b: float) -> tuple[float, float]:
    least, most = min(abs(a), abs(b)), max(abs(a), abs(b))
    low, high = _outwards(0.0 if a <= 0.0 <= b else least * least, most * most, _ONE)
    return max(low, 0.0), high


@compiled()
def _quotient(a: float, b: float, c: float, d: float) -> tuple[float, float]:
    least, most = _outwards(1.0 / d, 1.0 / c, _ONE)
    low, high = _product(a, b, least, most)
    possible = c > 0.0 or d < 0.0
    return low if possible else 1.0, high if possible else -1.0


@compiled()
def _root(a: float, b: float) -> tuple[float, float]:
    if a <= 0.0:
        return 1.0, -1.0
    return _outwards(math.sqrt(a), math.sqrt(b), _FUNCTION)


@compiled()
def _function(operation: int, a: float, b: float) -> tuple[float, float]:
    """Return the bounds of a root, an exponential or an arcsine."""
    if operation == _ROOT:
        return _root(a, b)
    if operation == _EXP:
        return _outwards(math.exp(a), math.exp(b), _FUNCTION)
    # arguments are correlations of states that exist
    a, b = max(a, -1.0), min(b, 1.0)
    if b < a:
        return 1.0, -1.0
    return _outwards(math.asin(a), math.asin(b), _FUNCTION)


@compiled()
def _arcsine_slope(a: float, b: float) -> tuple[float, float]:
    if a <= -1.0 or b >= 1.0:
        return 1.0, -1.0
    least, most = _square(a, b)
    least, most = _outwards(1.0 - most, 1.0 - least, _ONE)
    least, most = _root(least, most)
    return _quotient(1.0, 1.0, least, most)


@compiled(forceinline=True)
def _results(
    operation: int, first: int, second: int, place: int, numbers: Floats, good: Floats, which: int
) -> None:
    """Write the bounds of results to a place of ``numbers``, shape (p, 2, w), and 0 to a row of
    ``good`` where there are none.
    """
    lanes = numbers.shape[2]
    if operation == _ADD:
        for w in range(lanes):
            a, b = numbers[first, 0, w], numbers[first, 1, w]
            c, d = numbers[second, 0, w], numbers[second, 1, w]
            numbers[place, 0, w], numbers[place, 1, w] = _outwards(a + c, b + d, _ONE)
    elif operation == _SUBTRACT:
        for w in range(lanes):
            a, b = numbers[first, 0, w], numbers[first, 1, w]
            c, d = numbers[second, 0, w], numbers[second, 1, w]
            numbers[place, 0, w], numbers[place, 1, w] = _outwards(a - d, b - c, _ONE)
    elif operation == _MULTIPLY:
        for w in range(lanes):
            a, b = numbers[first, 0, w], numbers[first, 1, w]
            c, d = numbers[second, 0, w], numbers[second, 1, w]
            numbers[place, 0, w], numbers[place, 1, w] = _product(a, b, c, d)
    elif operation == _DIVIDE:
        for w in range(lanes):
            a, b = numbers[first, 0, w], numbers[first, 1, w]
            c, d = numbers[second, 0, w], numbers[second, 1, w]
            numbers[place, 0, w], numbers[place, 1, w] = _quotient(a, b, c, d)
    elif operation == _SQUARE:
        for w in range(lanes):
            a, b = numbers[first, 0, w], numbers[first, 1, w]
            numbers[place, 0, w], numbers[place, 1, w] = _square(a, b)
    else:
        for w in range(lanes):
            a, b = numbers[first, 0, w], numbers[first, 1, w]
            numbers[place, 0, w], numbers[place, 1, w] = _function(operation, a, b)
    for w in range(lanes):
        there = numbers[place, 0, w] <= numbers[place, 1, w]
        good[which, w] = good[which, w] if there else 0.0


@compiled(forceinline=True)
def _slopes(
    operation: int,
    first: int,
    second: int,
    place: int,
    numbers: Floats,
    good: Floats,
    found: Floats,
) -> None:
    """Write the derivatives of results by their two arguments, shape (4, w), and 0 to ``good``
    where there are none. Of one argument only the first are written.
    """
    lanes = numbers.shape[2]
    for w in range(lanes):
        a, b = numbers[first, 0, w], numbers[first, 1, w]
        c, d = numbers[second, 0, w], numbers[second, 1, w]
        low, high = numbers[place, 0, w], numbers[place, 1, w]
        if operation == _MULTIPLY:
            found[0, w], found[1, w], found[2, w], found[3, w] = c, d, a, b
        elif operation == _DIVIDE:
            c, d = _quotient(1.0, 1.0, c, d)
            found[0, w], found[1, w] = c, d
            found[2, w], found[3, w] = _product(-high, -low, c, d)
        elif operation == _SQUARE:
            found[0, w], found[1, w] = 2.0 * a, 2.0 * b
        elif operation == _EXP:
            found[0, w], found[1, w] = low, high
        elif operation == _ROOT:
            found[0, w], found[1, w] = _quotient(0.5, 0.5, low, high)
        else:
            found[0, w], found[1, w] = _arcsine_slope(a, b)
        good[2, w] = good[2, w] if found[0, w] <= found[1, w] else 0.0


@compiled(forceinline=True)
def _changed(
    operation: int, first: int, second: int, place: int, change: Floats, factors: Floats
) -> None:
    """Write the derivatives of results by all inputs to a place of ``change``, (p, n, 2, w)."""
    lanes = change.shape[3]
    n = change.shape[1]
    if operation == _ADD:
        for k in range(n):
            for w in range(lanes):
                a, b = change[first, k, 0, w], change[first, k, 1, w]
                c, d = change[second, k, 0, w], change[second, k, 1, w]
                change[place, k, 0, w], change[place, k, 1, w] = _outwards(a + c, b + d, _ONE)
    elif operation == _SUBTRACT:
        for k in range(n):
            for w in range(lanes):
                a, b = change[first, k, 0, w], change[first, k, 1, w]
                c, d = change[second, k, 0, w], change[second, k, 1, w]
                change[place, k, 0, w], change[place, k, 1, w] = _outwards(a - d, b - c, _ONE)
    elif operation < _SQUARE:
        for k in range(n):
            for w in range(lanes):
                a, b = change[first, k, 0, w], change[first, k, 1, w]
                c, d = change[second, k, 0, w], change[second, k, 1, w]
                a, b = _product(factors[0, w], factors[1, w], a, b)
                c, d = _product(factors[2, w], factors[3, w], c, d)
                change[place, k, 0, w], change[place, k, 1, w] = _outwards(a + c, b + d, _ONE)
    else:
        for k in range(n):
            for w in range(lanes):
                a, b = change[first, k, 0, w], change[first, k, 1, w]
                a, b = _product(factors[0, w], factors[1, w], a, b)
                change[place, k, 0, w], change[place, k, 1, w] = a, b


@compiled(forceinline=True)
def _by_middle(
    place: int, at: Floats, change: Floats, radius: Floats, good: Floats, numbers: Floats
) -> None:
    """Cut results to their mean-value form, where there is one."""
    lanes = numbers.shape[2]
    for w in range(lanes):
        low, high = at[place, 0, w], at[place, 1, w]
        for k in range(radius.shape[0]):
            most = max(abs(change[place, k, 0, w]), abs(change[place, k, 1, w]))
            reach = most * radius[k, w] * (1.0 + _FUNCTION)
            low, high = _outwards(low - reach, high + reach, _ONE)
        if good[0, w] * good[1, w] * good[2, w] > 0.0:
            numbers[place, 0, w] = max(numbers[place, 0, w], low)
            numbers[place, 1, w] = min(numbers[place, 1, w], high)


@compiled()
def _entered(
    operations: Integers,
    constants: Floats,
    boxes: Floats,
    begin: int,
    entries: tuple[Floats, Floats, Floats, Floats, Floats],
) -> None:
    """Write constants and inputs of w boxes."""
    bounds, at, change, middle, radius = entries
    lanes = bounds.shape[2]
    for w in range(lanes):
        box = min(begin + w, boxes.shape[0] - 1)
        for k in range(boxes.shape[1]):
            middle[k, w] = 0.5 * (boxes[box, k, 0] + boxes[box, k, 1])
            apart = max(middle[k, w] - boxes[box, k, 0], boxes[box, k, 1] - middle[k, w])
            radius[k, w] = apart * (1.0 + _ONE) + _LEAST
        for p in range(operations.shape[0]):
            if operations[p, 0] == _CONSTANT:
                bounds[p, 0, w], bounds[p, 1, w] = constants[p, 0], constants[p, 1]
                at[p, 0, w], at[p, 1, w] = constants[p, 0], constants[p, 1]
            elif operations[p, 0] == _INPUT:
                first = operations[p, 1]
                bounds[p, 0, w], bounds[p, 1, w] = boxes[box, first, 0], boxes[box, first, 1]
                at[p, 0, w], at[p, 1, w] = middle[first, w], middle[first, w]
                for k in range(boxes.shape[1]):
                    change[p, k, 0, w] = change[p, k, 1, w] = 1.0 if k == first else 0.0


@compiled(
    types.void(
        types.int64[:, ::1],
        MATRIX,
        INTEGERS,
        CUBE,
        _FOUR_AXES,
        _FOUR_AXES,
        CUBE,
        _FOUR_AXES,
        MATRIX,
    )
)
def enclose(
    operations: Integers,
    constants: Floats,
    outputs: Integers,
    boxes: Floats,
    values: Floats,
    slopes: Floats,
    bounds: Floats,
    change: Floats,
    room: Floats,
) -> None:
    """Fill bounds of values and derivatives, where there are some.

    Args:
        operations, constants, outputs: Those of
            :class:`~symderiv.precision.balls.box_operations.BoxOperations`, p of them.
        boxes: Bounds of B boxes, shape (B, n, 2).
        values: The bounds of the outputs over the boxes and in their middle, shape (2, B, m, 2).
        slopes: The bounds of their derivatives, shape (B, m, n, 2).
        bounds: Room, shape (2 p, 2, w).
        change: Room of zeros, shape (p, n, 2, w).
        room: Shape (2 n + 7, w).
    """
    count, n, total = operations.shape[0], boxes.shape[1], boxes.shape[0]
    over, at, lanes = bounds[:count], bounds[count:], bounds.shape[2]
    middle, radius, good = room[:n], room[n : 2 * n], room[2 * n : 2 * n + 3]
    factors = room[2 * n + 3 :]
    for begin in range(0, total, lanes):
        good[:] = 1.0
        _entered(operations, constants, boxes, begin, (over, at, change, middle, radius))
        for p in range(count):
            operation, first, second = operations[p, 0], operations[p, 1], operations[p, 2]
            if operation <= _INPUT:
                continue
            _results(operation, first, second, p, over, good, 0)
            _results(operation, first, second, p, at, good, 1)
            if operation > _SUBTRACT:
                _slopes(operation, first, second, p, over, good, factors)
            _changed(operation, first, second, p, change, factors)
            _by_middle(p, at, change, radius, good, over)
        for w in range(min(lanes, total - begin)):
            for i in range(outputs.size if good[0, w] > 0.0 else 0):
                for side in range(2):
                    values[0, begin + w, i, side] = over[outputs[i], side, w]
                    if good[1, w] > 0.0:
                        values[1, begin + w, i, side] = at[outputs[i], side, w]
                    if good[2, w] > 0.0:
                        for k in range(n):
                            slopes[begin + w, i, k, side] = change[outputs[i], k, side, w]
