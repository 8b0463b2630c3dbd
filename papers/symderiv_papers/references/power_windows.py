"""Local exponents of power-law sums, and how long they stay near their value for infinite L."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from symderiv_papers.references.power_laws import PowerLawSum

__all__ = [
    "exponent_in_time",
    "window_length",
]

_STEP = 0.02
_NEAR = 0.2


def exponent_in_time(law: PowerLawSum) -> Callable[[], Any]:
    """-d ln ε_g/d ln α of the engine's sum of exponentials, for a lazy value."""

    def value() -> Any:
        numbers, z, power = law.numbers, law.numbers.mpf(law.z), 1 + law.names["beta"]
        terms = law.terms()
        rates = (z * numbers.mpf(k) ** -power for k in range(1, law.L + 1))
        slope = numbers.fsum(rate * term for rate, term in zip(rates, terms, strict=True))
        return slope / numbers.fsum(terms)

    return value


def window_length(beta: Any, L: int) -> float:
    """ln(last/first time) of the longest stretch with an exponent within a fifth of β/(1+β).

    Args:
        beta: β.
        L: Number of eigenvalues.
    """
    power = 1.0 + float(beta)
    u = np.arange(1, L + 1, dtype=np.float64) ** -power
    expected = float(beta) / power
    longest = current = 0
    for log_z in np.arange(-3.0, power * np.log(L) + 1.0, _STEP):
        z = np.exp(log_z)
        terms = u * np.exp(-z * u)
        near = abs(z * np.sum(u * terms) / np.sum(terms) / expected - 1.0) < _NEAR
        current = current + 1 if near else 0
        longest = max(longest, current)
    return _STEP * longest
