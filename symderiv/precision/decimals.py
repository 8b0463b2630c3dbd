"""Balls as decimals: the digits shown, and a bound of what they are off by, rounded upwards."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, Final

import mpmath
import sympy as sp
from flint import arb, fmpq

from symderiv.gaussian import Value

__all__ = ["upwards", "written"]

_BITS_PER_DIGIT: Final = math.log2(10)


def written(enclosed: Any, exact: sp.Rational | None, digits: int, method: str) -> Value:
    """The middle of a ball as text, and the distance of that text from all of the ball."""
    context = mpmath.MPContext()
    context.prec = math.ceil(digits * _BITS_PER_DIGIT) + 40
    mantissa, exponent = enclosed.mid().man_exp()
    text = context.nstr(context.ldexp(int(mantissa), int(exponent)), digits, strip_zeros=False)
    shown = Fraction(text)
    if exact is not None:
        off = abs(Fraction(int(exact.p), int(exact.q)) - shown)
        bound = arb(fmpq(off.numerator, off.denominator))
    else:
        bound = abs(enclosed - arb(fmpq(shown.numerator, shown.denominator))).abs_upper()
    return Value(text, upwards(bound), True, method)


def upwards(bound: Any) -> str:
    """A decimal with two digits that is not below the ball ``bound``."""
    if bound.is_zero():
        return "0"
    context = mpmath.MPContext()
    mantissa, exponent = bound.abs_upper().man_exp()
    size = context.ldexp(int(mantissa), int(exponent))
    power = int(context.floor(context.log10(size))) - 1
    shown = Fraction(int(mantissa)) * Fraction(2) ** int(exponent) / Fraction(10) ** power
    leading = math.ceil(shown)
    return f"{leading}e{power}" if leading < 10 else _scientific(leading, power)


def _scientific(leading: int, power: int) -> str:
    figures = str(leading)
    return f"{figures[0]}.{figures[1:]}e{power + len(figures) - 1:+03d}"
