"""A formula and the expectation that it claims to be, as numbers at exact covariances.

The expectation is known in closed form, or as an interval at every covariance.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import product, starmap
from typing import Any, Final

import sympy as sp

from symderiv.foundation.errors import (
    DivergentError,
    FormulaError,
    InputError,
    NotYetError,
    SymderivError,
    ToleranceError,
)
from symderiv.gaussian import DerivedExpectation, SignMean4, Value
from symderiv.precision.balls.expression_balls import ball
from symderiv_ledger.formulas.evaluated import UNDEFINED, can_be_evaluated, context_of, evaluated
from symderiv_ledger.formulas.points import CovariancePoint, points

#: Both sides are enclosed to about so many digits ...
DIGITS: Final = 50
#: ... (fewer where an integral is computed numerically) ...
DIGITS_OF_INTEGRALS: Final = 32
#: ... and count as equal if they differ by less than this, relative to the expectation.
TOLERANCE: Final = 1e-25
#: The tolerance where integrals are computed numerically.
TOLERANCE_OF_INTEGRALS: Final = 1e-20
_BITS_OF_INTEGRALS: Final = 200
#: Smaller numbers count as zero.
ZERO: Final = 1e-40
#: Larger relative errors are reported as this one.
LARGEST: Final = 1e300
#: Distance from a singular covariance at which a limit is read off, and the largest difference
#: there, which may vanish like the root of the distance only.
APPROACH: Final = sp.Rational(1, 10**30)
LIMIT_TOLERANCE: Final = 1e-11
#: Largest relative spread over points of the ratio of formula and expectation that is one number.
_SAME_RATIO: Final = 1e-19

#: The digits asked of an expectation without closed form; fewer where these cost too much, and in
#: four dimensions.
DIGITS_BY_QUADRATURE: Final = (25, 15, 10, 6)
DIGITS_IN_FOUR: Final = (12, 8, 5)
#: Kinds of points, and how many of each; quadrature is too slow for all.
_KINDS: Final = {
    "generic": 4,
    "diagonal": 1,
    "strongly correlated": 2,
    "different scales": 1,
    "small variances": 1,
    "one covariance zero": 2,
    "the covariance given": 1,
}
_KINDS_IN_FOUR: Final = {"generic": 3, "one covariance zero": 1}
_SINGULAR: Final = "singular, of any kind"

_NUMBERS: Final = context_of(60)
_SHOWN: Final = context_of(32)


@dataclass(frozen=True)
class FormulaComparison:
    """A comparison of both sides, to 30 digits, at one point."""

    point: CovariancePoint  # the covariance
    formula: str  # value of the formula; "undefined" if there is none
    expectation: str  # value of the expectation
    relative_error: float | None  # None where the formula has no real value
    reason: str = ""  # why this is a failure; empty if it is none
    note: str = ""  # how a value that is missing (0/0) was judged


@dataclass(frozen=True)
class Known:
    """Bounds of a real number, and the text that shows it."""

    low: Any
    high: Any
    text: str

    @classmethod
    def of(cls, value: Any, spread: Any = 0) -> Known:
        """Return bounds at a distance ``spread`` around an mpmath number."""
        middle = _NUMBERS.mpf(value)
        return cls(middle - spread, middle + spread, _text(value))

    @property
    def size(self) -> Any:
        """The larger of the absolute values of its ends."""
        return max(abs(self.low), abs(self.high))

    @property
    def is_zero(self) -> bool:
        """True if the number cannot be told from zero."""
        return bool(self.low < ZERO and self.high > -ZERO)

    def apart(self, truth: Known) -> tuple[float, float]:
        """Return the least and the largest relative error that the bounds allow."""
        ends = list(starmap(_relative_error, self._pairs(truth)))
        meet = self.low <= truth.high and truth.low <= self.high
        return 0.0 if meet else min(ends), max(ends)

    def over(self, truth: Known) -> list[Any]:
        """Return the ratios of the ends of both, among them the least and the largest."""
        return [a / b for a, b in self._pairs(truth)]

    def _pairs(self, other: Known) -> Iterator[tuple[Any, Any]]:
        return product((self.low, self.high), (other.low, other.high))


class Sides(ABC):
    """The formula, in symbols of the covariance only, and the expectation, ready to be evaluated.

    The covariance has the shape (n, n), and symbols, rationals or expressions of both as entries.
    """

    tolerance = 0.0  # relative differences up to this count as zero
    digits = DIGITS  # to which the formula is evaluated
    symbolic: DerivedExpectation | None = None  # the expectation, if it has a closed form
    method = "closed form"  # how the expectation is known
    common: int | None = None  # digits to which both sides agree wherever the formula is right

    def __init__(self, formula: sp.Expr, covariance: sp.Matrix) -> None:
        unknown = sorted(s.name for s in formula.free_symbols - covariance.free_symbols)
        if unknown:
            raise InputError(f"the formula contains {', '.join(unknown)}, but not the covariance")
        self.formula, self.covariance = formula, covariance
        self.enclosed = True  # whether every value compared so far is enclosed
        self._integrals: dict[sp.Expr, Any] = {}
        # keyed by the identity of a point: hashing its matrix is slow
        self._truths: dict[int, Known] = {}

    def points(self) -> Iterable[CovariancePoint]:
        """Return the points at which both sides are compared."""
        return points(self.covariance)

    @abstractmethod
    def computed(self, point: CovariancePoint) -> Known:
        """Compute the expectation at a point."""

    @abstractmethod
    def known(self, value: Any) -> Known:
        """Return bounds of the exact value from a computed real value of a formula."""

    @abstractmethod
    def why_skipped(self, point: CovariancePoint, error: SymderivError) -> str:
        """Return why a point without a value of a side is skipped; empty ends the check."""

    def confirm(self, inside: Sequence[CovariancePoint]) -> None:  # noqa: B027
        """Refuse a verdict if two derivations of the expectation differ inside the cone."""

    def agreed(self, found: Known, truth: Known) -> None:  # noqa: B027
        """Record that both sides are compatible at a point."""

    # -- values ----------------------------------------------------------------------------------

    def value(self, expression: sp.Expr, values: Mapping[sp.Symbol, sp.Expr]) -> Any:
        """Return an expression at exact values of its symbols, as a complex number or None.

        None means that it has no value. Each integral is computed once.
        """
        if not can_be_evaluated(expression, values):
            point = ", ".join(f"{symbol} = {value}" for symbol, value in values.items())
            raise FormulaError(f"an exponent or angle in the formula is too large at {point}")
        try:
            exact = expression.xreplace(values)
        except (TypeError, ValueError, ZeroDivisionError):
            # a function in the expression refuses undefined arguments
            return None
        if exact.has(*UNDEFINED):
            return None
        for integral in exact.atoms(SignMean4) - self._integrals.keys():
            with suppress(NotYetError, ToleranceError):
                self._integrals[integral] = ball(integral, _BITS_OF_INTEGRALS)
        evaluation = evaluated(exact, self.digits, self._integrals)
        if evaluation is None:
            return None
        self.enclosed = self.enclosed and evaluation.enclosed
        return evaluation.value

    def truth(self, point: CovariancePoint) -> Known:
        """Return the expectation at a point, computed once."""
        if id(point) not in self._truths:
            self._truths[id(point)] = self.computed(point)
        return self._truths[id(point)]

    # -- comparing -------------------------------------------------------------------------------

    def compare(
        self, point: CovariancePoint, tried: Sequence[CovariancePoint]
    ) -> FormulaComparison:
        truth = self.truth(point)
        value = self.value(self.formula, point.values)
        if value is None:
            return self._undefined(point, truth, tried)
        own = self._real(value)
        if own is None:
            reason = "the formula is complex there"
            return FormulaComparison(point, _text(value), truth.text, None, reason)
        least, error = own.apart(truth)
        reason = "the values differ" if least > self.tolerance else ""
        if not reason:
            self.agreed(own, truth)
        return FormulaComparison(point, own.text, truth.text, error, reason)

    def _undefined(
        self, point: CovariancePoint, truth: Known, tried: Sequence[CovariancePoint]
    ) -> FormulaComparison:
        """Compare limits from inside the cone where the formula has no value (0/0, 1/0)."""
        starts: list[CovariancePoint] = []
        for start in tried:
            if len(starts) < 2 and not start.degenerate and start is not point:
                with suppress(SymderivError):
                    self.truth(start)
                    starts.append(start)
        if not starts:
            reason = "the formula is not defined there"
            return FormulaComparison(point, "undefined", truth.text, None, reason)
        for start in starts:
            near = {
                s: (1 - APPROACH) * value + APPROACH * start.values[s]
                for s, value in point.values.items()
            }
            value = self.value(self.formula, near)
            margin = LIMIT_TOLERANCE * (max(truth.size, self.truth(start).size) or 1)
            own = self._real(value)
            if own is None or own.low - margin > truth.high or truth.low > own.high + margin:
                reason = "the formula is not defined there and its limit differs"
                shown = "undefined" if value is None else f"limit {_text(value)}"
                return FormulaComparison(point, shown, truth.text, None, reason)
        note = (
            "not defined there; at 10^-30 of the way from there to two positive definite "
            "covariances the formula has the value of the expectation"
        )
        return FormulaComparison(point, "undefined", truth.text, None, "", note)

    # -- repairing -------------------------------------------------------------------------------

    def agree(self, other: sp.Expr, inside: Sequence[CovariancePoint]) -> bool:
        """Return whether another formula agrees with the expectation at all these points."""
        with suppress(SymderivError):
            for point in inside:
                own = self._real(self.value(other, point.values))
                if own is None or own.apart(self.truth(point))[0] > self.tolerance:
                    return False
            return True
        return False

    def _real(self, value: Any) -> Known | None:
        """Return the bounds of a computed value; None if it has none or is complex."""
        return None if value is None or value.imag else self.known(value.real)

    def ratio(self, inside: Sequence[CovariancePoint]) -> Any:
        """Return formula over expectation if the ratio is one number inside the cone, else None."""
        low, high = _NUMBERS.mpf("-1e30"), _NUMBERS.mpf("1e30")
        for point in inside:
            own = self._real(self.value(self.formula, point.values))
            truth = self.truth(point)
            if own is None:
                return None
            if truth.is_zero:
                if not own.is_zero:
                    return None
                continue
            quotients = own.over(truth)
            spread = self.tolerance * max(map(abs, quotients))
            low, high = max(low, min(quotients) - spread), min(high, max(quotients) + spread)
            if low > high:
                return None
        middle = (low + high) / 2
        return middle if middle and high - low <= abs(middle) * _SAME_RATIO else None


class InClosedForm(Sides):
    """An expectation that the engine has in closed form, at any covariance."""

    def __init__(
        self,
        formula: sp.Expr,
        expectation: Callable[[sp.Matrix], DerivedExpectation],
        covariance: sp.Matrix,
    ) -> None:
        super().__init__(formula, covariance)
        self.expectation, self._closed = expectation, expectation(covariance)
        self.symbolic = self._closed
        integrals = formula.has(SignMean4) or self._closed.value.has(SignMean4)
        self.digits = DIGITS_OF_INTEGRALS if integrals else DIGITS
        self.tolerance = TOLERANCE_OF_INTEGRALS if integrals else TOLERANCE
        self.common = -round(math.log10(self.tolerance))

    def computed(self, point: CovariancePoint) -> Known:
        # a derivation at the singular covariance itself takes the limits
        closed = self.expectation(point.covariance) if point.degenerate else self._closed
        return self._at(closed.value, point)

    def _at(self, mean: sp.Expr, point: CovariancePoint) -> Known:
        known = self._real(self.value(mean, point.values))
        if known is None:
            entries = point.covariance.tolist()
            raise ToleranceError(f"the expectation could not be evaluated at {entries}")
        return known

    def known(self, value: Any) -> Known:
        return Known.of(value)

    def why_skipped(self, point: CovariancePoint, error: SymderivError) -> str:
        refused = isinstance(error, InputError) and not isinstance(error, FormulaError)
        return str(error) if refused and point.degenerate and point.values else ""

    def confirm(self, inside: Sequence[CovariancePoint]) -> None:
        for point in inside[:2]:
            anew = self._at(self.expectation(point.covariance).value, point)
            if anew.apart(self.truth(point))[0] > self.tolerance:
                raise ToleranceError(
                    "two derivations of the expectation disagree; please report this"
                )


class ByQuadrature(Sides):
    """An expectation that is known as an interval, at a covariance without symbols.

    ``mean`` takes the covariance and the number of digits.
    """

    method = "quadrature with proved bounds; the formula in balls"

    def __init__(
        self, formula: sp.Expr, mean: Callable[[sp.Matrix, int], Value], covariance: sp.Matrix
    ) -> None:
        super().__init__(formula, covariance)
        self.mean = mean

    def points(self) -> Iterable[CovariancePoint]:
        """Yield fewer points than for closed forms, with small entries in many dimensions."""
        many = self.covariance.rows > 3
        free = len(self.covariance.free_symbols)
        left = Counter(_KINDS_IN_FOUR if many and free > 3 else _KINDS)
        left[_SINGULAR] = 2 if many else 4
        for point in points(self.covariance):
            kind = _SINGULAR if point.degenerate else point.kind
            left[kind] -= 1
            if left[kind] >= 0:
                yield _smaller(point) if many and not point.degenerate else point

    def computed(self, point: CovariancePoint) -> Known:
        *more, least = DIGITS_BY_QUADRATURE if self.covariance.rows < 4 else DIGITS_IN_FOUR
        for digits in more:
            with suppress(ToleranceError):
                return _proved(self.mean(point.covariance, digits))
        return _proved(self.mean(point.covariance, least))

    def known(self, value: Any) -> Known:
        """Return bounds wider than the error that :func:`evaluated` leaves."""
        return Known.of(value, max(abs(value) * 1e-44, _NUMBERS.mpf("1e-88")))

    def why_skipped(self, point: CovariancePoint, error: SymderivError) -> str:
        if isinstance(error, FormulaError | DivergentError):
            return "the expectation does not exist" if point.degenerate else ""
        return str(error) if isinstance(error, NotYetError | ToleranceError) else ""

    def agreed(self, found: Known, truth: Known) -> None:
        """Record how many digits all numbers within both bounds share."""
        if truth.low == truth.high:
            return  # the expectation is known exactly
        apart = max(found.high, truth.high) - min(found.low, truth.low)
        # of numbers that may be zero, digits after the decimal point are counted
        zero = truth.low <= 0 <= truth.high
        size = 1 if zero else min(abs(truth.low), abs(truth.high))
        digits = max(0, int(_NUMBERS.floor(_NUMBERS.log10(size / apart))))
        self.common = digits if self.common is None else min(self.common, digits)


def _smaller(point: CovariancePoint) -> CovariancePoint:
    """Return a point with a tenth of its covariances if all are free, else the point itself."""
    if set(point.values.values()) != set(point.covariance):
        return point
    tenth = sp.Rational(1, 10)
    values = {symbol: tenth * value for symbol, value in point.values.items()}
    return replace(point, values=values, covariance=tenth * point.covariance)


def _proved(value: Value) -> Known:
    """Return the proved bounds of a value."""
    if value.interval is None:
        raise ToleranceError(f"the expectation is not certified: {value.method}")
    text = value.value if value.error_bound == "0" else f"{value.value} ± {value.error_bound}"
    low, high = (_NUMBERS.mpf(end.numerator) / end.denominator for end in value.interval)
    return Known(low, high, text)


def _relative_error(value: Any, truth: Any) -> float:
    """Return |value - truth|/|truth|; relative to the value where the truth is zero."""
    difference = abs(value - truth)
    if difference < ZERO:
        return 0.0
    ratio = difference / (abs(truth) if abs(truth) > ZERO else abs(value))
    return float(ratio) if ratio < LARGEST else float(LARGEST)


def _text(value: Any) -> str:
    real = _SHOWN.nstr(_SHOWN.mpf(value.real), 30)
    if not value.imag:
        return str(real)
    sign = "-" if value.imag < 0 else "+"
    return f"{real} {sign} {_SHOWN.nstr(_SHOWN.mpf(abs(value.imag)), 30)}*I"
