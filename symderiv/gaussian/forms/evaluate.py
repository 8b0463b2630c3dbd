r"""Numbers from closed forms, to any number of digits, with a measured error.

The value is computed with exact inputs at two working precisions; the precision is raised until the
two agree. The error is their difference, and at least one unit of the last digit shown. It is
measured, not proved: ``certified`` is False.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from numbers import Rational
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import mpmath

from symderiv.formula.known_functions import KNOWN
from symderiv.formula.walker import Meaning, constant, value_of
from symderiv.foundation.errors import InputError, ToleranceError

if TYPE_CHECKING:
    import sympy as sp

_MAX_EXTRA_DIGITS = 2000
_NO_VALUES: Final[Mapping[Any, Any]] = MappingProxyType({})
# A value smaller than half of these extra digits can resolve is reported as zero, with that bound.
_ZERO_DIGITS = 200
# Functions that mpmath has under the same name: those with balls, and parts of complex numbers.
_OF_MPMATH = {name for name, known in KNOWN.items() if known.ball} | {"re", "im"}


@dataclass(frozen=True)
class Value:
    """A number with its error.

    Args:
        value: Decimal string with the asked number of digits.
        error_bound: Decimal string; absolute.
        certified: Whether the bound is proved (ball arithmetic).
        method: How the number was obtained.
        interval: Exact ends of an interval in which the number provably lies, usually much narrower
            than the error bound; None if it is not certified.
    """

    value: str
    error_bound: str
    certified: bool
    method: str
    interval: tuple[Fraction, Fraction] | None = field(default=None, compare=False)


def check_asked(digits: int, symbols: Iterable[str]) -> None:
    """Raise an error if fewer than one digit is asked for, or if symbols have no values."""
    if digits < 1:
        raise InputError(f"digits must be at least 1, not {digits}")
    names = ", ".join(sorted(symbols))
    if names:
        raise InputError(f"give numbers for {names} to evaluate this")


def evaluated(expression: sp.Expr, digits: int, method: str) -> Value:
    """Return a closed form as a number with ``digits`` significant digits.

    Raises:
        InputError: Symbols are left, or ``digits`` is not positive.
        ToleranceError: The digits were not reached.
    """
    check_asked(digits, (symbol.name for symbol in expression.free_symbols))
    if expression.is_zero:
        return Value("0", "0", False, method)
    guard = 15
    before = number(expression, digits + guard)
    while guard < _MAX_EXTRA_DIGITS:
        guard *= 2
        context = mpmath.MPContext()
        context.dps = digits + guard
        now = number(expression, digits + guard, context)
        difference = abs(now - before)
        size = abs(now)
        if size > 0 and difference <= size * context.mpf(10) ** (-digits - 2):
            last = context.mpf(10) ** (context.floor(context.log10(size)) + 1 - digits)
            text = context.nstr(now, digits, strip_zeros=False)
            return Value(text, context.nstr(max(difference, last), 2), False, method)
        if guard > _ZERO_DIGITS and size < context.mpf(10) ** (-digits - guard // 2):
            return Value("0", context.nstr(size + difference, 2), False, method)
        before = now
    raise ToleranceError(f"{digits} digits were not reached for {str(expression)[:200]}")


def number(
    expression: Any,
    dps: int,
    context: Any = None,
    values: Mapping[Any, Any] = _NO_VALUES,
) -> Any:
    """Return an expression as an mpmath real computed with ``dps`` working digits.

    Args:
        expression: The expression, of SymPy or plain (:mod:`symderiv.formula.kept_trees`); all
            its symbols need values.
        dps: The working digits.
        context: The context of mpmath; a new one when left out.
        values: The exact values of symbols or of their names. They are not substituted into the
            expression, which SymPy would simplify anew.
    """
    context = context or mpmath.MPContext()
    context.dps = dps
    domain = _Multiprecision(context)
    for symbol, exact in values.items():
        domain.known[symbol] = value_of(exact, domain, {})
    value = value_of(expression, domain, domain.known)
    if isinstance(value, context.mpc):
        value = value.real
    if not context.isfinite(value):
        raise ToleranceError(f"{str(expression)[:200]} is not a finite number")
    return value


class _Multiprecision:
    """The numbers of mpmath as a domain in which expressions are evaluated."""

    def __init__(self, context: Any) -> None:
        self.context = context
        self.known: dict[Any, Any] = {}

    def meaning(self, e: Any) -> Meaning:
        """Return the mpmath function and the arguments of a node; SymPy evaluates unknown
        constants.
        """
        c = self.context
        if isinstance(e, Rational):
            return constant(c.mpf(int(e.numerator)) / int(e.denominator))
        name = type(e).__name__
        if name == "Pow":
            return self._power(*e.args)
        if name == "Symbol" and e.name in self.known:
            return constant(self.known[e.name])
        if name in _OF_MPMATH:
            return getattr(c, name), e.args
        operations = {
            "Add": lambda *terms: c.fsum(terms),
            "Mul": lambda *factors: c.fprod(factors),
            "Abs": abs,
            "OpaqueRoot": c.sqrt,
        }
        if name in operations:
            return operations[name], e.args
        if name in ("Pi", "Exp1"):
            return constant(+(c.pi if name == "Pi" else c.e))
        return constant(c.mpc(0, 1) if name == "ImaginaryUnit" else self._by_sympy(e))

    def _power(self, base: Any, exponent: Any) -> Meaning:
        if isinstance(exponent, Rational):
            power, order = int(exponent.numerator), int(exponent.denominator)
            if (power, order) == (1, 2):
                return self.context.sqrt, (base,)
            if order == 1:
                return lambda x: x**power, (base,)
        return self.context.power, (base, exponent)

    def _by_sympy(self, e: sp.Expr) -> Any:
        import sympy as sp

        c = self.context
        exact = sp.N(e, c.dps)
        if not exact.is_number or exact.has(sp.Function, sp.nan, sp.zoo, sp.oo, -sp.oo):
            raise ToleranceError(f"cannot evaluate {str(e)[:200]}")
        real, imaginary = exact.as_real_imag()
        x = c.mpf(sp.Float(real, c.dps)._mpf_)
        return x if imaginary == 0 else c.mpc(x, c.mpf(sp.Float(imaginary, c.dps)._mpf_))
