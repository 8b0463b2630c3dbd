r"""Steps of an implicit method of order 9, for long runs whose fast modes have died out.

Steps of order 8 are limited to 6 over the fastest rate, however smooth the solution has become;
these are limited by accuracy alone. Their Newton iterations need linear systems with the Jacobian,
which are solved mode by mode: given sums :math:`z = \sum_k W_k x_k` over the modes (Q and R) and
the few numbers v that stand alone, the equations of one mode x_k are linear in x_k and in nothing
else of the state (:mod:`~symderiv.integrate.steppers.coupled_modes`), so that

.. math:: (\mu - D_k)\, \delta x_k = F_k\, (\delta v, \delta z) + \text{residual}_k, \qquad
   \delta z = \sum_k W_k\, \delta x_k,

with blocks :math:`D_k` and a border :math:`F_k = \partial f_k / \partial(v, z)`: a small matrix for
each mode and one more for v and z.

The Jacobian is kept as long as iterations converge fast with it, and the eliminated matrices as
long as a step would be at most a fifth longer than theirs. Errors of both do not enter the
solution, only the number of iterations.

Source: :cite:`HairerWanner1996`, IV.8.
"""

from __future__ import annotations

import math

from symderiv_kernels.fast.runtime import view

from symderiv.compiled_code.compiled import hidden_part
from symderiv.integrate.steppers import implicit_table as table
from symderiv.integrate.steppers.implicit_jacobian import fill_jacobian
from symderiv.integrate.steppers.implicit_systems import eliminate_all, solve_all
from symderiv.integrate.steppers.implicit_work import (
    CONVERGENCE,
    ELIMINATED,
    GIVEN,
    JACOBIAN,
    PREDICTS_FROM,
    PREDICTS_LENGTH,
    SHORTER,
    work_of,
)
from symderiv.integrate.steppers.memory import CHORD, IMPLICIT_STAGES, IMPLICIT_SYSTEMS

_NODES, _ERROR = table.NODES, table.ERROR
_REAL, _IMAGINARY = table.REAL, table.IMAGINARY
_TO_REAL, _TO_IMAGINARY = table.TO_REAL, table.TO_IMAGINARY
_BACK_REAL, _BACK_IMAGINARY = table.BACK_REAL, table.BACK_IMAGINARY
_COUNT, _SYSTEMS = IMPLICIT_STAGES, IMPLICIT_SYSTEMS
_ITERATIONS = 9
# Changes at which iterations of a step to a result may come to rest, in those that are allowed:
# what rounding leaves of a result goes no further.
_RESTING = 30.0
# How often a step to a result is divided where iterations do not converge.
_MOST_HALVINGS = 6
# Iterations that converge as fast keep their Jacobian.
_FAST = 0.003
_FURTHER = 1.2
# Steps of a run that follows another one, in those of that run: its errors are four times as large,
# at the order of the method. They are rejected only at so many times the error of others, because
# shorter ones could be those of the other run again.
_LONGER, _REJECTED = 1.15, 10.0
# The estimate is the error of a solution of order 5: tolerances of it are those for which the error
# of the solution of order 9 is the one asked for.
_POWER = (_COUNT + 1.0) / (2.0 * _COUNT)
_PART = 0.1
_ROUNDING = 1e-15
_LARGEST = 1e300
# An error that makes the next step half as long.
_HALVES = (2.0 * table.CONTROL.safety) ** (1.0 / table.CONTROL.retry)


@hidden_part
def set_length(status, head, followed):  # type: ignore[no-untyped-def]
    """Keep the length of the step of before, if the next one would not be much longer.

    Where another run is followed the next one is longer than the step of that run at this time;
    after a rejected one not before it would be as long by itself.
    """
    before = head[ELIMINATED]
    if head[JACOBIAN] > 0.0 and before <= status.step <= _FURTHER * before:
        status.step = before
    head[GIVEN] = 0.0
    first, last = 0, followed.shape[0]
    while first < last:
        middle = (first + last) // 2
        if followed[middle, 0] <= status.alpha:
            first = middle + 1
        else:
            last = middle
    if first > 0 and status.alpha < followed[first - 1, 0] + followed[first - 1, 1]:
        length = _LONGER * followed[first - 1, 1]
        if status.in_a_row > 0:
            head[SHORTER] = 1.0
        elif head[SHORTER] == 0.0 or status.step >= length:
            head[SHORTER], head[GIVEN], status.step = 0.0, 1.0, length


