r"""Checks whether a printed formula is the expectation that it claims to be.

The verdict comes from numbers: both sides at exact rational covariances, where the formula's
exact value is built first (so that 0/0, 1/0 and roots of negative numbers are seen as such, not as
rounding) and then enclosed in balls much narrower than the tolerance: that two values differ by
more than that, or do not, is proved. A function that has no ball is evaluated to many digits, and
the check says so. The symbolic attempt is evidence beside it.

An expectation without a closed form is at each covariance a number with a proved bound. Where it
always meets the formula, this holds to the digits in which both are then known to agree. A wrong
formula is tried with small changes, the misprints that occur most often.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

import mpmath
import sympy as sp

from symderiv.foundation.errors import SymderivError, ToleranceError
from symderiv.gaussian import DerivedExpectation
from symderiv.gaussian.forms.surds import AlgebraFrame, tidy
from symderiv_ledger.formulas.formula_sides import FormulaComparison, Sides
from symderiv_ledger.formulas.points import CovariancePoint

#: Fewer points than this inside the cone decide nothing.
LEAST_POINTS: Final = 3
#: Most operations in a difference that is simplified: factoring a larger one could take long.
MAX_OPERATIONS: Final = 500


@dataclass(frozen=True)
class Check:
    """The outcome of comparing a formula with an expectation."""

    expectation: DerivedExpectation | None  # None if it has no closed form
    # all points at which both sides were computed, in order
    comparisons: tuple[FormulaComparison, ...]
    # points at which the expectation does not exist, with the engine's reason
    skipped: tuple[tuple[CovariancePoint, str], ...]
    identical: bool  # whether the difference was simplified to zero symbolically
    suggestion: str = ""  # a small change that makes a wrong formula right; empty if none was found
    # to how many digits both sides agree wherever the formula is right; None if it was compared
    # with exact numbers only, such as zeros
    digits: int | None = None
    method: str = "closed form"  # how the values were computed
    # digits with which sides that have no ball were evaluated; None if all values are enclosed
    evaluated: int | None = None

    @property
    def verdict(self) -> str:
        """``"holds"`` or ``"fails"``."""
        return "holds" if self.counterexample is None else "fails"

    @property
    def counterexample(self) -> FormulaComparison | None:
        """The first point that contradicts the formula."""
        return next((c for c in self.comparisons if c.reason), None)

    @property
    def max_relative_error(self) -> float | None:
        """The largest relative error at points where the formula has a real value."""
        errors = [c.relative_error for c in self.comparisons if c.relative_error is not None]
        return max(errors, default=None)

    @property
    def undefined_points(self) -> tuple[FormulaComparison, ...]:
        """Points (corners of the cone, zero entries) at which only the formula's limit is right."""
        return tuple(c for c in self.comparisons if c.note and not c.reason)

    @property
    def tally(self) -> dict[str, tuple[int, int]]:
        """Count, by kind of point, the points at which the formula is right, and all of them."""
        tally: dict[str, tuple[int, int]] = {}
        for comparison in self.comparisons:
            good, total = tally.get(comparison.point.kind, (0, 0))
            tally[comparison.point.kind] = (good + (not comparison.reason), total + 1)
        return tally


def check_formula(sides: Sides, *, suggest: bool = True) -> Check:
    """Compare both sides at many exact covariances; suggest a small change to a wrong formula.

    Raises:
        InputError: The formula has other symbols than the covariance; the expectation does not
            exist.
        ToleranceError: A side cannot be evaluated, or at too few points only, or two derivations of
            the expectation disagree.
    """
    formula, tried = sides.formula, list(sides.points())
    comparisons: list[FormulaComparison] = []
    skipped: list[tuple[CovariancePoint, str]] = []
    for point in tried:
        try:
            comparisons.append(sides.compare(point, tried))
        except SymderivError as error:
            reason = sides.why_skipped(point, error)
            if not reason:
                raise
            skipped.append((point, reason))
    inside = [one.point for one in comparisons if not one.point.degenerate]
    wanted = sum(not point.degenerate for point in tried)
    if not comparisons or len(inside) < min(LEAST_POINTS, wanted):
        raise ToleranceError(
            f"the expectation was reached at {len(inside)} covariances only, too few for a "
            f"verdict: {skipped[0][1] if skipped else 'there are no more'}"
        )
    sides.confirm(inside)
    check = Check(
        sides.symbolic,
        tuple(comparisons),
        tuple(skipped),
        sides.symbolic is not None and is_identity(formula, sides.symbolic.value),
        digits=sides.common,
        method=sides.method,
        evaluated=None if sides.enclosed else sides.digits,
    )
    if check.counterexample is None or not suggest or not inside:
        return check
    suggestion = repaired(formula, lambda other: sides.agree(other, inside), sides.ratio(inside))
    return replace(check, suggestion=suggestion)


