"""Inequalities: they must hold, and say how large something can be."""

from collections.abc import Iterator
from typing import Any

import pytest
from symderiv_ledger.claims.claim import Claim, Point
from symderiv_ledger.claims.statement import parse_statement
from symderiv_ledger.papers.verify import verify_claim
from symderiv_ledger.rules.comparison_rules import Bound

from symderiv.foundation.errors import FormulaError
from symderiv.precision.balls.contexts import numbers


def _points(numbers: Any) -> Iterator[Point]:
    """x (1 - x) is at most 1/4, where x = 1/2; scaled by a in two series."""
    for a in (1, 3):
        for part in range(1, 10):
            x = numbers.mpf(part) / 10 + numbers.mpf(1) / 1000
            yield Point(f"a = {a}, x = {x}", {"a": a, "y": a * x * (1 - x)}, series=str(a))


@pytest.mark.parametrize(
    ("statement", "passes"),
    [
        *(("y < a/4", True), ("y <= a/4 == a*1/4", True), ("y < a/4 == a/5", False)),
        *(("y < a/5", False), ("y < a/3", False), ("y < 1", False), ("y > a/20", False)),
    ],
)
def test_a_bound_holds_and_is_reached_in_every_series(statement: str, passes: bool) -> None:
    with numbers(30, "mpmath") as context:
        found = Bound(0.99).test(parse_statement(statement), "", _points(context), context)
    assert found.passed is passes
    assert (found.counterexample is None) is passes


def test_looser_bounds_are_mutants_that_are_noticed() -> None:
    found = verify_claim(Claim("1", "y < a/4", _points, Bound(0.99)), with_mutants=True)
    assert found.verdict == "holds"
    assert not found.mutants.survivors


def test_an_equation_is_no_bound() -> None:
    with numbers(30, "mpmath") as context, pytest.raises(FormulaError, match="not an inequality"):
        Bound().test(parse_statement("a == a"), "", _points(context), context)
