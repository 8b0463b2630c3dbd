"""Fits and controls of stated systems, against closed solutions and statements whose rates jump."""

from typing import Any

import numpy as np
import pytest
import sympy as sp
from scipy.optimize import curve_fit, minimize

import symderiv as sd
from symderiv.api.results.runs.protocols import on_a_line
from symderiv.integrate.control.searches import ControlSearch, FinalError, IntegratedError
from symderiv.system.system_following import steered
from symderiv.system.varied_system import VariedSystem

EDGES, RATES = np.linspace(0.0, 4.0, 5), np.array([0.5, 1.1, 0.7, 0.9])


def linear() -> tuple[sd.System, dict[str, float]]:
    """Return a linear unit that learns another under noise of variance 1/4, and its start."""
    P = sd.System()
    x, w, B = P.inputs("x"), P.vectors("w"), P.vectors("B", fixed=True)
    eta, noise = P.parameter("eta", 0.5), P.latents("n", "gaussian")
    P.descend((w @ x - B @ x - noise / 2) ** 2 / 2, {w: eta})
    P.observe(error=(w @ x - B @ x) ** 2 / 2)
    return P, {"w.w": 0.2, "w.B": 0.1, "B.B": 1.0}


def committee(activation: str, jumping: bool) -> tuple[sd.System, dict[str, Any]]:
    """Return two students of three teachers with two eigenvalues and trained output weights.

    Args:
        activation: The activation of all units.
        jumping: Whether the learning rate jumps in time, between e1 to e4, or is eta.
    """
    P = sd.System()
    x = P.inputs("x", model=sd.Spectrum([2.0, 0.5]))
    w, B, u = P.vectors("w", 2), P.vectors("B", 3, fixed=True), P.scalars("u", 2)
    noise, sigma = P.latents("n", "gaussian"), P.parameter("sigma", 0.4)
    if jumping:
        rates = [P.parameter(f"e{n}", float(rate)) for n, rate in enumerate(RATES, 1)]
        eta: Any = rates[0]
        for time, before, after in zip(EDGES[1:], rates, rates[1:], strict=False):
            eta += (after - before) * sp.Heaviside(P.alpha - time)
    else:
        eta = P.parameter("eta", 0.5)
    g = sd.activation(activation)
    student, teacher = (u * g(w @ x)).sum(), g(B @ x).sum()
    P.descend((student - teacher - sigma * noise) ** 2 / 2, {w: eta, u: eta / 2})
    P.observe(error=(student - teacher) ** 2 / 2)
    random = np.random.default_rng(1)
    vectors = {"w": random.normal(size=(2, 12)) / 2, "B": random.normal(size=(3, 12))}
    return P, {**vectors, "u": [0.5, 0.7]}


def test_the_best_rates_of_a_linear_unit_are_those_of_its_closed_solution() -> None:
    P, start = linear()
    found = P.optimise(control="eta", bounds=(0, 1.9), end=6.0, initial=start, pieces=6)

    def after(rates: np.ndarray) -> float:
        """Return the error at the end, from E' = -2ηE + η²(E + 1/4), E twice the error."""
        error = 1.0 - 2 * 0.1 + 0.2
        for rate in rates:
            fall = 2 * rate - rate**2
            floor = rate**2 / 4 / fall
            error = floor + (error - floor) * np.exp(-fall)
        return error / 2

    best = minimize(
        lambda rates: np.log(after(rates)),
        np.full(6, 0.4),
        bounds=[(1e-6, 1.9)] * 6,
        options={"ftol": 1e-16, "gtol": 1e-10},
    )
    assert found.objective == pytest.approx(np.exp(best.fun), rel=2e-7)
    np.testing.assert_allclose(found.values, best.x, rtol=1e-4)
    assert found.objective < found.greedy["objective"] < found.constant["objective"]
    assert not hasattr(found, "schedule")
    assert "best constant" in found.to_text()


@pytest.mark.turns(3)
def test_gradients_are_those_of_runs_whose_pieces_are_solved_apart() -> None:
    P, start = committee("relu", jumping=False)
    varied = VariedSystem(P.solver, start, {})
    flow = on_a_line(
        lambda rate: steered(varied.point({"parameters.eta": rate}), "error"), (0, 2), "error"
    )
    assert flow is not None
    search = ControlSearch(flow, FinalError(), (0.0, 2.0), EDGES, lambda *_: None, halves=16)
    path = search.run(RATES)
    gradients = [each.gradient(flow, path) for each in (FinalError(), IntegratedError())]
    times, weights = np.linspace(0.0, 1.0, 17), np.full(17, 2.0)
    weights[1::2], weights[[0, -1]] = 4.0, 1.0

    def objectives(rates: np.ndarray) -> np.ndarray:
        """Return the error at the end and its integral, by Simpson's rule in each piece."""
        state, total = start, 0.0
        for rate in rates:
            run = P.solve(alpha=times, initial=state, relative_tolerance=1e-11, eta=float(rate))
            state = {name: run[name][-1] for name in ("w.w", "w.B", "B.B", "u")}
            total += weights @ run["error"] / 48
        return np.array([run["error"][-1], total])

    own = [each.value(flow, path) for each in (FinalError(), IntegratedError())]
    np.testing.assert_allclose(own, objectives(RATES), rtol=1e-6)
    # along one direction, in which all four rates change
    step, along = 1e-3, np.array([1.0, -0.6, 0.8, 1.3])
    one, two = (
        objectives(RATES + each * along) - objectives(RATES - each * along)
        for each in (step, 2 * step)
    )
    expected = (8 * one - two) / (12 * step)
    np.testing.assert_allclose([each @ along for each in gradients], expected, rtol=1e-5)


