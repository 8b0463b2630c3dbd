"""The linearised dynamics around perfect learning: teachers that are correlated."""

import numpy as np
import pytest
import symderiv_kernels.erf

from symderiv.analysis.late.late_dynamics import LateDynamics

pytestmark = pytest.mark.days(6)


RHO, WEIGHT = np.array([1.5, 0.25]), np.array([0.6, 0.4])


def _symmetric(uniform: float, differing: float, units: int) -> np.ndarray:
    """The matrix with these eigenvalues that treats all units alike."""
    off = (uniform - differing) / units
    return differing * np.eye(units) + off


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
