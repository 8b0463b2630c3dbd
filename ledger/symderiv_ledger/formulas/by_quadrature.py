r"""Is a printed formula an expectation that has no closed form? Enclosures at points decide.

At exact covariances the expectation is a number with a proved bound, and the formula is a ball.
Two intervals without a common number refute the formula. Where they always meet, the formula holds
to the digits in which both are then known to agree, and no further: the digits are part of the
verdict.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any, Final

import mpmath
import sympy as sp
from flint import acb

from symderiv.foundation.errors import (
    DivergentError,
    FormulaError,
    InputError,
    NotYetError,
    SymderivError,
    ToleranceError,
)
from symderiv.gaussian import Value
from symderiv.precision.balls.decimals import ends
from symderiv.precision.balls.expression_balls import complex_ball
from symderiv_ledger.formulas.check import APPROACH, Check, Comparison, relative_error
from symderiv_ledger.formulas.evaluable import can_be_evaluated
from symderiv_ledger.formulas.evaluated import UNDEFINED, measured
from symderiv_ledger.formulas.mutants import repaired
from symderiv_ledger.formulas.points import Point, points

__all__ = ["check_by_quadrature"]

Interval = tuple[Fraction, Fraction]

#: The digits asked of the expectation; fewer where these cost too much, and in more dimensions.
DIGITS: Final = (25, 15, 10, 6)
DIGITS_IN_FOUR: Final = (12, 8, 5)
#: Fewer points than this inside the cone decide nothing.
LEAST_POINTS: Final = 3

#: Working precisions that are tried until the formula is narrower than that.
_BITS: Final = (300, 1000, 4000)
_NARROW: Final = Fraction(1, 10**40)
_DIGITS_OF_FORMULA: Final = 60
#: What may be left of a difference at the distance APPROACH from a singular covariance.
_LIMIT: Final = 1e-11
_RATIO_DIGITS: Final = 20

#: Kinds of points, and how many of each; quadrature is too dear for all.
_KINDS: Final = {
    "generic": 4,
    "diagonal": 1,
    "strongly correlated": 2,
    "different scales": 1,
    "small variances": 1,
    "one covariance zero": 2,
}
_KINDS_IN_FOUR: Final = {"generic": 3, "one covariance zero": 1}
_SINGULAR: Final = (4, 2)


def check_by_quadrature(
    formula: sp.Expr,
    mean: Callable[[sp.Matrix, int], Value],
    covariance: sp.Matrix,
) -> Check:
    """Compare a formula with an expectation that is known as a number at each covariance.

    Args:
        formula: In the symbols of the covariance.
        mean: The number at a covariance without symbols, to so many digits.
        covariance: Shape (n, n), symmetric; entries symbols, rationals or expressions of both.

    Raises:
        InputError: The formula has other symbols; the expectation does not exist.
        ToleranceError: The expectation was reached at too few points.
    """
    unknown = sorted(s.name for s in formula.free_symbols - covariance.free_symbols)
    if unknown:
        raise InputError(f"the formula has {', '.join(unknown)}, the covariance has not")
    sides = _Sides(formula, mean, covariance.rows)
    tried = list(_chosen(covariance))
    comparisons: list[Comparison] = []
    skipped: list[tuple[Point, str]] = []
    inside: list[Point] = []
    for point in tried:
        try:
            comparisons.append(sides.compare(point, inside))
        except (FormulaError, DivergentError):
            if not point.degenerate:
                raise
            skipped.append((point, "the expectation does not exist"))
        except (NotYetError, ToleranceError) as error:
            skipped.append((point, str(error)))
        else:
            if not point.degenerate:
                inside.append(point)
    if len(inside) < min(LEAST_POINTS, sum(not point.degenerate for point in tried)):
        raise ToleranceError(
            f"the expectation was reached at {len(inside)} covariances only, too few for a "
            f"verdict: {skipped[0][1] if skipped else 'there are no more'}"
        )
    check = Check(
        formula,
        None,
        tuple(comparisons),
        tuple(skipped),
        identical=False,
        digits=sides.digits,
        method="quadrature with proved bounds; the formula in balls",
    )
    if check.counterexample is None or not inside:
        return check
    suggestion = repaired(formula, lambda other: sides.agree(other, inside), sides.ratio(inside))
    return replace(check, suggestion=suggestion)


def _chosen(covariance: sp.Matrix) -> Iterator[Point]:
    """Fewer points than for closed forms, inside the cone first; small ones in many dimensions."""
    many = covariance.rows > 3
    left = dict(_KINDS_IN_FOUR if many and len(covariance.free_symbols) > 3 else _KINDS)
    singular = _SINGULAR[many]
    for point in points(covariance):
        if point.degenerate:
            singular -= 1
            if singular >= 0:
                yield point
        elif left.get(point.kind, 0) > 0:
            left[point.kind] -= 1
            yield _smaller(point) if many else point


def _smaller(point: Point) -> Point:
    """The point with a tenth of all its covariances where these are free, else itself."""
    if set(point.values.values()) != set(point.covariance):
        return point
    tenth = sp.Rational(1, 10)
    values = {symbol: tenth * value for symbol, value in point.values.items()}
    return replace(point, values=values, covariance=tenth * point.covariance)


class _Sides:
    """The formula and the expectation as intervals at points."""

    def __init__(
        self, formula: sp.Expr, mean: Callable[[sp.Matrix, int], Value], size: int
    ) -> None:
        self.formula, self.mean, self.size = formula, mean, size
        self.digits: int | None = None  # to which both sides agree wherever they do
        self._truths: dict[int, tuple[Value, Interval]] = {}

    # -- the sides -----------------------------------------------------------------------------

    def truth(self, point: Point) -> tuple[Value, Interval]:
        """The expectation with the most digits that can be had."""
        if id(point) not in self._truths:
            self._truths[id(point)] = self._computed(point)
        return self._truths[id(point)]

    def _computed(self, point: Point) -> tuple[Value, Interval]:
        ladder = DIGITS if self.size < 4 else DIGITS_IN_FOUR
        for digits in ladder:
            try:
                value = self.mean(point.covariance, digits)
            except ToleranceError:
                if digits == ladder[-1]:
                    raise
                continue
            if value.interval is None:
                raise ToleranceError(f"the expectation is not certified: {value.method}")
            return value, value.interval
        raise AssertionError("the ladder of digits is empty")

    def interval(self, formula: sp.Expr, values: Any) -> Interval | str | None:
        """The formula at a point; None where it has no value, text where that is no real one."""
        if not can_be_evaluated(formula, values):
            raise FormulaError(
                "an exponent or angle in the formula is too large", argument="formula"
            )
        try:
            exact = formula.xreplace(values)
        except (TypeError, ValueError, ZeroDivisionError):
            return None
        if exact.has(*UNDEFINED):
            return None
        for bits in _BITS:
            try:
                found = complex_ball(exact, bits)
            except (NotYetError, ToleranceError, ZeroDivisionError):
                break
            if not found.is_finite():
                continue
            if isinstance(found, acb) and not found.imag.contains(0):
                return "complex"
            low, high = ends(found.real if isinstance(found, acb) else found)
            if high - low <= _NARROW * max(abs(low), Fraction(1)):
                return low, high
        return _measured(exact)

    # -- comparing -----------------------------------------------------------------------------

    def compare(self, point: Point, inside: list[Point]) -> Comparison:
        value, truth = self.truth(point)
        found = self.interval(self.formula, point.values)
        shown = _with_error(value)
        if isinstance(found, str):
            return Comparison(point, found, shown, None, "the formula is complex there")
        if found is None:
            return self._undefined(point, inside)
        error = _relative(found, truth)
        if found[1] < truth[0] or truth[1] < found[0]:
            return Comparison(point, _decimal(found), shown, error, "the values differ")
        self._count(found, truth)
        return Comparison(point, _decimal(found), shown, error)

    def _count(self, found: Interval, truth: Interval) -> None:
        """Both numbers lie between the outermost ends: so many digits agree."""
        apart = max(found[1], truth[1]) - min(found[0], truth[0])
        if not apart:
            return
        # of numbers that cannot be told from zero, digits behind the point
        zero = truth[0] <= 0 <= truth[1]
        size = Fraction(1) if zero else min(abs(truth[0]), abs(truth[1]))
        digits = max(0, math.floor(_log10(size) - _log10(apart)))
        self.digits = digits if self.digits is None else min(self.digits, digits)

    def _undefined(self, point: Point, inside: list[Point]) -> Comparison:
        """No value at the point itself: the limit from inside the cone decides."""
        value, truth = self.truth(point)
        shown = _with_error(value)
        for start in inside[:2]:
            near = {
                s: (1 - APPROACH) * v + APPROACH * start.values[s] for s, v in point.values.items()
            }
            found = self.interval(self.formula, near)
            if isinstance(found, tuple) and _close(found, truth, _LIMIT):
                continue
            reason = "the formula is not defined there and its limit differs"
            limit = f"limit {_decimal(found)}" if isinstance(found, tuple) else "undefined"
            return Comparison(point, limit, shown, None, reason)
        if not inside:
            reason = "the formula is not defined there"
            return Comparison(point, "undefined", shown, None, reason)
        note = "not defined there; its limit from inside the cone is the expectation, to 11 digits"
        return Comparison(point, "undefined", shown, None, "", note)

    # -- repairing -----------------------------------------------------------------------------

    def agree(self, other: sp.Expr, inside: list[Point]) -> bool:
        """Could another formula be right at all points inside the cone?"""
        try:
            for point in inside:
                found = self.interval(other, point.values)
                truth = self.truth(point)[1]
                if not isinstance(found, tuple) or found[1] < truth[0] or truth[1] < found[0]:
                    return False
        except SymderivError:
            return False
        return True

    def ratio(self, inside: list[Point]) -> Any:
        """Formula over expectation if that is the same number inside the cone, else None."""
        low, high = Fraction(-(10**30)), Fraction(10**30)
        for point in inside:
            found = self.interval(self.formula, point.values)
            truth = self.truth(point)[1]
            if not isinstance(found, tuple):
                return None
            if truth[0] <= 0 <= truth[1]:
                if found[1] < truth[0] or truth[1] < found[0]:
                    return None
                continue
            quotients = [a / b for a in found for b in truth]
            low, high = max(low, min(quotients)), min(high, max(quotients))
            if low > high:
                return None
        middle = (low + high) / 2
        if not middle or high - low > abs(middle) * Fraction(1, 10**_RATIO_DIGITS):
            return None
        context = mpmath.MPContext()
        context.dps = 2 * _RATIO_DIGITS
        return context.mpf(middle.numerator) / middle.denominator


def _measured(exact: sp.Expr) -> Interval | str | None:
    """A value without an enclosure, with many more digits than are compared."""
    number = measured(exact, _DIGITS_OF_FORMULA)
    if number is None:
        return None
    if number.imag:
        return "complex"
    sign, mantissa, exponent, _ = number.real._mpf_
    middle = Fraction(-int(mantissa) if sign else int(mantissa)) * Fraction(2) ** int(exponent)
    spread = abs(middle) / 10**40
    return middle - spread, middle + spread


def _relative(found: Interval, truth: Interval) -> float:
    """The largest relative difference that the intervals leave."""
    context = mpmath.MPContext()
    context.dps = 50

    def number(value: Fraction) -> Any:
        return context.mpf(value.numerator) / value.denominator

    pairs = [(a, b) for a in found for b in truth]
    return max(relative_error(number(a), number(b)) for a, b in pairs)


def _close(found: Interval, truth: Interval, tolerance: float) -> bool:
    size = max(abs(end) for end in truth)
    room = Fraction(tolerance) * (size or 1)
    return found[0] - room <= truth[1] and truth[0] <= found[1] + room


def _log10(number: Fraction) -> float:
    return math.log10(number.numerator) - math.log10(number.denominator)


def _decimal(interval: Interval) -> str:
    middle = (interval[0] + interval[1]) / 2
    context = mpmath.MPContext()
    context.dps = 32
    return str(context.nstr(context.mpf(middle.numerator) / middle.denominator, 30))


def _with_error(value: Value) -> str:
    return value.value if value.error_bound == "0" else f"{value.value} ± {value.error_bound}"
