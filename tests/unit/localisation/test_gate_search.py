"""All gates of a small population against one network at a time; descents; the one-site flow."""

import numpy as np
import pytest
from symderiv_models.localisation.flow import PopulationFlow
from symderiv_models.localisation.gate_search import all_merits, best_gates
from symderiv_models.localisation.gated_linear import GatedLinear
from symderiv_models.localisation.sign_means import one_site_flow

from symderiv.foundation.errors import InputError
from symderiv.inputs.ring_inputs import NonlinearProcess


def _population(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    weight = rng.random(5)
    return rng.standard_normal((5, 2)), rng.random(5), weight / weight.sum()


def test_merits_of_all_gates_are_those_of_each_network() -> None:
    x, y, p = _population(0)
    found = all_merits(x, y, p, 2)
    assert found.gates.shape == (1024, 5, 2)
    assert len({each.tobytes() for each in found.gates}) == 1024
    for index in (0, 1, 77, 500, 1023):
        network = GatedLinear(x, y, found.gates[index].astype(float), p)
        assert found.merit[index] == pytest.approx(network.merit(), abs=1e-12)
        assert found.source[index] == pytest.approx(np.sum(network.source**2), abs=1e-14)
        pseudo = np.linalg.pinv(network.correlation, rcond=1e-11, hermitian=True)
        off = 2.0 * np.sum(pseudo[:2, 2:] ** 2) / max(np.sum(pseudo**2), 1e-300)
        assert found.coupling[index] == pytest.approx(off, abs=1e-9)
    gates = found.gates
    tiles = [index for index in range(1024) if set(gates[index].sum(1)) == {1}]
    both = [index for index in tiles if np.all(gates[index].sum(0) > 0)]
    assert list(np.flatnonzero(found.tiling())) == both
    assert len(both) == 2**5 - 2
    assert found.exclusive().sum() == 3**5


def test_descents_find_the_best_gates_of_small_populations() -> None:
    for seed in (1, 2):
        x, y, p = _population(seed)
        best = float(np.max(all_merits(x, y, p, 2).merit))
        found = best_gates(x, y, p, 2, restarts=16).merit()
        assert found <= best + 1e-12
        assert found == pytest.approx(best, rel=1e-3)


def test_too_many_gates_are_refused() -> None:
    with pytest.raises(InputError, match="best_gates"):
        all_merits(np.ones((30, 2)), np.ones(30), np.full(30, 1 / 30), 1)


@pytest.mark.turns(6)
def test_the_flow_by_one_site_is_exact_for_gaussian_inputs() -> None:
    inputs = NonlinearProcess(gain=1e-3, lengths=(1.6, 0.8), sites=10)
    start = np.random.default_rng(3).standard_normal((1, 10))
    exact = PopulationFlow(inputs.surrogate(), 1).run(start, np.array([2.0])).weights[-1, 0]
    found = [one_site_flow(inputs, start[0], 2.0, step=h) for h in (0.02, 0.01)]
    # Euler's steps: of first order
    np.testing.assert_allclose(2.0 * found[1] - found[0], exact, atol=2e-5)
