"""Means of products of functions of Gaussian variables as scalar functions of their covariances."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import sympy as sp
from symderiv_codegen import Function, ScalarFunction

from symderiv.foundation.errors import NotYetError
from symderiv.gaussian import covariance_symbols, expectation
from symderiv.gaussian.distributions import reduced
from symderiv.lowering.means.regularity import has_edge
from symderiv.lowering.means.stable import stable
from symderiv.statement.field_law import Law
from symderiv.system.means.averages import FormSlot, MeanTable, X
from symderiv.system.means.joint_means import JointMeans

__all__ = ["MOST_FIELDS", "SlotMeans"]

MOST_FIELDS = 8
"""More functions in one product are refused: no closed form is to be expected."""


class SlotMeans(MeanTable):
    """The functions that the means of a statement are, each derived once.

    Attributes:
        functions: By name, in the order in which they were needed.
    """

    def __init__(self) -> None:
        self.functions: dict[str, ScalarFunction] = {}
        self.joints = JointMeans()
        self._names: dict[tuple[tuple[sp.Expr, ...], tuple[bool, ...]], str] = {}

    def mean(self, slots: Sequence[FormSlot], law: Law) -> sp.Expr:
        """Return the mean of a product as a call of a function of covariances and means.

        Raises:
            NotYetError: No rule of the Gaussian calculus applies.
            DivergentError: The mean does not exist.
        """
        slots = sorted(_merged(slots), key=lambda each: (str(each.function), str(each.form)))
        if not slots:
            return sp.S.One
        if len(slots) > MOST_FIELDS:
            raise NotYetError(f"it is a product of {len(slots)} functions of different fields")
        covariance, means = law.moments([slot.form for slot in slots])
        shifted = tuple(each != 0 for each in means)
        key = tuple(slot.function for slot in slots), shifted
        try:
            function = _function(*key)
        except NotYetError:
            return self.joints.mean(slots, law)
        if function.value.is_number and not function.definitions:
            return function.value
        size = len(slots)
        triangle = [covariance[i][j] for i in range(size) for j in range(i, size)]
        name = self._named(key, function)
        parameters = _parameters(key[0])
        arguments = (*triangle, *(m for m in means if m != 0), *parameters)
        return sp.Function(name)(*arguments)

    @property
    def all_functions(self) -> tuple[Function, ...]:
        """The functions in an order in which each calls earlier ones only."""
        return (*self.functions.values(), *self.joints.functions.values())

    def joint(
        self, function: sp.Expr, nonlinear: int, forms: Sequence[sp.Expr], law: Law
    ) -> sp.Expr:
        """Return the mean of a function of several affine combinations, by quadrature."""
        return self.joints.joint(function, nonlinear, forms, law)

    def _named(
        self, key: tuple[tuple[sp.Expr, ...], tuple[bool, ...]], function: ScalarFunction
    ) -> str:
        if key not in self._names:
            name = f"mean_{len(self._names) + 1}"
            self._names[key] = name
            self.functions[name] = ScalarFunction(
                name=name,
                arguments=function.arguments,
                definitions=function.definitions,
                value=function.value,
                doc=function.doc,
                guarded=function.guarded,
            )
        return self._names[key]


def _merged(slots: Sequence[FormSlot]) -> list[FormSlot]:
    """Return the slots with those of one form multiplied, except for those that bring own noise.

    erf of a field is the sign of the field plus independent noise: nothing becomes singular where
    several stand at one field, and products at one field need no function of their own.
    """
    alone = [slot for slot in slots if isinstance(slot.function, sp.erf)]
    rest: dict[sp.Expr, sp.Expr] = {}
    for slot in slots:
        if not isinstance(slot.function, sp.erf):
            rest[slot.form] = rest.get(slot.form, sp.S.One) * slot.function
    found = ((_reduced(function), form) for form, function in rest.items())
    return alone + [FormSlot(function, form) for function, form in found if function != 1]


def _reduced(function: sp.Expr) -> sp.Expr:
    """Return a function of x with products of steps, signs and delta functions written in full."""
    return reduced(function, X)


def _parameters(functions: Sequence[sp.Expr]) -> tuple[sp.Symbol, ...]:
    found = set().union(*(f.free_symbols for f in functions)) - {X}
    return tuple(sorted(found, key=str))


@lru_cache(maxsize=4096)
def _function(functions: tuple[sp.Expr, ...], shifted: tuple[bool, ...]) -> ScalarFunction:
    """Return the mean of ∏ f_i(z_i) as a function of the covariances and means of the z_i.

    Raises:
        NotYetError: No closed form is known, or none in real numbers.
        DivergentError: The mean does not exist.
    """
    size = len(functions)
    fields = [sp.Symbol(f"z{n + 1}", real=True) for n in range(size)]
    covariance = covariance_symbols(size)
    biases = [
        sp.Symbol(f"b{n + 1}", real=True) if has else sp.S.Zero for n, has in enumerate(shifted)
    ]
    triangle = [covariance[i, j] for i in range(size) for j in range(i, size)]
    parameters = _parameters(functions)
    arguments = (*triangle, *(b for b in biases if b != 0), *parameters)
    integrand = sp.Mul(*(f.xreplace({X: z}) for f, z in zip(functions, fields, strict=True)))
    mean = expectation(
        integrand, fields, covariance, sp.Matrix(biases) if any(shifted) else None, folded=True
    )
    if any(each.has(sp.I) for each in (mean.value, *(value for _, value in mean.definitions))):
        raise NotYetError("a wave and a sign with means have an error function of complex numbers")
    # the search for edges of the domain takes a mean for every field
    places = tuple(sp.Symbol(f"b{n + 1}", real=True) for n in range(size)) if any(shifted) else ()
    form = ((*triangle, *places), mean.definitions, mean.value)
    return ScalarFunction(
        name="mean",
        arguments=arguments,
        definitions=mean.definitions,
        value=stable(mean.value),
        doc=f"E[{integrand}].",
        guarded=bool(parameters) or has_edge(*form, biased=any(shifted)),
    )
