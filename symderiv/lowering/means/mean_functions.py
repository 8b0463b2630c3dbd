r"""Means of products of activations as scalar functions of the covariance of their fields.

The closed forms come from the Gaussian calculus (nothing is known here about any activation).
Indices may coincide in the sums of the equations; whether the general function may be used there
is decided by computation: at a covariance with coinciding fields it must have a finite value equal
to that of the function derived for the coinciding fields, away from the edge of every arcsine and
root. Where it does not, or where a simpler
function exists because fewer sign factors are left than a closed form allows, the call becomes a
case distinction over the indices.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import sympy as sp
from symderiv_codegen import Assignment, Function, Procedure, TableSum
from sympy.core.function import AppliedUndef

from symderiv.foundation.errors import DivergentError
from symderiv.gaussian import covariance_symbols, derivative
from symderiv.learning.derivation import symbols as s
from symderiv.learning.derivation.indexed_sums import Term, terms
from symderiv.learning.derivation.mean_factors import Slot, bias_of, index_symbol, slots
from symderiv.learning.rule.learning_problem import LearningProblem
from symderiv.lowering.means.closed_means import (
    ClosedMean,
    X,
    almost_everywhere,
    bias_symbols,
    closed_mean,
    field_symbols,
    upper_triangle,
)
from symderiv.lowering.means.mixture_integrals import (
    MixtureIntegral,
    Tables,
    mixture_integral,
)
from symderiv.lowering.means.patterns import (
    Arrangement,
    Kind,
    Pattern,
    arrange,
    by_field,
    coincidences,
)
from symderiv.lowering.means.regularity import agrees, has_edge
from symderiv.lowering.means.shared_means import shared_mean

if TYPE_CHECKING:
    from symderiv.lowering.means.quadrature_means import Quadrature

CLOSED_SIGN_FACTORS = 3
"""Centred means with at most this many sign factors are closed; more need an integral."""


class Integrals:
    """A translator of means into calls of scalar functions, which keeps these functions."""

    def __init__(
        self,
        problem: LearningProblem,
        tables: Tables | None = None,
        quadrature: Quadrature | None = None,
        together: tuple[Procedure, ...] = (),
    ) -> None:
        """Prepare the means of a problem.

        Args:
            problem: The activations.
            tables: The tables of the activations that are sums of error functions.
            quadrature: The quadrature, if means have no closed form.
            together: The procedures that compute several means together.
        """
        self._problem = problem
        self._biased = problem.rule.biases
        self._tables = tables or {}
        self._quadrature, self._together = quadrature, together
        self._known: dict[Pattern, ClosedMean | MixtureIntegral] = {}
        self._used: dict[str, Function] = {}
        self._cases: dict[tuple[Pattern, ...], bool] = {}
        self._shared: dict[str, Assignment] = {}

    @property
    def functions(self) -> tuple[Function, ...]:
        """The scalar functions that occur in lowered expressions, in order of their names.

        Those that call others come last.
        """

        def place(name: str) -> tuple[bool, str]:
            return any(e.has(AppliedUndef) for e in self._used[name].expressions), name

        return tuple(self._used[name] for name in sorted(self._used, key=place))

    @property
    def shared_means(self) -> tuple[Procedure, ...]:
        """The procedures that compute several means together, each with the means that it computes,
        so that it can be differentiated.
        """
        known = self._shared
        return tuple(
            replace(each, stated=tuple(known[a.name] for a in each.outputs if a.name in known))
            for each in self._together
        )

    def lowered(self, expression: sp.Expr, what: str) -> sp.Expr:
        """Return the expression with every mean replaced by calls of scalar functions.

        Args:
            expression: Sums over means of products of activations.
            what: What the expression is, for the message of an error, e.g. ``Γ_ii``.

        Raises:
            DivergentError: A mean does not exist, even when indices coincide.
        """
        means = sorted(expression.atoms(s.Average), key=sp.default_sort_key)
        try:
            calls = {mean: self._call(slots(mean)) for mean in means}
        except DivergentError as error:
            raise DivergentError(
                f"{what} diverges for the student activation {self._problem.student.text!r} "
                f"(teacher {self._problem.teacher.text!r}): {error}; choose a smoother or slower "
                "growing activation for the student (a jump is possible in the teacher's)"
            ) from error
        return sp.Add(*(_flat(term, calls) for term in terms(expression)))

    def integral(self, pattern: Pattern) -> ClosedMean | MixtureIntegral:
        """Return the mean of a pattern, derived on first use."""
        if pattern not in self._known:
            mixed = any(teacher in self._tables for teacher, _ in pattern.kinds)
            self._known[pattern] = (
                mixture_integral(pattern, self._tables, self._factor, self._biases_of(pattern))
                if mixed
                else self._derived(pattern)
            )
        return self._known[pattern]

    def _biases_of(self, pattern: Pattern) -> tuple[sp.Symbol, ...]:
        return bias_symbols(len(pattern.fields)) if self._biased else ()

    def _derived(self, pattern: Pattern) -> ClosedMean:
        fields = field_symbols(len(pattern.fields))
        integrand = sp.Mul(
            *(
                self._factor(kind, field)
                for field, group in zip(fields, pattern.fields, strict=True)
                for kind in group
            )
        )
        return closed_mean(almost_everywhere(integrand), (self._biased,) * len(fields))

    def _continuous(self, pattern: Pattern) -> bool:
        """Return whether the mean is continuous in the covariance, also where fields coincide.

        It is for functions that are continuous almost everywhere and grow more slowly than a
        Gaussian falls, but not for delta functions.
        """
        return not any(self._factor(kind, X).has(sp.DiracDelta) for kind in pattern.kinds)

    def _factor(self, kind: Kind, field: sp.Expr) -> sp.Expr:
        teacher, order = kind
        activation = self._problem.teacher if teacher else self._problem.student
        return derivative(activation.expression, order).xreplace({X: field})

    def _call(self, factors: Sequence[Slot]) -> sp.Expr:
        same = self._problem.same_activation
        # Means by mixtures take erf at scaled fields, which is smooth where fields coincide; rules
        # of quadrature tolerate coinciding fields.
        alone = [
            [slot]
            for slot in factors
            if self._quadrature or (slot.teacher and not same) in self._tables
        ]
        groups = by_field([slot for slot in factors if [slot] not in alone])
        options = [arrange([*alone, *blocks], same) for blocks in coincidences(groups)]
        general = options[-1]
        shared = shared_mean(factors, self._together)
        if self._quadrature:
            if shared is None:
                return self._by_quadrature(self._quadrature, general)
            front = _price_factor(general.pattern)
            if self._quadrature.differentiable:
                self._state(shared, self._by_quadrature(self._quadrature, general) / front)
            return front * shared
        if shared is not None:
            return shared
        branches = self._kept(options)
        if squared := self._squared(factors):
            rest = [squared, *(each for each in alone if each[0] not in squared)]
            blocks = coincidences(groups)
            branches = [*self._kept([arrange([*rest, *each], same) for each in blocks]), *branches]
        if len(branches) == 1:
            return self._applied(general)
        return sp.Piecewise(*((self._applied(option), _condition(option)) for option in branches))

    def _kept(self, options: Sequence[Arrangement]) -> Sequence[Arrangement]:
        """Return all options where they differ, else only the last, which is the general one."""
        return options if self._needs_cases(options[-1], options[:-1]) else options[-1:]

    def _squared(self, factors: Sequence[Slot]) -> list[Slot]:
        """Return the two slopes of a mean of four or more factors whose product at one field has a
        table of its own, or an empty list without such a table.
        """
        slopes, same = [slot for slot in factors if slot.order == 1], self._problem.same_activation
        kinds = {(slot.teacher, slot.family) for slot in slopes}
        if self._quadrature or len(slopes) != 2 or len(factors) < 4 or len(kinds) != 1:
            return []
        table = self._tables.get(slopes[0].teacher and not same)
        return slopes if table is not None and table.square is not None else []

    def _state(self, element: sp.Indexed, mean: sp.Expr) -> None:
        """Record which mean an element of an array stands for."""
        name, indices = str(element.base), element.indices
        if len(set(indices)) == len(indices):
            both = name.endswith("_of_both") and len(indices) == 2
            symmetric = not both and not name.startswith("curvatures")
            self._shared.setdefault(name, Assignment(element, mean, symmetric=symmetric))

    def _by_quadrature(self, rules: Quadrature, arrangement: Arrangement) -> sp.Expr:
        """Return the call of a function that computes the mean by quadrature."""
        pattern = arrangement.pattern
        name = self.name(pattern)
        if name not in self._used:
            covariance = covariance_symbols(len(pattern.fields))
            triangle = upper_triangle(len(pattern.fields))
            arguments = (*(covariance[a, b] for a, b in triangle), *self._biases_of(pattern))
            for function in rules.functions(pattern, arguments, name, self.describe(pattern)):
                self._used[function.name] = function
        return _price_factor(pattern) * _called(name, arrangement)

    def _needs_cases(self, general: Arrangement, options: Sequence[Arrangement]) -> bool:
        key = (general.pattern, *(option.pattern for option in options))
        if key not in self._cases:
            # Every coincidence is derived, so that a divergent one does not go unnoticed.
            reduced = [self.integral(option.pattern) for option in options]
            whole = self.integral(general.pattern)
            fewer = any(
                part.sign_factors <= CLOSED_SIGN_FACTORS < whole.sign_factors for part in reduced
            )
            self._cases[key] = fewer or not all(
                agrees(whole.form, part.form, _places(general, option), self._biased)
                for part, option in zip(reduced, options, strict=True)
            )
        return self._cases[key]

    def _applied(self, arrangement: Arrangement) -> sp.Expr:
        """Return the call of a pattern's function at the covariances of the given fields."""
        pattern = arrangement.pattern
        integral, factor = self.integral(pattern), _price_factor(pattern)
        if isinstance(integral, ClosedMean) and integral.constant:
            return integral.value
        return factor * _called(self._function(pattern, integral).name, arrangement)

    def _function(self, pattern: Pattern, integral: ClosedMean | MixtureIntegral) -> Function:
        name, doc, over = self.name(pattern), self.describe(pattern), _price_factor(pattern)
        if name not in self._used:
            symmetries = pattern.symmetries(self._biased)
            if isinstance(integral, MixtureIntegral):
                self._used[name] = TableSum(
                    name=name,
                    arguments=integral.arguments,
                    terms=tuple(replace(term, value=term.value / over) for term in integral.terms),
                    doc=f"{doc[:-1]}, summed over the mixture.",
                    guarded=has_edge(*integral.form, self._biased),
                    symmetries=symmetries,
                )
            else:
                everywhere = self._continuous(pattern)
                self._used[name] = integral.function(name, doc, over, symmetries, everywhere)
        return self._used[name]

    def name(self, pattern: Pattern) -> str:
        """Return the name of the scalar function of a pattern, e.g. ``i4_st_aabc``."""
        kinds = pattern.kinds
        orders = tuple(order for _, order in kinds)
        parts = [_BASES.get(orders, "mean_" + "_".join(map(str, orders)))]
        if not self._problem.same_activation:
            # The letters say which network the last slots belong to; the first slots are students'.
            last = kinds[-2:]
            parts.append("".join("t" if teacher else "s" for teacher, _ in last))
        if not pattern.distinct:
            parts.append(pattern.letters)
        return "_".join(parts)

    def describe(self, pattern: Pattern) -> str:
        """Return the mean in words of a formula, e.g. ``E[g'(a) g'(a) g(b) h(c)]``."""
        letters = pattern.letters
        marks = (
            f"{'h' if teacher else 'g'}{chr(39) * order}({letter})"
            for (teacher, order), letter in zip(pattern.kinds, letters, strict=True)
        )
        product = " ".join(marks)
        prefix = "1/2 " if _price_factor(pattern) == 2 else ""
        extra = _PRICE.get(tuple(order for _, order in pattern.kinds), "")
        means = ", of fields with biases" if self._biased else ""
        return f"{prefix}E[{product}]{extra if pattern.distinct else ''}{means}."


