"""What a claim measures, and whether it is another thing than before."""

import math
from dataclasses import dataclass
from typing import Any, Final

from symderiv_ledger.claims.claim import Claim
from symderiv_ledger.claims.statement import parse_statement
from symderiv_ledger.papers.verify import arithmetic_of
from symderiv_ledger.rules.comparison_rules import LOST, Measured, pairs

from symderiv.foundation.errors import SymderivError

__all__ = ["Outcome", "change", "outcome"]

#: Differences of the sides below this are rounding where values come from doubles ...
_DOUBLES: Final = 1e-12
#: ... and a difference has moved if it did by more than this part of itself.
_PART: Final = 1e-9


@dataclass(frozen=True)
class Outcome:
    """A claim's true statement (the corrected one of a wrong print) at all its points.

    Args:
        verdict: "passes", "fails", or why it could not be computed.
        floor: What is rounding in the differences.
        differences: Of the two sides, relative to the larger one; one per pair of sides.
    """

    verdict: str
    floor: float
    differences: tuple[float, ...] = ()


def outcome(claim: Claim) -> Outcome:
    """The claim as the engine is now."""
    assert claim.points is not None
    assert claim.rule is not None
    statement = parse_statement(claim.corrected or claim.statement)
    found: list[float] = []
    floor = _DOUBLES
    try:
        lost = getattr(claim.rule, "lost", LOST)
        floor = min(_DOUBLES, 10.0 ** (lost - claim.rule.digits))
        with arithmetic_of(claim.rule) as numbers:
            points = list(claim.points(numbers))
            tested = claim.rule.test(statement, claim.ranges, points, numbers)
            for point in points:
                scale = point.values.get("scale")
                for pair in pairs(statement, claim.ranges, point, numbers):
                    found.append(_difference(pair.left, pair.right, scale))
    except (SymderivError, ArithmeticError, ValueError, AssertionError, TypeError) as error:
        return Outcome(f"{type(error).__name__}: {error}", floor)
    return Outcome("passes" if tested.passed else "fails", floor, tuple(found))


def change(before: Outcome, after: Outcome) -> str:
    """ "fails" (another verdict), "moves" (other numbers), or "" if nothing was noticed."""
    if before.verdict != after.verdict or len(before.differences) != len(after.differences):
        return "fails"
    for old, new in zip(before.differences, after.differences, strict=True):
        if math.isnan(old) or math.isnan(new):
            if math.isnan(old) != math.isnan(new):
                return "moves"
            continue
        moved = abs(new - old)
        if moved > before.floor and moved > _PART * max(abs(old), abs(new)):
            return "moves"
    return ""


def _difference(left: Any, right: Any, scale: Any) -> float:
    left, right = (x.mean if isinstance(x, Measured) else x for x in (left, right))
    size = max(abs(left), abs(right)) if scale is None else scale
    try:
        return float((left - right) / size) if size else 0.0
    except (OverflowError, TypeError):
        return float("nan")
