"""Eigenvalues of matrices of balls, and how many of them are unstable."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from flint import acb, acb_mat, arb, arb_mat


def index_of(eigenvalues: Sequence[acb]) -> int | None:
    """Return the number of unstable directions; None where the sign of a rate is not proved."""
    parts = [each.real for each in eigenvalues]
    if not all(part > 0 or part < 0 for part in parts):
        return None
    return sum(bool(part > 0) for part in parts)


def enclosed_eigenvalues(matrix: arb_mat) -> list[acb]:
    """Return balls that hold the eigenvalues with their multiplicities, largest real part first."""
    try:
        eigenvalues: list[acb] = acb_mat(matrix).eig(multiple=True)
    except (ValueError, ArithmeticError):
        eigenvalues = _discs(matrix)
    return sorted(eigenvalues, key=lambda each: -float(each.real.mid()))


def _discs(matrix: arb_mat) -> list[acb]:
    """Return Gershgorin's discs of a matrix in the basis of its approximate eigenvectors.

    A group of overlapping discs holds as many eigenvalues as it has discs.
    """
    size = matrix.nrows()
    middle = np.array([float(x.mid()) for x in matrix.entries()]).reshape(size, size)
    vectors = np.linalg.eig(middle)[1].astype(complex)
    basis = acb_mat(size, size, [acb(x.real, x.imag) for x in vectors.ravel()])
    try:
        similar = basis.solve(acb_mat(matrix) * basis)
    except ZeroDivisionError:
        return [acb("nan")] * size
    discs = []
    for n in range(size):
        radius = sum((abs(similar[n, m]) for m in range(size) if m != n), arb(0)).upper()
        discs.append(similar[n, n] + acb(arb(0, radius), arb(0, radius)))
    return discs
