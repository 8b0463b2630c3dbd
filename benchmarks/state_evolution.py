"""State evolution of a committee of two signs: what it costs, and overlaps by a second way.

``python -m benchmarks.state_evolution`` solves for Bayes-optimal overlaps of sign(z1) + sign(z2)
with Gaussian weights at α = 0.05, 0.10, … 5, and prints CPU seconds. At some α the overlaps are
solved for again with an update that is typed here: orthants by Plackett's integral over the
correlation, means over even points in the plane. It exits with 1 if a bound is not met.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from scipy.optimize import root
from scipy.special import ndtr

import symderiv as sd

_SECONDS, _ALLOWED = 60.0, 1e-7
_CHECKED = (0.5, 1.0, 2.0, 2.5, 3.0, 4.0, 5.0)
_AXIS = np.linspace(-7.5, 7.5, 151)
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(40)


def _density(x: np.ndarray) -> np.ndarray:
    return np.asarray(np.exp(-x * x / 2.0) / np.sqrt(2.0 * np.pi))


def orthant(h: np.ndarray, k: np.ndarray, rho: float) -> np.ndarray:
    """Return P(x < h, y < k) for two standard normal variables of correlation rho."""
    total = ndtr(h) * ndtr(k)
    for node, weight in zip(_NODES, _WEIGHTS, strict=True):
        r = rho * (node + 1.0) / 2.0
        rest = 1.0 - r * r
        inner = np.exp(-(h * h - 2.0 * r * h * k + k * k) / (2.0 * rest))
        total = total + rho * weight / 2.0 * inner / (2.0 * np.pi * np.sqrt(rest))
    return np.asarray(total)


def _divided(shares: np.ndarray, probability: np.ndarray) -> np.ndarray:
    """Divide, without outputs that hardly occur and of which rounding leaves nothing."""
    found: np.ndarray = np.where(probability > 1e-13, shares / np.maximum(probability, 1e-13), 0.0)
    return found


def update(q: np.ndarray, alpha: float) -> np.ndarray:
    """Return the overlaps after a step, for overlaps q of shape (2, 2)."""
    V = np.eye(2) - q
    values, vectors = np.linalg.eigh(q)
    # of units that are known by one vector q has rank 1
    x = (vectors * np.sqrt(np.maximum(values, 0.0))) @ np.array(np.meshgrid(_AXIS, _AXIS)).reshape(
        2, -1
    )
    shares = np.outer(_density(_AXIS), _density(_AXIS)).ravel() * (_AXIS[1] - _AXIS[0]) ** 2
    s = np.sqrt(np.diag(V))
    h, k = x[0] / s[0], x[1] / s[1]
    rho = V[0, 1] / s[0] / s[1]
    left = np.sqrt(1.0 - rho**2)
    a, b = _density(h) / s[0], _density(k) / s[1]
    moments = np.zeros((2, 2))
    rest, slopes = np.ones_like(h), np.zeros_like(x)
    for sign in (1.0, -1.0):
        probability = orthant(sign * h, sign * k, rho)
        slope = np.array(
            [
                sign * a * ndtr(sign * (k - rho * h) / left),
                sign * b * ndtr(sign * (h - rho * k) / left),
            ]
        )
        moments += (_divided(shares, probability) * slope) @ slope.T
        rest, slopes = rest - probability, slopes - slope
    moments += (_divided(shares, rest) * slopes) @ slopes.T
    conjugate = alpha * moments
    return np.asarray(conjugate @ np.linalg.inv(np.eye(2) + conjugate))


def again(overlap: np.ndarray, alpha: float) -> np.ndarray:
    """Return the fixed point of the update from a rough state, of two units that are alike."""

    def matrix(x: np.ndarray) -> np.ndarray:
        # x has q11 + q12, and q11 - q12 where it is not 0
        total, apart = x[0], x[1] if len(x) > 1 else 0.0
        both: np.ndarray = np.array(
            [[total + apart, total - apart], [total - apart, total + apart]]
        )
        return np.asarray(both / 2.0)

    def gap(x: np.ndarray) -> np.ndarray:
        new = update(matrix(x), alpha)
        sums: np.ndarray = np.array([new[0, 0] + new[0, 1], new[0, 0] - new[0, 1]])
        return np.asarray(sums[: len(x)] - x)

    rough = np.array([overlap[0, 0] + overlap[0, 1], overlap[0, 0] - overlap[0, 1]])
    rough = np.round(rough if rough[1] > 1e-3 else rough[:1], 2)
    return matrix(root(gap, rough, tol=1e-13, options={"factor": 0.1}).x)


def main() -> int:
    """Print the cost and the differences; 1 if a bound is not met."""
    alpha = [round(0.05 * n, 2) for n in range(1, 101)]
    problem = sd.Problem("sign", students=1, teachers=2)
    begin = time.process_time()
    found = problem.equilibrium(alpha=alpha, kind="bayes-optimal", output="sign(z1) + sign(z2)")
    spent = time.process_time() - begin
    print(f"101 values of α from 0 (nothing is learned there) to 5: {spent:.1f} CPU s, at most 60")
    worst = 0.0
    for each in _CHECKED:
        overlap = np.array(found.overlap[alpha.index(each)], dtype=float)
        difference = float(np.max(np.abs(again(overlap, each) - overlap)))
        worst = max(worst, difference)
        print(f"α = {each}: q = {overlap[0, 0]:.9f}, {overlap[0, 1]:.9f}, off by {difference:.1e}")
    print(f"largest difference {worst:.1e}, at most {_ALLOWED:g}")
    return int(spent > _SECONDS or not worst <= _ALLOWED)


if __name__ == "__main__":
    sys.exit(main())