@pytest.mark.turns(3)
def test_fits_are_those_of_curves_without_derivatives() -> None:
    P, start = committee("erf", jumping=False)
    times = np.linspace(0.2, 6.0, 15)
    truth = P.solve(alpha=times, initial=start, eta=0.8, sigma=0.55)
    random = np.random.default_rng(2)
    shown = {"error": truth["error"], "w.B[2,1,3]": truth["w.B"][:, 1, 0, 2]}
    noisy = {name: curve + 0.01 * random.normal(size=15) for name, curve in shown.items()}
    data: dict[str, Any] = {"alpha": times, **noisy}
    data |= {f"{name}_standard_error": np.full(15, 0.01) for name in shown}
    found = P.fit(data, parameters=["eta", "sigma"], initial=start)

    def model(_: Any, eta: float, sigma: float) -> np.ndarray:
        run = P.solve(alpha=times, initial=start, eta=float(eta), sigma=float(sigma))
        return np.concatenate([run["error"], run["w.B"][:, 1, 0, 2]])

    measured = np.concatenate(list(noisy.values()))
    values, covariance = curve_fit(
        model,
        np.arange(30.0),
        measured,
        p0=(0.7, 0.5),
        sigma=np.full(30, 0.01),
        absolute_sigma=True,
        xtol=1e-11,
        ftol=1e-13,
    )
    np.testing.assert_allclose(list(found.parameters.values()), values, rtol=1e-5)
    np.testing.assert_allclose(found.covariance, covariance, rtol=1e-3)
    assert found.degrees_of_freedom == 28
    assert abs(found.parameters["eta"] - 0.8) < 4 * found.standard_errors["eta"]


@pytest.mark.turns(2)
def test_fits_go_across_jumps_and_steps_of_order_one() -> None:
    P, start = committee("erf", jumping=True)
    times = np.linspace(0.25, 4.0, 16)
    truth = P.solve(alpha=times, initial=start, e2=0.9, e4=1.0)
    data = {"alpha": times, "error": truth["error"]}
    found = P.fit(data, parameters=["e2", "e4"], initial=start)
    np.testing.assert_allclose([*found.parameters.values()], [0.9, 1.0], rtol=1e-6)

    P = sd.System()
    x, w, B = P.inputs("x", batch_ratio=0.5), P.vectors("w"), P.vectors("B", fixed=True)
    eta, g = P.parameter("eta", 0.7), sd.activation("erf")
    slope = sp.exp(-((w @ x) ** 2) / 2)
    P.update({w: x.mean(eta * (g(B @ x) - g(w @ x)) * slope * x)})
    P.observe(error=(g(w @ x) - g(B @ x)) ** 2 / 2)
    begun = {"w.w": 0.2, "w.B": 0.1, "B.B": 1.0}
    run = P.solve(alpha=[1, 2, 5], initial=begun, eta=0.8)
    steps = P.fit({"alpha": run.alpha, "error": run["error"]}, parameters=["eta"], initial=begun)
    assert steps.parameters["eta"] == pytest.approx(0.8, rel=1e-9)


def test_bad_arguments_get_one_line_that_names_them() -> None:
    P, start = linear()
    curves = {"alpha": [1, 2], "error": [0.3, 0.2]}
    for asked, argument in (
        ({"curves": {"alpha": [1, 2], "loss": [1, 1]}}, "curves"),
        ({"curves": {"alpha": [1, 2], "w.B[2]": [1, 1]}}, "curves"),
        ({"parameters": ["rate"]}, "parameters"),
        ({"parameters": []}, "parameters"),
    ):
        with pytest.raises(sd.InputError) as caught:
            P.fit(**{"curves": curves, "parameters": ["eta"], "initial": start, **asked})
        assert caught.value.argument == argument
    given: dict[str, Any] = {"control": "eta", "bounds": (0, 2), "end": 4.0, "initial": start}
    for changed, argument in (
        ({"control": "rate"}, "control"),
        ({"control": "initial.w.B"}, "control"),
        ({"bounds": (2, 0)}, "bounds"),
        ({"end": -1.0}, "end"),
        ({"observable": "loss"}, "observable"),
        ({"objective": "time:1e-9"}, "objective"),
    ):
        with pytest.raises(sd.InputError) as caught:
            P.optimise(**{**given, **changed})
        assert caught.value.argument == argument


def test_a_control_may_not_change_what_is_observed() -> None:
    P = sd.System()
    x, w, B = P.inputs("x"), P.vectors("w"), P.vectors("B", fixed=True)
    eta = P.parameter("eta", 0.5)
    P.descend((w @ x - B @ x) ** 2 / 2, {w: eta})
    P.observe(error=(1 + eta) * (w @ x - B @ x) ** 2)
    start = {"w.w": 0.2, "w.B": 0.1, "B.B": 1.0}
    with pytest.raises(sd.InputError, match="changes error itself"):
        P.optimise(control="eta", bounds=(0, 2), end=4.0, initial=start, pieces=2)
