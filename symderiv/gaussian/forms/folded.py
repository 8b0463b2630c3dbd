r"""Closed forms with named conditional covariances (for generated code)."""

from __future__ import annotations

from typing import Any

import sympy as sp

from symderiv.gaussian.terms.covariance import Conditions, Gaussian
from symderiv.gaussian.terms.weights import Entry, Weight


class Folded:
    """A form in which every conditional entry that is not trivial has a name and is defined once.

    Definitions are sequential Schur complements, each in terms of the ones before: short, and as
    stable as elimination gets.

    Args:
        gaussian: The variables.
        names: Where definitions are collected, shared between linear exponents.
        mark: Tells apart the means under different linear exponents.
        shifted: See :class:`View`.
    """

    folded = True

    def __init__(
        self,
        gaussian: Gaussian,
        names: dict[str, sp.Expr],
        mark: str = "",
        shifted: bool = False,
    ) -> None:
        self.g = gaussian
        self.shifted = shifted
        self.definitions = names
        self._mark = mark
        self._memo: dict[tuple[Conditions, int, int], sp.Expr] = {}
        self._known: dict[tuple[Conditions, Any], sp.Expr] = {}

    def entry(self, given: Conditions, i: int, j: int) -> sp.Expr:
        """Return the conditional entry (also of a mean row) as a symbol or short expression."""
        if i > j:
            i, j = j, i
        key = (given, i, j)
        if key not in self._memo:
            self._memo[key] = self._write(given, i, j)
        return self._memo[key]

    def _write(self, given: Conditions, i: int, j: int) -> sp.Expr:
        g = self.g
        value = g.n(given, i, j)
        if not value:
            return sp.S.Zero
        if not given:
            return g.algebra.expression(value)
        before, a = given[:-1], given[-1]
        if g.is_zero(before, i, a) or g.is_zero(before, j, a):
            return self.entry(before, i, j)
        known = self._known.get((given, value))
        if known is not None:
            return known
        pivot = self.entry(before, a, a)
        schur = self._tilted(given, i, j, pivot)
        if schur is None:
            schur = self.entry(before, i, j) - (
                self.entry(before, i, a) * self.entry(before, j, a) / pivot
            )
        symbol = self._symbol(given, i, j)
        self.definitions[symbol.name] = schur
        self._known[given, value] = symbol
        return symbol

    def _tilted(self, given: Conditions, i: int, j: int, pivot: sp.Expr) -> sp.Expr | None:
        """Return C_ej (1 - C_ee/(C_ee + 1/a)) without cancellation if e is the tilted field, else
        None.
        """
        g = self.g
        before, a = given[:-1], given[-1]
        noise = g.variables[a].noise
        if noise == 0:
            return None
        for e, other in ((i, j), (j, i)):
            alike = e < g.real and g.variables[e].form == g.variables[a].form
            if alike and (e != other or g.variables[e].noise == 0):
                return self.entry(before, e, other) * noise / pivot
        return None

    def _symbol(self, given: Conditions, i: int, j: int) -> sp.Symbol:
        def label(k: int) -> str:
            g = self.g
            if k < g.real:
                return g.variables[k].label
            return ("m" if k == g.real else "mi") + self._mark

        condition = "_".join(label(k) for k in given)
        name = f"c_{label(i)}_{label(j)}_given_{condition}"
        return (
            sp.Symbol(name, positive=True) if i == j < self.g.real else sp.Symbol(name, real=True)
        )

    def weight(self, weight: Weight, symbolic: dict[int, sp.Expr], given: Conditions) -> sp.Expr:
        def value(entry: Entry) -> sp.Expr:
            if entry[0] == "s":
                return sp.sign(symbolic[int(str(entry[1]))])
            given = entry[1]
            assert isinstance(given, tuple)
            i, k = int(str(entry[2])), int(str(entry[3]))
            return self.entry(given, i, k if entry[0] == "c" else self.g.real + k)

        return sp.Add(
            *(
                sp.Rational(c.numerator, c.denominator)
                * sp.Mul(*(value(e) ** p for e, p in monomial))
                for monomial, c in weight.items()
            )
        )

    def correlation(self, given: Conditions, i: int, j: int) -> sp.Expr:
        variances = self.entry(given, i, i) * self.entry(given, j, j)
        return self.entry(given, i, j) / sp.sqrt(variances)

    def standard_mean(self, given: Conditions, i: int, row: int) -> sp.Expr:
        return self.entry(given, i, row) / sp.sqrt(self.entry(given, i, i))

    def slope(self, given: Conditions, i: int, j: int, row: int) -> sp.Expr:
        mean_i, mean_j = self.entry(given, i, row), self.entry(given, j, row)
        cross, variance = self.entry(given, i, j), self.entry(given, i, i)
        return (mean_j * variance - cross * mean_i) / (mean_i * self._minor_root(given, i, j))

    def tangent(self, given: Conditions, i: int, j: int) -> sp.Expr:
        return self.entry(given, i, j) / self._minor_root(given, i, j)

    def _minor_root(self, given: Conditions, i: int, j: int) -> sp.Expr:
        cross = self.entry(given, i, j)
        return sp.sqrt(self.entry(given, i, i) * self.entry(given, j, j) - cross**2)

    def density(self, given: Conditions) -> tuple[sp.Expr, sp.Expr]:
        g = self.g
        size = (2 * sp.pi) ** sp.Rational(-len(given), 2)
        for k, a in enumerate(given):
            size /= sp.sqrt(self.entry(given[:k], a, a))
        real, imaginary = g.real, g.imaginary
        exponent = self.entry(given, real, real) - self.entry(given, imaginary, imaginary)
        return size * sp.exp(exponent / 2), self.entry(given, real, imaginary)
