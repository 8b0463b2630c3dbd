r"""Rates of a diagonal matrix minus one of rank one, from its secular equation, in O(L²).

The matrix diag(d) - b cᵀ with d_1 < d_2 < … and a_k = b_k c_k > 0 has the eigenvalues s_j with

.. math:: \sum_k \frac{a_k}{d_k - s} = 1 ,

one below every d_k and above the one before (the poles of the sum). A root is kept as its distance
from the nearer of its two poles, and differences of poles are formed first, so nothing cancels
however close roots and poles are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from symderiv.compiled_code.linked import Linked

Floats = npt.NDArray[np.float64]

_all_roots = Linked("symderiv.analysis.linear.secular_loops", "all_roots")


@dataclass(frozen=True)
class SecularRoots:
    """The eigenvalues of diag(d) - b cᵀ, ascending.

    Attributes:
        value: s_j, shape (L,), relative error a few units in the last place for given poles and
            strengths; the lowest one, where it is near 0, to that over 1 - Σ a_k/d_k.
        origin: the pole from which s_j is measured, or 0, shape (L,).
        offset: s_j - origin_j, shape (L,), small relative error.
        slope: Σ_k a_k/(d_k - s_j)², shape (L,).
        moment: Σ_k g_k/(d_k - s_j) for the g that were given, shape (L,).
    """

    value: Floats
    origin: Floats
    offset: Floats
    slope: Floats
    moment: Floats


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


def secular_roots(pole: Floats, strength: Floats, numerator: Floats) -> SecularRoots:
    """All roots of Σ a_k/(d_k - s) = 1, with the sums that weights are made of.

    Args:
        pole: d, strictly ascending, shape (L,).
        strength: a > 0, shape (L,).
        numerator: g, shape (L,); see :class:`SecularRoots`.
    """
    size = pole.size
    distance, origin, offset, slope, moment = (np.empty(size) for _ in range(5))
    gap = stability_gap(pole, strength) if pole[0] > 0.0 else -1.0
    given = (np.array(each, dtype=np.float64) for each in (pole, strength, numerator))
    _all_roots(*given, gap, distance, origin, offset, slope, moment)
    return SecularRoots(origin + offset, origin, offset, slope, moment)
