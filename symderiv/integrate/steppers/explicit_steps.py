"""Steps of an explicit Runge-Kutta method from its table; of one run or eight.

Source: :cite:`HairerNorsettWanner1993`, II.10 (error norm of the 8(5,3) pair).
"""

from __future__ import annotations

import math

import numpy as np

from symderiv.compiled_code.compiled import hidden_part
from symderiv.integrate.steppers import dop853_table as table
from symderiv.integrate.steppers.one_or_eight import (
    chosen,
    evaluate,
    lane_bits,
    one_view,
    put_value,
    value_at,
    values_of,
    width_of,
    zero_of,
)

_NODES, _COUNT = table.NODES, table.NODES.size
_LARGEST = np.finfo(float).max


def _sparse(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return of each row the places that are not zero and their weights, and in how many fours.

    What is missing to a four has weight zero at a place that is there.
    """
    most = 4 * -(-rows.shape[1] // 4)
    where = np.zeros((len(rows), most), dtype=np.int64)
    weights = np.zeros((len(rows), most))
    fours = np.zeros(len(rows), dtype=np.int64)
    for number, row in enumerate(rows):
        places = np.flatnonzero(row)
        where[number, : places.size], weights[number, : places.size] = places, row[places]
        fours[number] = -(-places.size // 4)
    return where, weights, fours


# The solution is one more stage at which the equations are not evaluated.
_WHERE, _WEIGHTS, _FOURS = _sparse(np.vstack([table.STAGES, table.SOLUTION]))
_ESTIMATES = np.array([table.ERROR_5, table.ERROR_3, table.ERROR_6])
_ESTIMATED = np.flatnonzero(np.abs(_ESTIMATES).sum(axis=0))
_ERROR_5, _ERROR_3, _ERROR_6 = np.ascontiguousarray(_ESTIMATES[:, _ESTIMATED])


@hidden_part
def explicit_step(rhs, sizes, space, size, ordinary, sloped):  # type: ignore[no-untyped-def]
    """Fill ``space.new`` and ``space.error`` by a step from y, whose slope is the first stage.

    Where it is accepted ``space.slope`` is filled too, that of the new state.

    Args:
        rhs: of one run or eight.
        sizes: K, M, L.
        space: see :class:`~symderiv.integrate.steppers.stepper.Workspace`.
        size: numbers of a state.
        ordinary: the lanes, as bits, whose steps go on from the last one.
        sloped: lanes in which the slope is needed in any case.

    Returns:
        Evaluations, and the lanes in which one more was needed, for the slope.
    """
    zero = zero_of(rhs)
    length, start = value_at(zero, space.length, 0), value_at(zero, space.start, 0)
    each = width_of(zero) * size
    for s in range(1, _COUNT):
        _combine(s, length, space, size, space.scratch)
        put_value(space.time, 0, start + _NODES[s] * length)
        stage = one_view(space.stages, s * each, (each,))
        evaluate(rhs, space.time, space.scratch, sizes, space.parameters, stage)
    _combine(_COUNT, length, space, size, space.new)
    needed = sloped
    if ordinary != 0:
        error = _error_norm(length, space, size)
        needed = needed | (lane_bits(error <= 1.0) & ordinary)
        put_value(space.error, 0, error)
    if needed != 0:
        put_value(space.time, 0, start + length)
        evaluate(rhs, space.time, space.new, sizes, space.parameters, space.slope)
    return _COUNT - 1, needed


@hidden_part
def _combine(row, length, space, size, out):  # type: ignore[no-untyped-def]
    """out = y + length * the weighted sum of stages of a row of the table."""
    y, out = values_of(length, space.y, 0, (size,)), values_of(length, out, 0, (size,))
    for four in range(_FOURS[row]):
        first = 4 * four
        k0 = values_of(length, space.stages, size * _WHERE[row, first], (size,))
        k1 = values_of(length, space.stages, size * _WHERE[row, first + 1], (size,))
        k2 = values_of(length, space.stages, size * _WHERE[row, first + 2], (size,))
        k3 = values_of(length, space.stages, size * _WHERE[row, first + 3], (size,))
        w0, w1 = length * _WEIGHTS[row, first], length * _WEIGHTS[row, first + 1]
        w2, w3 = length * _WEIGHTS[row, first + 2], length * _WEIGHTS[row, first + 3]
        if four == 0:
            for c in range(size):
                out[c] = y[c] + ((w0 * k0[c] + w1 * k1[c]) + (w2 * k2[c] + w3 * k3[c]))
        else:
            for c in range(size):
                out[c] += (w0 * k0[c] + w1 * k1[c]) + (w2 * k2[c] + w3 * k3[c])


@hidden_part
def _error_norm(length, space, size):  # type: ignore[no-untyped-def]
    """Return the estimated local error in units of the tolerance; not a number if anything is
    not.
    """
    y, new = values_of(length, space.y, 0, (size,)), values_of(length, space.new, 0, (size,))
    k = values_of(length, space.stages, 0, (_COUNT, size))
    relative, absolute = value_at(length, space.limits, 0), value_at(length, space.limits, 1)
    fifth, third, sixth = 0.0 * length, 0.0 * length, 0.0 * length
    for c in range(size):
        e5, e3, e6 = 0.0 * length, 0.0 * length, 0.0 * length
        for m in range(_ESTIMATED.size):
            stage = k[_ESTIMATED[m], c]
            e5 += _ERROR_5[m] * stage
            e3 += _ERROR_3[m] * stage
            e6 += _ERROR_6[m] * stage
        scale = absolute + relative * max(abs(y[c]), abs(new[c]))
        # tolerance zero for a component that is exactly zero: no error is no error
        inverse = 1.0 / chosen(scale > 0.0, scale, 1e-300)
        e5 *= inverse
        e3 *= inverse
        e6 *= inverse
        fifth += e5 * e5
        third += e3 * e3
        sixth += e6 * e6
    denominator = fifth + 0.01 * third
    usual = chosen(denominator == 0.0, denominator, fifth / math.sqrt(denominator))
    # near the limit of stability the usual estimate is blind (see the table)
    blind = math.sqrt(sixth)
    return length * chosen(usual > blind, usual, blind) / math.sqrt(size)
