r"""Is a printed formula the expectation that it claims to be?

The verdict comes from numbers: both sides at exact rational covariances, where the formula's
exact value is built first (so that 0/0, 1/0 and roots of negative numbers are seen as such, not as
rounding) and then enclosed in balls much narrower than the tolerance: that two values differ by
more than that, or do not, is proved. A function that has no ball is evaluated to many digits, and
the check says so. The symbolic attempt is evidence beside it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Final

import mpmath
import sympy as sp

from symderiv.foundation.errors import FormulaError, InputError, NotYetError, ToleranceError
from symderiv.gaussian import Expectation, SignMean4
from symderiv.precision.balls.expression_balls import ball
from symderiv_ledger.formulas.evaluable import can_be_evaluated
from symderiv_ledger.formulas.evaluated import UNDEFINED, evaluated
from symderiv_ledger.formulas.identity import is_identity
from symderiv_ledger.formulas.mutants import repaired
from symderiv_ledger.formulas.points import Point, points

__all__ = ["Check", "Comparison", "check_formula"]

#: Both sides are enclosed to about so many digits ...
DIGITS: Final = 50
#: ... (fewer where an integral is computed numerically) ...
DIGITS_OF_INTEGRALS: Final = 32
#: ... and count as equal if they differ by less than this, relative to the expectation.
TOLERANCE: Final = 1e-25
#: The same with integrals computed numerically.
TOLERANCE_OF_INTEGRALS: Final = 1e-20
_BITS_OF_INTEGRALS: Final = 200
#: Below this, a number is zero.
ZERO: Final = 1e-40
#: Relative errors beyond this are reported as this.
LARGEST: Final = 1e300
#: Distance from a singular covariance at which a limit is read off, and what may be left there
#: of a difference that vanishes like its root.
APPROACH: Final = sp.Rational(1, 10**30)
LIMIT_TOLERANCE: Final = 1e-11


@dataclass(frozen=True)
class Comparison:
    """Both sides at one point.

    Args:
        point: The covariance.
        formula: Value of the formula, 30 digits; "undefined" if there is none.
        expectation: Value of the expectation, 30 digits.
        relative_error: Difference relative to the expectation; None where the formula has no real
            value.
        reason: Why this is a failure; empty if it is none.
        note: How a value that is missing (0/0) was judged.
    """

    point: Point
    formula: str
    expectation: str
    relative_error: float | None
    reason: str = ""
    note: str = ""


@dataclass(frozen=True)
class Check:
    """The outcome of comparing a formula with an expectation.

    Args:
        formula: The formula.
        expectation: The engine's own, with its closed form in ``value``; None if it has none.
        comparisons: All points at which both sides were computed, in order.
        skipped: Points at which the expectation does not exist, with the engine's reason.
        identical: Did the difference tidy to zero symbolically?
        suggestion: A small change that makes a wrong formula right; empty if none was found.
        digits: To how many digits both sides agree wherever the formula is right; None if it was
            compared with zeros only.
        method: How the values were computed.
        evaluated: Digits with which sides that have no ball were evaluated; None if all values are
            enclosed.
    """

    formula: sp.Expr
    expectation: Expectation | None
    comparisons: tuple[Comparison, ...]
    skipped: tuple[tuple[Point, str], ...]
    identical: bool
    suggestion: str = field(default="")
    digits: int | None = None
    method: str = "closed form"
    evaluated: int | None = None

    @property
    def verdict(self) -> str:
        """``"holds"`` or ``"fails"``."""
        return "holds" if self.counterexample is None else "fails"

    @property
    def counterexample(self) -> Comparison | None:
        """The first point that contradicts the formula."""
        return next((c for c in self.comparisons if c.reason), None)

    @property
    def max_relative_error(self) -> float | None:
        """Largest over the points at which the formula has a real value."""
        errors = [c.relative_error for c in self.comparisons if c.relative_error is not None]
        return max(errors, default=None)

    @property
    def undefined_points(self) -> tuple[Comparison, ...]:
        """Points (corners of the cone, zero entries) without a value but with the right limit."""
        return tuple(c for c in self.comparisons if c.note and not c.reason)

    @property
    def tally(self) -> dict[str, tuple[int, int]]:
        """Per kind of point, at how many the formula is right, and of how many."""
        tally: dict[str, tuple[int, int]] = {}
        for comparison in self.comparisons:
            good, total = tally.get(comparison.point.kind, (0, 0))
            tally[comparison.point.kind] = (good + (not comparison.reason), total + 1)
        return tally


def check_formula(
    formula: sp.Expr,
    expectation: Callable[[sp.Matrix], Expectation],
    covariance: sp.Matrix,
    *,
    suggest: bool = True,
) -> Check:
    """Compare a formula with an expectation at many exact covariances.

    Args:
        formula: In the symbols of the covariance.
        expectation: The expectation at a covariance, symbolic or numeric.
        covariance: Shape (n, n), symmetric; entries symbols, rationals or expressions of both.
        suggest: Look for a small change that repairs a wrong formula.

    Raises:
        InputError: The formula has other symbols; the expectation does not exist.
        ToleranceError: A side cannot be evaluated, or the engine contradicts itself.
    """
    unknown = sorted(s.name for s in formula.free_symbols - covariance.free_symbols)
    if unknown:
        raise InputError(f"the formula has {', '.join(unknown)}, the covariance has not")
    sides = _Sides(formula, expectation, covariance)
    tried = points(covariance)
    inside = [point for point in tried if not point.degenerate]
    comparisons: list[Comparison] = []
    skipped: list[tuple[Point, str]] = []
    for point in tried:
        try:
            comparisons.append(sides.compare(point, inside))
        except FormulaError:
            raise
        except InputError as error:
            if not point.degenerate or not point.values:
                raise
            skipped.append((point, str(error)))
    for point in inside[:2]:
        sides.confirm(point)
    check = Check(
        formula,
        sides.symbolic,
        tuple(comparisons),
        tuple(skipped),
        is_identity(formula, sides.symbolic.value),
        digits=-round(math.log10(sides.tolerance)),
        evaluated=None if sides.enclosed else sides.digits,
    )
    if check.counterexample is None or not suggest or not inside:
        return check
    suggestion = repaired(formula, lambda other: sides.agree(other, inside), sides.ratio(inside))
    return replace(check, suggestion=suggestion)


class _Sides:
    """The formula and the expectation, ready to be evaluated at points."""

    def __init__(
        self,
        formula: sp.Expr,
        expectation: Callable[[sp.Matrix], Expectation],
        covariance: sp.Matrix,
    ) -> None:
        self.formula = formula
        self.expectation = expectation
        self.symbolic = expectation(covariance)
        integrals = formula.has(SignMean4) or self.symbolic.value.has(SignMean4)
        self.digits = DIGITS_OF_INTEGRALS if integrals else DIGITS
        self.tolerance = TOLERANCE_OF_INTEGRALS if integrals else TOLERANCE
        self.enclosed = True  # all that was compared
        self._values: dict[int, Any] = {}
        self._integrals: dict[sp.Expr, Any] = {}

    def value(
        self, expression: sp.Expr, values: Mapping[sp.Symbol, sp.Expr], digits: int = 0
    ) -> Any:
        """An expression at exact values of its symbols; integrals are computed once."""
        if not can_be_evaluated(expression, values):
            point = ", ".join(f"{symbol} = {value}" for symbol, value in values.items())
            raise FormulaError(f"an exponent or angle in the formula is too large at {point}")
        try:
            exact = expression.xreplace(values)
        except (TypeError, ValueError, ZeroDivisionError):
            # a function that refuses undefined arguments
            return None
        if exact.has(*UNDEFINED):
            return None
        for integral in exact.atoms(SignMean4) - self._integrals.keys():
            with suppress(NotYetError, ToleranceError):
                self._integrals[integral] = ball(integral, _BITS_OF_INTEGRALS)
        found = evaluated(exact, digits or self.digits, self._integrals)
        if found is None:
            return None
        self.enclosed = self.enclosed and found.enclosed
        return found.value

    def truth(self, point: Point) -> Any:
        """The expectation. On the edge of the cone it is derived anew: limits come out there."""
        if id(point) not in self._values:
            if point.degenerate:
                value = self.value(self.expectation(point.covariance).value, {})
            else:
                value = self.value(self.symbolic.value, point.values)
            if value is None or value.imag:
                entries = point.covariance.tolist()
                raise ToleranceError(f"the expectation could not be evaluated at {entries}")
            self._values[id(point)] = value.real
        return self._values[id(point)]

    def confirm(self, point: Point) -> None:
        """The closed form in symbols against a derivation with numbers."""
        again = self.value(self.expectation(point.covariance).value, {})
        if again is None or relative_error(again.real, self.truth(point)) > self.tolerance:
            raise ToleranceError("two derivations of the expectation disagree; please report this")

    def compare(self, point: Point, inside: Sequence[Point]) -> Comparison:
        truth = self.truth(point)
        value = self.value(self.formula, point.values)
        if value is None:
            return self._undefined(point, truth, inside)
        if value.imag:
            return Comparison(
                point, _text(value), _text(truth), None, "the formula is complex there"
            )
        error = relative_error(value.real, truth)
        reason = "the values differ" if error > self.tolerance else ""
        return Comparison(point, _text(value.real), _text(truth), error, reason)

    def _undefined(self, point: Point, truth: Any, inside: Sequence[Point]) -> Comparison:
        """No value at the point itself (0/0, 1/0): the limit from inside the cone decides."""
        starts = [start for start in inside if start is not point][:2]
        if not starts:
            reason = "the formula is not defined there"
            return Comparison(point, "undefined", _text(truth), None, reason)
        for start in starts:
            near = {
                s: (1 - APPROACH) * value + APPROACH * start.values[s]
                for s, value in point.values.items()
            }
            value = self.value(self.formula, near)
            scale = max(abs(truth), abs(self.truth(start)))
            if value is None or value.imag or abs(value.real - truth) > LIMIT_TOLERANCE * scale:
                reason = "the formula is not defined there and its limit differs"
                shown = "undefined" if value is None else f"limit {_text(value)}"
                return Comparison(point, shown, _text(truth), None, reason)
        note = (
            "not defined there; at 10^-30 of the way from there to two positive definite "
            "covariances the formula has the value of the expectation"
        )
        return Comparison(point, "undefined", _text(truth), None, "", note)

    def agree(self, other: sp.Expr, inside: Sequence[Point]) -> bool:
        """Is another formula right at all points inside the cone? The first is tried coarsely."""
        if not all(can_be_evaluated(other, point.values) for point in inside):
            return False
        first = self.value(other, inside[0].values, 15)
        if first is None or first.imag or relative_error(first.real, self.truth(inside[0])) > 1e-10:
            return False
        for point in inside:
            value = self.value(other, point.values)
            if value is None or value.imag:
                return False
            if relative_error(value.real, self.truth(point)) > self.tolerance:
                return False
        return True

    def ratio(self, inside: Sequence[Point]) -> Any:
        """Formula over expectation if that is the same number inside the cone, else None."""
        found = None
        for point in inside:
            value = self.value(self.formula, point.values)
            truth = self.truth(point)
            if value is None or value.imag:
                return None
            if abs(truth) < ZERO or abs(value) < ZERO:
                if abs(truth) < ZERO and abs(value) < ZERO:
                    continue
                return None
            now = value.real / truth
            if found is not None and abs(now - found) > self.tolerance * abs(found):
                return None
            found = now
        return found


def relative_error(value: Any, truth: Any) -> float:
    """|value - truth|/|truth|; relative to the value where the truth is zero."""
    difference = abs(value - truth)
    if difference < ZERO:
        return 0.0
    ratio = difference / (abs(truth) if abs(truth) > ZERO else abs(value))
    return float(ratio) if ratio < LARGEST else float(LARGEST)


def _text(value: Any) -> str:
    context = mpmath.MPContext()
    context.dps = 32
    real = context.nstr(context.mpf(value.real), 30)
    if not value.imag:
        return str(real)
    sign = "-" if value.imag < 0 else "+"
    return f"{real} {sign} {context.nstr(context.mpf(abs(value.imag)), 30)}*I"
