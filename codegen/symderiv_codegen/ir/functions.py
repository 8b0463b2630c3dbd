"""Scalar functions: what expressions of a program can call by name."""

from __future__ import annotations

from dataclasses import dataclass

import sympy as sp

from symderiv_codegen.errors import ProgramError
from symderiv_codegen.ir.checks import check_distinct, check_exact, check_identifier
from symderiv_codegen.ir.tables import TableSum
from symderiv_codegen.ir.templates import TemplateFunction
from symderiv_codegen.ir.walk import free_names


@dataclass(frozen=True)
class ScalarFunction:
    """A function of real numbers: ``value``, in terms of ``arguments`` and ``definitions``.

    Args:
        definitions: Named intermediate terms in order; each may use earlier ones.
        guarded: Whether rounding can carry arguments over the edge of the domain: arcsine arguments
            are clipped to [-1, 1], roots of a slightly negative rounding are 0, and a quotient with
            a vanishing denominator c/sqrt(0) is 0.
        symmetries: Permutations of the argument positions that leave the value unchanged, e.g.
            ``((2, 1, 0),)`` for f(a, b, c) = f(c, b, a). They allow sums over half of the pairs.
        as_value: Whether the function may be passed to other compiled code as a value.
        everywhere: Whether the value is also right where arguments of different indices coincide,
            so that cases for coinciding indices only save work.
    """

    name: str
    arguments: tuple[sp.Symbol, ...]
    definitions: tuple[tuple[sp.Symbol, sp.Expr], ...]
    value: sp.Expr
    doc: str
    latex: str = ""
    guarded: bool = False
    symmetries: tuple[tuple[int, ...], ...] = ()
    as_value: bool = False
    everywhere: bool = False

    def __post_init__(self) -> None:
        where = f"function {self.name!r}"
        check_identifier(self.name, "function")
        known: set[str] = set()
        names = [str(s) for s in self.arguments] + [str(s) for s, _ in self.definitions]
        check_distinct([*names, self.name], where)
        for name in names:
            check_identifier(name, f"{where}, symbol")
        known.update(str(symbol) for symbol in self.arguments)
        for symbol, expression in (*self.definitions, (None, self.value)):
            check_exact(expression, where)
            if expression.has(sp.Indexed, sp.Idx, sp.Sum):
                raise ProgramError(f"{where}: indices and sums belong into procedures")
            unknown = sorted(free_names(expression) - known)
            if unknown:
                raise ProgramError(f"{where}: undeclared symbol {unknown[0]!r}")
            if symbol is not None:
                known.add(str(symbol))
        for permutation in self.symmetries:
            if sorted(permutation) != list(range(len(self.arguments))):
                raise ProgramError(f"{where}: {permutation} is not a permutation of its arguments")

    @property
    def names(self) -> tuple[str, ...]:
        """Names of its arguments and definitions."""
        return tuple(str(s) for s in (*self.arguments, *(s for s, _ in self.definitions)))

    @property
    def expressions(self) -> tuple[sp.Expr, ...]:
        """The definitions' right-hand sides and the value."""
        return (*(expression for _, expression in self.definitions), self.value)


Function = ScalarFunction | TableSum | TemplateFunction
"""Functions that expressions can call by name."""