def _called(name: str, arrangement: Arrangement) -> sp.Expr:
    """Return the call of a function at the covariances, and biases, of the arrangement's fields."""
    units = arrangement.representatives
    arguments = (covariance_of(units[a], units[b]) for a, b in upper_triangle(len(units)))
    biases = (bias_of(unit) for unit in units if unit.biased)
    return sp.Function(name)(*arguments, *biases)


def _flat(term: Term, calls: dict[sp.Expr, sp.Expr]) -> sp.Expr:
    """Return a term as one sum over all of its indices: nested sums would lose their case
    distinctions.
    """
    factor = term.factor.xreplace(calls)
    if factor == 0 or not term.limits:
        return factor
    factors = sp.Mul.make_args(factor)
    inside = [f for f in factors if any(f.has(index) for index in term.bound)]
    outside = [f for f in factors if f not in inside]
    return sp.Mul(*outside, sp.Sum(sp.Mul(*inside), *reversed(term.limits)))


_BASES: dict[tuple[int, ...], str] = {
    (0, 0): "i2",
    (1, 1): "i2_12",
    (2, 0): "i2_11",
    (1, 1, 0, 0): "i4",
}
_PRICE: dict[tuple[int, ...], str] = {(1, 1): " = dI2/dc12", (2, 0): " = dI2/dc11"}


