"""The linear system that is taken out of the equations, against the generated linear module."""

import numpy as np
import pytest
from support.plain_module import checked_in, module_rates

from symderiv.analysis.linear.system import linear_system

SEED = 3
kernel = checked_in("linear")


def random_state(L: int) -> tuple[np.ndarray, ...]:
    """Q_k, r_k, t_k of vectors in three coordinates per eigenvalue, T different from 1."""
    random = np.random.default_rng(SEED)
    rho = np.sort(random.uniform(0.2, 3.0, L))[::-1]
    weight = random.uniform(0.5, 1.5, L)
    weight /= weight.sum()
    J, B = random.standard_normal((L, 3)), 1.4 * random.standard_normal((L, 3))
    return rho, weight, np.mean(J * J, 1), rho * np.mean(J * B, 1), rho**2 * np.mean(B * B, 1)


@pytest.mark.turns(6)
def test_the_deviation_moves_as_the_generated_module_says() -> None:
    L, eta = 5, 0.9
    rho, weight, q, r, t = random_state(L)
    T = np.array([[np.sum(weight * t / rho)]])
    assert abs(T[0, 0] - 1.0) > 0.1
    one = np.ones(1)
    Qk, rk, tk = (part.reshape(1, 1, L) for part in (q, r, t))
    arrays = (Qk, rk, one, rho, weight, tk, T, one)
    dq, dr, _ = module_rates(kernel, arrays, (eta, 0.0, 0.0, 0.0, 0.0, 1.0))
    expected = dq.ravel() - 2.0 * dr.ravel() / rho
    system = linear_system()
    decay, source, readout = system.numbers(eta, rho, weight)
    deviation = q - 2.0 * r / rho + t / rho**2
    found = -decay * deviation + source * np.sum(readout * deviation)
    np.testing.assert_allclose(found, expected, rtol=1e-13)
    Q, R = np.zeros((1, 1)), np.zeros((1, 1))
    kernel.order_parameters(Qk, rk, rho, weight, Q, R)
    error = kernel.generalization_error(Q, R, T, one, one)
    assert abs(system.factor * np.sum(readout * deviation) - error) < 1e-13 * error
    # the same state in moments of the deviation: E^(l) = sum_k w_k rho_k^l D_k
    shift, noise = linear_system().moments(eta)
    moments = [np.sum(weight * rho**l * deviation) for l in range(L + 1)]
    for l in range(L):
        nu = np.sum(weight * rho ** (l + 1))
        rate = shift * moments[l + 1] + noise * nu * moments[1]
        np.testing.assert_allclose(rate, np.sum(weight * rho**l * expected), rtol=1e-12)
