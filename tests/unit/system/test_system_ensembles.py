"""Ensembles of a system: the numbers of single runs, in lanes or one on each thread."""

from typing import Any

import numpy as np
import pytest
import sympy as sp
from unit.system import statements

import symderiv as sd
from symderiv.foundation.errors import InputError

# SGD, compilation and quadrature: a part of them a day
pytestmark = pytest.mark.turns(16)

RATES = [0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8]


@pytest.fixture(scope="module")
def committee() -> tuple[sd.System, dict[str, Any]]:
    P = statements.student_teacher(K=2, M=1)
    return P, statements.gram({"w": 2, "B": 1}, 2) | {"v": [0.4, 1.0]}


def test_runs_in_lanes_are_single_runs_to_the_tolerance(committee: Any) -> None:
    P, state = committee
    found = P.ensemble(alpha=[0.0, 0.7, 30], initial=state, eta=RATES, check="auto")
    assert set(found["status"].values) == {"done"}
    for rate in (0.05, 0.8):
        run = P.solve(alpha=[0.0, 0.7, 30], initial=state, eta=rate, relative_tolerance=1e-12)
        one = found.sel(eta=rate)
        reached = float(one["tolerance_reached"])
        assert 0 < reached < 1e-7
        for name in ("w.w", "w.B", "v"):
            apart = np.max(np.abs(one[name].values - run[name]))
            assert apart <= reached * max(1.0, np.max(np.abs(run[name])))
        np.testing.assert_allclose(one["error"], run["error"], atol=1e-8)


def test_lanes_and_threads_agree(committee: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    P, state = committee
    lanes = P.ensemble(end=20, initial=state, eta=RATES)
    assert P.solver.lanes() is not None
    monkeypatch.setattr(type(P.solver), "lanes", lambda *given: None)
    threads = P.ensemble(end=20, initial=state, eta=RATES)
    # the steps are the same, so that the numbers differ by less than the tolerance
    assert abs(lanes["steps"] - threads["steps"]).max() <= 2
    np.testing.assert_allclose(lanes["w.w"], threads["w.w"], rtol=1e-9)
    assert not np.array_equal(lanes["w.w"], threads["w.w"])


def test_a_mean_without_closed_form_goes_one_on_each_thread() -> None:
    P = sd.System()
    x, w, eta = P.inputs("x"), P.vectors("w"), P.parameter("eta", 0.7)
    P.update({w: -eta * sd.activation("tanh")(w @ x) * x})
    assert P.solver.lanes() is None
    found = P.ensemble(alpha=[1.0], initial={"w.w": 0.8}, eta=RATES)
    run = P.solve(alpha=[1.0], initial={"w.w": 0.8}, eta=0.8)
    assert run["w.w"][0] < 0.6
    np.testing.assert_allclose(found["w.w"].sel(eta=0.8), run["w.w"], rtol=1e-8)


def test_initial_values_and_inputs_vary_too() -> None:
    P = statements.student_teacher(K=1, M=1, model=sd.PowerLaw(4, exponent=0.5))
    start: dict[str, Any] = {"w.w": [0.5], "w.B": [0.0], "B.B": [1.0], "v": [1.0]}
    found = P.ensemble(
        alpha=[2.0],
        initial=start,
        **{"initial.v": [[0.5], [1.0]], "inputs.x.exponent": [0.5, 1.5]},
    )
    assert found["error"].shape == (2, 2, 1)
    other = statements.student_teacher(K=1, M=1, model=sd.PowerLaw(4, exponent=1.5))
    run = other.solve(alpha=[2.0], initial=start | {"v": [0.5]})
    np.testing.assert_allclose(found["error"].values[0, 1], run["error"], rtol=1e-8)
    assert abs(found["error"].values[0, 0, 0] - run["error"][0]) > 1e-4


def test_a_run_that_cannot_start_says_so_and_stops_no_other(committee: Any) -> None:
    P, state = committee
    found = P.ensemble(alpha=[1.0], initial=state, eta=[0.1, float("nan")])
    assert list(found["status"].values) == ["done", "failed: eta: must be a finite number, not nan"]
    assert np.isnan(found["error"].values[1]).all()


def test_names_that_vary_nothing_are_refused(committee: Any) -> None:
    P, state = committee
    with pytest.raises(InputError, match="is not a name that can vary; choose one of eta"):
        P.ensemble(end=1, initial=state, rate=[0.1])
    with pytest.raises(InputError, match="must be a list of values"):
        P.ensemble(end=1, initial=state, eta=0.1)
    with pytest.raises(InputError, match="are missing"):
        P.ensemble(end=1, initial=state)
    with pytest.raises(InputError, match="must be given"):
        P.ensemble(end=1, initial={}, eta=[0.1])


def test_runs_in_time_are_single_runs_too() -> None:
    P = sd.System()
    x, w, eta = P.inputs("x"), P.vectors("w"), P.parameter("eta", 0.7)
    late = sp.Heaviside(P.alpha - 2)
    P.update({w: -eta * (1 + 3 * late) * (w @ x) / (1 + P.alpha) * x})
    P.observe(size=(1 + 3 * late) * (w @ x) ** 2)
    alpha = [0.5, 2.0, 2.5]
    found = P.ensemble(alpha=alpha, initial={"w.w": 0.8}, eta=RATES)
    run = P.solve(alpha=alpha, initial={"w.w": 0.8}, eta=0.8)
    np.testing.assert_allclose(found["w.w"].sel(eta=0.8), run["w.w"], rtol=1e-8)
    np.testing.assert_allclose(found["size"].sel(eta=0.8), run["size"], rtol=1e-8)
    assert run["size"][2] > 2 * run["w.w"][2]


def test_runs_in_time_are_given_up_after_so_many_steps_too() -> None:
    P = sd.System()
    x, w, eta = P.inputs("x"), P.vectors("w"), P.parameter("eta")
    P.update({w: -eta * (w @ x) / (1 + P.alpha) * x})
    found = P.ensemble(end=50.0, initial={"w.w": 1.0}, eta=[0.2, 0.4], max_steps=3)
    assert list(found.status.values) == ["step-limit", "step-limit"]
    assert np.all(found.alpha_end < 50.0)
