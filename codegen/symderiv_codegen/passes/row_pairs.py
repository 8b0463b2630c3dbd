"""The first two rows of a sum over tables as one list of pairs, for the innermost loop.

A table has few rows, and loops of few turns do not become vector instructions; a list of all pairs
of rows is long. Where the two rows may be exchanged, pairs that differ by that are listed once and
stand for two.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import sympy as sp

from symderiv_codegen.ir.arrays import Array
from symderiv_codegen.ir.loops import Conditional, Increase, Loop, Node, Set, Start
from symderiv_codegen.ir.names import NamePool
from symderiv_codegen.ir.tables import Row, TableTerm
from symderiv_codegen.ir.walk import range_symbol

Equal = tuple[tuple[sp.Symbol, sp.Symbol], ...]
"""Pairs of arguments."""


@dataclass(frozen=True)
class Exchange:
    """Two rows that may be exchanged where arguments are equal.

    ``same`` is one there, and zero elsewhere.
    """

    same: sp.Symbol
    equal: Equal

    def front(self) -> list[Node]:
        """Return what is decided before the loops."""
        equal = sp.And(*(sp.Eq(*pair) for pair in self.equal))
        decided = Conditional(((equal, (Increase(self.same, sp.Integer(1)),)),))
        return [Start(self.same), decided]

    def halved(self, loop: Loop, first: sp.Symbol) -> Loop:
        """Return the loop over the second row, from the first row on where they are the same."""
        return replace(loop, start=first * self.same)

    def weight(self, first: sp.Symbol, second: sp.Symbol) -> sp.Expr:
        """Return how many pairs of rows one stands for: two apart from the diagonal."""
        return 1 + self.same * (1 - sp.KroneckerDelta(first, second))


def exchange(equal: Equal, names: NamePool) -> Exchange | None:
    """Return how two rows may be exchanged; None if they never may."""
    return Exchange(sp.Symbol(names.take("same"), integer=True), equal) if equal else None


@dataclass(frozen=True)
class Pairs:
    """A list of pairs of rows.

    Attributes:
        rows: The two rows.
        exchange: How they may be exchanged.
        lists: Entries of the rows, each with the array that has it for every pair.
        weights: The array of how many pairs of rows each stands for, and the symbol for that.
        count: The number of pairs.
    """

    rows: tuple[Row, Row]
    exchange: Exchange | None
    lists: tuple[tuple[sp.Symbol, str], ...]
    weights: tuple[sp.Symbol, str] | None
    count: sp.Symbol

    @property
    def row(self) -> Row:
        """The list as a row of tables, with room for all pairs."""
        room = " * ".join(row.size for row in self.rows)
        return Row(room, (*self.lists, *([self.weights] if self.weights else [])))

    @property
    def most(self) -> sp.Expr:
        """The number of all pairs."""
        return sp.Mul(*(range_symbol(row.size) for row in self.rows))

    @property
    def arrays(self) -> list[Array]:
        """The arrays of the list."""
        return [Array(name, (self.row.size,)) for _, name in self.row.entries]

    def filled(self, first: sp.Symbol, second: sp.Symbol) -> list[Node]:
        """Return the loops that write the list, with their indices."""

        def over(row: Row, index: sp.Symbol, body: list[Node]) -> Loop:
            listed = dict(self.lists)
            reads = [
                Set(symbol, sp.IndexedBase(table)[index])
                for symbol, table in row.entries
                if symbol in listed
            ]
            return Loop(index, sp.Integer(0), range_symbol(row.size), (*reads, *body))

        body: list[Node] = [Set(sp.IndexedBase(name)[self.count], s) for s, name in self.lists]
        front: list[Node] = [Start(self.count)]
        if self.exchange is not None and self.weights is not None:
            amount = self.exchange.weight(first, second)
            body.append(Set(sp.IndexedBase(self.weights[1])[self.count], amount))
            front += self.exchange.front()
        inside = over(self.rows[1], second, [*body, Increase(self.count, sp.Integer(1))])
        if self.exchange is not None:
            inside = self.exchange.halved(inside, first)
        return [*front, over(self.rows[0], first, [inside])]


def paired_rows(term: TableTerm, names: NamePool) -> tuple[TableTerm, Pairs | None]:
    """Return a term with the list of its first two rows as its last row, and the list.

    Terms of up to three rows stay as they are: they take little time.
    """
    if len(term.rows) < 4:
        return term, None
    first, second, *others = term.rows
    read = set().union(*(e.free_symbols for e in term.expressions))
    lists = tuple(
        (symbol, names.take(f"listed_{symbol}"))
        for symbol, _ in (*first.entries, *second.entries)
        if symbol in read
    )
    exchanged = exchange(term.exchangeable[0], names) if term.exchangeable else None
    weights = None
    value = term.value
    if exchanged is not None:
        name = names.take("multiplicity")
        weights = (sp.Symbol(name, positive=True), names.take(f"listed_{name}"))
        value *= weights[0]
    count = sp.Symbol(names.take("pairs"), integer=True, nonnegative=True)
    pairs = Pairs((first, second), exchanged, lists, weights, count)
    rows = (*others, pairs.row)
    return replace(term, rows=rows, value=value, exchangeable=term.exchangeable[1:]), pairs
