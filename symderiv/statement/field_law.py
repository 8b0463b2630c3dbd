"""The joint law of the fields of one step: which are correlated, and their covariances."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import sympy as sp

from symderiv.foundation.errors import NotClosed
from symderiv.statement.register import Field, Latent, LearningTime, Overlap, Symbols
from symderiv.statement.stated_problem import Inputs, StatedChange, Statement
from symderiv.statement.vector_expressions import FreshInput, SlowVector


@dataclass(frozen=True)
class VectorCovariance:
    """The covariance Σ_k w_k ρ_k O_k of the fields of two vectors with the inputs of one name.

    With several names, ρ_k is the product of their eigenvalues.
    """

    inputs: tuple[str, ...]
    first: SlowVector
    second: SlowVector


@dataclass(frozen=True)
class Case:
    """One combination of components of those inputs that are mixtures.

    Args:
        probability: The probability of the combination; 1 where no inputs are mixtures.
        symbols: The register.
        atoms: The inputs of the components by the mixtures that they replace.
    """

    probability: sp.Expr
    symbols: Symbols
    atoms: Mapping[FreshInput, FreshInput] = field(default_factory=dict)

    def of(self, expression: sp.Expr) -> sp.Expr:
        """Return an expression with the fields of mixtures replaced by those of the components."""
        renamed: dict[sp.Symbol, sp.Symbol] = {}
        for symbol in expression.free_symbols if self.atoms else ():
            meaning = self.symbols.meaning.get(symbol)
            if isinstance(meaning, Field) and meaning.input in self.atoms:
                renamed[symbol] = self.symbols.product(meaning.vector, self.atoms[meaning.input])
        return expression.xreplace(renamed)

    def change(self, change: StatedChange) -> StatedChange:
        """Return a change with the inputs of mixtures replaced by those of the components."""
        inputs = {self.atoms.get(atom, atom): self.of(f) for atom, f in change.inputs.items()}
        return StatedChange(inputs, {v: self.of(g) for v, g in change.vectors.items()})


class FieldLaw:
    """The law of fields and latents of a statement.

    Fields are centred Gaussian; those of one input have the covariance of their vectors, those of
    tokens that times the correlation of the tokens; everything else is independent. Mixtures are
    Gaussian given their component; components are inputs of their own, named by the mixture, two
    underscores and a number.
    """

    def __init__(self, statement: Statement) -> None:
        self.statement = statement
        self.symbols = statement.symbols
        self._inputs = {each.name: each for each in statement.inputs}
        #: Components of mixtures, with their probabilities, by name.
        self.mixtures = {
            each.name: components for each in statement.inputs if (components := _components(each))
        }
        for parts in self.mixtures.values():
            self._inputs |= {part.name: part for _, part in parts}
        #: Arguments of jumps in time by their symbols, which are 1 after and 0 before the jump.
        self.jumps: dict[sp.Symbol, sp.Expr] = {}
        #: Covariances that are not overlaps themselves, by symbol.
        self.covariances: dict[sp.Symbol, VectorCovariance] = {}

    def with_inputs(self, statement: Statement) -> FieldLaw:
        """Return the law for inputs with other models of the same kinds; none may be a mixture."""
        law = copy.copy(self)
        law.statement = statement
        law._inputs = {each.name: each for each in statement.inputs}
        return law

    @property
    def gaussian_inputs(self) -> tuple[Inputs, ...]:
        """The Gaussian inputs, with components in place of mixtures."""
        return tuple(each for name, each in self._inputs.items() if name not in self.mixtures)

    @cached_property
    def cases(self) -> tuple[Case, ...]:
        """The combinations of components of all mixtures."""
        cases = []
        for parts in itertools.product(*self.mixtures.values()):
            atoms: dict[FreshInput, FreshInput] = {}
            for name, (_, part) in zip(self.mixtures, parts, strict=True):
                atoms |= dict(zip(self._inputs[name].atoms, part.atoms, strict=True))
            cases.append(Case(sp.Mul(*(p for p, _ in parts)), self.symbols, atoms))
        return tuple(cases)

    def timed(self, expression: sp.Expr) -> sp.Expr:
        """Return an expression with a symbol for every jump in time; integration stops at these
        times.

        Raises:
            NotClosed: It jumps at a time that is not the root of a linear equation.
        """
        named: dict[sp.Expr, sp.Expr] = {}
        for jump in expression.atoms(sp.Heaviside, sp.sign):
            place = jump.args[0]
            times = [s for s in place.free_symbols if self.is_time(s)]
            if not times or place.free_symbols - set(self.symbols.parameters) - set(times):
                continue
            if sp.diff(place, times[0], 2) != 0:
                raise NotClosed(
                    f"{jump} jumps at times that no linear equation gives; write it as steps "
                    "Heaviside(P.alpha - a)",
                    average=str(jump),
                    statement=str(expression),
                )
            known = {value: symbol for symbol, value in self.jumps.items()}
            symbol = known.get(place, sp.Symbol(f"after__{len(self.jumps) + 1}", real=True))
            self.jumps[symbol] = place
            named[jump] = symbol if isinstance(jump, sp.Heaviside) else 2 * symbol - 1
        return expression.xreplace(named)

    def told(self, expressions: Iterable[sp.Expr]) -> str:
        """Return a text that determines the averages of these expressions, as a cache key.

        It contains the meanings of their symbols, the correlations of inputs and the order of
        vectors, but not the values of parameters and eigenvalues.
        """
        symbols = sorted(set().union(*(e.free_symbols for e in expressions)), key=str)
        meanings = [
            (str(s), sorted(s.assumptions0.items()), self.symbols.meaning.get(s)) for s in symbols
        ]
        inputs = [
            (
                name,
                [(atom.name, atom.source, atom.position) for atom in each.atoms],
                self.isotropic(name),
                each.correlation,
            )
            for name, each in self._inputs.items()
        ]
        return repr((meanings, inputs, self.statement.vectors))

    def covariances_in(
        self, expressions: Iterable[sp.Expr]
    ) -> set[tuple[tuple[str, ...], str, str]]:
        """Return the names of inputs (none for an overlap) and vectors of each covariance in
        expressions.
        """
        pairs = set()
        for symbol in set().union(*(e.free_symbols for e in expressions)):
            of = self.covariances.get(symbol) or self.symbols.meaning.get(symbol)
            if isinstance(of, VectorCovariance | Overlap):
                names = of.inputs if isinstance(of, VectorCovariance) else ()
                pairs.add((names, of.first.name, of.second.name))
        return pairs

    def know_covariances(self, names: Iterable[tuple[tuple[str, ...], str, str]]) -> None:
        """Register the symbols of these covariances."""
        vectors = {vector.name: vector for vector in self.statement.vectors}
        for inputs, first, second in names:
            self.covariance_of_vectors(inputs, vectors[first], vectors[second])

    def is_random(self, expression: sp.Expr) -> bool:
        """Return whether an expression depends on the example."""
        return any(map(self.symbols.is_random, expression.free_symbols))

    def is_time(self, symbol: sp.Symbol) -> bool:
        """Return whether a symbol is the time."""
        return isinstance(self.symbols.meaning.get(symbol), LearningTime)

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
        if inputs.correlation is None:
            return sp.S.Zero
        return inputs.correlation[first.position, second.position]

    def trace(self, *inputs: str) -> sp.Expr:
        """Return the mean eigenvalue tr Ω/N of the covariance of inputs, or of a product of
        several.
        """
        names = sorted(name for name in inputs if not self.isotropic(name))
        if not names:
            return sp.S.One
        return sp.Symbol(f"trace__{'__'.join(names)}", positive=True)

    def isotropic(self, inputs: str) -> bool:
        """Return whether the inputs have the covariance 1."""
        model = self._inputs[inputs].model
        return model is None or bool(getattr(model, "model", "") == "isotropic")

    def covariance_of_vectors(
        self, inputs: str | tuple[str, ...], first: SlowVector, second: SlowVector
    ) -> sp.Symbol:
        """Return the covariance of w·ξ/√N and v·ξ/√N: the overlap itself for isotropic inputs.

        Args:
            inputs: The name of inputs, or several names for a product of their eigenvalues.
            first, second: w and v.
        """
        given = (inputs,) if isinstance(inputs, str) else inputs
        names = tuple(sorted(name for name in given if not self.isotropic(name)))
        if not names:
            return self.symbols.product(first, second)
        if self.symbols.place(second) < self.symbols.place(first):
            first, second = second, first
        symbol = sp.Symbol(f"c__{'__'.join(names)}__{first.name}__{second.name}", real=True)
        self.covariances[symbol] = VectorCovariance(names, first, second)
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
        latents = []
        for symbol in sorted(expression.free_symbols, key=str):
            meaning = self.symbols.meaning.get(symbol)
            if isinstance(meaning, Latent) and meaning.law != "gaussian":
                latents.append((symbol, meaning))
        return latents

    def blocks(self, symbols: Iterable[sp.Symbol]) -> list[set[sp.Symbol]]:
        """Return the symbols grouped into mutually independent sets."""
        blocks: dict[tuple[str, int], set[sp.Symbol]] = {}
        for symbol in symbols:
            blocks.setdefault(self.block(symbol), set()).add(symbol)
        return list(blocks.values())

    def block(self, symbol: sp.Symbol) -> tuple[str, int]:
        """Return the key of the independent set that a Gaussian symbol belongs to."""
        meaning = self.symbols.meaning[symbol]
        if isinstance(meaning, Latent):
            return meaning.name, -1
        assert isinstance(meaning, Field)
        atom = meaning.input
        inputs = self._inputs[atom.source]
        if inputs.correlation is None:
            return atom.source, inputs.atoms.index(atom)
        return atom.source, _component(inputs.correlation, atom.position)


def _components(inputs: Inputs) -> tuple[tuple[sp.Expr, Inputs], ...]:
    """Return probabilities and components of a mixture; nothing for other inputs.

    Raises:
        NotClosed: The components are not Gaussian, or the inputs are examples of an episode.
    """
    if getattr(inputs.model, "model", "") != "gaussian-mixture":
        return ()
    built = inputs.model.build(Path())
    where = f'inputs("{inputs.name}")'
    if built.latent is not None and built.latent.no_equations:
        raise NotClosed(built.latent.no_equations, average="E[f(w·ξ/√N)]", statement=where)
    if inputs.episode:
        raise NotClosed(
            "the examples of an episode could belong to different components, which needs a sum "
            "over all combinations; state inputs of one component",
            average="E[∏_t F(h_t)]",
            statement=where,
        )
    parts = []
    for number, part in enumerate(built.components, start=1):
        name = f"{inputs.name}__{number}"
        model = inputs.model.of_component(part)
        atoms = tuple(
            FreshInput(atom.symbols, name, atom.position, atom.copy, f"{atom.name}__{number}")
            for atom in inputs.atoms
        )
        probability = sp.Rational(str(part.probability))
        parts.append((probability, replace(inputs, name=name, model=model, atoms=atoms)))
    return tuple(parts)


def _component(correlation: sp.ImmutableMatrix, start: int) -> int:
    """Return the smallest token connected to one by a chain of nonzero correlations."""
    seen, pending = {start}, [start]
    while pending:
        row = pending.pop()
        for other in range(correlation.rows):
            if other not in seen and correlation[row, other] != 0:
                seen.add(other)
                pending.append(other)
    return min(seen)
