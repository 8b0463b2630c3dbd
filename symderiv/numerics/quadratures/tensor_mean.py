r"""Parts that means of products of functions of Gaussian fields share, whatever the rule.

The fields are z = L t with independent t of variance one and a triangular L in the order of the
factors; a field that the earlier ones determine has no t of its own. Biases are means of fields.
Factors are called by number; in rules that are given, 0, 1, 2 are the student's activation, its
derivative and half of its second derivative, 3 and 4 the teacher's and its derivative. Pasted into
generated modules; the functions without underscore are templates.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:  # defined by the module into which this text is pasted
    _Two = tuple[float, float]
    _Three = tuple[float, float, float]
    _Four = tuple[float, float, float, float]
    _Ten = tuple[float, float, float, float, float, float, float, float, float, float]
    _Kinds = tuple[int, int, int, int]

    def own_factor(x: float) -> float:
        """Stand for a factor that the generated module defines."""
        return x

    def quadrature_factor(kind: int, x: float) -> float:
        """Stand for the dispatch over factors by number that the generated module defines."""
        return x * kind

    def quadrature_factors(kind: int, x: np.ndarray, values: np.ndarray) -> None:
        """Stand for the factor of many numbers that the generated module defines."""

    number = 1
    own_factors = factor_0 = factor_1 = factor_2 = factor_3 = factor_4 = own_factor
    other_factor, other_factors = quadrature_factor, quadrature_factors

    def quadrature_values_and_slopes(owner: int, x: np.ndarray, rows: np.ndarray) -> None:
        """Stand for an activation and its derivatives, which the generated module defines."""


def _root_left(rest: float, variance: float) -> float:
    """Return the square root of a conditional variance, or 0 if that is only rounding.

    What rounding may have taken from it is given back: means hardly change, but without it the
    residuals of other fields could have correlations above one, and cutting these changed
    covariances of nearly singular matrices by up to 0.1.
    """
    rounding = 1e-15 * variance
    return math.sqrt(rest + rounding) if rest > rounding else 0.0


def _share_left(covariance: float, root: float, rest: float) -> float:
    """Return an entry of L below the diagonal, bounded by the residual of its field."""
    if root == 0.0:
        return 0.0
    bound = math.sqrt(max(rest, 0.0))
    return min(max(covariance / root, -bound), bound)


def _matrix_of(c: _Ten | np.ndarray, size: int) -> np.ndarray:
    """Return a covariance from its upper triangle, row by row."""
    covariance, place = np.empty((size, size)), 0
    for i in range(size):
        for j in range(i, size):
            covariance[i, j] = covariance[j, i] = c[place]
            place += 1
    return covariance


def _triangle(covariance: np.ndarray) -> np.ndarray:
    """Return the triangular factor L of a covariance, without residuals that are only rounding."""
    n = covariance.shape[0]
    factor = np.zeros((n, n))
    for i in range(n):
        rest = covariance[i, i]
        for j in range(i):
            share = covariance[i, j]
            for k in range(j):
                share -= factor[i, k] * factor[j, k]
            factor[i, j] = _share_left(share, factor[j, j], rest)
            rest -= factor[i, j] * factor[i, j]
        factor[i, i] = _root_left(rest, covariance[i, i])
    return factor


def _equal_steps(first: float, step: float, count: int, row: np.ndarray) -> None:
    """Write equally spaced points of a normal variable (row 0) and their weights (row 1).

    The first point is ``first`` steps from zero.
    """
    for n in range(count):
        t = (n + first) * step
        row[0, n], row[1, n] = t, step * math.exp(-0.5 * t * t) / math.sqrt(2.0 * math.pi)


def _between(values: np.ndarray, place: float) -> float:
    """Interpolate by the polynomial through six points of a grid around 0 with cell one."""
    x = place + values.size // 2
    left = math.floor(x)
    u = x - left
    a, b, c, d, e = u + 2.0, u + 1.0, u - 1.0, u - 2.0, u - 3.0
    far: float = b * d * (values[left + 3] * a - values[left - 2] * e) / 120.0
    near: float = a * e * (values[left - 1] * d - values[left + 2] * b) / 24.0
    middle: float = a * b * d * e * (values[left + 1] * u - values[left] * c) / 12.0
    return u * c * (far + near) + middle


def values_and_slopes_of(owner: int, x: np.ndarray, rows: np.ndarray) -> None:
    """Write values, slopes and half curvatures of a student (owner 0), or values and slopes of a
    teacher, at many numbers; a row of each.
    """
    if owner == 0:
        for n in range(x.size):
            rows[0, n], rows[1, n], rows[2, n] = factor_0(x[n]), factor_1(x[n]), factor_2(x[n])
    else:
        for n in range(x.size):
            rows[0, n], rows[1, n] = factor_3(x[n]), factor_4(x[n])


def factor_alone(kind: int, x: float) -> float:
    """Return the only factor at x."""
    return own_factor(x)


def factor_or_other(kind: int, x: float) -> float:
    """Return the factor with this number at x, or one of those before it."""
    return other_factor(kind, x) if kind < number else own_factor(x)


def factors_alone(kind: int, x: np.ndarray, values: np.ndarray) -> None:
    """Write the only factor at many numbers."""
    for n in range(x.size):
        values[n] = own_factors(x[n])


def factors_or_other(kind: int, x: np.ndarray, values: np.ndarray) -> None:
    """Write the factor with this number, or one of those before it, at many numbers."""
    if kind < number:
        other_factors(kind, x, values)
    else:
        for n in range(x.size):
            values[n] = own_factors(x[n])
