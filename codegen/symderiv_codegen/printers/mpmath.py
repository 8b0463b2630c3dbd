"""Programs as mpmath modules: the same loops at any precision."""

from __future__ import annotations

import sympy as sp

from symderiv_codegen.ir.arrays import Array
from symderiv_codegen.ir.extension import Library
from symderiv_codegen.ir.program import Program
from symderiv_codegen.passes.assigned_once import check_globals
from symderiv_codegen.printers.expressions import (
    ATOM,
    PRODUCT,
    ExpressionPrinter,
    PrintedExpression,
)
from symderiv_codegen.printers.flat import layout_constant
from symderiv_codegen.printers.header import header
from symderiv_codegen.printers.helpers import MPMATH
from symderiv_codegen.printers.lines import Chain, Text
from symderiv_codegen.printers.module import ModulePrinter
from symderiv_codegen.printers.pasting import pasted


class MpmathExpressions(ExpressionPrinter):
    """A printer of expressions over multiprecision numbers with the functions of a
    context ``mp``.
    """

    name = "mpmath"
    namespace = "mp"
    context = (Text("mp"),)

    def number(self, value: sp.Rational) -> PrintedExpression:
        """Return integers as they are; a quotient must start from a multiprecision number."""
        if value.q == 1:
            return PrintedExpression(Text(str(value.p)), ATOM)
        quotient = Chain((("", Text(f"mp.mpf({value.p})")), (" / ", Text(str(value.q)))))
        return PrintedExpression(quotient, PRODUCT)

    def splits_fractions(self, value: sp.Rational) -> bool:
        """Return True for fractions: the product is a multiprecision number by then."""
        return bool(value.q != 1)

    def element(self, name: str, indices: tuple[str, ...]) -> str:
        """Return an element such as ``Q[i][j]``, for nested lists and for arrays of objects."""
        return name + "".join(f"[{index}]" for index in indices)


class MpmathModule(ModulePrinter):
    """A module of functions whose first argument is an mpmath context."""

    name = "mpmath"
    context = ("mp",)

    @property
    def library(self) -> Library:
        return self.source.extension.multiprecision

    def expressions(self, guarded: bool) -> ExpressionPrinter:
        return MpmathExpressions(self._defined, guarded, self.library.functions)

    def allocation(self, array: Array) -> str:
        text = f"[mp.zero] * {array.shape[-1]}"
        for size in reversed(array.shape[:-1]):
            text = f"[{text} for _ in range({size})]"
        return text

    def size(self, array: Array, axis: int) -> str:
        return f"len({array.name}{'[0]' * axis})"

    def zero(self) -> str:
        return "mp.zero"

    def module(self) -> str:
        """Return the text of the whole module."""
        functions = [self.function(function) for function in self.program.functions]
        procedures = [self.procedure(procedure) for procedure in self.program.procedures]
        helpers = [MPMATH[name].strip() for name in MPMATH if name in self.helpers]
        special = pasted(self.texts, self.library, "")
        body = "\n\n\n".join([*helpers, *special, *functions, *procedures])
        vectors = self.program.vectors
        layout = f"{layout_constant(self.program.ranges, vectors)}\n\n\n" if vectors else ""
        code = f"\n{layout}{body}\n"
        check_globals(code, f"mpmath module {self.program.name!r}")
        needs = (
            "The module stands alone; it needs an mpmath context as the first argument of every "
            "function (entries: mp.mpf) and nothing else."
        )
        top = header(self.source, code, self.operations, needs)
        return f"{top}\n\n{code}"


def print_mpmath(program: Program) -> str:
    """Return the program as the text of a module of multiprecision functions.

    Every function takes an mpmath context as its first argument. Arrays are nested lists or numpy
    arrays of objects whose entries are numbers of that context.

    Raises:
        PrinterError: An expression contains a node without a rule.
    """
    return MpmathModule(program).module()
