"""Sweeps and ensembles whose runs state their errors."""

import pickle
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support.commands import symderiv
from unit.system import statements

import symderiv as sd
from symderiv.foundation.errors import InputError, RunWarning
from symderiv.integrate.ensemble import lane_run
from symderiv.integrate.flows.run_errors import EXPLICIT, Worse, accuracy
from symderiv.sweeps import system_grid
from symderiv.sweeps.study_grid import SweptStudy
from symderiv.system import system_ensembles

RATES, SEEDS = [0.2, 0.5, 0.9], [0, 1, 2, 3]
START = statements.gram({"w": 1, "B": 1}, 1) | {"v": [0.7]}
MEASURED = ("tolerance_reached", "error_accuracy")


def linear(**changes: Any) -> sd.Problem:
    """One linear unit, whose overlaps are known in closed form."""
    given = {"students": 1, "teachers": 1, "learning_rate": 0.5, "inputs": sd.Isotropic(200)}
    time = {"end": 12.0, "points": 9, "relative_tolerance": 1e-6}
    return sd.Problem("linear", **{**given, "student_std": 0.4, "time": time, **changes})


#: A schedule, with the integrals of it and of its square.
SCHEDULE = "1/(1+alpha/30)"
FALLING = (lambda a: 30 * np.log1p(a / 30), lambda a: a / (1 + a / 30))


def truth(data: Any, eta: float, seed: int, integrals: Any = None) -> tuple[float, float]:
    """The largest errors of Q and R, as they are stated, and of the generalisation error."""
    one = data.sel(learning_rate=eta, seed=seed)
    alpha, T = one["alpha"].values, float(one["T"].values[0, 0])
    Q, R = (one[name].values[:, 0, 0] for name in ("Q", "R"))
    # d(T - R) = -eta (T - R), and twice the generalisation error decays by itself
    first, second = (each(alpha) for each in integrals) if integrals else (alpha, alpha)
    right = T - (T - R[0]) * np.exp(-eta * first)
    error = 0.5 * (Q[0] - 2 * R[0] + T) * np.exp(eta**2 * second - 2 * eta * first)
    square = 2 * error + 2 * right - T
    apart = np.abs(Q - square) / square, np.abs(R - right) / np.sqrt(square * T)
    found = one["generalization_error"].values
    return float(np.max(apart)), float(np.max(np.abs(found - error) / found))


def covered(data: Any, integrals: Any = None) -> None:
    """Assert that all errors that runs state are at least the true ones, and not far above."""
    ratios = []
    for eta in RATES:
        for seed in SEEDS:
            one = data.sel(learning_rate=eta, seed=seed)
            for name, true in zip(MEASURED, truth(data, eta, seed, integrals), strict=True):
                assert true > 1e-12
                ratios.append(float(one[name]) / true)
    assert min(ratios) >= 1.0
    assert np.median(ratios) <= 100.0


def test_a_sweep_states_the_errors_of_its_points(tmp_path: Path) -> None:
    sweep = linear().sweep(
        learning_rate=RATES, seed=SEEDS, output=tmp_path / "s.zarr", check="auto"
    )
    data = sweep.to_xarray()
    covered(data)
    assert data["tolerance_reached"].dims == ("learning_rate", "seed")
    assert sweep.failure() is None
    for seed in SEEDS:
        one, run = data.sel(learning_rate=0.5, seed=seed), linear(seed=seed).solve()
        for name in MEASURED:
            np.testing.assert_allclose(one[name], getattr(run, name), rtol=1e-3)
    page = sweep.page(tmp_path / "s.html").read_text(encoding="utf-8")
    assert "estimated error of Q, R and v" in page


def test_eight_at_a_time_state_what_single_runs_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lane_run, "LEAST_RUNS", 1)
    data = linear().ensemble(learning_rate=RATES, seed=SEEDS, check="auto")
    covered(data)
    plain = linear().ensemble(learning_rate=RATES, seed=SEEDS)
    assert all(np.isnan(plain[name]).all() for name in MEASURED)
    # without errors there is no second run, and steps keep a tenth of the tolerance, as before
    assert (plain["rhs_evaluations"] <= data["rhs_evaluations"]).all()


