"""Rates of statements with everything in them, against quadrature and against matrices."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import sympy as sp
from unit.system.statements import gram

import symderiv as sd
from benchmarks.direct_rates import direct_rates
from symderiv.foundation.errors import InputError, NotClosed
from symderiv.statement.stated_motion import derived
from symderiv.system.census import census

HALF, THIRD = sp.Rational(1, 2), sp.Rational(1, 3)
Stated = tuple[sd.System, dict[str, Any]]


def _tokens() -> Stated:
    """Forces on correlated tokens, feedback along vectors with random factors, scalars."""
    P = sd.System()
    x = P.inputs("x", length=2, correlation=[[1, THIRD], [THIRD, 1]])
    w, B, v = P.vectors("w"), P.vectors("B", fixed=True), P.vectors("v")
    u, c = P.scalars("u"), P.latents("c", {-1: THIRD, 2: 2 * THIRD})
    P.update(
        {
            w: ((w @ x[0]) ** 2 * (B @ x[1]) + c) * x[0] + (u - (w @ x[0]) * HALF) * x[1],
            v: c * (B @ x[0]) * x[0] - (w @ x[1]) ** 2 * B + c * w.dot(B) * v - w / 3,
            u: (w @ x[0]) * (B @ x[1]) * c - u**2,
        }
    )
    return P, gram({"w": None, "B": None, "v": None}, 3) | {"u": 0.6}


def _episode() -> Stated:
    """A gradient of a mean over examples, scalars among what is trained."""
    P = sd.System()
    x, w, B = P.inputs("x", episode=2), P.vectors("w"), P.vectors("B", fixed=True)
    b, eta = P.scalars("b"), P.parameter("eta", HALF)
    error = x.mean((w @ x) ** 2 / 2 - (B @ x) + b)
    P.descend(error**2 + x.sum((w @ x) * (B @ x)) / 5, {w: eta, b: THIRD})
    P.ascend(w.dot(B) * b, {w: THIRD})
    return P, gram({"w": None, "B": None}, 4) | {"b": -0.3}


def _sphere() -> Stated:
    """Two vectors that keep their lengths, one that does not."""
    P = sd.System()
    x, z = P.inputs("x"), P.inputs("z")
    w, v, B = P.vectors("w", 2), P.vectors("v"), P.vectors("B", fixed=True)
    f = w @ x
    P.update({w[0]: (B @ x) * f[1] ** 2 * x + z, w[1]: f[0] * x - HALF * v, v: (B @ x) * x - v})
    P.constrain(w, "sphere")
    return P, gram({"w": 2, "v": None, "B": None}, 5)


def _orthonormal() -> Stated:
    """Two vectors that are made orthonormal, one that follows them."""
    P = sd.System()
    x = P.inputs("x")
    W, B, v = P.vectors("W", 2), P.vectors("B", fixed=True), P.vectors("v")
    f = W @ x
    P.update({W: [(B @ x) * x, f[0] * (B @ x) ** 2 * x + 2 * v], v: (B @ x) * f[1] * f[0] * x})
    P.constrain(W, "orthonormal")
    state = gram({"W": 2, "B": None, "v": None}, 6)
    return P, state | {"W.W": np.eye(2)}


def _velocities() -> Stated:
    """A gradient that moves velocities, which what is trained follows and which are forgotten."""
    P = sd.System()
    x, w, B = P.inputs("x"), P.vectors("w"), P.vectors("B", fixed=True)
    U, v, rate = P.vectors("U"), P.scalars("v"), P.scalars("rate")
    gap = v * (w @ x) ** 2 - (B @ x)
    P.descend(gap**2 / 2, {w: THIRD, v: HALF}, velocity={w: U, v: rate})
    P.update({w: U - w / 10, U: -U / 2, v: rate, rate: -rate / 2})
    return P, gram({"w": None, "B": None, "U": None}, 3) | {"v": 0.8, "rate": 0.3}


STATED: dict[str, Callable[[], Stated]] = {
    "velocities": _velocities,
    "tokens": _tokens,
    "episode": _episode,
    "sphere": _sphere,
    "orthonormal": _orthonormal,
}


@pytest.mark.parametrize("name", STATED)
def test_rates_are_those_of_quadrature_over_all_fields(name: str) -> None:
    P, state = STATED[name]()
    found, wanted = P.precise_rates(state, 15), direct_rates(P.statement, state)
    for key, rate in wanted.items():
        if key in found:
            np.testing.assert_allclose(
                np.asarray(found[key], dtype=float), rate, rtol=1e-11, atol=1e-12, err_msg=key
            )
    moving = [key for key in wanted if P.solver.layout.moves(key)]
    assert set(moving) <= set(found)
    assert all(np.max(np.abs(wanted[key])) > 0.01 for key in moving if key != "W.W")


@pytest.mark.parametrize("name", STATED)
def test_all_terms_of_a_statement_are_counted(name: str) -> None:
    P, _ = STATED[name]()
    terms = census(P.solver.closed)
    step = P.statement.step()
    for vector, change in step.vectors.items():
        for direction, force in (*change.inputs.items(), *change.vectors.items()):
            own = [t.term for t in terms if t.target == vector and t.direction == direction]
            if not own:
                # the other examples of an episode
                assert direction.name in ("x2",)
                continue
            assert sp.expand(sp.Add(*own) - force) == 0
    for symbol, change in step.scalars.items():
        own = [t.term for t in terms if t.target == symbol]
        assert sp.expand(sp.Add(*own) - change.scalar) == 0


def test_linear_forces_on_a_mixture_are_means_over_its_components() -> None:
    """Forces of one component at a time, whose spectra and covariances are that component's."""
    P = sd.System()
    chance, spectra = np.array([0.25, 0.75]), np.array([[2.0, 0.5], [0.3, 1.4]])
    model = sd.GaussianMixture(probabilities=list(chance), eigenvalues=spectra.tolist())
    x, w, B = P.inputs("x", model), P.vectors("w"), P.vectors("B", fixed=True)
    P.update({w: (B @ x - (w @ x) / 2) * x - w / 4})
    random = np.random.default_rng(6)
    drawn = random.normal(size=(2, 2, 9))
    overlaps = drawn @ np.swapaxes(drawn, 1, 2) / 9
    places = {"w.w": (0, 0), "w.B": (0, 1), "B.B": (1, 1)}
    state = {name: overlaps[(slice(None), *place)] for name, place in places.items()}
    weight, F, G = np.array([0.5, 0.5]), np.zeros((2, 2)), np.diag([-0.25, 0.0])
    F[0] = -0.5, 1
    mean = np.einsum("k,ck,kab->cab", weight, spectra, overlaps)
    found = P.precise_rates(state, 15)
    for k in range(2):
        D = chance @ spectra[:, k] * F + G
        noise = np.einsum("c,c,ab,cbd,ed->ae", chance, spectra[:, k], F, mean, F)
        wanted = D @ overlaps[k] + overlaps[k] @ D.T + noise
        for name in ("w.w", "w.B"):
            value = float(np.asarray(found[name], dtype=float)[k])
            assert value == pytest.approx(wanted[places[name]], rel=1e-12), name


