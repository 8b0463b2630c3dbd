"""Rules that are nothing but a statement: studies run them, and agree with what is known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import symderiv as sd
from symderiv.dynamics.rules.solving import flow_of
from symderiv.dynamics.rules.stated_run import stated_flow
from symderiv.dynamics.stepping.study_flow import Flow
from symderiv.dynamics.storage.study_kernel import kernel_for
from symderiv.dynamics.studies.initial import initial

INPUTS = sd.Spectrum([2.0, 1.0, 0.3], weights=[0.2, 0.5, 0.3], dimension=600)
SOBOLEV = {"sobolev_weight": 0.5}
AVERAGED = {"consistency_weight": 0.7, "averaging_rate": 0.3}


def _problem(**given: Any) -> sd.Problem:
    fixed = {"students": 2, "teachers": 1, "learning_rate": 0.5, "seed": 1, "student_std": 0.8}
    return sd.Problem("erf", **{**fixed, "inputs": INPUTS, "time": {"end": 10.0}, **given})


@pytest.mark.days(3)
@pytest.mark.parametrize(
    "given",
    [
        {"weight_decay": 0.1, "label_noise": 0.3, "train_second_layer": True},
        {"order": "small-learning-rate", "label_noise": 0.3},
        {"label_flip": 0.2, "label_noise": 0.5},
        {"keep": 0.7, "label_flip": 0.1},
        {"input_noise": 0.4, "update_noise": 0.3},
        {
            "student_biases": [0.1, -0.3],
            "teacher_biases": 0.2,
            "train_biases": True,
            "bias_learning_rate": 0.3,
        },
    ],
    ids=str,
)
def test_a_module_from_the_statement_is_that_of_the_rule(given: dict[str, Any]) -> None:
    study = _problem(**given)._study
    start = initial(study)
    stated = stated_flow(study, start.state)
    if study.rule_keys:
        derived = flow_of(study, start)(start.state)
    else:
        derived = Flow(study, kernel_for(study), start.state)
    slopes = []
    for flow in (stated, derived):
        slope = np.empty_like(flow.begin)
        rates = flow.kernel.right_hand_side_for(study.K, study.M)
        rates(0.0, flow.begin, flow.sizes, flow.parameters, slope)
        slopes.append(slope)
    np.testing.assert_allclose(slopes[0], slopes[1], rtol=0, atol=1e-14)


@pytest.mark.parametrize("given", [SOBOLEV, AVERAGED], ids=str)
def test_a_run_of_a_stated_rule_is_that_of_its_system(given: dict[str, Any]) -> None:
    problem = _problem(inputs=sd.Isotropic(600), **given)
    run = problem.solve(alpha=[0.0, 1.0, 4.0])
    Q, R, T = run.Q[0], run.R[0], run.T
    start = {"J.J": Q, "J.B": R, "B.B": T}
    if given is AVERAGED:
        start |= {"J.A": Q, "A.A": Q, "B.A": R.T}
    other = problem.system.solve(alpha=[0.0, 1.0, 4.0], initial=start)
    np.testing.assert_allclose(run.Q, other["J.J"], rtol=1e-8)
    np.testing.assert_allclose(run.R, other["J.B"], rtol=1e-8)
    np.testing.assert_allclose(run.generalization_error, other["error"], rtol=1e-8)
    if given is AVERAGED:
        np.testing.assert_allclose(run.further["A.B"], np.swapaxes(other["B.A"], 1, 2), rtol=1e-8)


def test_keys_of_stated_rules_are_checked() -> None:
    with pytest.raises(sd.InputError, match="averaging_rate: missing"):
        _problem(consistency_weight=0.5)
    with pytest.raises(sd.InputError, match="has no meaning without"):
        _problem(averaging_rate=0.5)
    with pytest.raises(sd.InputError, match="did you mean sobolev_weight"):
        _problem(sobolev_wieght=0.5)
