"""How states lie in flat vectors: eigenvalues last, and back."""

from __future__ import annotations

import numpy as np

from symderiv.integrate.steppers.cone import field_covariance
from symderiv.problem.flat_layout import (
    pack_parameters,
    pack_state,
    places,
    sizes_of,
)

K, M, L = 2, 3, 4


def parts(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    J = random.normal(size=(L, K, 5))
    return J @ J.transpose(0, 2, 1), random.normal(size=(L, K, M)), random.normal(size=K)


def test_the_covariance_of_the_fields_is_read_from_the_flat_vectors():
    students, cross, v = parts(4)
    random = np.random.default_rng(5)
    rho, weight = random.uniform(0.5, 2.0, L), random.uniform(0.1, 0.4, L)
    T = np.diag([1.0, 2.0, 3.0]) + 0.1
    t = random.normal(size=(L, M, M))
    parameters = pack_parameters(rho, weight, t, T, np.ones(M), {"weight_decay": 0.1})
    found, sizes = np.zeros((K + M, K + M)), sizes_of(K, M, L)
    state = pack_state(students, cross, v)
    field_covariance(0.0, state, sizes, places(sizes), parameters, found.ravel())
    R = np.einsum("k,kin->in", weight, cross)
    Q = np.einsum("k,kij->ij", weight * rho, students)
    expected = np.tril(np.block([[Q, R], [R.T, T]]))
    np.testing.assert_allclose(found, expected, rtol=1e-13)
