"""Gates against samples, gated linear networks against direct integration."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from symderiv_models.localisation.gated_linear import GatedLinear
from symderiv_models.localisation.gates import same_gate, same_gate_of_sample, unchanged_of_sample
from symderiv_models.localisation.receptive import centre, is_localised, participation_ratio, width

from symderiv.foundation.errors import InputError
from symderiv.inputs.ring import Floats
from symderiv.inputs.ring_inputs import NonlinearProcess


def _network(gates: Floats, seed: int = 0) -> GatedLinear:
    rng = np.random.default_rng(seed)
    count = len(gates)
    probabilities = rng.random(count)
    return GatedLinear(
        rng.standard_normal((count, 4)),
        (rng.random(count) > 0.5).astype(float),
        gates,
        probabilities / probabilities.sum(),
    )


def _integrated(network: GatedLinear, start: Floats, end: float) -> Floats:
    def rate(_: float, w: Floats) -> Floats:
        output = network.gated @ w / network.units
        return np.asarray(network.gated.T @ (network.probabilities * (network.labels - output)))

    run = solve_ivp(rate, (0.0, end), start.ravel(), rtol=1e-10, atol=1e-13)
    return np.asarray(run.y[:, -1].reshape(start.shape))


@pytest.mark.parametrize("seed", range(4))
def test_the_exact_flow_is_the_integrated_one(seed: int) -> None:
    """More weights than examples and fewer: zero eigenvalues are among them."""
    rng = np.random.default_rng(seed)
    network = _network((rng.random((7 if seed % 2 else 30, 3)) > 0.4).astype(float), seed)
    start = rng.standard_normal((3, 4))
    for end in (0.3, 6.0):
        exact = network.weights(start, end)
        np.testing.assert_allclose(exact, _integrated(network, start, end), atol=1e-8)


def test_the_limit_is_the_pseudo_inverse() -> None:
    network = _network((np.random.default_rng(9).random((6, 3)) > 0.3).astype(float), 9)
    found = network.limit(np.zeros((3, 4))).ravel()
    pseudo = 3.0 * np.linalg.pinv(network.correlation, rcond=1e-11) @ network.source
    np.testing.assert_allclose(found, pseudo, atol=1e-9)
    output = network.gated @ found / 3.0
    loss = np.sum(network.probabilities * (output - network.labels) ** 2)
    second = np.sum(network.probabilities * network.labels**2)
    assert second - network.merit() == pytest.approx(loss, abs=1e-10)


def test_exclusive_gates_learn_apart_and_redundant_ones_keep_their_difference() -> None:
    rng = np.random.default_rng(10)
    first = (rng.random(30) > 0.5).astype(float)
    start = rng.standard_normal((2, 4))
    exclusive = _network(np.stack([first, 1.0 - first], axis=1), 10)
    other = start.copy()
    other[1] += 1.0
    np.testing.assert_allclose(
        exclusive.weights(start, 2.0)[0], exclusive.weights(other, 2.0)[0], atol=1e-12
    )
    redundant = _network(np.stack([first, first], axis=1), 10)
    for time in (1.0, np.inf):
        found = redundant.weights(start, time)
        np.testing.assert_allclose(found[0] - found[1], start[0] - start[1], atol=1e-11)


def test_the_merit_of_gates_is_what_least_squares_explains() -> None:
    """Residuals by a least-squares solver, which knows nothing of A."""
    rng = np.random.default_rng(11)
    networks = [_network((rng.random((25, 2)) > 0.5).astype(float), 12) for _ in range(5)]
    residuals = []
    for network in networks:
        root = np.sqrt(network.probabilities)
        design, target = network.gated * root[:, None], network.labels * root
        solved = np.linalg.lstsq(design, target, rcond=None)[0]
        residuals.append(np.sum((design @ solved - target) ** 2))
    losses = [np.sum(each.probabilities * each.labels**2) - each.merit() for each in networks]
    np.testing.assert_allclose(losses, residuals, atol=1e-12)
    assert int(np.argmin(residuals)) == int(np.argmax([each.merit() for each in networks]))


def test_gates_of_gaussian_inputs_are_those_of_samples() -> None:
    inputs = NonlinearProcess(gain=1.0, lengths=(1.6, 0.7), sites=8).surrogate()
    rng = np.random.default_rng(13)
    before = rng.standard_normal((3, 8))
    after = before + 0.5 * rng.standard_normal((3, 8))
    exact = same_gate(inputs, before, after)
    share, error = same_gate_of_sample(inputs, before, after, 40000, 1)
    assert np.all(np.abs(share - exact) < 5.0 * error)
    assert np.all(same_gate(inputs, before, before) == 1.0)
    # close times: the chance of a flip is proportional to the step
    near = [1.0 - same_gate(inputs, before, before + h * after) for h in (1e-9, 2e-9)]
    np.testing.assert_allclose(near[1], 2.0 * near[0], rtol=1e-5)
    never, _ = unchanged_of_sample(inputs, np.stack([before, after, -before]), 1000, 1)
    assert np.all(never == 0.0)


def test_what_receptive_fields_look_like() -> None:
    sites = np.arange(40)
    single = np.where(sites == 7, -2.0, 0.0)
    wave = np.cos(2 * np.pi * sites * 3 / 40)
    bump = np.exp(-0.5 * ((sites - 38.0 + 20) % 40 - 20) ** 2 / 4.0)
    fields = np.stack([single, wave, np.ones(40), bump])
    np.testing.assert_allclose(participation_ratio(fields)[:3], [1.0, 1.5 / 40, 1.0 / 40])
    assert list(is_localised(fields)) == [True, False, False, False]
    assert centre(fields)[0] == pytest.approx(7.0)
    assert centre(fields)[3] == pytest.approx(38.0, abs=1e-9)
    # w² has half the variance of w
    assert width(fields)[3] == pytest.approx(np.sqrt(2.0), rel=1e-2)


def test_gates_are_zero_or_one() -> None:
    with pytest.raises(InputError) as raised:
        GatedLinear(np.ones((2, 3)), np.ones(2), np.array([[0.5], [1.0]]))
    assert raised.value.argument == "gates"
