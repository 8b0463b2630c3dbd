"""Learning rules as statements: two derivations that share only the Gaussian calculus agree."""

from typing import Any

import numpy as np
import pytest
import sympy as sp
from support.problem_states import named_state
from unit.system.statements import gram

import symderiv as sd
from symderiv.api.arguments.starts import start_of

# SGD, compilation and quadrature: a part of them a day
pytestmark = pytest.mark.turns(16)

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
    "batches of noisy inputs": {"batch": 2, "input_noise": 0.5, "label_noise": 0.2},
    "velocities": {"momentum_rate": 0.7, "label_noise": 0.3, "update_noise": 0.2},
    "divided by its size": {"normalise": "gradient", "label_noise": 0.3, "input_noise": 0.4},
    "small learning rate": {
        "order": "small-learning-rate",
        "label_noise": 0.5,
        "update_noise": 0.2,
    },
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
    study, layout = problem._study, P.solver.layout
    if "U" in layout.families:
        state |= {"J.U": np.zeros((K, K)), "B.U": np.zeros((M, K)), "U.U": np.zeros((K, K))}
    for name in layout.scalars:
        at_rest = name.endswith("_velocity")
        begin = study.student_biases if name == "b" else study.student_weights
        state[name] = np.zeros(K) if at_rest else begin
    return state, overlaps


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
    if "momentum_rate" in given:
        pairs = [("J.U", wanted.dP.T), ("U.U", wanted.dW), ("B.U", wanted.dC.T)]
        for key, rate in pairs:
            np.testing.assert_allclose(found[key], rate, rtol=1e-12, atol=1e-14, err_msg=key)
    if "error" in found.observables:
        assert abs(found.observables["error"] - wanted.generalization_error) < 1e-13


TASKS = [
    {"until": 0.8, "teachers": [0, 1]},
    {"until": 1.5, "teachers": [2], "head": 0},
    {"until": 1.9, "teachers": [1, 2]},
    {"mixture": {"0": 0.25, "1": 0.35, "2": 0.4}},
]
SOBOLEV = {"sobolev_weight": 0.5}
AVERAGED = {"consistency_weight": 0.7, "averaging_rate": 0.3}
RUNS: dict[str, dict[str, Any]] = {
    "batches of cN": {
        "batch_ratio": 0.5,
        "label_noise": 0.3,
        "input_noise": 0.2,
        "update_noise": 0.1,
        "train_second_layer": True,
        "schedule": "1/(1 + alpha)",
    },
    "velocities": {
        "momentum_rate": 0.7,
        "train_second_layer": True,
        "train_biases": True,
        "bias_learning_rate": 0.3,
        "weight_decay": 0.1,
        "label_noise": 0.2,
        "batch": 2,
    },
    "steps of the rate": {"schedule": {"times": [0, 0.8, 1.7], "rates": [1, 0.1, 0.6]}},
    "a power of time": {"schedule": {"power": 0.6, "after": 1.0}, "batch": 2},
    "tasks": {
        "tasks": TASKS,
        "train_second_layer": True,
        "label_noise": 0.2,
        "weight_decay": 0.1,
        "second_layer_weight_decay": 0.3,
        "schedule": "1/(1 + alpha)",
    },
    "averages of tasks": {**AVERAGED, "batch": 2, "momentum": 0.5, "tasks": TASKS[:2]},
    # rules that are nothing but a statement, with others; few teachers are derived sooner
    **{
        f"{name}, stated": {"teachers": 1, **rule, **others}
        for name, rule, others in (
            ("both on a sphere", SOBOLEV | AVERAGED, {"normalise": "sphere", "update_noise": 0.2}),
            (
                "averages of batches",
                {**AVERAGED, "teacher_activation": "relu", "label_noise": 0.3},
                {"batch_ratio": 0.5, "students": 3, "teachers": 2, "train_second_layer": True},
            ),
            (
                "gradients and noise",
                SOBOLEV,
                {"schedule": "1/(1 + alpha)", "input_noise": 0.3, "label_flip": 0.1},
            ),
            ("both, moving", SOBOLEV | AVERAGED, {"batch": 3, "momentum_rate": 2.0}),
        )
    },
}
MIXTURE = sd.GaussianMixture(
    probabilities=[0.3, 0.7],
    eigenvalues=[[2, 0.5], [0.5, 1.5]],
    weights=[0.25, 0.75],
    dimension=40,
)
LATENT = sd.HiddenManifold("relu", dimension=30, latent_dimension=15)
INPUTS: dict[str, tuple[Any, dict[str, Any]]] = {
    "a mixture": (MIXTURE, {"weight_decay": 0.1, "train_second_layer": True, "label_noise": 0.1}),
    "a teacher of latents": (LATENT, {"input_noise": 0.3, "batch": 2, "label_noise": 0.1}),
    "a spectrum, on a sphere": (
        sd.Spectrum([2.0, 1.0, 0.3], weights=[0.2, 0.5, 0.3], dimension=600),
        {"normalise": "sphere", "label_noise": 0.3, "update_noise": 0.2},
    ),
}


def _started(problem: sd.Problem, P: sd.System) -> tuple[sd.State, dict[str, Any]]:
    state = start_of(problem._study.changed({"time.values": [1.0]}), None).state
    return state, named_state(problem._study, state, P)


