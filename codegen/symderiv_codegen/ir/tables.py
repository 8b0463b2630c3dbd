"""Functions that are sums over the rows of constant tables.

E.g. Σ_k w_k Σ_l w_l f(a_k c_11, a_l c_22) with tables of the w and a in the module. The sums stay
loops, so that the text has the same length for any number of rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import sympy as sp

from symderiv_codegen.errors import ProgramError
from symderiv_codegen.ir.walk import free_names


@dataclass(frozen=True)
class Row:
    """A summation over the rows of tables of one length.

    Args:
        size: Name of the constant that holds the number of rows.
        entries: Symbols for the entries of a row, each with the constant that is its table.
    """

    size: str
    entries: tuple[tuple[sp.Symbol, str], ...]


@dataclass(frozen=True)
class TableTerm:
    """The sum of ``value`` over all combinations of rows, outermost first.

    Args:
        rows: The rows that are summed over.
        definitions: Named parts of the value, in order.
        value: The summand.
        exchangeable: For the first two rows, then for the next two, pairs of arguments: if the two
            of every pair are equal, the value is invariant under exchange of the two rows; empty if
            this is never known.
    """

    rows: tuple[Row, ...]
    definitions: tuple[tuple[sp.Symbol, sp.Expr], ...]
    value: sp.Expr
    exchangeable: tuple[tuple[tuple[sp.Symbol, sp.Symbol], ...], ...] = ()

    @property
    def expressions(self) -> tuple[sp.Expr, ...]:
        """The definitions' right-hand sides and the value."""
        return (*(expression for _, expression in self.definitions), self.value)


@dataclass(frozen=True)
class TableSum:
    """A scalar function that is a sum of :class:`TableTerm`; see ``ScalarFunction`` for the rest.

    Raises:
        ProgramError: An expression uses an undeclared symbol or a floating-point number.
    """

    name: str
    arguments: tuple[sp.Symbol, ...]
    terms: tuple[TableTerm, ...]
    doc: str
    latex: str = ""
    guarded: bool = False
    symmetries: tuple[tuple[int, ...], ...] = ()

    def __post_init__(self) -> None:
        for term in self.terms:
            known = {str(symbol) for symbol in self.arguments}
            known |= {str(symbol) for row in term.rows for symbol, _ in row.entries}
            for symbol, expression in (*term.definitions, (None, term.value)):
                if expression.has(sp.Float):
                    raise ProgramError(f"function {self.name!r}: floating-point number")
                if unknown := sorted(free_names(expression) - known):
                    raise ProgramError(f"function {self.name!r}: undeclared symbol {unknown[0]!r}")
                if symbol is not None:
                    known.add(str(symbol))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of its arguments, and of the entries of rows, which become variables."""
        entries = (symbol for t in self.terms for row in t.rows for symbol, _ in row.entries)
        return tuple(dict.fromkeys(str(symbol) for symbol in (*self.arguments, *entries)))

    @property
    def expressions(self) -> Iterator[sp.Expr]:
        """All expressions in it."""
        return (expression for term in self.terms for expression in term.expressions)
