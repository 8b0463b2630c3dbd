"""Optimal controls against closed solutions, grids, and runs whose pieces are solved apart."""

import pickle
from typing import Any

import numpy as np
import pytest
from scipy.integrate import simpson
from scipy.optimize import brentq, minimize

import symderiv as sd
from symderiv.api.results.runs.protocols import controlled
from symderiv.integrate.control.searches import (
    ControlSearch,
    FinalError,
    IntegratedError,
    TimeToError,
)

NOISE, END = 0.5, 6.0


def linear(**others: Any) -> sd.Problem:
    """Return one linear unit that learns from another under noise."""
    inputs = sd.Isotropic(1000)
    given = {"students": 1, "teachers": 1, "inputs": inputs, "label_noise": NOISE}
    return sd.Problem("linear", **{**given, **others})


def after(error: float, rates: np.ndarray, length: float) -> float:
    """Return twice the error after pieces of constant rates, from E' = -2ηE + η²(E + σ²)."""
    for rate in rates:
        fall = 2.0 * rate - rate**2
        floor = rate**2 * NOISE**2 / fall if fall else 0.0
        error = floor + (error - floor) * np.exp(-fall * length) if fall else error
    return error


@pytest.fixture(scope="module")
def final() -> Any:
    return linear().optimise(bounds=(0.0, 1.9), end=END, pieces=6)


@pytest.mark.turns(2)
def test_a_linear_unit_has_the_control_of_its_closed_solution(final: Any) -> None:
    begin = 2.0 * final.errors[0]
    best = minimize(
        lambda rates: np.log(after(begin, rates, 1.0)),
        np.full(6, 0.4),
        bounds=[(1e-6, 1.9)] * 6,
        options={"ftol": 1e-16, "gtol": 1e-10},
    )
    assert 2.0 * final.objective == pytest.approx(np.exp(best.fun), rel=2e-7)
    np.testing.assert_allclose(final.values, best.x, rtol=1e-4)
    # with E' = 0 in η, η = E/(E + σ²), and log E - σ²/E falls as α
    noise = NOISE**2
    exact = brentq(
        lambda e: np.log(e / begin) - noise / e + noise / begin + END, 1e-3, begin, xtol=1e-15
    )
    assert exact < 2.0 * final.objective < 1.03 * exact
    constants = [after(begin, np.full(6, rate), 1.0) for rate in np.linspace(0.01, 1.9, 2000)]
    assert 2.0 * final.constant["objective"] == pytest.approx(min(constants), rel=1e-5)
    assert final.residual < 1e-5
    assert final.objective < final.greedy["objective"] < final.constant["objective"]
    assert final.values[0] < final.greedy["values"][0]
    assert final.greedy["values"][0] == pytest.approx(begin / (begin + noise), rel=1e-6)


def test_no_pair_of_rates_is_better_and_the_schedule_is_that_of_the_problem(final: Any) -> None:
    found = linear().optimise(bounds=(0.0, 1.9), end=END, pieces=2)
    grid = np.linspace(0.01, 1.9, 127)
    tried = [after(2.0 * found.errors[0], np.array([a, b]), 3.0) for a in grid for b in grid]
    assert 2.0 * found.objective <= min(tried)
    assert 2.0 * found.objective == pytest.approx(min(tried), rel=1e-3)
    run = linear(schedule=final.schedule).solve(end=END)
    assert run.generalization_error[-1] == pytest.approx(final.objective, rel=1e-6)
    again = pickle.loads(pickle.dumps(final))
    assert again.objective == final.objective
    assert len(again.plot().patches) == 3
    assert "interior" in final.to_text()


def test_times_and_integrals_are_those_of_the_closed_solution() -> None:
    found = linear().optimise(bounds=(0.0, 0.5), end=END, pieces=6, objective="time:0.08")
    begin = 2.0 * found.errors[0]

    def time(rates: np.ndarray) -> float:
        """Return when the error is reached."""
        for n, rate in enumerate(rates):
            there = after(begin, rates[:n], 1.0)
            if after(there, rates[n : n + 1], 1.0) < 0.16:
                one = np.array([rate])
                return n + brentq(lambda t, e=there, o=one: after(e, o, t) - 0.16, 0.0, 1.0)
        return np.inf

    assert found.objective == pytest.approx(time(found.values), rel=1e-6)
    random = np.random.default_rng(1)
    for size in (1e-3, 1e-2, 0.1):
        for _ in range(50):
            moved = np.clip(found.values + size * random.standard_normal(6), 0.0, 0.5)
            assert time(moved) > (1 - 1e-6) * found.objective
    kinds = [each["kind"] for each in found.arcs]
    assert kinds[0] == "upper bound"
    assert kinds[-1] == "idle"
    assert found.wrong_signs == 0.0


