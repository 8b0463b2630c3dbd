"""Averages in the coefficients of a run, as means over fresh examples at its state.

No derived equation is used: given the vectors, fields of a fresh example are Gaussian with the
covariances of the vectors, so that points of a Sobol sequence can serve as examples, the same ones
for all runs and times.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import sympy as sp

from symderiv.experiment.steps.step_chain import MarkovChain
from symderiv.formula.as_function import as_function
from symderiv.statement.field_law import Case, FieldLaw
from symderiv.statement.indicators import after_jumps
from symderiv.statement.register import Field, Latent, LearningTime, Mean, Overlap
from symderiv.statement.vector_expressions import FreshInput

EXAMPLES = 2**14
"""The number of examples in an average; errors are below a thousandth for smooth forces."""

_SEED = 21


@lru_cache(maxsize=1024)
def _function_of(expression: sp.Expr) -> tuple[list[sp.Symbol], Any]:
    """Return the symbols of an expression, and the expression as a function of them."""
    names = sorted(expression.free_symbols, key=str)
    return names, as_function(names, expression)


class FreshMeans:
    """Averages at the state of a run.

    Args:
        law: The law of the inputs.
        symbols: The averages that are wanted.
        eigenvalues: The eigenvalues of inputs that are not white, by name, shape (L,).
        parameters: The parameters by name.
    """

    def __init__(
        self,
        law: FieldLaw,
        symbols: tuple[sp.Symbol, ...],
        eigenvalues: Mapping[str, np.ndarray],
        parameters: Mapping[str, float],
    ) -> None:
        self.law, self.eigenvalues, self.parameters = law, eigenvalues, parameters
        self.symbols = symbols
        means = law.symbols.of(Mean)
        inside, left = set(symbols), list(symbols)
        while left:
            needed = {s for s in means[left.pop()].expression.free_symbols if s in means}
            left += needed - inside
            inside |= needed
        self._expressions = {symbol: means[symbol].expression for symbol in inside}
        for now in law.symbols.of(LearningTime):
            self._expressions = {s: after_jumps(e, now) for s, e in self._expressions.items()}
        used = set().union(*(each.free_symbols for each in self._expressions.values()))
        self._fields = sorted((s for s in used if s in law.symbols.of(Field)), key=str)
        self._latents = sorted((s for s in used if s in law.symbols.of(Latent)), key=str)

    @cached_property
    def _points(self) -> tuple[np.ndarray, dict[sp.Symbol, np.ndarray]]:
        """Standard normal numbers for the fields, shape (examples, F), and values of latents."""
        from scipy.special import ndtri
        from scipy.stats import qmc

        F = len(self._fields)
        sequence = qmc.Sobol(F + len(self._latents), scramble=True, seed=_SEED)
        uniform = sequence.random_base2(int(np.log2(EXAMPLES)))
        drawn: dict[sp.Symbol, np.ndarray] = {}
        for symbol, column in zip(self._latents, uniform[:, F:].T, strict=True):
            pairs = self.law.symbols.of(Latent)[symbol].values
            upto = np.cumsum([float(p) for _, p in pairs])[:-1]
            values = np.array([float(value) for value, _ in pairs])
            places = np.searchsorted(upto, column, side="right")
            drawn[symbol] = values[places] if pairs else ndtri(column)
        return ndtri(uniform[:, :F]), drawn

    def __call__(self, chain: MarkovChain) -> np.ndarray:
        """Return the averages at the state of a run, shape (averages,)."""
        gram, vectors = chain.space.overlaps(chain.vectors), chain.program.vectors
        share = chain.space.counts / chain.space.dimension
        known: dict[sp.Symbol, Any] = {}
        for symbol, meaning in self.law.symbols.of(Overlap).items():
            pair = vectors[meaning.first.name], vectors[meaning.second.name]
            known[symbol] = share @ gram[:, pair[0], pair[1]]
        known |= dict.fromkeys(self.law.symbols.of(LearningTime), chain.pace.clock * chain.made)
        for symbol in self.law.symbols.scalars:
            known[symbol] = chain.scalars[chain.program.scalars.index(str(symbol))]
        for symbol in self.law.symbols.parameters:
            known[symbol] = self.parameters[str(symbol)]
        fields = [
            (float(case.probability), self._drawn(case, chain, gram)) for case in self.law.cases
        ]

        def value(symbol: sp.Symbol) -> float:
            """Return an average, after the averages that it contains."""
            names, function = _function_of(self._expressions[symbol])
            for name in names:
                if name in self._expressions and name not in known:
                    known[name] = value(name)
            total = 0.0
            for probability, own in fields:
                at = {**known, **self._points[1], **own}
                total += probability * float(np.mean(function(*(at[name] for name in names))))
            return total

        return np.array([value(symbol) for symbol in self.symbols])

    def _drawn(
        self, case: Case, chain: MarkovChain, gram: np.ndarray
    ) -> dict[sp.Symbol, np.ndarray]:
        """Return the fields of fresh examples of one component."""
        meaning, vectors = self.law.symbols.of(Field), chain.program.vectors
        count = len(self._fields)
        covariance = np.zeros((count, count))
        for i, first in enumerate(self._fields):
            for j, second in enumerate(self._fields):
                one, two = meaning[first], meaning[second]
                weight = self._joint(case, one.input, two.input, chain)
                pair = vectors[one.vector.name], vectors[two.vector.name]
                covariance[i, j] = weight @ gram[:, pair[0], pair[1]]
        values, axes = np.linalg.eigh(covariance)
        # the first coordinates of a Sobol sequence are the most uniform ones: they get the largest
        # variances
        factor = (axes * np.sqrt(np.clip(values, 0.0, None)))[:, ::-1]
        return dict(zip(self._fields, (self._points[0] @ factor.T).T, strict=True))

    def _joint(
        self, case: Case, first: FreshInput, second: FreshInput, chain: MarkovChain
    ) -> np.ndarray:
        """Return the covariance per coordinate of two inputs times the share of N, shape (L,)."""
        share = chain.space.counts / chain.space.dimension
        if first.source != second.source:
            return 0.0 * share
        inputs = next(i for i in self.law.statement.inputs if i.name == first.source)
        correlation = float(first is second)
        if inputs.correlation is not None:
            correlation = float(inputs.correlation[first.position, second.position])
        source = case.atoms.get(first, first).source
        covariance: np.ndarray = (
            correlation * share * self.eigenvalues.get(source, np.ones(share.size))
        )
        return covariance
