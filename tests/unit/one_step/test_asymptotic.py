"""The asymptotic error: a published closed form, drawn first layers with profiles, networks."""

import numpy as np
import pytest
from scipy.optimize import brentq
from symderiv_models.one_step import asymptotic as asymptotic_module
from symderiv_models.one_step import gaussian_nodes as gaussian_nodes_module
from symderiv_models.one_step.asymptotic import solved
from symderiv_models.one_step.neuron_law import Labels, Profile
from symderiv_models.one_step.ridge_equations import _Cases, _solved

import symderiv as sd
from symderiv.foundation.errors import InputError


def mei_montanari(
    psi1: float, psi2: float, slope: float, rest: float, penalty: float
) -> tuple[float, float]:
    """B and V of arXiv:1908.05355, definition 1: neurons and samples per dimension, μ_1, μ_*, λ."""
    z2, lam = (slope / rest) ** 2, penalty / rest**2
    root = np.sqrt(psi1 * psi2 * lam)

    def other(a: float) -> float:
        """b, with ν_1 = ia and ν_2 = ib, of the first equation."""
        f = lambda b: a * (root + b + z2 * b / (1 + z2 * a * b)) - psi1  # noqa: E731
        return brentq(f, 0.0, 1e9, xtol=1e-15)

    def second(a: float) -> float:
        b = other(a)
        return b * (root + a + z2 * a / (1 + z2 * a * b)) - psi2

    a = brentq(second, 1e-9, psi1 / root * (1 - 1e-12), xtol=1e-15)
    x, z4, z6 = -a * other(a), z2**2, z2**3
    p, q = psi1, psi2
    e0 = (
        -(x**5) * z6 + 3 * x**4 * z4 + (p * q - q - p + 1) * x**3 * z6 - 2 * x**3 * z4
        - 3 * x**3 * z2 + (p + q - 3 * p * q + 1) * x**2 * z4 + 2 * x**2 * z2 + x**2
        + 3 * p * q * x * z2 - p * q
    )  # fmt: skip
    e1 = q * x**3 * z4 - q * x**2 * z2 + p * q * x * z2 - p * q
    e2 = (
        x**5 * z6 - 3 * x**4 * z4 + (p - 1) * x**3 * z6 + 2 * x**3 * z4 + 3 * x**3 * z2
        + (-p - 1) * x**2 * z4 - 2 * x**2 * z2 - x**2
    )  # fmt: skip
    return e1 / e0, e2 / e0


@pytest.mark.parametrize(
    ("k", "m", "penalty"), [(700, 400, 0.3), (300, 900, 0.05), (500, 500, 0.01)]
)
def test_without_special_directions_it_is_the_published_error(
    k: int, m: int, penalty: float
) -> None:
    n, slope, rest, signal, noise = 400, 0.8, 0.45, 1.3, 0.6
    one, none = np.ones((1, 1)), np.zeros((1, 1))
    labels = Labels(
        np.ones(1), none, (signal**2 + noise**2) * one, np.zeros((1, 1, 0)), signal * one
    )
    law = Profile(
        np.ones(1), np.zeros(1, dtype=int), np.ones(1), none, slope * one, none, rest**2 * one,
        np.zeros((2, 0, 1)), n, labels,
    )  # fmt: skip
    found = solved(law, k, m, penalty / n)
    bias, variance = mei_montanari(k / n, m / n, slope, rest, penalty)
    assert found.test == pytest.approx(signal**2 * bias + noise**2 * (variance + 1), rel=1e-7)


def law_of_types(free: int) -> Profile:
    """Three types of neurons, four nodes of samples, two teachers, nothing equal to anything."""
    random = np.random.default_rng(5)
    p, omega = np.array([0.2, 0.3, 0.1, 0.4]), np.array([0.5, 0.3, 0.2])
    mean, bend = 0.6 * random.standard_normal((2, 4, 3))
    slope, rest = random.uniform(0.3, 1.2, (2, 4, 3))
    label, fresh = random.standard_normal((2, 2, 4))
    labels = Labels(
        np.array([0.3, 0.7]), label, label**2 + fresh**2 + 0.1, np.zeros((2, 4, 0)), fresh
    )
    component = np.array([0, 0, 1, 1])
    return Profile(p, component, omega, mean, slope, bend, rest, np.zeros((2, 0, 3)), free, labels)


