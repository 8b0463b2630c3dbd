"""Means of any function of a few fields by quadrature, with the largest error found.

Fields in which a function is polynomial are averaged over exactly, given the others, before the
rest is integrated. Stated systems have such means where no closed form is known; their rule is the
coarsest of a list that keeps a tolerance; its error is the largest that a search over covariances
finds. A mean for which no rule is accurate enough is refused.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import sympy as sp
from symderiv_codegen import Function, ScalarFunction, TemplateFunction

from symderiv.formula.polynomials import coefficients
from symderiv.foundation.derivation_cache import derived_once
from symderiv.foundation.errors import NotYetError, ToleranceError
from symderiv.gaussian import covariance_symbols
from symderiv.lowering.means.closed_means import (
    bias_symbols,
    field_symbols,
    mean_over,
    upper_triangle,
)
from symderiv.lowering.means.compiled_means import compiled_function, module_of_means
from symderiv.lowering.means.field_covariances import Matrix, field_covariances
from symderiv.lowering.means.numeric_activation import with_softplus
from symderiv.lowering.means.numeric_loss import gap_by_number
from symderiv.lowering.means.quadrature_error import LARGEST_VARIANCE
from symderiv.lowering.means.quadrature_rules import (
    JOINT_REACHES,
    JOINT_STEPS,
    JointRule,
    coarsest,
    joint_rule,
    joint_rules,
    stated_error,
)
from symderiv.numerics.templates import MOST_CONSTANTS, MOST_JOINT, MOST_KINKED, MOST_NONLINEAR
from symderiv.statement.bounded_quotients import with_bounded_quotients
from symderiv.statement.smooth_pieces import by_sides, in_pieces

__all__ = ["MOST_NONLINEAR", "Joint", "JointMeans", "mean_by_rule", "rule_for"]

TOLERANCE, LAST_TOLERANCE = 1e-10, 1e-7
"""The tolerance by which the coarsest rule is chosen, relative to means above 1, and the looser one
that the finest rule must keep if no rule keeps the first."""
SAFETY, LARGEST_MEAN, LARGEST_CONSTANT = 5.0, 1.0, 1.5
_SEED = 7
_RANDOM = {False: {1: 200, 2: 300, 3: 45, 4: 2}, True: {1: 200, 2: 200, 3: 20}}
"""The numbers of random covariances that are tried, by the number of fields that are integrated
over, for smooth functions and for those with kinks."""
_FINEST: dict[bool, dict[int, tuple[tuple[float, float], ...]]] = {
    False: {1: ((0.12, 12.0),), 2: ((0.12, 12.0),), 3: ((0.25, 12.0),), 4: ((0.36, 9.0),)},
    True: {1: ((0.4, 12.0),), 2: ((0.7, 10.5), (0.5, 10.5)), 3: ((1.2, 9.5),)},
}
"""Step and reach of the reference rules, for smooth functions and for those with kinks. A later one
is the reference if no rule coarser than the one before keeps the tolerance: half the step costs 16
times as much in four dimensions."""
_NEAR, _NOTHING = JOINT_REACHES[1], 1e-14
"""A reference rule has the shorter reach if at the coarsest step the longer one changes the mean by
less than this relative amount: so it is for nearly all functions, with half the volume."""
_COARSER = JOINT_STEPS[2:6]
"""Steps that are tried before the finest one: three successive steps with the same result suffice,
as the error of equal steps falls faster than any power of the step for smooth functions."""
_RULE = "JOINT_RULE"


@dataclass(frozen=True)
class Placing:
    """A mapping of a function's fields and constants to those of another function that it equals.

    Args:
        sign: The factor ±1 of all fields.
        order: The place of each field in the other function.
        constants: The constant of the other function that corresponds to each constant.
        turned: The factor ±1 of all constants.
        front: The factor ±1 of the function.
    """

    sign: int
    order: tuple[int, ...]
    constants: tuple[sp.Symbol, ...]
    turned: int = 1
    front: int = 1


@dataclass(frozen=True)
class Joint:
    """A function of a few fields whose mean is taken by quadrature.

    Args:
        function: The function of z1, z2, …, polynomial in the last ones.
        nonlinear: The number of fields in which it is not polynomial.
        size: The number of fields.
        constants: Further symbols in it.
    """

    function: sp.Expr
    nonlinear: int
    size: int
    constants: tuple[sp.Symbol, ...] = ()

    @property
    def fields(self) -> tuple[sp.Symbol, ...]:
        """z1, z2, …"""
        return field_symbols(self.size)

    @property
    def left(self) -> dict[tuple[int, int], sp.Symbol]:
        """The conditional covariance of the last fields given the others, by their places."""
        linear = self.size - self.nonlinear
        return {
            (i, j): sp.Symbol(f"s{i + 1}{j + 1}", real=True)
            for i in range(linear)
            for j in range(i, linear)
        }

    @cached_property
    def integrand(self) -> sp.Expr:
        """The conditional mean over the last fields given the others, which is integrated.

        In it, the symbols of the last fields denote their conditional means.
        """
        return self._pieces[0]

    @property
    def gaps(self) -> tuple[sp.Expr, ...]:
        """The numbers that are zero on the planes where the function is not smooth."""
        return self._pieces[1]

    @cached_property
    def _pieces(self) -> tuple[sp.Expr, tuple[sp.Expr, ...]]:
        linear = self.fields[self.nonlinear :]

        def averaged(piece: sp.Expr) -> sp.Expr:
            mean = mean_over(piece, linear, self.left)
            if mean is None:
                raise NotYetError(f"{self.function} is not a polynomial of its last fields")
            return mean

        mean, gaps = in_pieces(self.function, self.fields, averaged)
        if any(gap.has(*linear) for gap in gaps):
            raise NotYetError(f"{self.function} has kinks at its last fields")
        return with_softplus(with_bounded_quotients(mean)), gaps

    @property
    def sharpness(self) -> sp.Expr:
        """The factor by which constants make steps finer, as a does in logistic(a g(z)).

        Constants in which the function is polynomial change no scale in z.
        """
        inside = [c for c in self.constants if coefficients(self.function, [c]) is None]
        return sp.sqrt(1 + sp.Add(*(c**2 for c in inside)))

    @property
    def derivatives(self) -> tuple[sp.Expr, ...]:
        """The functions whose means are the derivatives by covariances, means and constants.

        Raises:
            NotYetError: One of them contains a delta function.
        """
        pairs = ((self.fields[a], self.fields[b]) for a, b in upper_triangle(self.size))
        derivatives = [sp.diff(self.function, a, b) / (1 + (a == b)) for a, b in pairs]
        derivatives += [sp.diff(self.function, each) for each in (*self.fields, *self.constants)]
        if any(each.has(sp.DiracDelta, sp.Derivative, sp.Subs) for each in derivatives):
            raise NotYetError(f"{self.function} has derivatives that are no functions")
        return tuple(derivatives)

    @property
    def arguments(self) -> tuple[sp.Symbol, ...]:
        """Arguments of the integrand."""
        return (*self.fields, *self.left.values(), *self.constants)

    def functions(self, name: str, integrand: str, ruled: bool = False) -> tuple[Function, ...]:
        """Return the integrand and its mean as functions of a module.

        Args:
            name, integrand: The names of the mean and of the integrand.
            ruled: Whether the mean takes the rule as its first argument.
        """
        covariance = covariance_symbols(self.size)
        arguments = tuple(covariance[place] for place in upper_triangle(self.size))
        arguments += bias_symbols(self.size) + self.constants
        template = f"joint_mean_{self.size}_{self.nonlinear}_{len(self.constants)}"
        template = f"kinked_{template}" if self.gaps else template
        if ruled:
            arguments, template = (sp.Symbol("rule"), *arguments), f"ruled_{template}"
        what, how = f"What {name} averages.", f"Mean of {integrand} by quadrature."
        functions = [
            ScalarFunction(integrand, self.arguments, (), self.integrand, what, as_value=True)
        ]
        names = [("integrand", integrand)]
        if not ruled:
            names.append((_RULE, _rule_of(name)))
        if self.constants:
            sharp, told = f"sharpness_{name}", f"How many times sharper constants make {integrand}."
            functions.append(
                ScalarFunction(sharp, self.constants, (), self.sharpness, told, as_value=True)
            )
            names.append(("sharpness", sharp))
        if self.gaps:
            gap = f"gap_{name}"
            doc = f"Zero where {integrand} is not smooth."
            given = (*self.fields[: self.nonlinear], *self.constants)
            functions.append(gap_by_number(gap, self.gaps, given, doc))
            names += [("gap", gap), ("gap_count", str(len(self.gaps)))]
        return *functions, TemplateFunction(name, arguments, template, tuple(names), how)

    def alike(self) -> Iterator[tuple[Joint, Placing]]:
        """Yield the functions that follow from this one by exchanging fields or constants, or
        changing the sign of all fields or of all constants.

        At most 144 are yielded: four fields, or four constants, are not exchanged.
        """
        count, constants = self.nonlinear, self.constants
        orders = itertools.permutations(range(count)) if count < 4 else [tuple(range(count))]
        exchanged = itertools.permutations(constants) if len(constants) < 4 else [constants]
        rest = tuple(range(count, self.size))
        signs = [*itertools.product((1, -1), (1, -1) if constants else (1,))]
        for (sign, turned), order, names in itertools.product(signs, [*orders], [*exchanged]):
            arrangement = Placing(sign, (*order, *rest), names, turned)
            moved = (sign * self.fields[place] for place in arrangement.order)
            places = dict(zip(self.fields, moved, strict=True))
            places |= {own: turned * name for own, name in zip(constants, names, strict=True)}
            yield replace(self, function=self.function.xreplace(places)), arrangement

    def refuse_many(self) -> None:
        """Refuse more fields or constants than there are templates for, with a ``NotYetError``."""
        if self.nonlinear > MOST_NONLINEAR or self.size > MOST_JOINT:
            raise NotYetError(
                f"it is a mean over {self.nonlinear} joint fields of functions without closed "
                f"means ({self.size} in all); quadrature takes at most {MOST_NONLINEAR} "
                f"({MOST_JOINT})"
            )
        if self.gaps and self.nonlinear > MOST_KINKED:
            raise NotYetError(
                f"it is a mean over {self.nonlinear} joint fields of functions with kinks; "
                f"quadrature takes at most {MOST_KINKED}"
            )
        if len(self.constants) > MOST_CONSTANTS:
            names = ", ".join(map(str, self.constants))
            raise NotYetError(f"it depends on {names}: more than {MOST_CONSTANTS} numbers")


def _rule_of(name: str) -> str:
    """Return the name of the constant that holds the rule of a mean."""
    return name.replace("joint", _RULE)


class JointMeans:
    """The means by quadrature of one system, each with a rule of its own.

    Attributes:
        functions: The functions by name.
        names: The name of each joint function.
        error: The largest error found, times a safety factor; zero without such means.
        rules: Step, or longest panel, and reach, in units of the fields and in standard deviations,
            of each joint function.
    """

    def __init__(self) -> None:
        self.functions: dict[str, Function] = {}
        self.names: dict[Joint, str] = {}
        self._known: dict[Joint, tuple[str, Placing]] = {}
        self.error, self.rules = 0.0, dict[Joint, tuple[float, float]]()

    @property
    def constants(self) -> dict[str, float | tuple[float, ...]]:
        """Constants of the module."""
        if not self.names:
            return {}
        return {
            **self._numbers(lambda step, reach: (step, reach)),
            "JOINT_ERROR": self.error,
            "JOINT_LARGEST_VARIANCE": LARGEST_VARIANCE,
        }

    @property
    def finer(self) -> dict[str, tuple[float, ...]]:
        """The constants of the module for much finer rules."""
        return self._numbers(lambda step, reach: (0.7 * step, reach + 1.5))

    @property
    def crude(self) -> dict[str, tuple[float, ...]]:
        """The constants of the module for rules of a few points, which are fast at all moments."""
        return self._numbers(lambda step, reach: (1e9, 1.0))

    def _numbers(
        self, of: Callable[[float, float], tuple[float, float]]
    ) -> dict[str, tuple[float, ...]]:
        """Return the constants for all rules, with a step and reach made from those chosen."""
        return {
            _rule_of(self.names[joint]): joint_rule(*of(*rule), bool(joint.gaps))
            for joint, rule in self.rules.items()
        }

    def mean(
        self, joint: Joint, covariance: Sequence[Sequence[sp.Expr]], means: Sequence[sp.Expr]
    ) -> sp.Expr:
        """Return the mean of a function of fields with these moments.

        Raises:
            NotYetError: There are more joint fields than can be integrated over, or the rules do
                not integrate the function to the tolerance.
        """
        if joint.nonlinear == 0:
            triangle = [covariance[i][j] for i, j in upper_triangle(joint.size)]
            places = dict(zip(joint.fields, means, strict=True))
            places |= dict(zip(joint.left.values(), triangle, strict=True))
            return joint.integrand.xreplace(places)
        joint = replace(joint, function=by_sides(joint.function, joint.fields))
        if joint not in self._known:
            self._known[joint] = self._found(joint)
        name, how = self._known[joint]
        place = {to: n for n, to in enumerate(how.order)}
        pairs = ((place[i], place[j]) for i, j in upper_triangle(joint.size))
        numbers = {
            name: how.turned * own for name, own in zip(how.constants, joint.constants, strict=True)
        }
        return how.front * sp.Function(name)(
            *(covariance[i][j] for i, j in pairs),
            *(how.sign * means[place[i]] for i in range(joint.size)),
            *(numbers[each] for each in joint.constants),
        )

    def _found(self, joint: Joint) -> tuple[str, Placing]:
        """Return the function for a mean and how to call it; add one only if none is equal."""
        for other, how in joint.alike():
            for front in (1, -1):
                same = replace(other, function=front * other.function)
                if same in self.names:
                    return self.names[same], replace(how, front=front)
        return self._named(joint), Placing(1, tuple(range(joint.size)), joint.constants)

    def with_slopes(self) -> JointMeans:
        """Return the same means with their derivatives by all arguments, by Price's theorem.

        Raises:
            NotYetError: A derivative has no such mean.
        """
        extended = JointMeans()
        extended.names, extended.error, extended.rules = (
            dict(self.names),
            self.error,
            dict(self.rules),
        )
        functions: dict[str, Function] = {}
        for joint, name in self.names.items():
            before = len(extended.functions)
            mean = self.functions[name]
            assert isinstance(mean, TemplateFunction)
            slopes = tuple(extended._slope(joint, mean, each) for each in joint.derivatives)
            used = tuple(extended.functions.values())[before:]
            functions[name] = replace(mean, slopes=slopes, used=used)
        extended.functions = {**self.functions, **functions}
        return extended

    def _slope(self, joint: Joint, mean: TemplateFunction, function: sp.Expr) -> sp.Expr:
        """Return the mean of another function of the same fields and constants."""
        if function == 0:
            return sp.S.Zero
        return sp.Function(self._named(replace(joint, function=function)))(*mean.arguments)

    def _named(self, joint: Joint) -> str:
        if joint not in self.names:
            joint.refuse_many()
            self.rules[joint], error = rule_for(joint)
            self.error = max(error, self.error)
            number = len(self.names) + 1
            name = self.names[joint] = f"joint_{number}"
            functions = joint.functions(name, f"integrand_{number}")
            self.functions |= {function.name: function for function in functions}
        return self.names[joint]


@derived_once("lowering", "numerics", "gaussian", "compiled_code", "statement")
def rule_for(joint: Joint) -> tuple[tuple[float, float], float]:
    """Return step and reach of the coarsest rule that keeps the tolerance, or of the finest rule if
    none does, and its largest error.

    Errors are deviations from the finest rule affordable in this number of dimensions, at
    covariances up to variance ``LARGEST_VARIANCE``, means up to ``LARGEST_MEAN`` and constants up
    to ``LARGEST_CONSTANT`` in modulus.

    Raises:
        NotYetError: No rule keeps ``LAST_TOLERANCE``.
    """
    mean, cases = mean_by_rule(joint), list(_cases(joint))
    *coarser, finest = _FINEST[bool(joint.gaps)][joint.nonlinear]
    for each in coarser:
        try:
            return _rule_against(each, joint, mean, cases, last=None)
        except (NotYetError, ToleranceError):
            continue
    return _rule_against(finest, joint, mean, cases, LAST_TOLERANCE)


def _rule_against(
    finest: tuple[float, float],
    joint: Joint,
    mean: Callable[[JointRule, Matrix, Matrix, Matrix], float],
    cases: Sequence[tuple[Matrix, Matrix, Matrix]],
    last: float | None,
) -> tuple[tuple[float, float], float]:
    """Return the coarsest rule and its largest error against a reference; see :func:`coarsest`."""
    kinked = bool(joint.gaps)
    coarser = () if kinked or joint.nonlinear > 2 else _COARSER

    def exactly(*case: Matrix) -> float:
        ends = (joint_rule(JOINT_STEPS[0], reach, kinked) for reach in (_NEAR, finest[1]))
        near, far = (mean(rule, *case) for rule in ends)
        same = abs(far - near) <= _NOTHING * max(1.0, abs(far))
        values: list[float] = []
        for step in (*coarser, finest[0]):
            rule = joint_rule(step, _NEAR if same else finest[1], kinked)
            values.append(mean(rule, *case))
            apart = max(values[-3:]) - min(values[-3:])
            if len(values) > 2 and apart <= _NOTHING * max(1.0, abs(values[-1])):
                break
        return values[-1]

    exact = [exactly(*case) for case in cases]
    left = [*zip(cases, exact, strict=True)]

    def error_of(rule: tuple[float, float], enough: float) -> float:
        """Return the largest error, or the first above ``enough``; its case then comes first."""
        largest = 0.0
        for place, (case, value) in enumerate(left):
            by_rule = mean(joint_rule(*rule, kinked), *case)
            error = stated_error(SAFETY * abs(by_rule - value), 1e-14)
            if not error <= enough:
                left.insert(0, left.pop(place))
                return error
            largest = max(largest, error)
        return largest

    rules = joint_rules(*finest, kinked)
    scale = max(1.0, *map(abs, exact))
    what = f"{joint.function}, over {joint.nonlinear} joint fields,"
    return coarsest(rules, error_of, TOLERANCE * scale, what, scale, last)


def _cases(joint: Joint) -> Iterator[tuple[Matrix, Matrix, Matrix]]:
    """Yield covariances of independent, correlated and nearly aligned fields, means, constants."""
    rng, size = np.random.default_rng(_SEED), joint.size
    covariances, alternating = [], (-1.0) ** np.arange(size)
    for spread, signs in ((1.0, np.ones(size)), (0.05, np.ones(size)), (0.05, alternating)):
        for variance in (LARGEST_VARIANCE, 0.5):
            vectors = np.ones((size, 1)) + spread * rng.standard_normal((size, size + 1))
            vectors *= signs[:, None] / np.linalg.norm(vectors, axis=1, keepdims=True)
            covariances.append(variance * vectors @ vectors.T)
    if joint.nonlinear == MOST_NONLINEAR:
        covariances = covariances[::2]
    covariances += [
        *field_covariances(rng, _RANDOM[bool(joint.gaps)][joint.nonlinear], size, LARGEST_VARIANCE)
    ]
    for covariance in covariances:
        constants = rng.uniform(-LARGEST_CONSTANT, LARGEST_CONSTANT, len(joint.constants))
        yield covariance, rng.uniform(-LARGEST_MEAN, LARGEST_MEAN, size), constants


def mean_by_rule(joint: Joint) -> Callable[[JointRule, Matrix, Matrix, Matrix], float]:
    """Return the mean as modules compute it, for a rule, covariance, means and constants."""
    text = module_of_means(joint.functions("joint_mean", "integrand", ruled=True), {})
    compiled, upper = compiled_function(text, "joint_mean"), np.triu_indices(joint.size)

    def mean(rule: JointRule, covariance: Matrix, means: Matrix, constants: Matrix) -> float:
        numbers = (*covariance[upper], *means, *constants)
        return float(compiled(np.array(rule), *map(float, numbers)))

    return mean
