"""The loops of :mod:`symderiv.analysis.low_rank` in double precision; they allocate nothing."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import types

from symderiv.compiled_code.compiled import CUBE, MATRIX, compiled

Floats = npt.NDArray[np.float64]

_EPSILON = float(np.finfo(np.float64).eps)
# A value this small, relative to its summands, is made of their rounding.
_NOISE = 8 * _EPSILON
_MOST_ITERATIONS = 120
# After so many steps every other one halves the bracket.
_PATIENCE = 20
# Sums may be regrouped, which lets them use the vector unit and makes them more accurate.
_REGROUPED = {"reassoc", "contract", "nsz"}


class Sums(NamedTuple):
    """The secular matrix F, the eigenvalue of it that vanishes at the root, and its slope.

    The slope is that of the poles below and of those above. ``n0`` and ``n1`` are the eigenvector,
    ``noise`` is the size of the summands.
    """

    value: float
    below: float
    above: float
    n0: float
    n1: float
    noise: float


class Interval(NamedTuple):
    """Interval with one root: between the poles left and right, or beyond the last one (infinite).

    ``below0`` and ``below1`` count the poles of each class below it. The ``largest``-th of the
    eigenvalues of F grows through 0 there.
    """

    left: float
    right: float
    below0: int
    below1: int
    largest: int


class SecularProblem(NamedTuple):
    """Poles and squares by class, shapes (C, L); the coupling's inverse and F(0), (2, C, C)."""

    pole: Floats
    square: Floats
    matrices: Floats
    bound: float
    distance: Floats


@compiled()
def _measure_from(problem: SecularProblem, origin: float) -> None:
    """Poles - origin; apart from the sums below, where the compiler may not regroup it."""
    for c in range(problem.pole.shape[0]):
        for k in range(problem.pole.shape[1]):
            problem.distance[c, k] = problem.pole[c, k] - origin


@compiled(fastmath=_REGROUPED)
def _side(
    distance: Floats, square: Floats, start: int, stop: int, offset: float
) -> tuple[float, float]:
    """Value and derivative of Σ a_k/(d_k - s) over start ≤ k < stop."""
    value = 0.0
    slope = 0.0
    for k in range(start, stop):
        inverse = 1.0 / (distance[k] - offset)
        part = square[k] * inverse
        value += part
        slope += part * inverse
    return value, slope


@compiled(fastmath=_REGROUPED)
def _from_zero(pole: Floats, square: Floats, s: float) -> tuple[float, float]:
    """(Σ a_k/(d_k - s) - Σ a_k/d_k) / s and the derivative of the first sum."""
    value = 0.0
    slope = 0.0
    for k in range(pole.size):
        inverse = 1.0 / (pole[k] - s)
        part = square[k] * inverse
        value += part / pole[k]
        slope += part * inverse
    return value, slope


@compiled(fastmath=_REGROUPED)
def _last_sums(
    distance: Floats, square: Floats, numerator: Floats, offset: float
) -> tuple[float, float]:
    """Σ a_k/(d_k - s)² and Σ g_k/(d_k - s)."""
    slope = 0.0
    moment = 0.0
    for k in range(distance.size):
        inverse = 1.0 / (distance[k] - offset)
        slope += square[k] * inverse * inverse
        moment += numerator[k] * inverse
    return slope, moment


@compiled()
def eigenvalue(a: float, b: float, c: float, largest: int) -> tuple[float, float, float]:
    """Return the first or second largest eigenvalue of [[a, b], [b, c]] and its eigenvector."""
    mean, apart = 0.5 * (a + c), 0.5 * (a - c)
    size = math.hypot(apart, b)
    value = mean + size if largest == 1 else mean - size
    # The smaller one by the determinant, which does not cancel more than it must.
    if largest == 1 and mean < 0.0:
        value = (a * c - b * b) / (mean - size)
    elif largest == 2 and mean > 0.0:
        value = (a * c - b * b) / (mean + size)
    # (value - c, b) and (b, value - a), of which the longer one
    if (apart >= 0.0) == (largest == 1):
        x, y = abs(apart) + size, b if largest == 1 else -b
    else:
        x, y = b if largest == 1 else -b, abs(apart) + size
    norm = math.hypot(x, y)
    if norm == 0.0:
        return value, 1.0, 0.0
    return value, x / norm, y / norm


