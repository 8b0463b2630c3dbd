"""Steps of a stabilised method, for long runs whose fast modes have died out; of one run at a time.

A step of order 8 is limited to 6 over the fastest rate, however smooth the solution has become.
With s stages ROCK4 reaches 0.35 s^2 over that rate; s is chosen in each step.

The fastest rate comes from a nonlinear power iteration on differences of the right-hand side; where
it is too small, a step fails, and is made again with a rate found anew.

Source: :cite:`Abdulle2002`; step control as in :cite:`HairerNorsettWanner1993`, II.4.
"""

from __future__ import annotations

import math

from symderiv_kernels.fast.runtime import view

from symderiv.compiled_code.compiled import hidden_part
from symderiv.integrate.steppers import stabilised_table as table
from symderiv.integrate.steppers.walk import STAGES

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
# The estimate is the error of a solution of order 3. With this part of it what becomes of the
# errors of many steps is about as large as with explicit steps of the same tolerance.
_CAREFUL = 0.5
# How a step that is tried may grow.
_SAFETY, _LARGEST_GROWTH = 0.8, 3.0


@hidden_part
def _degree_for(step, rate):  # type: ignore[no-untyped-def]
    """Return the number of the cheapest method that is stable; the last one if none is."""
    stages = math.sqrt((_SPARE + step * rate) / _STABLE) + 1.0
    number = 0
    while number < _DEGREES.size - 1 and _DEGREES[number] + _LAST_STAGES < stages:
        number += 1
    return number


@hidden_part
def limit_step(rhs, sizes, room, size, walk):  # type: ignore[no-untyped-def]
    """Keep ``walk.step`` stable for the last method; finds the fastest rate where that is due."""
    if walk.rate == 0.0 or walk.in_a_row > 0 or walk.accepted % _STEPS_BETWEEN_RATES == 0:
        known = walk.rate > 0.0 and walk.in_a_row < 2
        iterations = _MORE_ITERATIONS if known else _FIRST_ITERATIONS
        walk.rate = _fastest_rate(rhs, walk.alpha, sizes, room, size, iterations)
        walk.evaluations += iterations
    if walk.rate > 0.0:
        stages = float(_DEGREES[_DEGREES.size - 1] + _LAST_STAGES - 1)
        walk.step = min(walk.step, (_STABLE * stages * stages - _SPARE) / walk.rate)


@hidden_part
def _fastest_rate(rhs, alpha, sizes, room, size, iterations):  # type: ignore[no-untyped-def]
    """Return the size of the largest eigenvalue; ``room.direction`` comes to its own."""
    y, slope, direction = room.y, room.stages, room.direction
    moved, changed = room.scratch, room.slope
    rate = 0.0
    scale = 0.0
    for c in range(size):
        scale += y[c] * y[c]
    scale = math.sqrt(scale)
    for _ in range(iterations):
        length = 0.0
        for c in range(size):
            length += direction[c] * direction[c]
        length = math.sqrt(length)
        if not (length > 0.0 and math.isfinite(length)):
            for c in range(size):
                direction[c] = 1.0
            length = math.sqrt(size)
        part = 1e-7 * max(scale, 1e-10) / length
        for c in range(size):
            moved[c] = y[c] + part * direction[c]
        rhs(alpha, moved, sizes, room.parameters, changed)
        longer = 0.0
        for c in range(size):
            direction[c] = (changed[c] - slope[c]) / (part * length)
            longer += direction[c] * direction[c]
        rate = math.sqrt(longer)
    return _RATE_MARGIN * rate


@hidden_part
def _combine(first, one, second, two, y, out):  # type: ignore[no-untyped-def]
    """out = y + first one + second two."""
    for c in range(out.size):
        out[c] = y[c] + first * one[c] + second * two[c]


@hidden_part
def _recur(mu, slope, kappa, now, before):  # type: ignore[no-untyped-def]
    """before = mu slope + (1 + kappa) now - kappa before, the next stage."""
    for c in range(now.size):
        before[c] = mu * slope[c] + (1.0 + kappa) * now[c] - kappa * before[c]


