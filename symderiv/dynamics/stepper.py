"""Adaptive Dormand-Prince 8(5,3) steps in compiled code, for any generated right-hand side.

The compiled function :func:`advance` takes the right-hand side as a value, so it is compiled once
for all solver modules. It works in slices: it makes at most a given number of steps, leaves its
whole state in the arrays it was given and returns, so that Python can show progress or be stopped.

Source: :cite:`HairerNorsettWanner1993`, II.4 (step control, first step), II.10 (error norm of
the 8(5,3) pair).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from symderiv.dynamics import dop853_table as table
from symderiv.dynamics.compiled import INTEGERS, MATRIX, RIGHT_HAND_SIDE, VECTOR, compiled

RUNNING, DONE, NOT_A_NUMBER, STEP_UNDERFLOW, CONE_LEFT, STEP_LIMIT, INTERRUPTED, STIFF = range(8)

# Where the stepper keeps its numbers between slices.
ALPHA, STEP, LAST_ERROR, ERROR_SUM, CONE_VALUE = range(5)
ACCEPTED, REJECTED, EVALUATIONS, NEXT_OUTPUT, IN_A_ROW, STARTED = range(6)

_NODES = table.NODES
_STAGES = table.STAGES
_SOLUTION = table.SOLUTION
_ERROR_5 = table.ERROR_5
_ERROR_3 = table.ERROR_3

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
    state: np.ndarray, sizes: np.ndarray, parameters: np.ndarray, covariance: np.ndarray
) -> None:
    """Fill ``covariance`` (K+M, K+M) with [[Q, R], [R^T, T]] of a flat state.

    See :mod:`symderiv.dynamics.flat_layout`.
    """
    K, M, L = sizes[0], sizes[1], sizes[2]
    cross = K * K * L
    for i in range(K):
        for j in range(i, K):
            start = (i * K + j) * L
            total = 0.0
            for k in range(L):
                total += parameters[L + k] * parameters[k] * state[start + k]
            covariance[i, j] = total
            covariance[j, i] = total
        for n in range(M):
            start = cross + (i * M + n) * L
            total = 0.0
            for k in range(L):
                total += parameters[L + k] * state[start + k]
            covariance[i, K + n] = total
            covariance[K + n, i] = total
    teacher = 2 * L + L * M * M
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


@compiled()
def _copy(source: np.ndarray, target: np.ndarray) -> None:
    # an assignment of slices does the same, but takes numba a second longer to compile
    for c in range(source.size):
        target[c] = source[c]


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
    for c in range(y.size):
        e5 = 0.0
        e3 = 0.0
        for j in range(12):
            e5 += _ERROR_5[j] * stages[j, c]
            e3 += _ERROR_3[j] * stages[j, c]
        scale = atol + rtol * max(abs(y[c]), abs(y_new[c]))
        if not scale > 0.0:
            # Tolerance zero for a component that is exactly zero: no error is no error.
            scale = 1e-300
        fifth += (e5 / scale) ** 2
        third += (e3 / scale) ** 2
    denominator = fifth + 0.01 * third
    if denominator == 0.0:
        return 0.0
    return abs(step) * fifth / math.sqrt(denominator * y.size)


@compiled()
def _all_finite(values: np.ndarray) -> bool:
    for value in values:  # noqa: SIM110 - numba compiles loops, not generators
        if not math.isfinite(value):
            return False
    return True


@compiled()
def _scaled_norm(values: np.ndarray, y: np.ndarray, rtol: float, atol: float) -> float:
    total = 0.0
    for c in range(y.size):
        scale = atol + rtol * abs(y[c])
        if scale > 0.0:
            total += (values[c] / scale) ** 2
    return math.sqrt(total / y.size)


@compiled()
def _first_step(
    rhs: Callable[..., None],
    y: np.ndarray,
    f: np.ndarray,
    sizes: np.ndarray,
    parameters: np.ndarray,
    end: float,
    rtol: float,
    atol: float,
    work: np.ndarray,
    derivative: np.ndarray,
) -> float:
    """A first step from the sizes of the solution, its slope and its curvature."""
    d0 = _scaled_norm(y, y, rtol, atol)
    d1 = _scaled_norm(f, y, rtol, atol)
    step = 1e-6 if d0 < 1e-5 or d1 < 1e-5 else 0.01 * d0 / d1
    step = min(step, end)
    for c in range(y.size):
        work[c] = y[c] + step * f[c]
    rhs(step, work, sizes, parameters, derivative)
    for c in range(y.size):
        work[c] = (derivative[c] - f[c]) / step
    d2 = _scaled_norm(work, y, rtol, atol)
    largest = max(d1, d2)
    if not math.isfinite(largest):
        return step
    guess = max(1e-6, 1e-3 * step) if largest <= 1e-15 else (0.01 / largest) ** 0.125
    return min(100.0 * step, guess, end)


@compiled()
def _attempt(
    rhs: Callable[..., None],
    alpha: float,
    step: float,
    y: np.ndarray,
    sizes: np.ndarray,
    parameters: np.ndarray,
    stages: np.ndarray,
    scratch: np.ndarray,
    y_new: np.ndarray,
) -> None:
    """One step of order 8 from ``y``, whose slope is stages[0]; 11 evaluations."""
    for s in range(1, 12):
        _combine(_STAGES[s], stages, s, step, y, scratch)
        rhs(alpha + _NODES[s] * step, scratch, sizes, parameters, stages[s])
    _combine(_SOLUTION, stages, 12, step, y, y_new)


@compiled(
    (
        RIGHT_HAND_SIDE,
        VECTOR,
        INTEGERS,
        VECTOR,
        VECTOR,
        MATRIX,
        VECTOR,
        INTEGERS,
        MATRIX,
        MATRIX,
        MATRIX,
        VECTOR,
        INTEGERS,
    )
)
def advance(
    rhs: Callable[..., None],
    y: np.ndarray,
    sizes: np.ndarray,
    parameters: np.ndarray,
    asked: np.ndarray,
    results: np.ndarray,
    reals: np.ndarray,
    counts: np.ndarray,
    stages: np.ndarray,
    work: np.ndarray,
    covariance: np.ndarray,
    limits: np.ndarray,
    slice_steps: np.ndarray,
) -> int:
    """Make at most ``slice_steps[0]`` steps and return how the slice ended.

    Args:
        rhs: ``flat_right_hand_side`` of a generated module.
        y: the state, shape (n,), overwritten by the last accepted one.
        sizes, parameters: handed to ``rhs``; their layout is that of the generated modules.
        asked: ascending times of the results, shape (P,).
        results: shape (P, n), filled row by row.
        reals, counts, stages (12, n), work (3, n): the stepper's own memory between slices.
        covariance: K + M rows and columns, room for the cone test.
        limits: rtol, atol, tolerance of the cone test.
    """
    rtol, atol, cone_tolerance = limits[0], limits[1], limits[2]
    end = asked[asked.size - 1]
    alpha = reals[ALPHA]
    step = reals[STEP]
    y_new = work[0]
    scratch = work[1]
    slope = work[2]
    if counts[STARTED] == 0:
        counts[STARTED] = 1
        while counts[NEXT_OUTPUT] < asked.size and asked[counts[NEXT_OUTPUT]] <= alpha:
            _copy(y, results[counts[NEXT_OUTPUT]])
            counts[NEXT_OUTPUT] += 1
        rhs(alpha, y, sizes, parameters, stages[0])
        counts[EVALUATIONS] += 1
        if not (_all_finite(y) and _all_finite(stages[0])):
            return NOT_A_NUMBER
        if counts[NEXT_OUTPUT] == asked.size:
            return DONE
        step = _first_step(
            rhs, y, stages[0], sizes, parameters, end - alpha, rtol, atol, scratch, y_new
        )
        counts[EVALUATIONS] += 1
        reals[LAST_ERROR] = 1e-4
    for _ in range(slice_steps[0]):
        if alpha + 1.01 * step >= end:
            step = end - alpha
        _attempt(rhs, alpha, step, y, sizes, parameters, stages, scratch, y_new)
        counts[EVALUATIONS] += 11
        error = _error_norm(stages, step, y, y_new, rtol, atol)
        accepted = error <= 1.0
        if accepted:
            rhs(alpha + step, y_new, sizes, parameters, slope)
            counts[EVALUATIONS] += 1
            if not _all_finite(slope):
                accepted = False
                error = math.nan
        if not accepted:
            counts[REJECTED] += 1
            counts[IN_A_ROW] += 1
            if math.isfinite(error):
                step *= max(_LARGEST_SHRINK, _SAFETY / error**_EXPONENT)
            else:
                step *= 0.25
            if counts[IN_A_ROW] > _REJECTIONS_IN_A_ROW or step <= 4.0 * 2.2e-16 * alpha:
                reals[ALPHA] = alpha
                return STEP_UNDERFLOW if math.isfinite(error) else NOT_A_NUMBER
            continue
        field_covariance(y_new, sizes, parameters, covariance)
        if outside_cone(covariance, cone_tolerance):
            reals[ALPHA] = alpha
            reals[CONE_VALUE] = alpha + step
            return CONE_LEFT
        arrived = alpha + step
        if step == end - alpha:
            arrived = end
        # A result inside the step is a shorter step of its own: the usual dense output of order 7
        # costs less but is a hundred times less accurate than the steps.
        while counts[NEXT_OUTPUT] < asked.size and asked[counts[NEXT_OUTPUT]] <= arrived:
            index = counts[NEXT_OUTPUT]
            if asked[index] == arrived:
                _copy(y_new, results[index])
            else:
                part = asked[index] - alpha
                _attempt(rhs, alpha, part, y, sizes, parameters, stages, scratch, results[index])
                counts[EVALUATIONS] += 11
            counts[NEXT_OUTPUT] += 1
        growth = _LARGEST_GROWTH
        if error > 0.0:
            growth = _SAFETY * reals[LAST_ERROR] ** _INTEGRAL / error**_EXPONENT
            growth = min(_LARGEST_GROWTH, max(_LARGEST_SHRINK, growth))
        if counts[IN_A_ROW] > 0:
            growth = min(growth, 1.0)
        reals[LAST_ERROR] = max(error, 1e-4)
        reals[ERROR_SUM] += error * rtol
        counts[IN_A_ROW] = 0
        counts[ACCEPTED] += 1
        _copy(y_new, y)
        _copy(slope, stages[0])
        alpha = arrived
        step *= growth
        if counts[NEXT_OUTPUT] == asked.size:
            reals[ALPHA] = alpha
            return DONE
    reals[ALPHA] = alpha
    reals[STEP] = step
    return RUNNING
