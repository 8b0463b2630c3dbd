"""Balls as decimals: the digits shown, and a bound of what they are off by, rounded upwards.

Whatever way a number leaves the program (text, JSON, float), what is shown with its error is an
interval that contains the exact value.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from numbers import Rational
from typing import Any, Final

import flint
from flint import arb
from mpmath import libmp

from symderiv.foundation.errors import ToleranceError
from symderiv.gaussian import Value

_BITS_PER_DIGIT: Final = math.log2(10)
#: Numbers whose logarithm to base 2 is larger than this are not written out.
_LARGEST_EXPONENT: Final = 1_000_000
#: Numbers of an answer that are smaller than 2 to this power are shown as zeros.
_ZERO_EXPONENT: Final = -900_000
#: Decimal digits that a double keeps, whatever the number.
DOUBLE_DIGITS: Final = 15
_LEAST_DOUBLE: Final = sys.float_info.min


def arithmetic() -> str:
    """Return the libraries of balls in which certified numbers are computed, and their versions."""
    return f"python-flint {flint.__version__}, FLINT {flint.__FLINT_VERSION__}"


def written(enclosed: arb, exact: Rational | None, digits: int, method: str) -> Value:
    """Return the middle of a ball as text, and the distance of that text from all of the ball.

    Args:
        enclosed: A finite ball.
        exact: The number itself if it is rational.
        digits: Significant digits shown.
        method: How it was computed.

    Raises:
        ToleranceError: The number is too large or too small to be written out.
    """
    mantissa, exponent = _man_exp(enclosed.mid())
    bits = math.ceil(digits * _BITS_PER_DIGIT) + 40
    middle = libmp.from_man_exp(mantissa, exponent, bits, "n")
    text = str(libmp.to_str(middle, digits, strip_zeros=False))
    shown = Fraction(text)
    low, high = ends(enclosed)
    if exact is not None:
        low = high = Fraction(exact)
    # in fractions: what balls would lose here depends on the precision they happen to work with
    error = max(abs(low - shown), abs(high - shown))
    return Value(text, _upwards(error), True, method, (low, high))


def zero(enclosed: arb, method: str) -> Value:
    """Return a ball that cannot be told from zero, as zero with the ball's size as error."""
    return Value("0", upwards(enclosed), True, method, ends(enclosed))


class Outward:
    """Shows the numbers of one answer, and says how far the worst of them is from the exact one.

    Attributes:
        digits: Significant digits of every number.
        relative: No number shown is farther from the exact one than this times itself.
        zero: Numbers shown as zero, those that cannot be told from it, are not larger.
    """

    def __init__(self, digits: int) -> None:
        self.digits = digits
        self.relative = Fraction(0)
        self.zero = Fraction(0)

    def text(self, middle: arb, enclosed: arb | None = None) -> str:
        """Return a ball as text.

        Args:
            middle: What is shown: the middle of this ball.
            enclosed: A ball with the exact number; the same when left out.
        """
        return str(self._shown(middle, enclosed)[0])

    def number(self, middle: arb, enclosed: arb | None = None) -> float | str:
        """Return the same for JSON: a double if one holds all digits, else text."""
        text, double = self._shown(middle, enclosed)
        return text if double is None else double

    def record(self) -> dict[str, Any]:
        """Return what has been proved of all numbers shown so far, and by which arithmetic."""
        return {
            "certified": True,
            "relative_error_bound": _upwards(self.relative),
            "zero_bound": _upwards(self.zero),
            "arithmetic": arithmetic(),
        }

    def _shown(self, middle: arb, enclosed: arb | None) -> tuple[str, float | None]:
        known = middle if enclosed is None else enclosed
        if known.contains(0) or abs(known) < arb((1, _ZERO_EXPONENT)):
            small = abs(known) < arb((1, _ZERO_EXPONENT))
            low, high = ends(arb((1, _ZERO_EXPONENT)) if small else known)
            self.zero = max(self.zero, abs(low), abs(high)) if not known.is_zero() else self.zero
            return "0", 0.0 if self.digits <= DOUBLE_DIGITS else None
        text = written(middle, None, self.digits, "").value
        double = float(text) if self.digits <= DOUBLE_DIGITS else None
        if double is not None and not _LEAST_DOUBLE <= abs(double) < math.inf:
            double = None
        low, high = ends(known)
        for shown in (Fraction(text), *(() if double is None else (Fraction(double),))):
            error = max(abs(low - shown), abs(high - shown))
            self.relative = max(self.relative, error / abs(shown))
        return text, double


