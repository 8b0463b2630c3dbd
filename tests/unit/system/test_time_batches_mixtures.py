"""Time, averages, velocities, batches of cN examples and mixtures: equations against steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import sympy as sp
from unit.system.statements import gram

import symderiv as sd
from symderiv.experiment.steps.plain_reading import plain_step
from symderiv.system.system_sgd import gram_of

# SGD, compilation and quadrature: a part of them a day
pytestmark = pytest.mark.turns(16)

Drawn = Callable[[np.random.Generator], tuple[dict[str, Any], dict[str, Any]]]


def _changes(
    P: sd.System, state: dict[str, Any], N: int, draws: int, drawn: Drawn, **given: Any
) -> Iterator[tuple[dict[str, np.ndarray], dict[str, float]]]:
    """Return overlaps per class after steps from one state, as said, minus those before."""
    solver, random = P.solver, np.random.default_rng(5)
    packed = solver.layout.packed(state, {})
    bounds = solver.layout.class_bounds(N)
    parts = []
    for gram_here, (lo, hi) in zip(gram_of(solver, *packed), pairwise(bounds), strict=True):
        rows = np.linalg.qr(random.normal(size=(hi - lo, len(gram_here))))[0].T
        parts.append(np.linalg.cholesky(gram_here) @ rows * np.sqrt(hi - lo))
    vectors = np.concatenate(parts, axis=1)
    names = [v.name for v in P.statement.vectors]
    start = dict(zip(names, vectors, strict=True))
    scalars = {str(u): float(state[str(u)]) for u in P.statement.symbols.scalars}
    parameters = solver.layout.parameter_values({})

    def overlaps(now: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        return {
            f"{a}.{b}": np.array(
                [now[a][lo:hi] @ now[b][lo:hi] / (hi - lo) for lo, hi in pairwise(bounds)]
            )
            for n, a in enumerate(names)
            for b in names[n:]
        }

    before = overlaps(start)
    for _ in range(draws):
        inputs, latents = drawn(random)
        after, numbers = plain_step(
            P.statement, start, scalars, inputs, latents, parameters, **given
        )
        found = overlaps(after)
        yield (
            {key: found[key] - before[key] for key in found},
            {key: numbers[key] - scalars[key] for key in numbers},
        )


def _compared(
    P: sd.System, state: dict[str, Any], N: int, draws: int, drawn: Drawn, size: float, **given: Any
) -> None:
    """Compare rates with the mean changes of steps times ``size``."""
    rates, layout = P.rates(state), P.solver.layout
    vectors, numbers = zip(*_changes(P, state, N, draws, drawn, **given), strict=True)
    compared = 0
    for name in rates.rates:
        if not layout.moves(name):
            continue
        if name in layout.scalars:
            samples = size * np.array([each[name] for each in numbers])
            wanted = rates[name]
        else:
            samples = size * np.array([each[name] for each in vectors])
            wanted = np.reshape(rates[name], samples.shape[1:])
        gap = np.abs(np.mean(samples, axis=0) - wanted)
        error = np.std(samples, axis=0) / np.sqrt(draws)
        assert np.all(gap <= 4.5 * error + 4 / N), (name, gap, error)
        assert np.all(error < 0.2), name
        compared += 1
    assert compared >= 2


def test_velocities_follow_the_gradient_and_weights_follow_them() -> None:
    P = sd.System()
    x, g = P.inputs("x"), sd.activation("erf")
    w, B, U = P.vectors("w"), P.vectors("B", fixed=True), P.vectors("U")
    v, rate = P.scalars("v"), P.scalars("rate")
    gap = v * g(w @ x) - g(B @ x)
    P.descend(gap**2 / 2, {w: 1.2, v: 0.7}, velocity={w: U, v: rate})
    P.update({w: U - 0.1 * w, U: -0.5 * U, v: rate, rate: -0.5 * rate})
    state = gram({"w": None, "B": None, "U": None}, 3) | {"v": 0.8, "rate": 0.3}
    N = 60

    def drawn(random: np.random.Generator) -> tuple[dict[str, Any], dict[str, Any]]:
        return {"x": random.standard_normal(N)}, {}

    _compared(P, state, N, 2500, drawn, N)
    # without its velocity at the place of w, the gradient would move w itself
    assert abs(P.rates(state)["w.w"] - 2 * (state["w.U"] - 0.1 * state["w.w"])) < 1e-13


def test_batches_of_cn_examples_are_a_map() -> None:
    P = sd.System()
    x, n, g = P.inputs("x", batch_ratio=0.5), P.inputs("n"), sd.activation("erf")
    w, B = P.vectors("w"), P.vectors("B", fixed=True)
    v, zeta = P.scalars("v"), P.latents("zeta")
    gap = v * g(w @ x) - g(B @ x) - 0.4 * zeta
    P.descend(x.mean(gap**2 / 2), {w: 0.9, v: 0.7})
    P.update({w: 0.3 * n - 0.2 * w})
    P.observe(error=gap**2 / 2)
    state = gram({"w": None, "B": None}, 3) | {"v": 0.8}
    N = 300

    def drawn(random: np.random.Generator) -> tuple[dict[str, Any], dict[str, Any]]:
        examples = {"x": random.standard_normal((N // 2, N)), "n": random.standard_normal(N)}
        return examples, {"zeta": random.standard_normal(N // 2)}

    _compared(P, state, N, 300, drawn, 1)


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


def test_a_mixture_is_a_mean_over_its_components() -> None:
    spectra = np.array([[2.0, 0.5], [0.3, 1.4]])
    model = sd.GaussianMixture(probabilities=[0.25, 0.75], eigenvalues=spectra.tolist())
    P = sd.System()
    x, g = P.inputs("x", model), sd.activation("erf")
    w, B = P.vectors("w"), P.vectors("B", fixed=True)
    v = P.scalars("v")
    gap = v * g(w @ x) - g(B @ x)
    P.descend(gap**2 / 2, {w: 1.2, v: 0.7})
    P.observe(error=gap**2 / 2)
    state = {"w.w": [0.7, 0.9], "w.B": [0.2, -0.1], "B.B": [1.1, 0.6], "v": 0.8}
    N = 60
    roots = np.repeat(np.sqrt(spectra), N // 2, axis=1)

    def drawn(random: np.random.Generator) -> tuple[dict[str, Any], dict[str, Any]]:
        component = int(random.random() < 0.75)
        return {"x": roots[component] * random.standard_normal(N)}, {}

    _compared(P, state, N, 2500, drawn, N)
    P.equations.census  # noqa: B018 - the terms add up to the equations, or it raises


def test_a_mixture_of_one_component_twice_is_that_component() -> None:
    def stated(model: Any) -> sd.System:
        P = sd.System()
        x, g = P.inputs("x", model), sd.activation("erf")
        w, B = P.vectors("w"), P.vectors("B", fixed=True)
        P.descend((g(w @ x) - g(B @ x)) ** 2 / 2, {w: 1.2})
        return P

    state = {"w.w": [0.7, 0.9], "w.B": [0.2, -0.1], "B.B": [1.1, 0.6]}
    twice = sd.GaussianMixture(probabilities=[0.5, 0.5], eigenvalues=[[2.0, 0.5], [2.0, 0.5]])
    one, other = stated(sd.Spectrum([2.0, 0.5])).rates(state), stated(twice).rates(state)
    for name in ("w.w", "w.B"):
        np.testing.assert_allclose(one[name], other[name], rtol=1e-14)


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
    with pytest.raises(sd.NotClosed, match="no root of a linear equation"):
        Q.rates({"w.w": 1, "w.B": 0, "B.B": 1})


def test_an_average_in_a_rate_is_its_value_at_the_state() -> None:
    def stated(divisor: float | None) -> sd.System:
        P = sd.System()
        x, g = P.inputs("x"), sd.activation("erf")
        w, B = P.vectors("w", 2), P.vectors("B", fixed=True)
        zeta = P.latents("zeta")
        loss = (g(w @ x).sum() - g(B @ x) + 0.3 * zeta) ** 2 / 2
        size = P.average(loss) if divisor is None else sp.Float(divisor)
        P.descend(loss, {w: 0.7 / sp.sqrt(size)})
        P.observe(loss=loss)
        return P

    state = gram({"w": 2, "B": None}, 6)
    found = stated(None).rates(state)
    value = found.observables["loss"]
    again = stated(float(f"{value:.15g}")).rates(state)
    plain = stated(1.0).rates(state)
    np.testing.assert_allclose(found["w.w"], again["w.w"], rtol=1e-12)
    np.testing.assert_allclose(found["w.B"], plain["w.B"] / np.sqrt(value), rtol=1e-13)


def test_small_learning_rates_leave_the_noise_out() -> None:
    def stated(order: str, eta: Any) -> Any:
        P = sd.System(order=order)
        x, g = P.inputs("x"), sd.activation("erf")
        w, B = P.vectors("w"), P.vectors("B", fixed=True)
        P.descend((g(w @ x) - g(B @ x)) ** 2 / 2, {w: eta})
        return P.rates({"w.w": 0.9, "w.B": 0.4, "B.B": 1.1})

    small = stated("small-learning-rate", 1)
    # of a η + b η² the part in η
    one, two = stated("full", 1), stated("full", 2)
    linear = 2 * one["w.w"] - two["w.w"] / 2
    assert small["w.w"] == pytest.approx(linear, rel=1e-13)
    assert small["w.w"] != pytest.approx(one["w.w"], rel=1e-2)
    assert small["w.B"] == one["w.B"]
    with pytest.raises(sd.InputError, match="unknown"):
        sd.System(order="first")


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
