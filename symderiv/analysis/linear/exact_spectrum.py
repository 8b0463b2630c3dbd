r"""The linear network with any number of digits: what the three methods have in common.

A method finds the rates s_j and weights W_j of the part of the error that decays, in ball
arithmetic. Amplitude and limit of the curve, the same for all methods, are worked out here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from flint import arb

from symderiv.analysis.linear.system import linear_system
from symderiv.analysis.low_rank import secular_roots
from symderiv.analysis.plateau.teacher import power_law_balls, rational_ball

Balls = list[arb]
#: The spectrum at the present working precision: ρ_k descending and w_k, L of each.
Spectrum = Callable[[], tuple[Balls, Balls]]


def exact_power_law(distinct_eigenvalues: int, exponent: Fraction) -> Spectrum:
    """λ_l ∝ l^-(1+β) with mean 1 and equal weights, to any precision.

    Args:
        distinct_eigenvalues: L.
        exponent: β.
    """

    L = distinct_eigenvalues
    return lambda: (power_law_balls(L, exponent), [arb(1) / L] * L)


def exact_spectrum(eigenvalue: Sequence[float], weight: Sequence[float]) -> Spectrum:
    """Return a spectrum of doubles, taken as the exact numbers that they are."""
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
        """ρ_k and w_k of the trained directions, descending."""
        rho, weight = self.spectrum()
        return rho[: self.trainable], weight[: self.trainable]

    def coefficients(self) -> tuple[Balls, Balls, Balls]:
        """d, b, c of the trained directions; see :mod:`symderiv.analysis.linear.system`."""
        eta, system = rational_ball(self.learning_rate), linear_system()
        columns = [system.numbers(eta, x, w) for x, w in zip(*self.trained(), strict=True)]
        return ([c[0] for c in columns], [c[1] for c in columns], [c[2] for c in columns])

    def amplitude_and_limit(self) -> tuple[arb, arb]:
        """Return a and E_∞ of ε_g = E_∞ + A Σ_j W_j exp(-s_j α)."""
        d, b, c = self.coefficients()
        rho, weight = self.spectrum()
        rest = zip(rho[self.trainable :], weight[self.trainable :], strict=True)
        deviation = rational_ball(self.deviation)
        factor = rational_ball(linear_system().exact_factor)
        frozen = sum((x * w for x, w in rest), arb(0)) * deviation
        noise = [y / x for x, y in zip(d, b, strict=True)]
        limit = frozen / (1 - sum((x * y for x, y in zip(noise, c, strict=True)), arb(0)))
        amplitude = sum(
            (y * (deviation - x * limit) for x, y in zip(noise, c, strict=True)), arb(0)
        )
        return factor * amplitude, factor * limit

    def small_learning_rate(self, alpha: Fraction) -> arb:
        """Return the limit η → 0 at one time."""
        d, _, c = self.coefficients()
        rho, weight = self.spectrum()
        rest = zip(rho[self.trainable :], weight[self.trainable :], strict=True)
        time = rational_ball(alpha)
        total = sum((y * (-x * time).exp() for x, y in zip(d, c, strict=True)), arb(0))
        total += sum((x * w for x, w in rest), arb(0))
        return rational_ball(linear_system().exact_factor * self.deviation) * total


def sum_of_exponentials(rates: Balls, weights: Balls, alpha: Fraction) -> arb:
    """Σ_j W_j exp(-s_j α)."""
    time = rational_ball(alpha)
    return sum((w * (-s * time).exp() for s, w in zip(rates, weights, strict=True)), arb(0))


def secular_rates(problem: ExactLinear) -> tuple[Balls, Balls]:
    """Rates, ascending, and weights of the error, each enclosed, by the secular equation.

    Raises:
        ToleranceError: Two poles are too close to be told apart, or a root is not enclosed.
    """
    d, b, c = problem.coefficients()
    pole = d[::-1]
    strength = [x * y for x, y in zip(b[::-1], c[::-1], strict=True)]
    # With one start for all directions: see decay.decay_of.
    gap = 1 - sum((a / x for a, x in zip(strength, pole, strict=True)), arb(0))
    share = d[0] / b[0] * gap / sum(c, arb(0))
    roots = secular_roots(pole, strength)
    return [root for root, _ in roots], [share / (root * slope) for root, slope in roots]
