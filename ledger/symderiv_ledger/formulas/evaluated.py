"""Exact expressions as numbers: enclosed in balls where all functions have balls, else measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import mpmath
import sympy as sp
from flint import acb, arb

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
    """Return an expression without symbols to so many digits; None if it has no value.

    Args:
        exact: An exact expression of rational numbers and functions.
        digits: Significant ones.
        integrals: Balls of parts of it that take long to compute.
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
    size = abs(ball).abs_upper() if isinstance(ball, arb) else ball.abs_upper()
    radii = [ball.rad()] if isinstance(ball, arb) else [ball.real.rad(), ball.imag.rad()]
    unit = arb(10) ** (_SPARE - digits)
    return all(radius <= size * unit or radius <= unit**2 for radius in radii)


def _parts(ball: Any) -> list[tuple[int, int]]:
    """Mantissa and exponent of the middles of the real and the imaginary part."""
    balls = [ball.real, ball.imag] if isinstance(ball, acb) else [ball]
    pairs = []
    for part in balls:
        mantissa, exponent = part.mid().man_exp()
        pairs.append((int(mantissa), int(exponent)))
    return pairs


@cache
def _context(digits: int) -> Any:
    """Return mpmath's numbers of so many digits; making them takes longer than most formulas."""
    context = mpmath.MPContext()
    context.dps = digits
    return context


def _rounded(parts: list[tuple[int, int]], digits: int) -> Any:
    context = _context(digits)
    real, imaginary = (context.ldexp(*part) for part in [*parts, (0, 0)][:2])
    if abs(imaginary) <= IMAGINARY * max(abs(real), 1):
        imaginary = context.zero
    return context.mpc(real, imaginary)
