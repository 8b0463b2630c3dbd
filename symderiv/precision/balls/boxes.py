"""Recorded operations on boxes of doubles: values and derivatives enclosed, by compiled code.

Every bound is moved outwards by more than rounding may have cost: 2⁻⁵¹ of it after one operation of
arithmetic, and 2⁻⁴⁹, eight units in the last place, after a function of the C library, of whose
square root, exponential and arcsine errors of one unit are known.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from symderiv.compiled_code.compiled import compiled
from symderiv.precision.balls.box_operations import (
    ADD,
    ASIN,
    CONSTANT,
    DIVIDE,
    EXP,
    INPUT,
    MULTIPLY,
    ROOT,
    SQUARE,
    SUBTRACT,
    box_operations,
)
from symderiv.precision.balls.operations import Operations

__all__ = ["enclosed_ranges", "enclosed_values"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

_ONE, _FUNCTION, _LEAST, _LANES = 2.0**-51, 2.0**-49, 1e-90, 8


def enclosed_ranges(operations: Operations, low: Floats, high: Floats) -> Floats:
    """Return what outputs take within boxes, by the range of one operation after the other.

    Args:
        operations: The list of operations of n inputs and m outputs.
        low, high: Bounds of B boxes, shapes (B, n).

    Returns:
        Bounds, shape (B, m, 2), not a number where there is none.
    """
    program = box_operations(operations)
    values = np.full((len(low), program.outputs.size, 2), np.nan)
    boxes = np.ascontiguousarray(np.stack([low, high], axis=2))
    _ranges(program.operations, program.constants, program.outputs, boxes, values)
    return values


def enclosed_values(
    operations: Operations, low: Floats, high: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return what outputs and their derivatives take within boxes.

    The range of every operation is cut to its mean-value form, which is narrow in small boxes.

    Args:
        operations: The list of operations of n inputs and m outputs.
        low, high: Bounds of B boxes, shapes (B, n).

    Returns:
        Bounds of the outputs, and of those at the middle of the boxes, shapes (B, m, 2); bounds
        of the derivatives, shape (B, m, n, 2). They are not a number where there is no bound.
    """
    program = box_operations(operations)
    boxes, n, m = len(low), program.inputs, program.outputs.size
    values = np.full((2, boxes, m, 2), np.nan)
    slopes = np.full((boxes, m, n, 2), np.nan)
    _evaluate(
        program.operations,
        program.constants,
        program.outputs,
        np.ascontiguousarray(np.stack([low, high], axis=2)),
        values,
        slopes,
    )
    return values[0], values[1], slopes


@compiled(inline="always")
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
def _value(operation: int, a: float, b: float, c: float, d: float) -> tuple[float, float]:
    """Return the bounds of a result; the first is above the second where there are none."""
    if operation == ADD:
        return _outwards(a + c, b + d, _ONE)
    if operation == MULTIPLY:
        return _product(a, b, c, d)
    if operation == SQUARE:
        return _square(a, b)
    if operation == DIVIDE:
        if c <= 0.0 <= d:
            return 1.0, -1.0
        least, most = _outwards(1.0 / d, 1.0 / c, _ONE)
        return _product(a, b, least, most)
    if operation == ROOT:
        if a <= 0.0:
            return 1.0, -1.0
        return _outwards(math.sqrt(a), math.sqrt(b), _FUNCTION)
    if operation == EXP:
        return _outwards(math.exp(a), math.exp(b), _FUNCTION)
    if operation == ASIN:
        # arguments are correlations of states that exist
        a, b = max(a, -1.0), min(b, 1.0)
        if b < a:
            return 1.0, -1.0
        return _outwards(math.asin(a), math.asin(b), _FUNCTION)
    return _outwards(a - d, b - c, _ONE)


