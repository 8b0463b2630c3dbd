r"""Means without closed forms by quadrature, with the largest error that a search finds.

The functions of ``symderiv.numerics.quadratures.smooth_mean`` and ``kinked_mean`` compute E[∏
f_a(z_a)], whatever the covariance: with equal steps for analytic functions, in panels that grow out
of the kinks of nearly aligned fields for others. Their error is searched for when a module is made
(see ``quadrature_error``), and the coarsest rule that keeps the tolerance is taken.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import sympy as sp
from symderiv_codegen import (
    Constant,
    Function,
    Procedure,
    ScalarFunction,
    TemplateFunction,
)

from symderiv.foundation.derivation_cache import derived_once
from symderiv.foundation.errors import DivergentError, NotYetError
from symderiv.gaussian import existence
from symderiv.learning.derivation import symbols as s
from symderiv.learning.derivation.learning_equations import derive_equations
from symderiv.learning.derivation.mean_factors import slots
from symderiv.learning.rule.learning_problem import LearningProblem, learning_problem
from symderiv.learning.rule.learning_rule import LearningRule
from symderiv.lowering.means.compiled_means import compiled_means, module_of_means
from symderiv.lowering.means.numeric_activation import NumericActivation, X
from symderiv.lowering.means.patterns import Kind, Pattern
from symderiv.lowering.means.quadrature_error import (
    LARGEST_BIAS,
    LARGEST_VARIANCE,
    Choice,
    Kinds,
    Search,
    chosen_rule,
    pair_error,
    stated_mean_error,
)
from symderiv.lowering.means.quadrature_rules import MeanRule
from symderiv.lowering.means.shared_means import KINKED_NOISE_MEANS, NOISE_MEANS

_SOURCES = ("learning", "lowering", "numerics", "gaussian", "formula")


@derived_once(*_SOURCES)
def error_within(
    student: str,
    teacher: str,
    rule: LearningRule,
    numbers: tuple[tuple[float, ...], tuple[float, ...]],
    variance: float,
    bias: float,
) -> float:
    """Return the error of the means of a module where fields are larger than it states errors for.

    Args:
        student, teacher: Activations.
        rule: The rule of the module.
        numbers: ``QUADRATURE_RULE`` and ``QUADRATURE_PAIR_RULE`` of the module.
        variance, bias: The largest of the fields, and of their biases in modulus.

    Returns:
        The largest difference to a much finer rule that a search finds, times a factor of safety.
    """
    given = MeanRule(0.0, *numbers)
    problem = learning_problem(student, teacher, rule)
    return Quadrature(problem, math.inf, rule=given, within=(variance, bias)).error


_NAMES = {
    0: "{}_activation",
    1: "{}_activation_derivative",
    2: "{}_activation_curvature",
}
_SAMPLES = (
    (0, 0),
    (1, 1, 0, 0),
    (2, 0),
    (1, 4),
)  # means in which all that computes any of them occurs
_TEACHER = 3  # number of the teacher's activation among the factors; see the templates
_HIGHER = {
    (False, 3): (5, "student_activation_third_derivative"),
    (True, 2): (6, "teacher_activation_second_derivative"),
    (False, 2): (7, "student_activation_second_derivative"),
}
"""Numbers and names of factors that only rules with slopes of slopes have; the number 2 is half a
second derivative, of the mean E[g''(a) h(b)]/2 alone."""


@dataclass(frozen=True)
class FactorMeans:
    """Means of products of two or four factors, which are called by number, by one rule.

    Attributes:
        factors: The factors, and all of them by number, as functions of a module.
        means: The factors of every mean that occurs, by number.
        kinks: Constants of the module that say where they are not smooth.
        family: What means of four factors go over: ``smooth`` if all are analytic, ``plane``
            (``plane_mean``) or ``kinked`` (``kinked_mean``).
        at_zero: Whether means of two factors with kinks go over sectors (``polar_mean``).
        rough: Whether factors jump, or slopes of which means are taken.
        even: Whether no mean changes when all fields change their signs.
        biased: Whether fields have biases.
        of_what: What means are of, for messages.
        samples: Means, with what is said of them in ``template``, in which all that computes any of
            them occurs.
        together: What computes means of four factors together.
        within: The largest variances, and biases in modulus, of the fields in the search.
        idle: The number of a factor whose fields do not vary, if any; see ``Search``.
    """

    factors: tuple[Function, ...]
    means: tuple[Kinds, ...]
    kinks: Mapping[str, Constant]
    family: str
    at_zero: bool
    rough: bool
    even: bool
    biased: bool
    of_what: str
    samples: tuple[tuple[Kinds, str], ...]
    together: tuple[Procedure, ...] = ()
    within: tuple[float, float] = (LARGEST_VARIANCE, LARGEST_BIAS)
    idle: int | None = None

    def template(
        self,
        name: str,
        arguments: tuple[sp.Symbol, ...],
        kinds: Kinds,
        doc: str,
        symmetries: tuple[tuple[int, ...], ...] = (),
        what: str = "",
    ) -> TemplateFunction:
        """Return a mean of two or four factors; ``what`` names one with a part at kinks."""
        family = "" if self.family == "smooth" else "kinked_"
        if self.family == "plane" and len(kinds) == 4:
            family = "plane_"
        elif self.at_zero:
            family = "polar_"
        template = f"{family}mean_of_{what or len(kinds)}"
        if self.biased or len(arguments) > len(kinds) * (len(kinds) + 1) // 2:
            template = f"shifted_{template}"
        numbers = tuple((f"kind_{place}", str(kind)) for place, kind in enumerate(kinds, start=1))
        return TemplateFunction(name, arguments, template, numbers, doc, symmetries=symmetries)

    def choice(self, tolerance: float, limited: bool) -> Choice:
        """Return what a rule is chosen for.

        Args:
            tolerance: Bound on the absolute error of the means.
            limited: Take the best rule where none keeps it.
        """
        return Choice(
            means=hashlib.sha256(self.text.encode()).hexdigest(),
            kinds=self.means,
            family=self.family,
            slope_jumps=self.rough,
            even=self.even,
            tolerance=tolerance,
            limited=limited,
            biased=self.biased,
            within=self.within,
            idle=self.idle,
            of_what=self.of_what,
            search=lambda: self.search,
        )

    @cached_property
    def search(self) -> Search:
        """The search for covariances with large errors."""
        means, within = compiled_means(self.text), self.within
        return Search(means, self.means, self.biased, *within, self.idle)

    @cached_property
    def text(self) -> str:
        """The text of a module of the means alone, with the rule as an argument."""
        rules = dict.fromkeys(("QUADRATURE_RULE", "QUADRATURE_PAIR_RULE"), (0.0,))
        constants: dict[str, Constant] = {**self.kinks, **rules}
        means = [
            self.template(f"mean_{n}", (), kinds, "", what=what)
            for n, (kinds, what) in enumerate(self.samples)
        ]
        return module_of_means((*self.factors, *means), constants, self.together)


class Quadrature:
    """The means of a problem as functions of a module."""

    def __init__(
        self,
        problem: LearningProblem,
        tolerance: float,
        limited: bool = False,
        rule: MeanRule | None = None,
        within: tuple[float, float] = (LARGEST_VARIANCE, LARGEST_BIAS),
    ) -> None:
        """Find the coarsest rule that does.

        Args:
            problem: The activations.
            tolerance: Bound on the absolute error of the means.
            limited: Take the best rule where none does.
            rule: Take this one and search for its error.
            within: The largest variances, and biases in modulus, of the fields in the search.

        Raises:
            DivergentError: Γ_ii does not exist.
            NotYetError: An activation has jumps or another property that the rules cannot treat.
            ToleranceError: No affordable rule reaches the tolerance.
        """
        self.problem = problem
        self.biased = problem.rule.biases
        self.student = NumericActivation(problem.student.expression, problem.student.text)
        self.teacher = NumericActivation(problem.teacher.expression, problem.teacher.text)
        _refuse_divergence(problem, self.student, self.teacher)
        if self.higher and self.kinked:
            raise NotYetError(
                f"not yet: quadrature of second derivatives of {problem.student.text!r} or "
                f"{problem.teacher.text!r}, which have kinks; use smooth activations with this rule"
            )
        self.tolerance, self.within = tolerance, within
        if rule is None:
            choice = self.by_number.choice(tolerance, limited)
            self.rule, self.error, self.pair_error = chosen_rule(choice)
        else:
            search = self.by_number.search
            self.rule, self.error = rule, stated_mean_error(search.error(rule, math.inf))
            self.pair_error = pair_error(search, rule)

    @cached_property
    def kinked(self) -> bool:
        """True if the rules have to be split."""
        return bool(self.student.kinks or self.teacher.kinks)

    @property
    def shared(self) -> bool:
        """True if the means of four factors are computed together (``shared_means``)."""
        return self.noise_means is not None

    @cached_property
    def noise_means(self) -> Procedure | None:
        """The procedure that computes all means of four factors together."""
        if self.problem.rule.stated:
            return None
        if not self.kinked:
            return NOISE_MEANS
        return KINKED_NOISE_MEANS if self.in_planes else None

    @cached_property
    def in_planes(self) -> bool:
        """True if means of four factors with kinks go over points of planes (``plane_mean``)."""
        return self.kinked and in_planes(self.problem, self.student, self.teacher)

    @property
    def at_zero(self) -> bool:
        """True if means of two factors with kinks go over sectors (``polar_mean``)."""
        return self.in_planes and not any((*self.student.kinks, *self.teacher.kinks))

    @property
    def constants(self) -> dict[str, Constant]:
        """Constants of the module."""
        constants: dict[str, Constant] = {
            "ACTIVATION_TOLERANCE": self.tolerance,
            "ACTIVATION_ERROR": self.error,
            "ACTIVATION_DERIVATIVE_ERROR": self.error,
            "ACTIVATION_PAIR_ERROR": self.pair_error,
            "ACTIVATION_METHOD": "quadrature",
            "ACTIVATION_LARGEST_VARIANCE": LARGEST_VARIANCE,
            "QUADRATURE_RULE": self.rule.four,
            "QUADRATURE_PAIR_RULE": self.rule.two,
        }
        if self.biased:
            constants["ACTIVATION_LARGEST_BIAS"] = LARGEST_BIAS
        return {**constants, **self._kink_constants}

    @property
    def _kink_constants(self) -> dict[str, Constant]:
        if not self.kinked:
            return {}
        return {
            "STUDENT_KINKS": self.student.kinks,
            "TEACHER_KINKS": self.teacher.kinks,
            "STUDENT_SLOPE_JUMPS": self.student.jumps_of_slope,
            "TEACHER_JUMPS": self.teacher.jumps_of_value,
        }

    @property
    def recipe(self) -> dict[str, str]:
        """Lines of the recipe."""
        return {"tolerance": f"{self.tolerance:g}", "quadrature step": f"{self.rule.step:g}"}

    @property
    def statement(self) -> list[str]:
        """Lines for the header of the module."""
        largest = f"variances up to {LARGEST_VARIANCE:g}"
        if self.biased:
            largest += f" and biases up to {LARGEST_BIAS:g}"
        how = (
            [
                "in panels between the kinks of the activations, graded where fields are nearly",
                "    aligned;",
            ]
            if self.kinked
            else ["by a rule of equal steps in independent Gaussian variables;"]
        )
        return [
            "E[..] has no closed form for these activations: it is computed",
            f"    {how[0]}",
            *how[1:],
            f"    absolute error of the means for {largest}, of aligned",
            f"    fields too: {self.error:.1e} (the largest found, times a safety factor)",
        ]

    def activation_functions(self) -> tuple[Function, ...]:
        """Return the activations, the derivatives that occur in means, and all of them by
        number.
        """
        result: list[Function] = []
        for name, letter, of in (("student", "g", self.student), ("teacher", "h", self.teacher)):
            for order in range(3):
                if name == "teacher" and (order == 2 or (order and self.problem.same_activation)):
                    continue
                value: sp.Expr
                if name == "teacher" and self.problem.same_activation:
                    value = sp.Function("student_activation")(X)
                else:
                    # delta functions of slopes have templates of their own
                    rough = order == 2 or of.jumps
                    value = of.derivative(order, between_kinks=rough) / (1 + order // 2)
                doc = {
                    0: f"The {name}'s activation {letter}(x).",
                    1: "Its derivative.",
                    2: "Half of its second derivative"
                    + (" between the kinks." if self.student.slope_jumps else "."),
                }[order]
                name_of = _NAMES[order].format(name)
                result.append(ScalarFunction(name_of, (X,), (), value, doc, as_value=True))
        if self.higher:
            for (teacher, order), (_, name) in _HIGHER.items():
                of = self.teacher if teacher else self.student
                doc = (
                    f"The derivative of order {order} of the {'teacher' if teacher else 'student'}."
                )
                result.append(
                    ScalarFunction(name, (X,), (), of.derivative(order), doc, as_value=True)
                )
        return (*result, *self._by_number())

    def _by_number(self) -> list[TemplateFunction]:
        known = {number: _NAMES[number].format("student") for number in range(_TEACHER)}
        for order in range(2):
            owner = "student" if self.problem.same_activation else "teacher"
            known[_TEACHER + order] = _NAMES[order].format(owner)
        names = tuple((f"factor_{number}", name) for number, name in known.items())
        kind, x = sp.symbols("kind x")
        doc = "The activations and their derivatives by number."
        usual = "quadrature_usual_factor" if self.higher else "quadrature_factor"
        functions = [TemplateFunction(usual, (kind, x), "factor_of", names, doc)]
        if self.higher:
            higher = tuple((f"factor_{number}", name) for number, name in _HIGHER.values())
            higher += (("factor_of", usual),)
            functions.append(
                TemplateFunction("quadrature_factor", (kind, x), "any_factor_of", higher, doc)
            )
        if self.at_zero:
            of_many = sp.Symbol("values")
            doc = "One of them at many numbers."
            names = tuple((f"factor_{number}", name) for number, name in known.items())
            functions.append(
                TemplateFunction("quadrature_factors", (kind, x, of_many), "factors_of", names, doc)
            )
        if self.kinked:
            doc = "Where they are not smooth."
            functions.append(TemplateFunction("quadrature_kinks", (kind,), "kinks_of", (), doc))
        return functions

    def functions(
        self, pattern: Pattern, arguments: tuple[sp.Symbol, ...], name: str, doc: str
    ) -> list[Function]:
        """Return the function of a pattern in which every factor has a field of its own."""
        kinds = _numbers(tuple(kind for (kind,) in pattern.fields))
        symmetries = pattern.symmetries(self.biased)
        what = self._what(kinds)
        return [self.by_number.template(name, arguments, kinds, doc, symmetries, what)]

    def _what(self, kinds: Kinds) -> str:
        """Return which part at kinks a mean has."""
        if _TEACHER + 1 in kinds and self.teacher.jumps:
            return "slopes"
        return "curvature" if 2 in kinds and self.student.slope_jumps else ""

    @cached_property
    def by_number(self) -> FactorMeans:
        """The means with their factors by number."""
        student, teacher = self.problem.student.text, self.problem.teacher.text
        return FactorMeans(
            factors=self.activation_functions(),
            means=tuple(self.means),
            kinks=self._kink_constants,
            family="plane" if self.in_planes else "kinked" if self.kinked else "smooth",
            at_zero=self.at_zero,
            rough=bool(self.student.slope_jumps or self.teacher.slope_jumps),
            even=self.student.parity * self.teacher.parity == 1,
            biased=self.biased,
            of_what=f"the activations {student!r} and {teacher!r}",
            samples=tuple((kinds, self._what(kinds)) for kinds in _SAMPLES),
            together=() if self.noise_means is None else (self.noise_means,),
            within=self.within,
        )

    @property
    def text(self) -> str:
        """The text of a module of the means alone, with the rule as an argument."""
        return self.by_number.text

    @property
    def search(self) -> Search:
        """The search for covariances with large errors."""
        return self.by_number.search

    @property
    def means(self) -> list[Kinds]:
        """The factors of every mean in the equations, by number."""
        twos = [(0, 0), (1, 1), (2, 0)]
        fours = [(1, 1, 0, 0)]
        if not self.problem.same_activation:
            h, slope = _TEACHER, _TEACHER + 1
            twos += [(0, h), (h, h), (1, slope), (2, h)]
            fours += [(1, 1, 0, h), (1, 1, h, h)]
        return list(dict.fromkeys((*twos, *fours, *self._of_stated_rules)))

    @cached_property
    def _of_stated_rules(self) -> list[Kinds]:
        """The factors of means in the equations of a rule with lines of its own."""
        if not self.problem.rule.stated:
            return []
        equations, same = derive_equations(self.problem), self.problem.same_activation
        values = [equations.mean_loss, equations.noise, *(value for _, value in equations.further)]
        values += [equations.student_gradient, equations.teacher_gradient]
        values += [equations.second_layer_gradient, equations.mean_force or sp.S.Zero]
        means = sorted(set().union(*(value.atoms(s.Average) for value in values)), key=str)
        return [_numbers(tuple(slot.identity(same) for slot in slots(mean))) for mean in means]

    @property
    def higher(self) -> bool:
        """True if means contain derivatives beyond those of plain descent."""
        return any(max(kinds) > _TEACHER + 1 for kinds in self._of_stated_rules)


def in_planes(
    problem: LearningProblem, student: NumericActivation, teacher: NumericActivation
) -> bool:
    """Return whether means of four factors may go over points of planes: one kink, no biases."""
    one = len(student.kinks) < 2 and len(teacher.kinks) < 2
    return one and not problem.rule.biases and not problem.rule.stated


def _numbers(kinds: tuple[Kind, ...]) -> Kinds:
    """Return factors as numbers; see the templates."""
    if tuple(order for _, order in kinds) == (2, 0):
        return 2, _TEACHER * kinds[1][0]
    return tuple(
        _HIGHER[teacher, order][0] if (teacher, order) in _HIGHER else _TEACHER * teacher + order
        for teacher, order in kinds
    )


def _refuse_divergence(
    problem: LearningProblem, student: NumericActivation, teacher: NumericActivation
) -> None:
    """Student activations for which the noise of the update does not exist."""
    student.refuse_jumps()
    for activation in (student, teacher):
        limit = existence((activation.expression) ** 2, X)
        if limit.variance_limit != sp.oo:
            raise DivergentError(
                f"{student.noise_diverges} (teacher {problem.teacher.text!r}): {limit.reason}; "
                "choose a slower growing activation"
            )
