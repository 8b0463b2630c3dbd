"""Certified rates and weights of the linear network's error, by its secular equation on balls."""

from __future__ import annotations

from flint import arb

from symderiv.analysis.linear.exact_spectrum import Balls, ExactLinear
from symderiv.analysis.low_rank import secular_roots


def secular_rates(problem: ExactLinear) -> tuple[Balls, Balls]:
    """Rates, ascending, and weights of the error, each enclosed.

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