def ends(enclosed: arb) -> tuple[Fraction, Fraction]:
    """Return the exact ends of a finite ball."""
    middle, radius = _fraction(enclosed.mid()), _fraction(enclosed.rad())
    return middle - radius, middle + radius


def _fraction(point: arb) -> Fraction:
    mantissa, exponent = _man_exp(point)
    return Fraction(mantissa << exponent) if exponent > 0 else Fraction(mantissa, 1 << -exponent)


def _man_exp(point: arb) -> tuple[int, int]:
    mantissa, exponent = (int(part) for part in point.man_exp())
    if abs(exponent) > _LARGEST_EXPONENT + abs(mantissa).bit_length():
        raise ToleranceError(f"the number is about 2^{exponent}, which is not written out")
    return mantissa, exponent


def upwards(bound: arb) -> str:
    """Return a decimal of two digits that is not below any number of the ball ``bound`` in size."""
    low, high = ends(bound)
    return _upwards(max(abs(low), abs(high)))


def _upwards(size: Fraction) -> str:
    if not size:
        return "0"
    power = _log10_floor(size) - 1
    leading = math.ceil(size / Fraction(10) ** power)
    if leading == 100:
        leading, power = 10, power + 1
    figures = str(leading)
    return f"{figures[0]}.{figures[1:]}e{power + 1:+03d}"


def _log10_floor(size: Fraction) -> int:
    """Return the power of ten that a positive number reaches, exactly."""
    bits = size.numerator.bit_length() - size.denominator.bit_length()
    power = math.floor((bits - 1) * math.log10(2))
    while Fraction(10) ** (power + 1) <= size:
        power += 1
    return power


def nearest_float(interval: tuple[Fraction, Fraction]) -> float | None:
    """Return the double nearest to every number of an interval (infinite beyond the largest one).

    None if that is not one double.
    """
    low, high = (_rounded(end) for end in interval)
    return low if low == high else None


def _rounded(number: Fraction) -> float:
    try:
        return float(number)  # division of integers rounds to nearest
    except OverflowError:
        return math.inf if number > 0 else -math.inf


class Digits(Decimal):
    """A decimal that is printed with the digits it was computed with, and that mixes with floats.

    ``str`` is the text in JSON; arithmetic with a float gives a float, all else is ``Decimal``.
    """

    _text: str

    def __new__(cls, text: str) -> Digits:
        made = super().__new__(cls, text)
        made._text = text
        return made

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return self._text

    def __format__(self, spec: str, context: Any = None, /) -> str:
        return format(self._text, spec) if not spec else super().__format__(spec)

    def __reduce__(self) -> tuple[type[Digits], tuple[str]]:
        return Digits, (self._text,)

    def __copy__(self) -> Digits:
        return self

    def __deepcopy__(self, memo: Any, /) -> Digits:
        return self


def _mixing(name: str) -> Callable[[Any, Any], Any]:
    exact, rounded = getattr(Decimal, name), getattr(float, name)

    def operation(self: Any, other: Any) -> Any:
        if isinstance(other, float):
            return rounded(float(self), float(other))
        return exact(self, other)

    operation.__name__ = name
    return operation


for _name in ("add", "sub", "mul", "truediv", "pow"):
    for _side in ("__", "__r"):
        setattr(Digits, f"{_side}{_name}__", _mixing(f"{_side}{_name}__"))