def _price_factor(pattern: Pattern) -> int:
    """Return 2 for E[g''(a) g(b)], which is 2 ∂I2/∂c11 by Price's rule, and 1 for other means."""
    return 2 if tuple(order for _, order in pattern.kinds) == (2, 0) else 1


def covariance_of(first: Slot, second: Slot) -> sp.Expr:
    """Return the entry of Q, R, T, … that is the covariance of two fields."""
    one, two = sorted((first, second), key=lambda slot: (slot.teacher, slot.index))
    if s.in_order(one.family, two.family) != (one.family, two.family):
        one, two = two, one
    return s.covariance(one.family, two.family)[index_symbol(one), index_symbol(two)]


def _condition(arrangement: Arrangement) -> sp.Basic:
    """Return the condition that indices coincide as arranged; finer ones are tried later."""
    equalities = [
        sp.Eq(index_symbol(group[0]), index_symbol(other), evaluate=False)
        for group in arrangement.groups
        for other in group[1:]
        if other.index != group[0].index
    ]
    return sp.And(*equalities) if equalities else sp.true


def _places(general: Arrangement, coarse: Arrangement) -> tuple[int, ...]:
    """Return for each field of the general pattern, the field of the coarse one that it becomes."""
    return tuple(
        next(number for number, block in enumerate(coarse.groups) if group[0] in block)
        for group in general.groups
    )
