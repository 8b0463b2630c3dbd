"""Flows with biases and by quadrature: adaptive integrals, the loss's slope, samples."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit, ndtr
from scipy.stats import multivariate_normal
from symderiv_models.localisation.field_flow import FieldFlow, field_means, two_positive
from symderiv_models.localisation.flow import PopulationFlow
from symderiv_models.localisation.training import Learner

from symderiv.foundation.errors import InputError, ToleranceError
from symderiv.inputs.ring import Floats
from symderiv.inputs.ring_inputs import GaussianRing, NonlinearProcess


@pytest.fixture(scope="module")
def inputs() -> GaussianRing:
    return NonlinearProcess(gain=2.0, lengths=(1.5, 0.8), sites=8).surrogate()


def _start(units: int, seed: int = 0) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((units, 8)), np.array([0.4, -0.7, 1.1])[:units]


def _flow(inputs: GaussianRing, activation: str, loss: str, units: int) -> FieldFlow:
    return FieldFlow(inputs, field_means(activation, loss, units), biases=True)


def test_without_biases_it_is_the_closed_flow(inputs: GaussianRing) -> None:
    weights, biases = _start(3)
    found = _flow(inputs, "relu", "squared", 3)
    exact = PopulationFlow(inputs, 3)
    rate, _ = found.rate(weights, 0.0 * biases)
    np.testing.assert_allclose(rate, exact.rate(weights), atol=1e-14)
    assert found.loss(weights, 0.0 * biases) == pytest.approx(exact.loss(weights), abs=1e-14)


def test_biased_rates_are_integrals_over_the_other_field_given_one(inputs: GaussianRing) -> None:
    """x regressed on both fields; over the second field by its normal law given the first."""
    weights, biases = _start(2)
    moved, shifted = np.zeros_like(weights), np.zeros(2)
    for label in (0, 1):
        image = inputs.covariance(label) @ weights.T
        second = weights @ image
        for k in range(2):
            j = 1 - k
            spread = np.sqrt(second[k, k])
            slope = second[k, j] / second[k, k]
            left = np.sqrt(second[j, j] - slope * second[k, j])

            def integrand(
                z: float, power: int, k: int, j: int, spread: float, slope: float, left: float,
                label: int,
            ) -> float:  # fmt: skip
                """E[(y − f) S̃_k^a S̃_j^b | S̃_k = z] for power a = 0, 1 or b = 1 (2)."""
                own = z + biases[k]
                mean = slope * z + biases[j]
                density = np.exp(-0.5 * (mean / left) ** 2) / np.sqrt(2.0 * np.pi)
                first = mean * ndtr(mean / left) + left * density
                squares = (mean**2 + left**2) * ndtr(mean / left) + mean * left * density
                error = label - 0.5 * (own + first)
                if power == 2:
                    error = (label - 0.5 * own) * slope * z - 0.5 * (squares - biases[j] * first)
                weight = np.exp(-0.5 * (z / spread) ** 2) / (np.sqrt(2.0 * np.pi) * spread)
                return float(error * weight * (z if power == 1 else 1.0))

            parts = [
                quad(integrand, -biases[k], -biases[k] + 12.0 * spread, epsabs=1e-13, limit=200,
                     args=(power, k, j, spread, slope, left, label))[0]
                for power in (0, 1, 2)
            ]  # fmt: skip
            shifted[k] += 0.5 * parts[0]
            order = [k, j]
            moved[k] += (
                0.5 * image[:, order] @ np.linalg.solve(second[np.ix_(order, order)], parts[1:])
            )
    found = _flow(inputs, "relu", "squared", 2).rate(weights, biases)
    np.testing.assert_allclose(found[0], moved, atol=1e-10)
    np.testing.assert_allclose(found[1], shifted, atol=1e-10)


def test_rates_by_quadrature_are_adaptive_integrals(inputs: GaussianRing) -> None:
    weights, biases = _start(1)
    moved, shifted = np.zeros_like(weights), 0.0
    for label in (0, 1):
        image = inputs.covariance(label) @ weights[0]
        spread = np.sqrt(weights[0] @ image)

        def force(z: float, power: int, spread: float = spread, label: int = label) -> float:
            f = expit(spread * z + biases[0])
            density = np.exp(-0.5 * z * z) / np.sqrt(2.0 * np.pi)
            # (y − f)/(f (1 − f)) times the slope f (1 − f)
            return float((label - f) * z**power * density)

        own, along = (quad(force, -12, 12, args=(n,), epsabs=1e-13)[0] for n in (0, 1))
        shifted += 0.5 * own
        moved[0] += 0.5 * image * along / spread
    found = _flow(inputs, "sigmoid", "cross-entropy", 1).rate(weights, biases)
    np.testing.assert_allclose(found[0], moved, atol=1e-10)
    np.testing.assert_allclose(found[1], [shifted], atol=1e-10)


@pytest.mark.parametrize(
    ("activation", "loss"),
    [("relu", "squared"), ("sigmoid", "squared"), ("sigmoid", "cross-entropy")],
)
def test_flows_with_biases_go_down_the_loss(
    inputs: GaussianRing, activation: str, loss: str
) -> None:
    flow = _flow(inputs, activation, loss, 2)
    weights, biases = _start(2, seed=1)
    weights *= 0.5
    moved, shifted = flow.rate(weights, biases)
    direction = np.random.default_rng(2).standard_normal(weights.shape), np.array([1.0, -2.0])
    step = 1e-4
    ahead, behind = (
        flow.loss(weights + s * direction[0], biases + s * direction[1]) for s in (step, -step)
    )
    slope = np.sum(moved * direction[0]) + shifted @ direction[1]
    assert slope == pytest.approx(-2.0 * (ahead - behind) / (2.0 * step), abs=1e-7)


@pytest.mark.parametrize(
    ("activation", "loss", "units"), [("relu", "squared", 2), ("sigmoid", "cross-entropy", 1)]
)
def test_descent_on_samples_follows_flows_with_biases(
    inputs: GaussianRing, activation: str, loss: str, units: int
) -> None:
    learner = Learner(inputs, units, activation, loss, True, 0.1, 2000, 0.5)
    found = learner.sgd(steps=30, runs=1, seed=3, points=3)
    start = learner.initial(1, 3)[0]
    flow = _flow(inputs, activation, loss, units)
    exact = flow.run(start, np.zeros(units), np.array([0.0, 3.0]))
    for now, then, begun in (
        (found.weights[-1, 0], exact.weights[-1], start),
        (found.biases[-1, 0], exact.biases[-1], np.zeros(units)),
    ):
        assert np.linalg.norm(now - then) < 0.06 * np.linalg.norm(then - begun) + 3e-3


def test_two_positive_fields_also_where_they_align() -> None:
    for h, k, correlation in ((0.3, -0.7, 0.5), (0.0, 0.4, -0.3), (-1.0, -2.0, 0.99)):
        law = multivariate_normal([0.0, 0.0], [[1.0, correlation], [correlation, 1.0]])
        found = two_positive(np.array(h), np.array(k), np.arccos(correlation))
        assert found == pytest.approx(law.cdf([h, k]), abs=1e-12)
    angles = np.array([0.0, 1e-13, 1e-9, 1e-6])
    zero, one, other = np.array(0.0), np.array(0.8), np.array(-0.2)
    np.testing.assert_allclose(two_positive(zero, zero, angles), 0.5, atol=2e-7)
    np.testing.assert_allclose(two_positive(one, one, angles), ndtr(0.8), atol=1e-6)
    np.testing.assert_allclose(two_positive(one, other, angles), ndtr(-0.2))
    opposed = two_positive(one, other, np.array(np.pi))
    assert opposed == pytest.approx(ndtr(0.8) - ndtr(0.2), abs=1e-15)


@pytest.mark.parametrize("apart", [0.0, 1e-13, 1e-9])
def test_biased_units_that_align_are_one_unit(inputs: GaussianRing, apart: float) -> None:
    weights, biases = _start(1)
    other = np.random.default_rng(4).standard_normal((1, 8))
    alone = _flow(inputs, "relu", "squared", 1).rate(weights, biases)
    two = np.concatenate([weights, weights + apart * other]), np.repeat(biases, 2)
    pair = _flow(inputs, "relu", "squared", 2)
    np.testing.assert_allclose(pair.rate(*two)[0][0], alone[0][0], atol=1e-13 + 3.0 * apart)
    np.testing.assert_allclose(pair.rate(*two)[1], np.repeat(alone[1], 2), atol=1e-13 + 3.0 * apart)


def test_what_quadrature_cannot_do_is_refused(inputs: GaussianRing) -> None:
    for activation, loss, units, argument in (
        ("sigmoid", "squared", 3, "units"),
        ("abs(x)", "squared", 1, "activation"),
        ("tanh", "cross-entropy", 1, "loss"),
        ("relu", "cross-entropy", 1, "loss"),
    ):
        with pytest.raises(InputError) as raised:
            field_means(activation, loss, units)
        assert raised.value.argument == argument
    weights, biases = _start(1)
    with pytest.raises(ToleranceError, match="too large for quadrature"):
        _flow(inputs, "sigmoid", "squared", 1).rate(1e6 * weights, biases)