def test_runs_whose_rates_follow_a_formula_state_their_errors() -> None:
    """They are made one by one."""
    problem = linear(schedule=SCHEDULE)
    covered(problem.ensemble(learning_rate=RATES, seed=SEEDS, check="auto"), FALLING)
    plain = problem.ensemble(learning_rate=RATES, seed=SEEDS)
    assert all(np.isnan(plain[name]).all() for name in MEASURED)
    assert (plain["local_error_sum"] > 0).all()


@pytest.mark.parametrize("schedule", [None, SCHEDULE])
def test_runs_that_escape_before_the_first_time_may_have_any_error(schedule: str | None) -> None:
    problem, given = linear(schedule=schedule), {"learning_rate": [0.5, 60.0], "alpha": [0.0, 12.0]}
    data = problem.ensemble(check="auto", **given)
    for name in MEASURED:
        assert 0.0 < data[name][0] < 1e-3
        assert data[name][1] == np.inf
    assert list(data["status"].values) == ["done", "not-a-number"]


def test_points_are_measured_once_and_stay_measured(tmp_path: Path) -> None:
    given: dict[str, Any] = {"output": tmp_path / "s.zarr", "learning_rate": [0.2, 0.5]}
    plain = linear().sweep(seed=[0, 1], **given)
    assert not set(MEASURED) & set(plain.to_xarray())
    assert not plain.measured
    measured = linear().sweep(seed=[0, 1], check="auto", **given)
    assert (measured.skipped, measured.measured) == (0, True)
    before = measured.to_xarray()["tolerance_reached"].load()
    assert linear().sweep(seed=[0, 1], check="auto", **given).skipped == 4
    wider = linear().sweep(seed=[0, 1, 2], **given)
    assert wider.skipped == 4
    reached = wider.to_xarray()["tolerance_reached"]
    assert np.isnan(reached.sel(seed=2)).all()
    np.testing.assert_array_equal(reached.sel(seed=[0, 1]), before)
    assert linear().sweep(seed=[0, 1, 2], check="auto", **given).skipped == 4


def test_other_processes_measure_too() -> None:
    grid = SweptStudy(linear()._study, {"check": "auto"}).grid(
        {"initial.seed": [0, 1]}, lambda task, fraction: None
    )
    wanted = system_ensembles.Wanted(np.array([0.0, 1.0]))
    P, state = statements.student_teacher("linear", K=1, M=1), START
    swept = system_grid.SweptSystem(P, state, {}, wanted).measured(True)
    for each in (grid, swept.grid({"eta": [0.1, 0.5]}, lambda task, fraction: None)):
        part = pickle.loads(pickle.dumps(each.part((slice(1, 2),))))
        assert part.checked
        ((_, chunk),) = part.integrate(np.array([0]), 1, lambda done: None)
        assert 0 < chunk.tolerance_reached[0] < 1e-6


def test_a_sweep_of_a_system_states_the_errors_of_its_points(tmp_path: Path) -> None:
    P, state = statements.student_teacher("linear", K=1, M=1), START
    given = {"initial": state, "alpha": [0.0, 1.0, 9.0], "relative_tolerance": 1e-6}
    data = P.sweep({"eta": [0.1, 0.5]}, output=tmp_path / "s.zarr", check="auto", **given)
    together = P.ensemble(eta=[0.1, 0.5], check="auto", **given)
    fine = P.ensemble(eta=[0.1, 0.5], **{**given, "relative_tolerance": 1e-12})
    reached = data.to_xarray()["tolerance_reached"]
    np.testing.assert_allclose(reached, together["tolerance_reached"], rtol=1e-6)
    apart = np.abs(data["w.w"].values - fine["w.w"].values) / fine["w.w"].values
    assert (apart.reshape(2, -1).max(axis=1) <= reached.values).all()
    assert "error_accuracy" not in together


