"""The loops of :mod:`symderiv.analysis.linear.secular`; they allocate nothing."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from symderiv.compiled_code.compiled import compiled

Floats = npt.NDArray[np.float64]

_EPSILON = float(np.finfo(np.float64).eps)
# A value this small, relative to its summands, is made of their rounding.
_NOISE = 8 * _EPSILON
_MOST_ITERATIONS = 120


@compiled()
def _distances(pole: Floats, origin: float, distance: Floats) -> None:
    """d_k - origin; apart from the sums below, where the compiler may not regroup it."""
    for k in range(pole.size):
        distance[k] = pole[k] - origin


# Sums may be regrouped, which lets them use the vector unit and makes them more accurate.
@compiled(fastmath={"reassoc", "contract", "nsz"})
def _side(
    distance: Floats, strength: Floats, start: int, stop: int, offset: float
) -> tuple[float, float]:
    """Value and derivative of Σ a_k/(d_k - s) over start ≤ k < stop."""
    value = 0.0
    slope = 0.0
    for k in range(start, stop):
        inverse = 1.0 / (distance[k] - offset)
        part = strength[k] * inverse
        value += part
        slope += part * inverse
    return value, slope


@compiled(fastmath={"reassoc", "contract", "nsz"})
def _from_zero(pole: Floats, strength: Floats, s: float) -> tuple[float, float]:
    """(Σ a_k/(d_k - s) - Σ a_k/d_k) / s and the derivative of the first sum."""
    value = 0.0
    slope = 0.0
    for k in range(pole.size):
        inverse = 1.0 / (pole[k] - s)
        part = strength[k] * inverse
        value += part / pole[k]
        slope += part * inverse
    return value, slope


@compiled(fastmath={"reassoc", "contract", "nsz"})
def _last_sums(
    distance: Floats, strength: Floats, numerator: Floats, offset: float
) -> tuple[float, float]:
    slope = 0.0
    moment = 0.0
    for k in range(distance.size):
        inverse = 1.0 / (distance[k] - offset)
        slope += strength[k] * inverse * inverse
        moment += numerator[k] * inverse
    return slope, moment


@compiled()
def _between(lower: float, upper: float, step: float, here: float) -> float:
    """``here + step`` where it is strictly between the bounds, else their middle."""
    there = here + step
    if there > lower and there < upper:
        return there
    # Of one sign and far apart: the geometric mean reaches small offsets quickly.
    if lower > 0.0 and upper > 4.0 * lower:
        return math.sqrt(lower) * math.sqrt(upper)
    if upper < 0.0 and lower < 4.0 * upper:
        return -math.sqrt(-lower) * math.sqrt(-upper)
    return 0.5 * (lower + upper)


@compiled()
def _two_poles(
    constant: float, p: float, q: float, left: float, right: float, last: float
) -> float:
    """The root x in (left, right) of constant + p/(left - x) + q/(right - x), p, q > 0.

    ``last`` is left right times the function at x = 0.
    """
    linear = constant * (left + right) + p + q
    root = math.sqrt(max(linear * linear - 4.0 * constant * last, 0.0))
    if linear > 0.0:
        near = 2.0 * last / (linear + root)
        far = (linear + root) / (2.0 * constant) if constant != 0.0 else math.inf
    else:
        far = 2.0 * last / (linear - root)
        near = (linear - root) / (2.0 * constant) if constant != 0.0 else math.inf
    if near > left and near < right:
        return near
    return far


@compiled()
def _inner_root(pole: Floats, strength: Floats, j: int, distance: Floats) -> tuple[float, float]:
    """The root between the poles j-1 and j: its origin and its offset."""
    size = pole.size
    width = pole[j] - pole[j - 1]
    half = 0.5 * width
    _distances(pole, pole[j - 1], distance)
    below, _ = _side(distance, strength, 0, j - 1, half)
    above, _ = _side(distance, strength, j + 1, size, half)
    rest = below + above - 1.0
    middle = rest + (strength[j] - strength[j - 1]) / half
    # The sum grows from pole to pole: the sign in the middle tells the nearer one.
    if middle > 0.0:
        origin, lower, upper = pole[j - 1], 0.0, half
        left, right = 0.0, width
    else:
        origin, lower, upper = pole[j], -half, 0.0
        left, right = -width, 0.0
        _distances(pole, origin, distance)
    a, b = strength[j - 1], strength[j]
    start = _two_poles(rest, a, b, left, right, rest * left * right + a * right + b * left)
    offset = start if start > lower and start < upper else 0.5 * (lower + upper)
    for _ in range(_MOST_ITERATIONS):
        psi, psi_slope = _side(distance, strength, 0, j, offset)
        phi, phi_slope = _side(distance, strength, j, size, offset)
        value = (phi + psi) - 1.0
        if value > 0.0:
            upper = offset
        else:
            lower = offset
        to_left, to_right = left - offset, right - offset
        constant = value - to_left * psi_slope - to_right * phi_slope
        p, q = to_left * to_left * psi_slope, to_right * to_right * phi_slope
        step = _two_poles(constant, p, q, to_left, to_right, to_left * to_right * value)
        if abs(value) <= _NOISE * (phi - psi + 1.0) or abs(step) <= _EPSILON * abs(offset):
            # One more step, unguarded: the bracket's ends are as uncertain as the value by now.
            offset += step
            break
        offset = _between(lower, upper, step, offset)
    return origin, offset


@compiled()
def _lowest_root(
    pole: Floats, strength: Floats, gap: float, distance: Floats
) -> tuple[float, float]:
    """The root below all poles; measured from 0 where it is nearer to 0."""
    size = pole.size
    first = pole[0]
    if gap > 0.0:
        sum_, _ = _from_zero(pole, strength, 0.5 * first)
        if 0.5 * first * sum_ > gap:
            # gap = s Σ a/(d (d - s)): one minus the sum at 0 enters as it is, not as a difference.
            lower, upper = 0.0, 0.5 * first
            s = min(gap / _from_zero(pole, strength, 0.0)[0], 0.25 * first)
            for _ in range(_MOST_ITERATIONS):
                sum_, slope = _from_zero(pole, strength, s)
                value = s * sum_ - gap
                if value > 0.0:
                    upper = s
                else:
                    lower = s
                step = -value / slope
                if abs(step) <= _NOISE * s:
                    s += step
                    break
                s = _between(lower, upper, step, s)
            _distances(pole, 0.0, distance)
            return 0.0, s
        lower = -0.5 * first
    else:
        total = 0.0
        for k in range(size):
            total += strength[k]
        lower = -2.0 * total
    upper = 0.0
    _distances(pole, first, distance)
    rest, _ = _side(distance, strength, 1, size, 0.0)
    # Above the root where the other poles' sum is taken at the first pole.
    offset = -strength[0] / (1.0 - rest) if rest < 1.0 else 0.5 * lower
    offset = _between(lower, upper, 0.0, offset)
    for _ in range(_MOST_ITERATIONS):
        phi, slope = _side(distance, strength, 0, size, offset)
        value = phi - 1.0
        if value > 0.0:
            upper = offset
        else:
            lower = offset
        # value + (first pole only) fitted in value and slope
        to_first = -offset
        step = to_first * value / (value - to_first * slope)
        if abs(value) <= _NOISE * (phi + 1.0) or abs(step) <= _EPSILON * abs(offset):
            offset += step
            break
        offset = _between(lower, upper, step, offset)
    return first, offset


@compiled()
def all_roots(
    pole: Floats,
    strength: Floats,
    numerator: Floats,
    gap: float,
    distance: Floats,
    origin: Floats,
    offset: Floats,
    slope: Floats,
    moment: Floats,
) -> None:
    """Fill what :class:`~symderiv.analysis.linear.secular.SecularRoots` holds.

    Args:
        pole, strength, numerator: of :func:`~symderiv.analysis.linear.secular.secular_roots`.
        gap: 1 - Σ a_k/d_k, or a negative number.
        distance: room, shape (L,).
        origin, offset, slope, moment: shape (L,), filled.
    """
    for j in range(pole.size):
        if j == 0:
            origin[j], offset[j] = _lowest_root(pole, strength, gap, distance)
        else:
            origin[j], offset[j] = _inner_root(pole, strength, j, distance)
        slope[j], moment[j] = _last_sums(distance, strength, numerator, offset[j])
