"""The register of the names of a system: what every symbol in its expressions stands for."""

from __future__ import annotations

import difflib
import keyword
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import sympy as sp

from symderiv.foundation.errors import InputError
from symderiv.statement.indicators import without_pieces
from symderiv.statement.vector_expressions import Atom, Episode, FreshInput, SlowVector


@dataclass(frozen=True)
class Field:
    """The field w·ξ/√N of a slow vector and a fresh input."""

    vector: SlowVector
    input: FreshInput


@dataclass(frozen=True)
class Overlap:
    """The overlap w·v/N of two slow vectors, in the order of their declaration."""

    first: SlowVector
    second: SlowVector


@dataclass(frozen=True)
class Size:
    """The inner product ξ·ξ' of two fresh inputs of a step, of order N where they correlate."""

    first: FreshInput
    second: FreshInput


@dataclass(frozen=True)
class Latent:
    """A fresh scalar of every step.

    Args:
        name: Its name.
        law: ``"gaussian"``, or pairs of value and probability.
    """

    name: str
    law: str | tuple[tuple[sp.Expr, Fraction], ...]

    @property
    def values(self) -> tuple[tuple[sp.Expr, Fraction], ...]:
        """Values and probabilities; empty for a Gaussian latent."""
        return () if isinstance(self.law, str) else self.law


@dataclass(frozen=True)
class LearningTime:
    """The time α, steps over N; the number of steps if these are batches of cN examples."""


@dataclass(frozen=True)
class Mean:
    """An average over a fresh example at the present state, a number that changes slowly.

    Args:
        expression: The averaged expression.
    """

    expression: sp.Expr


Meaning = Field | Overlap | Size | Latent | LearningTime | Mean


