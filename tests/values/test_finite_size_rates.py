"""Rates for linear regression with N inputs against published code, samples and differences."""

from __future__ import annotations

import numpy as np
import pytest

from symderiv.analysis.linear.finite_size_rates import LinearMap, best_rates

#: What ``SGD_lr_opt.py`` of github.com/blakebordelon/opt-control-sgd-rf (commit a0ff654) finds by
#: IPOPT with --N 30 --Tmin 2 --Tmax 2 --num_Ts 1 --K 10 --avg_m 5: λ_k = k^-b, c_k = k^(b-a) at
#: the begin, 100 steps, 10 pieces, rates up to 2. Its errors are Σ λ_k c_k, without a half.
PUBLISHED = {
    (2.5, 1.5, 0.5): (
        [
            *(0.6226581377231629, 0.7031588158976853, 0.614753644007857, 0.5163550764962889),
            *(0.41470557165077787, 0.3156352804851024, 0.22563501653921206, 0.14413429657842222),
            *(0.0832694107911452, 0.05191671741944837),
        ],
        0.016098845660440463,
        (0.21283607, 0.02564834532280028),
    ),
    (1.4, 2.0, 0.0): (
        [
            *(1.3213549765140145, 1.315869832068387, 1.3219914810948188, 1.3177052983607231),
            *(1.3105918175254148, 1.2978564360480607, 1.2738016217032644, 1.2318815511876446),
            *(1.0435595528381185, 0.2824140099031525),
        ],
        0.1837398584893206,
        (0.92328941, 0.26280549647083035),
    ),
}


def power_law(a: float, b: float, noise: float) -> LinearMap:
    """Return the map of the published code."""
    k = np.arange(1.0, 31.0)
    return LinearMap(k**-b, k ** (b - a), noise, 5.0)


@pytest.mark.parametrize("which", PUBLISHED)
def test_published_schedules_are_found(which: tuple[float, float, float]) -> None:
    rates, error, (constant, constant_error) = PUBLISHED[which]
    own = power_law(*which)
    found = best_rates(own, 100, 10, (0.0, 2.0), 0.5)
    assert own.error(own.run(np.repeat(rates, 10))[-1]) == pytest.approx(error, rel=1e-12)
    assert found.error == pytest.approx(error, rel=1e-9)
    np.testing.assert_allclose(found.rates, rates, rtol=2e-4)
    assert found.constant == pytest.approx(constant, rel=1e-4)
    assert found.constant_error == pytest.approx(constant_error, rel=1e-8)
    assert found.residual < 1e-6


def test_the_map_is_that_of_descent_and_its_adjoint_that_of_differences() -> None:
    random = np.random.default_rng(4)
    own = LinearMap(np.array([1.0, 0.4, 0.1]), np.array([0.5, 1.0, 2.0]), 0.7, 2.0)
    rates = np.array([0.5, 0.2, 0.4])
    squares, runs = own.run(rates), 200_000
    errors = np.sqrt(own.begin) * random.choice([-1.0, 1.0], (runs, 3))
    for rate in rates:
        x = random.standard_normal((runs, 2, 3)) * np.sqrt(own.eigenvalues)
        wrong = np.einsum("rmk,rk->rm", x, errors) + 0.7 * random.standard_normal((runs, 2))
        errors -= rate / 2.0 * np.einsum("rmk,rm->rk", x, wrong)
    scatter = np.std(errors**2, axis=0) / np.sqrt(runs)
    assert np.all(np.abs(np.mean(errors**2, axis=0) - squares[-1]) < 4.5 * scatter)
    assert np.all(scatter < 0.01 * squares[-1])
    for n, step in enumerate(1e-5 * np.eye(3)):
        ends = [own.error(own.run(rates + sign * step)[-1]) for sign in (1, -1)]
        slope = (ends[0] - ends[1]) / 2e-5
        assert own.slopes(rates, squares)[n] == pytest.approx(slope, rel=1e-7)
