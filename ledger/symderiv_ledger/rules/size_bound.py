"""The rule for inequalities that say how large something can be, not only that it is smaller.

An inequality that is merely true at some points stays true when its bound is doubled, so that a
wrong factor would never be noticed. Here a bound must also be nearly reached.
"""

from __future__ import annotations

import ast
import math
from dataclasses import dataclass
from typing import ClassVar

from symderiv.foundation.errors import FormulaError
from symderiv.precision.balls.contexts import Numbers
from symderiv_ledger.claims.claim import Point, Tested
from symderiv_ledger.rules.comparison_rules import (
    LOST,
    AllJudged,
    Judged,
    Pair,
    PairRule,
    counterexample,
    one_point,
    related,
    relative_difference,
)

__all__ = ["Bound"]


@dataclass(frozen=True)
class Bound(PairRule):
    """An inequality holds at all points, and in every series of points it is nearly an equality.

    An ``==`` of a chain must hold to nearly all digits, as with
    :class:`~symderiv_ledger.rules.comparison_rules.Exact`.

    Args:
        reaches: The smaller side over the larger one must come up to this in every series. 0 for a
            bound that is not claimed to be sharp: then nothing is asked, and a looser bound passes
            as well.
        digits: Computed with; 8 of them may be lost.
    """

    reaches: float = 0.9
    digits: int = 30
    backend: str = "mpmath"
    kind: str = "bound"
    verdict: str = "holds"
    tier: ClassVar[str] = "digits"

    def overturned_by(self, points: int, *, ordered: bool) -> str:
        sharp = f", or a bound that is never reached to {self.reaches:g}" if self.reaches else ""
        return one_point(points, "the inequality does not hold") + sharp

    def judged(self, pair: Pair, point: Point, numbers: Numbers) -> Judged:
        gap = relative_difference(pair)
        equation = isinstance(pair.relation, ast.Eq)
        good = gap <= 10.0 ** -(self.digits - LOST) if equation else related(pair)
        return Judged(gap, "" if good else f"fails at {pair.where}")

    def passed(self, found: AllJudged) -> Tested:
        closest: dict[str, tuple[float, Pair]] = {}
        for point, judged in found.points:
            for pair, one in judged:
                known = closest.get(point.series, (math.inf, None))
                if not isinstance(pair.relation, ast.Eq) and one.error < known[0]:
                    closest[point.series] = one.error, pair
        if not closest:
            raise FormulaError(f"{found.statement} is not an inequality")
        for series, (gap, pair) in closest.items():
            if not 1.0 - gap >= self.reaches:
                where = f" ({series})" if series else ""
                summary = f"holds, but not sharply: the sides come only within {gap:.2g}{where}"
                return Tested(False, found.count, gap, summary, counterexample(pair))
        gaps = [gap for gap, _ in closest.values()]
        reached = f"the bound is reached within {max(gaps):.2g}"
        return Tested(True, found.count, min(gaps), f"holds at {found.count} points; {reached}")