@hidden_part
def stabilised_step(rhs, sizes, room, size, ordinary, walk):  # type: ignore[no-untyped-def]
    """Step as :func:`~symderiv.integrate.steppers.explicit_steps.explicit_step`, of one run.

    Its first stages are made one from another, as is said in :mod:`.stabilised_table`; of all of
    them the slopes of the last four are left, for the error.
    """
    alpha, step = room.start[0], room.length[0]
    number = _degree_for(step, walk.rate)
    stages = view(room.stages, 0, (STAGES, size))
    value, time = _recurred(rhs, sizes, room, stages, number)
    weights, last, scratch = _STAGES[number], _SOLUTION[number], room.scratch
    rhs(alpha + time, value, sizes, room.parameters, stages[1])
    _combine(step * weights[0], stages[1], 0.0, stages[1], value, scratch)
    rhs(alpha + time + step * weights[0], scratch, sizes, room.parameters, stages[2])
    _combine(step * weights[1], stages[1], step * weights[2], stages[2], value, scratch)
    later = step * (weights[1] + weights[2])
    rhs(alpha + time + later, scratch, sizes, room.parameters, stages[3])
    _combine(step * weights[3], stages[1], step * weights[4], stages[2], value, scratch)
    _combine(step * weights[5], stages[3], 0.0, stages[3], scratch, scratch)
    later = step * (weights[3] + weights[4] + weights[5])
    rhs(alpha + time + later, scratch, sizes, room.parameters, stages[4])
    _combine(step * last[0], stages[1], step * last[1], stages[2], value, room.new)
    _combine(step * last[2], stages[3], step * last[3], stages[4], room.new, room.new)
    if ordinary != 0:
        rhs(alpha + step, room.new, sizes, room.parameters, room.slope)
        room.error[0] = _error_norm(room, stages, size, number)
    return _DEGREES[number] + _LAST_STAGES - 1, ordinary


@hidden_part
def _recurred(rhs, sizes, room, stages, number):  # type: ignore[no-untyped-def]
    """Return the last of the first stages, and its time since the step began."""
    degree, start = _DEGREES[number], _STARTS[number]
    alpha, step = room.start[0], room.length[0]
    before, now = stages[5], stages[6]
    time_before, time = 0.0, step * _RECURRENCE[start]
    for c in range(now.size):
        before[c] = room.y[c]
        now[c] = room.y[c] + time * stages[0, c]
    for j in range(1, degree):
        mu = step * _RECURRENCE[start + 2 * j - 1]
        kappa = _RECURRENCE[start + 2 * j]
        rhs(alpha + time, now, sizes, room.parameters, stages[1])
        _recur(mu, stages[1], kappa, now, before)
        time, time_before = mu + (1.0 + kappa) * time - kappa * time_before, time
        before, now = now, before
    return now, time


@hidden_part
def _error_norm(room, stages, size, number):  # type: ignore[no-untyped-def]
    """Return the estimated local error in units of the tolerance; not a number if anything is
    not.
    """
    weights, relative, absolute = _ERROR[number], room.limits[0], room.limits[1]
    total = 0.0
    for c in range(size):
        error = weights[4] * room.slope[c]
        for j in range(4):
            error += weights[j] * stages[j + 1, c]
        scale = absolute + relative * max(abs(room.y[c]), abs(room.new[c]))
        total += (error / max(scale, 1e-300)) ** 2
    return _CAREFUL * room.length[0] * math.sqrt(total / size)


@hidden_part
def tried_step(length, error):  # type: ignore[no-untyped-def]
    """Return how long steps could be, from one of a length that was tried.

    By the whole estimate: where errors grow, as on a plateau, it is better to be careful.
    """
    error = max(error / _CAREFUL, 1e-6)
    return length * (min(_LARGEST_GROWTH, _SAFETY / error**0.25) if error > 0.0 else 0.0)
