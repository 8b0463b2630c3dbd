r"""Means without closed forms by quadrature, with the largest error that a search finds.

The functions of ``symderiv.numerics.quadratures.smooth_mean`` and ``kinked_mean`` compute E[∏
f_a(z_a)], whatever the covariance: with equal steps for analytic functions, in panels that grow out
of the kinks of nearly aligned fields for others. Their error is searched for when a module is made
(see ``quadrature_error``), and the coarsest rule that keeps the tolerance is taken.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby

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
from symderiv.lowering.means.mean_slopes import (
    FIXED,
    OF_RULES,
    OF_SLOPES,
    TEACHERS,
    kinds_of,
    number_of,
    slopes_of_mean,
    turned,
)
from symderiv.lowering.means.numeric_activation import NumericActivation, X, for_many
from symderiv.lowering.means.patterns import Kind, Pattern
from symderiv.lowering.means.quadrature_error import (
    LARGEST_BIAS,
    LARGEST_VARIANCE,
    Choice,
    Kinds,
    MeansAsked,
    Search,
    chosen_rule,
    pair_error,
    stated_mean_error,
)
from symderiv.lowering.means.quadrature_rules import LAST, MeanRule
from symderiv.lowering.means.shared_means import (
    KINKED_NOISE_MEANS,
    KINKED_PAIR_MEANS,
    NOISE_MEANS,
    PAIR_MEANS,
)

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
    """Return the error of a module's means for fields larger than those for which it states errors.

    Args:
        student, teacher: Activations.
        rule: The rule of the module.
        numbers: ``QUADRATURE_RULE`` and ``QUADRATURE_PAIR_RULE`` of the module.
        variance, bias: The largest variance of fields, and the largest modulus of biases.

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
)  # together these means use all functions that any mean uses
_TEACHER = 3  # number of the teacher's activation among the factors; see the templates
_FIXED_FACTOR = "fixed_factor"
_ORDERS = {2: "second", 3: "third", 4: "fourth", 5: "fifth"}


