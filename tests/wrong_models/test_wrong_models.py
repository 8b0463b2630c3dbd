"""A sample of ``make wrong-models``; rejected, accepted and stopped are told apart."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from symderiv_ledger.claims.claim import Point
from symderiv_ledger.claims.statement import parse_statement
from symderiv_ledger.papers.known_papers import names
from symderiv_ledger.rules.arithmetic import Indexed
from symderiv_papers.demir_dogan.equivalent_models import (
    HERMITE_CASES,
    MAP_CASES,
    Case,
    Model,
    points_of,
)

from wrong_models.central import demir_dogan
from wrong_models.central.bae_jeong import points_of_fields
from wrong_models.trial import Central, WrongModel, central_claims, tried, tried_right

CENTRAL = list(central_claims())
#: A cheap claim, with replacements in its statement.
GRADIENT = Central("demir-dogan-2025", "S6", "The step is a gradient step.", ())


def test_the_right_model_passes() -> None:
    found = tried_right(GRADIENT)
    assert found.computed
    assert not found.rejected


def test_a_wrong_statement_is_rejected() -> None:
    found = tried(GRADIENT, WrongModel("the residual's sign", {"y[s] - ": "y[s] + "}))
    assert found.computed
    assert found.rejected


def test_the_same_statement_in_other_words_is_not_rejected() -> None:
    found = tried(GRADIENT, WrongModel("nothing", {"1 / sqrt(k) * w[i]": "w[i] / sqrt(k)"}))
    assert found.computed
    assert not found.rejected


def test_wrong_points_are_rejected() -> None:
    def scaled(numbers: Any) -> Iterator[Point]:
        for point in GRADIENT.found().points(numbers):
            values = dict(point.values) | {"w": Indexed([1] * 9, (1, 9))}
            yield replace(point, values=values)

    found = tried(GRADIENT, WrongModel("all second-layer weights one", points=scaled))
    assert found.computed
    assert found.rejected


def test_a_model_that_stops_rejects_nothing() -> None:
    def nameless(_: Any) -> Iterator[Point]:
        yield Point("names are missing", {"n": 1, "k": 1})

    found = tried(GRADIENT, WrongModel("without weights", points=nameless))
    assert not found.computed
    assert not found.rejected


def test_a_replacement_that_fits_nowhere_is_an_error() -> None:
    with pytest.raises(ValueError, match="there is no 'nothing' in"):
        WrongModel("nothing", {"nothing": "1"}).statement(GRADIENT.found())


@pytest.mark.parametrize("central", CENTRAL, ids=lambda one: f"{one.paper} {one.claim}")
def test_central_claims_have_ten_different_wrong_models(central: Central) -> None:
    claim = central.found()
    assert central.paper in names()
    assert central.why.endswith(".")
    words = [wrong.words for wrong in central.wrong]
    assert len(set(words)) == len(words) >= 10
    texts = [
        (parse_statement(wrong.statement(claim)).text, wrong.points) for wrong in central.wrong
    ]
    texts.append((parse_statement(claim.corrected or claim.statement).text, None))
    assert len(set(texts)) == len(texts)


@pytest.mark.parametrize(
    ("central", "wrong"),
    [(central, wrong) for central in CENTRAL for wrong in central.wrong],
    ids=lambda one: one.words if isinstance(one, WrongModel) else f"{one.paper} {one.claim}",
)
@pytest.mark.days(70)
def test_a_wrong_model_is_rejected(central: Central, wrong: WrongModel) -> None:
    """That the right ones pass is tried with all other claims."""
    found = tried(central, wrong)
    assert found.computed, found.summary
    assert found.rejected, found.summary


def test_fields_of_mixtures_in_wrong_models_are_right_if_nothing_is_wrong() -> None:
    (central,) = (one for one in CENTRAL if one.paper == "bae-jeong-2024")
    found = tried(central, WrongModel("nothing", points=points_of_fields()))
    assert found.computed
    assert not found.rejected


@pytest.mark.turns(6)
@pytest.mark.parametrize(
    ("claim", "cases", "model"),
    [
        ("S9 generalisation error", MAP_CASES, demir_dogan.Map()),
        ("S11 generalisation error", HERMITE_CASES, demir_dogan.hermite()),
    ],
)
@pytest.mark.days(2)
def test_models_of_one_step_are_right_if_nothing_is_wrong(
    claim: str, cases: tuple[Case, ...], model: Model
) -> None:
    central = next(one for one in CENTRAL if one.claim == claim)
    found = tried(central, WrongModel("nothing", points=points_of(cases, model)))
    assert found.computed
    assert not found.rejected, found.summary
