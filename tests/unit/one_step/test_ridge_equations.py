"""The equations of ridge: a known special case, Gaussian mixtures that are sampled, the map."""

import math

import numpy as np
import pytest
from symderiv_models.one_step import ridge_equations
from symderiv_models.one_step.comparison import compare
from symderiv_models.one_step.conditional import conditional_map
from symderiv_models.one_step.network import initial_weights, ridge
from symderiv_models.one_step.ridge_equations import _Cases, _solved, ridge_errors
from symderiv_models.one_step.setting import Setting
from symderiv_models.one_step.spiked_mixture import population

from symderiv.foundation.errors import InputError

K, M = 60, 90


def test_pure_noise_on_one_white_law_has_its_known_error() -> None:
    constant, noise = 0.2, 1.7
    cases = _Cases(
        np.ones(1), np.zeros((1, K)), np.eye(K)[None], np.zeros((1, K)), np.array([noise])
    )
    found = _solved(cases, M, constant)
    # Q = q I with 1/q = constant + 1/(1 + K q/M), the Stieltjes transform of Marchenko and Pastur
    gamma = K / M
    half = (constant + 1.0 - gamma) / (2.0 * gamma * constant)
    q = -half + math.sqrt(half**2 + 1.0 / (gamma * constant))
    spread = gamma * q**2 / (1.0 + gamma * q) ** 2
    assert found.test == pytest.approx(noise / (1.0 - spread))
    assert found.training == pytest.approx(found.test / (1.0 + gamma * q) ** 2)


def drawn_mixture(k: int) -> tuple[_Cases, np.ndarray, np.ndarray, np.ndarray]:
    """Two laws of k features whose labels are correlated with them: roots, scales, offsets."""
    random = np.random.default_rng(2)
    shapes = random.standard_normal((2, k, k)) / math.sqrt(k)
    roots = np.array([shapes[0], 0.3 * shapes[1] + np.diag(np.linspace(0.2, 1.5, k))])
    means = random.standard_normal((2, k)) / math.sqrt(k)
    teacher = random.standard_normal(k) / math.sqrt(k)
    scale, offset = np.array([1.0, -0.5]), np.array([0.4, 1.0])
    covariance = roots @ roots.transpose(0, 2, 1)
    # y = offset + scale teacher·(φ - ν) + noise of variance 0.04
    along = covariance @ teacher
    cross = offset[:, None] * means + scale[:, None] * along
    square = offset**2 + scale**2 * (along @ teacher) + 0.04
    cases = _Cases(np.array([0.3, 0.7]), means, covariance, cross, square)
    return cases, roots, scale[:, None] * teacher, offset


def measured_errors(k: int, m: int, draws: int, constant: float) -> np.ndarray:
    """Errors of ridge on sampled examples, shape (2, draws); on fresh ones as exact means."""
    cases, roots, teachers, offset = drawn_mixture(k)
    random = np.random.default_rng(k)
    second = cases.covariance + cases.mean[:, :, None] * cases.mean[:, None, :]
    M, b = np.tensordot(cases.weight, second, 1), cases.weight @ cases.cross
    found = []
    for _ in range(draws):
        which = random.choice(2, size=m, p=cases.weight)
        z = random.standard_normal((m, k))
        off = np.where(which[:, None] == 0, z @ roots[0].T, z @ roots[1].T)
        y = offset[which] + np.sum(teachers[which] * off, axis=1) + 0.2 * random.standard_normal(m)
        fit = ridge(math.sqrt(k) * (cases.mean[which] + off).T, y, constant)
        w = fit.weights
        found.append((cases.weight @ cases.square - 2 * b @ w + w @ M @ w, fit.training_error))
    return np.array(found).T


def test_a_mixture_with_other_covariances_and_correlated_labels_against_samples() -> None:
    constant, gaps = 0.05, []
    for k, m, draws in ((30, 45, 1000), (120, 180, 200)):
        found = _solved(drawn_mixture(k)[0], m, constant)
        errors = measured_errors(k, m, draws, constant)
        mean, spread = errors.mean(axis=1), errors.std(axis=1) / math.sqrt(draws)
        assert np.all(spread < 0.015 * mean)
        gaps.append(np.abs(np.array([found.test, found.training]) / mean - 1.0))
    # what is left out is of order 1/m
    assert gaps[1][0] < 0.6 * gaps[0][0]
    assert np.all(gaps[1] < 0.03)


@pytest.mark.parametrize(("name", "task"), [("relu", "regression"), ("erf", "classification")])
def test_the_equations_have_the_errors_of_the_map(name: str, task: str) -> None:
    n, m, k, constant, draws = 30, 40, 48, 0.3, 200
    setting = Setting(n=n, m=m, k=k, activation=name, task=task)  # type: ignore[arg-type]
    random = np.random.default_rng(4)
    drawn = population(setting, random)
    first, _ = initial_weights(random, n, k, drawn.trace)
    features = conditional_map(drawn, first, random.standard_normal(n), name)
    found = ridge_errors(drawn, features, m, constant)

    def sampled(count: int) -> tuple[np.ndarray, np.ndarray]:
        data = drawn.sample(random, count)
        return features.features(data, slice(0, count), random), data.labels

    phi, y = sampled(draws * m)
    new, label = sampled(6_000)
    M, b = new @ new.T / (k * label.size), new @ label / (math.sqrt(k) * label.size)
    errors = []
    for draw in range(draws):
        half = np.arange(draw * m // 2, (draw + 1) * m // 2)
        rows = np.concatenate([half, half + draws * m // 2])
        fit = ridge(phi[:, rows], y[rows], constant)
        w = fit.weights
        errors.append((np.mean(label**2) - 2 * b @ w + w @ M @ w, fit.training_error))
    measured = np.mean(errors, axis=0)
    spread = np.std(errors, axis=0) / math.sqrt(draws)
    assert spread[0] < 0.005 * measured[0]
    assert found.test == pytest.approx(measured[0], rel=0.03)
    assert found.training == pytest.approx(measured[1], abs=3 * spread[1] + 0.01 * measured[1])


def test_more_nodes_of_the_grid_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    setting = Setting(n=40, trials=1, models=["network", "ridge_equations"])
    few = compare(setting, lambda name, fraction: None).error("ridge_equations").mean
    monkeypatch.setattr(ridge_equations, "_NODES", 8)
    many = compare(setting, lambda name, fraction: None).error("ridge_equations").mean
    assert few == pytest.approx(many, rel=2e-3)
    assert few != many


def test_many_spikes_are_refused_for_the_models() -> None:
    with pytest.raises(InputError) as caught:
        Setting._made({"n": 40, "rank": 3, "models": ["network", "ridge_equations"]})
    assert caught.value.argument == "models"
