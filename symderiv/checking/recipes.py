"""Solver modules as text: any activation on demand, and the ones that are kept in the tree."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from types import MappingProxyType

from symderiv_codegen import PrinterError

from symderiv.checking.generated_check import check_generated
from symderiv.foundation.errors import NotYetError, ToleranceError
from symderiv.foundation.files import write_whole
from symderiv.learning.derivation.learning_equations import derive_equations
from symderiv.learning.rule.admissible import check_for_modules
from symderiv.learning.rule.learning_problem import LearningProblem, learning_problem
from symderiv.learning.rule.learning_rule import PLAIN, LearningRule
from symderiv.lowering.means.approximation import (
    DEFAULT_TOLERANCE,
    FINEST_SMOOTH,
    by_points,
    has_holes,
    mixtures,
    quadrature,
)
from symderiv.lowering.means.compiled_means import CompiledMeans, compiled_means
from symderiv.lowering.means.force_fields import over_fields
from symderiv.lowering.programs.program import solver_program
from symderiv.lowering.solver_files import LAYOUT, SolverText, layout_text, solver_of

RECIPES = MappingProxyType(
    {
        "erf": ("erf", "erf"),
        "linear": ("linear", "linear"),
        "relu": ("relu", "relu"),
        "gelu": ("gelu", "gelu"),
        "erf_sign": ("erf", "sign"),
        "quadratic": ("quadratic", "quadratic"),
    }
)
"""The modules of ``symderiv_kernels``: name, student's activation, teacher's activation."""


def solver_text(
    name: str,
    student: str,
    teacher: str | None = None,
    tolerance: float | None = None,
    limited: bool = False,
    rule: LearningRule = PLAIN,
    lanes: bool = True,
) -> SolverText:
    """Return the texts of a solver, derived from the update rule; the same bytes in every run.

    Args:
        name: Name of the module, a Python identifier.
        student: Activation of the student, a name or an expression in ``x``.
        teacher: Activation of the teacher; the student's when left out.
        tolerance: Bound on the error of what has no closed form; None for a default that depends
            on the method. Activations of the closed class do not depend on it.
        limited: Take the finest affordable quadrature where the tolerance is out of its reach.
        rule: How the student learns.
        lanes: Whether the module for several runs at a time is asked for.

    Raises:
        FormulaError: An activation is outside the allow-list, not real, or too large or too small
            for double precision.
        DivergentError: The student's activation is too rough for gradient descent.
        NotYetError: An activation has properties that no method can treat, with the reason.
        ToleranceError: The tolerance is out of reach; the message says what can be had.
        GeneratedError: A text was derived and fails its check, which would be an error of ours.
    """
    problem = learning_problem(student, teacher, rule)
    check_for_modules(problem.student, problem.teacher)
    if over_fields(problem):
        from symderiv.lowering.means.loss_means import LossMeans
        from symderiv.lowering.programs.loss_program import loss_program

        means = LossMeans(problem, tolerance, limited)
        solver = solver_of(loss_program(derive_equations(problem), name, means), lanes)
        check_generated(solver, problem)
        return solver
    text, compiled = unchecked(name, problem, tolerance, limited, lanes)
    check_generated(text, problem, compiled)
    return text


def generate(
    name: str,
    student: str,
    teacher: str | None = None,
    tolerance: float | None = None,
    limited: bool = False,
) -> str:
    """Return the readable text that :func:`solver_text` gives, with the same arguments."""
    return solver_text(name, student, teacher, tolerance, limited, lanes=False).readable


def text_for_lanes(
    name: str, student: str, teacher: str, tolerance: float | None, rule: LearningRule
) -> str:
    """Return the module for several runs at a time, or an empty text if there is none.

    It comes from the program of a checked solver; see :func:`solver_text`.
    """
    problem = learning_problem(student, teacher, rule)
    if over_fields(problem):
        return ""
    return unchecked(name, problem, tolerance, tolerance is not None)[0].lanes


def unchecked(
    name: str,
    problem: LearningProblem,
    tolerance: float | None = None,
    limited: bool = False,
    lanes: bool = True,
) -> tuple[SolverText, CompiledMeans | None]:
    """Return the texts of a solver before their check, and its means by quadrature if it has any.

    See :func:`solver_text`.
    """
    equations = derive_equations(problem)
    finest = DEFAULT_TOLERANCE if tolerance is None else tolerance

    def of_sums() -> tuple[SolverText, None]:
        tables = mixtures(problem, finest)
        return solver_of(solver_program(equations, name, tables), lanes), None

    def of_points(bound: float | None, best: bool) -> tuple[SolverText, CompiledMeans]:
        rules = quadrature(problem, bound, best)
        solver = solver_of(solver_program(equations, name, rules), lanes)
        return solver, compiled_means(rules.text)

    if not has_holes(problem):
        bound = max(finest, FINEST_SMOOTH) if limited else finest
        # sums of error functions are proved to 2e-12
        if by_points(problem) and bound >= FINEST_SMOOTH:
            with suppress(NotYetError, PrinterError, ToleranceError):
                return of_points(bound, limited and problem.rule.biases)
        with suppress(NotYetError, PrinterError):
            return of_sums()
    try:
        return of_points(tolerance, limited)
    except PrinterError as error:
        raise NotYetError(
            f"not yet: no solver module for {problem.student.text!r}: {error}"
        ) from error


def write_checked_in(directory: Path, check: bool = False) -> list[str]:
    """Write the modules of :data:`RECIPES` that are not up to date, or only compare them.

    Args:
        directory: Where the modules are, e.g. ``generated/symderiv_kernels``.
        check: Write nothing.

    Returns:
        The names of the modules that were missing or differed in any byte from the text of their
        recipe (and that now are up to date, unless ``check``); ``layout`` is one of them.
    """
    modules = {LAYOUT.removesuffix(".py"): {LAYOUT: layout_text()}}
    for name, (student, teacher) in RECIPES.items():
        modules[name] = solver_text(name, student, teacher).files(name)
    differing = []
    for name, files in modules.items():
        contents = {directory / place: text.encode() for place, text in files.items()}
        if all(path.is_file() and path.read_bytes() == text for path, text in contents.items()):
            continue
        differing.append(name)
        if not check:
            for path, text in contents.items():
                path.parent.mkdir(parents=True, exist_ok=True)
                write_whole(path, text)
    return differing
