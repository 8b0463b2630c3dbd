"""Can a formula be evaluated at a point at all? Towers of exponentials, and their sines, cannot.

SymPy computes rational powers exactly and at once, so the sizes of exponents must be known before
numbers are put in. A walk in floats finds them.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import sympy as sp

from symderiv.formula.known_functions import KNOWN
from symderiv.formula.walker import Meaning, constant, value_of

#: Exact powers, and exponentials of logarithms, which SymPy makes powers.
MAX_POWER: Final = 3000.0
#: Exponentials, which are only computed to some digits; e^(-1/c) near c = 0 is among them.
MAX_EXPONENT: Final = 1e35
#: Angles, whose remainder by pi costs as many digits as they have.
MAX_ANGLE: Final = 1e30

_LIMITS: Final = {"sinh": MAX_EXPONENT, "cosh": MAX_EXPONENT, "sin": MAX_ANGLE, "cos": MAX_ANGLE}


def can_be_evaluated(expression: sp.Expr, values: Mapping[sp.Symbol, sp.Expr]) -> bool:
    """Return False if an exponent or an angle is too large to compute with."""
    try:
        value_of(expression, _Doubles(values), {})
    except _TooLargeError:
        return False
    except (ZeroDivisionError, ValueError):
        # 1/0 or log 0, on the edge of the cone: SymPy makes it undefined
        return True
    return True


class _TooLargeError(Exception):
    pass


@dataclass(frozen=True)
class _Doubles:
    """Complex doubles, infinite where they overflow."""

    values: Mapping[sp.Symbol, sp.Expr]

    def meaning(self, e: sp.Expr) -> Meaning:
        """Return the function of complex doubles that a node is."""
        if e.is_Symbol:
            return constant(complex(self.values.get(e, 1)))
        if not e.args:
            return constant(complex(e))
        if e.is_Add:
            return lambda *terms: sum(terms), e.args
        if e.is_Mul:
            return _or_infinite(lambda *factors: math.prod(factors)), e.args
        if isinstance(e, sp.exp):
            limit = MAX_POWER if e.args[0].has(sp.log) else MAX_EXPONENT
            return _or_infinite(_within(limit, cmath.exp)), e.args
        if e.is_Pow:
            largest = MAX_POWER if e.exp.free_symbols else math.inf
            return _or_infinite(
                lambda base, exponent: complex(base ** _within(largest, complex)(exponent))
            ), e.args
        name = type(e).__name__
        arguments = KNOWN[name].arguments if name in KNOWN else 1
        function = _within(_LIMITS.get(name, math.inf), _complex_function(name))
        return _or_infinite(function), e.args[:arguments]


def _complex_function(name: str) -> Callable[..., complex]:
    """Return a function of complex doubles, of their real parts where Python has no other."""
    if name == "Abs":
        return abs
    if hasattr(cmath, name) or name not in KNOWN:
        # functions that are not known are bounded by one
        return getattr(cmath, name, lambda _: 1.0)
    return lambda *parts: KNOWN[name].numeric(*(z.real for z in parts))


def _within(limit: float, function: Callable[..., complex]) -> Callable[..., complex]:
    """Return the function of numbers of which the first is not larger; undefined ones are."""

    def checked(z: complex, *others: complex) -> complex:
        if limit < math.inf and not math.hypot(z.real, z.imag) <= limit:
            raise _TooLargeError
        return function(z, *others)

    return checked


def _or_infinite(function: Callable[..., complex]) -> Callable[..., complex]:
    """Return the function, where it overflows infinite: harmless unless that stands in an
    exponent.
    """

    def value(*parts: complex) -> complex:
        try:
            return function(*parts)
        except OverflowError:
            return complex(math.inf)

    return value