def test_linear_steps_of_batches_are_maps_of_overlaps() -> None:
    """O' = (1 + D) O (1 + D)' plus the noise of a mean over cN examples and of another input."""
    P = sd.System()
    weight, c = np.array([0.25, 0.75]), 1.5
    rho = {"x": np.array([2.0, 0.5]), "y": np.array([0.4, 1.2])}
    x = P.inputs("x", sd.Spectrum(list(rho["x"]), weights=list(weight)), batch_ratio=c)
    y = P.inputs("y", sd.Spectrum(list(rho["y"]), weights=list(weight)))
    w, v, B = P.vectors("w"), P.vectors("v"), P.vectors("B", fixed=True)
    P.update({w: x.mean((B @ x - (w @ x) / 2) * x) + 2 * y - w / 4, v: x.mean((v @ x) * x) - w})
    random = np.random.default_rng(7)
    drawn = random.normal(size=(2, 3, 9))
    overlaps = drawn @ np.swapaxes(drawn, 1, 2) / 9
    places = {"w.w": (0, 0), "w.v": (0, 1), "w.B": (0, 2), "v.v": (1, 1), "v.B": (1, 2)}
    state = {name: overlaps[(slice(None), *place)] for name, place in places.items()}
    state["B.B"] = overlaps[:, 2, 2]
    F, G = np.zeros((3, 3)), np.zeros((3, 3))
    F[0], F[1] = (-0.5, 0, 1), (0, 1, 0)
    G[0, 0], G[1, 0] = -0.25, -1
    mean = np.einsum("k,k,kab->ab", weight, rho["x"], overlaps)
    found = P.precise_rates(state, 15)
    for k in range(2):
        D = np.eye(3) + rho["x"][k] * F + G
        noise = rho["x"][k] / c * F @ mean @ F.T
        noise[0, 0] += 4 * rho["y"][k]
        wanted = D @ overlaps[k] @ D.T + noise - overlaps[k]
        for name, place in places.items():
            value = float(np.asarray(found[name], dtype=float)[k])
            assert value == pytest.approx(wanted[place], rel=1e-12), name