@pytest.mark.parametrize("name", RUNS)
def test_a_run_of_a_rule_is_that_of_its_statement(name: str) -> None:
    given = RUNS[name]
    fixed = {"students": 2, "teachers": 3, "learning_rate": 0.6, "student_std": 0.7}
    problem = sd.Problem("erf", **{**fixed, "inputs": sd.Isotropic(dimension=50), **given})
    P = problem.system
    state, start = _started(problem, P)
    times = np.array([0.5, 1.0, 1.5, 2.0])
    wanted = problem.solve(alpha=times, initial=state, relative_tolerance=1e-11)
    # time of a problem counts examples over N, that of a statement steps over N, or steps
    examples = given.get("batch") or given.get("batch_ratio") or 1
    run = P.solve(alpha=times / examples, initial=start, relative_tolerance=1e-11)
    pairs = [("J.J", wanted.Q), ("J.B", wanted.R), ("error", wanted.generalization_error)]
    if "train_second_layer" in given:
        pairs.append(("v", wanted.v))
    if "bias_learning_rate" in given:
        pairs.append(("b", wanted.further["b"]))
    if "averaging_rate" in given:
        pairs.append(("B.A", np.swapaxes(wanted.further["A.B"], 1, 2)))
    if "tasks" in given and "train_second_layer" in given:
        heads = wanted.further["heads"]
        pairs += [("v", heads[:, 0]), ("head2_", heads[:, 1])]
        assert np.ptp(heads[:, 1], axis=0).min() > 1e-3
    for key, value in pairs:
        np.testing.assert_allclose(run[key], value, rtol=1e-11, atol=1e-12, err_msg=key)


@pytest.mark.parametrize("name", INPUTS)
def test_inputs_of_a_problem_are_those_of_its_statement(name: str) -> None:
    inputs, given = INPUTS[name]
    problem = sd.Problem(
        "erf", students=2, teachers=3, learning_rate=0.6, student_std=0.7, inputs=inputs, **given
    )
    P = problem.system
    state, start = _started(problem, P)
    found, wanted = P.rates(start), problem.rates(state=state)
    batch, rho = given.get("batch", 1), state.eigenvalue[:, None, None]
    pairs = [
        (found["J.J"] / batch, wanted.d_student_overlap),
        (found["J.B"] * rho / batch, wanted.d_cross_overlap),
    ]
    if "train_second_layer" in given:
        pairs.append((found["v"], wanted.dv))
    for one, other in pairs:
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-14)
    assert abs(found.observables["error"] - wanted.generalization_error) < 1e-13


def test_tasks_with_inputs_of_their_own_are_one_statement() -> None:
    tasks = [
        {"until": 0.8, "teachers": [0, 1]},
        {"until": 1.5, "teachers": [2], "data": sd.Spectrum([0.6, 1.4])},
        {"teachers": [1, 2], "data": sd.Isotropic()},
    ]
    inputs = sd.Spectrum([2.0, 0.5], dimension=40)
    problem = sd.Problem(
        "erf",
        students=2,
        teachers=3,
        learning_rate=0.6,
        inputs=inputs,
        student_std=0.7,
        tasks=tasks,
    )
    P = problem.system
    state, start = _started(problem, P)
    times = np.array([0.5, 0.8, 1.2, 2.0])
    wanted = problem.solve(alpha=times, initial=state, relative_tolerance=1e-11)
    run = P.solve(alpha=times, initial=start, relative_tolerance=1e-11)
    variance = state.weight * state.eigenvalue
    Q = np.einsum("k,pkij->pij", variance, run["J.J"])
    np.testing.assert_allclose(Q, wanted.Q, rtol=1e-11)
    np.testing.assert_allclose(run["error"], wanted.generalization_error, rtol=1e-11)


def test_jumps_in_time_are_numbers_where_quadrature_needs_them() -> None:
    """A weight that jumps inside of a function without closed means, against both of its values."""

    def stated(weight: Any) -> sd.System:
        P = sd.System()
        x, w, B = P.inputs("x"), P.vectors("w"), P.vectors("B", fixed=True)
        factor = weight(P) if callable(weight) else weight
        P.update({w: sp.tanh(factor * (w @ x) + B @ x) * x})
        return P

    state = {"w.w": 0.9, "w.B": 0.4, "B.B": 1.1}
    P = stated(lambda P: 1 + sp.Heaviside(P.alpha - 2) / 2)
    for alpha, value in ((1, 1), (3, sp.Rational(3, 2))):
        wanted = stated(value).rates(state)
        found = P.rates(state, alpha=alpha)
        assert found["w.B"] == pytest.approx(wanted["w.B"], rel=1e-12)
        assert found["w.w"] == pytest.approx(wanted["w.w"], rel=1e-12)


def test_inputs_without_equations_say_why() -> None:
    latent = sd.GaussianMixture(
        nonlinearity="relu",
        dimension=20,
        latent_dimension=10,
        components=2,
        separation=1.0,
        assignment="sample",
    )
    problem = sd.Problem("erf", students=2, teachers=2, learning_rate=0.6, inputs=latent)
    with pytest.raises(sd.NotClosed):
        _ = problem.system
