"""Time, averages, batches of cN examples and mixtures: equations against steps."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import sympy as sp
from unit.system.statements import gram

import symderiv as sd

# SGD, compilation and quadrature: a part of them a day
pytestmark = pytest.mark.turns(16)


def test_steps_of_batches_are_iterated() -> None:
    """A linear student by hand: w' = w - a (w - B), and noise of relative size 1/c."""
    P = sd.System()
    x = P.inputs("x", batch_ratio=2)
    w, B = P.vectors("w"), P.vectors("B", fixed=True)
    gap = w @ x - B @ x
    P.descend(x.mean(gap**2 / 2), {w: 0.5 / (1 + P.alpha)})
    P.observe(loss=gap**2)
    run = P.solve(alpha=[0, 1, 3], initial={"w.w": 1, "w.B": 0, "B.B": 1})
    Q, R, rows = 1.0, 0.0, [(1.0, 0.0)]
    for step in range(3):
        a = 0.5 / (1 + step)
        noise = a**2 * (Q - 2 * R + 1) / 2
        Q = (1 - a) ** 2 * Q + 2 * a * (1 - a) * R + a**2 + noise
        R = (1 - a) * R + a
        rows.append((Q, R))
    np.testing.assert_array_equal(run.alpha, [0, 1, 3])
    np.testing.assert_allclose(run["w.w"], [rows[n][0] for n in (0, 1, 3)], rtol=1e-14)
    np.testing.assert_allclose(run["w.B"], [rows[n][1] for n in (0, 1, 3)], rtol=1e-14)
    np.testing.assert_allclose(run["loss"], run["w.w"] - 2 * run["w.B"] + 1, rtol=1e-13)
    assert run.steps == 3


def _ridge(rate: Callable[[sd.System], Any]) -> sd.System:
    P = sd.System()
    x = P.inputs("x")
    w, B = P.vectors("w"), P.vectors("B", fixed=True)
    gap = w @ x - B @ x
    P.descend(gap**2 / 2, {w: rate(P)})
    P.observe(loss=gap**2 / 2, rate=rate(P))
    return P


