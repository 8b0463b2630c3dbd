"""Exact weights behind structured inputs: their rates against drawn examples."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.special import erf
from symderiv_papers.references.latent import LatentNetwork, latent_network, latent_rates

from symderiv.precision.balls.contexts import numbers

ETA = 0.7
SPECTRUM = (Fraction(7, 4), Fraction(3, 5), Fraction(1, 3))


@pytest.fixture(scope="module")
def state() -> LatentNetwork:
    return latent_network(3, 2, SPECTRUM, (1, 3, 2), 4, seed=1)


def array(rows: object) -> np.ndarray:
    return np.array(rows, dtype=float)


def test_first_order_rates_against_drawn_examples(state: LatentNetwork) -> None:
    """-η v_k E[Δ g'(λ_k) x] projected on eigenspaces, over normal (x, c); 4 standard errors."""
    N, D = state.N, state.D
    omega, phi = array(state.omega), array(state.phi)
    covariance = np.block([[omega, phi], [phi.T, np.eye(D)]])
    assert np.linalg.eigvalsh(covariance)[0] > 0
    random = np.random.default_rng(0)
    drawn = random.multivariate_normal(np.zeros(N + D), covariance, size=200_000)
    x, c = drawn[:, :N], drawn[:, N:]
    w, teacher = array(state.student), array(state.teacher)
    v, v_teacher = array(state.v), array(state.v_teacher)
    lam, nu = x @ w.T / np.sqrt(N), c @ teacher.T / np.sqrt(D)
    delta = erf(lam / np.sqrt(2)) @ v - erf(nu / np.sqrt(2)) @ v_teacher
    slope = np.sqrt(2 / np.pi) * np.exp(-(lam**2) / 2)
    values, vectors = np.linalg.eigh(omega)
    with numbers(20, "mpmath") as context:
        rates = latent_rates(state, context.mpf(ETA), context, full_order=False)
        dq, dr, error = array(rates.dq), array(rates.dr), float(rates.error)
    half = 0.5 * delta**2
    assert abs(half.mean() - error) < 4 * half.std() / np.sqrt(half.size)
    for s, rho in enumerate(array(state.eigenvalues)):
        axes = vectors[:, np.abs(values - rho) < 1e-9]
        assert axes.shape[1] == state.multiplicities[s]
        directions = np.concatenate([w, (phi @ teacher.T).T]) @ axes @ axes.T / axes.shape[1]
        along = x @ directions.T
        steps = -ETA * np.sqrt(N) * (v * slope * delta[:, None])[:, :, None] * along[:, None, :]
        K = state.K
        q_steps = steps[:, :, :K] + steps[:, :, :K].transpose(0, 2, 1)
        for sample, expected in ((q_steps, dq[s]), (steps[:, :, K:], dr[s])):
            mean, deviation = sample.mean(axis=0), sample.std(axis=0) / np.sqrt(len(sample))
            assert np.all(np.abs(mean - expected) < 4.5 * deviation)
            assert np.any(np.abs(expected) > 20 * deviation)


def test_overlaps_per_eigenvalue_add_up(state: LatentNetwork) -> None:
    N, D = state.N, state.D
    omega, phi = array(state.omega), array(state.phi)
    w, teacher = array(state.student), array(state.teacher)
    weight, rho = array(state.weights), array(state.eigenvalues)
    with numbers(20, "mpmath") as context:
        rates = latent_rates(state, context.mpf(ETA), context)
        Q, R = array(rates.Q), array(rates.R)
    np.testing.assert_allclose(Q, w @ omega @ w.T / N, rtol=1e-14)
    np.testing.assert_allclose(R, w @ phi @ teacher.T / np.sqrt(N * D), rtol=1e-13)
    q = np.einsum("s,sij->ij", weight * rho, array(state.q))
    np.testing.assert_allclose(Q, q, rtol=1e-13)
    t = np.einsum("s,snm->nm", weight * N, array(state.t))
    np.testing.assert_allclose(t, teacher @ phi.T @ phi @ teacher.T, rtol=1e-13)