@pytest.mark.turns(3)
def test_gradients_are_those_of_differences_of_runs() -> None:
    inputs = sd.PowerLaw(exponent=1.0, dimension=400, distinct_eigenvalues=2)
    given: Any = {"students": 2, "teachers": 3, "student_std": 0.5, "label_noise": 0.2}
    problem = sd.Problem("erf", learning_rate=0.9, inputs=inputs, **given)
    bounds, edges, values = (0.0, 3.0), np.linspace(0.0, 4.0, 5), np.array([0.5, 1.7, 0.9, 1.3])
    flow = controlled(problem.timed(end=4.0)._study, "learning_rate", bounds, None)
    times = np.linspace(0.0, 4.0, 65)

    def runs(change: np.ndarray) -> np.ndarray:
        """Return the error at the end, its integral, and the time to an error."""
        rates = (values + change) / 0.9
        there = problem.replace(schedule={"times": edges[:-1].tolist(), "rates": rates.tolist()})
        run = there.solve(alpha=times, relative_tolerance=1e-11)
        errors = run.generalization_error
        inside = slice(48, 65)  # the last piece, in which the error is reached
        crossed = np.interp(-level, -errors[inside], times[inside])
        near = brentq(lambda t: _cubic(times, errors, t) - level, crossed - 0.05, crossed + 0.05)
        return np.array([errors[-1], simpson(errors, x=times), near])

    search = ControlSearch(flow, FinalError(), bounds, edges, lambda *_: None, halves=32)
    path = search.run(values)
    errors = flow.errors(path.states)
    level = float(0.5 * (errors[-1] + errors[3 * 64]))
    objectives = FinalError(), IntegratedError(), TimeToError(level)
    own = [each.value(flow, path) for each in objectives]
    np.testing.assert_allclose(own, runs(np.zeros(4)), rtol=1e-6)
    found = np.array([each.gradient(flow, path) for each in objectives])
    for piece in (0, 3):
        step = 1e-3 * np.eye(4)[piece]
        two, one = runs(2 * step) - runs(-2 * step), runs(step) - runs(-step)
        expected = (8 * one - two) / 12e-3
        np.testing.assert_allclose(found[:, piece], expected, rtol=1e-4)


def _cubic(times: np.ndarray, errors: np.ndarray, time: float) -> float:
    from scipy.interpolate import CubicSpline

    return float(CubicSpline(times[48:], errors[48:])(time))


@pytest.mark.turns(3)
@pytest.mark.parametrize(
    ("control", "bounds", "given"),
    [
        ("keep", (0.3, 0.95), {"keep": 0.9, "evaluation_scale": 1.0}),
        ("weight_decay", (0.0, 2.0), {}),
    ],
)
def test_controls_that_are_no_rates_are_those_of_pieces_solved_apart(
    control: str, bounds: tuple[float, float], given: dict[str, Any]
) -> None:
    problem = sd.Problem(
        "erf",
        students=2,
        teachers=1,
        inputs=sd.Isotropic(400),
        student_std=0.5,
        **{"label_noise": 1.0, "learning_rate": 1.5, **given},
    )
    found = problem.optimise(control=control, bounds=bounds, end=8.0, pieces=4)
    start, error = None, np.nan
    for value in found.values:
        run = problem.replace(**{control: float(value)}).solve(alpha=[0.0, 2.0], initial=start)
        start = {"Q": run.Q[-1], "R": run.R[-1], "T": run.T, "v": run.v[-1]}
        error = run.generalization_error[-1]
    assert error == pytest.approx(found.objective, rel=1e-6)
    assert found.residual < 1e-4
    assert found.wrong_signs == 0.0
    assert found.objective <= found.constant["objective"] * (1 + 1e-9)
    assert found.objective <= found.greedy["objective"] * (1 + 1e-9)


def test_what_is_no_control_is_refused() -> None:
    asked: dict[str, Any] = {"bounds": (0.0, 1.0), "end": 3.0}
    for wrong, argument in (
        ({"control": "speed"}, "control"),
        ({"control": "student_std"}, "control"),
        ({"bounds": (1.0, 1.0)}, "bounds"),
        ({"bounds": (1.0,)}, "bounds"),
        ({"objective": "best"}, "objective"),
        ({"objective": "time:-1"}, "objective"),
        ({"pieces": 0}, "pieces"),
        ({"objective": "time:1e-9", "pieces": 2}, "objective"),
    ):
        with pytest.raises(sd.InputError) as error:
            linear().optimise(**{**asked, **wrong})
        assert error.value.argument == argument
