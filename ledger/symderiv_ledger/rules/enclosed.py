"""The rule for values that are known as proved intervals: means by certified quadrature.

Where a mean has no closed form, quadrature encloses it in a ball. A statement whose sides do not
overlap is refuted by that, with proof. One whose sides overlap everywhere holds as far as the balls
can tell, and the digits to which they can are said.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Final

from symderiv.foundation.errors import ToleranceError
from symderiv.precision.balls.contexts import Numbers
from symderiv_ledger.claims.claim import Point, Rule, Tested
from symderiv_ledger.claims.statement import Statement
from symderiv_ledger.rules.comparison_rules import Pair, counterexample, one_point, pairs

__all__ = ["Deferred", "Enclosed"]

#: Fewer common digits than this are no evidence.
FEWEST: Final = 4


@dataclass(frozen=True)
class Enclosed:
    """Both sides are balls, and the balls overlap at every point.

    Args:
        digits: Computed with; those reached follow from the balls and are said in the summary.
    """

    digits: int = 40
    backend: str = "arb"
    kind: str = "certified quadrature"
    verdict: str = "holds"
    tier: ClassVar[str] = "enclosed"

    def overturned_by(self, points: int, *, ordered: bool) -> str:
        """See :class:`~symderiv_ledger.claims.claim.Rule`."""
        differ = "the balls of the two sides are disjoint"
        return one_point(points, "the inequality is refuted by balls" if ordered else differ)

    def test(
        self, statement: Statement, ranges: str, points: Iterable[Point], numbers: Numbers
    ) -> Tested:
        """See :class:`~symderiv_ledger.claims.claim.Rule`.

        Raises:
            ToleranceError: The balls are too large to say anything.
        """
        count, largest = 0, 0.0
        for count, point in enumerate(points, start=1):
            for pair in pairs(statement, ranges, point, numbers):
                holds, error = _judged(pair)
                if not holds:
                    size = "" if math.isnan(error) else f", relative difference {error:.2g}"
                    summary = f"fails at {pair.where}{size}"
                    return Tested(False, count, error, summary, counterexample(pair))
                largest = max(largest, error)
        if not count:
            raise ToleranceError(f"there are no points at which {statement} could be tried")
        reached = min(self.digits, math.floor(-math.log10(largest))) if largest else self.digits
        if reached < FEWEST:
            raise ToleranceError(f"certified quadrature reached only {max(reached, 0)} digits")
        summary = f"holds at {count} points to the {reached} digits that quadrature reached"
        return Tested(True, count, largest, summary, details={"digits reached": str(reached)})


def _judged(pair: Pair) -> tuple[bool, float]:
    """Is the relation possible, and by how much may the sides differ, relative to the larger?"""
    difference = pair.left - pair.right
    if not hasattr(difference, "mid"):  # of two integers
        return _RELATIONS[type(pair.relation)](difference), 0.0
    if difference.is_nan():
        return False, math.nan
    size = max(abs(float(side)) for side in (pair.left, pair.right)) or 1.0
    radius = float(difference.rad()) / size
    if isinstance(pair.relation, ast.Eq):
        if difference.contains(0):
            return True, radius
        return False, abs(float(difference.mid())) / size
    if bool(_RELATIONS[type(pair.relation)](difference)):
        return True, 0.0
    if difference.contains(0):
        raise ToleranceError(f"the balls are too large to decide at {pair.where}")
    return False, abs(float(difference.mid())) / size


_RELATIONS: Final[dict[type[ast.cmpop], Callable[[Any], bool]]] = {
    ast.Eq: lambda x: x == 0,
    ast.Lt: lambda x: x < 0,
    ast.LtE: lambda x: x <= 0,
    ast.Gt: lambda x: x > 0,
    ast.GtE: lambda x: x >= 0,
}


class Deferred:
    """A rule that is chosen when it is first needed: whether a mean has a closed form takes time.

    Args:
        choose: The rule.
    """

    def __init__(self, choose: Callable[[], Rule]) -> None:
        self._choose = choose

    @cached_property
    def _rule(self) -> Rule:
        return self._choose()

    @property
    def kind(self) -> str:
        return self._rule.kind

    @property
    def verdict(self) -> str:
        return self._rule.verdict

    @property
    def tier(self) -> str:
        return self._rule.tier

    @property
    def digits(self) -> int:
        return self._rule.digits

    @property
    def backend(self) -> str:
        return self._rule.backend

    def test(
        self, statement: Statement, ranges: str, points: Iterable[Point], numbers: Numbers
    ) -> Tested:
        """See :class:`~symderiv_ledger.claims.claim.Rule`."""
        return self._rule.test(statement, ranges, points, numbers)

    def overturned_by(self, points: int, *, ordered: bool) -> str:
        """See :class:`~symderiv_ledger.claims.claim.Rule`."""
        return self._rule.overturned_by(points, ordered=ordered)
