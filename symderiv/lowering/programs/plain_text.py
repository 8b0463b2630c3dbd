"""Equations as plain text in the names of the arrays, for the header of a module."""

from __future__ import annotations

import sympy as sp
from sympy.functions.special.tensor_functions import KroneckerDelta
from sympy.printing.str import StrPrinter


class _PlainPrinter(StrPrinter):  # type: ignore[misc]
    """Plain text in the names of the arrays, for the header of a module."""

    def _print_Sum(self, total: sp.Sum) -> str:
        indices = ", ".join(str(limit[0]) for limit in reversed(total.limits))
        return f"sum_{indices}({self._print(total.function)})"

    def _print_StudentActivation(self, call: sp.Expr) -> str:
        return f"g{chr(39) * int(call.args[0])}({self._print(call.args[1])})"

    def _print_TeacherActivation(self, call: sp.Expr) -> str:
        return f"h{chr(39) * int(call.args[0])}({self._print(call.args[1])})"

    def _print_LossSlope(self, call: sp.Expr) -> str:
        by_s, by_t = map(int, call.args)
        return f"l_{'s' * by_s}{'t' * by_t}" if by_s or by_t else "l"

    def _print_Average(self, call: sp.Expr) -> str:
        return f"E[{self._print(call.args[0])}]"

    def _print_KroneckerDelta(self, delta: KroneckerDelta) -> str:
        return f"delta({delta.args[0]}, {delta.args[1]})"


def plain(expression: sp.Basic) -> str:
    """Return the expression as plain text."""
    return str(_PlainPrinter().doprint(expression))
