"""A system whose parameter changes in time: its equations with derivatives in reverse."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from symderiv_codegen import Assignment, ProgramError, print_reverse

from symderiv.foundation.errors import InputError, NotYetError
from symderiv.integrate.control.controlled_flow import Steerable
from symderiv.integrate.flows.courses import Goal
from symderiv.integrate.flows.sensitivities import Direction
from symderiv.storage.kernels import kept_module
from symderiv.system.point_run import PointRun
from symderiv.system.system_following import VariedSystemRun
from symderiv.system.system_runs import Solver
from symderiv.system.varied_system import SystemPoint


def steered(point: SystemPoint, observable: str) -> Steerable:
    """Return the flow of a system with one of its averages.

    Args:
        point: Where a run begins.
        observable: The name of the average that is made small.

    Raises:
        NotYetError: Steps are of order one, or time occurs in the equations.
    """
    solver = point.solver
    if not solver.closed.autonomous:
        raise NotYetError(
            "steps over batches, and statements in which time occurs, have no controls yet",
            argument="control",
        )
    run = VariedSystemRun(PointRun(point, Goal(np.zeros(1))), {}, (observable,))
    still = np.zeros_like(point.constants)

    def errors(states: np.ndarray) -> np.ndarray:
        return solver.observed(states, point.constants, names=(observable,))[observable]

    def error_slopes(directions: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        along = [Direction(each, still) for each in directions]
        return lambda row: np.array([run.changes(row, each)[observable] for each in along])

    def reverse(moving: tuple[str, ...]) -> Callable[..., None]:
        for name in _read(solver, observable) & run.course.constants.shapes.keys() & set(moving):
            raise InputError(
                f"changes {observable} itself, through {name}: values at different times could "
                "not be compared; take another parameter or another average",
                argument="control",
            )
        return reversed_rates(solver, moving)

    return Steerable(run.course, run.functions(None)[0], reverse, errors, error_slopes)


def _read(solver: Solver, observable: str) -> set[str]:
    """Return the names of all numbers that an average depends on."""
    procedure = solver.closed.program.procedure(f"observe_{observable}")
    assert procedure is not None
    values = (step.value for step in procedure.body if isinstance(step, Assignment))
    return {symbol.name for value in values for symbol in value.free_symbols}


def reversed_rates(solver: Solver, moving: tuple[str, ...]) -> Callable[..., None]:
    """Return the function of weights of the rates times their derivatives, on vectors.

    Raises:
        NotYetError: A mean has no derivative.
    """
    try:
        text = print_reverse(solver.closed.differentiable_program, moving)
    except (NotYetError, ProgramError) as error:
        raise NotYetError(f"has no derivatives yet: {error}", argument="control") from error
    compiled: Callable[..., None] = kept_module(text).specialised(1)
    return compiled
