"""The kinds of steps that a run may be made of, by the method asked for."""

from __future__ import annotations

from dataclasses import replace

from symderiv.foundation.errors import InputError
from symderiv.integrate.flows.flat_run import (
    FlatProblem,
    FlatResult,
    Progress,
    StepLimits,
    integrate_flat,
)
from symderiv.integrate.steppers.walk import (
    EXPLICIT,
    IMPLICIT,
    NOT_A_NUMBER,
    STEP_UNDERFLOW,
)
from symderiv.storage.checkpoint import Checkpoint

#: The smallest tolerance that implicit steps keep.
LEAST_TOLERANCE = 1e-13
_MOST_NUMBERS = 3 * 10**8


def integrate(
    method: str,
    problem: FlatProblem,
    limits: StepLimits,
    *,
    progress: Progress | None = None,
    checkpoint: Checkpoint | None = None,
) -> FlatResult:
    """Integrate as :func:`~symderiv.integrate.flows.flat_run.integrate_flat`, by the method asked
    for.

    Args:
        method: "explicit", "implicit", or "auto": explicit steps until the problem is found to be
            stiff and the rest of the way long enough for other ones to be faster.
        problem, limits, progress, checkpoint: see there.

    Raises:
        InputError: an implicit method was asked for and needs too much memory.
    """
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
    # what implicit steps fail at, explicit ones may still do
    slow = integrate_flat(
        problem, limits, progress=progress, checkpoint=checkpoint, kinds=(EXPLICIT,)
    )
    return replace(
        slow,
        steps=slow.steps + first.steps,
        rejected=slow.rejected + first.rejected,
        rhs_evaluations=slow.rhs_evaluations + first.rhs_evaluations,
    )