@dataclass(frozen=True)
class FactorMeans:
    """Means by one rule of products of two or four factors, where factors are called by number.

    Attributes:
        factors: The factors, and all of them by number, as functions of a module.
        asked: The means.
        kinks: Constants of the module with the places where factors are not smooth.
        samples: Means that together use all functions that any mean uses, each with the last
            argument of ``template``.
        together: Procedures that compute means of four factors together.
    """

    factors: tuple[Function, ...]
    asked: MeansAsked
    kinks: Mapping[str, Constant]
    samples: tuple[tuple[Kinds, str], ...]
    together: tuple[Procedure, ...] = ()

    def template(
        self,
        name: str,
        arguments: tuple[sp.Symbol, ...],
        kinds: Kinds,
        doc: str,
        symmetries: tuple[tuple[int, ...], ...] = (),
        what: str = "",
    ) -> TemplateFunction:
        """Return a mean of two or four factors; ``what`` names a variant with a term at kinks."""
        asked = self.asked
        family = "" if asked.family == "smooth" else "kinked_"
        if asked.family == "plane" and len(kinds) == 4:
            family = "plane_"
        elif asked.family == "plane":
            family = "polar_" if asked.at_zero else "line_"
        template = f"{family}mean_of_{what or len(kinds)}"
        if asked.biased or len(arguments) > len(kinds) * (len(kinds) + 1) // 2:
            template = f"shifted_{template}"
        numbers = tuple((f"kind_{place}", str(kind)) for place, kind in enumerate(kinds, start=1))
        return TemplateFunction(name, arguments, template, numbers, doc, symmetries=symmetries)

    def choice(self, tolerance: float, last: float | None) -> Choice:
        """Return the means and the tolerance for which a rule is to be chosen.

        Args:
            tolerance: Bound on the absolute error of the means.
            last: The largest error, relative to the largest mean, that is accepted if no rule keeps
                the tolerance; see ``coarsest``.
        """
        digest = hashlib.sha256(self.text.encode()).hexdigest()
        return Choice(digest, self.asked, tolerance, last, lambda: self.search)

    @cached_property
    def search(self) -> Search:
        """The search for covariances with large errors."""
        return Search(compiled_means(self.text), self.asked)

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

    differentiable = False
    """Whether functions carry their derivatives."""

    def __init__(
        self,
        problem: LearningProblem,
        tolerance: float,
        limited: bool = False,
        rule: MeanRule | None = None,
        within: tuple[float, float] = (LARGEST_VARIANCE, LARGEST_BIAS),
        slopes: bool = False,
    ) -> None:
        """Find the coarsest rule that keeps the tolerance.

        Args:
            problem: The activations.
            tolerance: Bound on the absolute error of the means.
            limited: Take the best rule if none keeps the tolerance.
            rule: Take this one and search for its error.
            within: The largest variances, and biases in modulus, of the fields in the search.
            slopes: Whether these means serve as derivatives of others by the moments of fields: the
                rule is then chosen for all factors of such derivatives.

        Raises:
            DivergentError: Γ_ii does not exist.
            NotYetError: An activation has jumps or another property that the rules cannot treat, or
                a derivative of a mean is not known.
            ToleranceError: No affordable rule reaches the tolerance.
        """
        self.problem = problem
        self.biased = problem.rule.biases
        self.student = NumericActivation(problem.student.expression, problem.student.text)
        self.teacher = NumericActivation(problem.teacher.expression, problem.teacher.text)
        _refuse_activations(problem, self.student, self.teacher)
        self.slopes = slopes
        if self.higher and self.kinked:
            raise NotYetError(
                f"not yet: quadrature of second derivatives of {problem.student.text!r} or "
                f"{problem.teacher.text!r}, which have kinks; use smooth activations with this rule"
            )
        if self.differentiable:
            # refused before a rule is searched for
            for kinds in self.means:
                for _, factors in slopes_of_mean(kinds_of(kinds)[1], self.biased):
                    _ = [*self._kinks_in(factors)]
        self.tolerance, self.within = tolerance, within
        if rule is None:
            choice = self.by_number.choice(tolerance, LAST if limited else None)
            self.rule, self.error, self.pair_error = chosen_rule(choice)
        else:
            search = self.by_number.search
            self.rule, self.error = rule, stated_mean_error(search.error(rule, math.inf))
            self.pair_error = pair_error(search, rule)

    @cached_property
    def kinked(self) -> bool:
        """True if an activation has kinks, at which the rules are split."""
        return bool(self.student.kinks or self.teacher.kinks)

    @cached_property
    def shared_means(self) -> tuple[Procedure, ...]:
        """The procedures that compute means together, see ``shared_means``."""
        if self.problem.rule.stated or self.slopes:
            return ()
        if not self.kinked:
            return NOISE_MEANS, PAIR_MEANS
        if self.at_zero:
            return KINKED_NOISE_MEANS, KINKED_PAIR_MEANS
        return (KINKED_NOISE_MEANS,) if self.in_planes else ()

    @cached_property
    def in_planes(self) -> bool:
        """True if means of four factors with kinks use points of planes (``plane_mean``)."""
        # in derivatives, factors beyond the first two jump too
        one = self.kinked and not self.slopes
        return one and in_planes(self.problem, self.student, self.teacher)

    @property
    def at_zero(self) -> bool:
        """True if means of two factors with kinks are taken over sectors (``polar_mean``)."""
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
        """Entries for the recipe in the module's header."""
        return {"tolerance": f"{self.tolerance:g}", "quadrature step": f"{self.rule.step:g}"}

    @property
    def statement(self) -> list[str]:
        """Lines for the header of the module that describe the quadrature."""
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
        """Return the activations, their derivatives that occur in means, and the function that
        calls all of them by number.
        """
        return self._factors()

    def _factors(self) -> tuple[Function, ...]:
        result: list[Function] = []
        for name, letter, of in (("student", "g", self.student), ("teacher", "h", self.teacher)):
            for order in range(3):
                if name == "teacher" and (order == 2 or (order and self.problem.same_activation)):
                    continue
                value: sp.Expr
                if name == "teacher" and self.problem.same_activation:
                    value = sp.Function("student_activation")(X)
                else:
                    # terms at the kinks of slopes have templates of their own
                    rough = order == 2 or of.jumps
                    value = of.derivative(order, between_kinks=rough) / (1 + order // 2)
                    value = for_many(value)
                doc = {
                    0: f"The {name}'s activation {letter}(x).",
                    1: "Its derivative.",
                    2: "Half of its second derivative"
                    + (" between the kinks." if self.student.slope_jumps else "."),
                }[order]
                name_of = _NAMES[order].format(name)
                result.append(ScalarFunction(name_of, (X,), (), value, doc, as_value=True))
        if self.slopes:
            doc = "The factor of a field at a fixed place."
            result.append(ScalarFunction(_FIXED_FACTOR, (X,), (), sp.S.One, doc, as_value=True))
        for teacher, order in self._beyond:
            of, owner = (self.teacher, "teacher") if teacher else (self.student, "student")
            doc = f"The derivative of order {order} of the {owner}."
            value = of.derivative(order, between_kinks=self.slopes)
            name = _name_of((teacher, order))
            result.append(ScalarFunction(name, (X,), (), value, doc, as_value=True))
        return (*result, *self._by_number())

    @cached_property
    def _beyond(self) -> tuple[Kind, ...]:
        """The factors in means that plain descent does not have."""
        if not self.slopes:
            return tuple(OF_RULES) if self.higher else ()
        wanted = {kind for numbers in self.means for kind in kinds_of(numbers)[1]}
        return (*OF_RULES, *(kind for kind in OF_SLOPES if kind in wanted))

    def _by_number(self) -> Iterator[TemplateFunction]:
        factors = {number: _NAMES[number].format("student") for number in range(_TEACHER)}
        owner = "student" if self.problem.same_activation else "teacher"
        factors |= {_TEACHER + order: _NAMES[order].format(owner) for order in range(2)}
        if self.at_zero:
            names = tuple((f"factor_{number}", name) for number, name in factors.items())
            own, doc = "quadrature_values_and_slopes", "An activation and its derivatives."
            arguments = sp.symbols("owner x rows")
            yield TemplateFunction(own, arguments, "values_and_slopes_of", names, doc)
        factors |= {number_of(kind): _name_of(kind) for kind in self._beyond}
        kinks = {n: "TEACHER_KINKS" if n in TEACHERS else "STUDENT_KINKS" for n in factors}
        if self.slopes:
            factors[FIXED], kinks[FIXED] = _FIXED_FACTOR, "np.zeros(0)"
        yield from by_number(factors, kinks if self.kinked else {})

    def functions(
        self, pattern: Pattern, arguments: tuple[sp.Symbol, ...], name: str, doc: str
    ) -> list[Function]:
        """Return the functions of a pattern in which every factor has a field of its own."""
        kinds = _numbers(tuple(kind for (kind,) in pattern.fields))
        symmetries = pattern.symmetries(self.biased)
        what = self._what(kinds)
        return [self.by_number.template(name, arguments, kinds, doc, symmetries, what)]

    def with_slopes(self, mean: TemplateFunction, kinds: Kinds) -> TemplateFunction:
        """Return a mean with its derivatives by its arguments."""
        front, own = kinds_of(kinds)
        slopes: list[sp.Expr] = []
        used: dict[str, Function] = {}

        def called(function: Function, places: Sequence[int]) -> sp.Expr:
            used[function.name] = function
            return sp.Function(function.name)(*(mean.arguments[place] for place in places))

        for number, factors in slopes_of_mean(own, self.biased):
            numbers = tuple(map(number_of, factors))
            doc = f"E[{_product(factors)}], factors as they are between kinks."
            name, what = f"slope_{_said(factors)}", self._what(numbers)
            smooth = self.by_number.template(name, mean.arguments, numbers, doc, what=what)
            value = called(smooth, range(len(mean.arguments)))
            for jump, place, kink, power in self._kinks_in(factors):
                order, others = turned(len(factors), place, self.biased)
                rest = [factors[n] for n in others]
                fixed = self._at_kink(mean.arguments, rest, kink, power)
                value += sp.Rational(repr(jump)) * called(fixed, order)
            slopes.append(front * number * value)
        return replace(mean, slopes=tuple(slopes), used=tuple(used.values()))

    def _kinks_in(self, factors: tuple[Kind, ...]) -> Iterator[tuple[float, int, float, int]]:
        """Yield the delta functions in a product: prefactor, factor number, place, and order of
        derivative.

        Raises:
            NotYetError: There are more of them than means can have.
        """
        cases = []
        for place, (teacher, order) in enumerate(factors):
            of = self.teacher if teacher else self.student
            for below in range(order):
                for jump, kink in zip(of.jumps_of(below), of.kinks, strict=True):
                    if jump != 0.0:
                        cases.append((jump, place, kink, order - 1 - below))
        powers = [power for *_, power in cases]
        if len({place for _, place, *_ in cases}) > 1 or max(powers, default=0) > (
            2 - len(factors) // 2
        ):
            raise NotYetError(
                f"E[{_product(factors)}] of {self.problem.student.text!r} and "
                f"{self.problem.teacher.text!r}, whose slopes jump, is a derivative of a mean that "
                "is not known"
            )
        yield from cases

    def _at_kink(
        self, arguments: Sequence[sp.Symbol], factors: Sequence[Kind], kink: float, power: int
    ) -> TemplateFunction:
        """Return the mean of factors with the first field fixed at a kink."""
        kinds = [*factors, (factors[0][0], factors[0][1] + 1)] if power else [*factors]
        names = [(f"kind_{n}", str(number_of(kind))) for n, kind in enumerate(kinds, start=1)]
        template = f"kinked_mean_of_{len(factors) + 1}_{'beside' if power else 'at'}"
        kinks = {*self.student.kinks, *self.teacher.kinks}
        name = (
            f"{template.removeprefix('kinked_')}_{sorted(kinks).index(kink) + 1}_{_said(factors)}"
        )
        doc = f"E[{_product(factors)}] with the first field at {kink:g}, times its density."
        if power:
            doc = f"The derivative of E[{_product(factors)}] given the first field, at {kink:g}."
        return TemplateFunction(
            name,
            tuple(arguments),
            f"shifted_{template}" if self.biased else template,
            (*names, ("place", repr(kink))),
            doc,
        )

    def _what(self, kinds: Kinds) -> str:
        """Return the name of the term at kinks that a mean has, or an empty string."""
        if _TEACHER + 1 in kinds and self.teacher.jumps:
            return "slopes"
        return "curvature" if 2 in kinds and self.student.slope_jumps else ""

    @cached_property
    def by_number(self) -> FactorMeans:
        """The means with their factors by number."""
        student, teacher = self.problem.student.text, self.problem.teacher.text
        asked = MeansAsked(
            kinds=tuple(self.means),
            family="plane" if self.in_planes else "kinked" if self.kinked else "smooth",
            at_zero=self.at_zero,
            rough=bool(
                self.teacher.jumps
                if self.in_planes
                else self.slopes or self.student.slope_jumps or self.teacher.slope_jumps
            ),
            even=self.student.parity * self.teacher.parity == 1,
            biased=self.biased,
            within=self.within,
            of_what=f"the activations {student!r} and {teacher!r}",
        )
        samples = tuple((kinds, self._what(kinds)) for kinds in _SAMPLES)
        kinks, together = self._kink_constants, self.shared_means
        return FactorMeans(self._factors(), asked, kinks, samples, together)

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
        means = list(dict.fromkeys((*twos, *fours, *self._of_stated_rules)))
        if not self.slopes:
            return means
        derived = (
            tuple(sorted(map(number_of, factors)))
            for mean in means
            for _, factors in slopes_of_mean(kinds_of(mean)[1], self.biased)
        )
        return list(dict.fromkeys((*means, *derived)))

    @cached_property
    def _of_stated_rules(self) -> list[Kinds]:
        """The factors of means in the equations of a rule that is given by its statement."""
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
        """True if means of the equations contain derivatives beyond those of plain descent."""
        return any(max(kinds) > _TEACHER + 1 for kinds in self._of_stated_rules)


MOST_KINKS = 4
"""The largest number of kinks of a factor for which means are integrated over points of planes."""

FINEST_KINKED_SLOPES = 1e-6
"""The smallest tolerance asked of derivatives of means with kinks, if the rule may be limited."""


class DifferentiableQuadrature(Quadrature):
    """The means of a problem as its module computes them, with their derivatives.

    Derivatives are means with a rule of their own, because their factors are rougher.

    Attributes:
        derived: The means for derivatives, with their rule.
    """

    differentiable = True

    def __init__(self, problem: LearningProblem, tolerance: float, limited: bool = False) -> None:
        """Find the coarsest rules that keep the tolerance; see :class:`Quadrature`."""
        super().__init__(problem, tolerance, limited)
        finest = FINEST_KINKED_SLOPES if self.kinked and limited else 0.0
        self.derived = Quadrature(problem, max(tolerance, finest), limited, slopes=True)

    @property
    def constants(self) -> dict[str, Constant]:
        rule = self.derived.rule
        own = {"SLOPE_RULE": rule.four, "SLOPE_PAIR_RULE": rule.two}
        return {**super().constants, **own, "SLOPE_ERROR": self.derived.error}

    def activation_functions(self) -> tuple[Function, ...]:
        own = self.derived.activation_functions()
        known = {each.name for each in own}
        return (*own, *(each for each in self._factors() if each.name not in known))

    def functions(
        self, pattern: Pattern, arguments: tuple[sp.Symbol, ...], name: str, doc: str
    ) -> list[Function]:
        (mean,) = super().functions(pattern, arguments, name, doc)
        assert isinstance(mean, TemplateFunction)
        kinds = _numbers(tuple(kind for (kind,) in pattern.fields))
        with_slopes = self.derived.with_slopes(mean, kinds)
        return [replace(with_slopes, used=tuple(map(_by_rule_of_slopes, with_slopes.used)))]


def by_number(factors: Mapping[int, str], kinks: Mapping[int, str]) -> Iterator[TemplateFunction]:
    """Yield the functions of a module that call factors by number, and those with their kinks.

    Args:
        factors: The functions that are the factors, by ascending numbers.
        kinks: The constants with the places where they are not smooth; empty if all are smooth.
    """
    kind, x, values = sp.symbols("kind x values")
    for what, arguments, own, doc in (
        ("factor", (kind, x), factors, "The factors by number."),
        ("factors", (kind, x, values), factors, "One of them at many numbers."),
        ("kinks", (kind,), kinks, "Where they are not smooth."),
    ):
        called = ""
        # neighbours with one name share a function
        groups = [next(group) for _, group in groupby(own.items(), lambda each: each[1])]
        for place, (number, each) in enumerate(groups, start=1):
            names = (("number", str(number)), (f"own_{what}", each), (f"other_{what}", called))
            called = f"quadrature_{what}{'' if place == len(groups) else f'_to_{number}'}"
            template = f"{what}_or_other" if place > 1 else f"{what}_alone"
            yield TemplateFunction(called, arguments, template, names, doc)


def _by_rule_of_slopes(function: Function) -> Function:
    assert isinstance(function, TemplateFunction)
    rules = (
        ("QUADRATURE_RULE", "SLOPE_RULE"),
        ("QUADRATURE_PAIR_RULE", "SLOPE_PAIR_RULE"),
    )
    return replace(function, names=(*function.names, *rules))


def in_planes(
    problem: LearningProblem, student: NumericActivation, teacher: NumericActivation
) -> bool:
    """Return whether means of four factors may be integrated over planes: few kinks, no biases."""
    few = max(len(student.kinks), len(teacher.kinks)) <= MOST_KINKS
    return few and not problem.rule.biases and not problem.rule.stated


def _numbers(kinds: tuple[Kind, ...]) -> Kinds:
    """Return factors as numbers; see the templates."""
    if tuple(order for _, order in kinds) == (2, 0):
        return 2, _TEACHER * kinds[1][0]
    return tuple(map(number_of, kinds))


def _said(kinds: Sequence[Kind]) -> str:
    """Return factors as part of a name."""
    return "mean_" + "_".join(("t" if teacher else "s") + str(order) for teacher, order in kinds)


def _product(kinds: Sequence[Kind]) -> str:
    """Return a product of factors as a formula in plain text."""
    letters = zip(kinds, "abcd", strict=False)
    return " ".join(f"{'h' if t else 'g'}{chr(39) * order}({a})" for (t, order), a in letters)


def _name_of(kind: Kind) -> str:
    """Return what a factor is called in a module."""
    teacher, order = kind
    name = "teacher_activation" if teacher else "student_activation"
    return f"{name}_{_ORDERS[order]}_derivative" if order else name


def _refuse_activations(
    problem: LearningProblem, student: NumericActivation, teacher: NumericActivation
) -> None:
    """Refuse student activations for which the noise of the update diverges, and any activation
    that quadrature cannot treat.
    """
    student.refuse_jumps()
    for activation in (student, teacher):
        limit = existence((activation.expression) ** 2, X)
        if limit.variance_limit != sp.oo:
            raise DivergentError(
                f"{student.noise_diverges} (teacher {problem.teacher.text!r}): {limit.reason}; "
                "choose a slower growing activation"
            )
        activation.refuse_steepness()