def test_runs_that_are_less_accurate_than_asked_are_told_of(tmp_path: Path) -> None:
    """Differences grow ten thousand times on this plateau, and rounding with them."""
    problem = sd.Problem(
        "erf", students=3, teachers=3, learning_rate=0.3, inputs=sd.Isotropic(10**8)
    ).replace(student_std=1e-3)
    times = {"end": 1500.0, "points": 10, "relative_tolerance": 1e-12}
    with pytest.warns(RunWarning, match=r"the errors of 2 of 2 runs are estimated to be above"):
        found = problem.ensemble(seed=[0, 1], check="auto", **times)
    assert "the largest is" in found.symderiv.failure()
    store = tmp_path / "s.zarr"
    timed = problem.timed(**times)
    with pytest.warns(RunWarning, match=r"of 4 runs"):
        # each point with the tolerance that it was asked
        sweep = timed.sweep(
            {"time.relative_tolerance": [1e-12, 1e-6]}, seed=[0, 1], output=store, check="auto"
        )
    assert sweep.failure().startswith("the errors of 2 of 4 runs")
    assert sd.open(store).failure() == sweep.failure()
    study = tmp_path / "study.toml"
    study.write_text(timed.to_toml(), encoding="utf-8")
    command = ["sweep", study, "--over", "initial.seed=0", "--check", "auto"]
    ended = symderiv(*command, "-o", tmp_path / "t.zarr")
    assert ended.returncode == 1
    assert "the errors of 1 of 1 runs are estimated to be above" in ended.stderr


def test_no_other_word_measures(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="check: 'always' is not one of auto, never"):
        linear().sweep(seed=[0], output=tmp_path / "s.zarr", check="always")
    assert not (tmp_path / "s.zarr").exists()


@pytest.mark.parametrize("width", [1, 8])
def test_what_one_time_does_not_have_the_next_one_may(
    width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Results between the steps of a worse run may be left out in front of others."""
    monkeypatch.setattr(lane_run, "LEAST_RUNS", 1)
    from stated_errors.campaign import flow_at
    from stated_errors.drawing import draw

    flow = flow_at(draw(6, 31))
    states = np.tile(flow.begin, (1, 5, 1)) * np.linspace(1.0, 1.2, 5)[None, :, None]
    constants = np.array([flow.parameters])
    whole = lane_run._errors([flow], width, states, constants)
    states[0, 2] = np.nan
    found = lane_run._errors([flow], width, states, constants)
    assert np.isnan(found[0, 2])
    np.testing.assert_array_equal(np.delete(found, 2, axis=1), np.delete(whole, 2, axis=1))


def test_what_is_stated_of_two_runs_is_larger_than_their_difference() -> None:
    """By half, and by parts of the tolerance; where the worse run has no result it says nothing."""
    worse = Worse(None, 1e-4, EXPLICIT, 1e-6, 1e-5)
    errors, others = np.array([2.0, 1.0, 0.5]), np.array([2.0, 1.002, np.nan])
    changes = worse.changes(errors, others)
    np.testing.assert_allclose(changes, [0.0, 0.003, 0.0], rtol=1e-12)
    run, whole, cut = (
        SimpleNamespace(method=method, between=between, results=np.array([end]))
        for method, between, end in (("explicit", 0, 1.0), ("explicit", 3, 1.0), ("", 0, np.nan))
    )
    # relative to the largest generalisation error, which is 2
    for first, second, unseen in ((run, run, 1e-6), (whole, run, 1.1e-5), (run, cut, 1.1e-5)):
        found = worse.accuracy(first, second, errors, others)
        assert found == pytest.approx(0.003 + 2 * unseen, rel=1e-9)
    exact = Worse(None, 1e-4, EXPLICIT, 0.0, 0.0)
    assert exact.accuracy(run, run, errors, errors) == 0.0
    implicit = SimpleNamespace(method="implicit", between=0, results=np.zeros(1))
    assert exact.accuracy(implicit, run, errors, errors) == pytest.approx(4e-12)


def test_what_differences_do_not_show_counts_beside_the_largest_error() -> None:
    errors, changes = np.array([0.5, 1e-3, 1e-20]), np.array([1e-9, 1e-6, 0.0])
    assert accuracy(changes, errors, 0.0) == 1e-6
    assert accuracy(changes, errors, 1e-8) == 1.0  # no digit of the last one is certain
    assert accuracy(changes[:2], errors, 1e-8) == pytest.approx(1e-6 + 0.5e-8 / 1e-3)
    # rounding of a mean
    assert accuracy(changes, errors, 1e-14) == 1e-6
    assert accuracy(np.empty(0), errors, 0.0) == 0.0
