"""How states lie in flat vectors: eigenvalues last, and back."""

from __future__ import annotations

import numpy as np
import pytest

import symderiv.problem.flat_layout as flat_layout
from symderiv.integrate.steppers import cone
from symderiv.integrate.steppers.cone import field_covariance
from symderiv.problem.flat_layout import (
    pack_parameters,
    pack_state,
    places,
    sizes_of,
    split_flat,
    state_size,
)

K, M, L = 2, 3, 4


def parts(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    J = random.normal(size=(L, K, 5))
    return J @ J.transpose(0, 2, 1), random.normal(size=(L, K, M)), random.normal(size=K)


def test_the_overlaps_of_one_pair_of_units_are_neighbours():
    students, cross, v = parts(1)
    flat = pack_state(students, cross, v)
    assert flat.size == state_size(K, M, L)
    np.testing.assert_array_equal(flat[(1 * K + 0) * L :][:L], students[:, 1, 0])
    np.testing.assert_array_equal(flat[K * K * L + (1 * M + 2) * L :][:L], cross[:, 1, 2])


def test_splitting_undoes_packing_for_any_number_of_states():
    states = [parts(seed) for seed in (1, 2, 3)]
    flat = np.stack([pack_state(*state) for state in states])
    for found, expected in zip(split_flat(flat, K, M, L), zip(*states, strict=True), strict=True):
        np.testing.assert_array_equal(found, np.stack(expected))


def covariances(function):
    """The covariance of the fields by the stepper's function, and by its definition."""
    students, cross, v = parts(4)
    random = np.random.default_rng(5)
    rho, weight = random.uniform(0.5, 2.0, L), random.uniform(0.1, 0.4, L)
    T = np.diag([1.0, 2.0, 3.0]) + 0.1
    t = random.normal(size=(L, M, M))
    parameters = pack_parameters(rho, weight, t, T, np.ones(M), {"weight_decay": 0.1})
    found = np.zeros((K + M, K + M))
    sizes = sizes_of(K, M, L)
    state = pack_state(students, cross, v)
    function(0.0, state, sizes, places(sizes), parameters, found.ravel())
    R = np.einsum("k,kin->in", weight, cross)
    Q = np.einsum("k,kij->ij", weight * rho, students)
    return found, np.tril(np.block([[Q, R], [R.T, T]]))


def test_the_covariance_of_the_fields_is_read_from_the_flat_vectors():
    np.testing.assert_allclose(*covariances(field_covariance), rtol=1e-13)


def test_vectors_follow_the_layout_wherever_it_puts_their_fields(monkeypatch):
    layout = {
        name: value[::-1] if name == "sizes" else dict(reversed(value.items()))
        for name, value in flat_layout.LAYOUT.items()
    }
    monkeypatch.setattr(flat_layout, "LAYOUT", layout)
    fields = "student_overlap", "cross_overlap", "eigenvalue", "weight", "T"
    names = "_STUDENTS", "_CROSS", "_EIGENVALUE", "_WEIGHT", "_TEACHER"
    for name, field in zip(names, fields, strict=True):
        monkeypatch.setattr(cone, name, flat_layout.place_of(field))
    for name in "KML":
        monkeypatch.setattr(cone, f"_{name}", layout["sizes"].index(name))
    assert list(sizes_of(K, M, L)) == [L, M, K]
    assert pack_state(*parts(4))[:K] == pytest.approx(parts(4)[2])
    np.testing.assert_allclose(*covariances(field_covariance.py_func), rtol=1e-13)
