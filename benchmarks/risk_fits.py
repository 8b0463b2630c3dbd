"""Minima of empirical risks in the limit of large N against fits to drawn examples.

``python -m benchmarks.risk_fits [--dimension N] [--instances R]`` draws teachers and examples, fits
ridge regression, the logistic loss and the hinge loss to them with a ridge, and prints the order
parameters, errors and losses of the fits beside those of ``problem.equilibrium(kind="erm")``.

Nothing of the engine makes the fits: ridge regression is a linear system, the logistic loss is
minimised by Newton's method, and the hinge loss by its dual problem, whose gap to the loss says how
near the minimum is. Teachers have ±1 along every direction, as in the theory all directions of
equal eigenvalues have the same mean square.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.optimize import minimize

import symderiv as sd
from symderiv.api.results.flows.homogeneous import spectrum_of

Fit = Callable[[np.ndarray, np.ndarray, float], np.ndarray]
Loss = Callable[[np.ndarray, np.ndarray], np.ndarray]

_ALPHA = (0.5, 1.0, 2.0, 4.0)
_RIDGE, _NOISE, _FLIPPED = 0.5, 0.5, 0.1
_SETTLED, _GAP = 1e-9, 1e-4


def ridge_fit(X: np.ndarray, y: np.ndarray, ridge: float) -> np.ndarray:
    """Return the weights of ridge regression."""
    weights: np.ndarray = np.linalg.solve(X.T @ X + ridge * np.eye(X.shape[1]), X.T @ y)
    return weights


def logistic_fit(X: np.ndarray, y: np.ndarray, ridge: float) -> np.ndarray:
    """Return the weights with the least logistic loss, by Newton's method."""
    w = np.zeros(X.shape[1])
    for _ in range(60):
        p = 1.0 / (1.0 + np.exp(y * (X @ w)))
        slope = ridge * w - X.T @ (y * p)
        bend = X.T @ (X * (p * (1.0 - p))[:, None]) + ridge * np.eye(w.size)
        step = np.linalg.solve(bend, slope)
        w = w - step
        if np.abs(step).max() < _SETTLED:
            return w
    raise ArithmeticError("Newton's method did not settle")


def hinge_fit(X: np.ndarray, y: np.ndarray, ridge: float) -> np.ndarray:
    """Return the weights with the least hinge loss, from multipliers between 0 and 1."""
    Z = X * y[:, None]
    G = Z @ Z.T / ridge

    def dual(a: np.ndarray) -> tuple[float, np.ndarray]:
        through = G @ a
        return float(0.5 * a @ through - a.sum()), through - 1.0

    options = {"maxiter": 20_000, "maxfun": 40_000, "ftol": 1e-15, "gtol": 1e-8, "maxcor": 30}
    start, bounds = np.full(y.size, 0.5), [(0.0, 1.0)] * y.size
    found = minimize(dual, start, jac=True, bounds=bounds, method="L-BFGS-B", options=options)
    w: np.ndarray = Z.T @ found.x / ridge
    least = float(np.maximum(0.0, 1.0 - Z @ w).sum() + 0.5 * ridge * w @ w)
    if not least + found.fun < _GAP * least:
        raise ArithmeticError(
            f"the minimum is known to {least + found.fun:.1e} of {least:.1e} only"
        )
    return w


#: The fit of each loss, and the loss of an example.
FITS: dict[str, tuple[Fit, Loss]] = {
    "squared": (ridge_fit, lambda s, y: 0.5 * (s - y) ** 2),
    "logistic": (logistic_fit, lambda s, y: np.logaddexp(0.0, -s * y)),
    "hinge": (hinge_fit, lambda s, y: np.maximum(0.0, 1.0 - s * y)),
}


def problem_of(loss: str, power_law: bool, N: int) -> sd.Problem:
    """Return the statement: noisy tanh for ridge regression, else signs of which some are wrong."""
    inputs = sd.PowerLaw(exponent=0.5, dimension=N, distinct_eigenvalues=N) if power_law else None
    given: dict[str, Any] = (
        {"teacher_activation": "tanh", "label_noise": _NOISE}
        if loss == "squared"
        else {"loss": loss, "target": "sign", "label_flip": _FLIPPED}
    )
    return sd.Problem("linear", students=1, teachers=1, inputs=inputs or sd.Isotropic(N), **given)


def instance(
    loss: str, eigenvalues: np.ndarray, alpha: float, random: np.random.Generator
) -> tuple[float, ...]:
    """Return overlap, norm, error and training loss of one fit."""
    N = eigenvalues.size
    B = random.choice([-1.0, 1.0], N) * (N / eigenvalues.sum()) ** 0.5
    X = random.normal(size=(round(alpha * N), N)) * np.sqrt(eigenvalues / N)
    field = X @ B
    if loss == "squared":
        y = np.tanh(field) + _NOISE * random.normal(size=len(X))
    else:
        y = np.sign(field) * np.where(random.random(len(X)) < _FLIPPED, -1.0, 1.0)
    fit, cost = FITS[loss]
    w = fit(X, y, _RIDGE)
    m, q = float(w @ (eigenvalues * B)) / N, float(w @ (eigenvalues * w)) / N
    if loss == "squared":
        x, shares = np.polynomial.hermite_e.hermegauss(80)
        shares = shares / shares.sum()
        first, second = shares @ (x * np.tanh(x)), shares @ np.tanh(x) ** 2
        error = 0.5 * (second - 2.0 * first * m + q)
    else:
        error = np.arccos(m / q**0.5) / np.pi
    return m, q, float(error), float(cost(X @ w, y).mean())


def compared(N: int, instances: int) -> Iterator[tuple[str, str, float, str, float, float, float]]:
    """Yield loss, inputs, α, what it is, its value in theory, and mean and error of the fits."""
    random = np.random.default_rng(1)
    for loss in FITS:
        for power_law in (False, True):
            problem = problem_of(loss, power_law, N)
            found = problem.equilibrium(alpha=_ALPHA, kind="erm", ridge=_RIDGE)
            spread = spectrum_of(problem._study) if power_law else (np.ones(1), np.ones(1))
            eigenvalues = np.repeat(spread[0], np.rint(N * spread[1]).astype(int))
            for n, alpha in enumerate(_ALPHA):
                seen = np.array(
                    [instance(loss, eigenvalues, alpha, random) for _ in range(instances)]
                )
                means, errors = seen.mean(axis=0), seen.std(axis=0, ddof=1) / instances**0.5
                names = ("overlap", "norm", "error", "training_loss")
                for k, name in enumerate(names):
                    inputs = "power law" if power_law else "isotropic"
                    theory = float(getattr(found, name)[n])
                    yield loss, inputs, alpha, name, theory, float(means[k]), float(errors[k])


def main() -> None:
    """Print all values, and how many are within three standard errors."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--dimension", type=int, default=1000)
    parser.add_argument("--instances", type=int, default=20)
    given = parser.parse_args()
    inside = total = 0
    for loss, inputs, alpha, name, theory, mean, error in compared(
        given.dimension, given.instances
    ):
        z = (mean - theory) / error
        inside, total = inside + (abs(z) < 3.0), total + 1
        print(
            f"{loss:9s} {inputs:10s} alpha {alpha:4g}  {name:14s} {theory:.5f}  "
            f"{mean:.5f} ± {error:.5f}  {z:+.1f}",
            flush=True,
        )
    print(f"{inside} of {total} within 3 standard errors; ridge {_RIDGE:g}")


if __name__ == "__main__":
    main()