def test_small_learning_rates_leave_the_noise_of_steps_out() -> None:
    rates = {}
    for order in ("full", "small-learning-rate"):
        P = sd.System(order=order)
        x, w, B = P.inputs("x"), P.vectors("w"), P.vectors("B", fixed=True)
        P.update({w: (B @ x) * x - w / 2})
        rates[order] = float(P.precise_rates({"w.w": 0.7, "w.B": 0.2, "B.B": 1.1}, 15)["w.w"])
    assert rates["full"] == pytest.approx(2 * 0.2 - 0.7 + 1.1)
    assert rates["small-learning-rate"] == pytest.approx(2 * 0.2 - 0.7)
    with pytest.raises(InputError, match="unknown"):
        sd.System(order="first")


def test_averages_in_coefficients_are_numbers_of_the_state() -> None:
    """η = E[h²] for the step, and an average of an average."""
    P = sd.System()
    x, w, B = P.inputs("x"), P.vectors("w"), P.vectors("B", fixed=True)
    size = P.average((w @ x) ** 2)
    more = P.average(size * (w @ x) * (B @ x))
    P.update({w: size * (B @ x) * x - more * w})
    assert P.average((w @ x) ** 2) == size
    Q, R, T = 0.7, 0.2, 1.1
    found = P.precise_rates({"w.w": Q, "w.B": R, "B.B": T}, 15)
    assert float(found["w.w"]) == pytest.approx(2 * Q * R - 2 * Q * R * Q + Q**2 * T)
    assert float(found["w.B"]) == pytest.approx(Q * T - Q * R * R)


def test_the_rate_of_an_overlap_is_one_expression_of_all_classes() -> None:
    P = sd.System()
    x, w, B = P.inputs("x", sd.Spectrum([2.0, 0.5])), P.vectors("w"), P.vectors("B", fixed=True)
    P.update({w: 3 * (B @ x) * x - w / 2})
    equations = derived(P.statement)
    law = equations.law
    C = law.covariance_of_vectors("x", w, B)
    T = law.covariance_of_vectors("x", B, B)
    assert sp.expand(equations.overlap_rate(w, B) - (3 * T - w.dot(B) / 2)) == 0
    assert equations.overlap_rate(w, B) == equations.overlap_rate(B, w)
    noise = equations.noise_of(w, w)["x"]
    assert sp.expand(equations.overlap_rate(w, w) - 6 * C + w.dot(w) - law.trace("x") * noise) == 0
    assert equations.overlap_rate(B, B) == 0
    assert "update" in equations.step.source[w][0]


def test_observables_leave_out_the_norms_of_inputs_and_refuse_random_multiples() -> None:
    P = sd.System()
    x, w, u = P.inputs("x"), P.vectors("w"), P.scalars("u")
    c, r = P.latents("c"), P.latents("r", "rademacher")
    P.update({w: -w})
    P.observe(error=sd.norm2(x - u * w) / 2)
    value = derived(P.statement).observables["error"]
    assert sp.expand(value.replace(lambda e: e.is_Function, lambda e: e.args[0])) == sp.expand(
        u**2 * w.dot(w) / 2 - u * (w @ x)
    )
    for factor in (w @ x, c, r, sd.norm2(x)):
        Q = P.statement
        wrong = {"wrong": sd.norm2(x) * factor}
        with pytest.raises(NotClosed, match="order N"):
            derived(type(Q)(*(wrong if k == "observables" else v for k, v in vars(Q).items())))
