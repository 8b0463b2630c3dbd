"""The time stepper, compiled: adaptive steps of one run, or of eight at a time, one in each lane.

What differs from method to method is one call, which makes a step from a table (explicit ones of
order 8(5,3), :mod:`~symderiv.integrate.steppers.explicit_steps`; implicit ones of order 9,
:mod:`~symderiv.integrate.steppers.implicit_steps`), and the numbers of its
:class:`~symderiv.integrate.steppers.memory.Control`. The choice of steps, results between them, the
cone and the ways to end are the same, and so is the text for one run and eight: its values are
doubles or lane values of ``symderiv_kernels.lanes.runtime``.

The right-hand side is a value, so that the stepper is compiled once for all solver modules, and
only for the method and the number of runs that is asked for. It works in slices: it makes at most a
given number of steps, leaves its whole state in the memory it was given and returns, so that Python
can show progress or be stopped. Nothing is allocated here and nothing is raised: the code for one
run also runs without its compiler (:mod:`symderiv.compiled_code.machine_code`).

Each lane has its own time, step, tolerances, constants and events; lanes differ in what they
accept, and a lane whose run has ended takes the next one from the queue at once. No operation mixes
lanes, so the numbers of a run depend neither on its neighbours nor on the number of threads.

Results between steps come from the ends of six of them, by
:mod:`symderiv.integrate.steppers.between_steps`, and so lag behind by two steps. Where the
estimated error of that is above the tolerance a step of half the length gives one more end to go
through, and where that does not do either each result is a shorter step of its own.

Source: :cite:`HairerNorsettWanner1993`, II.4 (step control).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
from numba import from_dtype, types

from symderiv.compiled_code.compiled import (
    CUBE,
    INTEGERS,
    LANE_RIGHT_HAND_SIDE,
    MATRIX,
    RIGHT_HAND_SIDE,
    VECTOR,
    compiled,
    hidden_part,
)
from symderiv.integrate.steppers import dop853_table, implicit_table
from symderiv.integrate.steppers.between_steps import Ends, fill_results
from symderiv.integrate.steppers.cone import field_covariance, outside_cone
from symderiv.integrate.steppers.explicit_steps import explicit_step
from symderiv.integrate.steppers.implicit_steps import implicit_step, set_length
from symderiv.integrate.steppers.memory import (
    CHORD,
    CONE_LEFT,
    DONE,
    ENDED,
    ENDS,
    EXPLICIT,
    IMPLICIT,
    KINDS,
    NEXT,
    NOT_A_NUMBER,
    RUNNING,
    STAGES,
    STATUS,
    STEP_LIMIT,
    STEP_UNDERFLOW,
    STOP,
    VALUES,
    VECTORS,
    Control,
    Memory,
    Runs,
)
from symderiv.integrate.steppers.one_or_eight import (
    chosen,
    evaluate,
    lane_bits,
    next_of,
    one_view,
    put_value,
    value_at,
    values_of,
    width_of,
    zero_of,
)
from symderiv.integrate.steppers.stepper_sources import stepper_digest

_CONTROLS = {EXPLICIT: dop853_table.CONTROL, IMPLICIT: implicit_table.CONTROL}
_REJECTIONS_IN_A_ROW = 60
_LEAST_LOG = math.log(1e-4)
_LARGEST = np.finfo(float).max
_ROUNDING = 4.0 * 2.2e-16
_IMPLICIT_KIND = KINDS.index(IMPLICIT)


class Workspace(NamedTuple):
    """The numbers of :class:`~symderiv.integrate.steppers.memory.Memory`, each a vector of doubles.

    Args:
        y, stages: see there; ``y`` is the last accepted state, or where a shorter step goes from.
        new, slope: the end of the step that is made.
        scratch: of the size of a state.
        time, start, length, error: of steps, one value for each run; ``time`` is where the
            equations are evaluated.
        mark: which runs something is done for.
        limits: relative and absolute tolerance, that of the cone, evaluations for shorter steps.
        parameters, covariance: of each run; (K + M)^2 values.
    """

    y: np.ndarray
    stages: np.ndarray
    new: np.ndarray
    slope: np.ndarray
    scratch: np.ndarray
    time: np.ndarray
    start: np.ndarray
    length: np.ndarray
    error: np.ndarray
    mark: np.ndarray
    limits: np.ndarray
    parameters: np.ndarray
    covariance: np.ndarray


@hidden_part
def workspace_of(rhs, runs, numbers):  # type: ignore[no-untyped-def]
    """Take the numbers apart, see :func:`~symderiv.integrate.steppers.memory.memory_of`."""
    width, size = width_of(zero_of(rhs)), runs.starts.shape[1]
    each, constants = width * size, width * runs.constants.shape[1]
    fields = runs.sizes[0] + runs.sizes[1]
    at = each * VECTORS
    # parts of what has no owner are taken without counting who refers to it
    return Workspace(
        one_view(numbers, 0, (each,)),
        one_view(numbers, each, (STAGES * each,)),
        one_view(numbers, each * (STAGES + 1), (each,)),
        one_view(numbers, each * (STAGES + 2), (each,)),
        one_view(numbers, each * (STAGES + 3), (each,)),
        one_view(numbers, at, (width,)),
        one_view(numbers, at + width, (width,)),
        one_view(numbers, at + 2 * width, (width,)),
        one_view(numbers, at + 3 * width, (width,)),
        one_view(numbers, at + 4 * width, (width,)),
        one_view(numbers, at + 5 * width, (4 * width,)),
        one_view(numbers, at + VALUES * width, (constants,)),
        one_view(numbers, at + VALUES * width + constants, (fields * fields * width,)),
    )


@hidden_part
def _unowned(runs):  # type: ignore[no-untyped-def]
    """Return the runs as arrays without owners."""
    n, size = runs.starts.shape
    count, constants = runs.asked.size, runs.constants.shape[1]
    return Runs(
        one_view(runs.queue, 0, (3,)),
        one_view(runs.starts, 0, (n, size)),
        one_view(runs.constants, 0, (n, constants)),
        one_view(runs.tolerances, 0, (n, 4)),
        one_view(runs.asked, 0, (count,)),
        one_view(runs.results, 0, (n, count, size)),
        one_view(runs.last, 0, (n, size)),
        one_view(runs.ended, 0, (n,)),
        one_view(runs.sizes, 0, (runs.sizes.size,)),
        one_view(runs.places, 0, (runs.places.size,)),
    )


@hidden_part
def _memory(memory):  # type: ignore[no-untyped-def]
    """Return the memory as arrays without owners."""
    width, size = memory.statuses.size, memory.ends.shape[3]
    return Memory(
        one_view(memory.statuses, 0, (width,)),
        one_view(memory.numbers, 0, (memory.numbers.size,)),
        one_view(memory.times, 0, (width, ENDS + 1)),
        one_view(memory.ends, 0, (width, ENDS + 1, 2, size)),
        one_view(memory.between, 0, (5, ENDS)),
        one_view(memory.order, 0, (ENDS,)),
        one_view(memory.implicit, 0, (memory.implicit.size,)),
        one_view(memory.made, 0, memory.made.shape),
        one_view(memory.followed, 0, memory.followed.shape),
    )


@hidden_part
def _take(runs, status, lane, width, space):  # type: ignore[no-untyped-def]
    """Put the next run of the queue into an idle lane, if there is one."""
    if runs.queue[STOP] != RUNNING or runs.queue[NEXT] >= runs.starts.shape[0]:
        return False
    number = next_of(runs.queue)
    if number >= runs.starts.shape[0]:
        return False
    for c in range(runs.starts.shape[1]):
        space.y[c * width + lane] = runs.starts[number, c]
    for c in range(runs.constants.shape[1]):
        space.parameters[c * width + lane] = runs.constants[number, c]
    for c in range(4):
        space.limits[c * width + lane] = runs.tolerances[number, c]
    status.run, status.code, status.alpha = number, RUNNING, 0.0
    status.accepted, status.rejected, status.in_a_row, status.results = 0, 0, 0, 0
    status.inside, status.halving, status.halved, status.own_until = -1, 0, -1, -1.0
    status.last_log, status.error_sum, status.evaluations, status.between = _LEAST_LOG, 0.0, 1, 0
    return True


@hidden_part
def _begin(rhs, runs, memory, space):  # type: ignore[no-untyped-def]
    """Slopes, first steps and results at alpha = 0 of marked runs; others keep theirs."""
    zero, size, sizes = zero_of(rhs), runs.starts.shape[1], runs.sizes
    width, count = width_of(zero), runs.asked.size
    put_value(space.time, 0, zero)
    evaluate(rhs, space.time, space.y, sizes, space.parameters, space.slope)
    fresh = value_at(zero, space.mark, 0) != 0.0
    y, moving = values_of(zero, space.y, 0, (size,)), values_of(zero, space.slope, 0, (size,))
    begin = values_of(zero, space.stages, 0, (size,))
    largest = 0.0 * zero
    for c in range(size):
        begin[c] = chosen(fresh, moving[c], begin[c])
        largest += abs(moving[c]) + abs(y[c])
    put_value(space.error, 0, largest)
    wanted = False
    for lane in range(memory.statuses.size):
        status = memory.statuses[lane]
        if space.mark[lane] == 0.0:
            continue
        _keep_end(memory.ends[lane, 0], space.y, space.slope, lane, width)
        memory.times[lane, 0] = 0.0
        while status.results < count and runs.asked[status.results] <= 0.0:
            for c in range(size):
                runs.results[status.run, status.results, c] = space.y[c * width + lane]
            status.results += 1
        if not space.error[lane] <= _LARGEST:
            status.code = NOT_A_NUMBER
        elif status.results == count:
            status.code = DONE
        else:
            wanted = True
            status.evaluations += 1
    if wanted:
        put_value(space.length, 0, _first_step(rhs, runs, space))
        for lane in range(memory.statuses.size):
            if space.mark[lane] != 0.0:
                memory.statuses[lane].step = space.length[lane]


@hidden_part
def _first_step(rhs, runs, space):  # type: ignore[no-untyped-def]
    """Return a first step from the sizes of the solution, its slope and its curvature."""
    zero, size = zero_of(rhs), runs.starts.shape[1]
    relative, absolute = value_at(zero, space.limits, 0), value_at(zero, space.limits, 1)
    end = runs.asked[runs.asked.size - 1] + zero
    d0 = _scaled_norm(space.y, space.y, size, relative, absolute)
    d1 = _scaled_norm(space.slope, space.y, size, relative, absolute)
    step = chosen((d0 < 1e-5) | (d1 < 1e-5), 1e-6 + zero, 0.01 * d0 / d1)
    step = min(step, end)
    at, y = values_of(zero, space.scratch, 0, (size,)), values_of(zero, space.y, 0, (size,))
    moving = values_of(zero, space.slope, 0, (size,))
    moved = values_of(zero, space.new, 0, (size,))
    for c in range(size):
        at[c] = y[c] + step * moving[c]
    put_value(space.time, 0, step)
    evaluate(rhs, space.time, space.scratch, runs.sizes, space.parameters, space.new)
    for c in range(size):
        moved[c] = (moved[c] - moving[c]) / step
    d2 = _scaled_norm(space.new, space.y, size, relative, absolute)
    largest = max(d1, d2)
    root = math.sqrt(math.sqrt(math.sqrt(0.01 / largest)))
    guess = chosen(largest <= 1e-15, max(1e-3 * step, 1e-6 + zero), root)
    shorter = min(min(100.0 * step, guess), end)
    return chosen(abs(d1) + abs(d2) <= _LARGEST, shorter, step)


@hidden_part
def _scaled_norm(values, y, size, relative, absolute):  # type: ignore[no-untyped-def]
    """Root-mean-square norm in units of the tolerance; what has tolerance zero does not count."""
    values, y = values_of(relative, values, 0, (size,)), values_of(relative, y, 0, (size,))
    total = 0.0 * relative
    for c in range(size):
        scale = absolute + relative * abs(y[c])
        counted = scale > 0.0
        part = chosen(counted, values[c], 0.0) / chosen(counted, scale, 1.0)
        total += part * part
    return math.sqrt(total / size)


@hidden_part
def _lengths(runs, memory, space, most):  # type: ignore[no-untyped-def]
    """Return how far each run goes in the next step.

    Returns:
        The lanes, as bits, that go on from their last step; that go on from an end before it; and
        those of the latter that go to the middle of a step.
    """
    end, ordinary, shorter, halving = runs.asked[runs.asked.size - 1], 0, 0, 0
    for lane in range(memory.statuses.size):
        status = memory.statuses[lane]
        space.length[lane], space.start[lane] = 0.0, status.alpha
        if status.run < 0:
            continue
        if status.code == RUNNING and runs.queue[STOP] != RUNNING:
            status.code, status.inside = runs.queue[STOP], -1
        if status.inside >= 0:
            start = memory.times[lane, status.inside % ENDS]
            if status.halving != 0:
                stop = memory.times[lane, (status.inside + 1) % ENDS]
                stop = start + 0.5 * (stop - start)
                halving |= 1 << lane
            else:
                stop = runs.asked[status.results]
            space.start[lane], space.length[lane] = start, stop - start
            shorter |= 1 << lane
        elif status.code == RUNNING and status.accepted + status.rejected >= most:
            status.code = STEP_LIMIT
        elif status.code == RUNNING:
            if status.alpha + 1.01 * status.step >= end:
                status.step = end - status.alpha
            space.length[lane] = status.step
            ordinary |= 1 << lane
    return ordinary, shorter, halving


@hidden_part
def _outside(rhs, runs, space):  # type: ignore[no-untyped-def]
    """Return in which lanes, as bits, the end of the step is outside the cone."""
    zero, sizes, covariance = zero_of(rhs), runs.sizes, space.covariance
    field_covariance(zero, space.new, sizes, runs.places, space.parameters, covariance)
    relative, absolute = value_at(zero, space.limits, 0), value_at(zero, space.limits, 1)
    size, cone = sizes[0] + sizes[1], value_at(zero, space.limits, 2)
    return lane_bits(outside_cone(zero, covariance, size, cone, absolute / relative))


@hidden_part
def _accepted(rhs, space, size, sloped):  # type: ignore[no-untyped-def]
    """Return the lanes, as bits, whose error is small and whose slope, where there is one, is
    finite.
    """
    zero = zero_of(rhs)
    error = value_at(zero, space.error, 0)
    if sloped != 0:
        slope = values_of(zero, space.slope, 0, (size,))
        missing = 0.0 * zero
        for c in range(size):
            missing += chosen(abs(slope[c]) <= _LARGEST, zero, 1.0 + zero)
        error = chosen((missing == 0.0) | (error > 1.0), error, math.nan + zero)
        put_value(space.error, 0, error)
    return lane_bits(error <= 1.0)


@hidden_part
def _rejected(status, lane, space, size, control):  # type: ignore[no-untyped-def]
    """Make the step shorter, or end the run."""
    error, width = space.error[lane], space.length.size
    status.rejected += 1
    status.in_a_row += 1
    known = abs(error) <= _LARGEST
    factor = 0.25
    if known:
        factor = control.safety * math.exp(-control.retry * math.log(error))
        factor = max(control.largest_shrink, factor)
    status.step *= factor
    if status.in_a_row > _REJECTIONS_IN_A_ROW or status.step <= _ROUNDING * status.alpha:
        # even such a step changes the state by more than a thousandth
        largest, change = 0.0, 0.0
        for c in range(size):
            largest = max(largest, abs(space.y[c * width + lane]))
            change = max(change, abs(status.step * space.stages[c * width + lane]))
        status.code = STEP_UNDERFLOW if known or change > 1e-3 * largest else NOT_A_NUMBER


@hidden_part
def _left_cone(status, control):  # type: ignore[no-untyped-def]
    """Make the step shorter where its error may have done that, or end the run."""
    if control.outside > 0.0:
        status.rejected += 1
        status.in_a_row += 1
        status.step *= 0.5
    if (
        status.in_a_row > control.outside
        or control.outside == 0.0
        or (status.step <= 1e-9 * status.alpha)
    ):
        status.code = CONE_LEFT


@hidden_part
def _went_on(status, error, relative, end, control):  # type: ignore[no-untyped-def]
    """Go on after an accepted step: the time that is reached, and the next step."""
    status.alpha = end if status.step == end - status.alpha else status.alpha + status.step
    growth, own = control.largest_growth, _LEAST_LOG
    if error > 0.0:
        own = math.log(error)
        growth = math.exp(control.integral * status.last_log - control.proportional * own)
        growth *= control.safety
        growth = min(control.largest_growth, max(control.least_growth, growth))
    if status.in_a_row > 0:
        growth = min(growth, 1.0)
    status.step *= growth
    status.last_log = max(own, _LEAST_LOG)
    status.in_a_row = 0
    status.error_sum += error * relative
    status.accepted += 1
    if status.alpha == end:
        status.code = DONE


@hidden_part
def _keep_end(end, state, slope, lane, width):  # type: ignore[no-untyped-def]
    """Put a lane's state and its slope among the ends."""
    for c in range(end.shape[1]):
        end[0, c] = state[c * width + lane]
        end[1, c] = slope[c * width + lane]