@hidden_part
def implicit_step(rhs, runs, space, size, ordinary, memory):  # type: ignore[no-untyped-def]
    """Step as :func:`~symderiv.integrate.steppers.explicit_steps.explicit_step`, of one run.

    Args:
        rhs: of one run.
        runs: see :class:`~symderiv.integrate.steppers.memory.Runs`; its sizes are used.
        space: see :class:`~symderiv.integrate.steppers.stepper.Workspace`.
        size: numbers of a state.
        ordinary: not zero if the step goes on from the last one.
        memory: see :class:`~symderiv.integrate.steppers.memory.Memory`.
    """
    work = work_of(memory.implicit, size)
    head, start, length = work.head, space.start[0], space.length[0]
    tolerance = _fill_scale(work, space, size)
    evaluations, solved = _solve(rhs, work, runs, space, size, ordinary, tolerance)
    if not solved and ordinary == 0:
        evaluations += _in_parts(rhs, work, runs, space, size, tolerance)
    stages = view(space.stages, (_COUNT + 1) * size, (_COUNT, size))
    missing = 0.0
    for c in range(size):
        space.new[c] = space.y[c] + stages[_COUNT - 1, c]
        missing += 0.0 if abs(space.new[c]) <= _LARGEST else 1.0
    space.error[0] = math.nan if missing > 0.0 else _HALVES
    if solved and ordinary != 0:
        _fill_error(rhs, work, runs, space, size)
        evaluations += 1
        if head[GIVEN] > 0.0 and 1.0 < space.error[0] <= _REJECTED:
            space.error[0] = 1.0
        if space.error[0] <= 1.0:
            _keep_stages(work, stages, start, length)
    if head[CONVERGENCE] > _FAST and ordinary != 0:
        head[JACOBIAN] = 0.0
    rhs(start + length, space.new, runs.sizes, space.parameters, space.slope)
    return evaluations, 1


@hidden_part
def _solve(rhs, work, runs, space, size, ordinary, tolerance):  # type: ignore[no-untyped-def]
    """Solve for the stages, if need be with a Jacobian of this time; return the evaluations, and
    whether iterations converged.
    """
    head, start, length = work.head, space.start[0], space.length[0]
    evaluations, solved = 0, False
    for attempt in range(2):
        # a Jacobian of this very time cannot be improved
        if solved or (attempt > 0 and head[JACOBIAN] == start + 1.0):
            break
        if head[JACOBIAN] == 0.0 or attempt > 0:
            evaluations += fill_jacobian(rhs, work, runs, space, start)
            head[JACOBIAN], head[ELIMINATED] = start + 1.0, 0.0
        if head[ELIMINATED] != length:
            for system in range(_SYSTEMS):
                eliminate_all(work, system, _REAL[system] / length, _IMAGINARY[system] / length)
            head[ELIMINATED] = length
        _predict(work, space, size, ordinary != 0, attempt == 0)
        resting = 0.0 if ordinary != 0 else _RESTING * tolerance
        iterations, solved = _iterate(rhs, work, runs, space, size, tolerance, resting)
        evaluations += _COUNT * iterations
    return evaluations, solved