@compiled()
def _factor(
    operation: int, a: float, b: float, c: float, d: float, low: float, high: float
) -> tuple[float, float]:
    """Return the derivative of a result by its first argument."""
    if operation == ROOT:
        least, most = _value(DIVIDE, 0.5, 0.5, low, high)
        return least, most
    if operation == EXP:
        return low, high
    if operation == DIVIDE:
        return _value(DIVIDE, 1.0, 1.0, c, d)
    if operation == ASIN:
        if a <= -1.0 or b >= 1.0:
            return 1.0, -1.0
        least, most = _square(a, b)
        least, most = _outwards(1.0 - most, 1.0 - least, _ONE)
        least, most = _value(ROOT, least, most, 0.0, 0.0)
        return _value(DIVIDE, 1.0, 1.0, least, most)
    if operation == SQUARE:
        return 2.0 * a, 2.0 * b
    if operation == MULTIPLY:
        return c, d
    return 1.0, 1.0


@compiled()
def _factors(
    operation: int, a: float, b: float, c: float, d: float, low: float, high: float
) -> tuple[float, float, float, float]:
    """Return the derivatives of a result by its arguments; the first two numbers are in the wrong
    order where there are none.
    """
    e, f = _factor(operation, a, b, c, d, low, high)
    if operation == MULTIPLY:
        return e, f, a, b
    if operation == DIVIDE:
        g, h = _product(-high, -low, e, f)
        return e, f, g, h
    if operation == ADD:
        return e, f, 1.0, 1.0
    if operation == SUBTRACT:
        return e, f, -1.0, -1.0
    return e, f, 0.0, 0.0


@compiled()
def _changed(factors: Floats, first: Floats, second: Floats, found: Floats) -> None:
    """Write the derivatives of a result by all inputs, of eight boxes at a time."""
    for k in range(found.shape[0]):
        for w in range(_LANES):
            low, high = _product(factors[0, w], factors[1, w], first[k, 0, w], first[k, 1, w])
            least, most = _product(factors[2, w], factors[3, w], second[k, 0, w], second[k, 1, w])
            found[k, 0, w], found[k, 1, w] = _outwards(low + least, high + most, _ONE)


@compiled()
def _changed_by_one(factors: Floats, first: Floats, found: Floats) -> None:
    """Write the derivatives of a result of one argument."""
    for k in range(found.shape[0]):
        for w in range(_LANES):
            found[k, 0, w], found[k, 1, w] = _product(
                factors[0, w], factors[1, w], first[k, 0, w], first[k, 1, w]
            )


@compiled()
def _by_middle(at: Floats, change: Floats, radius: Floats, found: Floats) -> None:
    """Write bounds by the mean-value form."""
    for w in range(_LANES):
        found[0, w], found[1, w] = at[0, w], at[1, w]
    for k in range(radius.shape[0]):
        for w in range(_LANES):
            most = max(abs(change[k, 0, w]), abs(change[k, 1, w]))
            reach = most * radius[k, w] * (1.0 + _FUNCTION)
            found[0, w], found[1, w] = _outwards(found[0, w] - reach, found[1, w] + reach, _ONE)


@compiled()
def _ranges(
    operations: Integers, constants: Floats, outputs: Integers, boxes: Floats, values: Floats
) -> None:
    bounds = constants.copy()
    for box in range(boxes.shape[0]):
        known = True
        for p in range(operations.shape[0]):
            operation, first, second = operations[p, 0], operations[p, 1], operations[p, 2]
            if operation == INPUT:
                bounds[p] = boxes[box, first]
            elif operation != CONSTANT:
                bounds[p, 0], bounds[p, 1] = _value(
                    operation,
                    bounds[first, 0],
                    bounds[first, 1],
                    bounds[second, 0],
                    bounds[second, 1],
                )
                known = known and bounds[p, 0] <= bounds[p, 1]
                if not known:
                    break
        for i in range(outputs.size if known else 0):
            values[box, i] = bounds[outputs[i]]


