"""Late errors of the linearised dynamics against the flow of the generated module."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import symderiv_kernels.erf
from scipy.integrate import solve_ivp

import symderiv as sd
from symderiv.analysis.late.asymptotics import Asymptotics

RHO, WEIGHT = np.array([1.5, 0.25]), np.array([0.6, 0.4])
OVERLAP = 1e-4 * np.array([[1.0, -0.7], [0.4, 0.9]])
DISTANCE = 1e-8 * np.array([[2.0, 0.5], [1.0, 3.0]])


def _symmetric(uniform: float, differing: float, units: int) -> np.ndarray:
    """The matrix with these eigenvalues that treats all units alike."""
    off = (uniform - differing) / units
    return differing * np.eye(units) + off


@pytest.mark.parametrize("order", ["full", "small-learning-rate"])
def test_late_errors_are_those_of_the_flow_of_the_module(order: str) -> None:
    """The module's own right-hand side, integrated from deviations; eigenvalues last.

    J·B = B·B + r, J·J = B·B + 2r + r (B·B)⁻¹ r + D⊥ in every eigenspace.
    """
    units, eta = 3, 0.4
    found = Asymptotics("erf", units, RHO, WEIGHT, eta, order=order, T1=1.2, D1=0.4)
    teacher = _symmetric(*found.teacher, units)
    own = np.stack([_symmetric(*r, units) for r in OVERLAP.T], axis=-1)
    rest = np.stack([_symmetric(*D, units) for D in DISTANCE.T], axis=-1)
    inverse = np.linalg.inv(teacher)
    q = teacher[..., None] + 2 * own + np.einsum("iak,ab,bjk->ijk", own, inverse, own) + rest
    r = RHO * (teacher[..., None] + own)
    t = RHO**2 * teacher[..., None]
    T, v = float(WEIGHT @ RHO) * teacher, np.full(units, units**-0.5)

    def rates(_: float, flat: np.ndarray) -> np.ndarray:
        Q, R = flat.reshape(2, units, units, 2)
        dq, dr, dv = np.empty_like(Q), np.empty_like(R), np.empty(units)
        symderiv_kernels.erf.right_hand_side(
            Q.copy(),
            R.copy(),
            v,
            RHO,
            WEIGHT,
            t,
            T,
            v,
            eta,
            0.0,
            0.0,
            0.0,
            0.0,
            float(order == "full"),
            dq,
            dr,
            dv,
        )
        return np.concatenate([dq.ravel(), dr.ravel()])

    times = np.array([0.0, 0.7, 5.0, 30.0])
    flow = solve_ivp(
        rates,
        (0, 30),
        np.concatenate([q.ravel(), r.ravel()]),
        "DOP853",
        times,
        rtol=1e-13,
        atol=1e-15,
    )
    for alpha, error, flat in zip(
        times, found.error_of(times, OVERLAP, DISTANCE), flow.y.T, strict=True
    ):
        Q, R = flat.reshape(2, units, units, 2)
        exact = symderiv_kernels.erf.generalization_error(
            np.ascontiguousarray(Q @ (WEIGHT * RHO)), np.ascontiguousarray(R @ WEIGHT), T, v, v
        )
        assert error == pytest.approx(exact, rel=3e-3), alpha
    assert error < 0.2 * found.error_of([0.0], OVERLAP, DISTANCE)[0]
    # times in any order
    back = found.error_of(times[::-1], OVERLAP, DISTANCE)
    assert back[::-1] == pytest.approx(found.error_of(times, OVERLAP, DISTANCE), rel=1e-8)


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
    with pytest.raises(sd.InputError, match="label_noise: acts by terms of order η²"):
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
