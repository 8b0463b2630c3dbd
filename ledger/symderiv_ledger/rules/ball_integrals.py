"""Integrals that a statement writes out, where its other numbers are balls.

They are computed in mpmath at the same number of digits, twice with different nodes. The ball they
become is not proved: its radius is ten times the difference of both and of mpmath's own estimate,
and never less than the last three digits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from flint import arb

from symderiv.precision.balls.contexts import numbers as arithmetic
from symderiv_ledger.rules.values import Indexed, Values

__all__ = ["ball_integral"]

_SAFETY: Final = 10
_LAST_DIGITS: Final = 3
_BITS_PER_DIGIT: Final = 3.3219280948873626


def _middle(value: Any, context: Any) -> Any:
    if hasattr(value, "mid"):
        if not value.is_finite():
            return -context.inf if value < 0 else context.inf
        mantissa, exponent = value.mid().man_exp()
        return context.ldexp(context.mpf(int(mantissa)), int(exponent))
    if isinstance(value, Indexed):
        ranges = value.ranges
        return Indexed(lambda *place: _middle(value[place], context), *ranges)
    return value


def _named_middle(values: Mapping[str, Any], name: str, context: Any) -> Any:
    return _middle(values[name], context)


def ball_integral(
    integrand: Callable[[Any, Mapping[str, Any], Sequence[Any]], Any],
    values: Mapping[str, Any],
    limits: Sequence[Sequence[Any]],
    balls: Any,
) -> Any:
    """Return a ball around the integral.

    Args:
        integrand: Given an arithmetic, the values of names in it and the variables.
        values: What names stand for; functions among them are not supported.
        limits: Ends per variable, balls.
        balls: The arithmetic of the statement.
    """
    digits = int(balls.prec / _BITS_PER_DIGIT)
    with arithmetic(digits, "mpmath") as context:
        lazy = {name: partial(_named_middle, values, name, context) for name in values}
        middles = Values({}, lazy)
        ends = [[_middle(end, context) for end in pair] for pair in limits]
        split = [[low, _between(low, high, context), high] for low, high in ends]

        def function(*variables: Any) -> Any:
            return integrand(context, middles, variables)

        one, estimate = context.quad(function, *ends, error=True)
        two = context.quad(function, *split)
        least = abs(two) * context.mpf(10) ** (_LAST_DIGITS - digits)
        off = _SAFETY * (abs(one - two) + abs(estimate)) + least
        return arb(str(two)) + arb(0, arb(str(off)).abs_upper())


def _between(low: Any, high: Any, context: Any) -> Any:
    if context.isinf(low) and context.isinf(high):
        return context.mpf(1) / 3
    if context.isinf(high):
        return low + 1
    if context.isinf(low):
        return high - 1
    return low + (high - low) * 4 / 9
