"""The gradient step against finite differences, ridge against its objective, the data's law."""

import math

import numpy as np
import pytest
from symderiv_models.one_step.network import ArrayActivation, column_blocks, gradient, ridge
from symderiv_models.one_step.setting import Setting
from symderiv_models.one_step.spiked_mixture import Samples, population

from symderiv.formula import activation
from symderiv.foundation.errors import InputError


@pytest.mark.parametrize("text", ["tanh", "relu", "softplus"])
def test_the_gradient_matrix_is_minus_the_slope_of_half_the_squared_error(text: str) -> None:
    random = np.random.default_rng(3)
    n, k, m = 7, 5, 11
    sigma = ArrayActivation.of(activation(text))
    first, second = random.standard_normal((k, n)), random.standard_normal(k)
    data = Samples(random.standard_normal((m, n)), random.standard_normal(m), 4)

    def loss(weights: np.ndarray) -> float:
        output = second @ sigma.value(weights @ data.inputs.T) / math.sqrt(k)
        return float(np.mean((data.labels - output) ** 2)) / 2

    found = gradient(first, second, sigma, data)
    for place in ((0, 0), (2, 6), (4, 3)):
        move = np.zeros((k, n))
        move[place] = 1e-5
        slope = (loss(first + move) - loss(first - move)) / 2e-5
        assert found[place] == pytest.approx(-slope, abs=1e-8)


@pytest.mark.parametrize(("k", "m"), [(6, 15), (15, 6)])
def test_ridge_is_stationary_for_its_objective(k: int, m: int) -> None:
    random = np.random.default_rng(5)
    features, labels = random.standard_normal((k, m)), random.standard_normal(m)
    constant = 0.07
    fit = ridge(features, labels, constant)

    def objective(w: np.ndarray) -> float:
        residual = labels - w @ features / math.sqrt(k)
        return float(residual @ residual) / (2 * m) + constant / 2 * float(w @ w)

    best = objective(fit.weights)
    for _ in range(20):
        move = 1e-3 * random.standard_normal(k)
        # a parabola is lowest where both sides rise by the same
        rise = objective(fit.weights + move) - best, objective(fit.weights - move) - best
        assert rise[0] > 0
        assert rise[0] == pytest.approx(rise[1], rel=1e-6)
    assert fit.training_error == pytest.approx(
        float(np.mean((labels - fit.weights @ features / math.sqrt(k)) ** 2))
    )


def test_an_activation_that_jumps_has_no_gradient() -> None:
    with pytest.raises(InputError, match="jumps") as caught:
        ArrayActivation.of(activation("sign"))
    assert caught.value.argument == "activation"


@pytest.mark.parametrize("spikes", ["equal", "uniform"])
def test_spikes_have_their_alignment_traces_and_covariance(spikes: str) -> None:
    setting = Setting(n=30, rank=2, alignment=0.6, alpha=0.25, mean=1.5, spikes=spikes)  # type: ignore[arg-type]
    drawn = population(setting, np.random.default_rng(2))
    first, second = drawn.components
    np.testing.assert_allclose(first.directions.T @ first.directions, np.eye(2), atol=1e-12)
    np.testing.assert_allclose(second.directions.T @ second.directions, np.eye(2), atol=1e-12)
    np.testing.assert_allclose(first.directions.T @ second.directions, 0.6 * np.eye(2), atol=1e-12)
    assert first.strengths.sum() == pytest.approx(second.strengths.sum())
    assert drawn.trace == pytest.approx(30 + first.strengths.sum())
    if spikes == "equal":
        assert first.strengths == pytest.approx(30 ** (0.74 * 0.75))
    whole = 0.5 * sum(
        np.eye(30) + (c.directions * c.strengths) @ c.directions.T for c in drawn.components
    )
    assert np.linalg.norm(drawn.teacher) == pytest.approx(np.linalg.norm(whole, 2) ** -0.5)
    x = second.sample(np.random.default_rng(7), 40_000)
    np.testing.assert_allclose(x.mean(axis=0), second.mean, atol=0.1)
    along = (x - second.mean) @ second.directions
    np.testing.assert_allclose(along.var(axis=0), 1 + second.strengths, rtol=0.05)
    away = (x - second.mean) @ np.linalg.qr(second.directions, "complete")[0][:, 2:]
    np.testing.assert_allclose(away.var(axis=0), 1.0, rtol=0.05)


def test_examples_are_in_order_of_components_with_labels_of_their_own() -> None:
    setting = Setting(n=10, mixture_weight=0.3, task="classification")
    data = population(setting, np.random.default_rng(2)).sample(np.random.default_rng(3), 25)
    assert data.parts == (slice(0, 7), slice(7, 25))
    assert list(data.labels) == [-1.0] * 7 + [1.0] * 18


def test_blocks_cover_all_rows_once() -> None:
    rows = [i for block in column_blocks(slice(3, 50), 10**6) for i in range(50)[block]]
    assert rows == list(range(3, 50))
