r"""Power-law spectra: the small-η error as an integral, the error of that, and its power law.

With λ_l = λ_+ l^-(1+β), z = 2ηλ_+α and s = β/(1+β),

.. math:: \frac1L \sum_{l=1}^{n} \lambda_l e^{-2\eta\lambda_l\alpha} \approx
          \frac{\lambda_+}{L} \int_1^n x^{-(1+\beta)} e^{-z x^{-(1+\beta)}} dx =
          \frac{\lambda_+}{L} \frac{z^{-s}}{1+\beta}
          \bigl[\gamma(s, z) - \gamma(s, z n^{-(1+\beta)})\bigr]

by u = z x^-(1+β), γ the lower incomplete gamma function.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import arb

from symderiv.analysis.linear.system import linear_system
from symderiv.analysis.low_rank import Floats
from symderiv.foundation.errors import InputError
from symderiv.precision.balls.working import working_bits

# Times at which everything has decayed are replaced by this one, to keep products finite.
_LATEST = 1e300
# Bits of incomplete gamma functions, so that differences are right to the last digit of doubles.
_BITS = 160


@dataclass(frozen=True)
class PowerLawSum:
    """L directions with eigenvalues λ_+ l^-(1+β), of which the first ``trainable`` are trained.

    Attributes:
        distinct_eigenvalues: L ≥ 1.
        exponent: β > 0.
        largest: λ_+.
        trainable: number of trained directions, from 1 to L.

    Raises:
        InputError: a value is outside its range.
    """

    distinct_eigenvalues: int
    exponent: float
    largest: float
    trainable: int

    def __post_init__(self) -> None:
        if not (math.isfinite(self.exponent) and self.exponent > 0.0):
            raise InputError(f"{self.exponent!r} is not a positive number", argument="exponent")

    def decay_per_alpha(self, learning_rate: float) -> float:
        """Return 2ηλ_+, the rate of the largest direction."""
        d, _, _ = linear_system().numbers(learning_rate, self.largest, 1.0)
        return float(d)


@dataclass(frozen=True)
class IntegralApproximation:
    """The sum replaced by an integral.

    Attributes:
        value: the integral, shape of α.
        error_estimate: exact minus ``value`` by the first two terms of the Euler–Maclaurin formula.
        error_bound: |exact - value| is not larger; proved, because f has one maximum.
    """

    value: Floats
    error_estimate: Floats
    error_bound: Floats


def integral_approximation(
    law: PowerLawSum, learning_rate: float, alpha: Any, deviation: float = 1.0
) -> IntegralApproximation:
    """Return the small-η error of a power law by the Euler–Maclaurin formula.

    Args:
        law: the spectrum; frozen directions are integrated from NL to L.
        learning_rate: η.
        alpha: times ≥ 0, any shape.
        deviation: S² + T.
    """
    times = np.asarray(alpha, dtype=np.float64)
    L, n, beta = law.distinct_eigenvalues, law.trainable, law.exponent
    with np.errstate(over="ignore"):
        z = np.minimum(law.decay_per_alpha(learning_rate) * times, _LATEST)
    scale = linear_system().factor * deviation * law.largest / L
    integral = np.array([_integral(beta, float(one), n) for one in z.ravel()]).reshape(z.shape)

    def summand(x: float) -> Floats:
        u = float(x) ** -(1.0 + beta)
        return np.asarray(u * np.exp(-z * u))

    def slope(x: float) -> Floats:
        u = float(x) ** -(1.0 + beta)
        return np.asarray((1.0 + beta) / x * u * (z * u - 1.0) * np.exp(-z * u))

    estimate = 0.5 * (summand(1) + summand(n)) + (slope(n) - slope(1)) / 12.0
    bound = _maximum(beta, z, n)
    frozen = 0.0
    if n < L:
        frozen = (n**-beta - L**-beta) / beta
        at_n, at_l = n ** -(1.0 + beta), L ** -(1.0 + beta)
        # the sum starts at NL + 1: the term at NL belongs to the trained part
        end = 0.5 * (at_l - at_n)
        estimate = estimate + end + (1.0 + beta) * (at_n / n - at_l / L) / 12.0
        bound = bound + (at_n - at_l)
    return IntegralApproximation(scale * (integral + frozen), scale * estimate, scale * bound)


def _integral(beta: float, z: float, n: int) -> float:
    """Return ∫_1^n x^-(1+β) exp(-z x^-(1+β)) dx, by incomplete gamma functions."""
    with working_bits(_BITS):
        s = arb(beta) / (1 + arb(beta))
        start, shrunk = arb(z), arb(n) ** -arb(beta)
        end = start * shrunk / n
        front = s.gamma() / (1 + arb(beta))
        if end > 1.0:
            upper = end.gamma_upper(s, 1) - start.gamma_upper(s, 1)
            return float(front * start**-s * upper)
        # γ(s, z) z^-s is entire in z, and the difference loses nothing for n > 1
        return float(front * (start.gamma_lower(s, 2) - shrunk * end.gamma_lower(s, 2)))


def _maximum(beta: float, z: Floats, n: int) -> Floats:
    """Return the largest value of f on [1, n], at z u = 1 or at an end.

    |Σ f - ∫ f| ≤ (f(1) + f(n))/2 + half of the total variation; with one maximum the sum of these
    is that maximum.
    """
    lowest = float(n) ** -(1.0 + beta)
    best = np.clip(1.0 / np.maximum(z, 1e-300), lowest, 1.0)
    return best * np.exp(-z * best)


def window(law: PowerLawSum, learning_rate: float) -> tuple[float, float]:
    """Return the α between which ⟨ε_g⟩ ∝ α^(-β/(1+β)) at small η, up to factors of order 1.

    The lower end: the largest direction has decayed by 1/e (z = 1), before that nothing is learned.
    The upper end: the first correction of a finite spectrum, (z n^-(1+β))^s / s, has become as
    large as the leading term Γ(s) of γ(s, z); the slowest direction then ends the power law. Well
    inside (a decade from each end) the local exponent is near its asymptotic value.
    """
    beta = law.exponent
    s = beta / (1.0 + beta)
    lower = 1.0 / law.decay_per_alpha(learning_rate)
    try:
        upper = lower * math.gamma(1.0 + s) ** (1.0 / s) * float(law.trainable) ** (1.0 + beta)
    except OverflowError:
        upper = math.inf
    return lower, upper
