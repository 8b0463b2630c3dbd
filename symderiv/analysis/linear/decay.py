r"""Error curves that are sums of exponentials, with their rates, weights and limits.

A square error E = F + Σ_k c_k D_k with dD_k/dα = -d_k D_k + b_k E relaxes as

.. math:: E(\alpha) = E_\infty + A \sum_j W_j e^{-s_j \alpha} ,\qquad \sum_j W_j = 1 ,

where the s_j are roots of the secular equation of diag(d) - b cᵀ and E_∞ = F / (1 - Σ b_k c_k/d_k).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from symderiv.analysis.low_rank import (
    Floats,
    exponential_sum,
    low_rank_spectrum,
    merged,
    stability_gap,
)

# A contribution of noise to the error below this share changes no double.
_NO_NOISE = 1e-20
# Numbers within this relative distance count as one constant with rounding errors.
_ROUNDING = 1e-13


@dataclass(frozen=True)
class ExponentialSum:
    """A sum of exponentials.

    Attributes:
        rate: s_j per unit of time, ascending, shape (L,); a negative one grows.
        weight: W_j, sum 1, shape (L,); positive if D_k is initially the same in all modes.
        amplitude: A, the part of the initial error that decays.
        limit: E_∞, the error at infinite time.
    """

    rate: Floats
    weight: Floats
    amplitude: float
    limit: float

    def __call__(self, time: Any) -> Floats:
        """Return the values at the given times, shape of ``time``."""
        times = np.asarray(time, dtype=np.float64)
        return self.limit + self.amplitude * exponential_sum(times, self.rate, self.weight)

    def after(self, steps: Any) -> Floats:
        """Return the curve after n updates, with (1 - s_j)^n in place of exponentials.

        Args:
            steps: whole numbers ≥ 0.
        """
        counts = np.asarray(steps, dtype=np.float64)
        parts = []
        with np.errstate(all="ignore"):
            # 1 - s is close to 1 where it matters
            near = np.abs(self.rate) < 0.5
            logs = np.where(near, np.log1p(-self.rate), np.log(np.abs(1.0 - self.rate)))
            for count in counts.ravel():
                odd = (self.rate > 1.0) & (count % 2 == 1)
                # 0^0 is 1: before the first update nothing has decayed
                powers = np.exp(count * logs) if count else np.ones_like(logs)
                parts.append(np.sum(self.weight * np.where(odd, -1.0, 1.0) * powers))
        return (self.limit + self.amplitude * np.array(parts)).reshape(counts.shape)

    def scaled(self, factor: float) -> ExponentialSum:
        """Return the curve multiplied by a factor."""
        return ExponentialSum(self.rate, self.weight, factor * self.amplitude, factor * self.limit)


def decay_of(
    diagonal: Floats, source: Floats, readout: Floats, start: Floats, constant: float = 0.0
) -> ExponentialSum:
    """Return the square error E(α) of the system in the docstring of this module.

    Args:
        diagonal: d, shape (L,).
        source: b > 0, shape (L,).
        readout: c > 0, shape (L,).
        start: D_k at time 0, shape (L,).
        constant: F ≥ 0, a part of E that does not decay.

    Returns:
        Rates accurate to a few units in the last place. With one ratio of ``start`` to b/d for all
        modes so are the weights; else their error is relative to the largest.
    """
    # In units of the fastest rate squares of rates are numbers too.
    unit = float(np.max(np.abs(diagonal)))
    diagonal, source = diagonal / unit, source / unit
    noise = float(np.max(source * readout / diagonal))
    if 0.0 <= noise < _NO_NOISE:
        # Noise too small to matter is raised to a value that is still too small, to avoid
        # underflow.
        source = source / float(np.max(source))
        source = source * (_NO_NOISE / float(np.max(source * readout / diagonal)))
    strength = source * readout
    equal_to_noise = source / diagonal
    sum_over_poles = float(np.sum(strength / diagonal))
    limit = constant / (1.0 - sum_over_poles) if constant else 0.0
    from_limit = start - equal_to_noise * limit
    ratio = from_limit / equal_to_noise
    amplitude = float(np.sum(readout * from_limit))
    pole, a, numerator = merged(diagonal, strength, readout * from_limit)
    roots = low_rank_spectrum(pole[None], a[None], [[-1.0]], numerator[None, None])
    moment = roots.moment[0]
    if float(np.ptp(ratio)) <= _ROUNDING * abs(float(ratio[0])) and pole[0] > 0.0:
        # Σ c D/(d - s) by partial fractions, all terms of one sign:
        # Σ (a/d)/(d - s) = (Σ a/(d - s) - Σ a/d)/s, and the first sum is 1 at a root.
        moment = float(np.mean(ratio)) * stability_gap(pole, a) / roots.value
    weight = moment / roots.slope
    total = float(np.sum(weight))
    return ExponentialSum(unit * roots.value, weight / total, amplitude, limit)