@hidden_part
def _settle(runs, memory, lane, space, bits, control):  # type: ignore[no-untyped-def]
    """Decide what becomes of a lane's step; marks a run that goes on from its end.

    ``bits`` are the lanes whose steps are shorter ones, accepted, and outside of the cone.
    """
    shorter, accepted, outside = bits
    status, size, width = memory.statuses[lane], runs.starts.shape[1], space.length.size
    if shorter >> lane & 1 != 0:
        if status.halving != 0:
            _keep_end(memory.ends[lane, ENDS], space.new, space.slope, lane, width)
            memory.times[lane, ENDS] = space.start[lane] + space.length[lane]
            status.halved = status.inside
        else:
            result = runs.results[status.run, status.results]
            for c in range(size):
                result[c] = space.new[c * width + lane]
            status.results += 1
    elif accepted >> lane & 1 == 0:
        _rejected(status, lane, space, size, control)
    elif outside >> lane & 1 != 0:
        _left_cone(status, control)
    else:
        space.mark[lane] = 1.0
        end = runs.asked[runs.asked.size - 1]
        _went_on(status, space.error[lane], space.limits[lane], end, control)
        slot = status.accepted % ENDS
        _keep_end(memory.ends[lane, slot], space.new, space.slope, lane, width)
        memory.times[lane, slot] = status.alpha


