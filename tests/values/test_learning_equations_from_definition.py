"""The kept modules, compiled, against the definition of the update, and against themselves."""

from dataclasses import replace

import numpy as np
import pytest
from pairs.activations import ACTIVATIONS
from pairs.engine import packed
from pairs.reference import StatedError, by_hermite, by_sampling
from pairs.states import Rates, State, random_state
from support.plain_module import checked_in

from symderiv.checking.recipes import RECIPES

pytestmark = pytest.mark.turns(9)

#: Nodes per field: exact for the sixth powers of polynomials, enough at small variances else.
NODES = {"linear": 8, "quadratic": 8}


def kernel_rates(module: str, state: State, rates: Rates) -> np.ndarray:
    """Derivatives of the packed state, and the error."""
    kernel = checked_in(module)
    vector, sizes, parameters = packed(state, rates)
    derivative = np.empty_like(vector)
    kernel.flat_right_hand_side(0.0, vector, sizes, parameters, derivative)
    K, M = len(state.J), len(state.B)
    Q, R = np.empty((K, K)), np.empty((K, M))
    error = kernel.flat_observables(vector, sizes, parameters, Q, R)
    covariance = state.factor @ state.factor.T
    np.testing.assert_allclose(Q, covariance[:K, :K], rtol=1e-13)
    np.testing.assert_allclose(R, covariance[:K, K:], rtol=1e-12)
    return np.append(derivative, error)


@pytest.mark.parametrize(("K", "M"), [(2, 2), (3, 2), (2, 3)])
@pytest.mark.parametrize("module", RECIPES)
def test_rates_are_those_of_the_definition(module: str, K: int, M: int) -> None:
    own, other = (ACTIVATIONS[name] for name in RECIPES[module])
    state, rates = random_state("general", K + 10 * M, K, M, 2, hidden=M), Rates()
    if own.kinked or other.kinked:
        known = by_sampling(state, rates, own, other, StatedError())
        assert np.max(known.error / known.scale) < 1e-3
        allowed = 5 * known.error + 1e-9 * known.scale
    else:
        small = {name: 0.6 * getattr(state, name) for name in ("J", "B", "hidden")}
        state = replace(state, **small)
        nodes = NODES.get(module, 24 if K + M == 4 else 16)
        known = by_hermite(state, rates, own, other, nodes)
        assert np.max(known.error / known.scale) < (1e-12 if module in NODES else 1e-5)
        # the error of the finer rule is below its distance to the coarser one
        allowed = np.max(known.error) + 1e-12 * known.scale
    assert np.all(np.abs(kernel_rates(module, state, rates) - known.value) <= allowed)


@pytest.mark.parametrize("module", ["erf", "relu"])
def test_small_learning_rate_order_drops_the_noise_only(module: str) -> None:
    state, K, L = random_state("general", 3, 2, 3, 2, hidden=3), 2, 2
    full = kernel_rates(module, state, Rates())
    small = kernel_rates(module, state, Rates(full_order=0.0))
    noise = np.moveaxis((full - small)[: L * K * K].reshape(K, K, L), -1, 0)
    assert np.all(full[L * K * K :] == small[L * K * K :])
    Gamma = noise / (state.eigenvalue[:, None, None] * Rates().learning_rate ** 2)
    np.testing.assert_allclose(Gamma[0], Gamma[1], rtol=1e-9)
    assert np.all(np.linalg.eigvalsh(Gamma[0]) > 0)


@pytest.mark.parametrize("module", ["erf", "relu", "gelu", "erf_sign"])
def test_gradients_are_derivatives_of_the_error(module: str) -> None:
    """A, B and dv against central differences of generalization_error."""
    kernel = checked_in(module)
    K, state = 3, random_state("general", 5, 3, 2, 2, hidden=2)
    C, v = state.factor @ state.factor.T, state.v
    Q, R, T = C[:K, :K].copy(), C[:K, K:].copy(), C[K:, K:].copy()
    A, B, dv = np.empty_like(Q), np.empty_like(R), np.empty(K)
    kernel.gradients(Q, R, T, v, state.v_teacher, A, B, dv)
    step = 1e-5

    def slope(place: int, *index: int) -> float:
        """By an entry of Q, R or v, and by its mirror image in Q."""
        ends = []
        for sign in (1, -1):
            given = [Q.copy(), R.copy(), v.copy()]
            given[place][index] += sign * step
            if place == 0 and index[0] != index[1]:
                given[0][index[::-1]] += sign * step
            ends.append(kernel.generalization_error(*given[:2], T, given[2], state.v_teacher))
        return (ends[0] - ends[1]) / (2 * step)

    for i in range(K):
        for j in range(i + 1):
            assert A[i, j] == pytest.approx((2 if i == j else 1) * slope(0, i, j), abs=1e-7)
        for n in range(R.shape[1]):
            assert B[i, n] == pytest.approx(slope(1, i, n), abs=1e-7)
        assert dv[i] == pytest.approx(slope(2, i), abs=1e-8)
