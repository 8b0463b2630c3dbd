"""Plateau and late learning of networks whose output weights are not 1/√M, seen in their flow."""

from typing import Any

import numpy as np
import pytest

import symderiv as sd

ETA = 0.2


def problem(weight: Any, **changes: Any) -> sd.Problem:
    given = {
        "students": 2,
        "teachers": 2,
        "learning_rate": ETA,
        "student_weights": weight,
        "teacher_weights": weight,
        "inputs": sd.Isotropic(1000),
        "order": "small-learning-rate",
        **changes,
    }
    return sd.Problem("erf", **given)


def jacobian(stated: sd.Problem, Q: np.ndarray, R: np.ndarray) -> np.ndarray:
    """Central differences of the rates, in (Q_11, Q_12, Q_22, R)."""
    upper = np.triu_indices(2)

    def rates(packed: np.ndarray) -> np.ndarray:
        students = np.zeros((2, 2))
        students[upper] = packed[:3]
        students = students + students.T - np.diag(np.diag(students))
        found = stated.rates(Q=students, R=packed[3:].reshape(2, 2), T=np.eye(2))
        return np.concatenate([found.dQ[upper], found.dR.ravel()])

    at = np.concatenate([Q[upper], R.ravel()])
    steps = 1e-5 * np.eye(at.size)
    return np.array([(rates(at + h) - rates(at - h)) / 2e-5 for h in steps]).T


@pytest.mark.turns(4)
@pytest.mark.parametrize("weight", [0.3, "1/sqrt(M)"])
def test_the_plateau_is_a_fixed_point_of_the_flow_and_is_left_at_its_rate(weight: Any) -> None:
    stated = problem(weight)
    plateau = stated.plateau()
    Q, R = np.full((2, 2), plateau.Q), np.full((2, 2), plateau.R)
    here = stated.rates(Q=Q, R=R, T=np.eye(2))
    np.testing.assert_allclose(here.dQ, 0.0, atol=1e-13)
    np.testing.assert_allclose(here.dR, 0.0, atol=1e-13)
    assert here.generalization_error == pytest.approx(plateau.generalization_error, rel=1e-10)
    apart = 1e-5 * np.array([[1.0, -1.0], [-1.0, 1.0]])
    # students a little longer than what they have in common stay in the cone
    pushed = stated.rates(Q=Q + 1e-4 * np.eye(2), R=R + apart, T=np.eye(2))
    still = stated.rates(Q=Q + 1e-4 * np.eye(2), R=R, T=np.eye(2))
    grown = np.mean((pushed.dR - still.dR) / apart)
    assert grown == pytest.approx(plateau.unstable_eigenvalue, rel=2e-3)


@pytest.mark.turns(4)
@pytest.mark.parametrize("order", ["small-learning-rate", "full"])
def test_late_rates_are_eigenvalues_of_the_flow_at_perfect_learning(order: str) -> None:
    # a little before perfect learning, where central differences stay in the cone
    near = 1e-3
    stated = problem(1.0, order=order)
    slopes = jacobian(stated, (1.0 - near) * np.eye(2), (1.0 - near) * np.eye(2))
    found = np.sort(-np.linalg.eigvals(slopes).real)
    for rate in stated.late().rates:
        assert np.min(np.abs(found / rate - 1.0)) < 0.02
    usual = problem("1/sqrt(M)", order=order).late().rates
    assert np.all(np.abs(np.array(stated.late().rates) / np.array(usual) - 1.0) > 0.1)


def test_units_with_different_weights_have_no_such_plateau() -> None:
    for name in ("student_weights", "teacher_weights"):
        with pytest.raises(sd.InputError, match="must be one number for all students and teachers"):
            problem(1.0).replace(**{name: [1.0, 2.0]}).plateau()
