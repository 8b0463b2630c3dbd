"""Activations without closed Gaussian means in the equations, and the errors of their means."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass

import sympy as sp
from symderiv_codegen import Constant

from symderiv.foundation.errors import DivergentError
from symderiv.gaussian.erf_mixture import mixture, slope_square, tanh_form
from symderiv.learning.rule.learning_problem import LearningProblem
from symderiv.lowering.means.closed_means import (
    X,
    almost_everywhere,
    closed_mean,
    field_symbols,
)
from symderiv.lowering.means.mixture_integrals import MixtureTables, Tables
from symderiv.lowering.means.numeric_activation import NumericActivation
from symderiv.lowering.means.quadrature_means import Quadrature, in_planes

DEFAULT_TOLERANCE = 1e-8
"""Bound on the error of an approximated activation and of its derivative, absolute."""

QUADRATURE_TOLERANCE = 1e-6
"""Bound on the error of means by quadrature if none is given."""

KINKED_TOLERANCE = 1e-4
"""Bound on the error of means by quadrature, for activations with kinks, if none is given."""

FINEST_QUADRATURE = 1e-9
"""The smallest bound on the error of quadrature that runs ask for on their own, for stated systems
and for means over planes of activations with kinks."""

FINEST_SMOOTH = 1e-10
"""The smallest such bound for smooth activations."""

FINEST_KINKED = 1e-6
"""The smallest such bound for other activations with kinks."""


@dataclass(frozen=True)
class Mixtures:
    """The mixtures in place of activations that contain tanh.

    Attributes:
        tolerance: The bound on their errors that was asked for.
        tables: The mixtures of the student (False) and the teacher (True).
    """

    tolerance: float
    tables: Tables

    @property
    def error(self) -> float:
        """Proved bound on the error of the activations."""
        return max(table.mixture.error for table in self.tables.values())

    @property
    def derivative_error(self) -> float:
        """Proved bound on the error of their derivatives."""
        return max(table.mixture.derivative_error for table in self.tables.values())

    @property
    def constants(self) -> dict[str, Constant]:
        """Constants of the module: the tables, and what is known of their accuracy."""
        known: dict[str, Constant] = {
            "ACTIVATION_TOLERANCE": self.tolerance,
            "ACTIVATION_ERROR": self.error,
            "ACTIVATION_DERIVATIVE_ERROR": self.derivative_error,
            "ACTIVATION_METHOD": "mixture",
        }
        for table in self.tables.values():
            known.update(table.constants)
        return known

    @property
    def recipe(self) -> dict[str, str]:
        """Entries for the recipe in the module's header: the tolerance and the numbers of terms."""
        terms = ", ".join(str(table.mixture.terms) for table in self.tables.values())
        return {"tolerance": f"{self.tolerance:g}", "error functions": terms}

    @property
    def statement(self) -> list[str]:
        """Lines for the header of the module: the mixtures with their proved errors."""
        lines = []
        for teacher, table in self.tables.items():
            letter = "h" if teacher else "g"
            fit = table.mixture
            rest = f"{fit.form.rest} + " if fit.form.rest != 0 else ""
            lines += [
                f"{letter}(x) = {fit.form.expression} enters the means as",
                f"    {letter}_n(x) = {rest}"
                f"sum_k({table.prefix}_WEIGHT[k]*erf({table.prefix}_SCALE[k]*x)),"
                f" k < {table.prefix}_TERMS;",
                f"    proved for all x: |{letter} - {letter}_n| <= {fit.error:.1e}, "
                f"|{letter}' - {letter}_n'| <= {fit.derivative_error:.1e}",
            ]
            if table.square is not None:
                lines += [
                    f"two slopes at one field enter four-factor means as {letter}'(x)^2 =",
                    f"    sum_k({table.of_squares}_WEIGHT[k]*(d/dx erf({table.of_squares}_SCALE[k]"
                    f"*x))^2), k < {table.of_squares}_TERMS;",
                    f"    proved for all x: the error is <= {table.square.error:.1e}",
                ]
        return lines


