r"""Eigenvalues of a diagonal matrix plus one of rank one, as roots of its secular equation.

The eigenvalues of -g Λ - f u wᵀ with Λ = diag ρ_k, u_k w_k > 0 solve

.. math:: 1 + \sum_k \frac{h_k}{\lambda - p_k} = 0, \qquad p_k = -g \rho_k, \quad h_k = f u_k w_k .

The left side is monotone between neighbouring poles p_k, so there is one root between any two of
them and one beyond the last pole on the side that the sign of f names. Each root is found as its
distance from the nearer pole, so that also one that almost is a pole has full relative accuracy in
that distance: bisection in double precision, then Newton's rule in balls, then a change of sign of
the left side across the last ball, which proves it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from flint import arb

from symderiv.foundation.errors import ToleranceError
from symderiv.precision.balls.working import working_bits

__all__ = ["secular_roots"]

_STEPS = 60
_BLOCK = 256


def secular_roots(poles: Sequence[arb], strengths: Sequence[arb], bits: int) -> list[arb]:
    """The roots as balls, ascending.

    Args:
        poles: L distinct balls p_k.
        strengths: L balls h_k, all of one sign (or all exactly zero: then the poles are returned).
        bits: Working precision; the roots have about as many accurate bits.

    Raises:
        ToleranceError: The poles are too close to be told apart, or a root could not be enclosed.
    """
    order = sorted(range(len(poles)), key=lambda k: float(poles[k]))
    p = [poles[k] for k in order]
    h = [strengths[k] for k in order]
    if all(strength.is_zero() for strength in h):
        return p
    positive = bool(h[0] > 0)
    if not all(bool(strength > 0) if positive else bool(strength < 0) for strength in h):
        raise ToleranceError("the strengths of the secular equation have different signs")
    if any(not (a < b) for a, b in pairwise(p)):
        raise ToleranceError("two eigenvalues of the inputs are too close to be told apart")
    if len(p) == 1:
        with working_bits(bits + 20):
            return [p[0] - h[0]]
    with working_bits(bits + 20):
        starts = _starts(p, h, positive)
        return [_refined(p, h, k, start, bits) for k, start in starts]


def _starts(p: list[arb], h: list[arb], positive: bool) -> list[tuple[int, float]]:
    """For each root the pole it is measured from and its distance, in double precision."""
    size = len(p)
    values, strength = np.array([float(x) for x in p]), np.array([float(x) for x in h])
    if np.any(np.diff(values) <= 0):
        raise ToleranceError("two eigenvalues of the inputs are too close to be told apart")
    # How far the root beyond the last pole may be from it; where rounding hides that, too.
    reach = float(abs(sum(h, arb(0)))) * (1 + 1e-9)
    # Interval of each root: its left and right ends.
    if positive:
        left, right = np.concatenate(([values[0] - reach], values[:-1])), values
    else:
        left, right = values, np.concatenate((values[1:], [values[-1] + reach]))
    found = []
    for begin in range(0, size, _BLOCK):
        rows = np.arange(begin, min(begin + _BLOCK, size))
        found += _bisected(values, strength, rows, 0.5 * (left + right)[rows], reach, positive)
    return found


def _bisected(
    values: np.ndarray,
    strength: np.ndarray,
    rows: np.ndarray,
    middle: np.ndarray,
    reach: float,
    positive: bool,
) -> list[tuple[int, float]]:
    """Poles and distances of the roots of these numbers, from the middles of their intervals."""
    with np.errstate(divide="ignore"):
        at_middle = 1 + (strength / (middle[:, None] - values)).sum(axis=1)
    # The function falls from +inf to -inf between poles for positive strengths, else it rises.
    in_right_half = at_middle > 0 if positive else at_middle < 0
    origin = np.where(in_right_half, rows, rows - 1) + (0 if positive else 1)
    outermost = rows == (0 if positive else values.size - 1)
    origin[outermost] = rows[outermost]
    gap = values[None, :] - values[origin][:, None]
    # Side of the origin the root is on: right of a left end, left of a right end.
    side = np.where(values[origin] <= middle, 1.0, -1.0)
    side[outermost] = -1.0 if positive else 1.0
    width = np.abs(middle - values[origin])
    width[outermost] = reach
    low, high = np.full(rows.size, np.log(1e-280)), np.log(width)
    for _ in range(_STEPS + 20):
        half = 0.5 * (low + high)
        distance = side * np.exp(half)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            total = 1 + (strength / (distance[:, None] - gap)).sum(axis=1)
            own = strength[origin] / distance
        # Near its pole the function has the sign of its own term; bisect on that sign.
        near = np.sign(total) == np.sign(own)
        low, high = np.where(near, half, low), np.where(near, high, half)
    return [
        (int(k), float(d)) for k, d in zip(origin, side * np.exp(0.5 * (low + high)), strict=True)
    ]


def _refined(p: list[arb], h: list[arb], k: int, start: float, bits: int) -> arb:
    """The root at distance about ``start`` from pole k."""
    gaps = [x - p[k] for x in p]
    distance = arb(start)
    for _ in range(12):
        value, slope = _function(h, gaps, k, distance)
        step = (value / slope).mid()
        distance = (distance - step).mid()
        if abs(step) < abs(distance) * arb(2) ** (-bits):
            break
    width = (abs(distance) * arb(2) ** (-bits + 8)).mid()
    low, _ = _function(h, gaps, k, distance - width)
    high, _ = _function(h, gaps, k, distance + width)
    if not ((low > 0 and high < 0) or (low < 0 and high > 0)):
        raise ToleranceError("a root of the secular equation could not be enclosed")
    return p[k] + distance + arb(0, width)


def _function(h: list[arb], gaps: list[arb], k: int, distance: arb) -> tuple[arb, arb]:
    """distance times the left side of the equation, which is smooth at pole k, and its slope."""
    total, slope = arb(1), arb(0)
    for j, (strength, gap) in enumerate(zip(h, gaps, strict=True)):
        if j == k:
            continue
        part = strength / (distance - gap)
        total += part
        slope -= part / (distance - gap)
    return distance * total + h[k], total + distance * slope
