"""Certified roots of the secular equation, from the doubles of :mod:`~.secular`."""

from __future__ import annotations

import numpy as np
from flint import arb, ctx

from symderiv.analysis.linear.exact_spectrum import Balls, ExactLinear
from symderiv.analysis.linear.secular import secular_roots
from symderiv.foundation.errors import ToleranceError

# Digits that the doubles have at least where poles are well apart.
_START_BITS = 36


def secular_rates(problem: ExactLinear) -> tuple[Balls, Balls]:
    """Rates, ascending, and weights of the error, by Newton's method on balls.

    Each rate is enclosed: the secular function has the two signs at the ends of its ball, which
    lies between the poles, where it grows.

    Raises:
        ToleranceError: Two poles are too close for the doubles to start from.
    """
    d, b, c = problem.coefficients()
    pole = d[::-1]
    strength = [x * y for x, y in zip(b[::-1], c[::-1], strict=True)]
    starts = secular_roots(
        np.array([float(x) for x in pole]),
        np.array([float(x) for x in strength]),
        np.ones(len(pole)),
    )
    # With one start for all directions: see decay.decay_of.
    gap = 1 - sum((a / x for a, x in zip(strength, pole, strict=True)), arb(0))
    ratio = d[0] / b[0]
    total = sum(c, arb(0))
    rates, weights = [], []
    for j in range(len(pole)):
        root, slope = _root(pole, strength, j, starts.origin[j], starts.offset[j])
        rates.append(root)
        weights.append(ratio * gap / (root * slope * total))
    return rates, weights


def _sums(pole: Balls, strength: Balls, s: arb) -> tuple[arb, arb]:
    value, slope = arb(-1), arb(0)
    for d, a in zip(pole, strength, strict=True):
        inverse = 1 / (d - s)
        part = a * inverse
        value += part
        slope += part * inverse
    return value, slope


def _root(pole: Balls, strength: Balls, j: int, origin: float, offset: float) -> tuple[arb, arb]:
    nearest = arb(0) if origin == 0.0 else pole[j if offset < 0.0 else j - 1]
    s = (nearest + arb(offset)).mid()
    bits, step = _START_BITS, arb(0)
    while bits < 2 * ctx.prec:
        value, slope = _sums(pole, strength, s)
        step = (value / slope).mid()
        s = (s - step).mid()
        bits *= 2
    # Newton's last step, and what the balls of the input leave open.
    value, slope = _sums(pole, strength, s)
    radius = 2 * abs(value / slope).upper() + abs(s - nearest) * arb((1, -ctx.prec + 4))
    low, high = (s - radius).lower(), (s + radius).upper()
    between = high < pole[j] and (j == 0 or low > pole[j - 1])
    if not (between and _sums(pole, strength, low)[0] < 0 < _sums(pole, strength, high)[0]):
        raise ToleranceError(
            f"the root of the secular equation below its pole {j + 1} is not enclosed at this "
            "precision; ask for more digits"
        )
    enclosed = low.union(high)
    return enclosed, _sums(pole, strength, enclosed)[1]
