"""Trials: what is shared, what is independent, and that the models agree."""

import math

import pytest
from symderiv_models.one_step import network
from symderiv_models.one_step.comparison import Estimate, compare, one_trial
from symderiv_models.one_step.setting import Setting, window_degree

SMALL = {"n": 24, "m": 20, "k": 16, "trials": 2, "activation": "tanh"}


@pytest.mark.parametrize(
    ("beta", "degree"),
    [
        *((0.0, 1), (0.3, 1), (0.5, 1), (0.6, 2), (0.74, 3), (0.75, 3), (0.79, 4), (0.81, 5)),
        (1.0, None),
    ],
)
def test_the_window_of_beta_gives_the_degree(beta: float, degree: int | None) -> None:
    assert window_degree(beta) == degree
    assert Setting(n=20, beta=beta).hermite_degree == min(degree or 4, 4)
    if degree is not None and 0 < beta not in (0.5, 0.75):
        l = degree + 1
        assert (l - 2) / (l - 1) <= beta < (l - 1) / l


def test_leaving_a_model_out_changes_no_other() -> None:
    whole = one_trial(Setting(**SMALL), 1)
    some = one_trial(Setting(**SMALL, models=["hermite", "network"]), 1)
    assert dict(some.test) == {name: whole.test[name] for name in ("network", "hermite")}
    assert some.truncation is None


def test_a_trial_does_not_depend_on_the_others_nor_on_blocks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    setting = Setting(**SMALL, models=["network"])
    second = compare(setting, lambda task, fraction: None).trials[1]
    monkeypatch.setattr(network, "_MOST_ENTRIES", 50)
    assert one_trial(setting, 1).test["network"] == pytest.approx(second.test["network"])
    assert one_trial(setting, 0).test["network"] != second.test["network"]


def test_standard_errors_are_those_of_the_mean() -> None:
    found = Estimate.of([1.0, 2.0, 4.0])
    assert found.mean == pytest.approx(7 / 3)
    assert found.standard_error == pytest.approx(math.sqrt(7 / 3 / 3))
    assert Estimate.of([1.0]).standard_error is None


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_the_conditional_map_has_the_errors_of_the_network(task: str) -> None:
    # far from k = m and with much ridge errors vary little
    setting = Setting(n=60, m=40, k=90, ridge=0.3, trials=8, task=task, test_samples=400)  # type: ignore[arg-type]
    found = compare(setting, lambda name, fraction: None)
    for training in (False, True):
        difference = found.difference("conditional_gaussian", training=training)
        assert difference.standard_error is not None
        size = found.error("network", training=training).mean
        assert difference.standard_error < 0.02 * size
        assert abs(difference.mean) < 4 * difference.standard_error + 0.01 * size
