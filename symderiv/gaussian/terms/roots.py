r"""Powers of exact numbers that survive SymPy's factoring of large integers.

sqrt(n) pulls squares out of n, for which SymPy 1.14 tries to factor n; for a product of two close
large integers that fails (SymPy issue 28621, see ``tests/external``). Covariances with some thirty
digits get there. :class:`OpaqueRoot` then stands for the root and is only ever evaluated.
"""

from __future__ import annotations

from typing import Any

import sympy as sp

# Integers below this are factored by SymPy without trouble.
_SMALL = 10**15


class OpaqueRoot(sp.Function):  # type: ignore[misc]
    """The positive square root of a positive rational, never simplified."""

    nargs = 1
    is_positive = True
    is_real = True

    def _eval_evalf(self, prec: int) -> sp.Expr:
        argument = self.args[0]._eval_evalf(2 * prec)
        return sp.Float(argument, precision=2 * prec) ** sp.Rational(1, 2)

    def _latex(self, printer: Any, exp: str | None = None) -> str:
        power = "" if exp is None else f"^{{{exp}}}"
        return rf"\sqrt{{{printer._print(self.args[0])}}}{power}"


def exact_power(number: sp.Expr, exponent: sp.Rational, opaque: bool) -> sp.Expr:
    """Return ``number`` to an integer or half-integer power, with large roots opaque on demand."""
    large = number.is_Rational and max(abs(number.p), number.q) > _SMALL
    if exponent.is_Integer or not (opaque and large and number > 0):
        return number**exponent
    whole, twice = divmod(2 * exponent, 2)
    return number**whole * OpaqueRoot(number) if twice else number**whole
