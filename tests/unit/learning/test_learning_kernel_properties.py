"""Symmetries and limits of the kept modules: what any right-hand side must satisfy."""

from __future__ import annotations

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


@pytest.mark.turns(6)
@pytest.mark.parametrize("name", RECIPES)
def test_exchanging_students_exchanges_their_rates(name: str) -> None:
    system = random_system(31, 3, 2)
    order = np.array([2, 0, 1])
    other = replace(system, J=system.J[order], v=system.v[order])
    dQ, dr, dv = rates_of(name, system, Rates())
    moved = rates_of(name, other, Rates())
    np.testing.assert_allclose(moved[0], dQ[:, order][:, :, order], rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(moved[1], dr[:, order], rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(moved[2], dv[order], rtol=1e-11, atol=1e-13)
    assert error_of(name, other) == pytest.approx(error_of(name, system), rel=1e-12)


@pytest.mark.parametrize("name", RECIPES)
def test_exchanging_teachers_changes_nothing_for_the_students(name: str) -> None:
    system = random_system(32, 2, 3)
    order = np.array([1, 2, 0])
    taught = {name: getattr(system, name)[order] for name in ("B", "hidden", "v_teacher")}
    other = replace(system, **taught)
    dQ, dr, dv = rates_of(name, system, Rates())
    moved = rates_of(name, other, Rates())
    np.testing.assert_allclose(moved[0], dQ, rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(moved[1], dr[:, :, order], rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(moved[2], dv, rtol=1e-11, atol=1e-13)


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


@pytest.mark.parametrize("name", SAME)
def test_label_noise_alone_moves_a_perfect_student_by_its_variance(name: str) -> None:
    rates = Rates(weight_decay=0.0, second_layer_weight_decay=0.0, label_noise=0.5)
    once, _, _ = rates_of(name, learned(42), rates)
    twice, _, _ = rates_of(name, learned(42), replace(rates, label_noise=1.0))
    np.testing.assert_allclose(twice, 4 * once, rtol=1e-11, atol=1e-14)
    # Positive, but of rank one for a linear student.
    assert np.linalg.eigvalsh(once[0]).min() > -1e-15
    assert np.trace(once[0]) > 1e-3


def test_relu_is_homogeneous() -> None:
    """Weights times c, output weights over c: the same error; the overlaps scale like c squared."""
    system, c = random_system(51, 3, 2), 3.0
    scaled = replace(system, J=c * system.J, v=system.v / c)
    assert error_of("relu", scaled) == pytest.approx(error_of("relu", system), rel=1e-13)
    rates = Rates(weight_decay=0.0, second_layer_weight_decay=0.0, full_order=0.0)
    _, dr, _ = rates_of("relu", system, rates)
    _, moved, _ = rates_of("relu", scaled, rates)
    # dJ is the gradient, which the output weights scale.
    np.testing.assert_allclose(moved, dr / c, rtol=1e-11, atol=1e-14)


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
