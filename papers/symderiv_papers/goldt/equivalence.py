"""G7: how far the fields are from Gaussian, where every cumulant is a finite sum.

For a quadratic σ, x = b u + e (u² - 1), the field λ = w·x/√N of u = A c is a linear and a quadratic
form of the normal vector c. With B = (e/√N) Σ_i w_i a_i a_iᵀ and h = (b/√N) Σ_i w_i a_i its
cumulants are κ_s = 2^(s-1) s! (tr B^s/s + h B^(s-2) h/4) for s > 1, exact at every N.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np
from symderiv_ledger.claims.claim import Point
from symderiv_ledger.rules.arithmetic import Values

__all__ = [
    "cumulants",
    "points",
]

_SIZES = (64, 256, 1024)


def cumulants(N: int, D: int, b: float, e: float, seed: int = 0) -> tuple[float, float, float]:
    """κ_2, κ_3, κ_4 of the field of random weights behind a random generator.

    Args:
        N, D: Dimensions of inputs and latent vectors.
        b, e: σ(u) = b u + e (u² - 1).
        seed: Of weights w_i = 1/2, 1 or 3/2 (of one sign: κ_3 does not vanish by symmetry) and of
            normal rows a_i, scaled to length one.
    """
    random = np.random.default_rng(seed)
    A = random.standard_normal((N, D))
    A /= np.linalg.norm(A, axis=1)[:, None]
    w = random.choice([0.5, 1.0, 1.5], size=N) / math.sqrt(N)
    B = e * (A.T * w) @ A
    h = b * A.T @ w
    square = B @ B
    traces = {2: np.trace(square), 3: np.sum(square * B), 4: np.sum(square * square)}
    forms = {2: h @ h, 3: h @ B @ h, 4: h @ square @ h}
    found = [
        2 ** (s - 1) * math.factorial(s) * (float(traces[s]) / s + float(forms[s]) / 4)
        for s in (2, 3, 4)
    ]
    return found[0], found[1], found[2]


@lru_cache(maxsize=8)
def _means(N: int, ratio: float, runs: int = 4) -> tuple[float, float]:
    """Return root mean squares of skewness and excess kurtosis over generators and weights."""
    D = round(ratio * N)
    squares = np.zeros(2)
    for seed in range(runs):
        variance, third, fourth = cumulants(N, D, 1.0, 0.5, seed)
        squares += np.array([third**2 / variance**3, fourth**2 / variance**4])
    skewness, kurtosis = np.sqrt(squares / runs)
    return float(skewness), float(kurtosis)


def points(numbers: Any) -> Iterator[Point]:
    for ratio in (0.5, 2.0):
        for N in _SIZES:
            skewness, kurtosis = _means(N, ratio)
            values = {
                "skewness": numbers.mpf(skewness), "kurtosis": numbers.mpf(kurtosis),
                "scale": numbers.one,
            }  # fmt: skip
            yield Point(f"N = {N}, D/N = {ratio:g}", Values(values), 1 / N, f"D/N = {ratio:g}")
