"""Sums over tables as functions with loops."""

from __future__ import annotations

from collections.abc import Sequence

import sympy as sp

from symderiv_codegen.layout import INDENT, statement
from symderiv_codegen.printers.expressions import ExpressionPrinter
from symderiv_codegen.table_loops import Level, TableNest
from symderiv_codegen.tables import Row


class NestPrinter:
    """Prints the nests of one function, one after the other."""

    def __init__(self, printer: ExpressionPrinter) -> None:
        self._printer = printer

    def lines(self, nests: Sequence[TableNest]) -> list[str]:
        """The body of the function without its return statement; the result is ``total``."""
        lines = []
        for nest in nests:
            kept = {symbol for level in nest.levels for symbol in _kept(nest, level)}
            for symbol, later, _ in _all_rows(nest):
                if symbol in kept:
                    size = nest.term.rows[later - 1].size
                    lines.append(" " * INDENT + f"{symbol} = np.empty({size})")
        lines.append(" " * INDENT + "total = 0.0")
        for nest in nests:
            lines += self._level(nest, 0, INDENT, "total")
        return lines

    def _level(self, nest: TableNest, number: int, indent: int, target: str) -> list[str]:
        """The computations inside of ``number`` loops; the sum over the rest goes to ``target``."""
        level = nest.levels[number]
        rows = nest.term.rows
        current = {symbol for symbol, later, _ in _all_rows(nest) if later <= number}
        lines = [
            self._statement(f"{symbol} = ", expression, indent, current, number, nest)
            for symbol, expression in level.scalars
        ]
        for later in sorted({later for _, later, _ in level.rows}):
            lines += self._rows(nest, level, later, indent)
        pad = " " * indent
        if number == len(rows):
            lines.append(
                self._statement(f"{target} += ", level.factor, indent, current, number, nest)
            )
            return lines
        inner = f"sum_{number + 1}"
        lines.append(f"{pad}{inner} = 0.0")
        lines.append(f"{pad}for k{number + 1} in range({rows[number].size}):")
        used = _used_inside(nest, number + 1)
        lines += _reads(rows[number], number + 1, used, indent + INDENT)
        lines += self._level(nest, number + 1, indent + INDENT, inner)
        value = level.factor * sp.Symbol(inner, real=True)
        lines.append(self._statement(f"{target} += ", value, indent, current, number, nest))
        return lines

    def _rows(self, nest: TableNest, level: Level, later: int, indent: int) -> list[str]:
        """Values for all rows of a later loop."""
        found = [(symbol, e) for symbol, number, e in level.rows if number == later]
        row = nest.term.rows[later - 1]
        pad = " " * indent
        lines = [f"{pad}for k{later} in range({row.size}):"]
        used = set().union(*(e.free_symbols for _, e in found))
        lines += _reads(row, later, used, indent + INDENT)
        kept = {symbol for each in nest.levels for symbol in _kept(nest, each)}
        known = {s for s, number, _ in _all_rows(nest) if number == later and s in kept}
        for symbol, e in found:
            target = f"{symbol}[k{later}]" if symbol in kept else str(symbol)
            lines.append(self._statement(f"{target} = ", e, indent + INDENT, known, later, nest))
        return lines

    def _statement(
        self,
        head: str,
        expression: sp.Expr,
        indent: int,
        rows: set[sp.Symbol],
        number: int,
        nest: TableNest,
    ) -> str:
        numbers = {symbol: later for symbol, later, _ in _all_rows(nest)}
        replaced = {
            symbol: sp.IndexedBase(symbol.name)[sp.Symbol(f"k{numbers[symbol]}", integer=True)]
            for symbol in expression.free_symbols & rows
        }
        return statement(head, self._printer.expression(expression.xreplace(replaced)), indent)


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


def _reads(row: Row, number: int, used: set[sp.Symbol], indent: int) -> list[str]:
    return [
        " " * indent + f"{symbol} = {table}[k{number}]"
        for symbol, table in row.entries
        if symbol in used
    ]
