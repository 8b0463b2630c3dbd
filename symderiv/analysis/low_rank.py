r"""Eigenvalues of a diagonal matrix plus one of low rank, from its secular equation, in O(n²).

The matrix diag(p) + U S Uᵀ, where a row of U has its only entry u_i in the column of its class (of
one or two) and S is symmetric and invertible, has the eigenvalues z at which the small matrix

.. math:: F(z) = S^{-1} + W(z), \qquad W_{cc}(z) = \sum_{i \in c} \frac{u_i^2}{p_i - z}

is singular. Eigenvalues of F grow with z between the p_i, its poles, and by Sylvester's law of
inertia there are

.. math:: \#\{p_i < z\} + \pi\big(F(z)\big) - \pi\big(S^{-1}\big)

eigenvalues below z, where π counts positive eigenvalues. So it is known between which poles each
root lies, and which eigenvalue of F vanishes there, and none is missed or found twice. A root is
kept as its distance from the nearer pole (or from 0), and differences of poles are formed first, so
that nothing cancels however close roots and poles are. With y_i = u_i n_c/(p_i - z), F n = 0, |n| =
1, an eigenvector is y over the root of the slope Σ_i y_i² of the eigenvalue of F.

A matrix diag(d) - b cᵀ with a_k = b_k c_k > 0 is similar to the one with one class, u² = a and
S = -1; its equation is Σ a_k/(d_k - s) = 1.

:func:`low_rank_spectrum` computes in doubles, and :func:`secular_roots` encloses the roots in
balls, for one class.
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
from symderiv.precision.balls.krawczyk import enclosed_zero

if TYPE_CHECKING:
    from flint import arb

Floats = npt.NDArray[np.float64]

all_roots = Linked("symderiv.analysis.low_rank_loops", "all_roots", shipped=True)

#: Largest number of eigenvalues; finding all rates then takes a quarter of a minute.
MAX_EIGENVALUES = 20_000


def check_count(eigenvalues: int) -> None:
    """Refuse more eigenvalues than can be treated, before their arrays are made.

    Raises:
        InputError: the rates of so many would take too long.
    """
    if eigenvalues > MAX_EIGENVALUES:
        raise InputError(
            f"{eigenvalues} are more than the {MAX_EIGENVALUES} whose rates are computed one by "
            "one; the time grows with the square of their number",
            argument="distinct_eigenvalues",
        )


@dataclass(frozen=True)
class LowRankSpectrum:
    """The n eigenvalues of diag(p) + U S Uᵀ, ascending.

    Attributes:
        value: shape (n,), relative error a few units in the last place for given poles and squares;
            the error of the lowest is that over F(0) if it is near 0 and all poles are positive.
        origin: the pole (or 0) from which the eigenvalue is measured, shape (n,).
        offset: value - origin, shape (n,), small relative error.
        slope: the derivative by z of F's eigenvalue at its root: Σ_k a_k/(d_k - s)² for one class;
            shape (n,).
        moment: Σ_c n_c Σ_i g_i/(p_i - value) for the m given g, shape (m, n).
    """

    value: Floats
    origin: Floats
    offset: Floats
    slope: Floats
    moment: Floats

    @property
    def projection(self) -> Floats:
        """Inner products of normalised eigenvectors with m vectors x, g = u x, shape (n, m).

        The sign of an eigenvector is arbitrary but the same for all x.
        """
        return (self.moment / np.sqrt(self.slope)).T


def merged(pole: Floats, *columns: Floats) -> tuple[Floats, ...]:
    """Return poles in ascending order, equal ones once, with columns summed over equal poles."""
    unique, inverse = np.unique(pole, return_inverse=True)
    result: list[Floats] = [unique]
    for column in columns:
        result.append(np.bincount(inverse, weights=column, minlength=unique.size).astype(float))
    return tuple(result)


def stability_gap(pole: Floats, strength: Floats) -> float:
    """Return 1 - Σ a_k/d_k with a correctly rounded sum.

    It is positive exactly when all eigenvalues are (for d > 0).
    """
    return math.fsum([1.0, *(-strength / pole)])


def low_rank_spectrum(
    pole: Floats, square: Floats, coupling: Any, numerator: Floats
) -> LowRankSpectrum:
    """Return all eigenvalues of diag(p) + U S Uᵀ, with the sums that give projections.

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
    # One pass sums the slopes and the first of the moments.
    vectors = np.zeros((max(len(numerator), 1), classes, size))
    vectors[: len(numerator)] = np.take_along_axis(numerator, order[None], axis=2)
    rows = np.empty((3 + len(vectors), classes * size))
    given = (np.array(each, dtype=np.float64) for each in (pole, square))
    all_roots(*given, matrices, bound, vectors, np.empty((classes, size)), rows)
    origin, offset, slope = rows[:3]
    return LowRankSpectrum(origin + offset, origin, offset, slope, rows[3 : 3 + len(numerator)])


def exponential_sum(times: Floats, rate: Floats, amplitude: Floats) -> Floats:
    """Return Σ_j amplitude_j exp(-rate_j t), shape of ``times``, in blocks that fit into memory."""
    sums = np.empty(times.size)
    block = max(1, 1_000_000 // max(rate.size, 1))
    for start in range(0, times.size, block):
        part = slice(start, start + block)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            terms = amplitude * np.exp(-np.multiply.outer(times.ravel()[part], rate))
        sums[part] = np.sum(terms, axis=1)
    return sums.reshape(times.shape)


def secular_roots(poles: Sequence[arb], strengths: Sequence[arb]) -> list[tuple[arb, arb]]:
    """Return the roots s of Σ a_k/(d_k - s) = 1, ascending, each with Σ |a_k|/(d_k - s)².

    Newton's method on the distance from the nearer pole, from the doubles of
    :func:`low_rank_spectrum`. The balls enclose the roots: the sum minus 1 has the two signs at the
    ends of a ball that lies between the poles, where it is monotone.

    Args:
        poles: L distinct numbers, ascending; all is done at the present precision.
        strengths: L numbers of one sign.

    Raises:
        ToleranceError: strengths have different signs, poles are too close to be distinguished, or
            a root is not enclosed.
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
        at_pole = near < len(poles) and doubles[near] == origin
        # The root may be below its pole or above it.
        below = j if positive else j + 1
        roots.append(_root(poles, strengths, near if at_pole else None, float(offset), below))
    return roots


def _root(
    poles: Sequence[arb], strengths: Sequence[arb], pole: int | None, distance: float, below: int
) -> tuple[arb, arb]:
    """Return the root near a distance from a pole or from 0, and the slope there.

    It is above ``below`` poles.
    """
    zero = poles[0] * 0
    origin = zero if pole is None else poles[pole]
    gaps = [zero if k == pole else d - origin for k, d in enumerate(poles)]

    def sums(at: arb) -> tuple[arb, arb]:
        """Return the sum minus 1 and its slope."""
        value, slope = zero - 1, zero
        for gap, strength in zip(gaps, strengths, strict=True):
            inverse = 1 / (gap - at)
            part = strength * inverse
            value += part
            slope += part * inverse
        return value, slope

    at = enclosed_zero(sums, zero + distance)
    if at is None or not (
        all(gap < at for gap in gaps[:below]) and all(at < gap for gap in gaps[below:])
    ):
        raise ToleranceError(
            "a root of the secular equation is not enclosed at this precision; ask for more digits"
        )
    return origin + at, abs(sums(at)[1])