def mixtures(problem: LearningProblem, tolerance: float) -> Mixtures | None:
    """Return the mixtures that a problem needs, or None if neither activation contains tanh.

    Args:
        problem: The activations and the rule.
        tolerance: Bound on the errors of functions and of their derivatives, absolute.

    Raises:
        ToleranceError: The tolerance cannot be reached; the message says what can.
        NotYetError: The other activation has no closed means.
    """
    activations = {False: problem.student}
    if not problem.same_activation:
        activations[True] = problem.teacher
    forms = {teacher: tanh_form(each.expression) for teacher, each in activations.items()}
    if not any(forms.values()):
        return None
    for teacher, form in forms.items():
        if form is None:
            _require_closed_means(activations[teacher].expression, problem.rule.biases)
    by_network = {teacher: mixture(form, tolerance) for teacher, form in forms.items() if form}
    prefixes = ("MIXTURE",) if len(by_network) == 1 else ("STUDENT_MIXTURE", "TEACHER_MIXTURE")
    # products of two slopes have tables of their own for students alone
    tables = {
        teacher: MixtureTables(
            each, prefix, None if teacher else slope_square(each.form, tolerance)
        )
        for (teacher, each), prefix in zip(by_network.items(), prefixes, strict=True)
    }
    return Mixtures(tolerance, tables)


STEEPEST = 1.5
"""The rate b of tanh(b x) up to which means by quadrature cost less than sums of error functions,
whose cost does not depend on it."""


def by_points(problem: LearningProblem) -> bool:
    """Return whether compiled modules have the means of activations that contain tanh by
    quadrature: where both activations are smooth, and not steep or biased.

    Two such units and two teachers take a half to a third of the time of sums of error functions,
    and a thousandth if units have biases, with which the sums have many more terms.
    """
    numeric = _numeric(problem)
    if problem.rule.stated or any(each.kinks for each in numeric):
        return False
    forms = [form for each in numeric if (form := tanh_form(each.expression))]
    limit = math.inf if problem.rule.biases else STEEPEST
    return bool(forms) and all(abs(form.rate) <= limit for form in forms)


def _require_closed_means(activation: sp.Expr, biased: bool) -> None:
    """Refuse an activation for which the mean of a product of two has no closed form.

    Raises:
        NotYetError: That mean has no closed form.
    """
    product = sp.Mul(*(activation.xreplace({X: field}) for field in field_symbols(2)))
    with suppress(DivergentError):  # reported by the derivation
        closed_mean(almost_everywhere(product), (biased, biased))


def quadrature(
    problem: LearningProblem,
    tolerance: float | None,
    limited: bool,
    rules: type[Quadrature] = Quadrature,
) -> Quadrature:
    """Return the quadrature of a problem whose means have no closed form.

    Args:
        problem: The activations.
        tolerance: Bound on the error of the means; None for the default.
        limited: Take the finest affordable rule where the tolerance is out of reach.
        rules: The class that chooses the rules: for means alone, or for their derivatives too.

    Raises:
        DivergentError, NotYetError, ToleranceError: See :class:`Quadrature`.
    """
    student, teacher = _numeric(problem)
    kinked = bool(student.kinks or teacher.kinks)
    if tolerance is not None:
        panels = kinked and not in_planes(problem, student, teacher)
        finest = FINEST_KINKED if panels else FINEST_QUADRATURE if kinked else FINEST_SMOOTH
        asked = max(tolerance, finest) if limited else tolerance
        return rules(problem, asked, limited)
    return rules(problem, KINKED_TOLERANCE if kinked else QUADRATURE_TOLERANCE)


def has_holes(problem: LearningProblem) -> bool:
    """Return whether a formula is 0/0 somewhere, which the Gaussian calculus would mistake for a
    divergence.
    """
    return any(activation.holes for activation in _numeric(problem))


def _numeric(problem: LearningProblem) -> list[NumericActivation]:
    pair = (problem.student, problem.teacher)
    return [NumericActivation(activation.expression, activation.text) for activation in pair]


Approximation = Mixtures | Quadrature
"""The approximation of activations whose means have no closed form."""
