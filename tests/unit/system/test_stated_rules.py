"""Rules that are nothing but a statement: studies run them, and agree with what is known."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rule_pairs.campaign import DIMENSION, compared
from support.problem_states import named_state

import symderiv as sd
from symderiv.checking.recipes import solver_text
from symderiv.foundation.errors import NotYetError
from symderiv.learning.rule.learning_rule import LearningRule
from symderiv.problem.initial import initial

# SGD, compilation and quadrature: a part of them a day
pytestmark = pytest.mark.turns(16)

INPUTS = sd.Spectrum([2.0, 1.0, 0.3], weights=[0.2, 0.5, 0.3], dimension=600)
SOBOLEV = {"sobolev_weight": 0.5}
AVERAGED = {"consistency_weight": 0.7, "averaging_rate": 0.3}


def _problem(**given: Any) -> sd.Problem:
    fixed = {"students": 2, "teachers": 1, "learning_rate": 0.5, "seed": 1, "student_std": 0.8}
    return sd.Problem("erf", **{**fixed, "inputs": INPUTS, "time": {"end": 10.0}, **given})


@pytest.mark.parametrize(
    "given",
    [
        {**SOBOLEV, "momentum_rate": 2.0, "weight_decay": 0.2, "students": 3},
        {**SOBOLEV, **AVERAGED, "momentum": 0.5, "batch": 2, "keep": 0.7, "train_biases": True},
        {**SOBOLEV, **AVERAGED, "batch_ratio": 0.4, "update_noise": 0.2, "label_flip": 0.1},
        {**SOBOLEV, **AVERAGED, "normalise": "sphere", "input_noise": 0.3, "teachers": 2},
        {**SOBOLEV, "normalise": "gradient", "input_noise": 0.3, "keep": 0.8, "label_flip": 0.1},
    ],
    ids=str,
)
def test_runs_of_stated_rules_with_others_follow_the_equations(given: dict[str, Any]) -> None:
    problem = _problem(inputs=INPUTS.model_copy(update={"dimension": DIMENSION}), **given)
    alpha = [0.0, 0.8, 1.6]
    ending, reason = compared(problem.solve(alpha=alpha), problem.simulate(alpha=alpha, runs=24))
    assert ending == "followed", reason


_WARM = """
import sys
import symderiv as sd
problem = sd.Problem.from_toml(sys.argv[1])
problem.solve()
print([m for m in sys.modules if m in ("sympy", "symderiv.learning.derivation")])
"""


@pytest.mark.parametrize("given", [SOBOLEV, AVERAGED], ids=str)
def test_a_run_with_a_module_that_is_there_derives_nothing(
    given: dict[str, Any], tmp_path: Path
) -> None:
    problem = _problem(**given)
    problem.solve()
    path = tmp_path / "study.toml"
    problem.to_toml(path)
    done = subprocess.run(
        [sys.executable, "-c", _WARM, path], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_small_batches_know_what_is_added_at_every_step() -> None:
    texts = [
        solver_text("m", "x", rule=LearningRule(stated=tuple(keys)), lanes=False).readable
        for keys in (AVERAGED, SOBOLEV)
    ]
    assert 'IN_UPDATES = "averaging_rate"' in texts[0]
    assert "IN_UPDATES" not in texts[1]


@pytest.mark.parametrize("rule", [("sobolev_weight",), ("consistency_weight", "averaging_rate")])
def test_a_module_without_closed_means_is_that_of_the_statement(rule: tuple[str, ...]) -> None:
    """Generating it compares it with averages of the statement; higher derivatives are named."""
    text = solver_text(
        "m", "log(1+exp(x))", "erf", rule=LearningRule(stated=rule), lanes=False
    ).readable
    higher = "student_activation_third_derivative" in text
    assert higher == (rule == ("sobolev_weight",))


def test_gradients_of_a_teacher_with_kinks_are_learned() -> None:
    """The teacher's slope jumps, but no gradient contains the derivative of that jump."""
    inputs = sd.Isotropic(800)
    problem = _problem(**SOBOLEV, teacher_activation="relu", student_weights=0.7, inputs=inputs)
    times = [0.4, 1.2]
    run, sgd = problem.solve(alpha=times), problem.simulate(alpha=times, runs=16)
    for name in ("Q", "R"):
        wanted, found = getattr(run, name), getattr(sgd, name)
        off = np.abs(found.mean(axis=0) - wanted)
        assert (off < 4 * found.std(axis=0) / 4 + 0.01).all(), name