@hidden_part
def _in_parts(rhs, work, runs, space, size, tolerance):  # type: ignore[no-untyped-def]
    """Go the length of a step in halves, quarters, ... until iterations converge in all of them.

    An ordinary step that does not converge is made shorter, but this one has to end at a result. If
    the smallest parts do not converge, the result is not a number. The state is left where the last
    part begins, with its stages. Returns the evaluations.
    """
    start, length, evaluations = space.start[0], space.length[0], 0
    slope = view(space.stages, 0, (size,))
    stages = view(space.stages, (_COUNT + 1) * size, (_COUNT, size))
    for c in range(size):
        space.scratch[c] = space.y[c]
    parts, solved = 1, False
    for _ in range(_MOST_HALVINGS):
        if solved:
            break
        parts, solved = 2 * parts, True
        space.length[0] = length / parts
        for c in range(size):
            space.y[c] = space.scratch[c]
        for part in range(parts):
            if not solved:
                break
            for c in range(size):
                space.y[c] += stages[_COUNT - 1, c] if part > 0 else 0.0
            space.start[0] = start + part * space.length[0]
            rhs(space.start[0], space.y, runs.sizes, space.parameters, slope)
            more, solved = _solve(rhs, work, runs, space, size, 0, tolerance)
            evaluations += more + 1
    for c in range(size):
        stages[_COUNT - 1, c] += 0.0 if solved else math.nan
    space.start[0], space.length[0], work.head[JACOBIAN] = start, length, 0.0
    return evaluations


@hidden_part
def _fill_scale(work, space, size):  # type: ignore[no-untyped-def]
    """Fill what errors are compared with; return the largest error of iterations in it.

    What rounding leaves of a number goes with the largest of its kind: all modes of one overlap, or
    all numbers alone of one field.
    """
    relative, absolute = space.limits[0], space.limits[1]
    estimated = _PART * relative**_POWER
    allowed = max(10.0 * _ROUNDING / estimated, min(0.03, relative / estimated))
    least = 5.0 * _ROUNDING / allowed
    estimated_absolute = absolute * estimated / relative
    S, L = work.unsummed.shape
    G = work.alone.size
    for kind in range(S + G):
        count = L if kind < S else G
        largest = 0.0
        for k in range(count):
            if kind < S or work.fields[k] == work.fields[kind - S]:
                place = int(work.rows[kind]) + k if kind < S else int(work.alone[k])
                largest = max(largest, abs(space.y[place]))
        for k in range(count):
            if kind < S or k == kind - S:
                place = int(work.rows[kind]) + k if kind < S else int(work.alone[k])
                scale = estimated_absolute + estimated * abs(space.y[place]) + least * largest
                work.scale[place] = max(scale, 1e-300)
    return allowed


@hidden_part
def _predict(work, space, size, ordinary, first):  # type: ignore[no-untyped-def]
    """Fill the stages that iterations begin with: from the last step, along the slope, or, where
    the step leads to a result, along the chord of the step around it.
    """
    stages = view(space.stages, (_COUNT + 1) * size, (_COUNT, size))
    start, length = space.start[0], space.length[0]
    before, begun = work.head[PREDICTS_LENGTH], work.head[PREDICTS_FROM]
    along = view(space.stages, 0 if ordinary else CHORD * size, (size,))
    for j in range(_COUNT):
        for c in range(size):
            stages[j, c] = _NODES[j] * length * along[c]
        if not (ordinary and first and before > 0.0 and begun + before == start):
            continue
        # the polynomial through the stages of that step, and its beginning
        at = (before + _NODES[j] * length) / before
        for c in range(size):
            stages[j, c] = -work.predicts[_COUNT - 1, c]
        for m in range(_COUNT):
            weight = at / _NODES[m]
            for other in range(_COUNT):
                if other != m:
                    weight *= (at - _NODES[other]) / (_NODES[m] - _NODES[other])
            for c in range(size):
                stages[j, c] += weight * work.predicts[m, c]


@hidden_part
def _keep_stages(work, stages, start, length):  # type: ignore[no-untyped-def]
    """Keep the stages of a step, to predict those of the next one."""
    for j in range(_COUNT):
        for c in range(stages.shape[1]):
            work.predicts[j, c] = stages[j, c]
    work.head[PREDICTS_FROM], work.head[PREDICTS_LENGTH] = start, length


