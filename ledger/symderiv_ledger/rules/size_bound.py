"""The rule for inequalities that say how large something can be, not only that it is smaller.

An inequality that is merely true at some points stays true when its bound is doubled, so that a
wrong factor would never be noticed. Here a bound must also be nearly reached.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from symderiv.foundation.errors import FormulaError, ToleranceError
from symderiv.precision.balls.contexts import Numbers
from symderiv_ledger.claims.claim import Point, Tested
from symderiv_ledger.claims.statement import Relation
from symderiv_ledger.rules.comparison_rules import (
    LOST,
    Pair,
    counterexample,
    one_point,
    pairs,
    related,
)

__all__ = ["Bound"]


@dataclass(frozen=True)
class Bound:
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

    def test(
        self, statement: Relation, ranges: str, points: Iterable[Point], numbers: Numbers
    ) -> Tested:
        tolerance = 10.0 ** -(self.digits - LOST)
        closest: dict[str, tuple[float, Pair]] = {}
        count = 0
        for count, point in enumerate(points, start=1):
            for pair in pairs(statement, ranges, point, numbers):
                gap = _gap(pair)
                if isinstance(pair.relation, ast.Eq):
                    fails = not gap <= tolerance
                else:
                    fails = not related(pair)
                    known = closest.get(point.series)
                    if known is None or gap < known[0]:
                        closest[point.series] = gap, pair
                if fails:
                    summary = f"fails at {pair.where}"
                    return Tested(False, count, gap, summary, counterexample(pair))
        if not count:
            raise ToleranceError(f"there are no points at which {statement} could be tried")
        if not closest:
            raise FormulaError(f"{statement} is no inequality")
        for series, (gap, pair) in closest.items():
            if not 1.0 - gap >= self.reaches:
                where = f" ({series})" if series else ""
                return Tested(
                    False,
                    count,
                    gap,
                    f"holds, but not sharply: the sides come only within {gap:.2g}{where}",
                    counterexample(pair),
                )
        gaps = [gap for gap, _ in closest.values()]
        reached = f"the bound is reached within {max(gaps):.2g}"
        return Tested(True, count, min(gaps), f"holds at {count} points; {reached}")


def _gap(pair: Pair) -> float:
    """Difference of the sides over the larger one."""
    size = max(abs(pair.left), abs(pair.right))
    return float(abs(pair.left - pair.right) / size) if size else 0.0
