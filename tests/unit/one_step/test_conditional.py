"""The conditional Gaussian map: against sampled fields at a fixed trained layer."""

import math

import numpy as np
import pytest
from symderiv_models.one_step.conditional import ConditionedFields, conditional_map
from symderiv_models.one_step.network import ArrayActivation
from symderiv_models.one_step.setting import Setting
from symderiv_models.one_step.spiked_mixture import Population, Samples, population

from symderiv.formula import activation

K, N = 6, 24
COUNT = 60_000


def _layer(mean: float = 0.7) -> tuple[Population, np.ndarray, np.ndarray]:
    setting = Setting(n=N, k=K, mean=mean, alpha=0.3)
    random = np.random.default_rng(8)
    drawn = population(setting, random)
    first = random.standard_normal((K, N)) / math.sqrt(N)
    direction = random.standard_normal(N)
    first += np.outer(random.standard_normal(K), direction) / N  # a trained layer leans on it
    first[1] = 0.8 * first[0] + 0.4 * first[1]  # and rows are correlated
    return drawn, first, direction


def _given_kappa(
    component: int, drawn: Population, first: np.ndarray, direction: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Inputs of one κ: the part in V_c fixed, the rest drawn anew."""
    random = np.random.default_rng(9)
    part = drawn.components[component]
    basis = np.linalg.qr(np.column_stack([part.directions, direction]))[0]
    start = part.sample(random, 1)[0] - part.mean
    fixed = basis @ (basis.T @ start)
    z = random.standard_normal((COUNT, N))
    return part.mean + fixed + z - (z @ basis) @ basis.T, first


@pytest.mark.parametrize("text", ["relu", "tanh"])
@pytest.mark.parametrize("component", [0, 1])
def test_conditional_moments_are_those_of_sampled_fields(text: str, component: int) -> None:
    drawn, first, direction = _layer()
    inputs, _ = _given_kappa(component, drawn, first, direction)
    features = ArrayActivation.of(activation(text)).value(first @ inputs.T)
    found = conditional_map(drawn, first, direction, text)
    moments = found.moments(component, inputs[:1])
    nu, c1 = moments.coefficients[0, :, 0], moments.coefficients[1, :, 0]
    spread = features.std(axis=1) / math.sqrt(COUNT)
    assert np.all(abs(features.mean(axis=1) - nu) < 5 * spread)
    fields = ConditionedFields.of(drawn.components[component], first, direction)
    # Ψ: covariance of features with the normal part of the input
    outside = inputs - inputs.mean(axis=0)
    psi = (features - features.mean(axis=1, keepdims=True)) @ outside / COUNT
    np.testing.assert_allclose(psi, c1[:, None] * fields.outside, atol=6 / math.sqrt(COUNT))
    # Ψ Ψᵀ + Φ: covariance of the features, by the series
    R, covariance = fields.cosines, np.zeros((K, K))
    for p in range(1, found.order + 1):
        c = moments.coefficients[p, :, 0]
        covariance += R**p * np.outer(c, c) / math.factorial(p)
    covariance += np.diag(moments.remainder()[:, 0])
    np.testing.assert_allclose(np.cov(features), covariance, atol=6 / math.sqrt(COUNT))


def test_the_map_has_the_covariance_that_the_series_states() -> None:
    drawn, first, direction = _layer()
    inputs, _ = _given_kappa(0, drawn, first, direction)
    data = Samples(inputs, np.zeros(COUNT), COUNT)
    found = conditional_map(drawn, first, direction, "relu")
    drawn_features = found.features(data, slice(0, COUNT), np.random.default_rng(4))
    true = np.maximum(first @ inputs.T, 0.0)
    assert found.order == 12  # two rows are close to each other
    np.testing.assert_allclose(drawn_features.mean(axis=1), true.mean(axis=1), atol=0.02)
    np.testing.assert_allclose(np.cov(drawn_features), np.cov(true), atol=0.02)
    # z outside of V_c is the sample's own
    both = np.corrcoef(drawn_features[2], true[2])[0, 1]
    assert both > 0.7


def test_the_stated_bound_holds_for_the_covariance_of_two_correlated_fields() -> None:
    drawn, first, direction = _layer()
    found = conditional_map(drawn, first, direction, "erf")
    fields = ConditionedFields.of(drawn.components[0], first, direction)
    inputs, _ = _given_kappa(0, drawn, first, direction)
    moments = found.moments(0, inputs[:1])
    means = fields.means(inputs[:1])[:2, 0]
    deviations, r = fields.deviations[:2, 0], fields.cosines[0, 1]
    z, w = np.polynomial.hermite_e.hermegauss(80)
    w = w / w.sum()
    erf = ArrayActivation.of(activation("erf")).value
    u, v = np.meshgrid(z, z, indexing="ij")
    one = erf(means[0] + deviations[0] * u)
    two = erf(means[1] + deviations[1] * (r * u + math.sqrt(1 - r * r) * v))
    weights = np.outer(w, w)
    exact = (weights * one * two).sum() - (weights * one).sum() * (weights * two).sum()
    series = sum(
        r**p * moments.coefficients[p, 0, 0] * moments.coefficients[p, 1, 0] / math.factorial(p)
        for p in range(1, found.order + 1)
    )
    assert abs(exact - series) <= found.error_bound * moments.remainder().max() + 1e-12
    assert abs(exact - series) < 1e-3 * abs(exact)
