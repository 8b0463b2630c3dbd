"""Can a formula be evaluated at a point at all? Towers of exponentials, and their sines, cannot.

SymPy computes rational powers exactly and at once, so the sizes of exponents must be known before
numbers are put in. A walk in floats finds them.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable, Mapping
from typing import Any, Final

import sympy as sp

__all__ = ["can_be_evaluated"]

#: Exact powers, and exponentials of logarithms, which SymPy makes powers.
MAX_POWER: Final = 3000.0
#: Exponentials, which are only computed to some digits; e^(-1/c) near c = 0 is among them.
MAX_EXPONENT: Final = 1e35
#: Angles, whose remainder by pi costs as many digits as they have.
MAX_ANGLE: Final = 1e30

_FUNCTIONS: Final[Mapping[Any, Callable[[complex], complex]]] = {
    sp.log: cmath.log,
    sp.Abs: abs,
    sp.asin: cmath.asin,
    sp.acos: cmath.acos,
    sp.atan: cmath.atan,
    sp.sign: lambda z: math.copysign(1.0, z.real),
    sp.erf: lambda z: math.erf(z.real),
    sp.erfc: lambda z: math.erfc(z.real),
    sp.sinh: cmath.sinh,
    sp.cosh: cmath.cosh,
}


def can_be_evaluated(expression: sp.Expr, values: Mapping[sp.Symbol, sp.Expr]) -> bool:
    """False if an exponent or an angle would be too large to compute with."""
    memo: dict[sp.Expr, complex] = {}

    def value(e: sp.Expr) -> complex:
        if e not in memo:
            try:
                memo[e] = compute(e)
            except OverflowError:
                # harmless unless it stands in an exponent
                memo[e] = complex(math.inf)
        return memo[e]

    def compute(e: sp.Expr) -> complex:
        if e.is_Symbol:
            return complex(values[e]) if e in values else 1.0
        if not e.args:
            return complex(e)
        parts = [value(argument) for argument in e.args]
        if e.is_Add:
            return sum(parts)
        if e.is_Mul:
            return math.prod(parts)
        if isinstance(e, sp.exp):
            within(parts[0], MAX_POWER if e.args[0].has(sp.log) else MAX_EXPONENT)
            return cmath.exp(parts[0])
        if e.is_Pow:
            if e.exp.free_symbols:
                within(parts[1], MAX_POWER)
            return complex(parts[0] ** parts[1])
        if e.func in (sp.sinh, sp.cosh):
            within(parts[0], MAX_EXPONENT)
        if e.func in (sp.sin, sp.cos):
            within(parts[0], MAX_ANGLE)
        rule = _FUNCTIONS.get(e.func)
        # the functions left are bounded by one
        return 1.0 if rule is None else rule(parts[0])

    def within(size: complex, limit: float) -> None:
        # infinite and undefined ones fail this comparison
        if not math.hypot(size.real, size.imag) <= limit:
            raise _TooLargeError

    try:
        value(expression)
    except _TooLargeError:
        return False
    except (ZeroDivisionError, ValueError):
        # 1/0 or log 0, on the edge of the cone: SymPy makes it undefined
        return True
    return True


class _TooLargeError(Exception):
    pass
