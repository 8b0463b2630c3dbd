"""Activations without closed Gaussian means in the equations, and the errors of their means."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

import sympy as sp
from symderiv_codegen import Constant, Procedure

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
from symderiv.lowering.means.shared_means import MIXTURE_NOISE_MEANS

DEFAULT_TOLERANCE = 1e-8
"""Bound on the error of an approximated activation and of its derivative, absolute."""

QUADRATURE_TOLERANCE = 1e-6
"""Bound on the error of means by quadrature if none is given."""

KINKED_TOLERANCE = 1e-4
"""Bound on the error of means by quadrature, for activations with kinks, if none is given."""

FINEST_QUADRATURE = 1e-9
"""The smallest bound on the error of quadrature that runs ask for on their own."""

FINEST_KINKED = 1e-6
"""The smallest such bound for activations with kinks."""


@dataclass(frozen=True)
class Mixtures:
    """The mixtures in place of activations that contain tanh.

    Attributes:
        tolerance: The bound on their errors that was asked for.
        tables: The mixtures of the student (False) and the teacher (True).
        rule: The numbers by which a module computes means of four factors together, see
            ``symderiv.numerics.quadratures.mixture_noise``; empty if it does not.
    """

    tolerance: float
    tables: Tables
    rule: tuple[float, ...] = ()

    @property
    def shared_means(self) -> tuple[Procedure, ...]:
        """The procedures that compute means together, see ``shared_means``."""
        return (MIXTURE_NOISE_MEANS,) if self.rule else ()

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
        if self.rule:
            known["MIXTURE_RULE"] = self.rule
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
        if self.rule:
            lines += [
                "means of four factors are sums of series over the terms of MIXTURE_RULE, one for",
                f"    each product of two slopes; proved: its remainder is <= {self.rule[2]:.0e}",
            ]
        return lines


def mixtures(problem: LearningProblem, tolerance: float, together: bool = False) -> Mixtures | None:
    """Return the mixtures that a problem needs, or None if neither activation contains tanh.

    Args:
        problem: The activations and the rule.
        tolerance: Bound on the errors of functions and of their derivatives, absolute.
        together: Compute the means of four factors together where that is possible. Only compiled
            modules can, and such means cannot be differentiated.

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
    together &= len(tables) == len(activations) and not (problem.rule.biases or problem.rule.stated)
    return Mixtures(tolerance, tables, _noise_rule(tables) if together else ())


_REMAINDER = 1e-3
"""The largest remainder of a series of means, over the error of the slopes of activations."""


def _noise_rule(tables: Tables) -> tuple[float, ...]:
    """Return the numbers of a rule of ``mixture_noise``, or none if it does not apply: weights must
    have one sign, and what activations have beside a mixture must be constant.
    """
    student = tables[False]
    both = student.mixture, tables.get(True, student).mixture
    signs = all(len({weight > 0 for weight in each.weights}) == 1 for each in both)
    if student.square is None or not signs or any(each.form.rest.has(X) for each in both):
        return ()
    space = -(-max(each.terms for each in both) // 8) * 8
    columns = [column for each in both for column in (each.weights, each.scales)]
    padded = [(0.0,) * (space - len(column)) + column for column in columns]
    remainder = _REMAINDER * max(each.derivative_error for each in both)
    head = float(space), float(student.square.terms), remainder
    rests = (float(each.form.rest) for each in both)
    return (*head, *rests, *sum(padded, ()), *student.square.weights, *student.square.scales)


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
        finest = FINEST_KINKED if panels else FINEST_QUADRATURE
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