def test_rates_jump_where_it_is_said() -> None:
    P = _ridge(lambda P: sp.Piecewise((1, P.alpha < 2), (sp.exp(-P.alpha), True)))
    start = {"w.w": 1, "w.B": 0, "B.B": 1}
    assert P.rates(start, alpha=1.99)["w.B"] == 1
    assert P.rates(start, alpha=2)["w.B"] == pytest.approx(np.exp(-2))
    rising = _ridge(lambda P: sp.Heaviside(P.alpha - 2))
    assert [rising.rates(start, alpha=time)["w.B"] for time in (1.99, 2)] == [0, 1]
    times = np.array([0.0, 1.0, 2.0, 2.5, 4.0])
    run = P.solve(alpha=times, initial=start, relative_tolerance=1e-11)
    area = np.minimum(times, 2) + np.exp(-2) - np.exp(-np.maximum(times, 2))
    np.testing.assert_allclose(run["w.B"], 1 - np.exp(-area), rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(run["rate"], [1, 1, 1, np.exp(-2.5), np.exp(-4)], rtol=1e-14)


def test_a_jump_may_be_at_a_parameter() -> None:
    P = sd.System()
    x, after = P.inputs("x"), P.parameter("after", 1)
    w, B = P.vectors("w"), P.vectors("B", fixed=True)
    P.update({w: sp.Heaviside(after - P.alpha) * (B @ x) * x})
    start = {"w.B": 0, "B.B": 1}
    for value in (0.3, 2.5, 9):
        run = P.solve(alpha=[1, 3], initial=start, after=value)
        np.testing.assert_allclose(run["w.B"], np.minimum([1, 3], value), rtol=1e-12)
    Q = _ridge(lambda P: sp.Heaviside(P.alpha**2 - 2))
    with pytest.raises(sd.NotClosed, match="no linear equation gives"):
        Q.rates({"w.w": 1, "w.B": 0, "B.B": 1})


@pytest.mark.parametrize(
    "rate",
    [
        lambda time: sp.Piecewise((1, time < 2), (sp.Rational(1, 10), True)),
        lambda time: 1 - sp.Rational(9, 10) * sp.Heaviside(time - 2),
        lambda time: sp.sign(2 - time),
    ],
    ids=["piecewise", "step", "sign"],
)
def test_the_step_at_a_jump_has_the_value_after_it(rate: Callable[[sp.Symbol], sp.Expr]) -> None:
    """A vector gains the same at every step up to the jump, and the same from it on."""
    P = sd.System()
    P.inputs("x")
    w, B = P.vectors("w"), P.vectors("B", fixed=True)
    P.update({w: rate(P.alpha) * B})
    asked: dict[str, Any] = {"alpha": [2, 2.02, 3], "initial": {"w.w": 1, "w.B": 0, "B.B": 1}}
    run = P.simulate(dimension=50, runs=2, **asked)
    np.testing.assert_allclose(run.mean["w.B"], P.solve(**asked)["w.B"], rtol=1e-12)


def test_what_batches_and_mixtures_do_not_have_is_refused() -> None:
    P = sd.System()
    x, w = P.inputs("x", batch_ratio=1), P.vectors("w")
    P.descend(x.mean((w @ x) ** 2), {w: 0.1})
    P.constrain(w, "sphere")
    with pytest.raises(sd.SymderivError, match="leave one out"):
        P.rates({"w.w": 1})
    P = sd.System()
    model = sd.GaussianMixture(probabilities=[0.5, 0.5], eigenvalues=[[2.0], [0.5]])
    x, w = P.inputs("x", model, episode=2), P.vectors("w")
    P.descend(x.mean((w @ x) ** 2), {w: 0.1})
    with pytest.raises(sd.NotClosed, match="different components"):
        P.rates({"w.w": 1})
    P = sd.System()
    x, n, w = P.inputs("x", batch_ratio=1), P.inputs("n"), P.vectors("w")
    with pytest.raises(sd.InputError, match="drawn once"):
        P.descend(x.mean((w @ x + w @ n) ** 2), {w: 0.1})


def _runs_follow(P: sd.System, state: dict[str, Any], N: int, **simulation: Any) -> None:
    alpha = simulation.pop("alpha")
    run = P.solve(alpha=alpha, initial=state)
    sgd = P.simulate(N, runs=24, alpha=alpha, initial=state, seed=3, **simulation)
    for name in run.values:
        gap = np.abs(run[name] - sgd.mean[name]) - 3 * sgd.standard_error[name]
        scale = np.max(np.abs(run[name]))
        assert np.max(gap) * np.sqrt(N) < 0.5 * scale, (name, run[name], sgd.mean[name])


@pytest.mark.parametrize("method", ["vectors", "gram"])
def test_runs_on_mixtures_follow_the_equations(method: str) -> None:
    spectra = [[3.0, 0.5], [0.2, 1.4]]
    P = sd.System()
    model = sd.GaussianMixture(probabilities=[0.3, 0.7], eigenvalues=spectra)
    x, g = P.inputs("x", model), sd.activation("erf")
    w, B, v = P.vectors("w", 2), P.vectors("B", fixed=True), P.scalars("v", 2)
    gap = (v * g(w @ x)).sum() - g(B @ x)
    P.descend(gap**2 / 2, {w: 2.2, v: 0.7})
    P.observe(error=gap**2 / 2)
    overlaps = gram({"w": 2, "B": None}, 6)
    state = {name: np.array([value, 0.8 * np.asarray(value)]) for name, value in overlaps.items()}
    _runs_follow(P, state | {"v": [0.8, -0.3]}, 1000, alpha=[0.5, 2.0], method=method)


@pytest.mark.parametrize("method", ["vectors", "gram"])
def test_runs_with_averages_follow_the_equations(method: str) -> None:
    """A step divided by its root mean square, which is divided by an average itself."""
    P = sd.System()
    model = sd.GaussianMixture(probabilities=[0.3, 0.7], eigenvalues=[[3.0, 0.5], [0.2, 1.4]])
    x, g = P.inputs("x", model), sd.activation("erf")
    w, B = P.vectors("w", 2), P.vectors("B", fixed=True)
    fifth = sp.Rational(1, 5)
    flip, zeta = P.latents("flip", {-1: fifth, 1: 1 - fifth}), P.latents("zeta")
    gap = g(w @ x).sum() - flip * g(B @ x) - 0.4 * zeta
    size = P.average(gap**2 / (1 + P.average(g(B @ x) ** 2)))
    P.descend(gap**2 / 2, {w: 0.4 / size})
    overlaps = gram({"w": 2, "B": None}, 6)
    state = {name: np.array([value, 0.8 * np.asarray(value)]) for name, value in overlaps.items()}
    _runs_follow(P, state, 1000, alpha=[0.5, 2.0], method=method)
    found = P.simulate(200, runs=1, end=0.1, initial=state, method=method)
    assert found.averaged == 2**14
    assert "fresh examples" in str(found)


def test_steps_of_batches_take_the_average_of_their_time() -> None:
    """A linear student by hand: its error, by which it divides its step, is known before it."""
    P = sd.System()
    x = P.inputs("x", batch_ratio=2)
    w, B = P.vectors("w"), P.vectors("B", fixed=True)
    gap = w @ x - B @ x
    P.descend(x.mean(gap**2 / 2), {w: 0.5 / P.average(1 + gap**2)})
    Q, R, rows = 1.0, 0.0, []
    for _ in range(3):
        error = Q - 2 * R + 1
        a = 0.5 / (1 + error)
        Q = (1 - a) ** 2 * Q + 2 * a * (1 - a) * R + a**2 + a**2 * error / 2
        R = (1 - a) * R + a
        rows.append((Q, R))
    N = 300
    start = {"w.w": 1, "w.B": 0, "B.B": 1}
    sgd = P.simulate(N, runs=24, alpha=[1, 2, 3], initial=start, seed=1)
    for n, name in enumerate(("w.w", "w.B")):
        gap_now = np.abs(sgd.mean[name] - np.array(rows)[:, n])
        assert np.all(gap_now < 3.5 * sgd.standard_error[name] + 2 / N), name
