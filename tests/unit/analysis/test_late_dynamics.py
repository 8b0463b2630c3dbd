"""The linearised dynamics around perfect learning: teachers that are correlated."""

from __future__ import annotations

import numpy as np
import pytest
import symderiv_kernels.erf

from symderiv.analysis.late.late_dynamics import LateDynamics

pytestmark = pytest.mark.days(6)


RHO, WEIGHT = np.array([1.5, 0.25]), np.array([0.6, 0.4])
OVERLAP = 1e-4 * np.array([[1.0, -0.7], [0.4, 0.9]])
DISTANCE = 1e-8 * np.array([[2.0, 0.5], [1.0, 3.0]])


def _symmetric(uniform: float, differing: float, units: int) -> np.ndarray:
    """The matrix with these eigenvalues that treats all units alike."""
    off = (uniform - differing) / units
    return differing * np.eye(units) + off


@pytest.mark.parametrize("order", ["full", "small-learning-rate"])
@pytest.mark.parametrize("units", [2, 3])
def test_the_error_next_to_the_teachers_is_that_of_the_module(order: str, units: int) -> None:
    """To second order in the distance: J·B = B·B + r, J·J = B·B + 2r + r (B·B)⁻¹ r + D⊥."""
    found = LateDynamics("erf", units, RHO, WEIGHT, 0.1, order=order, teachers=(1.2, 0.4))
    teacher = _symmetric(*found.teacher, units)
    Q, R, T = (np.zeros((units, units)) for _ in range(3))
    for rho, w, r, D in zip(RHO, WEIGHT, OVERLAP.T, DISTANCE.T, strict=True):
        own = _symmetric(*r, units)
        T += w * rho * teacher
        R += w * rho * (teacher + own)
        Q += w * rho * (teacher + 2 * own + own @ np.linalg.solve(teacher, own))
        Q += w * rho * _symmetric(*D, units)
    v = np.full(units, units**-0.5)
    exact = symderiv_kernels.erf.generalization_error(Q, R, T, v, v)
    (error,) = found.error_of([0.0], OVERLAP, DISTANCE)
    assert error == pytest.approx(exact, rel=2e-3)
    # of overlaps and of distances alone, they add up
    parts = [
        found.error_of([0.0], a * OVERLAP, b * DISTANCE)[0] for a, b in ((1, 0), (0, 1), (-1, 0))
    ]
    assert sum(parts[:2]) == pytest.approx(error, rel=1e-6)
    assert parts[2] == pytest.approx(parts[0], rel=1e-9)
    # times in any order
    times = np.array([0.0, 0.7, 5.0, 30.0])
    there, back = (found.error_of(each, OVERLAP, DISTANCE) for each in (times, times[::-1]))
    assert back[::-1] == pytest.approx(there, rel=1e-8)
    assert min(parts) > 0.05 * error


def test_small_distances_decay_with_twice_the_stiffness_of_their_eigenspace() -> None:
    """Without η² terms each eigenspace is alone: eigenvalue by eigenvalue, exponentials."""
    found = LateDynamics("erf", 3, RHO, WEIGHT, 0.3, teachers=(1.2, 0.4))
    times = np.array([0.0, 1.0, 10.0])
    for kind in range(2):
        for k in range(2):
            alone = np.zeros((2, 2))
            alone[kind, k] = 1e-6
            curve = found.error_of(times, np.zeros((2, 2)), alone)
            rate = 2 * 0.3 * found.stiffness[kind] * RHO[k]
            assert curve == pytest.approx(curve[0] * np.exp(-rate * times), rel=1e-10)
            assert np.min(np.abs(found.rates() / rate - 1)) < 1e-10
    fast = 2 * 0.3 * max(found.stiffness) * 1.5
    slow = 2 * 0.3 * min(found.stiffness) * 0.25
    low, high = found.window
    assert high / low == pytest.approx(np.sqrt(fast / slow))
    assert low * high == pytest.approx(1 / (fast * slow))


def test_only_the_full_flow_can_be_unstable() -> None:
    limit = LateDynamics("erf", 2, RHO, WEIGHT, 0.1, order="full").critical_learning_rate
    for part, stable in ((0.98, True), (1.02, False)):
        full = LateDynamics("erf", 2, RHO, WEIGHT, part * limit, order="full")
        assert full.stable == stable
        assert (min(full.rates()) > 0) == stable
        assert LateDynamics("erf", 2, RHO, WEIGHT, part * limit).stable


def test_the_curvature_of_the_noise_is_that_of_the_module() -> None:
    """Second differences of Γ on states R = T + δ, Q = T + 2δ, δ uniform, differing or both."""
    units, T1, D1, h = 3, 1.2, 0.4, 2e-3
    found = np.array(
        LateDynamics("erf", units, [1.0], [1.0], 0.1, teachers=(T1, D1)).theory.noise_curvature(
            units, T1, D1
        )
    )
    T = np.full((units, units), D1 / (units - 1))
    np.fill_diagonal(T, T1)
    v = np.full(units, units**-0.5)

    def noise(uniform: float, differing: float) -> np.ndarray:
        own = _symmetric(uniform, differing, units)
        gamma = np.zeros((units, units))
        symderiv_kernels.erf.noise(T + 2 * own, T + own, T, v, v, 0.0, gamma)
        return np.array([gamma[0].sum(), gamma[0, 0] - gamma[0, 1]])

    for a in range(2):
        for b in range(2):
            ends = [
                i * j * noise(*(h * (i * np.eye(2)[a] + j * np.eye(2)[b])))
                for i in (1, -1)
                for j in (1, -1)
            ]
            np.testing.assert_allclose(found[:, a, b], sum(ends) / (4 * h * h), rtol=2e-3)