@hidden_part
def _go_on(rhs, space, size):  # type: ignore[no-untyped-def]
    """Let marked runs go on from the end of their step."""
    zero = zero_of(rhs)
    marked = value_at(zero, space.mark, 0) != 0.0
    y, begin = values_of(zero, space.y, 0, (size,)), values_of(zero, space.stages, 0, (size,))
    coming, moving = (
        values_of(zero, space.new, 0, (size,)),
        values_of(zero, space.slope, 0, (size,)),
    )
    for c in range(size):
        y[c] = chosen(marked, coming[c], y[c])
        begin[c] = chosen(marked, moving[c], begin[c])


@hidden_part
def _fill_chord(memory, lane, slot, space):  # type: ignore[no-untyped-def]
    """Fill the mean slope of the step after an end, for iterations of steps to results in it.

    Slopes of a state at rest are rounding, which steps of great length magnify.
    """
    coming = (slot + 1) % ENDS
    first, second = memory.ends[lane, slot, 0], memory.ends[lane, coming, 0]
    length = memory.times[lane, coming] - memory.times[lane, slot]
    for c in range(first.size):
        space.stages[CHORD * first.size + c] = (second[c] - first[c]) / length


@hidden_part
def _fill(runs, memory, lane, space, control):  # type: ignore[no-untyped-def]
    """Fill the results of a run behind its step, and end it where that was the last one."""
    status, width = memory.statuses[lane], space.length.size
    was, number = status.inside, status.run
    if status.results < runs.asked.size and runs.asked[status.results] <= status.alpha:
        scratch = one_view(space.scratch, 0, (runs.starts.shape[1],))
        ends = Ends(
            memory.times[lane], memory.ends[lane], memory.between[0], memory.order,
            memory.between[1:3], memory.between[3:5], scratch,
        )  # fmt: skip
        tolerances = space.limits[lane], space.limits[width + lane], space.limits[3 * width + lane]
        fill_results(status, runs.asked, runs.results[number], ends, tolerances, control)
    else:
        status.inside, status.halving = -1, 0
    if status.inside >= 0 or was >= 0:
        # where the lane goes on from: an end in front of a result, or the last one
        slot = (status.inside if status.inside >= 0 else status.accepted) % ENDS
        end = memory.ends[lane, slot]
        for c in range(end.shape[1]):
            space.y[c * width + lane] = end[0, c]
            space.stages[c * width + lane] = end[1, c]
        if status.inside >= 0 and status.kind == _IMPLICIT_KIND:
            _fill_chord(memory, lane, slot, space)
    if status.code == RUNNING or status.inside >= 0:
        return
    for c in range(runs.last.shape[1]):
        runs.last[number, c] = space.y[c * width + lane]
    runs.ended[number] = status
    status.run = -1
    next_of(runs.queue[ENDED:])


