"""Adaptive Dormand-Prince 8(5,3) steps of eight runs at a time, one in each lane.

The method and its step control are those of :mod:`symderiv.dynamics.stepping.stepper`. Each lane
has its own time, step, tolerances, constants and events; lanes differ in what they accept, and a
lane whose run has ended takes the next one from the queue at once. No operation mixes lanes, so the
numbers of a run depend neither on its neighbours nor on the number of threads.

Steps end at output times. The step that control had found for the way behind is kept over a step
that was cut short.

Source: :cite:`HairerNorsettWanner1993`, II.4 (step control), II.10 (error norm of
the 8(5,3) pair).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from numba import types
from symderiv_kernels.lanes.runtime import (
    DIGEST,
    LANES,
    WIDTH,
    any_lane,
    chosen,
    lane_bits,
    lanes_at,
    next_of,
    not_a_lane,
    put_lanes,
    view,
)

from symderiv.compiled import INTEGERS, MATRIX, VECTOR, compiled
from symderiv.dynamics.stepping import dop853_table as table
from symderiv.dynamics.stepping.stepper import (
    CONE_LEFT,
    DONE,
    INTERRUPTED,
    NOT_A_NUMBER,
    STEP_LIMIT,
    STEP_UNDERFLOW,
)
from symderiv.dynamics.studies.flat_layout import place_of

__all__ = ["LANES", "run_lanes"]

#: A lane module's right-hand side as a value: (alpha, state, sizes, parameters, derivative).
LANE_RIGHT_HAND_SIDE = types.FunctionType(types.void(VECTOR, VECTOR, INTEGERS, VECTOR, VECTOR))

#: Columns of what is known of a run when it has ended.
CODE, ALPHA, ERROR_SUM, ACCEPTED, REJECTED, EVALUATIONS, RESULTS = range(7)
COLUMNS = 7
#: Places in the queue: the next run, how many have ended, whether to stop.
NEXT, ENDED, STOP = range(3)

_STUDENTS, _CROSS = place_of("student_overlap"), place_of("cross_overlap")
_EIGENVALUE, _WEIGHT, _TEACHER = place_of("eigenvalue"), place_of("weight"), place_of("T")

_NODES = table.NODES
_SAFETY, _LARGEST_SHRINK, _LARGEST_GROWTH = 0.9, 1.0 / 3.0, 6.0
_INTEGRAL = 0.04
_EXPONENT = 1.0 / 8.0 - 0.2 * _INTEGRAL
_REJECTIONS_IN_A_ROW = 60
_LEAST_ERROR = 1e-4
_LARGEST = np.finfo(float).max


def _sparse(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of each row the places that are not zero and their weights, and in how many fours.

    What is missing to a four has weight zero at a place that is there.
    """
    most = 4 * -(-rows.shape[1] // 4)
    where = np.zeros((len(rows), most), dtype=np.int64)
    weights = np.zeros((len(rows), most))
    fours = np.zeros(len(rows), dtype=np.int64)
    for number, row in enumerate(rows):
        found = np.flatnonzero(row)
        where[number, : found.size], weights[number, : found.size] = found, row[found]
        fours[number] = -(-found.size // 4)
    return where, weights, fours


# The solution is one more stage at which the equations are not evaluated.
_WHERE, _WEIGHTS, _FOURS = _sparse(np.vstack([table.STAGES, table.SOLUTION]))
_ESTIMATED = np.flatnonzero(np.abs(table.ERROR_5[:12]) + np.abs(table.ERROR_3[:12]))
_ERROR_5, _ERROR_3 = table.ERROR_5[_ESTIMATED], table.ERROR_3[_ESTIMATED]

# Compiled with the function below and kept with it only: it knows what the lanes are made of.
_inside: Any = numba.njit(error_model="numpy", fastmath={"reassoc", "contract"}, inline="never")


@_inside
def _combine(row, stages, length, y, size, out):  # type: ignore[no-untyped-def]
    """out = y + length * the weighted sum of stages of a row of the table."""
    y, out = view(y, 0, (size,)), view(out, 0, (size,))
    for four in range(_FOURS[row]):
        first = 4 * four
        k0 = view(stages, size * _WHERE[row, first], (size,))
        k1 = view(stages, size * _WHERE[row, first + 1], (size,))
        k2 = view(stages, size * _WHERE[row, first + 2], (size,))
        k3 = view(stages, size * _WHERE[row, first + 3], (size,))
        w0, w1 = length * _WEIGHTS[row, first], length * _WEIGHTS[row, first + 1]
        w2, w3 = length * _WEIGHTS[row, first + 2], length * _WEIGHTS[row, first + 3]
        for c in range(size):
            before = y[c] if four == 0 else out[c]
            out[c] = before + ((w0 * k0[c] + w1 * k1[c]) + (w2 * k2[c] + w3 * k3[c]))


@_inside
def _error_norm(stages, length, y, new, size, relative, absolute):  # type: ignore[no-untyped-def]
    """The estimated local error in units of the tolerance; not a number if anything is not."""
    y, new, k = view(y, 0, (size,)), view(new, 0, (size,)), view(stages, 0, (12, size))
    fifth = 0.0 * length
    third = 0.0 * length
    for c in range(size):
        e5 = 0.0 * length
        e3 = 0.0 * length
        for m in range(_ESTIMATED.size):
            stage = k[_ESTIMATED[m], c]
            e5 += _ERROR_5[m] * stage
            e3 += _ERROR_3[m] * stage
        scale = absolute + relative * max(abs(y[c]), abs(new[c]))
        # tolerance zero for a component that is exactly zero: no error is no error
        inverse = 1.0 / chosen(scale > 0.0, scale, 1e-300)
        e5 *= inverse
        e3 *= inverse
        fifth += e5 * e5
        third += e3 * e3
    denominator = fifth + 0.01 * third
    found = length * fifth / math.sqrt(denominator * size)
    return chosen(denominator == 0.0, denominator, found)


@_inside
def _outside_cone(new, sizes, places, parameters, tolerance, room):  # type: ignore[no-untyped-def]
    """In which lanes the covariance of the fields has an eigenvalue clearly below zero.

    As :func:`symderiv.dynamics.stepping.stepper.outside_cone` tells it.
    """
    K, M, L = sizes[0], sizes[1], sizes[2]
    students = view(new, places[_STUDENTS], (K, K, L))
    cross = view(new, places[_CROSS], (K, M, L))
    eigenvalue = view(parameters, places[_EIGENVALUE], (L,))
    weight = view(parameters, places[_WEIGHT], (L,))
    teacher = view(parameters, places[_TEACHER], (M, M))
    factor = view(room, 0, (K + M, K + M))
    outside = not_a_lane()
    for a in range(K + M):
        for b in range(a + 1):
            total = 0.0 * tolerance
            if a < K:
                for k in range(L):
                    total += weight[k] * eigenvalue[k] * students[b, a, k]
            elif b < K:
                for k in range(L):
                    total += weight[k] * cross[b, a - K, k]
            else:
                total += teacher[b - K, a - K]
            if a == b:
                total += tolerance * abs(total)
            for c in range(b):
                total -= factor[a, c] * factor[b, c]
            if a == b:
                # a field of variance exactly zero is on the edge of the cone, not outside
                outside = outside | (total < 0.0) | (total != total)
                factor[a, a] = math.sqrt(max(total, 0.0))
            else:
                pivot = factor[b, b]
                free = pivot > 0.0
                outside = outside | chosen_outside(free, total)
                factor[a, b] = chosen(free, total, 0.0) / chosen(free, pivot, 1.0)
    return outside


@_inside
def chosen_outside(free, total):  # type: ignore[no-untyped-def]
    """Where a covariance with a field of variance zero is not zero."""
    return chosen(free, 0.0 * total, total) != 0.0


@_inside
def _scaled_norm(values, y, size, relative, absolute):  # type: ignore[no-untyped-def]
    """Root-mean-square norm in units of the tolerance; what has tolerance zero does not count."""
    values, y = view(values, 0, (size,)), view(y, 0, (size,))
    total = 0.0 * relative
    for c in range(size):
        scale = absolute + relative * abs(y[c])
        counted = scale > 0.0
        part = chosen(counted, values[c], 0.0) / chosen(counted, scale, 1.0)
        total += part * part
    return math.sqrt(total / size)


@_inside
def _first_step(  # type: ignore[no-untyped-def]
    rhs, y, slope, sizes, parameters, times, room, other, size, end, relative, absolute
):
    """A first step from the sizes of the solution, its slope and its curvature."""
    d0 = _scaled_norm(y, y, size, relative, absolute)
    d1 = _scaled_norm(slope, y, size, relative, absolute)
    step = chosen((d0 < 1e-5) | (d1 < 1e-5), 1e-6 + 0.0 * d0, 0.01 * d0 / d1)
    step = min(step, end)
    at, moving = view(room, 0, (size,)), view(slope, 0, (size,))
    values = view(y, 0, (size,))
    for c in range(size):
        at[c] = values[c] + step * moving[c]
    put_lanes(times, 0, step)
    rhs(times, room, sizes, parameters, other)
    moved = view(other, 0, (size,))
    for c in range(size):
        moved[c] = (moved[c] - moving[c]) / step
    d2 = _scaled_norm(other, y, size, relative, absolute)
    largest = max(d1, d2)
    root = math.sqrt(math.sqrt(math.sqrt(0.01 / largest)))
    guess = chosen(largest <= 1e-15, max(1e-3 * step, 1e-6), root)
    found = min(min(100.0 * step, guess), end)
    return chosen(abs(d1) + abs(d2) <= _LARGEST, found, step)


def _kept_with(digest: int) -> Any:
    """The stepper, compiled, by the digest of what lanes are made of."""

    @compiled(
        (
            LANE_RIGHT_HAND_SIDE,
            INTEGERS,
            MATRIX,
            MATRIX,
            MATRIX,
            INTEGERS,
            INTEGERS,
            VECTOR,
            types.float64[:, :, ::1],
            MATRIX,
            MATRIX,
            types.int64,
        ),
        fastmath={"reassoc", "contract"},
    )
    def run_lanes(
        rhs: Callable[..., None],
        queue: np.ndarray,
        starts: np.ndarray,
        constants: np.ndarray,
        tolerances: np.ndarray,
        sizes: np.ndarray,
        places: np.ndarray,
        asked: np.ndarray,
        results: np.ndarray,
        last: np.ndarray,
        ended: np.ndarray,
        most: int,
    ) -> None:
        """Take runs from a queue until it is empty; several threads may share one.

        Args:
            rhs: ``flat_right_hand_side`` of a lane module.
            queue: NEXT, ENDED, STOP; shape (3,).
            starts: states at alpha = 0, shape (n, S).
            constants: in the layout of the modules, shape (n, P).
            tolerances: relative, absolute, of the cone test; shape (n, 3).
            sizes, places: as in the scalar stepper.
            asked: ascending times of the results, shape (A,).
            results: shape (n, A, S), filled row by row.
            last: states of the last accepted steps, shape (n, S).
            ended: shape (n, COLUMNS).
            most: steps, accepted and rejected, after which a run is given up.
        """
        digest  # noqa: B018 - compiled code is kept by what the function mentions
        n, size, count = starts.shape[0], starts.shape[1], asked.size
        end = asked[count - 1]
        width = size * WIDTH
        y, new = np.zeros(width), np.zeros(width)
        slope, scratch = np.zeros(width), np.zeros(width)
        stages = np.zeros(12 * width)
        parameters = np.ones(constants.shape[1] * WIDTH)
        fields = sizes[0] + sizes[1]
        room = np.zeros(fields * fields * WIDTH)
        limits = np.ones(3 * WIDTH)
        times, alpha, step = np.zeros(WIDTH), np.zeros(WIDTH), np.zeros(WIDTH)
        length, target, error = np.zeros(WIDTH), np.zeros(WIDTH), np.zeros(WIDTH)
        last_log, beginning = np.zeros(WIDTH), np.zeros(WIDTH)
        hit, code = np.zeros(WIDTH, np.int64), np.zeros(WIDTH, np.int64)
        run, filled = np.full(WIDTH, -1), np.zeros(WIDTH, np.int64)
        in_a_row, active, empty = np.zeros(WIDTH, np.int64), 0, False
        while True:
            begun = False
            for lane in range(WIDTH):
                beginning[lane] = 0.0
                if run[lane] >= 0 or empty:
                    continue
                number = next_of(queue)
                if number >= n:
                    empty = True
                    continue
                for c in range(size):
                    y[c * WIDTH + lane] = starts[number, c]
                for c in range(constants.shape[1]):
                    parameters[c * WIDTH + lane] = constants[number, c]
                for c in range(3):
                    limits[c * WIDTH + lane] = tolerances[number, c]
                for c in range(COLUMNS):
                    ended[number, c] = 0.0
                run[lane], alpha[lane], in_a_row[lane] = number, 0.0, 0
                last_log[lane], beginning[lane] = math.log(_LEAST_ERROR), 1.0
                filled[lane], code[lane] = 0, -1
                active += 1
                begun = True
            if active == 0:
                return
            relative, absolute = lanes_at(limits, 0), lanes_at(limits, 1)
            if begun:
                # what the first step is made from; lanes on their way keep theirs
                put_lanes(times, 0, lanes_at(alpha, 0))
                rhs(times, y, sizes, parameters, slope)
                first = _first_step(
                    rhs, y, slope, sizes, parameters, times, scratch, new, size,
                    end + 0.0 * relative, relative, absolute,
                )  # fmt: skip
                fresh = lanes_at(beginning, 0) != 0.0
                put_lanes(step, 0, chosen(fresh, first, lanes_at(step, 0)))
                begin, moving = view(stages, 0, (size,)), view(slope, 0, (size,))
                values, largest = view(y, 0, (size,)), 0.0 * relative
                for c in range(size):
                    begin[c] = chosen(fresh, moving[c], begin[c])
                    largest += abs(moving[c]) + abs(values[c])
                put_lanes(error, 0, largest)
                for lane in range(WIDTH):
                    if beginning[lane] == 0.0:
                        continue
                    number = run[lane]
                    while filled[lane] < count and asked[filled[lane]] <= 0.0:
                        for c in range(size):
                            results[number, filled[lane], c] = y[c * WIDTH + lane]
                        filled[lane] += 1
                    ended[number, EVALUATIONS] = 2.0
                    if not error[lane] <= _LARGEST:
                        code[lane] = NOT_A_NUMBER
                    elif filled[lane] == count:
                        code[lane] = DONE
            stopped = queue[STOP] != 0
            for lane in range(WIDTH):
                number = run[lane]
                length[lane] = 0.0
                if number < 0:
                    continue
                if stopped:
                    code[lane] = INTERRUPTED
                elif code[lane] < 0 and (ended[number, ACCEPTED] + ended[number, REJECTED] >= most):
                    code[lane] = STEP_LIMIT
                if code[lane] >= 0:
                    continue
                target[lane] = asked[filled[lane]]
                length[lane] = step[lane]
                hit[lane] = 0
                if alpha[lane] + 1.01 * step[lane] >= target[lane]:
                    length[lane] = target[lane] - alpha[lane]
                    hit[lane] = 1
            # one step of order 8 in every lane
            h, now = lanes_at(length, 0), lanes_at(alpha, 0)
            for s in range(1, 13):
                if s < 12:
                    _combine(s, stages, h, y, size, scratch)
                    put_lanes(times, 0, now + _NODES[s] * h)
                    stage = stages[s * width : (s + 1) * width]
                    rhs(times, scratch, sizes, parameters, stage)
                else:
                    _combine(s, stages, h, y, size, new)
            put_lanes(times, 0, now + h)
            rhs(times, new, sizes, parameters, slope)
            found = _error_norm(stages, h, y, new, size, relative, absolute)
            moving, largest = view(slope, 0, (size,)), 0.0 * relative
            for c in range(size):
                largest = max(largest, chosen(abs(moving[c]) <= _LARGEST, 0.0, 1.0))
            finite = largest == 0.0
            put_lanes(error, 0, chosen(finite, found, np.nan))
            accepted = lane_bits((found <= 1.0) & finite)
            tolerance = lanes_at(limits, 2)
            left = lane_bits(_outside_cone(new, sizes, places, parameters, tolerance, room))
            for lane in range(WIDTH):
                beginning[lane] = 0.0
                number = run[lane]
                if number < 0 or code[lane] >= 0:
                    continue
                ended[number, EVALUATIONS] += 12.0
                if accepted >> lane & 1 == 0:
                    ended[number, REJECTED] += 1.0
                    in_a_row[lane] += 1
                    factor = 0.25
                    known = error[lane] <= _LARGEST
                    if known:
                        factor = _SAFETY * math.exp(-_EXPONENT * math.log(error[lane]))
                        factor = max(_LARGEST_SHRINK, factor)
                    step[lane] = length[lane] * factor
                    short = step[lane] <= 4.0 * 2.2e-16 * alpha[lane]
                    if short or in_a_row[lane] > _REJECTIONS_IN_A_ROW:
                        code[lane] = STEP_UNDERFLOW if known else NOT_A_NUMBER
                    continue
                if left >> lane & 1 != 0:
                    code[lane] = CONE_LEFT
                    continue
                beginning[lane] = 1.0
                alpha[lane] = target[lane] if hit[lane] else alpha[lane] + length[lane]
                if hit[lane]:
                    for c in range(size):
                        results[number, filled[lane], c] = new[c * WIDTH + lane]
                    filled[lane] += 1
                growth = _LARGEST_GROWTH
                own = math.log(_LEAST_ERROR)
                if error[lane] > 0.0:
                    own = math.log(error[lane])
                    growth = _SAFETY * math.exp(_INTEGRAL * last_log[lane] - _EXPONENT * own)
                    growth = min(_LARGEST_GROWTH, max(_LARGEST_SHRINK, growth))
                cut = hit[lane] and growth == _LARGEST_GROWTH
                if in_a_row[lane] > 0:
                    growth = min(growth, 1.0)
                if cut:
                    # the step was too short to say anything about those behind
                    step[lane] = max(step[lane], length[lane] * growth)
                else:
                    step[lane] = length[lane] * growth
                    last_log[lane] = max(own, math.log(_LEAST_ERROR))
                in_a_row[lane] = 0
                ended[number, ACCEPTED] += 1.0
                ended[number, ERROR_SUM] += error[lane] * limits[lane]
                if filled[lane] == count:
                    code[lane] = DONE
            kept = lanes_at(beginning, 0) != 0.0
            values, coming = view(y, 0, (size,)), view(new, 0, (size,))
            begin = view(stages, 0, (size,))
            if any_lane(kept):
                for c in range(size):
                    values[c] = chosen(kept, coming[c], values[c])
                    begin[c] = chosen(kept, moving[c], begin[c])
            for lane in range(WIDTH):
                number = run[lane]
                if number < 0 or code[lane] < 0:
                    continue
                for c in range(size):
                    last[number, c] = y[c * WIDTH + lane]
                ended[number, CODE], ended[number, ALPHA] = code[lane], alpha[lane]
                ended[number, RESULTS] = filled[lane]
                run[lane] = -1
                active -= 1
                next_of(queue[ENDED:])

    return run_lanes


run_lanes = _kept_with(DIGEST)
