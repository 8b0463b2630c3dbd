"""Symmetries and limits of the kept modules: what any right-hand side must satisfy."""

from dataclasses import replace

import numpy as np
import pytest
from pairs.engine import packed
from pairs.states import Rates, State, random_state
from support.plain_module import checked_in

from symderiv.checking.recipes import RECIPES

SAME = [name for name, (student, teacher) in RECIPES.items() if student == teacher]


def random_system(seed: int, K: int, M: int) -> State:
    return random_state("general", seed, K, M, 2, hidden=M)


def rates_of(name: str, system: State, rates: Rates) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    kernel = checked_in(name)
    vector, sizes, parameters = packed(system, rates)
    flat, (K, M, L) = np.empty_like(vector), sizes
    kernel.flat_right_hand_side(0.0, vector, sizes, parameters, flat)
    first, second = L * K * K, L * K * (K + M)
    dQ, dr = flat[:first].reshape(K, K, L), flat[first:second].reshape(K, M, L)
    return np.moveaxis(dQ, -1, 0), np.moveaxis(dr, -1, 0), flat[second:]


def error_of(name: str, system: State) -> float:
    kernel = checked_in(name)
    vector, sizes, parameters = packed(system, Rates())
    K, M, _ = sizes
    return kernel.flat_observables(vector, sizes, parameters, np.empty((K, K)), np.empty((K, M)))


def learned(seed: int) -> State:
    """A student equal to a teacher that sees the inputs themselves."""
    rng = np.random.default_rng(seed)
    # dyadic numbers, so that all overlaps are exact
    J, v = np.round(rng.normal(size=(2, 16)) * 64) / 64, rng.normal(size=2)
    none, mode = np.zeros((2, 0)), np.repeat([0, 1], 8)
    return State("learned", J, J, none, mode, np.array([4.0, 0.25]), v, v)


@pytest.mark.parametrize("name", SAME)
def test_perfect_learning_is_a_fixed_point_with_no_error(name: str) -> None:
    rates = Rates(weight_decay=0.0, second_layer_weight_decay=0.0, label_noise=0.0)
    # To the rounding of the covariances, also where fields of student and teacher coincide.
    for part in rates_of(name, learned(41), rates):
        np.testing.assert_allclose(part, 0.0, atol=1e-14)
    assert error_of(name, learned(41)) == pytest.approx(0.0, abs=1e-14)


@pytest.mark.parametrize("name", RECIPES)
@pytest.mark.parametrize("case", ["no weights", "equal students", "opposite students", "aligned"])
def test_degenerate_covariances_give_finite_rates_close_to_their_neighbours(
    name: str, case: str
) -> None:
    system = random_system(61, 2, 2)
    J = system.J.copy()
    if case == "no weights":
        J[0] = 0.0
    elif case == "equal students":
        J[1] = J[0]
    elif case == "opposite students":
        J[1] = -J[0]
    else:
        J[0] = 1.5 * system.B[0]
    exact = replace(system, J=J, hidden=0 * system.hidden)
    parts = rates_of(name, exact, Rates())
    assert all(np.isfinite(part).all() for part in parts)
    assert np.isfinite(error_of(name, exact))
    if case == "no weights" and name in ("relu", "erf_sign"):
        return  # the direction of vanishing weights matters there: no limit to compare with
    nearby = np.random.default_rng(62).normal(size=J.shape)
    closer = rates_of(name, replace(exact, J=J + 1e-7 * nearby), Rates())
    for part, neighbour in zip(parts, closer, strict=True):
        np.testing.assert_allclose(part, neighbour, atol=2e-5)
