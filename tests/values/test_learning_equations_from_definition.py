"""The generated right-hand sides against the definition of the update, by quadrature."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest
from scipy.special import erf, ndtr
from support.sgd_definition import Rates, System, hermite, mean_rates, random_system, replicates

pytestmark = pytest.mark.turns(9)


def gelu_prime(x):
    return ndtr(x) + x * np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)


def erf_scaled(x):
    return erf(x / np.sqrt(2))


def erf_prime(x):
    return np.sqrt(2 / np.pi) * np.exp(-(x**2) / 2)


FUNCTIONS = {
    "erf": (erf_scaled, erf_prime, erf_scaled),
    "linear": (lambda x: x, np.ones_like, lambda x: x),
    "quadratic": (np.square, lambda x: 2 * x, np.square),
    "relu": (lambda x: np.maximum(x, 0), lambda x: (x > 0) * 1.0, lambda x: np.maximum(x, 0)),
    "gelu": (lambda x: x * ndtr(x), gelu_prime, lambda x: x * ndtr(x)),
    "erf_sign": (erf_scaled, erf_prime, np.sign),
}
POLYNOMIAL = ("linear", "quadratic")
SMOOTH = ("erf", "gelu")
ROUGH = ("relu", "erf_sign")


def kernel_rates(module: str, system: System, rates: Rates) -> tuple[np.ndarray, float]:
    kernel = import_module(f"symderiv_kernels.{module}")
    state, parameters, sizes = system.state(), system.parameters(rates), system.sizes()
    derivative = np.empty_like(state)
    kernel.flat_right_hand_side(0.0, state, sizes, parameters, derivative)
    K, M, _ = sizes
    Q, R = np.empty((K, K)), np.empty((K, M))
    error = kernel.flat_observables(state, sizes, parameters, Q, R)
    np.testing.assert_allclose(Q, system.field_covariance()[:K, :K], rtol=1e-13)
    np.testing.assert_allclose(R, system.field_covariance()[:K, K:], rtol=1e-13)
    return derivative, error


@pytest.mark.parametrize("module", POLYNOMIAL)
@pytest.mark.parametrize(("K", "M"), [(2, 2), (3, 2), (2, 3)])
def test_polynomial_activations_agree_with_exact_quadrature(module: str, K: int, M: int) -> None:
    system, rates = random_system(K + 10 * M, K, M), Rates()
    found, error = kernel_rates(module, system, rates)
    # Six nodes per field are exact for the sixth powers that occur.
    expected, expected_error = mean_rates(system, rates, *FUNCTIONS[module], hermite(K + M, 6))
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-12)
    assert error == pytest.approx(expected_error, rel=1e-12)


@pytest.mark.parametrize("module", SMOOTH)
@pytest.mark.parametrize(("K", "M", "nodes"), [(2, 2, 24), (3, 2, 16), (2, 3, 16)])
def test_smooth_activations_agree_with_quadrature(module: str, K: int, M: int, nodes: int) -> None:
    system, rates = random_system(K + 10 * M, K, M, scale=0.35), Rates()
    found, error = kernel_rates(module, system, rates)
    coarse, _ = mean_rates(system, rates, *FUNCTIONS[module], hermite(K + M, nodes - 4))
    fine, fine_error = mean_rates(system, rates, *FUNCTIONS[module], hermite(K + M, nodes))
    # The error of the finer rule is below its distance to the coarser one.
    distance = np.abs(fine - coarse).max()
    assert distance < 1e-5
    np.testing.assert_allclose(found, fine, rtol=0, atol=distance + 1e-12)
    assert error == pytest.approx(fine_error, abs=distance + 1e-12)


@pytest.mark.parametrize("module", ROUGH)
@pytest.mark.parametrize(("K", "M"), [(2, 2), (3, 2), (2, 3)])
def test_rough_activations_agree_with_sampling(module: str, K: int, M: int) -> None:
    system, rates = random_system(K + 10 * M, K, M), Rates()
    found, error = kernel_rates(module, system, rates)
    runs = [
        np.append(*mean_rates(system, rates, *FUNCTIONS[module], points))
        for points in replicates(K + M, 15, 8)
    ]
    mean = np.mean(runs, axis=0)
    deviation = np.std(runs, axis=0, ddof=1) / np.sqrt(len(runs))
    assert deviation.max() < 2e-3 * np.abs(mean).max()
    # Student's t with seven degrees of freedom: 6 deviations happen once in 2000 numbers.
    off = np.abs(np.append(found, error) - mean)
    assert np.all(off < 6 * deviation + 1e-9), (off / deviation).max()


@pytest.mark.parametrize("module", ["erf", "relu"])
def test_small_learning_rate_order_drops_the_noise_only(module: str) -> None:
    system = random_system(3, 2, 3)
    full, _ = kernel_rates(module, system, Rates())
    small, _ = kernel_rates(module, system, Rates(full_order=0.0))
    K, _, L = system.sizes()
    noise = np.moveaxis((full - small)[: L * K * K].reshape(K, K, L), -1, 0)
    assert np.all(full[L * K * K :] == small[L * K * K :])
    Gamma = noise / (system.eigenvalue[:, None, None] * Rates().learning_rate ** 2)
    np.testing.assert_allclose(Gamma[0], Gamma[1], rtol=1e-9)
    assert np.all(np.linalg.eigvalsh(Gamma[0]) > 0)


@pytest.mark.parametrize("module", ["erf", "relu", "gelu", "erf_sign"])
def test_gradients_are_derivatives_of_the_error(module: str) -> None:
    """A, B and dv against central differences of generalization_error."""
    kernel = import_module(f"symderiv_kernels.{module}")
    system = random_system(5, 3, 2)
    C, K = system.field_covariance(), 3
    Q, R, T = C[:K, :K].copy(), C[:K, K:].copy(), C[K:, K:].copy()
    A, B, dv = np.empty_like(Q), np.empty_like(R), np.empty(K)
    kernel.gradients(Q, R, T, system.v, system.v_teacher, A, B, dv)

    def error(Q=Q, R=R, v=system.v):
        return kernel.generalization_error(Q, R, T, v, system.v_teacher)

    step = 1e-5
    for i in range(K):
        for j in range(i + 1):
            shift = np.zeros_like(Q)
            shift[i, j] = shift[j, i] = step
            slope = (error(Q=Q + shift) - error(Q=Q - shift)) / (2 * step)
            assert A[i, j] == pytest.approx((2 if i == j else 1) * slope, abs=1e-7)
        for n in range(R.shape[1]):
            shift = np.zeros_like(R)
            shift[i, n] = step
            slope = (error(R=R + shift) - error(R=R - shift)) / (2 * step)
            assert B[i, n] == pytest.approx(slope, abs=1e-7)
        shift = step * np.eye(K)[i]
        slope = (error(v=system.v + shift) - error(v=system.v - shift)) / (2 * step)
        assert dv[i] == pytest.approx(slope, abs=1e-8)
