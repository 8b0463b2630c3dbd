"""Learning rates in time for linear regression with N inputs, by the exact map of its mean errors.

Batches of m examples with inputs of N independent coordinates of variances λ_k and labels with
noise σ; the step descends the mean gradient, w ← w - η/m Σ x (x·w - y). The mean squares c_k of the
errors of the weights follow a map without approximation, because inputs are Gaussian:

c_k ← (1 - 2ηλ_k + (m + 1)/m η²λ_k²) c_k + η²/m λ_k (Σ_j λ_j c_j + σ²).

Its terms of second order in λ_k are what the equations for large N leave out, in which every λ_k
is of order 1/N.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["LinearMap", "RatesFound", "best_rates"]


@dataclass(frozen=True)
class LinearMap:
    """Mean squares of the errors of weights from step to step.

    Args:
        eigenvalues: λ (N,), positive.
        begin: c (N,), not negative.
        noise: σ.
        batch: m.
    """

    eigenvalues: np.ndarray
    begin: np.ndarray
    noise: float
    batch: float

    def step(self, squares: np.ndarray, rate: float) -> np.ndarray:
        """Return the mean squares after a step."""
        own, m = self.eigenvalues, self.batch
        shrunk = 1.0 - 2.0 * rate * own + (m + 1.0) / m * (rate * own) ** 2
        drawn = rate**2 / m * (own @ squares + self.noise**2)
        stepped: np.ndarray = shrunk * squares + drawn * own
        return stepped

    def error(self, squares: np.ndarray) -> float:
        """Return the mean of (x·(w - w*))², without the half of generalisation errors."""
        return float(self.eigenvalues @ squares)

    def run(self, rates: np.ndarray) -> np.ndarray:
        """Return the mean squares at all times, shape (T + 1, N), for rates (T,)."""
        trajectory = np.empty((rates.size + 1, self.begin.size))
        trajectory[0] = self.begin
        for n, rate in enumerate(rates):
            trajectory[n + 1] = self.step(trajectory[n], float(rate))
        return trajectory

    def slopes(self, rates: np.ndarray, squares: np.ndarray) -> np.ndarray:
        """Return the derivatives of the final error by all rates: the map's adjoint, (T,)."""
        own, m, gradient = self.eigenvalues, self.batch, np.empty_like(rates)
        costate = own.copy()
        for n in range(rates.size - 1, -1, -1):
            rate, here = rates[n], squares[n]
            noisy = 2.0 * rate / m * (own @ here + self.noise**2)
            change = (-2.0 * own + 2.0 * (m + 1.0) / m * rate * own**2) * here + noisy * own
            gradient[n] = costate @ change
            shrunk = 1.0 - 2.0 * rate * own + (m + 1.0) / m * (rate * own) ** 2
            costate = shrunk * costate + rate**2 / m * (own @ costate) * own
        return gradient


@dataclass(frozen=True)
class RatesFound:
    """Rates that are constant in pieces, and what comes of them.

    Attributes:
        rates: in each piece, shape (P,).
        error: at the end.
        constant, constant_error: the best rate that does not change, and its error.
        residual: the largest derivative of the logarithm of the error by a rate between the bounds.
    """

    rates: np.ndarray
    error: float
    constant: float
    constant_error: float
    residual: float


def best_rates(
    steps_of: LinearMap, steps: int, pieces: int, bounds: tuple[float, float], begin: float
) -> RatesFound:
    """Return the rates of the least error after a number of steps.

    Args:
        steps_of: the map.
        steps: T.
        pieces: P; step n lies in piece ⌊n P/T⌋.
        bounds: the bounds of the rates.
        begin: the rate from which the search begins in all pieces.
    """
    from scipy.optimize import minimize, minimize_scalar

    places = np.arange(steps) * pieces // steps

    def evaluated(rates: np.ndarray) -> tuple[float, np.ndarray]:
        each = rates[places]
        squares = steps_of.run(each)
        error = steps_of.error(squares[-1])
        if not np.isfinite(error):
            return 1e3, np.zeros(pieces)
        slopes = np.bincount(places, steps_of.slopes(each, squares), pieces)
        return float(np.log(error)), slopes / error

    start = np.full(pieces, begin)
    for _ in range(4):
        optimum = minimize(
            evaluated,
            start,
            jac=True,
            method="L-BFGS-B",
            bounds=[bounds] * pieces,
            options={"ftol": 1e-16, "gtol": 1e-10, "maxcor": 30, "maxiter": 2000},
        )
        start = optimum.x
    value, slopes = evaluated(optimum.x)
    inside = (optimum.x > bounds[0]) & (optimum.x < bounds[1])
    grid = np.linspace(*bounds, 101)[1:]

    def constant(rate: float) -> float:
        value, _ = evaluated(np.full(pieces, rate))
        return value

    near = float(grid[int(np.argmin([constant(float(rate)) for rate in grid]))])
    width = (bounds[1] - bounds[0]) / 100
    one = minimize_scalar(
        constant, bounds=(max(near - width, bounds[0]), near + width), method="bounded"
    )
    return RatesFound(
        optimum.x,
        float(np.exp(value)),
        float(one.x),
        float(np.exp(one.fun)),
        float(np.max(np.abs(slopes[inside]), initial=0.0)),
    )
