"""Error curves of linear networks: against the solver, matrix exponentials, enumeration, SGD."""

import itertools

import numpy as np
import pytest
from scipy.linalg import expm
from support.studies import toml

from symderiv.analysis.linear.decay import ExponentialSum
from symderiv.analysis.linear.error_curve import (
    Directions,
    check_learning_rate,
    coordinate_directions,
    eigendirections,
    finite_dimension,
    finite_stability_limit,
    generalization_error,
    rotated_covariance,
    small_learning_rate,
    stability_limit,
)
from symderiv.foundation.errors import InputError
from symderiv.inputs.spectra import power_law
from symderiv.integrate.rules.solving import solve
from symderiv.problem.initial import initial
from symderiv.problem.study import parse_study

SEED = 7
ALPHA = np.array([0.0, 0.5, 3.0, 40.0])


def directions_of(L: int, exponent: float, trainable: int | None = None) -> Directions:
    component = power_law(L, exponent).single()
    return eigendirections(component.eigenvalue, component.weight, trainable)


STUDY = toml(
    network={"activation": "linear", "students": 1, "teachers": 1},
    data={
        "model": "spectrum",
        "eigenvalues": [2.5, 1.1, 1.1000001, 0.3, 0.05],
        "weights": [0.125, 0.25, 0.25, 0.125, 0.25],
        "dimension": 400,
    },
    training={"learning_rate": 1.7},
    initial={"student_std": 0.6, "seed": 4},
    time={
        "values": [0.0, 0.5, 3.0, 40.0],
        "relative_tolerance": 1e-11,
        "absolute_tolerance": 1e-16,
    },
)


def test_the_solver_integrates_to_the_same_curve() -> None:
    """A sampled start (T is not 1), unequal weights, two eigenvalues that nearly coincide."""
    study = parse_study(STUDY)
    start = initial(study)
    state = start.state
    rho, weight = state.eigenvalue, state.weight
    cross, teacher = state.cross_overlap.ravel(), state.teacher_overlap.ravel()
    deviation = state.student_overlap.ravel() - 2.0 * cross / rho + teacher / rho**2
    assert abs(state.T[0, 0] - 1.0) > 1e-3
    found = generalization_error(eigendirections(rho, weight), 1.7, deviation)(ALPHA)
    expected = solve(study, start=start).generalization_error
    # the solver takes the error as a difference of overlaps of order 1, each within its tolerance
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize("exponent", [0.25, 1.5])
@pytest.mark.parametrize("eta", [0.1, 1.2, 1.95])
@pytest.mark.parametrize("trainable", [None, 6])
def test_curves_are_matrix_exponentials(exponent: float, eta: float, trainable: int | None) -> None:
    """The right-hand side written out here once more, with frozen directions in the noise."""
    L, deviation = 15, 1.3
    component = power_law(L, exponent).single()
    rho, w = component.eigenvalue, component.weight
    trained = np.arange(L) < (trainable or L)
    matrix = np.where(trained[:, None], eta**2 * np.outer(rho, w * rho), 0.0)
    matrix -= np.diag(np.where(trained, 2.0 * eta * rho, 0.0))
    curve = generalization_error(directions_of(L, exponent, trainable), eta, deviation)
    expected = [0.5 * deviation * (w * rho) @ expm(matrix * a).sum(axis=1) for a in ALPHA]
    np.testing.assert_allclose(curve(ALPHA), expected, rtol=1e-10)
    assert np.sum(curve.weight) == pytest.approx(1.0, abs=1e-14)
    assert np.all(curve.weight > 0.0)
    assert np.all(curve.rate > 0.0)


def test_the_stability_limit_separates_decay_from_growth() -> None:
    random = np.random.default_rng(SEED)
    rho, w = np.sort(random.uniform(0.1, 4.0, 9))[::-1], random.uniform(0.1, 1.0, 9)
    directions = eigendirections(rho, w / w.sum(), 7)
    limit = stability_limit(directions)
    assert generalization_error(directions, limit * (1.0 - 1e-9)).rate[0] > 0.0
    assert generalization_error(directions, limit * (1.0 + 1e-9)).rate[0] < 0.0


@pytest.mark.parametrize("eta", [1e-4, 1.4])
def test_training_coordinates_outside_of_the_eigenbasis(eta: float) -> None:
    """The full matrix E[d d^T] of all coordinates, integrated without any reduction."""
    N, trained, deviation = 7, 3, 1.5
    rho = power_law(N, 1.0).single().eigenvalue
    covariance = rotated_covariance(rho, seed=SEED)
    update = np.diag((np.arange(N) < trained).astype(float))
    drift = update @ covariance
    identity = np.eye(N)
    # d vec(C) = -eta (PS C + C SP) + eta^2 P S P tr(S C)/N
    generator = -eta * (np.kron(drift, identity) + np.kron(identity, drift))
    generator += eta**2 / N * np.outer((update @ covariance @ update).ravel(), covariance.ravel())
    start = deviation * identity.ravel()
    times = np.array([0.0, 1.0, 30.0]) / min(eta, 1.0)
    expected = [0.5 / N * covariance.ravel() @ expm(generator * a) @ start for a in times]
    directions = coordinate_directions(covariance, trained)
    np.testing.assert_allclose(
        generalization_error(directions, eta, deviation)(times), expected, rtol=1e-9
    )
    # the eigenbasis is the better one
    better = eigendirections(rho, np.full(N, 1.0 / N), trained)
    assert better.frozen < directions.frozen
    # every coordinate trained: the basis does not matter
    every = coordinate_directions(covariance, N)
    np.testing.assert_allclose(every.eigenvalue, rho, rtol=1e-10)
    assert every.frozen == pytest.approx(0.0, abs=1e-15)