def test_second_derivatives_of_kinks_are_refused() -> None:
    with pytest.raises(NotYetError, match="which have kinks"):
        solver_text("m", "abs(x)*tanh(x)", rule=LearningRule(stated=("sobolev_weight",)))


@pytest.mark.parametrize("given", [SOBOLEV, AVERAGED], ids=str)
def test_a_stated_rule_is_shown_as_all_rules_are(given: dict[str, Any]) -> None:
    problem = _problem(**given, label_noise=0.2)
    added = "O_{k,ij}^{JA}" if given is AVERAGED else r"D_{im}^{B\mathbb{1}}"
    assert added in problem.equations.to_latex()
    assert added in problem.export("latex").to_source()
    told = problem.derive()
    assert {"drift", "equations"} <= {section.key for section in told.derivation.sections}
    assert "<math" in told.to_html()


def test_keys_of_stated_rules_are_checked() -> None:
    with pytest.raises(sd.InputError, match="averaging_rate: is missing"):
        _problem(consistency_weight=0.5)
    with pytest.raises(sd.InputError, match="has no effect without"):
        _problem(averaging_rate=0.5)
    with pytest.raises(sd.InputError, match="cannot be combined with"):
        _problem(**SOBOLEV, loss="abs(s - t)")
    with pytest.raises(sd.InputError, match="did you mean sobolev_weight"):
        _problem(sobolev_wieght=0.5)


def test_a_sphere_of_a_mixture_is_not_stated() -> None:
    model = sd.GaussianMixture(probabilities=[0.5, 0.5], eigenvalues=[[2.0], [0.5]], dimension=600)
    P = sd.System()
    x, w = P.inputs("x", model), P.vectors("w")
    P.descend((w @ x) ** 2, {w: 0.1})
    P.constrain(w, "sphere", inputs=x)
    with pytest.raises(NotYetError, match="are a mixture"):
        P.rates({"w.w": 1})


def test_a_sphere_is_measured_with_inputs_of_the_system() -> None:
    P, other = sd.System(), sd.System()
    x, w = P.inputs("x", INPUTS), P.vectors("w")
    with pytest.raises(sd.InputError, match="is allowed for a sphere only"):
        P.constrain(w, "orthonormal", inputs=x)
    with pytest.raises(sd.InputError, match="expected inputs of this system"):
        P.constrain(w, "sphere", inputs=w)
    with pytest.raises(sd.InputError, match="expected inputs of this system"):
        P.constrain(w, "sphere", inputs=other.inputs("y"))


def test_a_state_alone_is_stated_with_its_spectrum(tmp_path: Path) -> None:
    problem = _problem()
    initial(problem._study).state.save(tmp_path / "start.npz")
    alone = sd.Problem(
        "erf", students=2, teachers=1, learning_rate=0.5, state=tmp_path / "start.npz"
    )
    one, other = (_run_of_system(each) for each in (problem, alone))
    np.testing.assert_allclose(one["error"], other["error"], rtol=1e-12)
    run = alone.solve(alpha=[0.0, 1.0, 2.0])
    np.testing.assert_allclose(run.generalization_error, other["error"], rtol=1e-7)


def _run_of_system(problem: sd.Problem) -> Any:
    study, system = problem._study, problem.system
    begin = named_state(study, initial(study).state, system)
    # time of a statement counts steps of batches
    alpha = np.array([0.0, 1.0, 2.0]) / (study.training.batch or 1)
    return system.solve(alpha=alpha, initial=begin)
