"""Label noise next to perfect learning: the plateau that it leaves, against a long run."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import symderiv as sd


@pytest.mark.turns(6)
@pytest.mark.parametrize("exponent", [0.5])
def test_label_noise_leaves_a_plateau(exponent: float, tmp_path: Path) -> None:
    """The steady state against a long integration of all equations, T neither 1 nor diagonal."""
    units, eta, sigma = 3, 0.15, 0.08
    inputs = sd.PowerLaw(2, exponent=exponent)
    component = sd.PowerLaw(2, exponent=exponent).built(tmp_path).single()
    rho, weight = component.eigenvalue, component.weight
    overlap = np.full((units, units), 0.1) + 1.1 * np.eye(units)
    begin = tmp_path / "teachers.npz"
    np.savez(
        begin,
        eigenvalue=rho,
        weight=weight,
        student_overlap=np.array([overlap] * 2),
        cross_overlap=rho[:, None, None] * overlap,
        teacher_overlap=rho[:, None, None] ** 2 * overlap,
        teacher_covariance=overlap,
        student_weights=np.full(units, units**-0.5),
        teacher_weights=np.full(units, units**-0.5),
    )
    problem = sd.Problem(
        "erf",
        students=units,
        teachers=units,
        learning_rate=eta,
        label_noise=sigma,
        inputs=inputs,
    )
    late = problem.late(alpha=[1e6], T1="1.2", D1="0.2")
    state = late.steady_state
    run = problem.solve(end=2e5, initial=begin, relative_tolerance=1e-9)
    left = run.Q[-1] - run.R[-1] @ np.linalg.solve(overlap, run.R[-1].T)
    np.testing.assert_allclose(
        run.generalization_error[-1], state["generalization_error"], rtol=1e-3
    )
    np.testing.assert_allclose(left[0, 0], state["distance"]["same"], rtol=0.01)
    np.testing.assert_allclose(left[0, 1], state["distance"]["other"], atol=0.01 * left[0, 0])
    curves = late.generalization_error, late.generalization_error_first_order
    np.testing.assert_allclose(curves, state["generalization_error"], rtol=1e-6)
    assert late.exponent is None
    # to first order in η the plateau is η σ² times what does not depend on either
    half = problem.replace(learning_rate=eta / 2).late(T1="1.2", D1="0.2").steady_state
    twice = state["generalization_error"] / half["generalization_error"]
    np.testing.assert_allclose(twice, 2.0, rtol=0.03)


@pytest.mark.turns(6)
def test_label_noise_belongs_to_the_terms_of_second_order() -> None:
    with pytest.raises(sd.InputError, match="label_noise: acts only through terms of order η²"):
        sd.late(units=2, distinct_eigenvalues=2, exponent=1, label_noise=0.1)
    small: dict[str, Any] = {
        "students": 2,
        "teachers": 2,
        "learning_rate": 0.1,
        "order": "small-learning-rate",
    }
    noisy = sd.Problem("erf", **small, label_noise=0.1).late(alpha=[5.0])
    assert noisy.steady_state is None
    np.testing.assert_array_equal(
        noisy.generalization_error,
        sd.Problem("erf", **small).late(alpha=[5.0]).generalization_error,
    )
    above = sd.late(
        units=2, distinct_eigenvalues=2, exponent=1, learning_rate=9.0, full=True, label_noise=0.1
    )
    assert above.steady_state is None
    assert not above.stable
