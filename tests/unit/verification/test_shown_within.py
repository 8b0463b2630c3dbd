"""Two measured sides count as equal only where the measurement shows that they are close."""

import math

import numpy as np
import pytest
from scipy.stats import t as student
from symderiv_ledger.claims import claim
from symderiv_ledger.claims.statement import parse_statement
from symderiv_ledger.papers.point_sets import read_rule
from symderiv_ledger.rules.comparison_rules import Measured, ShownWithin, WithinErrorBars

from symderiv.foundation.errors import ToleranceError
from symderiv.precision.balls.contexts import numbers

RULE = ShownWithin(margin=0.02)


def _tested(statement: str, mean: float, error: float, rule: object = RULE) -> claim.Tested:
    points = [claim.Point("here", {"m": Measured(mean, error), "a": 1.0})]
    with numbers(16, "float64") as context:
        return rule.test(parse_statement(statement), "", points, context)


@pytest.mark.parametrize(
    ("mean", "error", "passes"),
    [
        (1.0, 0.0, True),
        (1.01, 0.002, True),
        (0.99, 0.002, True),
        (1.01, 0.004, False),  # not precise enough
        (1.0, 0.01, False),  # nothing is known
        (1.05, 0.001, False),  # known to be wrong
        (0.95, 0.001, False),
    ],
)
def test_the_difference_with_its_error_must_be_small(
    mean: float, error: float, passes: bool
) -> None:
    assert _tested("m == a", mean, error).passed is passes


def test_noise_passes_the_other_rule_and_not_this_one() -> None:
    assert _tested("m == a", 1.3, 0.1, WithinErrorBars()).passed
    assert not _tested("m == a", 1.3, 0.1).passed


@pytest.mark.parametrize("statement", ["m == a", "a == m", "m <= a", "a <= m"])
@pytest.mark.parametrize("rule", [RULE, WithinErrorBars(), WithinErrorBars(systematic=0.1)])
def test_a_side_that_is_no_number_fails(statement: str, rule: object) -> None:
    assert not _tested(statement, math.nan, 0.1, rule).passed


def test_it_says_whether_the_sides_differ_or_the_measurement_is_too_coarse() -> None:
    differ, coarse = _tested("m == a", 1.05, 0.001), _tested("m == a", 1.01, 0.01)
    assert "differ by 0.048 with 0.0038 for its error at here: more than 0.02" in differ.summary
    assert "are not shown to be within 0.02: 0.0099 with 0.04" in coarse.summary
    assert differ.counterexample is not None
    assert _tested("m == a", 1.01, 0.001).summary.startswith("shown to be within 0.014 at 1 points")


@pytest.mark.parametrize(
    ("statement", "mean", "passes"),
    [
        ("m < a", 0.5, True),
        ("m < a", 1.01, True),
        ("m < a", 1.05, False),
        ("m > a", 0.5, False),
        ("m >= a", 1.05, True),
        ("a < m", 1.05, True),
        ("a < m", 0.95, False),
    ],
)
def test_inequalities_have_a_margin_too(statement: str, mean: float, passes: bool) -> None:
    assert _tested(statement, mean, 0.001).passed is passes


@pytest.mark.parametrize("trials", [4, 12, 24])
def test_wrong_sides_pass_as_rarely_as_students_law_says(trials: int) -> None:
    """Means and errors of so many trials, with 1.5 errors added: a share that can be counted."""
    random = np.random.default_rng(5)
    rule = ShownWithin(margin=0.02, errors=1.5)
    passed = []
    for draws in 0.98 + 0.002 * random.standard_normal((4000, trials)):
        error = draws.std(ddof=1) / math.sqrt(trials)
        passed.append(_tested("m == a", float(draws.mean()), float(error), rule).passed)
    assert np.mean(passed) == pytest.approx(student.sf(1.5, trials - 1), abs=0.015)


def test_it_is_read_from_files_and_needs_points() -> None:
    assert read_rule("ShownWithin(margin=0.02)") == RULE
    with numbers(16, "float64") as context, pytest.raises(ToleranceError, match="no points"):
        RULE.test(parse_statement("m == a"), "", [], context)
