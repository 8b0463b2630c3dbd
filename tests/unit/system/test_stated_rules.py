"""Rules that are nothing but a statement: studies run them, and agree with what is known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from symderiv.dynamics.rules.stated_run import stated_flow
from symderiv.system.all_sizes import AllSizes

import symderiv as sd
from symderiv.dynamics.rules.solving import flow_of
from symderiv.dynamics.stepping.study_flow import Flow
from symderiv.dynamics.storage.study_kernel import kernel_for
from symderiv.dynamics.studies.initial import initial
from symderiv.errors import NotYetError

# SGD, compilation and quadrature: a part of them a day
pytestmark = pytest.mark.turns(8)

INPUTS = sd.Spectrum([2.0, 1.0, 0.3], weights=[0.2, 0.5, 0.3], dimension=600)
SOBOLEV = {"sobolev_weight": 0.5}
AVERAGED = {"consistency_weight": 0.7, "averaging_rate": 0.3}


def _error(flow: Flow) -> float:
    """Return the generalisation error at the start, by the module of plain descent."""
    state = flow.state
    arrays = (state.Q, state.R, state.T, state.student_weights, state.teacher_weights)
    return float(flow.kernel.module.generalization_error(*map(np.array, arrays)))


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
        {"input_noise": 0.4, "update_noise": 0.3, "students": 3, "teachers": 2},
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


def test_one_module_serves_all_numbers_of_units() -> None:
    """Coefficients are read off at four students and two teachers; sizes beyond these agree too."""
    study = _problem(students=5, teachers=3, label_noise=0.3, train_second_layer=True)._study
    start = initial(study)
    stated, plain = stated_flow(study, start.state), Flow(study, kernel_for(study), start.state)
    slopes = []
    for flow in (stated, plain):
        slope = np.empty_like(flow.begin)
        rates = flow.kernel.right_hand_side_for(5, 3)
        rates(0.0, flow.begin, flow.sizes, flow.parameters, slope)
        slopes.append(slope)
    np.testing.assert_allclose(slopes[0], slopes[1], rtol=0, atol=1e-14)
    assert abs(stated.error_at(stated.begin, stated.parameters) - _error(plain)) < 1e-14


def test_units_that_are_not_alike_have_a_module_of_their_own() -> None:
    P = sd.System()
    x, w, B = P.inputs("x"), P.vectors("w", 4), P.vectors("B", 2, fixed=True)
    h = w @ x
    P.descend((h[0] + 2 * h[1] + h[2] + h[3] - (B @ x).sum()) ** 2 / 2, {w: 0.1})
    lifting = AllSizes(P.solver.closed, {"K": 4, "M": 2})
    first = next(iter(P.solver.closed.drift.values()))
    rate = next(rate for (_, vector), rate in first.items() if vector.name == "B1")
    assert lifting.lifted(rate, [("K", 0), ("M", 0)]) is not None
    error = P.statement.lines[0]
    P.observe(error=error.loss)
    lifting = AllSizes(P.solver.closed, {"K": 4, "M": 2})
    with pytest.raises(sd.NotClosed, match="not treated alike"):
        lifting.lifted(P.solver.closed.observables["error"], [])


def test_keys_of_stated_rules_are_checked() -> None:
    with pytest.raises(sd.InputError, match="averaging_rate: missing"):
        _problem(consistency_weight=0.5)
    with pytest.raises(sd.InputError, match="has no meaning without"):
        _problem(averaging_rate=0.5)
    with pytest.raises(sd.InputError, match="not derived together with"):
        _problem(**SOBOLEV, schedule="1/(1 + alpha)")
    with pytest.raises(sd.InputError, match="did you mean sobolev_weight"):
        _problem(sobolev_wieght=0.5)


def test_a_sphere_of_fields_is_not_stated_as_one_of_norms() -> None:
    with pytest.raises(NotYetError, match="keeps the variances"):
        _ = _problem(normalise="sphere").system


def test_a_state_alone_is_not_stated(tmp_path: Path) -> None:
    problem = _problem()
    initial(problem._study).state.save(tmp_path / "start.npz")
    alone = sd.Problem(
        "erf", students=2, teachers=1, learning_rate=0.5, state=tmp_path / "start.npz"
    )
    with pytest.raises(NotYetError, match="no law of the inputs"):
        _ = alone.system
