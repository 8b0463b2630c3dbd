"""Exact expressions as numbers: enclosed in balls where all functions have balls, else measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import mpmath
import sympy as sp
from flint import acb, arb

from symderiv.foundation.errors import NotYetError, ToleranceError
from symderiv.gaussian import OwenT, SignMean4
from symderiv.precision.balls.expression_balls import complex_ball

UNDEFINED: Final = (sp.nan, sp.zoo, sp.oo, -sp.oo)
#: An imaginary part below this, relative to the real one or 1, is zero.
IMAGINARY: Final = 1e-25

#: Number of last digits that an enclosure may leave open, and bits added in successive attempts.
_SPARE: Final = 5
_BITS_PER_DIGIT: Final = 3.33
_MORE_BITS: Final = (40, 400, 4000)


@dataclass(frozen=True)
class RoundedValue:
    """A complex number of mpmath, rounded to the digits asked for, and whether these are proved.

    If it is enclosed, a ball of relative (around zero absolute) radius 10^(5 - digits) around it
    contains the exact value.
    """

    value: Any
    enclosed: bool


def evaluated(
    exact: sp.Expr, digits: int, integrals: Mapping[sp.Expr, Any] | None = None
) -> RoundedValue | None:
    """Return an exact expression without symbols to ``digits`` digits; None if it has no value.

    ``integrals`` holds balls of those parts of it that take long to compute.
    """
    if exact.has(*UNDEFINED):
        return None
    for more in _MORE_BITS:
        try:
            ball = acb(complex_ball(exact, int(_BITS_PER_DIGIT * digits) + more, integrals))
        except (NotYetError, ToleranceError, ZeroDivisionError):
            break
        if ball.is_finite() and _is_narrow(ball, digits):
            parts = [part.mid().man_exp() for part in (ball.real, ball.imag)]
            return RoundedValue(_rounded(parts, digits), enclosed=True)
    value = measured(exact, digits)
    return None if value is None else RoundedValue(value, enclosed=False)


def measured(exact: sp.Expr, digits: int) -> Any:
    """Return an exact expression as an mpmath complex number; None if it has no value.

    Its digits are not proved: no enclosure is computed.
    """
    if exact.has(*UNDEFINED):
        return None
    value = sp.N(exact, digits, maxn=20 * digits)
    if not value.is_number or value.has(*UNDEFINED) or value.has(sp.Function):
        return None
    floats = (sp.Float(part, digits)._mpf_ for part in value.as_real_imag())
    return _rounded([((-1) ** sign * man, exp) for sign, man, exp, _ in floats], digits)


def _is_narrow(ball: acb, digits: int) -> bool:
    """Return whether the ball of a number proves enough of its digits.

    Its radius is at most 10^(5 - digits) of its size, or the square of that alone.
    """
    unit, size = arb(10) ** (_SPARE - digits), ball.abs_upper()
    radii = (ball.real.rad(), ball.imag.rad())
    return all(radius <= size * unit or radius <= unit**2 for radius in radii)


@cache
def context_of(digits: int) -> Any:
    """Return mpmath's arithmetic of so many digits, kept because making it is slow."""
    context = mpmath.MPContext()
    context.dps = digits
    return context


def _rounded(parts: Sequence[tuple[Any, Any]], digits: int) -> Any:
    """Return a complex number from mantissa and exponent of both parts."""
    context = context_of(digits)
    real, imaginary = (context.ldexp(int(mantissa), int(power)) for mantissa, power in parts)
    if abs(imaginary) <= IMAGINARY * max(abs(real), 1):
        imaginary = context.zero
    return context.mpc(real, imaginary)


#: Largest exponent of exact powers, and of exponentials of logarithms, which SymPy makes powers.
MAX_POWER: Final = 3000.0
#: Largest exponent of exponentials computed to some digits, such as e^(-1/c) near c = 0.
MAX_EXPONENT: Final = 1e35
#: Largest angle: reducing it modulo pi costs as many digits as it has.
MAX_ANGLE: Final = 1e30

_LIMITS: Final = {
    **dict.fromkeys((sp.sinh, sp.cosh), MAX_EXPONENT),
    **dict.fromkeys((sp.sin, sp.cos), MAX_ANGLE),
}


def can_be_evaluated(expression: sp.Expr, values: Mapping[sp.Symbol, sp.Expr]) -> bool:
    """Return False if an exponent or an angle is too large to compute with.

    SymPy computes rational powers exactly and at once, so the sizes of exponents must be known
    before numbers are put in. They are computed in floats, which do not overflow, from the
    innermost expression outwards.
    """
    floats = {symbol: sp.Float(value, 15) for symbol, value in values.items()}
    for bounded in (SignMean4, OwenT):
        # bounded by one, so never too large, and slow to evaluate
        expression = expression.replace(bounded, lambda *_: sp.S.One)
    for node in sp.postorder_traversal(expression):
        limit = _limit(node)
        if limit is not None:
            size = abs(node.args[-1].xreplace(floats).evalf())
            # not a float for 1/0 or log 0, on the edge of the cone: SymPy makes it undefined
            if size.is_Float and size > limit:
                return False
    return True


def _limit(node: sp.Basic) -> float | None:
    """Return the largest size of a function's last argument; None if there is no limit."""
    if isinstance(node, sp.exp):
        return MAX_POWER if node.args[0].has(sp.log) else MAX_EXPONENT
    if node.is_Pow:
        return MAX_POWER if node.exp.free_symbols else None
    return _LIMITS.get(type(node))
