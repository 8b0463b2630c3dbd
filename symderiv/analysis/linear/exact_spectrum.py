r"""The linear network to any number of digits: the common parts of three methods.

A method finds the rates s_j and weights W_j of the part of the error that decays, in ball
arithmetic. Amplitude and limit of the curve, the same for all methods, are computed here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt
from flint import arb

from symderiv.analysis.linear.system import linear_system
from symderiv.analysis.low_rank import secular_roots
from symderiv.analysis.plateau.teacher import power_law_balls, rational_ball

Balls = list[arb]
#: A function to the spectrum at the present working precision: L values ρ_k, descending, and w_k.
Spectrum = Callable[[], tuple[Balls, Balls]]


def exact_power_law(distinct_eigenvalues: int, exponent: Fraction) -> Spectrum:
    """Return λ_l ∝ l^-(1+β) with mean 1 and equal weights, as a spectrum of any precision.

    Args:
        distinct_eigenvalues: L.
        exponent: β.
    """

    L = distinct_eigenvalues
    return lambda: (power_law_balls(L, exponent), [arb(1) / L] * L)


def exact_spectrum(eigenvalue: Sequence[float], weight: Sequence[float]) -> Spectrum:
    """Return a spectrum given by doubles, which are taken as exact numbers."""
    return lambda: ([arb(float(x)) for x in eigenvalue], [arb(float(x)) for x in weight])


@dataclass(frozen=True)
class ExactLinear:
    """A linear network of which the ``trainable`` largest eigenvalues are trained.

    Attributes:
        spectrum: all L eigenvalues and weights.
        trainable: number of trained directions, from 1 to L; these eigenvalues are positive and
            different.
        learning_rate: η, below the stability limit.
        deviation: S² + T.
    """

    spectrum: Spectrum
    trainable: int
    learning_rate: Fraction
    deviation: Fraction

    def trained(self) -> tuple[Balls, Balls]:
        """Return ρ_k and w_k of the trained directions, descending."""
        rho, weight = self.spectrum()
        return rho[: self.trainable], weight[: self.trainable]

    def coefficients(self) -> tuple[npt.NDArray[np.object_], ...]:
        """Return d, b, c of the trained directions, see :mod:`symderiv.analysis.linear.system`."""
        eta = rational_ball(self.learning_rate)
        return linear_system().numbers(eta, *map(np.array, self.trained()))

    def _frozen(self) -> arb:
        """Return Σ w ρ over the directions that are not trained."""
        rho, weight = self.spectrum()
        return total(x * w for x, w in list(zip(rho, weight, strict=True))[self.trainable :])

    def amplitude_and_limit(self) -> tuple[arb, arb]:
        """Return A and E_∞ of ε_g = E_∞ + A Σ_j W_j exp(-s_j α)."""
        d, b, c = self.coefficients()
        deviation = rational_ball(self.deviation)
        factor = rational_ball(linear_system().error_factor)
        noise = b / d
        limit = self._frozen() * deviation / (1 - total(noise * c))
        return factor * total(c * (deviation - noise * limit)), factor * limit

    def small_learning_rate(self, alpha: Fraction) -> arb:
        """Return ε_g at one time in the limit η → 0."""
        d, _, c = self.coefficients()
        scale = rational_ball(linear_system().error_factor * self.deviation)
        return scale * (sum_of_exponentials(d, c, alpha) + self._frozen())


def total(parts: Iterable[arb]) -> arb:
    """Return a sum, 0 if it is empty."""
    return sum(parts, arb(0))


def sum_of_exponentials(rates: Iterable[arb], weights: Iterable[arb], alpha: Fraction) -> arb:
    """Return Σ_j W_j exp(-s_j α)."""
    time = rational_ball(alpha)
    return total(w * (-s * time).exp() for s, w in zip(rates, weights, strict=True))


def secular_rates(problem: ExactLinear) -> tuple[Balls, Balls]:
    """Return enclosed rates, ascending, and weights of the error, by the secular equation.

    Raises:
        ToleranceError: Two poles are too close to be distinguished, or a root is not enclosed.
    """
    pole, b, c = (each[::-1] for each in problem.coefficients())
    # All directions have one initial deviation; see decay.decay_of.
    share = pole[-1] / b[-1] * (1 - total(b * c / pole)) / total(c)
    roots = secular_roots([*pole], [*(b * c)])
    return [root for root, _ in roots], [share / (root * slope) for root, slope in roots]
