"""Eigenvalues of a diagonal matrix with a coupling of rank two, against dense matrices."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from symderiv.analysis.late.rank_two import rank_two_spectrum
from symderiv.analysis.late.rank_two_loops import positive
from symderiv.foundation.errors import InputError

COUPLINGS = {
    "positive": [[2.0, 0.5], [0.5, 1.0]],
    "negative": [[-1.0, 0.3], [0.3, -0.5]],
    "indefinite": [[0.7, 1.1], [1.1, -0.4]],
    "strong": [[300.0, -20.0], [-20.0, 5.0]],
    "weak": [[1e-9, 2e-10], [2e-10, -3e-9]],
}


def _problem(L: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    pole = np.sort(rng.uniform(0.1, 3.0, (2, L)), axis=1)
    return pole, rng.uniform(0.2, 1.0, (2, L)), rng.standard_normal((3, 2, L))


def _dense(pole: np.ndarray, strength: np.ndarray, coupling: np.ndarray) -> np.ndarray:
    L = pole.shape[1]
    U = np.zeros((2 * L, 2))
    U[:L, 0], U[L:, 1] = strength
    return np.asarray(np.diag(pole.ravel()) + U @ coupling @ U.T)


@pytest.mark.parametrize("name", COUPLINGS)
@pytest.mark.parametrize("L", [1, 2, 7])
def test_eigenvalues_and_projections_are_those_of_the_matrix(name: str, L: int) -> None:
    pole, strength, vectors = _problem(L, L)
    coupling = np.array(COUPLINGS[name])
    matrix = _dense(pole, strength, coupling)
    found = rank_two_spectrum(pole, strength, coupling, vectors)
    with mpmath.workdps(40):
        exact, axes = mpmath.eigsy(mpmath.matrix(matrix.tolist()))
        values = np.array([float(x) for x in exact])
        axes = np.array(axes.tolist(), dtype=float)
    assert np.all(np.diff(found.value) >= 0)
    np.testing.assert_allclose(found.value, values, rtol=2e-14, atol=1e-14 * np.abs(values).max())
    expected = axes.T @ vectors.reshape(3, -1).T
    # the sign of an eigenvector is free: products of projections are not
    for a in range(3):
        for b in range(3):
            np.testing.assert_allclose(
                found.projection[:, a] * found.projection[:, b],
                expected[:, a] * expected[:, b],
                rtol=1e-8,
                atol=1e-10,
            )


def test_poles_of_both_classes_may_coincide_and_lie_as_close_as_doubles_do() -> None:
    """An eigenvalue between two poles is known to the last places of its distance from one."""
    pole = np.array([[1.0, 2.0, 3.0], [1.0, 2.0 + 4e-16, 3.5]])
    strength = np.array([[0.5, 0.4, 0.3], [0.2, 0.6, 0.1]])
    coupling = np.array([[1.0, 0.4], [0.4, 2.0]])
    found = rank_two_spectrum(pole, strength, coupling, np.empty((0, 2, 3)))
    assert found.projection.shape == (6, 0)
    exact = np.linalg.eigvalsh(_dense(pole, strength, coupling))
    np.testing.assert_allclose(found.value, exact, rtol=1e-14)


def test_positive_eigenvalues_of_two_by_two_matrices_are_counted() -> None:
    rng = np.random.default_rng(0)
    matrices = rng.standard_normal((200, 3))
    for a, b, c in [*matrices, (1, 1, 1), (-1, 1, -1), (0, 0, 0), (2, 0, 0), (0, 0, -2), (0, 1, 0)]:
        expected = int(np.sum(np.linalg.eigvalsh([[a, b], [b, c]]) > 1e-14))
        assert positive(float(a), float(b), float(c)) == expected


def test_what_has_no_such_spectrum_is_refused() -> None:
    pole, strength, vectors = _problem(3, 0)
    same = pole.copy()
    same[1, 2] = same[1, 1]
    with pytest.raises(InputError, match="merged into one"):
        rank_two_spectrum(same, strength, np.eye(2), vectors)
    with pytest.raises(InputError, match="singular"):
        rank_two_spectrum(pole, strength, np.ones((2, 2)), vectors)
