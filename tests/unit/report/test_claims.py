"""Claims are computed from the curves and can come out false or undecided."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from unit.report.synthetic import broken_power_law, case, plateau_curve

from symderiv.show.plots.claims import Observation, claims, findings, number
from symderiv.show.plots.features import Curve, StudyCase

KEY = "data.distinct_eigenvalues"


def _claims(
    curves: Sequence[Curve], key: str = KEY, values: Sequence[object] = ()
) -> list[Observation]:
    values = values or [4**k for k in range(len(curves))]
    cases = [
        case(f"L = {v}", {key: v}, c, compared=False) for v, c in zip(values, curves, strict=True)
    ]
    return claims([findings(one) for one in cases])


def _one(sentences: Sequence[Observation], start: str) -> Observation:
    (found,) = (claim for claim in sentences if claim.text.startswith(start))
    return found


def _decaying(exponent: float) -> Curve:
    return broken_power_law([1.0, 20.0, 200.0], [0.0, 1.0, 0.01, exponent], 20_000.0)


SHOULDER = broken_power_law([1.0, 20.0, 400.0], [0.0, 1.0, 0.3, 2.0], 20_000.0)
ENDLESS = broken_power_law([1.0, 20.0], [0.0, 1.0, 0.001], 20_000.0)
NONE = broken_power_law([10.0], [0.0, 1.0], 1000.0)
LONG, MIDDLE, SHORT = (plateau_curve(length) for length in (100, 50, 10))
PLATEAUS = {
    "shorter": ([LONG, MIDDLE, SHORT], "The plateau gets shorter as L grows", True, "(L = 16)"),
    "longer": ([SHORT, MIDDLE], "The plateau", False, "gets longer"),
    "vanishes": ([plateau_curve(), SHOULDER, SHOULDER], "The plateau", True, "none (L = 16)"),
    "ends are unknown": ([ENDLESS, ENDLESS], "How the plateau changes", None, "≥"),
    "ends at last": ([ENDLESS, plateau_curve()], "The plateau", True, ""),
    "none at all": ([NONE, NONE], "There is no plateau", False, ""),
}


@pytest.mark.parametrize("change", PLATEAUS)
def test_the_claim_on_plateaus_is_what_their_lengths_say(change: str) -> None:
    curves, start, holds, words = PLATEAUS[change]
    found = _one(_claims(curves), start)
    assert found.holds is holds
    assert words in found.text


@pytest.mark.parametrize(
    ("exponents", "holds", "word"),
    [((3, 2, 1), True, "slower"), ((1, 2, 3), False, "faster"), ((1, 3, 2), False, "no monotonic")],
)
def test_the_trend_of_the_final_decay_is_what_the_rates_say(
    exponents: tuple[float, ...], holds: bool, word: str
) -> None:
    found = _one(_claims([_decaying(e) for e in exponents]), "The final decay")
    assert found.holds is holds
    assert word in found.text


def test_cases_are_compared_in_the_order_of_the_swept_value() -> None:
    curves = [plateau_curve(10), plateau_curve(100)]
    assert _one(_claims(curves, values=[64, 1]), "The plateau").holds is True


def test_other_swept_keys_give_observations_without_a_verdict() -> None:
    curves = [plateau_curve(100), plateau_curve(10)]
    found = _one(_claims(curves, "training.learning_rate", [0.1, 0.2]), "The plateau")
    assert found.holds is None
    assert "η = 0.1" in found.text


def test_a_single_study_has_no_trends_and_swept_names_have_none_either() -> None:
    assert not [c for c in _claims([plateau_curve()]) if "The plateau " in c.text]
    named = _claims([plateau_curve()] * 2, "network.activation", ["erf", "relu"])
    assert not [c for c in named if c.text.startswith(("The plateau", "The final"))]


def test_a_run_that_ended_early_is_a_failed_claim_with_its_reason() -> None:
    known = plateau_curve()
    broken = Curve(
        known.alpha, known.error, known.Q, known.R, known.T, {}, False, "stopped at alpha = 3: NaN"
    )
    sentences = claims([findings(StudyCase("", {}, broken))])
    assert any(claim.holds is False and "alpha = 3: NaN" in claim.text for claim in sentences)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        *((0.0060793, "0.00608"), (2130.6, "2130"), (9.3788e-7, "9.38×10⁻⁷"), (0.0, "0")),
        *((-1.5, "-1.50"), (1e6, "1.00×10⁶"), (0.9999, "1.00"), (float("nan"), "nan")),
    ],
)
def test_numbers_are_rounded_to_three_digits(value: float, text: str) -> None:
    assert number(value) == text


def test_what_the_steps_of_a_run_left_is_no_plateau() -> None:
    """Errors fall to 1e-11 of the first and stay there: rounding, not a plateau."""
    fallen = broken_power_law([1.0, 20.0, 200.0], [0.0, 1.0, 9.0, 0.0], 20_000.0)
    assert findings(StudyCase("", {}, fallen)).plateau is not None
    known = replace(fallen, numbers={"tolerance": 1e-9})
    assert findings(StudyCase("", {}, known)).plateau is None
