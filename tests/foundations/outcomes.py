"""What a claim measures, and whether it is another thing than before."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any

from symderiv.errors import SymderivError
from symderiv.verification.claim import Claim
from symderiv.verification.rules import Measured, pairs
from symderiv.verification.statement import parse_statement
from symderiv.verification.verify import arithmetic_of

__all__ = ["Outcome", "change", "outcome"]


@dataclass(frozen=True)
class Outcome:
    """A claim's true statement (the corrected one of a wrong print) at all its points.

    Args:
        verdict: "passes", "fails", or why it could not be computed.
        differences: Of the two sides, relative to the larger one; one per pair of sides.
    """

    verdict: str
    differences: tuple[float, ...] = ()


def outcome(claim: Claim) -> Outcome:
    """The claim as the engine is now."""
    assert claim.points is not None
    assert claim.rule is not None
    statement = parse_statement(claim.corrected or claim.statement)
    found: list[float] = []
    try:
        with arithmetic_of(claim.rule) as numbers:
            points = list(claim.points(numbers))
            tested = claim.rule.test(statement, claim.ranges, points, numbers)
            for point in points:
                scale = point.values.get("scale")
                for pair in pairs(statement, claim.ranges, point, numbers):
                    found.append(_difference(pair.left, pair.right, scale))
    except (SymderivError, ArithmeticError, ValueError, AssertionError) as error:
        return Outcome(f"{type(error).__name__}: {error}")
    return Outcome("passes" if tested.passed else "fails", tuple(found))


def _difference(left: Any, right: Any, scale: Any) -> float:
    left, right = (x.mean if isinstance(x, Measured) else x for x in (left, right))
    size = max(abs(left), abs(right)) if scale is None else scale
    try:
        return float((left - right) / size) if size else 0.0
    except (OverflowError, TypeError):
        return float("nan")
