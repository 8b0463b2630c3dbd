r"""Eigenvalues of a diagonal matrix plus a symmetric coupling of rank two, in O(n²).

The matrix diag(p) + U S Uᵀ, where row i of U has its only entry u_i in the column of its class
(0 or 1) and S is symmetric 2 × 2, has as many eigenvalues below z as

.. math:: \#\{p_i < z\} + \pi\big(S^{-1} + W(z)\big) - \pi(S^{-1}), \qquad
          W(z) = U^{\mathsf T} (\mathrm{diag}(p) - z)^{-1} U ,

π the number of positive eigenvalues (Sylvester's law of inertia for the bordered matrix). W is
diagonal, so a count costs O(n), and every eigenvalue is found by bisection on counts: no root can
be missed or found twice, however close they are. It is kept as the distance from the nearest pole.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from symderiv.compiled_code.linked import Linked
from symderiv.foundation.errors import InputError

Floats = npt.NDArray[np.float64]

_solve = Linked("symderiv.analysis.late.rank_two_loops", "solve")


@dataclass(frozen=True)
class RankTwoSpectrum:
    """Eigenvalues, ascending, shape (n,), and projections of given vectors on eigenvectors.

    Attributes:
        value: relative error a few units in the last place.
        projection: shape (n, m): inner product of each normalised eigenvector with the m vectors.
            The sign of an eigenvector is arbitrary but the same for all m.
    """

    value: Floats
    projection: Floats


def rank_two_spectrum(
    pole: Floats, strength: Floats, coupling: Floats, vectors: Floats
) -> RankTwoSpectrum:
    """The spectrum of diag(p) + U S Uᵀ.

    Args:
        pole: p by class, shape (2, L).
        strength: u by class, shape (2, L), none zero.
        coupling: S, symmetric and invertible, shape (2, 2).
        vectors: shape (m, 2, L).

    Raises:
        InputError: poles of one class coincide, or the coupling is singular.
    """
    flat, weight = pole.ravel(), strength.ravel()
    order = np.argsort(flat, kind="stable")
    kind = np.repeat(np.array([0, 1], dtype=np.int64), pole.shape[1])[order]
    sorted_pole = np.ascontiguousarray(flat[order])
    if any(np.any(np.diff(np.sort(row)) <= 0) for row in pole):
        raise InputError("equal eigenvalues must be merged into one", argument="eigenvalue")
    determinant = coupling[0, 0] * coupling[1, 1] - coupling[0, 1] ** 2
    if not abs(determinant) > 1e-14 * np.max(np.abs(coupling)) ** 2:
        raise InputError("the coupling of the order parameters is singular")
    inverse = np.linalg.inv(coupling)
    bound = float(np.sum(np.abs(coupling)) * np.max(np.sum(strength**2, axis=1)))
    value = np.empty(flat.size)
    given = np.ascontiguousarray(vectors.reshape(len(vectors), flat.size)[:, order])
    projection = np.empty((flat.size, len(vectors)))
    _solve(
        sorted_pole,
        np.ascontiguousarray(weight[order]),
        kind,
        0.5 * (inverse + inverse.T),
        bound,
        given,
        np.empty((4, flat.size)),
        value,
        projection,
    )
    return RankTwoSpectrum(value, projection)