def given_the_first_layer(law: Profile, k: int, m: int, constant: float, seed: int) -> float:
    """The test error by the equations with a drawn first layer's covariances, as matrices."""
    random = np.random.default_rng(seed)
    kind = np.repeat([0, 1, 2], np.round(law.neurons * k).astype(int))
    rows = random.standard_normal((k, law.free)) / np.sqrt(law.free)
    R, tilt = rows @ rows.T, rows[:, 0]
    mean, slope, bend = law.mean[:, kind], law.slope[:, kind], law.bend[:, kind]
    covariance = R * slope[:, :, None] * slope[:, None, :]
    covariance += bend[:, :, None] * bend[:, None, :] / (2 * law.free)
    covariance[:, range(k), range(k)] += law.rest[:, kind]
    errors = []
    y = law.labels
    for label, fresh, square in zip(y.mean, y.fresh, y.square, strict=True):
        cross = mean * label[:, None] + slope * tilt * fresh[:, None]
        root = np.sqrt(k)
        cases = _Cases(law.samples, mean / root, covariance / k, cross / root, square)
        errors.append(_solved(cases, m, constant).test)
    return float(y.weight @ errors)


@pytest.mark.turns(2)
def test_drawn_first_layers_come_close_to_the_average() -> None:
    gaps = []
    for size, draws in ((16, 24), (64, 12)):
        k, m, law = 3 * size, 2 * size, law_of_types(size)
        average = solved(law, k, m, 0.05 / size).test
        found = [given_the_first_layer(law, k, m, 0.05 / size, seed) for seed in range(draws)]
        assert np.std(found) < 0.02 * average * np.sqrt(draws)
        gaps.append(abs(np.mean(found) / average - 1))
    assert gaps[1] < 0.5 * gaps[0]
    assert gaps[1] < 0.015


def test_networks_have_the_error() -> None:
    keys = {"n": 100, "m": 150, "k": 60, "ridge": 1e-3, "test_samples": 2000, "trials": 40}
    for task in ("regression", "classification"):
        models = ["network", "asymptotic"]
        found = sd.OneStep(**keys, task=task, models=models, mixture_weight=0.4).run(progress=False)
        for errors in (found.errors, found.training_errors):
            network, limit = errors["network"], errors["asymptotic"]
            assert limit["standard_error"] == 0.0
            assert network["standard_error"] < 0.04 * network["mean"]
            gap = abs(network["mean"] - limit["mean"])
            assert gap < 2 * network["standard_error"] + 0.01 * limit["mean"]


def test_it_knows_the_symmetries_of_the_mixture() -> None:
    def error(**keys: object) -> float:
        return sd.OneStep(n=300, activation="erf", **keys).asymptotic().test  # type: ignore[arg-type]

    assert error(alignment=0.6) == pytest.approx(error(alignment=-0.6), rel=1e-6)
    assert error(mixture_weight=0.3) == pytest.approx(error(mixture_weight=0.7), rel=1e-6)


def test_points_in_many_directions_agree_with_the_grid(monkeypatch: pytest.MonkeyPatch) -> None:
    grid = sd.OneStep(n=500, alpha=0.3).asymptotic()
    monkeypatch.setattr(gaussian_nodes_module, "_MOST", 1)
    gaussian_nodes_module.gaussian_nodes.cache_clear()
    asymptotic_module._averaged.cache_clear()
    points = sd.OneStep(n=500, alpha=0.3).asymptotic()
    gaussian_nodes_module.gaussian_nodes.cache_clear()
    asymptotic_module._averaged.cache_clear()
    assert points.test == pytest.approx(grid.test, rel=2e-3)
    assert points.test != grid.test


@pytest.mark.parametrize("keys", [{"mean": 0.5}, {"rank": 11}])
def test_what_has_no_nodes_is_refused(keys: dict[str, float]) -> None:
    with pytest.raises(InputError) as caught:
        sd.OneStep(n=100, **keys).asymptotic()  # type: ignore[arg-type]
    assert caught.value.argument == "models"
