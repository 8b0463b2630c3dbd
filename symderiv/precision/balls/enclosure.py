"""Digits from balls: the working precision is raised until the radius is small enough."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final

import sympy as sp
from flint import arb

from symderiv.foundation.errors import NotYetError, ToleranceError
from symderiv.gaussian import DerivedExpectation, SignMean4, Value
from symderiv.gaussian.forms.evaluate import check_asked
from symderiv.precision.balls.decimals import written, zero
from symderiv.precision.balls.expression_balls import ball
from symderiv.precision.balls.working import working_bits

_BITS_PER_DIGIT: Final = math.log2(10)
# A value whose enclosure contains 0 and is smaller than 10**-(digits + this) is reported as zero,
# with that size as its bound. Orthant integrals cost more per digit than closed forms.
_ZERO_DIGITS: Final = 200
_ZERO_DIGITS_OF_INTEGRALS: Final = 60
_MAX_BITS: Final = 40_000


def certified(found: DerivedExpectation, digits: int) -> Value:
    """Return the number of an expectation with a proved error bound where that is possible.

    Args:
        found: An expression without symbols.
        digits: Significant digits, at least 1.

    Returns:
        A value whose ``error_bound`` is proved, ``certified`` is True; or, if some function in the
        closed form has no enclosure, the value computed at two precisions, ``certified`` False and
        ``method`` saying why.

    Raises:
        InputError: Symbols are left, or ``digits`` is not positive.
        ToleranceError: The digits were not reached.
    """
    try:
        return certified_value(found.unfolded(), digits, found.method)
    except (NotYetError, ToleranceError) as reason:
        value = found.evaluate(digits)
        method = f"{value.method} (not certified: {reason})"
        return Value(value.value, value.error_bound, False, method)


def certified_value(expression: sp.Expr, digits: int, method: str) -> Value:
    """Return a closed form as ``digits`` significant digits with a proved error bound.

    The bound covers the rounding to the digits shown; it is 0 if they are the exact value. It is
    relative to the value (below one unit of the last digit) unless the value is 0 or cannot be told
    from 0: then the value is "0" and the bound absolute.

    Raises:
        InputError: Symbols are left, or ``digits`` is not positive.
        NotYetError: A function that occurs has no enclosure.
        ToleranceError: The radius stays too large.
    """
    check_asked(digits, (symbol.name for symbol in expression.free_symbols))
    if expression.is_zero:
        return Value("0", "0", True, method, (Fraction(0), Fraction(0)))
    slow = expression.has(SignMean4)
    zero_digits = digits + (_ZERO_DIGITS_OF_INTEGRALS if slow else _ZERO_DIGITS)
    wanted = math.ceil((digits + 2) * _BITS_PER_DIGIT)
    bits = wanted + 24
    while bits <= _MAX_BITS:
        enclosed = _attempt(expression, bits)
        if enclosed is not None:
            with working_bits(bits + 64):
                accuracy = enclosed.rel_accuracy_bits()
                if accuracy >= wanted:
                    exact = expression if expression.is_Rational else None
                    return written(enclosed, exact, digits, method)
                tiny = arb(10) ** -zero_digits
                if enclosed.contains(0) and enclosed.abs_upper() < tiny:
                    return zero(enclosed, method)
            if accuracy > 0:
                bits += wanted - accuracy + 12  # each further bit adds about one bit of accuracy
                continue
        bits *= 2
    raise ToleranceError(f"there is no enclosure with {digits} digits of {str(expression)[:200]}")


def _attempt(expression: sp.Expr, bits: int) -> arb | None:
    """Return a finite ball, or None if this precision does not give one."""
    try:
        enclosed = ball(expression, bits)
    except (ToleranceError, ZeroDivisionError):
        return None
    return enclosed if enclosed.is_finite() else None