def test_constant_inputs_outside_of_the_eigenbasis_learn_nothing() -> None:
    covariance = np.zeros((5, 5))
    covariance[1:, 1:] = rotated_covariance(np.array([3.0, 1.0, 0.5, 0.2]), seed=1)
    directions = coordinate_directions(covariance, 3)
    assert directions.eigenvalue.size == 2
    start = generalization_error(directions, 0.5)(0.0)
    assert start == pytest.approx(0.5 * np.trace(covariance) / 5, rel=1e-12)
    with pytest.raises(InputError, match="constant"):
        coordinate_directions(covariance, 1)


def recursion(rho: np.ndarray, n: np.ndarray, eta: float, steps: int, trained: int) -> float:
    """Second moments of each eigenspace, update by update."""
    N = n.sum()
    h = eta / N
    C = np.ones(rho.size)
    moving = np.arange(rho.size) < trained
    for _ in range(steps):
        change = -2.0 * h * rho * C + h * h * (2.0 * rho**2 * C + rho * np.sum(n * rho * C))
        C = C + np.where(moving, change, 0.0)
    return float(0.5 * np.sum(n * rho * C) / N)


@pytest.mark.parametrize("trained", [4, 2])
def test_the_mean_of_sgd_at_finite_dimension_is_the_recursion(trained: int) -> None:
    rho, n = np.array([3.0, 1.0, 0.4, 0.1]), np.array([1.0, 2.0, 3.0, 2.0])
    curve = finite_dimension(rho, n, 0.8, 1.0, trained)
    for steps in (0, 1, 2, 77, 5000):
        expected = recursion(rho, n, 0.8, steps, trained)
        assert curve.after(steps) == pytest.approx(expected, rel=1e-10)
    limit = finite_stability_limit(rho[:trained], n[:trained], 8.0)
    assert recursion(rho, n, limit * 1.02, 4000, trained) > 10.0
    with pytest.raises(InputError, match=r"not below .* at N = 8"):
        finite_dimension(rho, n, limit * 1.001, 1.0, trained)


def test_three_updates_by_enumeration_of_the_inputs() -> None:
    """Gauss-Hermite nodes are exact for these polynomials: every input of three updates, N = 2."""
    rho, eta, N = np.array([1.6, 0.4]), 0.6, 2
    nodes, weights = np.polynomial.hermite_e.hermegauss(3)
    weights = weights / weights.sum()
    C = np.eye(N)
    curve = finite_dimension(rho, np.ones(2), eta)
    for steps in range(4):
        error = 0.5 * np.trace(np.diag(rho) @ C) / N
        assert curve.after(steps) == pytest.approx(error, rel=1e-12)
        following = np.zeros_like(C)
        for one, two in itertools.product(range(3), repeat=2):
            x = np.sqrt(rho) * nodes[[one, two]]
            update = np.eye(N) - eta / N * np.outer(x, x)
            following += weights[one] * weights[two] * update @ C @ update.T
        C = following


def test_a_part_that_one_update_removes_is_there_before_it() -> None:
    curve = ExponentialSum(np.array([0.5, 1.0, 1.5]), np.array([0.25, 0.25, 0.5]), 2.0, 3.0)
    assert curve.after([0, 1, 2]) == pytest.approx([5.0, 2.75, 3.375], rel=1e-15)


@pytest.mark.parametrize("eta", [1e-100, 1e-30, 1e-12])
def test_hardly_any_noise_and_a_wide_spectrum(eta: float) -> None:
    directions = directions_of(40, 30.0)
    curve = generalization_error(directions, eta)
    limit = small_learning_rate(directions, eta, np.array([0.0, 1.0]) / eta)
    np.testing.assert_allclose(curve(np.array([0.0, 1.0]) / eta), limit, rtol=1e-10)
    share = directions.weight * directions.eigenvalue
    np.testing.assert_allclose(curve.weight, share[::-1], rtol=1e-10)


def test_eigenvalues_may_have_any_size_but_not_every_ratio() -> None:
    small = eigendirections(np.array([2e-80, 1e-80]), np.array([0.5, 0.5]))
    np.testing.assert_array_equal(small.eigenvalue, [2e-80, 1e-80])
    for largest in (1.0, 1e30):
        with pytest.raises(InputError, match="smallest is below 1e-60 of the largest"):
            eigendirections(largest * np.array([1.0, 1e-61]), np.array([0.5, 0.5]))
    # directions in which nothing varies are left out
    kept = eigendirections(np.array([1.0, 0.0]), np.array([0.5, 0.5]))
    np.testing.assert_array_equal(kept.eigenvalue, [1.0])
    assert eigendirections(np.zeros(2), np.array([0.5, 0.5])).eigenvalue.size == 0


def test_learning_rates_whose_square_is_no_double_are_refused() -> None:
    directions = directions_of(4, 1.0)
    check_learning_rate(directions, 1e-100)
    with pytest.raises(InputError, match="below 1e-100"):
        check_learning_rate(directions, 0.9e-100)
