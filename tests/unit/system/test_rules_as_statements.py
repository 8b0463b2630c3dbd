"""Learning rules as statements: two derivations that share only the Gaussian calculus agree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from unit.system.statements import gram

import symderiv as sd

BIASES = {"student_biases": [0.1, -0.3, 0.5], "teacher_biases": [0.2, -0.4]}
RULES: dict[str, dict[str, Any]] = {
    "plain": {},
    "both layers, decays, noise": {
        "train_second_layer": True,
        "label_noise": 0.3,
        "weight_decay": 0.2,
        "second_layer_weight_decay": 0.1,
        "second_layer_learning_rate": 0.4,
    },
    "flips": {"label_flip": 0.2, "label_noise": 0.5},
    "dropout": {"keep": 0.7, "train_second_layer": True, "label_flip": 0.1},
    "noisy inputs": {"input_noise": 0.4},
    "noisy updates": {"update_noise": 0.3},
    "sphere": {"normalise": "sphere", "label_noise": 0.2},
    "batches": {"batch": 3, "label_noise": 0.2, "train_second_layer": True},
    "momentum": {"momentum": 0.5},
    "momentum of everything": {
        "momentum": 0.4,
        "train_second_layer": True,
        "weight_decay": 0.1,
        "update_noise": 0.2,
        "label_noise": 0.3,
        **BIASES,
        "train_biases": True,
    },
    "biases": BIASES,
    "trained biases": {**BIASES, "train_biases": True, "bias_learning_rate": 0.3, "keep": 0.8},
    "two activations": {"teacher_activation": "relu"},
    "together": {
        "keep": 0.7,
        "input_noise": 0.3,
        "label_flip": 0.1,
        "label_noise": 0.2,
        "weight_decay": 0.1,
        "normalise": "sphere",
        "train_second_layer": True,
        "teacher_activation": "x**3",
    },
}


def _state(P: sd.System, problem: sd.Problem, K: int, M: int) -> tuple[dict[str, Any], Any]:
    overlaps = gram({"J": K, "B": M}, 3)
    state = dict(overlaps)
    study = problem._study
    if "v" in P.solver.layout.scalars:
        state["v"] = study.student_weights
    if "b" in P.solver.layout.scalars:
        state["b"] = study.student_biases
    return state, overlaps


@pytest.mark.days(4)
@pytest.mark.parametrize("name", RULES)
def test_a_rule_and_its_statement_have_one_right_hand_side(name: str) -> None:
    K, M = 3, 2
    given = RULES[name]
    problem = sd.Problem("erf", students=K, teachers=M, learning_rate=0.6, **given)
    P = problem.system
    state, overlaps = _state(P, problem, K, M)
    found = P.rates(state)
    wanted = problem.rates(Q=overlaps["J.J"], R=overlaps["J.B"], T=overlaps["B.B"])
    # a step of a statement is one of the batch, time of a problem counts examples
    batch = given.get("batch", 1)
    pairs = [("J.J", wanted.dQ), ("J.B", wanted.dR)]
    pairs += [
        (key, rate) for key, rate in (("v", wanted.dv), ("b", wanted.db)) if key in found.rates
    ]
    for key, rate in pairs:
        np.testing.assert_allclose(found[key] / batch, rate, rtol=1e-12, atol=1e-14, err_msg=key)
    if "error" in found.observables:
        assert abs(found.observables["error"] - wanted.generalization_error) < 1e-13


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"normalise": "gradient"}, "root mean square"),
        ({"batch_ratio": 0.5}, "order one"),
        ({"schedule": "1/(1 + alpha)"}, "depend on α"),
    ],
)
def test_rules_that_are_no_statement_say_why(given: dict[str, Any], reason: str) -> None:
    problem = sd.Problem("erf", students=2, teachers=2, learning_rate=0.6, **given)
    with pytest.raises(sd.NotClosed, match=reason):
        _ = problem.system
