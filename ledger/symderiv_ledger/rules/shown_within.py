"""Equality of two measured sides: they count as equal only if the measurement shows it.

A rule that asks whether a difference is compatible with zero passes everything that is measured
badly. This one asks the other way round: the difference, with so many standard errors added, must
be below a margin. Sides that differ by the margin or more then pass with the probability that a
deviate of Student's law exceeds ``errors`` at most, however large the standard errors are: for 4 of
them 3e-4 with 24 trials, 1e-3 with 12, 3e-5 with very many. Sides that are equal pass as soon as
the standard errors are small enough, and a measurement that is too coarse fails.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from symderiv.precision.balls.contexts import Numbers
from symderiv_ledger.claims.claim import Point, Tested
from symderiv_ledger.rules.comparison_rules import (
    AllJudged,
    Deviation,
    Judged,
    Pair,
    PairRule,
    one_point,
)

__all__ = ["ShownWithin"]


@dataclass(frozen=True)
class ShownWithin(PairRule):
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
        wrong = f"the inequality is violated by more than {self.margin:g} of the larger side"
        together = f"the measured difference and {self.errors:g} standard errors together"
        differ = f"{together} are more than {self.margin:g} of the larger side"
        return one_point(points, wrong if ordered else differ)

    def judged(self, pair: Pair, point: Point, numbers: Numbers) -> Judged:
        deviation = Deviation.of(pair)
        size = deviation.size or 1.0
        difference = deviation.difference / size
        added = self.errors * deviation.spread / size
        if difference + added <= self.margin:
            return Judged(difference, beside=difference + added)
        words = f"{difference:.2g} with {added:.2g} for its error at {pair.where}"
        if difference - added > self.margin:
            return Judged(difference, f"the sides differ by {words}: more than {self.margin:g}")
        return Judged(difference, f"the sides are not shown to be within {self.margin:g}: {words}")

    def passed(self, found: AllJudged) -> Tested:
        summary = (
            f"shown to be within {found.beside:.2g} at {found.count} points by {self.errors:g} "
            f"standard errors; the largest measured difference is {found.largest:.2g}"
        )
        return Tested(True, found.count, found.largest, summary)
