"""Means by nested adaptive Gauss-Kronrod integration, independent of the rules of the engine.

The field of which most is left comes next, every variable of its own is integrated adaptively (also
the last), and nothing is tabulated. Break points: kinks, and places around the kinks of later
fields at a few multiples of the width on which those are seen.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numba import njit

_REACH = 9.5
_KRONROD = np.array(
    [
        0.991455371120812639206854697526329,
        0.949107912342758524526189684047851,
        0.864864423359769072789712788640926,
        0.741531185599394439863864773280788,
        0.586087235467691130294144691693013,
        0.405845151377397166906606412076961,
        0.207784955007898467600689403773245,
        0.0,
    ]
)
_WEIGHTS = np.array(
    [
        0.022935322010529224963732008058970,
        0.063092092629978553290700663189204,
        0.104790010322250183839876322541518,
        0.140653259715525918745189590510238,
        0.169004726639267902826583426598550,
        0.190350578064785409913256402421014,
        0.204432940075298892414161999234649,
        0.209482141084727828012999174891714,
    ]
)
_GAUSS = np.array(
    [
        *(0.0, 0.129484966168869693270611432679082, 0.0, 0.279705391489276667901467771423780, 0.0),
        *(0.381830050505118944950369775488975, 0.0, 0.417959183673469387755102040816327),
    ]
)
_AROUND = np.array([-8.0, 0.0, 8.0])


def _level(inner: Any, factor: Any, kinks: Any) -> Any:
    """One more variable around ``inner``: fields ``level`` and later, given the earlier t."""

    @njit(error_model="numpy")
    def integrand(kinds, root, level, means, t, below, tolerance):  # type: ignore[no-untyped-def]
        for k in range(level, kinds.size):
            below[level, k] = means[k] + root[k, level] * t
        value = (
            factor(kinds[level], below[level, level]) * math.exp(-0.5 * t * t) * 0.3989422804014327
        )
        if value == 0.0:
            return 0.0
        return value * inner(kinds, root, level + 1, below[level], below, tolerance)

    @njit(error_model="numpy")
    def mean(kinds, root, level, means, below, tolerance):  # type: ignore[no-untyped-def]
        moved = 0.0
        for k in range(level, kinds.size):
            moved = max(moved, abs(root[k, level]))
        if moved == 0.0:
            for k in range(level, kinds.size):
                below[level, k] = means[k]
            found = factor(kinds[level], means[level])
            return found * inner(kinds, root, level + 1, below[level], below, tolerance)
        breaks = [-_REACH, _REACH, -3.0, 0.0, 3.0]
        for k in range(level, kinds.size):
            slope, rest = root[k, level], 0.0
            if slope == 0.0:
                continue
            for j in range(level + 1, k + 1):
                rest = math.hypot(rest, root[k, j])
            for kink in kinks(kinds[k]):
                for multiple in _AROUND:
                    place = (kink - means[k]) / slope + multiple * rest / abs(slope)
                    if abs(place) < _REACH and (rest > 0.0 or multiple == 0.0):
                        breaks.append(place)
        ends = np.sort(np.array(breaks))
        total = 0.0
        stack = np.empty((200, 2))
        for n in range(ends.size - 1):
            used = 1
            stack[0, 0], stack[0, 1] = ends[n], ends[n + 1]
            while used > 0:
                used -= 1
                low, high = stack[used, 0], stack[used, 1]
                half, middle = 0.5 * (high - low), 0.5 * (high + low)
                if half < 1e-13:
                    continue
                fine = coarse = 0.0
                for j in range(8):
                    value = integrand(
                        kinds, root, level, means, middle + half * _KRONROD[j], below, tolerance
                    )
                    if j < 7:
                        value += integrand(
                            kinds, root, level, means, middle - half * _KRONROD[j], below, tolerance
                        )
                    fine += _WEIGHTS[j] * value
                    coarse += _GAUSS[j] * value
                if half * abs(fine - coarse) > tolerance and half > 1e-9 and used < 198:
                    stack[used, 0], stack[used, 1] = low, middle
                    stack[used + 1, 0], stack[used + 1, 1] = middle, high
                    used += 2
                else:
                    total += half * fine
        return total

    return mean


def adaptive_mean(
    factor: Callable[[int, float], float], kinks: Callable[[int], np.ndarray], size: int
) -> Callable[..., float]:
    """A compiled function (kinds, covariance, tolerance) -> mean of ``size`` factors."""

    @njit(error_model="numpy")
    def innermost(kinds, root, level, means, below, tolerance):  # type: ignore[no-untyped-def]
        return 1.0

    mean = innermost
    for _ in range(size):
        mean = _level(mean, factor, kinks)

    def whole(kinds: np.ndarray, covariance: np.ndarray, tolerance: float) -> float:
        order, root = factor_of(covariance)
        below = np.zeros((size, size))
        found: float = mean(kinds[order].copy(), root, 0, np.zeros(size), below, tolerance)
        return found

    return whole


def factor_of(covariance: np.ndarray) -> tuple[list[int], np.ndarray]:
    """Return an order of fields and the triangular factor, from differences of rational numbers.

    The field of which most is left comes next, the last of two alike first: where little is left
    that is mostly rounding, nothing may be divided by it.
    """
    size = len(covariance)
    rest = [[Fraction(float(entry)) for entry in row] for row in covariance]
    order: list[int] = []
    root = np.zeros((size, size))
    for column in range(size):
        left = [n for n in reversed(range(size)) if n not in order]
        j = max(left, key=lambda n: rest[n][n])
        order.append(j)
        pivot = rest[j][j]
        # of two fields the determinant says what is left; more of them are one as far as rounding
        if pivot <= (0 if size == 2 else Fraction(4e-16) * Fraction(float(covariance[j, j]))):
            continue
        for i in left:
            root[i, column] = float(rest[i][j]) / math.sqrt(pivot)
        for i in left:
            for k in left:
                if j not in (i, k):
                    rest[i][k] -= rest[i][j] * rest[j][k] / pivot
    return order, root[order]
