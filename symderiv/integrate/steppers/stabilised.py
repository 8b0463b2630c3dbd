"""Steps of a stabilised method in compiled code, for long runs whose fast modes have died out.

A step of order 8 is limited to 6 over the fastest rate, however smooth the solution has become.
With s stages ROCK4 reaches 0.35 s^2 over that rate; s is chosen in each step.

The fastest rate comes from a nonlinear power iteration on differences of the right-hand side; where
it is too small, a step fails, and is made again with a rate found anew.

Source: :cite:`Abdulle2002`; step control as in :cite:`HairerNorsettWanner1993`, II.4.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from symderiv.compiled_code.compiled import compiled
from symderiv.integrate.steppers import stabilised_table as table
from symderiv.integrate.steppers.between_steps import hermite_constants, hermite_weights
from symderiv.integrate.steppers.stepper import (
    ADVANCE,
    estimate,
    field_covariance,
    norm,
    outside_cone,
    scale,
    through,
)
from symderiv.integrate.steppers.walk import (
    CONE_LEFT,
    DONE,
    ENDS,
    NOT_A_NUMBER,
    RUNNING,
    STEP_UNDERFLOW,
)

_DEGREES, _STARTS = table.DEGREES, table.STARTS
_RECURRENCE, _STAGES = table.RECURRENCE, table.STAGES
_SOLUTION, _ERROR = table.SOLUTION, table.ERROR

_LAST_STAGES = 4
# Of the bound for h * rate 3 are left for what is not on the axis.
_STABLE, _SPARE = 0.353, 3.0
# What the power iteration finds is below the largest rate.
_RATE_MARGIN = 1.1
_FIRST_ITERATIONS, _MORE_ITERATIONS = 30, 2
_STEPS_BETWEEN_RATES = 10
_SAFETY = 0.8
# The estimate is the error of a solution of order 3. With this part of it what becomes of the
# errors of many steps is about as large as with explicit steps of the same tolerance.
_CAREFUL = 0.5
# Proportional-integral control, against rejected steps.
_PROPORTIONAL, _INTEGRAL = 0.2, 0.08
_LARGEST_GROWTH = 2.0
_REJECTIONS_IN_A_ROW = 60
_OUTSIDE_IN_A_ROW = 6
_ANY_ORDER = {"reassoc", "contract"}


@compiled()
def degree_for(step: float, rate: float) -> int:
    """The number of the cheapest method that is stable; the last one if none is."""
    stages = math.sqrt((_SPARE + step * rate) / _STABLE) + 1.0
    number = 0
    while number < _DEGREES.size - 1 and _DEGREES[number] + _LAST_STAGES < stages:
        number += 1
    return number


@compiled()
def longest_step(rate: float) -> float:
    """The longest step that the last method is stable for."""
    stages = float(_DEGREES[_DEGREES.size - 1] + _LAST_STAGES - 1)
    return (_STABLE * stages * stages - _SPARE) / rate


@compiled(fastmath=_ANY_ORDER)
def _fastest_rate(
    rhs: Callable[..., None],
    alpha: float,
    y: np.ndarray,
    slope: np.ndarray,
    sizes: np.ndarray,
    parameters: np.ndarray,
    direction: np.ndarray,
    moved: np.ndarray,
    changed: np.ndarray,
    iterations: int,
) -> float:
    """The size of the largest eigenvalue; ``direction`` is where to start and comes to its own."""
    rate = 0.0
    size = 0.0
    for c in range(y.size):
        size += y[c] * y[c]
    size = math.sqrt(size)
    for _ in range(iterations):
        length = 0.0
        for c in range(y.size):
            length += direction[c] * direction[c]
        length = math.sqrt(length)
        if not (length > 0.0 and math.isfinite(length)):
            for c in range(y.size):
                direction[c] = 1.0
            length = math.sqrt(y.size)
        part = 1e-7 * max(size, 1e-10) / length
        for c in range(y.size):
            moved[c] = y[c] + part * direction[c]
        rhs(alpha, moved, sizes, parameters, changed)
        longer = 0.0
        for c in range(y.size):
            direction[c] = (changed[c] - slope[c]) / (part * length)
            longer += direction[c] * direction[c]
        rate = math.sqrt(longer)
    return _RATE_MARGIN * rate


@compiled(fastmath=_ANY_ORDER)
def _combine(
    first: float, one: np.ndarray, second: float, two: np.ndarray, y: np.ndarray, out: np.ndarray
) -> None:
    """out = y + first one + second two."""
    for c in range(out.size):
        out[c] = y[c] + first * one[c] + second * two[c]


@compiled(fastmath=_ANY_ORDER)
def _recur(mu: float, slope: np.ndarray, kappa: float, now: np.ndarray, before: np.ndarray) -> None:
    """before = mu slope + (1 + kappa) now - kappa before, the next stage."""
    for c in range(now.size):
        before[c] = mu * slope[c] + (1.0 + kappa) * now[c] - kappa * before[c]


@compiled(fastmath=_ANY_ORDER)
def stabilised_step(
    rhs: Callable[..., None],
    alpha: float,
    step: float,
    number: int,
    y: np.ndarray,
    sizes: np.ndarray,
    parameters: np.ndarray,
    room: np.ndarray,
    target: np.ndarray,
) -> None:
    """One step of the method with a number from y, whose slope is room[0], into ``target``.

    Takes ``DEGREES[number] + 3`` evaluations. ``room`` is that of :func:`advance_stabilised`; the
    slopes of the last stages are left in its rows 1 to 4, for the error.
    """
    degree, start = _DEGREES[number], _STARTS[number]
    before, now = room[5], room[6]
    time_before, time = 0.0, step * _RECURRENCE[start]
    for c in range(y.size):
        before[c] = y[c]
        now[c] = y[c] + time * room[0, c]
    for j in range(1, degree):
        mu = step * _RECURRENCE[start + 2 * j - 1]
        kappa = _RECURRENCE[start + 2 * j]
        rhs(alpha + time, now, sizes, parameters, room[1])
        _recur(mu, room[1], kappa, now, before)
        time, time_before = mu + (1.0 + kappa) * time - kappa * time_before, time
        before, now = now, before
    value, scratch = now, room[7]
    weights, last = _STAGES[number], _SOLUTION[number]
    rhs(alpha + time, value, sizes, parameters, room[1])
    _combine(step * weights[0], room[1], 0.0, room[1], value, scratch)
    rhs(alpha + time + step * weights[0], scratch, sizes, parameters, room[2])
    _combine(step * weights[1], room[1], step * weights[2], room[2], value, scratch)
    rhs(alpha + time + step * (weights[1] + weights[2]), scratch, sizes, parameters, room[3])
    _combine(step * weights[3], room[1], step * weights[4], room[2], value, scratch)
    _combine(step * weights[5], room[3], 0.0, room[3], scratch, scratch)
    later = step * (weights[3] + weights[4] + weights[5])
    rhs(alpha + time + later, scratch, sizes, parameters, room[4])
    _combine(step * last[0], room[1], step * last[1], room[2], value, target)
    _combine(step * last[2], room[3], step * last[3], room[4], target, target)


@compiled(fastmath=_ANY_ORDER)
def _error_norm(
    room: np.ndarray,
    number: int,
    step: float,
    y: np.ndarray,
    new: np.ndarray,
    slope: np.ndarray,
    rtol: float,
    atol: float,
) -> float:
    """The estimated local error in units of the tolerance; not a number if anything is not."""
    weights = _ERROR[number]
    total = 0.0
    for c in range(y.size):
        error = weights[4] * slope[c]
        for j in range(4):
            error += weights[j] * room[j + 1, c]
        scale = atol + rtol * max(abs(y[c]), abs(new[c]))
        total += (error / max(scale, 1e-300)) ** 2
    return _CAREFUL * step * math.sqrt(total / y.size)


@compiled()
def _fill(
    rhs: Callable[..., None],
    sizes: np.ndarray,
    parameters: np.ndarray,
    asked: np.ndarray,
    results: np.ndarray,
    walk: Any,
    times: np.ndarray,
    ends: np.ndarray,
    room: np.ndarray,
    between: np.ndarray,
    order: np.ndarray,
    limit: Any,
    last: bool,
) -> None:
    """Fill the results up to two steps before the last one, or all of them up to it.

    As for explicit steps; where the estimated error is too large each is a shorter step of its own.
    """
    newest = walk.accepted
    oldest = max(0, newest - ENDS + 1)
    ready = newest if last else newest - 2
    if (newest < ENDS - 1 and not last) or walk.results == asked.size:
        return
    if asked[walk.results] > times[ready % ENDS]:
        return
    count = newest - oldest + 1
    there, constants, weights = between[0, :count], between[1:3, :count], between[3:5, :count]
    for i in range(count):
        order[i] = (oldest + i) % ENDS
        there[i] = times[order[i]]
    # the step that begins at end number e
    for e in range(oldest, ready):
        begin, end = e % ENDS, (e + 1) % ENDS
        start, stop = times[begin], times[end]
        if walk.results == asked.size or asked[walk.results] > stop:
            continue
        estimate(start + 0.75 * (stop - start), there, order, ends, constants, weights, room[8])
        error = norm(room[8], ends[begin, 0], ends[end, 0], limit.relative, limit.absolute)
        hermite_constants(there, constants)
        while walk.results < asked.size and asked[walk.results] <= stop:
            alpha = float(asked[walk.results])
            result = results[walk.results]
            walk.results += 1
            if alpha == stop:
                for c in range(result.size):
                    result[c] = ends[end, 0, c]
            elif error <= 1.0:
                scale(weights, 0.0)
                hermite_weights(alpha, there, constants, weights)
                through(weights, order, ends, result)
            else:
                for c in range(result.size):
                    room[0, c] = ends[begin, 1, c]
                number = degree_for(alpha - start, walk.rate)
                stabilised_step(
                    rhs, start, alpha - start, number, ends[begin, 0], sizes, parameters, room,
                    result,
                )  # fmt: skip
                walk.evaluations += _DEGREES[number] + _LAST_STAGES - 1


@compiled(ADVANCE)
def advance_stabilised(
    rhs: Callable[..., None],
    y: np.ndarray,
    sizes: np.ndarray,
    places: np.ndarray,
    parameters: np.ndarray,
    asked: np.ndarray,
    results: np.ndarray,
    walks: np.ndarray,
    stages: np.ndarray,
    times: np.ndarray,
    ends: np.ndarray,
    room: np.ndarray,
    between: np.ndarray,
    order: np.ndarray,
    covariance: np.ndarray,
    limits: np.ndarray,
) -> int:
    """As :func:`~symderiv.integrate.steppers.stepper.advance`, by stabilised steps.

    Args:
        stages: row 0 is the slope at y, row 1 is written.
        room: shape (ROOM, n); the last row, the direction of the fastest mode, is kept between
            slices.

    Also written are ``rate`` and ``made``, the evaluations of accepted steps, of the walk. With
    fewer than no steps in ``limits`` one is tried, and all that comes of it is the next ``step``.
    """
    walk, limit = walks[0], limits[0]
    rtol, atol = limit.relative, limit.absolute
    end = asked[asked.size - 1]
    new, slope, direction = room[8], stages[1], room[9]
    code = RUNNING
    probe = limit.steps < 0
    tried = 0
    while code == RUNNING and (tried < limit.steps or (probe and tried == 0)):
        alpha = walk.alpha
        if walk.rate == 0.0 or walk.in_a_row > 0 or walk.accepted % _STEPS_BETWEEN_RATES == 0:
            known = walk.rate > 0.0 and walk.in_a_row < 2
            iterations = _MORE_ITERATIONS if known else _FIRST_ITERATIONS
            walk.rate = _fastest_rate(
                rhs, alpha, y, stages[0], sizes, parameters, direction, room[1], room[2], iterations
            )
            walk.evaluations += iterations
        step = walk.step
        if walk.rate > 0.0:
            step = min(step, longest_step(walk.rate))
        if alpha + 1.01 * step >= end:
            step = end - alpha
        number = degree_for(step, walk.rate)
        for c in range(y.size):
            room[0, c] = stages[0, c]
        stabilised_step(rhs, alpha, step, number, y, sizes, parameters, room, new)
        rhs(alpha + step, new, sizes, parameters, slope)
        cost = _DEGREES[number] + _LAST_STAGES
        walk.evaluations += cost
        tried += 1
        error = _error_norm(room, number, step, y, new, slope, rtol, atol)
        if probe:
            # by the whole estimate: where errors grow, as on a plateau, it is better to be careful
            error = max(error / _CAREFUL, 1e-6)
            walk.step = step * (min(3.0, _SAFETY / error**0.25) if error > 0.0 else 0.0)
            continue
        if not error <= 1.0:
            walk.rejected += 1
            walk.in_a_row += 1
            finite = math.isfinite(error)
            step *= max(0.2, _SAFETY / error**0.25) if finite else 0.25
            walk.step = step
            if walk.in_a_row > _REJECTIONS_IN_A_ROW or step <= 4.0 * 2.2e-16 * alpha:
                code = STEP_UNDERFLOW if finite else NOT_A_NUMBER
            continue
        field_covariance(new, sizes, places, parameters, covariance)
        if outside_cone(covariance, limit.cone):
            # the error of a long step may do that
            walk.rejected += 1
            walk.in_a_row += 1
            walk.step = 0.5 * step
            if walk.in_a_row > _OUTSIDE_IN_A_ROW or step <= 1e-9 * alpha:
                code = CONE_LEFT
            continue
        arrived = end if step == end - alpha else alpha + step
        growth = _LARGEST_GROWTH
        if error > 0.0:
            growth = _SAFETY * walk.last_error**_INTEGRAL / error**_PROPORTIONAL
            growth = min(_LARGEST_GROWTH, max(0.3, growth))
        walk.last_error = max(error, 1e-4)
        if walk.in_a_row > 0:
            growth = min(growth, 1.0)
        walk.in_a_row = 0
        walk.error_sum += error * rtol
        walk.accepted += 1
        walk.made += cost
        walk.step = step * growth
        walk.alpha = arrived
        newest = walk.accepted % ENDS
        times[newest] = arrived
        for c in range(y.size):
            y[c] = new[c]
            stages[0, c] = slope[c]
            ends[newest, 0, c] = new[c]
            ends[newest, 1, c] = slope[c]
        if arrived == end:
            code = DONE
        else:
            _fill(
                rhs, sizes, parameters, asked, results, walk, times, ends, room, between, order,
                limit, False,
            )  # fmt: skip
    if code != RUNNING or limit.steps == 0:
        _fill(
            rhs, sizes, parameters, asked, results, walk, times, ends, room, between, order, limit,
            True,
        )  # fmt: skip
    return code
