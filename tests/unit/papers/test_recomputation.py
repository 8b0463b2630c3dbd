"""A sample of the ledger's points in a second arithmetic; ``make recomputed-points`` does more."""

from fractions import Fraction
from itertools import islice

import pytest
from recomputation.second import recomputed, suits
from symderiv_ledger.claims.claim import Claim, Point
from symderiv_ledger.papers.known_papers import paper
from symderiv_ledger.rules.arithmetic import Values
from symderiv_ledger.rules.comparison_rules import Exact

#: Claims whose references are cheap.
CHEAP = ("bae-jeong-2024", "goldt-2021")


@pytest.mark.turns(6)
def test_points_of_cheap_claims_agree() -> None:
    points = []
    for name in CHEAP:
        claims = [claim for claim in paper(name).claims if suits(claim)]
        for claim in islice(claims, 4, None, 12):
            points += recomputed(claim, 2)
    assert len(points) > 10
    assert not [sentence for point in points for sentence in point.disagreements]


def _points(wrong: bool) -> Claim:
    def points(numbers: object) -> list[Point]:
        third = Fraction(1, 3)
        x = numbers.mpf(third.numerator) / third.denominator  # type: ignore[attr-defined]
        # digits that are lost on the way
        rough = numbers.mpf(float(x)) if wrong else x  # type: ignore[attr-defined]
        return [Point("one third", Values({"x": rough, "y": x}))]

    return Claim("1", "3*x == 1", points, Exact())


def test_lost_digits_are_noticed() -> None:
    (right,) = recomputed(_points(wrong=False), 1)
    assert right.how == "balls throughout"
    assert not right.disagreements
    assert right.values == 2
    (wrong,) = recomputed(_points(wrong=True), 1)
    assert wrong.disagreements
