"""Starts given by weights, compared with overlaps computed from the covariance itself."""

from __future__ import annotations

import numpy as np
import pytest

import symderiv as sd

N, K, M = 40, 3, 2
RANDOM = np.random.default_rng(5)
J = 0.3 * RANDOM.standard_normal((K, N))
B = RANDOM.standard_normal((M, N))
FACTOR = RANDOM.standard_normal((N, N))
COVARIANCE = FACTOR @ FACTOR.T / N


class Tensor:
    """What of a tensor of PyTorch is looked at."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __array__(self, dtype: object = None, copy: object = None) -> np.ndarray:
        raise RuntimeError("Can't call numpy() on a tensor that requires grad")

    def detach(self) -> Tensor:
        return self

    def cpu(self) -> np.ndarray:
        return self.array


def problem(inputs: object, **more: object) -> sd.Problem:
    given = {"students": K, "teachers": M, "learning_rate": 0.4, "inputs": inputs, **more}
    return sd.Problem("erf", **given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("inputs", "covariance"),
    [
        (sd.Isotropic(N), np.eye(N)),
        (None, np.eye(N)),
        (sd.Isotropic(), np.eye(N)),
        (sd.Spectrum([0.5, 2.0], weights=[0.75, 0.25]), np.diag([0.5] * 30 + [2.0] * 10)),
        (sd.Covariance(COVARIANCE), COVARIANCE),
        (sd.Covariance(COVARIANCE, normalise=True), N * COVARIANCE / np.trace(COVARIANCE)),
        (
            sd.GaussianMixture(
                probabilities=[0.3, 0.7], eigenvalues=[[2.0, 0.5], [0.5, 1.5]], dimension=N
            ),
            np.diag([0.3 * 2.0 + 0.7 * 0.5] * 20 + [0.3 * 0.5 + 0.7 * 1.5] * 20),
        ),
    ],
)
def test_overlaps_of_a_start_are_those_of_the_covariance(
    inputs: object, covariance: np.ndarray
) -> None:
    run = problem(inputs).solve(
        initial={"J": J, "B": B}, end=0.1, points=2, relative_tolerance=1e-6, progress=False
    )
    for found, left, right in ((run.Q[0], J, J), (run.R[0], J, B), (run.T, B, B)):
        np.testing.assert_allclose(found, left @ covariance @ right.T / N, rtol=1e-12, atol=1e-13)


def test_higher_moments_of_a_rotated_start_are_those_of_the_covariance() -> None:
    # overlaps with powers of the covariance notice eigenvectors in a wrong order
    start = (
        problem(sd.Covariance(COVARIANCE))
        .solve(initial={"J": J, "B": B}, end=0.1, points=2, progress=False)
        .initial
    )
    second = np.linalg.matrix_power(COVARIANCE, 2)
    found = np.einsum("k,kij->ij", start.weight * start.eigenvalue**2, start.student_overlap)
    np.testing.assert_allclose(found, J @ second @ J.T / N, rtol=1e-11)
    found = np.einsum("k,kin->in", start.weight * start.eigenvalue, start.cross_overlap)
    np.testing.assert_allclose(found, J @ second @ B.T / N, rtol=1e-11)


def test_a_simulation_starts_from_these_weights() -> None:
    stated = problem(sd.Covariance(COVARIANCE), train_second_layer=True)
    start = {"J": J, "B": B, "v": [0.3, 0.5, -0.2]}
    run = stated.simulate(runs=2, alpha=[0.0, 0.5], initial=start, method="vectors", progress=False)
    np.testing.assert_allclose(run.Q[0, 0], J @ COVARIANCE @ J.T / N, rtol=1e-11)
    np.testing.assert_allclose(run.R[1, 0], J @ COVARIANCE @ B.T / N, rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(run.v[0, 0], [0.3, 0.5, -0.2])


def test_a_tensor_that_asks_for_gradients_is_taken() -> None:
    runs = [
        problem(None).solve(initial=start, end=0.1, points=2, progress=False)
        for start in ({"J": J, "B": B}, {"J": Tensor(J), "B": Tensor(B)})
    ]
    assert np.array_equal(runs[0].Q, runs[1].Q)


@pytest.mark.parametrize(
    ("start", "said"),
    [
        ({"J": J}, "B: is missing"),
        ({"J": J[:2], "B": B}, "J: has shape (2, 40), expected (3, N)"),
        ({"J": J, "B": B[:, :20]}, "B: has shape (2, 20), expected (2, 40)"),
        ({"J": J, "B": B, "Q": np.eye(3)}, "Q: is not one of J, B, v"),
        ({"J": J * np.nan, "B": B}, "J: holds a value that is not a finite number"),
    ],
)
def test_weights_that_do_not_fit_are_refused(start: dict[str, np.ndarray], said: str) -> None:
    with pytest.raises(sd.InputError) as caught:
        problem(sd.Isotropic(N)).solve(initial=start, end=1, progress=False)
    assert str(caught.value).startswith(said)
