r"""Eigenvalues of a diagonal matrix plus one of low rank, from its secular equation, in O(n²).

The matrix diag(p) + U S Uᵀ, where a row of U has its only entry u_i in the column of its class (of
one or two) and S is symmetric and invertible, has the eigenvalues z at which the small matrix

.. math:: F(z) = S^{-1} + W(z), \qquad W_{cc}(z) = \sum_{i \in c} \frac{u_i^2}{p_i - z}

is singular. Eigenvalues of F grow with z between the p_i, its poles, and by Sylvester's law of
inertia there are

.. math:: \#\{p_i < z\} + \pi\big(F(z)\big) - \pi\big(S^{-1}\big)

eigenvalues below z, π the number of positive ones: each root is known to lie between two poles and
which eigenvalue of F vanishes there, so none is missed or found twice. It is kept as its distance
from the nearer pole (or from 0), and differences of poles are formed first, so nothing cancels
however close roots and poles are. With y_i = u_i n_c/(p_i - z), F n = 0, |n| = 1, an eigenvector is
y over the root of the slope Σ_i y_i² of the eigenvalue of F.

A matrix diag(d) - b cᵀ with a_k = b_k c_k > 0 is similar to the one with one class, u² = a and
S = -1; its equation is Σ a_k/(d_k - s) = 1.

In doubles: :func:`low_rank_spectrum`. With any number of digits, one class: :func:`secular_roots`,
for numbers of mpmath and for balls, which then enclose the roots.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from symderiv.compiled_code.linked import Linked
from symderiv.foundation.errors import InputError, ToleranceError

if TYPE_CHECKING:
    from flint import arb

__all__ = [
    "Floats",
    "LowRankSpectrum",
    "exponential_sum",
    "low_rank_spectrum",
    "merged",
    "secular_roots",
    "stability_gap",
]

Floats = npt.NDArray[np.float64]

_all_roots = Linked("symderiv.analysis.low_rank_loops", "all_roots")

_NOT_ENCLOSED = (
    "a root of the secular equation is not enclosed at this precision; ask for more digits"
)


@dataclass(frozen=True)
class LowRankSpectrum:
    """The n eigenvalues of diag(p) + U S Uᵀ, ascending.

    Attributes:
        value: shape (n,), relative error a few units in the last place for given poles and squares;
            the lowest, where it is near 0 and all poles are positive, to that over F(0).
        origin: the pole from which it is measured, or 0, shape (n,).
        offset: value - origin, shape (n,), small relative error.
        slope: the slope at the eigenvalue of F at its root: Σ_k a_k/(d_k - s)² for one class; shape
            (n,).
        moment: Σ_c n_c Σ_i g_i/(p_i - value) for the m given g, shape (m, n).
    """

    value: Floats
    origin: Floats
    offset: Floats
    slope: Floats
    moment: Floats

    @property
    def projection(self) -> Floats:
        """Inner products of normalised eigenvectors with vectors x, g = u x; shape (n, m).

        The sign of an eigenvector is arbitrary but the same for all x.
        """
        result: Floats = (self.moment / np.sqrt(self.slope)).T
        return result


def merged(pole: Floats, *columns: Floats) -> tuple[Floats, ...]:
    """Poles in ascending order, equal ones once; the columns summed over equal poles."""
    unique, inverse = np.unique(pole, return_inverse=True)
    result: list[Floats] = [unique]
    for column in columns:
        result.append(np.bincount(inverse, weights=column, minlength=unique.size).astype(float))
    return tuple(result)


def stability_gap(pole: Floats, strength: Floats) -> float:
    """1 - Σ a_k/d_k, correctly rounded sum: positive exactly when all eigenvalues are (d > 0)."""
    return math.fsum([1.0, *(-strength / pole)])


def low_rank_spectrum(
    pole: Floats, square: Floats, coupling: Any, numerator: Floats
) -> LowRankSpectrum:
    """Return all eigenvalues of diag(p) + U S Uᵀ, with the sums that projections are made of.

    Args:
        pole: p, different from each other in a class, shape (C, L), C = 1 or 2.
        square: u² > 0, shape (C, L).
        coupling: S, symmetric and invertible, shape (C, C).
        numerator: g, shape (m, C, L); see :class:`LowRankSpectrum`.

    Raises:
        InputError: poles of one class coincide, or the coupling is singular.
    """
    classes, size = pole.shape
    coupling = np.array(coupling, dtype=np.float64)
    order = np.argsort(pole, axis=1, kind="stable")
    pole, square = (np.take_along_axis(each, order, axis=1) for each in (pole, square))
    if np.any(np.diff(pole) <= 0):
        raise InputError("equal eigenvalues must be merged into one", argument="eigenvalue")
    if not abs(np.linalg.det(coupling)) > 1e-14 * np.max(np.abs(coupling)) ** classes:
        raise InputError("the coupling of the order parameters is singular")
    inverse = np.linalg.inv(coupling)
    matrices = np.array(2 * [0.5 * (inverse + inverse.T)])
    if np.min(pole) > 0.0:
        for c in range(classes):
            matrices[1, c, c] = math.fsum([matrices[0, c, c], *(square[c] / pole[c])])
    bound = float(np.sum(np.abs(coupling)) * np.max(np.sum(square, axis=1))) * (1.0 + 1e-9)
    # The slopes are summed with the first of the moments.
    vectors = np.zeros((max(len(numerator), 1), classes, size))
    vectors[: len(numerator)] = np.take_along_axis(numerator, order[None], axis=2)
    rows = np.empty((3 + len(vectors), classes * size))
    given = (np.array(each, dtype=np.float64) for each in (pole, square))
    _all_roots(*given, matrices, bound, vectors, np.empty((classes, size)), rows)
    origin, offset, slope = rows[:3]
    return LowRankSpectrum(origin + offset, origin, offset, slope, rows[3 : 3 + len(numerator)])


def exponential_sum(times: Floats, rate: Floats, amplitude: Floats) -> Floats:
    """Σ_j amplitude_j exp(-rate_j t), shape of ``times``, in blocks that fit into memory."""
    sums = np.empty(times.size)
    block = max(1, 1_000_000 // max(rate.size, 1))
    for start in range(0, times.size, block):
        part = slice(start, start + block)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            terms = amplitude * np.exp(-np.multiply.outer(times.ravel()[part], rate))
        sums[part] = np.sum(terms, axis=1)
    return sums.reshape(times.shape)


def secular_roots(poles: Sequence[Any], strengths: Sequence[Any]) -> list[tuple[Any, Any]]:
    """Return the roots s of Σ a_k/(d_k - s) = 1, ascending, each with Σ |a_k|/(d_k - s)².

    Newton's method on the distance from the nearer pole, from the doubles of
    :func:`low_rank_spectrum`. Balls enclose the root: the sum minus 1 has the two signs at the ends
    of a ball that lies between the poles, where it is monotone.

    Args:
        poles: L distinct numbers, ascending: balls, worked with at the present precision, or
            mpmath's, with theirs.
        strengths: L numbers of one sign.

    Raises:
        ToleranceError: strengths have different signs, poles are too close to be told apart, or a
            root is not enclosed.
    """
    positive = bool(strengths[0] > 0)
    if not all(bool(a > 0) if positive else bool(a < 0) for a in strengths):
        raise ToleranceError("the strengths of the secular equation have different signs")
    doubles = np.array([float(d) for d in poles])
    if any(not a < b for a, b in pairwise(poles)) or np.any(np.diff(doubles) <= 0):
        raise ToleranceError("two eigenvalues of the inputs are too close to be told apart")
    squares = np.abs([float(a) for a in strengths])
    sign = -1.0 if positive else 1.0
    starts = low_rank_spectrum(doubles[None], squares[None], [[sign]], np.empty((0, 1, len(poles))))
    roots = []
    for j, (origin, offset) in enumerate(zip(starts.origin, starts.offset, strict=True)):
        near = int(np.searchsorted(doubles, origin))
        nearest = poles[near] if near < len(poles) and doubles[near] == origin else None
        # The root is below its pole, or above it.
        equation = _Equation(poles, strengths, nearest, near)
        roots.append(equation.root(offset, j if positive else j + 1))
    return roots


class _Equation:
    """Σ a_k/(d_k - s) = 1 for s = origin + distance, in any arithmetic."""

    def __init__(
        self, poles: Sequence[Any], strengths: Sequence[Any], origin: Any, place: int
    ) -> None:
        """Args: poles, strengths; the origin, None for 0, and which of the poles it is."""
        self._zero = poles[0] * 0
        self._origin = self._zero if origin is None else origin
        self._gaps = [d - self._origin for d in poles]
        if origin is not None:
            self._gaps[place] = self._zero
        self._strengths = strengths

    def sums(self, distance: Any) -> tuple[Any, Any]:
        """Return the sum minus 1 and its slope."""
        value, slope = self._zero - 1, self._zero
        for gap, strength in zip(self._gaps, self._strengths, strict=True):
            inverse = 1 / (gap - distance)
            part = strength * inverse
            value += part
            slope += part * inverse
        return value, slope

    def root(self, distance: float, below: int) -> tuple[Any, Any]:
        """Return the root near a distance, above so many poles, and the slope there."""
        from flint import arb, ctx

        balls = isinstance(self._zero, arb)
        bits = ctx.prec if balls else self._zero.context.prec
        at = self._zero + distance
        for _ in range(4 + bits.bit_length()):
            value, slope = self.sums(at)
            step = value / slope
            at = (at - step).mid() if balls else at - step
            # Newton's method doubles the digits: the next step would change none.
            if abs(step) <= abs(at) * self._zero.__class__(2) ** (-bits // 2 - 4):
                break
        if balls:
            at = self._enclosed(at, bits)
            under, over = self._gaps[:below], self._gaps[below:]
            if not (all(gap < at for gap in under) and all(at < gap for gap in over)):
                raise ToleranceError(_NOT_ENCLOSED)
        return self._origin + at, abs(self.sums(at)[1])

    def _enclosed(self, at: arb, bits: int) -> arb:
        """Newton's last step and what the balls of the input leave open, as a proved ball."""
        value, slope = self.sums(at)
        radius = 2 * abs(value / slope).upper() + abs(at).upper() * type(at)((1, 4 - bits))
        low, high = (at - radius).lower(), (at + radius).upper()
        ends = self.sums(low)[0], self.sums(high)[0]
        if not (ends[0] < 0 < ends[1] or ends[1] < 0 < ends[0]):
            raise ToleranceError(_NOT_ENCLOSED)
        enclosed: arb = low.union(high)
        return enclosed
