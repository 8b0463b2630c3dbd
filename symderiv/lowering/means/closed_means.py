"""Means in closed form as functions of modules: the one way from E[∏ f_a(z_a)] to code.

Learning rules ask for means of patterns of activations (``mean_functions``), stated systems for
those of functions of affine combinations of fields (``symderiv.system.means.slot_means``); mixtures
for those of their error functions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import sympy as sp
from symderiv_codegen import ScalarFunction

from symderiv.formula.polynomials import Monomial, coefficients
from symderiv.foundation.derivation_cache import derived_once
from symderiv.gaussian import covariance_symbols
from symderiv.lowering.means.regularity import CLOSED_MEANS, Form, has_edge
from symderiv.lowering.means.stable import stable

__all__ = [
    "CLOSED_MEANS",
    "ClosedMean",
    "X",
    "almost_everywhere",
    "bias_symbols",
    "closed_mean",
    "field_symbols",
    "mean_over",
    "upper_triangle",
]

X = sp.Symbol("x", real=True)
"""The variable of functions of one field."""


@dataclass(frozen=True)
class ClosedMean:
    """The mean of a function of Gaussian fields as a function of their moments.

    Attributes:
        arguments: The covariances of the fields, row by row from the diagonal on; the means of
            those fields that have one; further symbols of the function.
        definitions: Named parts of the value, in order.
        value: In terms of the arguments and the definitions.
        sign_factors: The largest number of sign factors left in a term.
        domain: The covariances, and the means of all fields if any field has one.
        guarded: Whether the value reaches the edge of its domain for some covariance, or may
            because there are further arguments.
    """

    arguments: tuple[sp.Symbol, ...]
    definitions: tuple[tuple[sp.Symbol, sp.Expr], ...]
    value: sp.Expr
    sign_factors: int
    domain: tuple[sp.Symbol, ...]

    @property
    def form(self) -> Form:
        """Domain, definitions and value."""
        return self.domain, self.definitions, self.value

    @property
    def constant(self) -> bool:
        """True if the value depends on no argument."""
        return not self.definitions and not self.value.free_symbols

    @cached_property
    def guarded(self) -> bool:
        own = set(self.arguments) - set(self.domain)
        biased = any(symbol.name.startswith("b") for symbol in self.domain)
        return bool(own) or has_edge(*self.form, biased)

    @cached_property
    def printed(self) -> sp.Expr:
        """The value in the form that modules compute, which keeps its digits."""
        return stable(self.value)

    def __getstate__(self) -> dict[str, Any]:
        _ = self.guarded, self.printed  # slow to compute: pickled with the rest
        return self.__dict__

    def function(
        self,
        name: str,
        doc: str,
        over: int = 1,
        symmetries: tuple[tuple[int, ...], ...] = (),
        everywhere: bool = False,
    ) -> ScalarFunction:
        """Return the function of a module that is this mean divided by a number."""
        return ScalarFunction(
            name=name,
            arguments=self.arguments,
            definitions=self.definitions,
            value=self.printed / over,
            doc=doc,
            guarded=self.guarded,
            symmetries=symmetries,
            everywhere=everywhere,
        )


@derived_once(imports=(__name__,), shipped=CLOSED_MEANS, kept=False, remembered=4096)
def closed_mean(integrand: sp.Expr, shifted: tuple[bool, ...]) -> ClosedMean:
    """Return the mean of a function of fields by the Gaussian calculus.

    Args:
        integrand: The integrand as a function of :func:`field_symbols`; it need not depend on all
            of them.
        shifted: For every field, whether its mean differs from zero.

    Raises:
        NotYetError: No closed form is known.
        DivergentError: The mean does not exist.
    """
    # imported here only: means that come with the package are read without the Gaussian calculus
    from symderiv.gaussian import expectation

    size = len(shifted)
    fields, covariance, biases = field_symbols(size), covariance_symbols(size), bias_symbols(size)
    triangle = tuple(covariance[a, b] for a, b in upper_triangle(size))
    present = tuple(bias for bias, has in zip(biases, shifted, strict=True) if has)
    domain = (*triangle, *biases) if present else triangle
    known = {*fields, *triangle, *present}
    rest = sorted((symbol for symbol in integrand.free_symbols if symbol not in known), key=str)
    arguments = (*triangle, *present, *rest)
    left = [number for number, field in enumerate(fields) if integrand.has(field)]
    if not left:
        return ClosedMean(arguments, (), integrand, 0, domain)
    # a bias is the mean of a field and goes through the same eliminations as the covariances
    means = [biases[n] if shifted[n] else sp.S.Zero for n in left]
    derived = expectation(
        integrand,
        [fields[n] for n in left],
        covariance.extract(left, left),
        sp.Matrix(means) if present else None,
        folded=True,
    )
    return ClosedMean(arguments, derived.definitions, derived.value, derived.sign_factors, domain)


def upper_triangle(size: int) -> list[tuple[int, int]]:
    """Positions of the upper triangle of a square matrix, row by row."""
    return [(a, b) for a in range(size) for b in range(a, size)]


def field_symbols(size: int) -> tuple[sp.Symbol, ...]:
    """Return the fields z1, z2, … that means are over."""
    return tuple(sp.Symbol(f"z{number + 1}", real=True) for number in range(size))


def bias_symbols(size: int) -> tuple[sp.Symbol, ...]:
    """Return the symbols b1, b2, … for the means of ``size`` fields."""
    return tuple(sp.Symbol(f"b{number + 1}", real=True) for number in range(size))


def almost_everywhere(integrand: sp.Expr) -> sp.Expr:
    """Return an integrand with even powers of signs replaced by 1; fields may drop out."""
    return integrand.replace(
        lambda e: e.is_Pow and isinstance(e.base, sp.sign) and e.exp.is_even,
        lambda e: sp.Integer(1),
    )


def mean_over(
    expression: sp.Expr,
    symbols: Sequence[sp.Symbol],
    covariance: Mapping[tuple[int, int], sp.Expr],
) -> sp.Expr | None:
    """Return the mean over Gaussian symbols, whose means keep their names, exactly.

    Args:
        expression: A polynomial of the symbols.
        symbols: What is averaged over; they stand for their means in the result.
        covariance: The covariance of the symbols, for places i <= j.

    Returns:
        None if the expression is not a polynomial of the symbols.
    """
    by_powers = coefficients(expression, symbols)
    if by_powers is None:
        return None
    if not symbols:
        return expression
    size = len(symbols)
    places = {covariance_symbols(size)[pair]: value for pair, value in covariance.items()}
    places |= dict(zip(bias_symbols(size), symbols, strict=True))
    return sp.Add(*(c * _moment(powers).xreplace(places) for powers, c in by_powers.items()))


def _moment(powers: Monomial) -> sp.Expr:
    """Return the mean of a monomial of fields in terms of their covariances and means."""
    fields = field_symbols(len(powers))
    monomial = sp.Mul(*(z**power for z, power in zip(fields, powers, strict=True)))
    return closed_mean(monomial, (True,) * len(powers)).value
