"""The kept modules against the definition of the update."""

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
