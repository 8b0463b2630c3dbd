"""Sums over tables as loops.

If the first two rows form a list of pairs and the next two may be exchanged, pairs of these are not
computed twice either: the second loop then begins at the index of the first one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import sympy as sp

from symderiv_codegen.ir.arrays import Array
from symderiv_codegen.ir.loops import Increase, Loop, Node, Set, Start
from symderiv_codegen.ir.names import NamePool
from symderiv_codegen.ir.walk import range_symbol
from symderiv_codegen.passes.row_pairs import exchange
from symderiv_codegen.passes.table_loops import Later, Level, TableNest


@dataclass(frozen=True)
class TableCode:
    """The body of a function: its nodes, their local arrays, and the returned total."""

    nodes: tuple[Node, ...]
    arrays: tuple[Array, ...]
    total: sp.Symbol


def table_nodes(nests: Sequence[TableNest], names: NamePool) -> TableCode:
    """Return the nodes of the nests of one function, one after the other; ``total`` is their sum.

    Args:
        nests: The result of :func:`symderiv_codegen.passes.table_loops.table_nests`.
        names: The register that contains their names.
    """
    total = sp.Symbol(names.take("total"), real=True)
    longest = max((_loops(nest) for nest in nests), default=0)
    # Successive loops may share an index, but successive sums need different names.
    indices = tuple(sp.Symbol(names.take(f"k{n + 1}"), integer=True) for n in range(longest))
    arrays: list[Array] = []
    nodes: list[Node] = [Start(total)]
    for nest in nests:
        body = _NestNodes(nest, indices, names)
        arrays += body.arrays
        nodes += [*body.front(), *body.level(0, total)]
    return TableCode(tuple(nodes), tuple(arrays), total)


class _NestNodes:
    """The loops of one nest."""

    def __init__(self, nest: TableNest, indices: tuple[sp.Symbol, ...], names: NamePool) -> None:
        self._nest = nest
        self._rows = nest.term.rows
        self._indices = indices
        self._names = names
        self._exchange = None
        if nest.pairs is not None:
            self._of_pairs, self._indices = indices[:2], indices[2 : _loops(nest)]
            self._indices += (sp.Symbol(names.take("pair"), integer=True),)
            if nest.term.exchangeable:
                self._exchange = exchange(nest.term.exchangeable[0], names)
        # The later loops over which each array runs, by its symbol.
        self._later = {symbol: later for level in nest.levels for symbol, later, _ in level.rows}
        self._kept = {symbol for level in nest.levels for symbol in _kept(nest, level)}
        self.arrays = [
            Array(symbol.name, tuple(self._rows[number - 1].size for number in later))
            for symbol, later in self._later.items()
            if symbol in self._kept
        ]
        self.arrays += nest.pairs.arrays if nest.pairs is not None else []

    def front(self) -> list[Node]:
        """Return the nodes before the loops: the test of the symmetry, and the list of pairs."""
        decided = self._exchange.front() if self._exchange is not None else []
        pairs = self._nest.pairs
        return [*decided, *(pairs.filled(*self._of_pairs) if pairs is not None else [])]

    def level(self, number: int, target: sp.Symbol) -> list[Node]:
        """Return the computations inside of ``number`` loops, which add the sum over the rest to
        ``target``.
        """
        level = self._nest.levels[number]
        current = {symbol for symbol, later in self._later.items() if max(later) <= number}
        nodes: list[Node] = [
            Set(symbol, self._with_rows(expression, current))
            for symbol, expression in level.scalars
        ]
        found = sorted({later for _, later, _ in level.rows}, key=lambda each: (len(each), each))
        nodes += [self._filled(level, later) for later in found]
        factor = self._with_rows(level.factor, current)
        if number == len(self._rows):
            return [*nodes, Increase(target, factor)]
        inner = sp.Symbol(self._names.take(f"sum_{number + 1}"), real=True)
        reads = self._reads(number + 1, _used_inside(self._nest, number + 1))
        body = (*reads, *self.level(number + 1, inner))
        loop = self._over(number + 1, body)
        if self._exchange is not None and number == 1:
            loop = self._exchange.halved(loop, self._index(1))
        nodes += [Start(inner), loop]
        if self._exchange is not None and number == 2:
            factor *= self._exchange.weight(self._index(1), self._index(2))
        return [*nodes, Increase(target, factor * inner)]

    def _filled(self, level: Level, later: Later) -> Node:
        """Return the loops that compute arrays over later loops."""
        found = [(symbol, e) for symbol, numbers, e in level.rows if numbers == later]
        used = set().union(*(e.free_symbols for _, e in found))
        known = {symbol for symbol in self._kept if set(self._later[symbol]) <= set(later)}
        body: list[Node] = []
        for symbol, e in found:
            target = self._element(symbol) if symbol in self._kept else symbol
            body.append(Set(target, self._with_rows(e, known)))
        for number in reversed(later):
            body = [self._over(number, [*self._reads(number, used), *body])]
        return body[0]

    def _with_rows(self, expression: sp.Expr, rows: set[sp.Symbol]) -> sp.Expr:
        """Return the expression with array elements in place of the symbols of arrays."""
        used = expression.free_symbols & rows
        return expression.xreplace({symbol: self._element(symbol) for symbol in used})

    def _element(self, symbol: sp.Symbol) -> sp.Indexed:
        return sp.IndexedBase(symbol.name)[tuple(map(self._index, self._later[symbol]))]

    def _index(self, number: int) -> sp.Symbol:
        return self._indices[number - 1]

    def _over(self, number: int, body: Sequence[Node]) -> Loop:
        pairs = self._nest.pairs
        if pairs is not None and number == len(self._rows):
            return Loop(self._index(number), sp.Integer(0), pairs.count, tuple(body), pairs.most)
        size = range_symbol(self._rows[number - 1].size)
        return Loop(self._index(number), sp.Integer(0), size, tuple(body))

    def _reads(self, number: int, used: set[sp.Symbol]) -> list[Node]:
        return [
            Set(symbol, sp.IndexedBase(table)[self._index(number)])
            for symbol, table in self._rows[number - 1].entries
            if symbol in used
        ]


def _loops(nest: TableNest) -> int:
    """Return the number of rows that are summed over."""
    return len(nest.term.rows) + (nest.pairs is not None)


def _kept(nest: TableNest, level: Level) -> set[sp.Symbol]:
    """Return the arrays of a level that are read outside of the loop that computes them."""
    read: set[sp.Symbol] = set()
    for other in nest.levels:
        read |= other.factor.free_symbols
        read |= set().union(*(e.free_symbols for _, e in other.scalars))
    kept = set()
    for symbol, later, _ in level.rows:
        elsewhere = [
            e
            for other in nest.levels
            for _, number, e in other.rows
            if other is not level or number != later
        ]
        if symbol in read.union(*(e.free_symbols for e in elsewhere)):
            kept.add(symbol)
    return kept


def _used_inside(nest: TableNest, number: int) -> set[sp.Symbol]:
    """Return symbols that statements inside of ``number`` loops read as scalars."""
    found: set[sp.Symbol] = set()
    for level in nest.levels[number:]:
        found |= level.factor.free_symbols
        found |= set().union(*(e.free_symbols for _, e in level.scalars))
        found |= set().union(*(e.free_symbols for _, _, e in level.rows))
    return found
