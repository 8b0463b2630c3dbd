"""Adaptive Dormand-Prince 8(5,3) steps of eight runs at a time, one in each lane.

The method and its step control are those of :mod:`symderiv.integrate.steppers.stepper`. Each lane
has its own time, step, tolerances, constants and events; lanes differ in what they accept, and a
lane whose run has ended takes the next one from the queue at once. No operation mixes lanes, so the
numbers of a run depend neither on its neighbours nor on the number of threads.

Results between steps come from the ends of six of them, as those of single runs
(:mod:`symderiv.integrate.steppers.between_steps`). Where the estimated error of that is above the
tolerance the lane makes a shorter step of its own for each result.

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
from symderiv_kernels.fast.runtime import view as unowned
from symderiv_kernels.lanes.runtime import (
    DIGEST,
    WIDTH,
    chosen,
    lane_bits,
    lanes_at,
    next_of,
    not_a_lane,
    put_lanes,
    view,
)

from symderiv.compiled_code.compiled import INTEGERS, MATRIX, VECTOR, compiled
from symderiv.integrate.steppers import dop853_table as table
from symderiv.integrate.steppers.between_steps import (
    BETWEEN,
    ENDS,
    hermite_constants,
    hermite_weights,
)
from symderiv.integrate.steppers.stepper import (
    CONE_LEFT,
    DONE,
    INTERRUPTED,
    NOT_A_NUMBER,
    STEP_LIMIT,
    STEP_UNDERFLOW,
)
from symderiv.problem.flat_layout import place_of

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
_ESTIMATES = np.array([table.ERROR_5[:12], table.ERROR_3[:12], table.ERROR_6[:12]])
_ESTIMATED = np.flatnonzero(np.abs(_ESTIMATES).sum(axis=0))
_ERROR_5, _ERROR_3, _ERROR_6 = np.ascontiguousarray(_ESTIMATES[:, _ESTIMATED])

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
    sixth = 0.0 * length
    for c in range(size):
        e5 = 0.0 * length
        e3 = 0.0 * length
        e6 = 0.0 * length
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


@_inside
def _outside_cone(new, sizes, places, parameters, tolerance, room):  # type: ignore[no-untyped-def]
    """In which lanes the covariance of the fields has an eigenvalue clearly below zero.

    As :func:`symderiv.integrate.steppers.stepper.outside_cone` tells it.
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


@_inside
def _fill(weights, value):  # type: ignore[no-untyped-def]
    # an assignment to a slice would compile the texts of its errors, which takes seconds
    for i in range(weights.shape[0]):
        for j in range(weights.shape[1]):
            weights[i, j] = value


