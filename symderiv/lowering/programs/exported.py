"""The equations of a problem as a program that can be printed in other languages."""

from __future__ import annotations

from symderiv_codegen import PrinterError, Program

from symderiv.foundation.errors import NotYetError
from symderiv.learning.derivation.learning_equations import derive_equations
from symderiv.learning.rule.admissible import check_for_modules
from symderiv.learning.rule.learning_problem import LearningProblem
from symderiv.lowering.means.approximation import DEFAULT_TOLERANCE, has_holes, mixtures
from symderiv.lowering.means.force_fields import over_fields
from symderiv.lowering.programs.program import solver_program


def exported_program(
    problem: LearningProblem, name: str, tolerance: float | None = None
) -> Program:
    """Return the program of a problem whose means are closed, or sums over tables of closed ones.

    Args:
        problem: Activations and rule.
        name: Of the program.
        tolerance: Bound on the error of an activation as a mixture; None for the default.

    Raises:
        NotYetError: A mean is an integral, which only compiled modules evaluate.
    """
    check_for_modules(problem.student, problem.teacher)
    if over_fields(problem):
        raise _integrals("the slopes of this loss, or the sign of a target", "loss")
    equations = derive_equations(problem)
    if equations.motion.by_steps:
        raise NotYetError(
            "not exported: the state changes by steps, not in time; leave it out",
            argument="batch_ratio",
        )
    activations = f"{problem.student.text!r} and {problem.teacher.text!r}"
    if has_holes(problem):
        raise _integrals(activations, "activation")
    found = mixtures(problem, DEFAULT_TOLERANCE if tolerance is None else tolerance)
    try:
        return solver_program(equations, name, found)
    except (NotYetError, PrinterError) as error:
        raise _integrals(activations, "activation") from error


def _integrals(of_what: str, argument: str) -> NotYetError:
    return NotYetError(
        f"not exported: means of {of_what} are integrals that only compiled modules evaluate; use "
        "symderiv generate, or an activation with closed means (erf, relu, linear, tanh, gelu, …)",
        argument=argument,
    )