@hidden_part
def _iterate(rhs, work, runs, space, size, allowed, resting):  # type: ignore[no-untyped-def]
    """Make Newton's iterations; return how many, and whether they converged.

    Iterations that come to rest at changes below ``resting`` have converged as far as rounding lets
    them.
    """
    slopes = view(space.stages, size, (_COUNT, size))
    stages = view(space.stages, (_COUNT + 1) * size, (_COUNT, size))
    start, length, head = space.start[0], space.length[0], work.head
    before, ratio, rate = 0.0, 1.0, 0.0
    for iteration in range(_ITERATIONS):
        for j in range(_COUNT):
            for c in range(size):
                space.new[c] = space.y[c] + stages[j, c]
            rhs(start + _NODES[j] * length, space.new, runs.sizes, space.parameters, slopes[j])
        for system in range(_SYSTEMS):
            _fill_residual(work, system, slopes, stages, length)
            solve_all(work, system)
        change = _changed(work, stages)
        if not change <= _LARGEST:
            return iteration + 1, False
        if iteration > 0:
            now = change / before
            rate = now if iteration == 1 else math.sqrt(now * ratio)
            ratio = now
            head[CONVERGENCE] = rate
            left = _ITERATIONS - 1 - iteration
            if rate >= 0.5 and change <= resting:
                return iteration + 1, True
            if rate >= 0.99 or (iteration > 1 and rate**left * change > allowed * (1.0 - rate)):
                return iteration + 1, False
        # of the first iteration nothing is known but how fast those of the last step converged
        known = rate if iteration > 0 else min(max(head[CONVERGENCE], 1e-3), 0.3)
        if known / (1.0 - known) * change <= allowed or change <= _ROUNDING:
            return iteration + 1, True
        before = max(change, 1e-300)
    return _ITERATIONS, False


@hidden_part
def _fill_residual(work, system, slopes, stages, length):  # type: ignore[no-untyped-def]
    """Fill the right-hand side of a system."""
    real, imaginary = _REAL[system] / length, _IMAGINARY[system] / length
    to_r, to_i = _TO_REAL[system], _TO_IMAGINARY[system]
    change_r, change_i = work.change_real[system], work.change_imaginary[system]
    for c in range(change_r.size):
        slope_r, slope_i, stage_r, stage_i = 0.0, 0.0, 0.0, 0.0
        for j in range(_COUNT):
            slope_r += to_r[j] * slopes[j, c]
            slope_i += to_i[j] * slopes[j, c]
            stage_r += to_r[j] * stages[j, c]
            stage_i += to_i[j] * stages[j, c]
        change_r[c] = slope_r - (real * stage_r - imaginary * stage_i)
        change_i[c] = slope_i - (real * stage_i + imaginary * stage_r)


@hidden_part
def _changed(work, stages):  # type: ignore[no-untyped-def]
    """Change the stages by the solutions of all systems; return by how much, in the scale."""
    total = 0.0
    for j in range(_COUNT):
        for c in range(work.scale.size):
            change = 0.0
            for system in range(_SYSTEMS):
                change += _BACK_REAL[j, system] * work.change_real[system, c]
                change -= _BACK_IMAGINARY[j, system] * work.change_imaginary[system, c]
            stages[j, c] += change
            total += (change / work.scale[c]) ** 2
    return math.sqrt(total / (_COUNT * work.scale.size))


@hidden_part
def _fill_error(rhs, work, runs, space, size):  # type: ignore[no-untyped-def]
    """Fill the estimated error of the step, in the tolerance.

    Where it is too large it is found again from the slope at the state that it would change y to,
    which takes fast modes out of it.
    """
    stages = view(space.stages, (_COUNT + 1) * size, (_COUNT, size))
    slope, moved = space.stages, space.scratch
    change_r, change_i = work.change_real[0], work.change_imaginary[0]
    for again in range(2):
        for c in range(size):
            apart = 0.0
            for j in range(_COUNT):
                apart += _ERROR[j] * stages[j, c]
            change_r[c] = slope[c] + apart * _REAL[0] / space.length[0]
            change_i[c] = 0.0
        solve_all(work, 0)
        total = 0.0
        for c in range(size):
            total += (change_r[c] / work.scale[c]) ** 2
            moved[c] = space.y[c] + change_r[c]
        error = math.sqrt(total / size)
        if again > 0 or error <= 1.0:
            break
        rhs(space.start[0], moved, runs.sizes, space.parameters, space.slope)
        slope = space.slope
    space.error[0] = error
