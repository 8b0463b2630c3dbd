"""Ridge regression on features of finite size: what the replica equations say about it, measured.

Runs draw (x, c) from the Gaussian covariate model of a random Ω and Φ, or c and x = σ(F c/√d) with
the mean taken off, fit by the normal equations, and measure V, q, m and the test error exactly from
the covariances (of random features: on fresh examples).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import erf
from symderiv_ledger.rules.comparison_rules import Measured

from symderiv.inputs.nonlinearity import nonlinearity

__all__ = [
    "Array",
    "Label",
    "Problem",
    "Runs",
    "feature_problem",
    "feature_runs",
    "problems",
    "runs",
    "solution",
]

Label = Callable[[np.ndarray], np.ndarray]


class Array:
    """A matrix of doubles for statements: +, multiples, and ``@`` (which is * between arrays)."""

    def __init__(self, values: np.ndarray) -> None:
        self.values = np.atleast_2d(values)

    @property
    def cols(self) -> int:
        return int(self.values.shape[1])

    @property
    def rows(self) -> int:
        return int(self.values.shape[0])

    def __add__(self, other: Array) -> Array:
        return Array(self.values + other.values)

    def __sub__(self, other: Array) -> Array:
        return Array(self.values - other.values)

    def __neg__(self) -> Array:
        return Array(-self.values)

    def __mul__(self, other: Any) -> Array:
        if isinstance(other, Array):
            return Array(self.values @ other.values)
        return Array(self.values * float(other))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Array:
        return Array(self.values / float(other))


@dataclass(frozen=True, eq=False)
class Problem:
    """A regression problem.

    Args:
        omega, phi: Shapes (p, p) and (p, d).
        theta: θ_0, shape (d,).
        samples: n.
        decay: λ.
        label: f_0, of the field θ_0·c/√d.
        words: What it is.
    """

    omega: np.ndarray
    phi: np.ndarray
    theta: np.ndarray
    samples: int
    decay: float
    label: Label
    words: str

    @property
    def alpha(self) -> float:
        return self.samples / int(self.omega.shape[0])

    @property
    def rho0(self) -> float:
        return float(self.theta @ self.theta) / self.theta.size


@dataclass(frozen=True)
class Runs:
    """Means over runs with their standard errors."""

    V: Measured
    q: Measured
    m: Measured
    V_hat: Measured
    q_hat: Measured
    m_hat: Measured


def _identity(u: np.ndarray) -> np.ndarray:
    return u


@lru_cache(maxsize=1)
def problems() -> tuple[Problem, ...]:
    """α below and above one, D/N below and above one, linear labels and signs."""
    found = []
    cases: tuple[tuple[int, int, int, float, Label, str], ...] = (
        (120, 180, 180, 0.1, _identity, "linear labels"),
        (160, 80, 96, 0.02, _identity, "linear labels"),
        (120, 90, 240, 0.3, np.sign, "signs as labels"),
    )
    for seed, (p, d, n, decay, label, words) in enumerate(cases):
        random = np.random.default_rng(seed)
        mixing = random.standard_normal((p, d)) / math.sqrt(d)
        noise = random.uniform(0.1, 1.5, size=p)
        theta = random.standard_normal(d) * 1.3
        sizes = f"p = {p}, d = {d}, n = {n}, lambda = {decay}, {words}"
        found.append(
            Problem(mixing @ mixing.T + np.diag(noise), mixing, theta, n, decay, label, sizes)
        )
    return tuple(found)


@lru_cache(maxsize=4)
def runs(problem: Problem, count: int = 16) -> Runs:
    """Measured V, q, m, and V̂, q̂, m̂ for which the printed weight side gives just these.

    Args:
        problem: The problem.
        count: Number of runs.
    """
    random = np.random.default_rng(7)
    p, d = problem.phi.shape
    remainder = np.linalg.cholesky(problem.omega - problem.phi @ problem.phi.T)
    image = problem.phi @ problem.theta
    measured = []
    for _ in range(count):
        c = random.standard_normal((problem.samples, d))
        x = c @ problem.phi.T + random.standard_normal((problem.samples, p)) @ remainder.T
        y = problem.label(c @ problem.theta / math.sqrt(d))
        hessian = x.T @ x / p + problem.decay * np.eye(p)
        w = np.linalg.solve(hessian, x.T @ y) / math.sqrt(p)
        V = float(np.trace(np.linalg.solve(hessian, problem.omega))) / p
        q = float(w @ problem.omega @ w) / p
        m = float(w @ image) / math.sqrt(p * d)
        measured.append((V, q, m, *_hats(problem, V, q, m)))
    rows = np.array(measured)
    errors = rows.std(axis=0, ddof=1) / math.sqrt(count)
    pairs = zip(rows.mean(axis=0), errors, strict=True)
    return Runs(*(Measured(float(mean), float(error)) for mean, error in pairs))


def _hats(problem: Problem, V: float, q: float, m: float) -> tuple[float, float, float]:
    """Return the inverse of the weight side, in the eigenbasis of Ω."""
    p, d = problem.phi.shape
    rho, _, image = _spectrum(problem)
    V_hat = float(brentq(lambda s: np.sum(rho / (problem.decay + s * rho)) / p - V, 1e-9, 1e6))
    denominator = problem.decay + V_hat * rho
    m_hat = m * d / float(np.sum(image**2 / denominator))
    drift = m_hat**2 * float(np.sum(rho * image**2 / denominator**2)) / d
    q_hat = (q - drift) * p / float(np.sum(rho**2 / denominator**2))
    return V_hat, q_hat, m_hat


@lru_cache(maxsize=8)
def _spectrum(problem: Problem) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rho, axes = np.linalg.eigh(problem.omega)
    return rho, axes, axes.T @ problem.phi @ problem.theta


@lru_cache(maxsize=8)
def solution(problem: Problem) -> tuple[float, float, float, float, float, float]:
    """V, q, m, V̂, q̂, m̂ of the equations for ridge and the problem's labels, by iteration.

    The labels' only traits are E[y²] and the mean slope E[y ν]/ρ_0.
    """
    nodes, weight = np.polynomial.hermite_e.hermegauss(200)
    weight = weight / weight.sum()
    field = math.sqrt(problem.rho0) * nodes
    y = problem.label(field)
    square, slope = float(weight @ y**2), float(weight @ (y * field)) / problem.rho0
    p, d = problem.phi.shape
    rho, _, image = _spectrum(problem)
    V, q, m = 1.0, 0.5, 0.1
    for _ in range(4000):
        V_hat = problem.alpha / (1 + V)
        m_hat = slope * V_hat
        q_hat = problem.alpha * (square + q - 2 * slope * m) / (1 + V) ** 2
        lower = problem.decay + V_hat * rho
        V_new = float(np.sum(rho / lower)) / p
        q_new = float(np.sum((q_hat * rho**2 + m_hat**2 * p / d * rho * image**2) / lower**2)) / p
        m_new = m_hat / d * float(np.sum(image**2 / lower))
        change = abs(V_new - V) + abs(q_new - q) + abs(m_new - m)
        V, q, m = V_new, q_new, m_new
        if change < 1e-14:
            break
    return V, q, m, V_hat, q_hat, m_hat


# -- random features ------------------------------------------------------------------------------


@lru_cache(maxsize=2)
def feature_problem(seed: int) -> tuple[Problem, np.ndarray]:
    """erf features of rows of normal entries with the printed Ω and Φ, and F itself."""
    random = np.random.default_rng(seed)
    p, d, n = 240, 160, 300
    F = random.standard_normal((p, d))
    f = nonlinearity("erf")
    omega = f.b**2 * F @ F.T / d + f.rest * np.eye(p)
    theta = random.standard_normal(d)
    words = f"erf features, p = {p}, d = {d}, n = {n}"
    return Problem(omega, f.b * F / math.sqrt(d), theta, n, 0.05, _identity, words), F


@lru_cache(maxsize=2)
def feature_runs(seed: int, count: int = 16) -> Measured:
    """Test error of features erf(F c/√(2 d)) themselves."""
    problem, F = feature_problem(seed)
    random = np.random.default_rng(11)
    p, d = F.shape
    errors = []
    for _ in range(count):
        sets = []
        for size in (problem.samples, 2000):
            c = random.standard_normal((size, d))
            sets.append((erf(c @ F.T / math.sqrt(2 * d)), c @ problem.theta / math.sqrt(d)))
        (x, y), (x_test, y_test) = sets
        w = np.linalg.solve(x.T @ x / p + problem.decay * np.eye(p), x.T @ y) / math.sqrt(p)
        errors.append(float(np.mean((y_test - x_test @ w / math.sqrt(p)) ** 2)))
    return Measured(float(np.mean(errors)), float(np.std(errors, ddof=1)) / math.sqrt(count))