@hidden_part
def _taken(rhs, runs, memory, space):  # type: ignore[no-untyped-def]
    """Return whether there is any run, after idle lanes have taken theirs."""
    width = width_of(zero_of(rhs))
    active, begun = False, False
    for lane in range(memory.statuses.size):
        status = memory.statuses[lane]
        space.mark[lane] = 0.0
        if status.run < 0 and _take(runs, status, lane, width, space):
            space.mark[lane] = 1.0
            begun = True
        active = active or status.run >= 0
    if begun:
        _begin(rhs, runs, memory, space)
    return active


@hidden_part
def _moved(rhs, runs, memory, space, moved, control):  # type: ignore[no-untyped-def]
    """Decide what becomes of a step: the ways on, the results behind it, the runs that end.

    ``moved`` are the lanes, as bits, of ordinary steps and of shorter ones, and those whose slope
    was needed; and the other evaluations of each.
    """
    ordinary, shorter, sloped, cost = moved
    size, statuses, accepted, outside = runs.starts.shape[1], memory.statuses, 0, 0
    if ordinary != 0:
        accepted = _accepted(rhs, space, size, sloped)
    if accepted & ordinary != 0:
        outside = _outside(rhs, runs, space)
    for lane in range(statuses.size):
        space.mark[lane] = 0.0
        if (ordinary | shorter) >> lane & 1 != 0:
            taken = cost + (sloped >> lane & 1)
            statuses[lane].evaluations += taken
            statuses[lane].between += taken * (shorter >> lane & 1)
            _settle(runs, memory, lane, space, (shorter, accepted, outside), control)
    if accepted & ordinary != 0:
        _go_on(rhs, space, size)
    for lane in range(statuses.size):
        status = statuses[lane]
        if status.run >= 0 and (
            space.mark[lane] != 0.0 or status.code != RUNNING or status.inside >= 0
        ):
            _fill(runs, memory, lane, space, control)