@compiled()
def _secular(problem: SecularProblem, at: Interval, zero: bool, offset: float) -> Sums:
    """Return the secular matrix at a distance from the present origin, which may be 0."""
    size = problem.pole.shape[1]
    inverse = problem.matrices[1 if zero else 0]
    first, square = problem.distance[0], problem.square[0]
    if zero:
        sum0, above0 = _from_zero(first, square, offset)
        under0, below0, over0 = 0.0, 0.0, offset * sum0
    else:
        under0, below0 = _side(first, square, 0, at.below0, offset)
        over0, above0 = _side(first, square, at.below0, size, offset)
    a = inverse[0, 0] + (under0 + over0)
    noise0 = abs(inverse[0, 0]) + abs(under0) + abs(over0)
    if problem.pole.shape[0] == 1:
        return Sums(a, below0, above0, 1.0, 0.0, noise0)
    second, square = problem.distance[1], problem.square[1]
    if zero:
        sum1, above1 = _from_zero(second, square, offset)
        under1, below1, over1 = 0.0, 0.0, offset * sum1
    else:
        under1, below1 = _side(second, square, 0, at.below1, offset)
        over1, above1 = _side(second, square, at.below1, size, offset)
    b, c = inverse[0, 1], inverse[1, 1] + (under1 + over1)
    noise1 = abs(inverse[1, 1]) + abs(under1) + abs(over1)
    value, n0, n1 = eigenvalue(a, b, c, at.largest)
    x, y = n0 * n0, n1 * n1
    noise = x * noise0 + y * noise1 + 2.0 * abs(n0 * n1 * b)
    return Sums(value, x * below0 + y * below1, x * above0 + y * above1, n0, n1, noise)


