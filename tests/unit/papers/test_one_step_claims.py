"""Claims on one gradient step: what they rest on, what they reject, and what their notes say."""

import math
import re
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from symderiv_ledger.claims.claim import Claim
from symderiv_ledger.claims.statement import parse_statement
from symderiv_ledger.papers.known_papers import paper
from symderiv_ledger.papers.verify import arithmetic_of
from symderiv_models.one_step.asymptotic import asymptotic_errors
from symderiv_models.one_step.hermite import hermite_model
from symderiv_models.one_step.setting import Setting
from symderiv_models.one_step.spiked_mixture import Population, population, rectified
from symderiv_models.one_step.trained_layer import TrainedLayer, trained_layer
from symderiv_papers.demir_dogan.equivalent_models import (
    HERMITE_CASES,
    MAP_CASES,
    Features,
    along_a_spike,
    hermite,
    points_of,
)
from symderiv_papers.demir_dogan.figure_cases import cases

NAME = "demir-dogan-2025"


def _claim(name: str) -> Claim:
    return next(claim for claim in paper(NAME).claims if claim.name == name)


def _own(claims: str) -> Iterator[Claim]:
    return (claim for claim in paper(NAME).claims if claim.equation == claims)


def test_no_reconstruction_is_accused() -> None:
    """A correction says that a print is wrong; what the slides do not print cannot be."""
    own = paper(NAME)
    ours = [name for name, printed in own.printed.items() if printed.reading == "reconstructed"]
    assert ours == ["S10"]
    assert not [claim.name for claim in own.claims if claim.equation in ours and claim.corrected]


def test_the_hermite_model_rests_on_its_coefficients_and_not_on_the_map() -> None:
    for claim in _own("S11"):
        targets = {use.target for use in claim.uses}
        assert not {target for target in targets if target.startswith(("S9", "S10"))}, claim.name
    assert "S12" in {use.target for use in _claim("S11 generalisation error").uses}


def _constant_and_noise(layer: TrainedLayer) -> Features:
    model = hermite_model(layer.setting.activation, layer.squared_scale, 0)
    return lambda data: model.features(layer.first @ data.inputs.T, layer.random["hermite"])


@pytest.mark.parametrize("figure", ["1(a)", "1(b)", "1(c)", "2(a)", "2(b)", "2(c)"])
@pytest.mark.days(6)
def test_a_constant_and_noise_do_not_align(figure: str) -> None:
    claim = _claim(f"figure {figure} network and Hermite model align")
    assert claim.rule is not None
    points = points_of(cases(figure), _constant_and_noise)
    with arithmetic_of(claim.rule) as numbers:
        found = claim.rule.test(parse_statement(claim.statement), "", points(numbers), numbers)
    assert not found.passed


def test_every_figure_has_relu_among_what_aligns() -> None:
    for figure in ("1(a)", "1(b)", "1(c)", "2(a)", "2(b)", "2(c)"):
        assert any(case.label.startswith("relu") for case in cases(figure)), figure


def test_labels_along_a_spike_are_those_of_the_docstring() -> None:
    setting = Setting(n=30, m=50, beta=0.7, alpha=0.0)
    layer = trained_layer(setting, 0, along_a_spike)
    data = layer.examples("ridge")
    first, second = layer.population.components
    assert first is second
    assert first.strengths == pytest.approx([30**0.7 / 4])
    covariance = np.eye(30) + first.strengths[0] * np.outer(first.directions, first.directions)
    xi = layer.population.teacher
    assert xi @ covariance @ xi == pytest.approx(1.0)
    assert abs(xi @ first.directions[:, 0]) == pytest.approx(np.linalg.norm(xi))
    assert data.labels == pytest.approx(np.tanh(2 * data.inputs @ xi))


@pytest.mark.turns(6)
def test_a_stronger_spike_shows_the_next_order() -> None:
    """With the constant 1 of n^β instead of 1/4 the model is off (docs/notes/one-step.md)."""

    def stronger(setting: Setting, random: np.random.Generator) -> Population:
        drawn = along_a_spike(setting, random)
        part = replace(drawn.components[0], strengths=4.0 * drawn.components[0].strengths)
        teacher = part.directions[:, 0] / math.sqrt(1.0 + part.strengths[0])
        return replace(drawn, components=(part, part), teacher=teacher)

    case = HERMITE_CASES[-1]
    sizes = {"n": 200, "k": 200, "m": 3200, "test_samples": 1600, "trials": 16}
    changed = replace(case, made=stronger, keys=tuple({**dict(case.keys), **sizes}.items()))
    (point,) = points_of((changed,), hermite)(None)
    gap = point.values["error_model"] - point.values["error"]
    assert gap.mean < -0.02 * point.values["error"] - 2 * gap.error


def test_the_step_and_every_window_decide_somewhere() -> None:
    windows = {case.setting.hermite_degree + 1 for case in HERMITE_CASES}
    assert windows == {2, 3, 4}
    for own in (HERMITE_CASES, MAP_CASES):
        assert any(case.setting.alpha == 1.0 for case in own)
        assert any(case.setting.activation == "relu" for case in own)


def _label_variance(drawn: Population) -> float:
    """Var y of max(0, ξ·x) over both components."""
    first, square = 0.0, 0.0
    for share, component in zip((0.5, 0.5), drawn.components, strict=True):
        along = component.directions.T @ drawn.teacher
        variance = drawn.teacher @ drawn.teacher + float(component.strengths @ along**2)
        mean, _, second = rectified(0.0, math.sqrt(variance))
        first, square = first + share * float(mean), square + share * float(second)
    return square - first**2


@pytest.mark.parametrize(
    ("name", "key", "high", "low"),
    [
        ("figure 1(b) high data spread is better than a high learning rate", "alpha", 1.0, 0.0),
        ("figure 1(c) a larger strength improves generalisation", "beta", 0.0, 1.0),
    ],
)
def test_notes_say_how_far_the_variance_of_labels_falls(
    name: str, key: str, high: float, low: float
) -> None:
    note = _claim(name).note
    settings = [Setting(n=1000, **{key: x}) for x in (high, low)]
    variances = []
    for setting in settings:
        draws = [population(setting, np.random.default_rng(seed)) for seed in range(8)]
        variances.append(np.mean([_label_variance(drawn) for drawn in draws]))
    (fold,) = re.findall(r"(\d+)-fold", note)
    assert variances[0] / variances[1] == pytest.approx(int(fold), rel=0.03)
    shares = [
        asymptotic_errors(setting).test / variance
        for setting, variance in zip(settings, variances, strict=True)
    ]
    for x, share in zip((high, low), shares, strict=True):
        said = re.search(rf"(0\.\d\d)\s+at\s+({key} = )?{x:g}\b", note)
        assert said is not None, note
        assert share == pytest.approx(float(said[1]), abs=0.02)