_STATUSES = from_dtype(STATUS)[::1]
_RUNS = types.NamedTuple(
    (INTEGERS, MATRIX, MATRIX, MATRIX, VECTOR, CUBE, MATRIX, _STATUSES, INTEGERS, INTEGERS), Runs
)
_MEMORY = types.NamedTuple(
    (
        _STATUSES,
        VECTOR,
        MATRIX,
        types.float64[:, :, :, ::1],
        MATRIX,
        INTEGERS,
        VECTOR,
        MATRIX,
        MATRIX,
    ),
    Memory,
)


@cache
def stepper(width: int = 1, method: str = EXPLICIT) -> Callable[..., None]:
    """Return the compiled stepper for so many runs at a time, 1 or 8, and a method.

    Implicit steps are made of one run at a time.
    """
    return _kept_with(int(stepper_digest()[:15], 16), width, method, _CONTROLS[method])


def _kept_with(digest: int, width: int, method: str, control: Control) -> Callable[..., None]:
    implicit = method == IMPLICIT
    right_hand_side = RIGHT_HAND_SIDE if width == 1 else LANE_RIGHT_HAND_SIDE

    @compiled(
        (right_hand_side, _RUNS, _MEMORY, types.int64, types.int64),
        fastmath={"reassoc", "contract"},
    )
    def advance(
        rhs: Callable[..., None], runs: Runs, memory: Memory, steps: int, most: int
    ) -> None:
        """Make steps; several threads may share the runs.

        Args:
            rhs: ``flat_right_hand_side`` of a generated module, or of a lane module.
            runs, memory: see :mod:`symderiv.integrate.steppers.memory`.
            steps: accepted and rejected, after which to return.
            most: steps of a run after which it is given up.
        """
        digest  # noqa: B018 - compiled code is kept by what the function mentions
        runs, memory, size = _unowned(runs), _memory(memory), runs.starts.shape[1]
        space, made = workspace_of(rhs, runs, memory.numbers), 0
        while _taken(rhs, runs, memory, space):
            first = memory.statuses[0]
            if steps <= made and first.inside < 0 and runs.queue[STOP] == RUNNING:
                return
            if implicit and first.inside < 0 and first.code == RUNNING:
                set_length(first, memory.implicit, memory.followed)
            ordinary, shorter, halving = _lengths(runs, memory, space, most)
            cost, sloped = 0, 0
            if ordinary | shorter != 0:
                if implicit:
                    cost, sloped = implicit_step(rhs, runs, space, size, ordinary, memory)
                else:
                    cost, sloped = explicit_step(rhs, runs.sizes, space, size, ordinary, halving)
            _moved(rhs, runs, memory, space, (ordinary, shorter, sloped, cost), control)
            if implicit and ordinary != 0 and space.mark[0] != 0.0:
                memory.made[made, 0], memory.made[made, 1] = space.start[0], space.length[0]
            made += ordinary != 0

    made: Callable[..., None] = advance
    return made