@compiled()
def _between(lower: float, upper: float, step: float, here: float) -> float:
    """Return ``here + step`` where it is strictly between the bounds, else their middle."""
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
    """Return the root x in (left, right) of constant + p/(left - x) + q/(right - x), p, q > 0.

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
def _step(sums: Sums, to_left: float, to_right: float) -> float:
    """To the root of a constant and the two next poles that fit value and slopes."""
    if math.isinf(to_left) or math.isinf(to_right):
        to_pole = to_right if math.isinf(to_left) else to_left
        slope = sums.below + sums.above
        return to_pole * sums.value / (sums.value - to_pole * slope)
    constant = sums.value - to_left * sums.below - to_right * sums.above
    p, q = to_left * to_left * sums.below, to_right * to_right * sums.above
    return _two_poles(constant, p, q, to_left, to_right, to_left * to_right * sums.value)


@compiled()
def _own_strengths(problem: SecularProblem, at: Interval, sums: Sums) -> tuple[float, float]:
    """Strengths of the poles on both sides of an interval, as the eigenvalue of F has them."""
    a, b = 0.0, 0.0
    for c in range(problem.pole.shape[0]):
        below = at.below0 if c == 0 else at.below1
        share = sums.n0 * sums.n0 if c == 0 else sums.n1 * sums.n1
        if below > 0 and problem.pole[c, below - 1] == at.left:
            a += share * problem.square[c, below - 1]
        if below < problem.pole.shape[1] and problem.pole[c, below] == at.right:
            b += share * problem.square[c, below]
    return a, b


@compiled()
def _inner_bracket(problem: SecularProblem, at: Interval) -> tuple[float, float, float, float]:
    """Origin, bracket and start of a root between two poles, by what it is in their middle."""
    width = at.right - at.left
    half = 0.5 * width
    _measure_from(problem, at.left)
    middle = _secular(problem, at, False, half)
    a, b = _own_strengths(problem, at, middle)
    rest = middle.value - (b - a) / half
    # The eigenvalue grows from pole to pole: its sign in the middle tells the nearer one.
    if middle.value > 0.0:
        origin, lower, upper, left, right = at.left, 0.0, half, 0.0, width
    else:
        origin, lower, upper, left, right = at.right, -half, 0.0, -width, 0.0
        _measure_from(problem, origin)
    start = _two_poles(rest, a, b, left, right, rest * left * right + a * right + b * left)
    if not (start > lower and start < upper):
        start = 0.5 * (lower + upper)
    return origin, lower, upper, start


@compiled()
def _outer_bracket(problem: SecularProblem, at: Interval) -> tuple[float, float, float, float]:
    """Return the same for a root beyond all poles; measured from 0 where it is nearer to 0."""
    above = math.isinf(at.right)
    origin = at.left if above else at.right
    sign = 1.0 if above else -1.0
    near, far = 0.0, problem.bound
    if not above and origin > 0.0:
        _measure_from(problem, 0.0)
        half = 0.5 * origin
        if _secular(problem, at, True, half).value <= 0.0:
            far = half
        elif _secular(problem, at, True, -half).value <= 0.0:
            return 0.0, -half, half, 0.0
        else:
            near = 3.0 * half
            far = near + problem.bound
    _measure_from(problem, origin)
    lower, upper = min(sign * near, sign * far), max(sign * near, sign * far)
    return origin, lower, upper, _between(lower, upper, _from_last_pole(problem, above), 0.0)


@compiled()
def _from_last_pole(problem: SecularProblem, above: bool) -> float:
    """Return where the root beyond the origin would be if other poles were as at the origin."""
    size = problem.pole.shape[1]
    at = size - 1 if above else 0
    last = 0
    if problem.pole.shape[0] == 2 and abs(problem.distance[1, at]) < abs(problem.distance[0, at]):
        last = 1
    rest = problem.matrices[0, last, last]
    start, stop = (0, size - 1) if above else (1, size)
    rest += _side(problem.distance[last], problem.square[last], start, stop, 0.0)[0]
    if problem.pole.shape[0] == 2:
        row, square = problem.distance[1 - last], problem.square[1 - last]
        other = problem.matrices[0, 1 - last, 1 - last] + _side(row, square, 0, size, 0.0)[0]
        rest -= problem.matrices[0, 0, 1] ** 2 / other
    result: float = problem.square[last, at] / rest
    return result


@compiled()
def _root(problem: SecularProblem, at: Interval) -> tuple[float, float, Sums]:
    """Return the origin and the offset of a root, and the last sums on the way to it."""
    if math.isinf(at.left) or math.isinf(at.right):
        origin, lower, upper, offset = _outer_bracket(problem, at)
    else:
        origin, lower, upper, offset = _inner_bracket(problem, at)
    zero = origin != at.left and origin != at.right
    left, right = at.left - origin, at.right - origin
    sums = _secular(problem, at, zero, offset)
    for turn in range(_MOST_ITERATIONS):
        if sums.value > 0.0:
            upper = offset
        else:
            lower = offset
        step = _step(sums, left - offset, right - offset)
        if abs(sums.value) <= _NOISE * sums.noise or abs(step) <= _EPSILON * abs(offset):
            # One more step, unguarded: the bracket's ends are as uncertain as the value by now.
            offset += step
            break
        crept = turn > _PATIENCE and turn % 2 == 1
        offset = _between(lower, upper, math.inf if crept else step, offset)
        sums = _secular(problem, at, zero, offset)
    return origin, offset, sums


@compiled()
def _count_below(problem: SecularProblem, kind: int, below: int, pole: float) -> int:
    """Return how many eigenvalues of F are positive just below a pole: the one of its class,
    and?
    """
    if problem.pole.shape[0] == 1:
        return 1
    other = 1 - kind
    for k in range(problem.pole.shape[1]):
        problem.distance[other, k] = problem.pole[other, k] - pole
    row, square = problem.distance[other], problem.square[other]
    under, _ = _side(row, square, 0, below, 0.0)
    over, _ = _side(row, square, below, row.size, 0.0)
    return 2 if problem.matrices[0, other, other] + (under + over) > 0.0 else 1


@compiled()
def _positive(inverse: Floats) -> int:
    """Return how many eigenvalues of the coupling are positive."""
    if inverse.shape[0] == 1:
        return 1 if inverse[0, 0] > 0.0 else 0
    a, b, c = inverse[0, 0], inverse[0, 1], inverse[1, 1]
    first, _, _ = eigenvalue(a, b, c, 1)
    second, _, _ = eigenvalue(a, b, c, 2)
    return (1 if first > 0.0 else 0) + (1 if second > 0.0 else 0)


@compiled(types.void(MATRIX, MATRIX, CUBE, types.float64, CUBE, MATRIX, MATRIX))
def all_roots(
    pole: Floats,
    square: Floats,
    matrices: Floats,
    bound: float,
    numerator: Floats,
    space: Floats,
    roots: Floats,
) -> None:
    """Fill what :class:`~symderiv.analysis.low_rank.LowRankSpectrum` holds.

    Args:
        pole, square: poles and squares by class, shape (C, L), poles strictly ascending in a
            class, C = 1 or 2.
        matrices: the inverse of the coupling, and F(0); shape (2, C, C).
        bound: the bound on how far an eigenvalue is from all poles.
        numerator: shape (m, C, L), m ≥ 1.
        space: shape (C, L).
        roots: origin, offset, slope and m moments of the roots, shape (3 + m, C L), filled.
    """
    problem = SecularProblem(pole, square, matrices, bound, space)
    classes, size = pole.shape
    before = _positive(matrices[0])
    left, right, below0, below1, under = -math.inf, -math.inf, 0, 0, 0
    for j in range(classes * size):
        # Pass poles until more than j eigenvalues are below the next one.
        while under <= j:
            if right > -math.inf:
                left = right
                while below0 < size and pole[0, below0] <= left:
                    below0 += 1
                while classes == 2 and below1 < size and pole[1, below1] <= left:
                    below1 += 1
            right, under = math.inf, classes * size
            first = pole[0, below0] if below0 < size else math.inf
            second = pole[1, below1] if classes == 2 and below1 < size else math.inf
            if first < math.inf or second < math.inf:
                kind = 0 if first <= second else 1
                right = min(first, second)
                other = below1 if kind == 0 else below0
                under = below0 + below1 + _count_below(problem, kind, other, right) - before
        largest = min(max(j + 1 + before - below0 - below1, 1), classes)
        at = Interval(left, right, below0, below1, largest)
        origin, offset, last = _root(problem, at)
        roots[0, j], roots[1, j] = origin, offset
        for m in range(numerator.shape[0]):
            slope, moment = _last_sums(space[0], square[0], numerator[m, 0], offset)
            roots[2, j], roots[3 + m, j] = last.n0 * last.n0 * slope, last.n0 * moment
            if classes == 2:
                slope, moment = _last_sums(space[1], square[1], numerator[m, 1], offset)
                roots[2, j] += last.n1 * last.n1 * slope
                roots[3 + m, j] += last.n1 * moment
