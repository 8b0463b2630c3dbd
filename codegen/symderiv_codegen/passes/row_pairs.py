"""The first two rows of a sum over tables as one list of pairs, for the innermost loop.

A table has few rows, and short loops are not vectorised; a list of all pairs of rows is long. If
the two rows may be exchanged, each pair is listed once with weight two.
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
    """A symmetry under exchange of two rows, which holds if pairs of arguments are equal.

    ``same`` is one if they are equal, and zero otherwise.
    """

    same: sp.Symbol
    equal: Equal

    def front(self) -> list[Node]:
        """Return the test of the symmetry before the loops."""
        equal = sp.And(*(sp.Eq(*pair) for pair in self.equal))
        decided = Conditional(((equal, (Increase(self.same, sp.Integer(1)),)),))
        return [Start(self.same), decided]

    def halved(self, loop: Loop, first: sp.Symbol) -> Loop:
        """Return the loop over the second row, starting at the first row if the symmetry holds."""
        return replace(loop, start=first * self.same)

    def weight(self, first: sp.Symbol, second: sp.Symbol) -> sp.Expr:
        """Return the multiplicity of a pair: two off the diagonal if the symmetry holds."""
        return 1 + self.same * (1 - sp.KroneckerDelta(first, second))


def exchange(equal: Equal, names: NamePool) -> Exchange | None:
    """Return the symmetry under exchange of two rows; None if there never is one."""
    return Exchange(sp.Symbol(names.take("same"), integer=True), equal) if equal else None


@dataclass(frozen=True)
class Pairs:
    """A list of pairs of rows.

    Attributes:
        rows: The two rows.
        exchange: The symmetry under their exchange, if any.
        lists: Entries of the rows, each with the array of its values for all pairs.
        weights: The symbol and the array of multiplicities of the pairs.
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
    """Return a term whose last row is the list of its first two rows, and the list.

    Terms of up to three rows are fast and stay unchanged.
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
