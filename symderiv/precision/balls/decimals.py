"""Balls as decimals: the digits shown, and a bound on their error, rounded upwards.

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
#: The number of decimal digits that every double keeps.
DOUBLE_DIGITS: Final = 15
_LEAST_DOUBLE: Final = sys.float_info.min


def arithmetic() -> str:
    """Return the libraries that compute certified numbers, with their versions."""
    return f"python-flint {flint.__version__}, FLINT {flint.__FLINT_VERSION__}"


def written(enclosed: arb, exact: Rational | None, digits: int, method: str) -> Value:
    """Return the middle of a ball as text, with a bound on its distance from any point of the ball.

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
    # exact fractions, because balls would round to whatever the working precision happens to be
    error = max(abs(low - shown), abs(high - shown))
    return Value(text, _upwards(error), True, method, (low, high))


def zero(enclosed: arb, method: str) -> Value:
    """Return the value 0, with the ball's size as error, for a ball that contains 0."""
    return Value("0", upwards(enclosed), True, method, ends(enclosed))


class Outward:
    """Writes the numbers of one answer as decimals, and records the largest errors of these.

    Attributes:
        digits: Significant digits of every number.
        relative: The largest relative error of any number shown.
        zero: A bound on the size of numbers shown as zero because they cannot be told from it.
    """

    def __init__(self, digits: int) -> None:
        self.digits = digits
        self.relative = Fraction(0)
        self.zero = Fraction(0)

    def text(self, middle: arb, enclosed: arb | None = None) -> str:
        """Return a ball as text.

        Args:
            middle: The ball whose middle is shown.
            enclosed: A ball with the exact number; ``middle`` by default.
        """
        return self._shown(middle, enclosed)[0]

    def number(self, middle: arb, enclosed: arb | None = None) -> float | str:
        """Return a ball for JSON: a double if doubles hold all digits, else text."""
        text, double, _ = self._shown(middle, enclosed)
        return text if double is None else double

    def bounded(self, enclosed: arb) -> tuple[float | str, float]:
        """Return a ball for JSON, and a bound on the error of what is shown."""
        text, double, error = self._shown(enclosed, None)
        bound = math.nextafter(float(error), math.inf) if error else 0.0
        return text if double is None else double, bound

    def record(self) -> dict[str, Any]:
        """Return the proved error bounds of all numbers shown so far, and the arithmetic used."""
        return {
            "certified": True,
            "relative_error_bound": _upwards(self.relative),
            "zero_bound": _upwards(self.zero),
            "arithmetic": arithmetic(),
        }

    def _shown(self, middle: arb, enclosed: arb | None) -> tuple[str, float | None, Fraction]:
        """Return the text, the double if that holds all digits, and the larger of their errors."""
        known = middle if enclosed is None else enclosed
        if known.contains(0) or abs(known) < arb((1, _ZERO_EXPONENT)):
            small = abs(known) < arb((1, _ZERO_EXPONENT))
            low, high = ends(arb((1, _ZERO_EXPONENT)) if small else known)
            size = max(abs(low), abs(high)) if not known.is_zero() else Fraction(0)
            self.zero = max(self.zero, size)
            return "0", 0.0 if self.digits <= DOUBLE_DIGITS else None, size
        text = written(middle, None, self.digits, "").value
        double = float(text) if self.digits <= DOUBLE_DIGITS else None
        if double is not None and not _LEAST_DOUBLE <= abs(double) < math.inf:
            double = None
        low, high = ends(known)
        largest = Fraction(0)
        for shown in (Fraction(text), *(() if double is None else (Fraction(double),))):
            error = max(abs(low - shown), abs(high - shown))
            self.relative = max(self.relative, error / abs(shown))
            largest = max(largest, error)
        return text, double, largest


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
    """Return a two-digit decimal that bounds the size of all numbers of a ball from above."""
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
    """Return the largest integer p with 10**p at most a positive number, exactly."""
    bits = size.numerator.bit_length() - size.denominator.bit_length()
    power = math.floor((bits - 1) * math.log10(2))
    while Fraction(10) ** (power + 1) <= size:
        power += 1
    return power


def nearest_float(interval: tuple[Fraction, Fraction]) -> float | None:
    """Return the double nearest to every number of an interval, or None if it is not unique.

    Beyond the largest double it is infinite.
    """
    low, high = (_rounded(end) for end in interval)
    return low if low == high else None


def _rounded(number: Fraction) -> float:
    try:
        return float(number)  # division of integers rounds to nearest
    except OverflowError:
        return math.inf if number > 0 else -math.inf


class Digits(Decimal):
    """A decimal that prints the digits it was made from, and that mixes with floats.

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
