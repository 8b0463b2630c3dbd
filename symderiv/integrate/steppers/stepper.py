"""Adaptive Dormand-Prince 8(5,3) steps in compiled code, for any generated right-hand side.

The compiled function :func:`advance` takes the right-hand side as a value, so it is compiled once
for all solver modules. It works in slices: it makes at most a given number of steps, leaves its
whole state in the arrays it was given and returns, so that Python can show progress or be stopped.
What happens once, the first step, is plain Python in :mod:`symderiv.integrate.flows.flat_run`:
the first run on a machine waits for all that is here to be compiled.

Results between steps come from the ends of six of them, by
:mod:`symderiv.integrate.steppers.between_steps`, and so lag behind by two steps. Where the
estimated error of that is above the tolerance a step of half the length gives one more end to go
through, and where that does not do either each result is a shorter step of its own.

Source: :cite:`HairerNorsettWanner1993`, II.4 (step control), II.10 (error norm of
the 8(5,3) pair).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from symderiv_kernels.layout import LAYOUT

from symderiv.compiled_code.compiled import (
    CUBE,
    INTEGERS,
    MATRIX,
    RIGHT_HAND_SIDE,
    VECTOR,
    compiled,
    records,
)
from symderiv.integrate.steppers import dop853_table as table
from symderiv.integrate.steppers.between_steps import BETWEEN, hermite_constants, hermite_weights
from symderiv.integrate.steppers.walk import (
    CONE_LEFT,
    DONE,
    ENDS,
    INTERRUPTED,
    LIMITS,
    NOT_A_NUMBER,
    RUNNING,
    STEP_LIMIT,
    STEP_UNDERFLOW,
    STIFF,
    WALK,
)
from symderiv.problem.flat_layout import place_of

__all__ = [
    "CONE_LEFT",
    "DONE",
    "INTERRUPTED",
    "LIMITS",
    "NOT_A_NUMBER",
    "RUNNING",
    "STEP_LIMIT",
    "STEP_UNDERFLOW",
    "STIFF",
    "WALK",
    "advance",
    "field_covariance",
    "outside_cone",
]

_K, _M, _L = (LAYOUT["sizes"].index(name) for name in ("K", "M", "L"))
_STUDENTS, _CROSS = place_of("student_overlap"), place_of("cross_overlap")
_EIGENVALUE, _WEIGHT, _TEACHER = place_of("eigenvalue"), place_of("weight"), place_of("T")

_NODES = table.NODES
# The solution is one more stage at which the equations are not evaluated.
_WEIGHTS = np.vstack([table.STAGES, table.SOLUTION])
_ERROR_5 = table.ERROR_5
_ERROR_3 = table.ERROR_3
_ERROR_6 = table.ERROR_6

_SAFETY = 0.9
_LARGEST_SHRINK = 1.0 / 3.0
_LARGEST_GROWTH = 6.0
# Proportional-integral control: the integral part keeps the step from oscillating where stability,
# not accuracy, limits it, which is the long end of every learning curve.
_INTEGRAL = 0.04
_EXPONENT = 1.0 / 8.0 - 0.2 * _INTEGRAL
_REJECTIONS_IN_A_ROW = 60

# Sums may be made in any order, which is what vector instructions need; infinities and what is not
# a number are kept.
_ANY_ORDER = {"reassoc", "contract"}


@compiled(fastmath=_ANY_ORDER)
def field_covariance(
    state: np.ndarray,
    sizes: np.ndarray,
    places: np.ndarray,
    parameters: np.ndarray,
    covariance: np.ndarray,
) -> None:
    """Fill ``covariance`` (K+M, K+M) with [[Q, R], [R^T, T]] of a flat state.

    ``places`` are those of :func:`symderiv.problem.flat_layout.places`.
    """
    K, M, L = sizes[_K], sizes[_M], sizes[_L]
    # no reshaped views: they bring exceptions into code that is to run without its compiler
    students, cross, teacher = places[_STUDENTS], places[_CROSS], places[_TEACHER]
    eigenvalue = parameters[places[_EIGENVALUE] : places[_EIGENVALUE + 1]]
    weight = parameters[places[_WEIGHT] : places[_WEIGHT + 1]]
    for i in range(K):
        for j in range(i, K):
            total = 0.0
            for k in range(L):
                total += weight[k] * eigenvalue[k] * state[students + (i * K + j) * L + k]
            covariance[i, j] = total
            covariance[j, i] = total
        for n in range(M):
            total = 0.0
            for k in range(L):
                total += weight[k] * state[cross + (i * M + n) * L + k]
            covariance[i, K + n] = total
            covariance[K + n, i] = total
    for n in range(M):
        for m in range(M):
            covariance[K + n, K + m] = parameters[teacher + n * M + m]


@compiled()
def outside_cone(covariance: np.ndarray, tolerance: float) -> bool:
    """Tell whether a symmetric matrix has an eigenvalue clearly below zero.

    "Clearly" means that the matrix with its diagonal enlarged by the relative ``tolerance`` still
    has no Cholesky factor. Overwrites the lower triangle.
    """
    size = covariance.shape[0]
    for a in range(size):
        for b in range(a + 1):
            total = covariance[b, a]
            if a == b:
                total += tolerance * abs(total)
            for c in range(b):
                total -= covariance[a, c] * covariance[b, c]
            if a == b:
                # A field of variance exactly zero is on the edge of the cone, not outside.
                if not total >= 0.0:
                    return True
                covariance[a, a] = math.sqrt(total)
            elif covariance[b, b] > 0.0:
                covariance[a, b] = total / covariance[b, b]
            elif total == 0.0:
                covariance[a, b] = 0.0
            else:
                return True
    return False


@compiled(fastmath=_ANY_ORDER)
def _combine(
    weights: np.ndarray, stages: np.ndarray, last: int, scale: float, y: np.ndarray, out: np.ndarray
) -> None:
    """out = y + scale * sum_j weights[j] stages[j] over the first ``last`` stages."""
    first = scale * weights[0]
    for c in range(out.size):
        out[c] = y[c] + first * stages[0, c]
    # Two stages in one pass; most weights of the first ones are zero.
    waiting = -1
    for j in range(1, last):
        if weights[j] == 0.0:
            continue
        if waiting < 0:
            waiting = j
            continue
        one, two = scale * weights[waiting], scale * weights[j]
        for c in range(out.size):
            out[c] += one * stages[waiting, c] + two * stages[j, c]
        waiting = -1
    if waiting > 0:
        one = scale * weights[waiting]
        for c in range(out.size):
            out[c] += one * stages[waiting, c]


@compiled(fastmath=_ANY_ORDER)
def _error_norm(
    stages: np.ndarray, step: float, y: np.ndarray, y_new: np.ndarray, rtol: float, atol: float
) -> float:
    """The estimated local error in units of the tolerance; not a number if anything is not."""
    fifth = 0.0
    third = 0.0
    sixth = 0.0
    for c in range(y.size):
        e5 = 0.0
        e3 = 0.0
        e6 = 0.0
        for j in range(12):
            e5 += _ERROR_5[j] * stages[j, c]
            e3 += _ERROR_3[j] * stages[j, c]
            e6 += _ERROR_6[j] * stages[j, c]
        scale = atol + rtol * max(abs(y[c]), abs(y_new[c]))
        if not scale > 0.0:
            # Tolerance zero for a component that is exactly zero: no error is no error.
            scale = 1e-300
        fifth += (e5 / scale) ** 2
        third += (e3 / scale) ** 2
        sixth += (e6 / scale) ** 2
    usual = 0.0
    denominator = fifth + 0.01 * third
    if denominator > 0.0:
        usual = fifth / math.sqrt(denominator)
    # near the limit of stability the usual estimate is blind (see the table)
    blind = math.sqrt(sixth)
    return abs(step) / math.sqrt(y.size) * (usual if usual > blind else blind)


@compiled(fastmath=_ANY_ORDER)
def norm(
    error: np.ndarray, first: np.ndarray, second: np.ndarray, rtol: float, atol: float
) -> float:
    """The root mean square of an error in units of the tolerance at two states."""
    total = 0.0
    for c in range(error.size):
        scale = atol + rtol * max(abs(first[c]), abs(second[c]))
        total += (error[c] / max(scale, 1e-300)) ** 2
    return math.sqrt(total / error.size)


@compiled()
def _diverges(y: np.ndarray, slope: np.ndarray, step: float) -> bool:
    """Even a step as short as rounding allows changes the state by more than a thousandth."""
    largest, change = 0.0, 0.0
    for c in range(y.size):
        largest = max(largest, abs(y[c]))
        change = max(change, abs(step * slope[c]))
    return change > 1e-3 * largest


@compiled()
def _step(
    rhs: Callable[..., None],
    alpha: float,
    length: float,
    y: np.ndarray,
    sizes: np.ndarray,
    parameters: np.ndarray,
    stages: np.ndarray,
    scratch: np.ndarray,
    target: np.ndarray,
) -> None:
    """One step of order 8 from y, whose slope is stages[0], into ``target``; 11 evaluations."""
    for s in range(1, 12):
        _combine(_WEIGHTS[s], stages, s, length, y, scratch)
        rhs(alpha + _NODES[s] * length, scratch, sizes, parameters, stages[s])
    _combine(_WEIGHTS[12], stages, 12, length, y, target)


@compiled(fastmath=_ANY_ORDER)
def through(weights: np.ndarray, order: np.ndarray, ends: np.ndarray, out: np.ndarray) -> None:
    """The weighted sum of values and slopes at some ends of steps.

    Args:
        weights: of values and slopes, shape (2, p).
        order: where the ends stand among those that are kept, shape (p,) or longer.
        ends: the kept values and slopes, shape (E, 2, n).
        out: shape (n,).
    """
    for i in range(weights.shape[1]):
        value, slope = weights[0, i], weights[1, i]
        end = ends[order[i]]
        if i == 0:
            for c in range(out.size):
                out[c] = value * end[0, c] + slope * end[1, c]
        else:
            for c in range(out.size):
                out[c] += value * end[0, c] + slope * end[1, c]


@compiled()
def scale(weights: np.ndarray, factor: float) -> None:
    """Multiply by a number; 0 also clears what is not finite."""
    for row in range(weights.shape[0]):
        for i in range(weights.shape[1]):
            weights[row, i] = factor * weights[row, i] if factor != 0.0 else 0.0


@compiled()
def estimate(
    alpha: float,
    times: np.ndarray,
    order: np.ndarray,
    ends: np.ndarray,
    constants: np.ndarray,
    weights: np.ndarray,
    out: np.ndarray,
) -> None:
    """The difference at ``alpha`` that leaving out the end farthest from it makes."""
    count = times.size
    scale(weights, 0.0)
    hermite_constants(times, constants)
    hermite_weights(alpha, times, constants, weights)
    first = 1 if alpha - times[0] > times[count - 1] - alpha else 0
    fewer = slice(first, first + count - 1)
    scale(weights, -1.0)
    hermite_constants(times[fewer], constants[:, fewer])
    hermite_weights(alpha, times[fewer], constants[:, fewer], weights[:, fewer])
    through(weights, order, ends, out)


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
    stages: np.ndarray,
    work: np.ndarray,
    between: np.ndarray,
    order: np.ndarray,
    limit: Any,
    last: bool,
) -> None:
    """Fill the results up to two steps before the last one, or all of them up to it.

    Args:
        times: of the ends that are kept, shape (ENDS + 1,): end number e stands at e % ENDS, and
            the middle of a step behind them.
        ends: their values and slopes, shape (ENDS + 1, 2, n).
        last: up to the last end.

    The other arguments are those of :func:`advance`; stages are overwritten, but for the first.
    """
    newest = walk.accepted
    oldest = max(0, newest - ENDS + 1)
    ready = newest if last else newest - 2
    if (newest < ENDS - 1 and not last) or walk.results == asked.size:
        return
    if asked[walk.results] > times[ready % ENDS]:
        return
    there, constants, weights = between[0], between[1:3], between[3:5]
    # the step that begins at end number e
    for e in range(oldest, ready):
        begin, end = e % ENDS, (e + 1) % ENDS
        start, stop = times[begin], times[end]
        if walk.results == asked.size or asked[walk.results] > stop:
            continue
        prepared, own_steps = False, False
        count = 0
        while walk.results < asked.size and asked[walk.results] <= stop:
            alpha = float(asked[walk.results])
            result = results[walk.results]
            walk.results += 1
            if alpha == stop:
                for c in range(result.size):
                    result[c] = ends[end, 0, c]
                continue
            if not prepared:
                prepared = True
                count = newest - oldest + 1
                for i in range(count):
                    order[i] = (oldest + i) % ENDS
                    there[i] = times[order[i]]
                for refined in range(2):
                    if refined == 1:
                        # the middle of the step takes the place of the end farthest from it
                        middle = start + 0.5 * (stop - start)
                        for c in range(result.size):
                            stages[0, c] = ends[begin, 1, c]
                        _step(
                            rhs, start, middle - start, ends[begin, 0], sizes, parameters, stages,
                            work[0], ends[ENDS, 0],
                        )  # fmt: skip
                        rhs(middle, ends[ENDS, 0], sizes, parameters, ends[ENDS, 1])
                        walk.evaluations += 12
                        times[ENDS] = middle
                        count = _with_middle(there, order, count, e - oldest, middle)
                    used = slice(0, count)
                    estimate(
                        start + 0.75 * (stop - start), there[used], order, ends,
                        constants[:, used], weights[:, used], work[0],
                    )  # fmt: skip
                    error = norm(work[0], ends[begin, 0], ends[end, 0], limit.relative,
                                  limit.absolute)  # fmt: skip
                    own_steps = not error <= BETWEEN
                    if not own_steps:
                        break
                hermite_constants(there[:count], constants[:, :count])
            if own_steps:
                for c in range(result.size):
                    stages[0, c] = ends[begin, 1, c]
                _step(
                    rhs, start, alpha - start, ends[begin, 0], sizes, parameters, stages, work[0],
                    result,
                )  # fmt: skip
                walk.evaluations += 11
            else:
                scale(weights, 0.0)
                hermite_weights(alpha, there[:count], constants[:, :count], weights[:, :count])
                through(weights[:, :count], order, ends, result)
    kept = ends[newest % ENDS, 1]
    for c in range(kept.size):
        stages[0, c] = kept[c]


@compiled()
def _with_middle(
    there: np.ndarray, order: np.ndarray, count: int, place: int, middle: float
) -> int:
    """Put the middle of the step after ``place`` among the ends, and leave one out if need be."""
    if count == ENDS and middle - there[0] > there[count - 1] - middle:
        for i in range(place):
            there[i], order[i] = there[i + 1], order[i + 1]
        place -= 1
        count -= 1
    elif count == ENDS:
        count -= 1
    for i in range(count, place + 1, -1):
        there[i], order[i] = there[i - 1], order[i - 1]
    there[place + 1], order[place + 1] = middle, ENDS
    return count + 1


#: The types of what :func:`advance` takes, and steps of another kind.
ADVANCE = (
    *(RIGHT_HAND_SIDE, VECTOR, INTEGERS, INTEGERS, VECTOR, VECTOR, MATRIX, records(WALK)),
    *(MATRIX, VECTOR, CUBE, MATRIX, MATRIX, INTEGERS, MATRIX, records(LIMITS)),
)


@compiled(ADVANCE)
def advance(
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
    work: np.ndarray,
    between: np.ndarray,
    order: np.ndarray,
    covariance: np.ndarray,
    limits: np.ndarray,
) -> int:
    """Make at most ``limits[0].steps`` steps and return how the slice ended.

    A slice of no steps fills the results that lag behind; so does one that ends with a failure.

    Args:
        rhs: ``flat_right_hand_side`` of a generated module.
        y: the state, shape (n,), overwritten by the last accepted one.
        sizes, parameters: handed to ``rhs``; their layout is that of the generated modules.
        places: where fields lie in them, see ``field_covariance``.
        asked: ascending times of the results, shape (P,).
        results: shape (P, n), filled row by row.
        walks, stages (12, n), times (ENDS + 1,), ends (ENDS + 1, 2, n), work (3, n): the stepper's
            own memory between slices; the first is one record of :data:`WALK`.
        between, order: room for what is filled between steps, (5, ENDS) and (ENDS,). Nothing is
            allocated here: the code also runs without its compiler
            (:mod:`symderiv.compiled_code.machine_code`).
        covariance: K + M rows and columns, room for the cone test.
        limits: one record of :data:`LIMITS`.
    """
    walk, limit = walks[0], limits[0]
    rtol, atol, cone_tolerance = limit.relative, limit.absolute, limit.cone
    end = asked[asked.size - 1]
    scratch, new, slope = work[0], work[1], work[2]
    code = RUNNING
    made = 0
    while code == RUNNING and made < limit.steps:
        alpha, step = walk.alpha, walk.step
        if alpha + 1.01 * step >= end:
            step = end - alpha
        _step(rhs, alpha, step, y, sizes, parameters, stages, scratch, new)
        walk.evaluations += 11
        made += 1
        error = _error_norm(stages, step, y, new, rtol, atol)
        accepted = error <= 1.0
        if accepted:
            rhs(alpha + step, new, sizes, parameters, slope)
            walk.evaluations += 1
            for c in range(y.size):
                if not math.isfinite(slope[c]):
                    accepted = False
                    error = math.nan
        if not accepted:
            walk.rejected += 1
            walk.in_a_row += 1
            if math.isfinite(error):
                step *= max(_LARGEST_SHRINK, _SAFETY / error**_EXPONENT)
            else:
                step *= 0.25
            walk.step = step
            if walk.in_a_row > _REJECTIONS_IN_A_ROW or step <= 4.0 * 2.2e-16 * alpha:
                underflow = math.isfinite(error) or _diverges(y, stages[0], step)
                code = STEP_UNDERFLOW if underflow else NOT_A_NUMBER
            continue
        field_covariance(new, sizes, places, parameters, covariance)
        if outside_cone(covariance, cone_tolerance):
            code = CONE_LEFT
            continue
        growth = _LARGEST_GROWTH
        if error > 0.0:
            growth = _SAFETY * walk.last_error**_INTEGRAL / error**_EXPONENT
            growth = min(_LARGEST_GROWTH, max(_LARGEST_SHRINK, growth))
        if walk.in_a_row > 0:
            growth = min(growth, 1.0)
        walk.last_error = max(error, 1e-4)
        walk.error_sum += error * rtol
        walk.in_a_row = 0
        walk.accepted += 1
        walk.step = step * growth
        walk.alpha = end if step == end - alpha else alpha + step
        newest = walk.accepted % ENDS
        times[newest] = walk.alpha
        for c in range(y.size):
            y[c] = new[c]
            stages[0, c] = slope[c]
            ends[newest, 0, c] = new[c]
            ends[newest, 1, c] = slope[c]
        if walk.alpha == end:
            code = DONE
        else:
            _fill(
                rhs, sizes, parameters, asked, results, walk, times, ends, stages, work, between,
                order, limit, False,
            )  # fmt: skip
    if code != RUNNING or limit.steps == 0:
        _fill(
            rhs, sizes, parameters, asked, results, walk, times, ends, stages, work, between, order,
            limit, True,
        )  # fmt: skip
    return code
