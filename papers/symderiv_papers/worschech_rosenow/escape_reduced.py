"""Equations 109 to 111: what is left of the linearised flow after its fast parts have decayed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import mpmath

from symderiv_papers.references.homogeneous import Committee
from symderiv_papers.worschech_rosenow.escape_modes import (
    eigenpairs,
    kron,
    null_vectors,
    nullity,
    plateau_modes,
    reduced_flow,
    reduced_matrices,
    vector_u,
)
from symderiv_papers.worschech_rosenow.escape_points import (
    GENERAL,
    TYPICAL,
    Series,
    cases,
    companion,
    powers,
)

__all__ = [
    "every",
    "general",
    "reduced",
    "typical",
]


def _reduced(committee: Committee) -> Mapping[str, Any]:
    """Return the reduction of the system of r and s alone."""

    def A() -> Any:
        return kron(reduced_matrices(committee)[0], companion(committee))

    def B() -> Any:
        found = mpmath.zeros(committee.modes)
        for i, value in enumerate(vector_u(committee)):
            found[i, 1] = value
        return kron(reduced_matrices(committee)[1], found)

    def zeros_of_A() -> Any:
        """Return vectors that A maps to zero, by their part r, which is v_k."""
        return Series(1, null_vectors(A(), range(committee.modes), powers(committee)))

    def column(position: int) -> Any:
        return mpmath.matrix([int(k == position) for k in range(committee.modes)])

    def numbers_of_eigenvalues() -> list[int]:
        values = [value for value, _ in eigenpairs(reduced_flow(committee))]
        growing = sum(1 for value in values if value > 0)
        return [2 * committee.modes - len(values), growing, len(values) - growing]

    def unit_of_rate() -> Any:
        """Return the factor in front of A_rs: what makes the first entry of G one."""
        matrices = reduced_matrices(committee, normalised=False)
        return matrices[0][0, 0]

    return {
        "G": lambda: reduced_matrices(committee)[0],
        "H": lambda: reduced_matrices(committee)[1],
        "Jrs": lambda: reduced_flow(committee),
        "A": A,
        "B": B,
        "w_A": zeros_of_A,
        "f": lambda: Series(1, [column(k) for k in range(committee.modes) if k != 1]),
        "zerosB": lambda: nullity(B()),
        "lambda_B": lambda: Series(1, [value for value, _ in eigenpairs(B())]),
        "zeros": lambda: numbers_of_eigenvalues()[0],
        "positive": lambda: numbers_of_eigenvalues()[1],
        "largest": lambda: plateau_modes(committee).escape[0] / unit_of_rate(),
        "lambda_length": lambda: Series(1, [value for value, _ in plateau_modes(committee).length]),
    }


def _deviation(committee: Committee) -> Mapping[str, Any]:
    """Return a deviation made of all modes that do not leave the states of equal norms."""

    def deviation() -> Any:
        modes = plateau_modes(committee)
        total = modes.escape[1]
        for k, (_, vector) in enumerate(modes.length, start=2):
            total = total + vector / k
        return total

    def part(block: int) -> Series:
        L = committee.modes
        return Series(0, list(deviation()[block * L : (block + 1) * L]))

    L = committee.modes
    return {
        "r": lambda: part(0),
        "s": lambda: part(1),
        "q": lambda: part(2),
        "c": lambda: part(3),
        "R": lambda: Series(0, committee.plateau()[:L]),
        "growing": lambda: Series(0, list(plateau_modes(committee).escape[1][:L])),
        "growing_s": lambda: Series(0, list(plateau_modes(committee).escape[1][L : 2 * L])),
    }


#: Deviations from the plateau, of typical and of any homogeneous teachers.
typical = cases(TYPICAL, _deviation)
general = cases(GENERAL, _deviation)
every = cases((*TYPICAL, *GENERAL), _deviation)
#: The reduced equations of typical teachers.
reduced = cases(TYPICAL, _reduced)
