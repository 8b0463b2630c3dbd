"""The choice of explicit and implicit steps by the method that is asked for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from symderiv.foundation.errors import InputError
from symderiv.integrate.flows.flat_run import (
    FlatProblem,
    FlatResult,
    Progress,
    StepLimits,
    integrate_flat,
)
from symderiv.integrate.steppers.memory import (
    CONE_LEFT,
    DONE,
    EXPLICIT,
    IMPLICIT,
    INTERRUPTED,
    NOT_A_NUMBER,
    STEP_LIMIT,
    STEP_UNDERFLOW,
)
from symderiv.storage.checkpoint import Checkpoint

#: The smallest tolerance that implicit steps keep.
LEAST_TOLERANCE = 1e-13
_MOST_NUMBERS = 3 * 10**8
_SHOWN_EVERY = 100


def integrate(
    method: str,
    problem: FlatProblem,
    limits: StepLimits,
    *,
    progress: Progress | None = None,
    checkpoint: Checkpoint | None = None,
) -> FlatResult:
    """Integrate a flat problem by the method asked for.

    See :func:`~symderiv.integrate.flows.flat_run.integrate_flat`.

    Args:
        method: "explicit", "implicit", or "auto": explicit steps until the problem is found to be
            stiff and the rest of the way long enough for other ones to be faster.
        problem, limits, progress, checkpoint: see the function above.

    Steps of order one need no integration: the method and the tolerance are ignored.

    Raises:
        InputError: an implicit method was asked for and needs too much memory.
    """
    if problem.step:
        return _stepped(problem, limits, progress)
    numbers = problem.modes.numbers if problem.modes else 0
    fits = numbers <= _MOST_NUMBERS
    if method == "implicit" and not fits:
        raise InputError(
            f"the implicit method keeps {8e-9 * numbers:.1f} GB of matrices, more than "
            f'{8e-9 * _MOST_NUMBERS:.1f} GB; use "auto", or compression = "on"',
            argument="time.method",
        )
    kinds = {
        "explicit": (EXPLICIT,),
        "implicit": (IMPLICIT,),
        "auto": (EXPLICIT, *((IMPLICIT,) if fits and problem.modes else ())),
    }[method]
    first = integrate_flat(problem, limits, progress=progress, checkpoint=checkpoint, kinds=kinds)
    failed = first.code in (STEP_UNDERFLOW, NOT_A_NUMBER) and method == "auto"
    if not (failed and IMPLICIT in first.method):
        return first
    # where implicit steps fail, explicit ones may still succeed
    slow = integrate_flat(
        problem, limits, progress=progress, checkpoint=checkpoint, kinds=(EXPLICIT,)
    )
    return replace(
        slow,
        steps=slow.steps + first.steps,
        rejected=slow.rejected + first.rejected,
        rhs_evaluations=slow.rhs_evaluations + first.rhs_evaluations,
        between=slow.between + first.between,
    )


def _stepped(
    problem: FlatProblem, limits: StepLimits, progress: Progress | None = None
) -> FlatResult:
    """Iterate steps of order one, s ← s + f(s), instead of integrating."""
    state, change = problem.state.copy(), np.zeros_like(problem.state)
    rows: list[np.ndarray] = []
    made, code = 0, DONE
    try:
        for goal in problem.asked:
            while made < goal and code == DONE:
                alpha = made * problem.step
                problem.rhs(alpha, state, problem.sizes, problem.parameters, change)
                state += change
                made += 1
                code = _code_of(problem, state, limits, made)
                if progress is not None and made % _SHOWN_EVERY == 0:
                    progress(made * problem.step, made)
            if code != DONE:
                break
            rows.append(state.copy())
    except KeyboardInterrupt:
        code = INTERRUPTED
    return FlatResult(
        results=np.array(rows).reshape(len(rows), state.size),
        reached=len(rows),
        last_alpha=made * problem.step,
        last_state=state,
        code=code,
        steps=made,
        rejected=0,
        rhs_evaluations=made,
        error_sum=made * float(np.finfo(float).eps),
        method="steps",
    )


def _code_of(problem: FlatProblem, state: np.ndarray, limits: StepLimits, made: int) -> int:
    """Return why steps cannot go on from a state, or ``DONE`` if they can."""
    if not np.isfinite(state).all():
        return NOT_A_NUMBER
    if problem.sizes[0]:
        # here, because it loads numba
        from symderiv.integrate.steppers.cone import is_outside

        least = limits.absolute / limits.relative
        if is_outside(state, problem.sizes, problem.parameters, limits.cone, least):
            return CONE_LEFT
    return STEP_LIMIT if made >= limits.max_steps else DONE