class Symbols:
    """The meanings of the symbols of a system; entries are added as expressions are built and never
    changed.
    """

    def __init__(self) -> None:
        self._taken: dict[str, str] = {}
        self._order: dict[str, int] = {}
        self._atoms: dict[str, Atom] = {}
        self.meaning: dict[sp.Symbol, Meaning] = {}
        self.scalars: dict[sp.Symbol, str] = {}
        self.parameters: dict[sp.Symbol, sp.Expr] = {}

    def take(self, name: Any, what: str) -> str:
        """Reserve a name for a vector, an input, a scalar, a latent or a parameter.

        Raises:
            InputError: The name is not an identifier, is taken, or is reserved.
        """
        if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name):
            raise InputError(
                f"{name!r} is not a valid name; use letters, digits and _, and begin with a letter"
            )
        if keyword.iskeyword(name) or "__" in name or name in ("pi", "E", "I"):
            raise InputError(f"{name!r} cannot be the name of {what}; choose another")
        if name in self._taken:
            raise InputError(f"{name!r} is the name of {self._taken[name]} already; choose another")
        self._taken[name] = what
        return name

    def knows(self, name: str) -> bool:
        """Return whether a name is taken."""
        return name in self._taken

    def declared(self, vectors: Iterable[SlowVector]) -> None:
        """Record the order of declaration of vectors."""
        for vector in vectors:
            self._order[vector.name] = len(self._order)
            self._atoms[vector.name] = vector

    def place(self, vector: SlowVector) -> int:
        """Return the place of a vector in the order of declaration."""
        return self._order[vector.name]

    def product(self, first: Atom, second: Atom) -> sp.Symbol:
        """Return the symbol of the inner product of two atoms of vector expressions."""
        if isinstance(first, FreshInput) and isinstance(second, FreshInput):
            one, two = sorted((first, second), key=lambda each: each.name)
            return self._symbol(f"n__{one.name}__{two.name}", Size(one, two))
        if isinstance(first, FreshInput):
            first, second = second, first
        assert isinstance(first, SlowVector)
        if isinstance(second, FreshInput):
            return self._symbol(f"h__{first.name}__{second.name}", Field(first, second))
        if self.place(second) < self.place(first):
            first, second = second, first
        return self._symbol(f"q__{first.name}__{second.name}", Overlap(first, second))

    def _symbol(self, name: str, meaning: Field | Overlap | Size) -> sp.Symbol:
        symbol = sp.Symbol(name, real=True)
        self.meaning.setdefault(symbol, meaning)
        return symbol

    def recalled(self, name: str) -> None:
        """Recreate the symbol of an inner product, or of time, from its name.

        Names are those that :meth:`product` gives, and ``alpha`` if nothing else has that name;
        other names are ignored.
        """
        if name == "alpha" and name not in self._taken:
            self.time()
        kind, *parts = name.split("__")
        if kind not in ("h", "q", "n") or len(parts) != 2:
            return
        atoms = [self._atoms.get(part) for part in parts]
        if atoms[0] is not None and atoms[1] is not None:
            self.product(atoms[0], atoms[1])

    def known(self, atoms: Iterable[Atom]) -> None:
        """Register inputs and vectors by name."""
        self._atoms |= {atom.name: atom for atom in atoms}

    def latent(self, latent: Latent) -> sp.Symbol:
        """Return the symbol of a latent."""
        symbol = sp.Symbol(latent.name, real=True)
        self.meaning[symbol] = latent
        return symbol

    def time(self) -> sp.Symbol:
        """Return the symbol of time."""
        symbol = sp.Symbol("alpha", real=True)
        if not isinstance(self.meaning.get(symbol), LearningTime):
            self.take(symbol.name, "time")
            self.meaning[symbol] = LearningTime()
        return symbol

    def average(self, expression: sp.Expr) -> sp.Symbol:
        """Return the symbol of an average, the same one for the same expression."""
        known = self.of(Mean)
        for symbol, mean in known.items():
            if mean.expression == expression:
                return symbol
        symbol = sp.Symbol(f"average__{len(known) + 1}", real=True)
        self.meaning[symbol] = Mean(expression)
        return symbol

    def of_one(self, expression: sp.Expr) -> sp.Expr:
        """Return an expression with examples of episodes replaced by their first copies."""
        for atom in self._atoms.values():
            if isinstance(atom, Episode):
                expression = self.in_copy(expression, atom, atom.copies[0])
        return expression

    def in_copy(self, expression: sp.Expr, episode: Episode, copy: FreshInput) -> sp.Expr:
        """Return an expression with the example of an episode replaced by one of its copies."""
        renamed: dict[sp.Symbol, sp.Symbol] = {}
        for symbol in expression.free_symbols:
            meaning = self.meaning.get(symbol)
            if isinstance(meaning, Field):
                renamed[symbol] = self.product(meaning.vector, episode.in_copy(meaning.input, copy))
            if isinstance(meaning, Size):
                one, two = (episode.in_copy(each, copy) for each in vars(meaning).values())
                renamed[symbol] = self.product(one, two)
        return expression.xreplace(renamed)

    def checked(self, expression: sp.Expr, where: str) -> sp.Expr:
        """Return the expression, with steps in place of ``Piecewise``, if all its symbols are
        known.

        Raises:
            InputError: A symbol is unknown (the message offers the nearest name), or an example of
                an episode occurs outside of its sum, mean or all.
        """
        for symbol in sorted(expression.free_symbols, key=str):
            meaning = self.meaning.get(symbol)
            inputs = (
                (meaning.input,)
                if isinstance(meaning, Field)
                else (meaning.first, meaning.second)
                if isinstance(meaning, Size)
                else ()
            )
            for each in inputs:
                if isinstance(each, Episode):
                    raise InputError(
                        f"{where}: {each.name} is an example of an episode; write "
                        f"{each.name}.sum(…), {each.name}.mean(…) or {each.name}.all(…)"
                    )
            if meaning is None and symbol not in self.scalars and symbol not in self.parameters:
                known = [str(s) for s in (*self.scalars, *self.parameters, *self.meaning)]
                near = difflib.get_close_matches(str(symbol), known, 1)
                hint = f"; did you mean {near[0]}?" if near else ""
                raise InputError(f"{where}: the symbol {symbol} was not declared{hint}")
        return without_pieces(expression)

    def in_terms_of(self, expression: sp.Expr, target: SlowVector | sp.Symbol) -> bool:
        """Return whether an expression depends on a vector or a scalar, not through averages."""
        if isinstance(target, sp.Symbol):
            return target in expression.free_symbols
        meanings = map(self.meaning.get, expression.free_symbols)
        return any(
            isinstance(each, Field | Overlap) and target in vars(each).values() for each in meanings
        )

    def is_random(self, symbol: sp.Symbol) -> bool:
        """Return whether a symbol differs from example to example."""
        return isinstance(self.meaning.get(symbol), Field | Latent | Size)

    def of(self, kind: type) -> Mapping[sp.Symbol, Any]:
        """Return the symbols of one kind with their meanings."""
        return {symbol: each for symbol, each in self.meaning.items() if isinstance(each, kind)}
