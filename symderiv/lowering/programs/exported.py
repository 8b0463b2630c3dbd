"""The equations of a problem as a program that can be printed in other languages."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from symderiv_codegen import (
    Example,
    PrinterError,
    Program,
    ProgramError,
    Vector,
    print_fast,
    print_mpmath,
    print_numba,
    print_reverse,
    tangent,
    tangent_procedure,
)

from symderiv.foundation.derivation_cache import derived_once, package_folders
from symderiv.foundation.errors import NotYetError
from symderiv.foundation.languages import ExportLanguage
from symderiv.learning.derivation.learning_equations import derive_equations
from symderiv.learning.rule.admissible import check_for_modules
from symderiv.learning.rule.learning_problem import LearningProblem, learning_problem
from symderiv.learning.rule.learning_rule import LearningRule
from symderiv.lowering.means.approximation import DEFAULT_TOLERANCE, has_holes, mixtures, quadrature
from symderiv.lowering.means.force_fields import over_fields
from symderiv.lowering.means.quadrature_means import DifferentiableQuadrature
from symderiv.lowering.programs.program import solver_program
from symderiv.numerics import GAUSSIAN

_CLOSED = "an activation with closed means (erf, relu, linear, tanh, gelu, …)"
_CLOSED_BESIDE_BIASES = "no biases, or activations with closed means beside them (erf, tanh, x**3)"


def exported_program(
    problem: LearningProblem, name: str, tolerance: float | None = None
) -> Program:
    """Return the program of a problem whose means are closed, or sums over tables of closed ones.

    Args:
        problem: Activations and rule.
        name: The name of the program.
        tolerance: Bound on the error of an activation as a mixture; None for the default.

    Raises:
        NotYetError: A mean is an integral, which only compiled modules evaluate.
    """
    check_for_modules(problem.student, problem.teacher)
    if problem.rule.target == "sign":
        raise _integrals("the sign of a target", "target", 'the target "sum"')
    if over_fields(problem):
        raise _integrals("the slopes of this loss", "loss", "the squared loss")
    equations = derive_equations(problem)
    activations, closed = f"{problem.student.text!r} and {problem.teacher.text!r}", _CLOSED
    if problem.rule.biases:
        activations, closed = f"{activations} with biases", _CLOSED_BESIDE_BIASES
    if has_holes(problem):
        raise _integrals(activations, "activation", closed)
    try:
        tables = mixtures(problem, DEFAULT_TOLERANCE if tolerance is None else tolerance)
        return solver_program(equations, name, tables)
    except (NotYetError, PrinterError) as error:
        raise _integrals(activations, "activation", closed) from error


def kept_program(
    student: str, teacher: str, rule: LearningRule, tolerance: float | None = None
) -> Program:
    """Return :func:`exported_program` from the cache; it contains no numbers of a study.

    Args:
        student, teacher: Activations, by their names or formulas.
        rule: The learning rule.
        tolerance: Bound on the error of an activation as a mixture; None for the default.
    """
    return Program(**program_fields(student, teacher, rule, tolerance), extension=GAUSSIAN)


#: Programs of named activations that come with the package, by their calls.
SHIPPED_PROGRAMS = Path(__file__).with_name("programs.pickle")
_CODEGEN = package_folders("symderiv_codegen")


@derived_once(imports=(__name__,), also=_CODEGEN)
def kept_vectors(
    student: str, teacher: str, rule: LearningRule, tolerance: float | None
) -> tuple[Vector, ...]:
    """Return the vectors of :func:`kept_program` without its expressions, which load slowly."""
    return kept_program(student, teacher, rule, tolerance).vectors


@derived_once(imports=(__name__,), also=_CODEGEN)
def source_text(
    student: str,
    teacher: str,
    rule: LearningRule,
    tolerance: float | None,
    language: ExportLanguage,
    numbers: tuple[Any, ...],
) -> str:
    """Return :func:`kept_program` as source in a language.

    Args:
        student, teacher, rule, tolerance: As in :func:`kept_program`.
        language: What it is written in.
        numbers: Sizes and values by name, end and steps of the example at the end of the source.

    Raises:
        PrinterError: The language lacks a function.
    """
    sizes, values, end, steps = numbers
    _in_time(rule)
    program = kept_program(student, teacher, rule, tolerance)
    return language.source(program, Example(dict(sizes), dict(values), end, steps))


def _with_derivatives(
    student: str, teacher: str, rule: LearningRule, tolerance: float | None
) -> Program:
    """Return :func:`kept_program` or, if its means are integrals, the program that computes them
    and their derivatives by quadrature.

    Raises:
        NotYetError: The derivatives of a mean are not known.
    """
    try:
        return kept_program(student, teacher, rule, tolerance)
    except NotYetError as error:
        if error.argument != "activation":
            raise
        problem = learning_problem(student, teacher, rule)
        rules = quadrature(problem, tolerance, True, DifferentiableQuadrature)
        return solver_program(derive_equations(problem), "exported", rules)


def tangent_program(
    student: str,
    teacher: str,
    rule: LearningRule,
    tolerance: float | None,
    moving: tuple[str, ...],
) -> Program:
    """Return the tangent of :func:`kept_program`, also where means are integrals.

    Args:
        student, teacher, rule, tolerance: As in :func:`kept_program`.
        moving: Names of the parameters that have a direction.

    Raises:
        NotYetError: A mean is an integral, whose derivative is not known.
    """
    with _refused(student, teacher):
        return tangent(_with_derivatives(student, teacher, rule, tolerance), moving)


@contextmanager
def _refused(student: str, teacher: str) -> Iterator[None]:
    """Turn errors into one that says that means of the activations have no derivatives."""
    try:
        yield
    except NotYetError as error:
        integrals = "with it, means are integrals of which no derivatives are known; leave it out"
        if error.argument in (None, "activation", "teacher_activation"):
            integrals = (
                f"means of {student!r} and {teacher!r} are integrals; take an activation with "
                "closed means (erf, relu, linear, tanh, gelu, …)"
            )
        raise NotYetError(f"has no Jacobian yet: {integrals}", argument=error.argument) from error
    except ProgramError as error:
        raise NotYetError(f"has no Jacobian yet: {error}", argument="activation") from error


@derived_once(imports=(__name__,), also=_CODEGEN, shipped=SHIPPED_PROGRAMS)
def tangent_module_text(
    student: str,
    teacher: str,
    rule: LearningRule,
    tolerance: float | None,
    moving: tuple[str, ...],
) -> str:
    """Return the fast module of :func:`tangent_program` from the cache, ready to be compiled."""
    return print_fast(tangent_program(student, teacher, rule, tolerance, moving))


@derived_once(imports=(__name__,), also=_CODEGEN, shipped=SHIPPED_PROGRAMS)
def precise_text(student: str, teacher: str, rule: LearningRule) -> str:
    """Return the text of :func:`kept_program` for numbers of arbitrary precision.

    Args:
        student, teacher, rule: As in :func:`kept_program`.

    Raises:
        PrinterError: A mean is a sum over tables of doubles, or an integral.
    """
    _in_time(rule)
    return print_mpmath(kept_program(student, teacher, rule))


def _in_time(rule: LearningRule) -> None:
    if rule.batches:
        raise NotYetError(
            "cannot be exported: the state changes by steps, not in time; leave it out",
            argument="batch_ratio",
        )


@derived_once(imports=(__name__,), also=_CODEGEN)
def reverse_module_text(
    student: str,
    teacher: str,
    rule: LearningRule,
    tolerance: float | None,
    moving: tuple[str, ...],
) -> str:
    """Return the module of weights times the Jacobian, see :func:`symderiv_codegen.print_reverse`.

    Args:
        student, teacher, rule, tolerance: As in :func:`kept_program`.
        moving: Names of fields of the state and of parameters.

    Raises:
        NotYetError: A mean is an integral, whose derivative is not known.
    """
    with _refused(student, teacher):
        return print_reverse(_with_derivatives(student, teacher, rule, tolerance), moving)


@derived_once(imports=(__name__,), also=_CODEGEN, shipped=SHIPPED_PROGRAMS)
def tangent_observables_text(
    student: str, teacher: str, rule: LearningRule, tolerance: float | None
) -> tuple[str, tuple[str, ...]]:
    """Return a module with the rates of Q, R and the error, and the names of the arrays that these
    depend on.

    Its function ``observables_tangent`` takes these arrays, their rates, and arrays for the rates
    of Q and R; it returns the rate of the error.
    """
    with _refused(student, teacher):
        program = _with_derivatives(student, teacher, rule, tolerance)
    observables = program.procedure(program.observables)
    assert observables is not None
    text = print_numba(tangent_procedure(program, program.observables))
    return text, tuple(array.name for array in observables.inputs)


@derived_once(imports=(__name__,), also=_CODEGEN, shipped=SHIPPED_PROGRAMS)
def program_fields(
    student: str, teacher: str, rule: LearningRule, tolerance: float | None
) -> dict[str, Any]:
    """Return the fields of a program except its extension, whose functions are not kept."""
    program = exported_program(learning_problem(student, teacher, rule), "exported", tolerance)
    return {name: value for name, value in vars(program).items() if name != "extension"}


def _integrals(of_what: str, argument: str, instead: str) -> NotYetError:
    return NotYetError(
        f"cannot be exported: means of {of_what} are integrals that only compiled modules "
        f"evaluate; use symderiv generate, or {instead}",
        argument=argument,
    )