@_inside
def _between(  # type: ignore[no-untyped-def]
    asked, results, filled, newest, last, times, ends, own_until, relative, absolute, room
):
    """Results of one run up to two steps before the last one, or all of them up to it.

    Args:
        asked: shape (A,).
        results: of the run, shape (A, S).
        filled: how many there are.
        newest: number of the last end of a step; number e stands at e % ENDS.
        last: whether to fill up to it.
        times, ends: of the ends, their values and slopes; shapes (ENDS,), (ENDS, 2, S).
        own_until: results up to this time are steps of their own.
        relative, absolute: tolerances.
        room: shape (5, ENDS).

    Returns:
        How many there are now; the number of the end from which the next one is to be a step of
        its own, or -1; the time up to which results are.
    """
    size = results.shape[1]
    oldest = max(0, newest - ENDS + 1)
    ready = newest if last else newest - 2
    if (newest < ENDS - 1 and not last) or ready <= oldest:
        return filled, -1, own_until
    count = newest - oldest + 1
    there, constants, weights = room[0], room[1:3], room[3:5]
    prepared = -1
    for e in range(oldest, ready):
        begin, end = e % ENDS, (e + 1) % ENDS
        stop = times[end]
        while filled < asked.size and asked[filled] <= stop:
            alpha = asked[filled]
            if alpha == stop:
                for c in range(size):
                    results[filled, c] = ends[end, 0, c]
                filled += 1
                continue
            if alpha <= own_until:
                return filled, e, own_until
            if prepared < 0:
                prepared = e
                for i in range(count):
                    there[i] = times[(oldest + i) % ENDS]
            if prepared <= e:
                # the difference that leaving out the end farthest from here makes, once a step
                prepared = e + 1
                at = times[begin] + 0.75 * (stop - times[begin])
                _fill(weights, 0.0)
                hermite_constants(there[:count], constants[:, :count])
                hermite_weights(at, there[:count], constants[:, :count], weights[:, :count])
                first = 1 if at - there[0] > there[count - 1] - at else 0
                fewer = slice(first, first + count - 1)
                for i in range(count):
                    weights[0, i] *= -1.0
                    weights[1, i] *= -1.0
                hermite_constants(there[fewer], constants[:, fewer])
                hermite_weights(at, there[fewer], constants[:, fewer], weights[:, fewer])
                total = 0.0
                for c in range(size):
                    error = 0.0
                    for i in range(count):
                        slot = (oldest + i) % ENDS
                        error += weights[0, i] * ends[slot, 0, c] + weights[1, i] * ends[slot, 1, c]
                    scale = absolute + relative * max(abs(ends[begin, 0, c]), abs(ends[end, 0, c]))
                    total += (error / max(scale, 1e-300)) ** 2
                if not total <= BETWEEN**2 * size:
                    own_until = stop
                    return filled, e, own_until
                hermite_constants(there[:count], constants[:, :count])
            _fill(weights, 0.0)
            hermite_weights(alpha, there[:count], constants[:, :count], weights[:, :count])
            for i in range(count):
                slot = (oldest + i) % ENDS
                value, slope = weights[0, i], weights[1, i]
                for c in range(size):
                    before = 0.0 if i == 0 else results[filled, c]
                    results[filled, c] = (
                        before + value * ends[slot, 0, c] + slope * ends[slot, 1, c]
                    )
            filled += 1
    return filled, -1, own_until


#: How many numbers, besides those of states, and how many integers the stepper works with.
_NUMBERS, _INTEGERS = 10, 8


