"""The joint law of the fields of one step: which are correlated, and by which overlaps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import sympy as sp

from symderiv.statement.register import Field, Latent
from symderiv.statement.stated_problem import Inputs, Statement
from symderiv.statement.vector_expressions import FreshInput, SlowVector

__all__ = ["Covariance", "Law"]


@dataclass(frozen=True)
class Covariance:
    """The covariance Σ_k w_k ρ_k O_k of the fields of two vectors with the inputs of one name."""

    inputs: str
    first: SlowVector
    second: SlowVector


class Law:
    """The law of fields and latents of a statement.

    Fields are centred Gaussian; those of one input have the covariance of their vectors, those of
    tokens that times the correlation of the tokens; everything else is independent.
    """

    def __init__(self, statement: Statement) -> None:
        self.statement = statement
        self.symbols = statement.symbols
        self._inputs = {each.name: each for each in statement.inputs}
        #: Covariances that are no plain overlaps, by symbol.
        self.covariances: dict[sp.Symbol, Covariance] = {}

    def inputs_of(self, atom: FreshInput) -> Inputs:
        """Return the inputs that a token or copy belongs to."""
        return self._inputs[atom.source]

    def correlation(self, first: FreshInput, second: FreshInput) -> sp.Expr:
        """Return the correlation of two inputs of a step, coordinate by coordinate."""
        if first.source != second.source:
            return sp.S.Zero
        if first is second:
            return sp.S.One
        inputs = self._inputs[first.source]
        if inputs.episode or inputs.correlation is None:
            return sp.S.Zero
        return inputs.correlation[first.position, second.position]

    def trace(self, inputs: str) -> sp.Expr:
        """Return the mean eigenvalue of an input covariance, tr Ω/N."""
        if self.isotropic(inputs):
            return sp.S.One
        return sp.Symbol(f"trace__{inputs}", positive=True)

    def isotropic(self, inputs: str) -> bool:
        """Return whether the inputs have the covariance 1."""
        return bool(getattr(self._inputs[inputs].model, "model", "") == "isotropic")

    def covariance_of_vectors(
        self, inputs: str, first: SlowVector, second: SlowVector
    ) -> sp.Symbol:
        """Return the covariance of w·ξ/√N and v·ξ/√N: the overlap itself for isotropic inputs."""
        if self.isotropic(inputs):
            return self.symbols.product(first, second)
        if self.symbols.place(second) < self.symbols.place(first):
            first, second = second, first
        symbol = sp.Symbol(f"c__{inputs}__{first.name}__{second.name}", real=True)
        self.covariances[symbol] = Covariance(inputs, first, second)
        return symbol

    def covariance(self, first: sp.Symbol, second: sp.Symbol) -> sp.Expr:
        """Return the covariance of two Gaussian symbols."""
        one, two = self.symbols.meaning[first], self.symbols.meaning[second]
        if isinstance(one, Latent) or isinstance(two, Latent):
            return sp.Integer(first == second)
        assert isinstance(one, Field)
        assert isinstance(two, Field)
        correlation = self.correlation(one.input, two.input)
        if correlation == 0:
            return sp.S.Zero
        return correlation * self.covariance_of_vectors(one.input.source, one.vector, two.vector)

    def moments(self, forms: Sequence[sp.Expr]) -> tuple[list[list[sp.Expr]], list[sp.Expr]]:
        """Return the covariance matrix and the means of affine combinations of fields."""
        fields = [self.gaussian(form) for form in forms]
        means = [
            form.xreplace(dict.fromkeys(own, sp.S.Zero))
            for form, own in zip(forms, fields, strict=True)
        ]
        slopes = [[sp.diff(form, s) for s in own] for form, own in zip(forms, fields, strict=True)]
        size = len(forms)
        matrix = [[sp.S.Zero] * size for _ in range(size)]
        for i in range(size):
            for j in range(i, size):
                matrix[i][j] = matrix[j][i] = sp.Add(
                    *(
                        a * b * self.covariance(s, t)
                        for s, a in zip(fields[i], slopes[i], strict=True)
                        for t, b in zip(fields[j], slopes[j], strict=True)
                    )
                )
        return matrix, means

    def gaussian(self, expression: sp.Expr) -> list[sp.Symbol]:
        """Return the Gaussian symbols of an expression, in the order of their names."""
        return sorted(
            (s for s in expression.free_symbols if self.is_gaussian(s)), key=lambda s: str(s.name)
        )

    def is_gaussian(self, symbol: sp.Symbol) -> bool:
        """Return whether a symbol is a field or a Gaussian latent."""
        meaning = self.symbols.meaning.get(symbol)
        return isinstance(meaning, Field) or (
            isinstance(meaning, Latent) and meaning.law == "gaussian"
        )

    def finite_latents(self, expression: sp.Expr) -> list[tuple[sp.Symbol, Latent]]:
        """Return the latents with finitely many values in an expression."""
        found = []
        for symbol in sorted(expression.free_symbols, key=str):
            meaning = self.symbols.meaning.get(symbol)
            if isinstance(meaning, Latent) and meaning.law != "gaussian":
                found.append((symbol, meaning))
        return found

    def blocks(self, symbols: Iterable[sp.Symbol]) -> list[set[sp.Symbol]]:
        """Return the symbols in sets that are independent of each other."""
        found: dict[tuple[str, int], set[sp.Symbol]] = {}
        for symbol in symbols:
            found.setdefault(self.block(symbol), set()).add(symbol)
        return list(found.values())

    def block(self, symbol: sp.Symbol) -> tuple[str, int]:
        """Return the name of the independent set that a Gaussian symbol belongs to."""
        meaning = self.symbols.meaning[symbol]
        if isinstance(meaning, Latent):
            return meaning.name, -1
        assert isinstance(meaning, Field)
        atom = meaning.input
        inputs = self._inputs[atom.source]
        if inputs.correlation is None:
            return atom.source, inputs.atoms.index(atom)
        return atom.source, _component(inputs.correlation, atom.position)


def _component(correlation: sp.ImmutableMatrix, start: int) -> int:
    """Return the smallest token that is connected to one by correlations that are not zero."""
    seen, pending = {start}, [start]
    while pending:
        row = pending.pop()
        for other in range(correlation.rows):
            if other not in seen and correlation[row, other] != 0:
                seen.add(other)
                pending.append(other)
    return min(seen)