def is_identity(left: sp.Expr, right: sp.Expr) -> bool:
    """Return True if the difference is found to vanish; False proves nothing.

    Factors under roots are taken as positive, as they are inside the cone of covariances; so a
    success is evidence, to which numbers are added.
    """
    difference = left - right
    if difference == 0 or difference.count_ops() > MAX_OPERATIONS:
        return bool(difference == 0)
    # without sample points, no factor is seen to be negative
    frame = AlgebraFrame(tuple(sorted(difference.free_symbols, key=str)), ())
    try:
        return bool(tidy(difference, frame) == 0)
    except (sp.PolynomialError, NotImplementedError, ValueError, RecursionError):
        return False


MAX_MUTANTS: Final = 500


def repaired(formula: sp.Expr, agrees: Callable[[sp.Expr], bool], ratio: Any) -> str:
    """Return a sentence that says how a wrong formula becomes right, or an empty one.

    ``agrees`` tells whether a changed formula is right; ``ratio`` is formula over expectation if
    that is one number, else None.
    """
    if ratio is not None:
        factor = _recognised(ratio)
        if factor == -1:
            return "the sign of the whole is wrong"
        # a ratio recognised as 1 is not 1, but too close to 1 to be another simple number
        shown = mpmath.nstr(ratio, 20) if factor == 1 else factor
        return f"the formula is {shown} times the expectation"
    for what, mutant in itertools.islice(_mutants(formula), MAX_MUTANTS):
        if agrees(mutant):
            return f"it holds with {what}"
    return ""


def _recognised(ratio: Any) -> sp.Expr:
    """Return a ratio as a simple rational, alone or times a power of 2 or pi; else as a float."""
    number = sp.Float(ratio._mpf_, 25)
    for unit in (sp.S.One, sp.sqrt(2), sp.pi, 1 / sp.pi, sp.sqrt(sp.pi), 1 / sp.sqrt(sp.pi)):
        rational = sp.nsimplify(
            sp.N(number / unit, 25), rational=True, tolerance=sp.Rational(1, 10**18)
        )
        if abs(rational.p) < 1000 and rational.q < 1000:
            return rational * unit
    return sp.Float(number, 15)


def _mutants(formula: sp.Expr) -> Iterator[tuple[str, sp.Expr]]:
    pieces = dict.fromkeys(e for e in sp.preorder_traversal(formula) if e.args)
    symbols = sorted(formula.free_symbols, key=lambda s: s.name)
    for piece in pieces:
        for what, other in _signs_and_powers(piece):
            yield what, formula.xreplace({piece: other})
    for a, b in itertools.combinations(symbols, 2):
        yield f"{a} and {b} exchanged", formula.xreplace({a: b, b: a})
    for piece in pieces:
        for what, other in _indices(piece, symbols):
            yield what, formula.xreplace({piece: other})


def _signs_and_powers(piece: sp.Expr) -> Iterator[tuple[str, sp.Expr]]:
    """Yield flipped signs, squares and roots added or left out, and factors exchanged with their
    inverses.
    """
    parts = [(part, piece.args[:i] + piece.args[i + 1 :]) for i, part in enumerate(piece.args)]
    if piece.is_Add:
        for part, rest in parts:
            yield f"the sign of {part} flipped", sp.Add(*rest, -part)
    if piece.is_Pow:
        base, exponent = piece.args
        for power in (2 * exponent, exponent / 2, -exponent):
            yield f"{base**power} for {piece}", base**power
    if piece.is_Mul or piece.is_Add:
        for part, rest in parts:
            for power in (2, sp.S.Half, -1) if part.is_Symbol or part.is_Add else ():
                yield f"{part**power} for {part} in {piece}", piece.func(part**power, *rest)


def _indices(piece: sp.Expr, symbols: list[sp.Symbol]) -> Iterator[tuple[str, sp.Expr]]:
    """Yield a term or factor with one symbol exchanged for another."""
    for i, part in enumerate(piece.args):
        base = part.base if part.is_Pow else part
        if base.is_Symbol:
            for other in symbols:
                if other != base:
                    changed = part.xreplace({base: other})
                    arguments = (*piece.args[:i], changed, *piece.args[i + 1 :])
                    yield f"{other} for {base} in {piece}", piece.func(*arguments)
