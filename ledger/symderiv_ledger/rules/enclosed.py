"""The rule for values that are known as proved intervals: means by certified quadrature.

Where a mean has no closed form, quadrature encloses it in a ball. A statement whose sides do not
overlap is refuted by that, with proof. One whose sides overlap everywhere holds to the digits that
the balls have in common, which the summary states.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Final, cast

from symderiv.foundation.errors import ToleranceError
from symderiv.precision.balls.contexts import Numbers
from symderiv_ledger.claims.claim import ComparisonRule, Point, Tested
from symderiv_ledger.claims.statement import Relation
from symderiv_ledger.rules.comparison_rules import (
    DISJOINT,
    AllJudged,
    Judged,
    Pair,
    PairRule,
    fails_at,
    largest,
    related,
)

#: Fewer common digits than this are no evidence.
FEWEST: Final = 4


@dataclass(frozen=True)
class Enclosed(PairRule):
    """A rule: both sides are balls, and the balls overlap at every point.

    Args:
        digits: The number of digits to compute with; the summary states how many are reached.
    """

    digits: int = 40
    backend: str = "arb"
    kind: str = "certified quadrature"
    verdict: str = "holds"
    tier: ClassVar[str] = "enclosed"
    violated = "the inequality is refuted by balls"
    differ = DISJOINT

    def judged(self, pair: Pair, point: Point, numbers: Numbers) -> Judged:
        difference = pair.left - pair.right
        if not hasattr(difference, "mid"):  # both sides are integers
            return Judged() if related(pair) else fails_at(pair, 0.0)
        if difference.is_nan():
            return fails_at(pair, math.nan)
        size = max(abs(float(side)) for side in (pair.left, pair.right)) or 1.0
        if isinstance(pair.relation, ast.Eq):
            if difference.contains(0):
                return Judged(float(difference.rad()) / size)
        elif related(pair):
            return Judged()
        elif difference.contains(0):
            raise ToleranceError(f"the balls are too large to decide at {pair.where}")
        return fails_at(pair, abs(float(difference.mid())) / size)

    def passed(self, statement: Relation, found: AllJudged) -> Tested:
        lost = largest(found)
        reached = min(self.digits, math.floor(-math.log10(lost))) if lost else self.digits
        if reached < FEWEST:
            raise ToleranceError(f"certified quadrature reached only {max(reached, 0)} digits")
        summary = f"holds at {len(found)} points to the {reached} digits that quadrature reached"
        return Tested(True, len(found), lost, summary, details={"digits reached": str(reached)})


class _Deferred:
    def __init__(self, choose: Callable[[], ComparisonRule]) -> None:
        self._choose = choose

    @cached_property
    def _rule(self) -> ComparisonRule:
        return self._choose()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._rule, name)


def deferred(choose: Callable[[], ComparisonRule]) -> ComparisonRule:
    """Return a rule that is chosen when first needed, as finding closed means takes time."""
    return cast("ComparisonRule", _Deferred(choose))