def workspace(size: int, constants: int, fields: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The memory of one thread, in whole lines of the cache.

    Args:
        size: numbers of a state.
        constants: of a run.
        fields: K + M.
    """
    numbers = WIDTH * (16 * size + constants + fields * fields + 3 + _NUMBERS + ENDS) + 5 * ENDS
    whole = np.zeros(numbers + 8)
    first = (-whole.ctypes.data // 8) % 8
    return whole[first:], np.zeros((_INTEGERS, WIDTH), np.int64), np.zeros((WIDTH, ENDS, 2, size))


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
            VECTOR,
            types.int64[:, ::1],
            types.float64[:, :, :, ::1],
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
        numbers: np.ndarray,
        integers: np.ndarray,
        ends: np.ndarray,
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
            numbers, integers, ends: what :func:`workspace` gives.
        """
        digest  # noqa: B018 - compiled code is kept by what the function mentions
        n, size, count = starts.shape[0], starts.shape[1], asked.size
        end = asked[count - 1]
        width = size * WIDTH
        # not a constant: loops of eight turns would be written out, which takes long to compile
        lanes = integers.shape[1]
        # parts of what has no owner are taken without counting who refers to it
        numbers = unowned(numbers, 0, (numbers.size,))
        results = unowned(results, 0, (n, count, size))
        ends = unowned(ends, 0, (WIDTH, ENDS, 2, size))
        y, new = numbers[:width], numbers[width : 2 * width]
        slope, scratch = numbers[2 * width : 3 * width], numbers[3 * width : 4 * width]
        stages = numbers[4 * width : 16 * width]
        at = 16 * width
        parameters = numbers[at : at + constants.shape[1] * WIDTH]
        at += parameters.size
        room = numbers[at : at + (sizes[0] + sizes[1]) ** 2 * WIDTH]
        at += room.size
        limits = numbers[at : at + 3 * WIDTH]
        walk = unowned(numbers, at + 3 * WIDTH, (_NUMBERS, WIDTH))
        times, alpha, step, length, error = walk[0], walk[1], walk[2], walk[3], walk[4]
        last_log, mask, own_until, error_sum = walk[5], walk[6], walk[7], walk[8]
        ring = unowned(numbers, at + (3 + _NUMBERS) * WIDTH, (WIDTH, ENDS))
        run, code, filled, newest = integers[0], integers[1], integers[2], integers[3]
        in_a_row, rejected = integers[4], integers[5]
        evaluations, inside = integers[6], integers[7]
        weights = unowned(numbers, at + (3 + _NUMBERS + ENDS) * WIDTH, (5, ENDS))
        values, begin = view(y, 0, (size,)), view(stages, 0, (size,))
        coming, moving = view(new, 0, (size,)), view(slope, 0, (size,))
        for lane in range(lanes):
            run[lane] = -1
            for c in range(constants.shape[1]):
                parameters[c * WIDTH + lane] = 1.0
            for c in range(3):
                limits[c * WIDTH + lane] = 1.0
        active, empty = 0, False
        while True:
            begun = False
            for lane in range(lanes):
                mask[lane] = 0.0
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
                run[lane], alpha[lane], in_a_row[lane], rejected[lane] = number, 0.0, 0, 0
                last_log[lane], mask[lane] = math.log(_LEAST_ERROR), 1.0
                filled[lane], newest[lane], code[lane], inside[lane] = 0, 0, -1, -1
                own_until[lane], error_sum[lane], evaluations[lane] = -1.0, 0.0, 2
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
                fresh = lanes_at(mask, 0) != 0.0
                put_lanes(step, 0, chosen(fresh, first, lanes_at(step, 0)))
                largest = 0.0 * relative
                for c in range(size):
                    begin[c] = chosen(fresh, moving[c], begin[c])
                    largest += abs(moving[c]) + abs(values[c])
                put_lanes(error, 0, largest)
                for lane in range(lanes):
                    if mask[lane] == 0.0:
                        continue
                    ring[lane, 0] = 0.0
                    for c in range(size):
                        ends[lane, 0, 0, c] = y[c * WIDTH + lane]
                        ends[lane, 0, 1, c] = slope[c * WIDTH + lane]
                    while filled[lane] < count and asked[filled[lane]] <= 0.0:
                        for c in range(size):
                            results[run[lane], filled[lane], c] = y[c * WIDTH + lane]
                        filled[lane] += 1
                    if not error[lane] <= _LARGEST:
                        code[lane] = NOT_A_NUMBER
                    elif filled[lane] == count:
                        code[lane] = DONE
            for lane in range(lanes):
                length[lane] = 0.0
                if run[lane] < 0:
                    continue
                if queue[STOP] != 0:
                    code[lane], inside[lane] = INTERRUPTED, -1
                elif inside[lane] >= 0:
                    length[lane] = asked[filled[lane]] - ring[lane, inside[lane] % ENDS]
                elif code[lane] < 0 and newest[lane] + rejected[lane] >= most:
                    code[lane] = STEP_LIMIT
                elif code[lane] < 0:
                    if alpha[lane] + 1.01 * step[lane] >= end:
                        step[lane] = end - alpha[lane]
                    length[lane] = step[lane]
            # one step of order 8 in every lane
            h, now = lanes_at(length, 0), lanes_at(alpha, 0)
            for s in range(1, 12):
                _combine(s, stages, h, y, size, scratch)
                put_lanes(times, 0, now + _NODES[s] * h)
                rhs(times, scratch, sizes, parameters, stages[s * width : (s + 1) * width])
            _combine(12, stages, h, y, size, new)
            put_lanes(times, 0, now + h)
            rhs(times, new, sizes, parameters, slope)
            found = _error_norm(stages, h, y, new, size, relative, absolute)
            largest = 0.0 * relative
            for c in range(size):
                largest = max(largest, chosen(abs(moving[c]) <= _LARGEST, 0.0, 1.0))
            finite = largest == 0.0
            put_lanes(error, 0, chosen(finite, found, np.nan))
            accepted = lane_bits((found <= 1.0) & finite)
            tolerance = lanes_at(limits, 2)
            left = lane_bits(_outside_cone(new, sizes, places, parameters, tolerance, room))
            for lane in range(lanes):
                mask[lane] = 0.0
                number = run[lane]
                if number < 0:
                    continue
                if inside[lane] >= 0:
                    evaluations[lane] += 11
                    for c in range(size):
                        results[number, filled[lane], c] = new[c * WIDTH + lane]
                    filled[lane] += 1
                    continue
                if code[lane] >= 0:
                    continue
                evaluations[lane] += 12
                if accepted >> lane & 1 == 0:
                    rejected[lane] += 1
                    in_a_row[lane] += 1
                    factor = 0.25
                    known = error[lane] <= _LARGEST
                    if known:
                        factor = _SAFETY * math.exp(-_EXPONENT * math.log(error[lane]))
                        factor = max(_LARGEST_SHRINK, factor)
                    step[lane] *= factor
                    short = step[lane] <= 4.0 * 2.2e-16 * alpha[lane]
                    if short or in_a_row[lane] > _REJECTIONS_IN_A_ROW:
                        # even such a step changes the state by more than a thousandth
                        greatest, change = 0.0, 0.0
                        for c in range(size):
                            greatest = max(greatest, abs(y[c * WIDTH + lane]))
                            moved = abs(step[lane] * stages[c * WIDTH + lane])
                            change = max(change, moved)
                        known = known or change > 1e-3 * greatest
                        code[lane] = STEP_UNDERFLOW if known else NOT_A_NUMBER
                    continue
                if left >> lane & 1 != 0:
                    code[lane] = CONE_LEFT
                    continue
                mask[lane] = 1.0
                alpha[lane] = end if step[lane] == end - alpha[lane] else alpha[lane] + step[lane]
                newest[lane] += 1
                slot = newest[lane] % ENDS
                ring[lane, slot] = alpha[lane]
                for c in range(size):
                    ends[lane, slot, 0, c] = new[c * WIDTH + lane]
                    ends[lane, slot, 1, c] = slope[c * WIDTH + lane]
                growth, own = _LARGEST_GROWTH, math.log(_LEAST_ERROR)
                if error[lane] > 0.0:
                    own = math.log(error[lane])
                    growth = _SAFETY * math.exp(_INTEGRAL * last_log[lane] - _EXPONENT * own)
                    growth = min(_LARGEST_GROWTH, max(_LARGEST_SHRINK, growth))
                if in_a_row[lane] > 0:
                    growth = min(growth, 1.0)
                step[lane] *= growth
                last_log[lane] = max(own, math.log(_LEAST_ERROR))
                in_a_row[lane] = 0
                error_sum[lane] += error[lane] * limits[lane]
                if alpha[lane] == end:
                    code[lane] = DONE
            kept = lanes_at(mask, 0) != 0.0
            for c in range(size):
                values[c] = chosen(kept, coming[c], values[c])
                begin[c] = chosen(kept, moving[c], begin[c])
            for lane in range(lanes):
                number = run[lane]
                if number < 0 or (mask[lane] == 0.0 and code[lane] < 0 and inside[lane] < 0):
                    continue
                was = inside[lane]
                next_asked = asked[filled[lane]] if filled[lane] < count else math.inf
                wanted = -1
                if next_asked <= alpha[lane]:
                    filled[lane], wanted, own_until[lane] = _between(
                        asked, results[number], filled[lane], newest[lane], code[lane] >= 0,
                        ring[lane], ends[lane], own_until[lane], limits[lane],
                        limits[WIDTH + lane], weights,
                    )  # fmt: skip
                if code[lane] == INTERRUPTED:
                    wanted = -1
                inside[lane] = wanted
                if wanted >= 0 or was >= 0:
                    # where the lane goes on from: an end in front of a result, or the last one
                    slot = (wanted if wanted >= 0 else newest[lane]) % ENDS
                    for c in range(size):
                        y[c * WIDTH + lane] = ends[lane, slot, 0, c]
                        stages[c * WIDTH + lane] = ends[lane, slot, 1, c]
                if code[lane] < 0 or wanted >= 0:
                    continue
                slot = newest[lane] % ENDS
                for c in range(size):
                    last[number, c] = ends[lane, slot, 0, c]
                ended[number, CODE], ended[number, ALPHA] = code[lane], alpha[lane]
                ended[number, ERROR_SUM], ended[number, ACCEPTED] = error_sum[lane], newest[lane]
                ended[number, REJECTED], ended[number, RESULTS] = rejected[lane], filled[lane]
                ended[number, EVALUATIONS] = evaluations[lane]
                run[lane] = -1
                active -= 1
                next_of(queue[ENDED:])

    return run_lanes


run_lanes = _kept_with(DIGEST)
