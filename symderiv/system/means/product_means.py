"""Means of products of functions of single fields without closed forms, by the rules of problems.

Joint rules of equal steps need smooth functions, and many points for more than two fields. The
rules for means of activations in learning problems resolve kinks and are cheap for four fields. All
products of a system share one rule.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import sympy as sp
from symderiv_codegen import Constant, Function, ScalarFunction, TemplateFunction

from symderiv.foundation.errors import NotYetError
from symderiv.gaussian import covariance_symbols
from symderiv.lowering.means.approximation import FINEST_KINKED, FINEST_QUADRATURE
from symderiv.lowering.means.closed_means import X, bias_symbols, upper_triangle
from symderiv.lowering.means.mean_slopes import slopes_of_mean
from symderiv.lowering.means.numeric_activation import NumericActivation
from symderiv.lowering.means.patterns import Kind
from symderiv.lowering.means.quadrature_error import (
    LARGEST_VARIANCE,
    Kinds,
    MeansAsked,
    chosen_rule,
)
from symderiv.lowering.means.quadrature_means import MOST_KINKS, FactorMeans, by_number
from symderiv.lowering.means.quadrature_rules import MeanRule, finer

MOST_FACTORS = 4
"""The largest number of fields of one product; products of more are refused."""

LAST_TOLERANCE = 1e-5
"""The largest accepted error relative to the largest mean; means with a larger one are refused."""

_LONG = 1e6
"""The length of a panel that ends at the next kink."""

_EXPONENTIAL = sp.Symbol("exponential", positive=True)

#: A prefactor and the name of a product; None for a zero derivative.
Slope = tuple[sp.Expr, str | None]


class ProductMeans:
    """The means of products of one system, with the rule that they share.

    Attributes:
        names: The name of the mean of each product, by the numbers of its factors.
        biased: Whether any field has a nonzero mean.
    """

    def __init__(self) -> None:
        self.names: dict[Kinds, str] = {}
        self.biased = False
        self._factors = {sp.S.One: NumericActivation(sp.S.One, "1")}
        self._written: dict[Any, tuple[sp.Expr, sp.Expr]] = {}
        self._slopes: dict[str, list[Slope]] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Leave out compiled functions."""
        return {key: value for key, value in vars(self).items() if key != "by_number"}

    def mean(
        self,
        functions: Sequence[sp.Expr],
        covariance: Sequence[Sequence[sp.Expr]],
        means: Sequence[sp.Expr],
    ) -> sp.Expr:
        """Return the mean of a product of functions of x at fields with these moments.

        Raises:
            NotYetError: There are more fields than the rules take, or a function that they cannot
                treat.
        """
        if len(functions) > MOST_FACTORS:
            raise NotYetError(
                f"it is a product of {len(functions)} functions of different fields, not all with "
                f"closed means; quadrature takes at most {MOST_FACTORS}"
            )
        count = len(functions)
        split = [self._as_written(function) for function in functions]
        known = [self._known(function) for _, function in split]
        # planes are spanned by the first two fields: functions with jumps come first
        places = [
            (not any(each.jumps_of_value), self._number(f))
            for each, (_, f) in zip(known, split, strict=True)
        ]
        order = sorted(range(count), key=places.__getitem__)
        size = 2 if count < 3 else MOST_FACTORS
        kinds = tuple(self._number(split[n][1]) for n in order)
        kinds += tuple(self._number(sp.S.One) for _ in range(size - count))
        name = self._named(kinds)
        moments = [
            covariance[order[i]][order[j]] if j < count else sp.S.Zero
            for i, j in upper_triangle(size)
        ]
        moments += [means[n] for n in order] + [sp.S.Zero] * (size - count)
        self.biased |= any(each != 0 for each in means)
        return sp.Mul(*(number for number, _ in split)) * sp.Function(name)(*moments)

    def _as_written(self, function: sp.Expr) -> tuple[sp.Expr, sp.Expr]:
        """Return a number and a known function whose product is the given one; proportional
        rational expressions of the same functions are represented by the first one met.
        """
        number, rest = _with_its_number(function)
        front, ratio = _as_ratio(rest)
        first, written = self._written.setdefault(ratio, (front, rest))
        return number * front / first, written

    def _known(self, function: sp.Expr) -> NumericActivation:
        if function not in self._factors:
            self._factors[function] = NumericActivation(function, str(function))
            self._factors[function].derivative(0)  # refused here, before any rule is searched for
        return self._factors[function]

    def _number(self, function: sp.Expr) -> int:
        self._known(function)
        return list(self._factors).index(function)

    @cached_property
    def by_number(self) -> FactorMeans:
        """The means with their factors by number; no mean may be added afterwards."""
        factors = list(self._factors.values())
        kinked = any(each.kinks for each in factors)
        planes = not self.biased and all(len(each.kinks) <= MOST_KINKS for each in factors)
        sizes = {len(kinds): kinds for kinds in self.names}
        asked = MeansAsked(
            kinds=tuple(self.names),
            family=("plane" if planes else "kinked") if kinked else "smooth",
            at_zero=kinked and planes and not any(any(each.kinks) for each in factors),
            rough=any(any(each.jumps_of_value) for each in factors),
            even=all(sp.prod(factors[n].parity for n in kinds) == 1 for kinds in self.names),
            biased=self.biased,
            idle=self._number(sp.S.One),
            of_what="products of functions of fields",
        )
        kinks = {f"KINKS_{n}": each.kinks for n, each in enumerate(factors)} if kinked else {}
        samples = tuple((kinds, "") for kinds in sizes.values())
        return FactorMeans(self._functions(kinked), asked, kinks, samples)

    def _functions(self, kinked: bool) -> tuple[Function, ...]:
        """Return the factors, and the function that calls all of them by number."""
        functions: list[Function] = []
        for n, factor in enumerate(self._factors.values()):
            value, doc = factor.derivative(0), f"{factor.text}."
            name = f"factor_{n}_of_products"
            functions.append(ScalarFunction(name, (X,), (), value, doc, as_value=True))
        factors = {n: function.name for n, function in enumerate(functions)}
        kinks = {n: f"KINKS_{n}" for n in factors} if kinked else {}
        return (*functions, *by_number(factors, kinks))

    def with_slopes(self) -> ProductMeans:
        """Return the same means with their derivatives by all arguments, by Price's theorem.

        One rule serves all of them.

        Raises:
            NotYetError: A function is not smooth.
        """
        means = ProductMeans()
        means.names, means.biased = dict(self.names), self.biased
        means._factors, means._written = dict(self._factors), dict(self._written)
        if any(each.kinks for each in self._factors.values()):
            raise NotYetError(
                "a function of a field has kinks beside others without closed means, and slopes "
                "of such products are not known yet"
            )
        for kinds, name in self.names.items():
            pairs = slopes_of_mean(((False, 0),) * len(kinds), biased=True)
            means._slopes[name] = [means._slope(front, kinds, raised) for front, raised in pairs]
        return means

    def _slope(self, front: sp.Expr, kinds: Kinds, raised: Sequence[Kind]) -> Slope:
        """Return a prefactor and the name of a product; the name is None for a zero derivative."""
        factors, numbers = list(self._factors), []
        for kind, (_, order) in zip(kinds, raised, strict=True):
            number, rest = self._as_written(sp.diff(factors[kind], X, order))
            if number == 0:
                return number, None
            front *= number
            numbers.append(self._number(rest))
        return front, self._named(tuple(numbers))

    def _named(self, kinds: Kinds) -> str:
        return self.names.setdefault(kinds, f"product_{len(self.names) + 1}")

    @cached_property
    def rule(self) -> tuple[MeanRule, float]:
        """The rule of all products and the largest error found, times a safety factor.

        Raises:
            NotYetError: A mean is not finite, or no rule is accurate.
        """
        # panels of four fields are expensive, those of two are not
        panels = self.by_number.asked.family == "kinked" and any(
            len(kinds) > 2 for kinds in self.names
        )
        tolerance = FINEST_KINKED if panels else FINEST_QUADRATURE
        rule, error, _ = chosen_rule(self.by_number.choice(tolerance, LAST_TOLERANCE))
        return rule, error

    @property
    def error(self) -> float:
        """The largest error found, times a safety factor; zero if there are no such means."""
        return self.rule[1] if self.names else 0.0

    @property
    def told(self) -> dict[str, list[sp.Expr]]:
        """The functions in the product of each mean, by its name."""
        factors = list(self._factors)
        return {
            name: [factors[n] for n in kinds if factors[n] != 1]
            for kinds, name in self.names.items()
        }

    @cached_property
    def functions(self) -> dict[str, Function]:
        """The functions of the module by name; no mean may be added afterwards."""
        if not self.names:
            return {}
        functions = {function.name: function for function in self.by_number.factors}
        told = self.told
        for kinds, name in self.names.items():
            size = len(kinds)
            covariance = covariance_symbols(size)
            arguments = tuple(covariance[place] for place in upper_triangle(size))
            doc = "E[" + " ".join(f"({function})" for function in told[name]) + "]."
            arguments += bias_symbols(size)
            functions[name] = self.by_number.template(name, arguments, kinds, doc)
        return {
            name: self._with_its_slopes(function, functions) for name, function in functions.items()
        }

    def _with_its_slopes(self, mean: Function, found: Mapping[str, Function]) -> Function:
        """Return a mean with its derivatives attached, if they are known."""
        if mean.name not in self._slopes:
            return mean
        assert isinstance(mean, TemplateFunction)
        slopes = [
            front * sp.Function(name)(*mean.arguments) if name else sp.S.Zero
            for front, name in self._slopes[mean.name]
        ]
        used = dict.fromkeys(name for _, name in self._slopes[mean.name] if name)
        return replace(mean, slopes=tuple(slopes), used=tuple(found[name] for name in used))

    @cached_property
    def constants(self) -> dict[str, Constant]:
        """Constants of the module; no mean may be added afterwards."""
        if not self.names:
            return {}
        rule, error = self.rule
        return {
            "QUADRATURE_RULE": rule.four,
            "QUADRATURE_PAIR_RULE": rule.two,
            "QUADRATURE_ERROR": error,
            "QUADRATURE_LARGEST_VARIANCE": LARGEST_VARIANCE,
            **self.by_number.kinks,
        }

    @property
    def finer(self) -> dict[str, Constant]:
        """The constants of the module for a much finer rule."""
        if not self.names:
            return {}
        rule = finer(self.rule[0])
        return {"QUADRATURE_RULE": rule.four, "QUADRATURE_PAIR_RULE": rule.two}

    @property
    def crude(self) -> dict[str, Constant]:
        """The constants of the module for panels so long that their points fit at all moments;
        empty for means without panels.
        """
        if not self.names or self.by_number.asked.family == "smooth":
            return {}
        rule = self.rule[0]
        four, two = ((_LONG, _LONG, *numbers[2:]) for numbers in (rule.four, rule.two))
        return {"QUADRATURE_RULE": four, "QUADRATURE_PAIR_RULE": two}


def _as_ratio(function: sp.Expr) -> tuple[sp.Expr, Any]:
    """Return the prefactor of a function and a normal form of the rest: the same for all ways to
    write a rational expression of the functions in it.
    """
    powers = {
        each: _EXPONENTIAL ** (each.exp / X)
        for each in function.atoms(sp.exp)
        if (each.exp / X).is_Integer
    }
    try:
        parts = sp.fraction(sp.cancel(function.xreplace(powers)))
        (above, below), _ = sp.parallel_poly_from_expr(parts, field=True)
    except sp.PolynomialError:
        return sp.S.One, function
    if not above.domain.is_QQ:
        return sp.S.One, function
    return above.LC() / below.LC(), (above.monic(), below.monic())


def _with_its_number(function: sp.Expr) -> tuple[sp.Expr, sp.Expr]:
    """Return the numerical prefactor of a function, and the rest."""
    number, rest = sp.factor_terms(function).as_coeff_Mul()
    return (-number, -rest) if rest.could_extract_minus_sign() else (number, rest)
