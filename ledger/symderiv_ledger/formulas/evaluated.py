"""Exact expressions as numbers: enclosed in balls where all functions have balls, else measured."""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import mpmath
import sympy as sp
from flint import acb, arb

from symderiv.formula.known_functions import KNOWN
from symderiv.formula.walker import Meaning, constant, value_of
from symderiv.foundation.errors import NotYetError, ToleranceError
from symderiv.precision.balls.expression_balls import complex_ball

UNDEFINED: Final = (sp.nan, sp.zoo, sp.oo, -sp.oo)
#: An imaginary part below this, relative to the real one or 1, is zero.
IMAGINARY: Final = 1e-25

#: An enclosure may be wider than the last digit by so many digits, and is tried with so many bits.
_SPARE: Final = 5
_BITS_PER_DIGIT: Final = 3.33
_MORE_BITS: Final = (40, 400, 4000)


@dataclass(frozen=True)
class RoundedValue:
    """A number and whether its digits are proved.

    Args:
        value: An mpmath complex number, rounded to the digits asked for.
        enclosed: A ball of relative (around zero absolute) radius 10^(5 - digits) around it
            contains the exact value.
    """

    value: Any
    enclosed: bool


def evaluated(
    exact: sp.Expr, digits: int, integrals: Mapping[sp.Expr, Any] | None = None
) -> RoundedValue | None:
    """Return an exact expression without symbols to so many digits; None if it has no value.

    ``integrals`` are balls of parts of it that take long to compute.
    """
    if exact.has(*UNDEFINED):
        return None
    for more in _MORE_BITS:
        try:
            ball = complex_ball(exact, int(_BITS_PER_DIGIT * digits) + more, integrals)
        except (NotYetError, ToleranceError, ZeroDivisionError):
            break
        if ball.is_finite() and _is_narrow(ball, digits):
            return RoundedValue(_rounded(_parts(ball), digits), enclosed=True)
    value = measured(exact, digits)
    return None if value is None else RoundedValue(value, enclosed=False)


def measured(exact: sp.Expr, digits: int) -> Any:
    """Return the same without an enclosure, as an mpmath complex number; None if it has no
    value.
    """
    if exact.has(*UNDEFINED):
        return None
    value = sp.N(exact, digits, maxn=20 * digits)
    if not value.is_number or value.has(*UNDEFINED) or value.has(sp.Function):
        return None
    parts = [sp.Float(part, digits)._mpf_ for part in value.as_real_imag()]
    return _rounded([((-1) ** sign * int(man), int(exp)) for sign, man, exp, _ in parts], digits)


def _is_narrow(ball: Any, digits: int) -> bool:
    """Return whether a ball is of relative radius 10^(5 - digits), or of that absolute one where
    nothing is larger.
    """
    ball, unit = acb(ball), arb(10) ** (_SPARE - digits)
    size = ball.abs_upper()
    radii = (ball.real.rad(), ball.imag.rad())
    return all(radius <= size * unit or radius <= unit**2 for radius in radii)


def _parts(ball: Any) -> list[tuple[int, int]]:
    """Mantissa and exponent of the middles of the real and the imaginary part."""
    ball = acb(ball)
    pairs = (part.mid().man_exp() for part in (ball.real, ball.imag))
    return [(int(mantissa), int(exponent)) for mantissa, exponent in pairs]


@cache
def _context(digits: int) -> Any:
    """Return mpmath's numbers of so many digits; making them takes longer than most formulas."""
    context = mpmath.MPContext()
    context.dps = digits
    return context


def _rounded(parts: list[tuple[int, int]], digits: int) -> Any:
    context = _context(digits)
    real, imaginary = (context.ldexp(*part) for part in parts)
    if abs(imaginary) <= IMAGINARY * max(abs(real), 1):
        imaginary = context.zero
    return context.mpc(real, imaginary)


#: Exact powers, and exponentials of logarithms, which SymPy makes powers.
MAX_POWER: Final = 3000.0
#: Exponentials, which are only computed to some digits; e^(-1/c) near c = 0 is among them.
MAX_EXPONENT: Final = 1e35
#: Angles, whose remainder by pi costs as many digits as they have.
MAX_ANGLE: Final = 1e30

_LIMITS: Final = {"sinh": MAX_EXPONENT, "cosh": MAX_EXPONENT, "sin": MAX_ANGLE, "cos": MAX_ANGLE}


def can_be_evaluated(expression: sp.Expr, values: Mapping[sp.Symbol, sp.Expr]) -> bool:
    """Return False if an exponent or an angle is too large to compute with.

    SymPy computes rational powers exactly and at once, so the sizes of exponents must be known
    before numbers are put in. A walk in floats finds them.
    """
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
