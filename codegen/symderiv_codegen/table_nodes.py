"""Sums over tables as loops."""

from __future__ import annotations

from collections.abc import Sequence

import sympy as sp

from symderiv_codegen.loops import Increase, Loop, Node, Set
from symderiv_codegen.program import Array
from symderiv_codegen.table_loops import Level, TableNest
from symderiv_codegen.tables import Row
from symderiv_codegen.walk import range_symbol

TOTAL = sp.Symbol("total", real=True)


def table_nodes(nests: Sequence[TableNest]) -> tuple[tuple[Node, ...], list[Array]]:
    """The nests of one function, one after the other; their sum goes to ``TOTAL``.

    Returns:
        The loops, and the local arrays that they need.
    """
    arrays = []
    nodes: list[Node] = [Set(TOTAL, sp.Integer(0))]
    for nest in nests:
        kept = {symbol for level in nest.levels for symbol in _kept(nest, level)}
        for symbol, later, _ in _all_rows(nest):
            if symbol in kept:
                arrays.append(Array(symbol.name, (nest.term.rows[later - 1].size,)))
        nodes += _level(nest, 0, TOTAL)
    return tuple(nodes), arrays


def _level(nest: TableNest, number: int, target: sp.Symbol) -> list[Node]:
    """The computations inside of ``number`` loops; the sum over the rest goes to ``target``."""
    level = nest.levels[number]
    rows = nest.term.rows
    current = {symbol for symbol, later, _ in _all_rows(nest) if later <= number}
    nodes: list[Node] = [
        Set(symbol, _with_rows(expression, current, nest)) for symbol, expression in level.scalars
    ]
    nodes += [_rows(nest, level, later) for later in sorted({later for _, later, _ in level.rows})]
    factor = _with_rows(level.factor, current, nest)
    if number == len(rows):
        return [*nodes, Increase(target, factor)]
    inner = sp.Symbol(f"sum_{number + 1}", real=True)
    used = _used_inside(nest, number + 1)
    body = (*_reads(rows[number], number + 1, used), *_level(nest, number + 1, inner))
    nodes += [Set(inner, sp.Integer(0)), _over(rows[number], number + 1, body)]
    return [*nodes, Increase(target, factor * inner)]


def _rows(nest: TableNest, level: Level, later: int) -> Loop:
    """Values for all rows of a later loop."""
    found = [(symbol, e) for symbol, number, e in level.rows if number == later]
    row = nest.term.rows[later - 1]
    used = set().union(*(e.free_symbols for _, e in found))
    kept = {symbol for each in nest.levels for symbol in _kept(nest, each)}
    known = {s for s, number, _ in _all_rows(nest) if number == later and s in kept}
    body = _reads(row, later, used)
    for symbol, e in found:
        target = sp.IndexedBase(symbol.name)[_index(later)] if symbol in kept else symbol
        body.append(Set(target, _with_rows(e, known, nest)))
    return _over(row, later, body)


def _with_rows(expression: sp.Expr, rows: set[sp.Symbol], nest: TableNest) -> sp.Expr:
    """The expression with elements of arrays in the place of the rows' symbols."""
    numbers = {symbol: later for symbol, later, _ in _all_rows(nest)}
    return expression.xreplace(
        {
            symbol: sp.IndexedBase(symbol.name)[_index(numbers[symbol])]
            for symbol in expression.free_symbols & rows
        }
    )


def _index(number: int) -> sp.Symbol:
    return sp.Symbol(f"k{number}", integer=True)


def _over(row: Row, number: int, body: Sequence[Node]) -> Loop:
    return Loop(_index(number), sp.Integer(0), range_symbol(row.size), tuple(body))


def _reads(row: Row, number: int, used: set[sp.Symbol]) -> list[Node]:
    return [
        Set(symbol, sp.IndexedBase(table)[_index(number)])
        for symbol, table in row.entries
        if symbol in used
    ]


def _all_rows(nest: TableNest) -> list[tuple[sp.Symbol, int, sp.Expr]]:
    return [row for level in nest.levels for row in level.rows]


def _kept(nest: TableNest, level: Level) -> set[sp.Symbol]:
    """The rows of a level that are read outside of the loop that computes them."""
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
    """Symbols that statements inside of ``number`` loops read as scalars."""
    found: set[sp.Symbol] = set()
    for level in nest.levels[number:]:
        found |= level.factor.free_symbols
        found |= set().union(*(e.free_symbols for _, e in level.scalars))
        found |= set().union(*(e.free_symbols for _, _, e in level.rows))
    return found