@compiled()
def _entered(
    operations: Integers,
    constants: Floats,
    boxes: Floats,
    begin: int,
    entries: tuple[Floats, Floats, Floats, Floats, Floats],
) -> None:
    """Write constants and inputs of eight boxes."""
    bounds, at, change, middle, radius = entries
    for w in range(_LANES):
        box = min(begin + w, boxes.shape[0] - 1)
        for k in range(boxes.shape[1]):
            middle[k, w] = 0.5 * (boxes[box, k, 0] + boxes[box, k, 1])
            apart = max(middle[k, w] - boxes[box, k, 0], boxes[box, k, 1] - middle[k, w])
            radius[k, w] = apart * (1.0 + _ONE) + _LEAST
        for p in range(operations.shape[0]):
            if operations[p, 0] == CONSTANT:
                bounds[p, 0, w], bounds[p, 1, w] = constants[p, 0], constants[p, 1]
                at[p, 0, w], at[p, 1, w] = constants[p, 0], constants[p, 1]
            elif operations[p, 0] == INPUT:
                first = operations[p, 1]
                bounds[p, 0, w], bounds[p, 1, w] = boxes[box, first, 0], boxes[box, first, 1]
                at[p, 0, w], at[p, 1, w] = middle[first, w], middle[first, w]
                for k in range(boxes.shape[1]):
                    change[p, k, 0, w] = change[p, k, 1, w] = 1.0 if k == first else 0.0


@compiled()
def _evaluate(
    operations: Integers,
    constants: Floats,
    outputs: Integers,
    boxes: Floats,
    values: Floats,
    slopes: Floats,
) -> None:
    count, n, total = operations.shape[0], slopes.shape[2], boxes.shape[0]
    bounds, at = np.empty((count, 2, _LANES)), np.empty((count, 2, _LANES))
    change = np.zeros((count, n, 2, _LANES))
    middle, radius = np.empty((n, _LANES)), np.empty((n, _LANES))
    factors, means = np.empty((4, _LANES)), np.empty((2, _LANES))
    # what is known of each box: ranges, derivatives, values in its middle
    known = np.empty(_LANES, np.bool_)
    smooth, central = np.empty(_LANES, np.bool_), np.empty(_LANES, np.bool_)
    for begin in range(0, total, _LANES):
        known[:], smooth[:], central[:] = True, True, True
        _entered(operations, constants, boxes, begin, (bounds, at, change, middle, radius))
        for p in range(count):
            operation, first, second = operations[p, 0], operations[p, 1], operations[p, 2]
            if operation <= INPUT:
                continue
            for w in range(_LANES):
                a, b = bounds[first, 0, w], bounds[first, 1, w]
                c, d = bounds[second, 0, w], bounds[second, 1, w]
                low, high = _value(operation, a, b, c, d)
                known[w] = known[w] and low <= high
                bounds[p, 0, w], bounds[p, 1, w] = low, high
                e, f, g, h = _factors(operation, a, b, c, d, low, high)
                smooth[w] = smooth[w] and e <= f
                factors[0, w], factors[1, w], factors[2, w], factors[3, w] = e, f, g, h
                low, high = _value(
                    operation, at[first, 0, w], at[first, 1, w], at[second, 0, w], at[second, 1, w]
                )
                central[w] = central[w] and low <= high
                at[p, 0, w], at[p, 1, w] = low, high
            if operation < SQUARE:
                _changed(factors, change[first], change[second], change[p])
            else:
                _changed_by_one(factors, change[first], change[p])
            _by_middle(at[p], change[p], radius, means)
            for w in range(_LANES):
                if known[w] and smooth[w] and central[w]:
                    bounds[p, 0, w] = max(bounds[p, 0, w], means[0, w])
                    bounds[p, 1, w] = min(bounds[p, 1, w], means[1, w])
        for w in range(min(_LANES, total - begin)):
            for i in range(outputs.size if known[w] else 0):
                for side in range(2):
                    values[0, begin + w, i, side] = bounds[outputs[i], side, w]
                    if central[w]:
                        values[1, begin + w, i, side] = at[outputs[i], side, w]
                    if smooth[w]:
                        for k in range(n):
                            slopes[begin + w, i, k, side] = change[outputs[i], k, side, w]
