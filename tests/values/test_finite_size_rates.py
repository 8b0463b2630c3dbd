r"""The search for controls against published code: rates for linear regression with N inputs.

Batches of m examples with inputs of N independent coordinates of variances λ_k and labels with
noise σ; the step descends the mean gradient, w ← w - η/m Σ x (x·w - y). The mean squares c_k of the
errors of the weights follow a map without approximation, because inputs are Gaussian:

c_k ← (1 - 2ηλ_k + (m + 1)/m η²λ_k²) c_k + η²/m λ_k (Σ_j λ_j c_j + σ²).
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

from symderiv.integrate.control.controlled_flow import ControlSteps
from symderiv.integrate.control.searches import ControlSearch

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


class Run(NamedTuple):
    """A run as searches see it: states (T + 1, N), rates (T,), and how many stand in each piece."""

    states: np.ndarray
    rates: np.ndarray
    in_piece: int
    steps: ControlSteps


@dataclass(frozen=True)
class LinearMap:
    """The map for λ (N,) from c (N,) on, σ and m; it is the objective, too: the final error."""

    eigenvalues: np.ndarray
    begin: np.ndarray
    noise: float
    batch: float
    count: int = 100

    def step(self, squares: np.ndarray, rate: float) -> np.ndarray:
        own, m = self.eigenvalues, self.batch
        shrunk = 1.0 - 2.0 * rate * own + (m + 1.0) / m * (rate * own) ** 2
        drawn = rate**2 / m * (own @ squares + self.noise**2)
        return np.asarray(shrunk * squares + drawn * own)

    def run(self, values: np.ndarray, steps: ControlSteps) -> Run:
        in_piece = self.count // values.size
        rates, states = np.repeat(values, in_piece), [self.begin]
        for rate in rates:
            states.append(self.step(states[-1], float(rate)))
        return Run(np.array(states), rates, in_piece, steps)

    def errors(self, states: np.ndarray) -> np.ndarray:
        return np.asarray(states @ self.eigenvalues)

    def value(self, _: Any, path: Run) -> float:
        return float(self.eigenvalues @ path.states[-1])

    def gradient(self, _: Any, path: Run) -> np.ndarray:
        """The map's adjoint."""
        own, m, gradient = self.eigenvalues, self.batch, np.empty_like(path.rates)
        costate = own.copy()
        for n in range(gradient.size - 1, -1, -1):
            rate, here = path.rates[n], path.states[n]
            noisy = 2.0 * rate / m * (own @ here + self.noise**2)
            change = (-2.0 * own + 2.0 * (m + 1.0) / m * rate * own**2) * here + noisy * own
            gradient[n] = costate @ change
            shrunk = 1.0 - 2.0 * rate * own + (m + 1.0) / m * (rate * own) ** 2
            costate = shrunk * costate + rate**2 / m * (own @ costate) * own
        return gradient.reshape(-1, path.in_piece).sum(axis=1)


def search_of(own: Any, pieces: int) -> ControlSearch:
    edges = np.linspace(0.0, 1.0, pieces + 1)
    return ControlSearch(own, own, (0.0, 2.0), edges, lambda *_: None)


@pytest.mark.parametrize("which", PUBLISHED)
def test_published_schedules_are_found(which: tuple[float, float, float]) -> None:
    rates, error, (constant, constant_error) = PUBLISHED[which]
    a, b, noise = which
    k = np.arange(1.0, 31.0)
    own = LinearMap(k**-b, k ** (b - a), noise, 5.0)
    search = search_of(own, 10)
    assert search.outcome_of(np.array(rates)).objective == pytest.approx(error, rel=1e-12)
    best = search.best(np.full(10, 0.5))
    assert best.objective == pytest.approx(error, rel=1e-9)
    np.testing.assert_allclose(best.values, rates, rtol=2e-4)
    same = search.constant()
    assert same.values[0] == pytest.approx(constant, rel=1e-4)
    assert same.objective == pytest.approx(constant_error, rel=1e-8)
    slopes = search.slopes(best)[(best.values > 0.0) & (best.values < 2.0)]
    assert np.max(np.abs(slopes)) < 1e-5


def test_the_map_is_that_of_descent_and_its_adjoint_that_of_differences() -> None:
    random = np.random.default_rng(4)
    own = LinearMap(np.array([1.0, 0.4, 0.1]), np.array([0.5, 1.0, 2.0]), 0.7, 2.0, 3)
    rates, steps = np.array([0.5, 0.2, 0.4]), search_of(own, 3).steps
    path, runs = own.run(rates, steps), 200_000
    errors = np.sqrt(own.begin) * random.choice([-1.0, 1.0], (runs, 3))
    for rate in rates:
        x = random.standard_normal((runs, 2, 3)) * np.sqrt(own.eigenvalues)
        wrong = np.einsum("rmk,rk->rm", x, errors) + 0.7 * random.standard_normal((runs, 2))
        errors -= rate / 2.0 * np.einsum("rmk,rm->rk", x, wrong)
    scatter = np.std(errors**2, axis=0) / np.sqrt(runs)
    assert np.all(np.abs(np.mean(errors**2, axis=0) - path.states[-1]) < 4.5 * scatter)
    assert np.all(scatter < 0.01 * path.states[-1])
    for n, step in enumerate(1e-5 * np.eye(3)):
        ends = [own.value(None, own.run(rates + sign * step, steps)) for sign in (1, -1)]
        slope = (ends[0] - ends[1]) / 2e-5
        assert own.gradient(None, path)[n] == pytest.approx(slope, rel=1e-7)
