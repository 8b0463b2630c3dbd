"""When two measured sides count as equal: only where the measurement shows that they are close.

A rule that asks whether a difference is compatible with zero passes everything that is measured
badly. This one asks the other way round: the difference, with so many standard errors added, must
be below a margin. Sides that differ by the margin or more then pass with the probability that a
deviate of Student's law exceeds ``errors`` at most, however large the standard errors are: for 4 of
them 3e-4 with 24 trials, 1e-3 with 12, 3e-5 with very many. Sides that are equal pass as soon as
the standard errors are small enough, and a measurement that is too coarse fails.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from symderiv.foundation.errors import ToleranceError
from symderiv.precision.balls.contexts import Numbers
from symderiv_ledger.claims.claim import Point, Tested
from symderiv_ledger.claims.statement import Statement
from symderiv_ledger.rules.comparison_rules import counterexample, one_point, pairs, with_error

__all__ = ["ShownWithin"]


@dataclass(frozen=True)
class ShownWithin:
    """Two sides, one of them :class:`Measured`, are shown to differ by less than a margin.

    Args:
        margin: What they may differ by, relative to the larger one; > 0.
        errors: So many standard errors are added to the difference that was measured.
    """

    margin: float = 0.02
    errors: float = 4.0
    digits: int = 16
    backend: str = "float64"
    kind: str = "simulation"
    verdict: str = "approximate"
    tier: ClassVar[str] = "Monte Carlo"

    def overturned_by(self, points: int, *, ordered: bool) -> str:
        """See :class:`~symderiv_ledger.claims.claim.Rule`."""
        wrong = f"the inequality is violated by more than {self.margin:g} of the larger side"
        together = f"the measured difference and {self.errors:g} standard errors together"
        differ = f"{together} are more than {self.margin:g} of the larger side"
        return one_point(points, wrong if ordered else differ)

    def test(
        self, statement: Statement, ranges: str, points: Iterable[Point], numbers: Numbers
    ) -> Tested:
        """See :class:`~symderiv_ledger.claims.claim.Rule`."""
        count, largest, bound = 0, 0.0, 0.0
        for count, point in enumerate(points, start=1):
            for pair in pairs(statement, ranges, point, numbers):
                (left, left_error), (right, right_error) = map(with_error, (pair.left, pair.right))
                size = max(abs(left), abs(right)) or 1.0
                difference = (left - right) / size
                if isinstance(pair.relation, ast.Eq):
                    difference = abs(difference)
                elif isinstance(pair.relation, ast.Gt | ast.GtE):
                    difference = -difference
                added = self.errors * math.hypot(left_error, right_error) / size
                if not difference + added <= self.margin:
                    found = f"{difference:.2g} with {added:.2g} for its error at {pair.where}"
                    words = (
                        f"differ by {found}: more than {self.margin:g}"
                        if difference - added > self.margin
                        else f"are not shown to be within {self.margin:g}: {found}"
                    )
                    evidence = counterexample(pair)
                    return Tested(False, count, difference, f"the sides {words}", evidence)
                largest, bound = max(largest, difference), max(bound, difference + added)
        if not count:
            raise ToleranceError(f"there are no points at which {statement} could be tried")
        summary = (
            f"shown to be within {bound:.2g} at {count} points by {self.errors:g} standard errors; "
            f"the largest measured difference is {largest:.2g}"
        )
        return Tested(True, count, largest, summary)
