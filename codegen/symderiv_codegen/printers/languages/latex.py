"""Programs as LaTeX: the equations before any pass, one display each."""

from __future__ import annotations

from collections.abc import Collection

import sympy as sp
from sympy.core.function import Application, AppliedUndef
from sympy.logic.boolalg import Boolean
from sympy.printing.latex import LatexPrinter, translate

from symderiv_codegen.errors import PrinterError
from symderiv_codegen.ir.arrays import Array
from symderiv_codegen.ir.functions import Function, ScalarFunction
from symderiv_codegen.ir.procedures import Assignment, Call, Procedure
from symderiv_codegen.ir.program import Program
from symderiv_codegen.ir.walk import array_name, subexpressions
from symderiv_codegen.printers.expressions import (
    BUILTIN,
    ELEMENTARY,
    GUARDED,
    HELPERS,
)

KNOWN = frozenset({*ELEMENTARY, *BUILTIN, *GUARDED, *HELPERS, "Piecewise", "KroneckerDelta"})


class _Latex(LatexPrinter):  # type: ignore[misc]
    """SymPy's LaTeX with the program's own names for arrays, functions and sums."""

    def __init__(self, names: dict[str, str], special: Collection[str]) -> None:
        super().__init__({"mul_symbol": None})
        self._names = names
        self._known = KNOWN.union(special)

    def name(self, name: str) -> str:
        """Return the declared LaTeX of a name, else a spelling that keeps it readable."""
        declared = self._names.get(name)
        if declared:
            return declared
        spelled = str(translate(name))
        if spelled != name or len(name) <= 3 or ("_" not in name and name[-1:].isdigit()):
            return str(super()._print_Symbol(sp.Symbol(name)))
        escaped = name.replace("_", r"\_")
        return rf"\mathrm{{{escaped}}}"

    def _print_Symbol(self, expr: sp.Symbol, style: str = "plain") -> str:
        return self.name(str(expr))

    def _print_Idx(self, expr: sp.Idx) -> str:
        return str(expr)

    def _print_Indexed(self, expr: sp.Indexed) -> str:
        indices = [self._print(index) for index in expr.indices]
        glue = "" if all(len(index) == 1 for index in indices) else ","
        return f"{{{self.name(array_name(expr))}}}_{{{glue.join(indices)}}}"

    def _print_Sum(self, expr: sp.Sum) -> str:
        text = ""
        for index, low, high in reversed(expr.limits):
            # Counting from 1 reads better where only coincidences of indices matter.
            if low == 0 and _only_plain(expr.function, index):
                text += rf"\sum_{{{index}=1}}^{{{self._print(high + 1)}}} "
            else:
                text += rf"\sum_{{{index}={self._print(low)}}}^{{{self._print(high)}}} "
        summand = self._print(expr.function)
        return text + (rf"\left({summand}\right)" if expr.function.is_Add else summand)

    def _print_Function(self, expr: sp.Function, exp: str | None = None) -> str:
        name = expr.func.__name__
        if isinstance(expr, AppliedUndef):
            arguments = ", ".join(self._print(argument) for argument in expr.args)
            power = f"^{{{exp}}}" if exp else ""
            return rf"{self.name(name)}{power}\left({arguments}\right)"
        return str(super()._print_Function(expr, exp))

    def doprint(self, expr: sp.Basic) -> str:
        """Return the expression in LaTeX; functions that other printers do not know are refused."""
        for node in subexpressions(expr):
            function = isinstance(node, Application) and not isinstance(node, AppliedUndef)
            if not function or isinstance(node, Boolean):
                continue
            if type(node).__name__ not in self._known:
                raise PrinterError(
                    f"the LaTeX printer does not know {type(node).__name__} (in {str(expr)[:80]}); "
                    "rewrite it before it reaches the program, or give the printer a rule"
                )
        return str(super().doprint(expr))

    def emptyPrinter(self, expr: object) -> str:
        raise PrinterError(f"the LaTeX printer does not know {type(expr).__name__}")


def _only_plain(expression: sp.Expr, index: sp.Basic) -> bool:
    for node in subexpressions(expression):
        if isinstance(node, sp.Indexed):
            composite = [i for i in node.indices if not isinstance(i, sp.Idx | sp.Symbol)]
            if any(i.has(index) for i in composite):
                return False
        if isinstance(node, sp.Sum) and any(
            sp.Tuple(*limit[1:]).has(index) for limit in node.limits
        ):
            return False
        ordered = isinstance(node, sp.core.relational.Relational) and not isinstance(
            node, sp.Eq | sp.Ne
        )
        if ordered and node.has(index):
            return False
    return True


def print_latex(program: Program) -> str:
    """Return the functions and assignments of the program, one display equation each.

    Raises:
        PrinterError: An expression contains a node without a rule.
    """
    blocks = [_function(function, program) for function in program.functions]
    blocks += [_procedure(procedure, program) for procedure in program.procedures]
    return "\n".join([f"% {program.title}", *blocks, ""])


def _names(program: Program, arrays: tuple[Array, ...] = ()) -> dict[str, str]:
    names = {f.name: f.latex for f in program.functions if f.latex}
    names.update({array.name: array.latex for array in arrays if array.latex})
    return names


def _display(left: str, right: str) -> str:
    return f"\\[\n  {left} = {right}\n\\]"


def _function(function: Function, program: Program) -> str:
    if not isinstance(function, ScalarFunction):
        raise PrinterError(
            f"the latex printer: {function.name!r} is a sum over tables of doubles or a template"
        )
    printer = _Latex(_names(program), program.extension.doubles.functions)
    doc = " ".join(function.doc.split())
    lines = [f"% {function.name}: {doc}"]
    for symbol, expression in function.definitions:
        lines.append(_display(printer.doprint(symbol), printer.doprint(expression)))
    arguments = ", ".join(printer.doprint(argument) for argument in function.arguments)
    head = rf"{printer.name(function.name)}\left({arguments}\right)"
    lines.append(_display(head, printer.doprint(function.value)))
    return "\n".join(lines)


def _procedure(procedure: Procedure, program: Program) -> str:
    names = _names(program, tuple(procedure.arrays.values()))
    printer = _Latex(names, program.extension.doubles.functions)
    lines = [f"% {procedure.name}: {' '.join(procedure.doc.split())}"]
    for step in procedure.body:
        if isinstance(step, Call):
            lines.append(f"% {step.procedure}({', '.join(step.arguments)})")
        elif isinstance(step, Assignment):
            lines.append(_display(printer.doprint(step.target), printer.doprint(step.value)))
    return "\n".join(lines)
