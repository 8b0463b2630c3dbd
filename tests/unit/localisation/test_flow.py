"""The population flow against quadrature over angles, the loss's gradient, and samples."""

import numpy as np
import pytest
from scipy.special import erf
from symderiv_models.localisation.flow import PopulationFlow
from symderiv_models.localisation.training import Learner

from benchmarks.localisation import rates_by_angles
from symderiv.foundation.errors import InputError
from symderiv.inputs.ring_inputs import GaussianRing, NonlinearProcess


@pytest.fixture(scope="module")
def inputs() -> GaussianRing:
    return NonlinearProcess(gain=2.0, lengths=(2.0, 0.8), sites=10).surrogate()


@pytest.mark.parametrize("units", [1, 3])
def test_the_flow_is_the_mean_over_inputs(inputs: GaussianRing, units: int) -> None:
    weights = np.random.default_rng(units).standard_normal((units, 10))
    weights[0] *= 3.0
    found = PopulationFlow(inputs, units).rate(weights)
    np.testing.assert_allclose(found, rates_by_angles(inputs, weights), atol=1e-10)


@pytest.mark.parametrize("activation", ["relu", "erf", "x**2/2 + x"])
def test_the_flow_goes_down_the_loss(inputs: GaussianRing, activation: str) -> None:
    flow = PopulationFlow(inputs, 2, activation)
    weights = 0.5 * np.random.default_rng(5).standard_normal((2, 10))
    found = flow.rate(weights)
    for unit, site in ((0, 1), (1, 7)):
        step = np.zeros_like(weights)
        step[unit, site] = 1e-5
        slope = (flow.loss(weights + step) - flow.loss(weights - step)) / 2e-5
        assert found[unit, site] == pytest.approx(-2.0 * slope, rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("activation", ["relu", "erf", "x**2/2 + 1"])
def test_the_loss_is_the_mean_over_inputs(inputs: GaussianRing, activation: str) -> None:
    """Also of activations that are not 0 at 0."""
    functions = {
        "relu": lambda s: np.maximum(s, 0.0),
        "erf": lambda s: erf(s / np.sqrt(2.0)),
        "x**2/2 + 1": lambda s: s**2 / 2.0 + 1.0,
    }
    rng = np.random.default_rng(9)
    weights = 0.3 * rng.standard_normal((2, 10))
    losses = []
    for label in (0, 1):
        fields = inputs.sample(label, (40000,), rng) @ weights.T
        output = np.mean(functions[activation](fields), axis=1)
        losses.append(0.5 * (output - label) ** 2)
    error = 0.5 * np.hypot(*(np.std(each) / np.sqrt(each.size) for each in losses))
    sampled = 0.5 * sum(np.mean(each) for each in losses)
    assert abs(PopulationFlow(inputs, 2, activation).loss(weights) - sampled) < 5.0 * error


@pytest.mark.parametrize("apart", [0.0, 1e-12, 1e-9, 1e-5])
def test_units_that_align_are_one_unit(inputs: GaussianRing, apart: float) -> None:
    """The angle keeps its digits: what two units do differs from one by its order only."""
    rng = np.random.default_rng(6)
    one, other = rng.standard_normal((2, 1, 10))
    alone = PopulationFlow(inputs, 1).rate(one)
    pair = PopulationFlow(inputs, 2).rate(np.concatenate([one, one + apart * other]))
    np.testing.assert_allclose(pair[0], alone[0], atol=1e-13 + 2.0 * apart)


def test_units_that_oppose_do_not_see_each_other(inputs: GaussianRing) -> None:
    """No input opens both gates, so the other unit only halves what the first gives."""
    one = np.random.default_rng(7).standard_normal((1, 10))
    pair = PopulationFlow(inputs, 2).rate(np.concatenate([one, -one]))
    covariance = [inputs.covariance(label) for label in (0, 1)]
    drawn = 0.5 * covariance[1] @ one[0] / np.sqrt(2 * np.pi * (one[0] @ covariance[1] @ one[0]))
    own = 0.25 * (covariance[0] + covariance[1]) @ one[0] / 2.0
    np.testing.assert_allclose(pair[0], drawn - own, atol=1e-13)


def test_the_flow_comes_to_a_minimum(inputs: GaussianRing) -> None:
    flow = PopulationFlow(inputs, 3)
    start = 0.1 * np.random.default_rng(8).standard_normal((3, 10))
    weights, residual = flow.steady_state(start)
    assert residual < 1e-7
    curvature = np.linalg.eigvalsh(flow.jacobian(weights))
    assert np.max(curvature) < 1e-7
    path = flow.run(start, np.geomspace(1e-2, 400.0, 20))
    losses = [flow.loss(each) for each in path.weights]
    assert np.all(np.diff(losses) < 1e-12)
    assert flow.loss(weights) <= losses[-1] + 1e-12


def test_descent_on_samples_follows_the_flow(inputs: GaussianRing) -> None:
    """Large batches, small steps: the same weights up to the noise of the batches."""
    learner = Learner(inputs, units=2, learning_rate=0.05, batch=2000, initial_std=0.3)
    start = learner.initial(2, 3)
    found = learner.sgd(steps=100, runs=2, seed=3, points=4)
    flow = PopulationFlow(inputs, 2)
    for run in range(2):
        exact = flow.run(start[run], np.array([5.0])).weights[-1]
        moved = np.linalg.norm(exact - start[run])
        assert np.linalg.norm(found.weights[-1, run] - exact) < 0.05 * moved


def test_an_activation_that_the_calculus_does_not_close_is_refused(inputs: GaussianRing) -> None:
    with pytest.raises(InputError, match="use method sgd"):
        PopulationFlow(inputs, 2, "tanh")
