"""Equations 100 to 108: the flow linearised at the plateau and its eigen-systems."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import mpmath

from symderiv_papers.references.homogeneous import Committee
from symderiv_papers.worschech_rosenow.escape_modes import (
    eigenpairs,
    kron,
    linearised,
    normalised_matrices,
    null_vectors,
    nullity,
    vector_u,
)
from symderiv_papers.worschech_rosenow.escape_points import (
    GENERAL,
    TYPICAL,
    Series,
    UnitSeries,
    cases,
    companion,
    powers,
)

__all__ = [
    "ansatz",
    "eigen_systems",
]


def _eigen_systems(committee: Committee) -> Mapping[str, Any]:
    """Return those of G and H (4 × 4), and of A = G⊗A1 and B = H⊗U."""

    def G() -> Any:
        return normalised_matrices(committee)[0]

    def H() -> Any:
        return normalised_matrices(committee)[1]

    def U() -> Any:
        found = mpmath.zeros(committee.modes)
        for i, value in enumerate(vector_u(committee)):
            found[i, 1] = value
        return found

    def A() -> Any:
        return kron(G(), companion(committee))

    def B() -> Any:
        return kron(H(), U())

    def zeros_of_A(block: int) -> Any:
        """Return vectors that A maps to zero, equal to v_k in one block and zero in its partner."""
        L = committee.modes
        given = [*range(L), *range(2 * L, 3 * L)]
        values = [
            [*power, *[0] * L] if block == 0 else [*[0] * L, *power] for power in powers(committee)
        ]
        return Series(1, null_vectors(A(), given, values))

    pairs = [(1, 0), (0, 1)]
    return {
        "G": G,
        "H": H,
        "U": U,
        "J": lambda: linearised(committee),
        "lambda_G": lambda: Series(1, [value for value, _ in eigenpairs(G())]),
        "v_G": lambda: Series(1, [vector for _, vector in eigenpairs(G())]),
        "w_G": lambda: Series(1, null_vectors(G(), (0, 2), pairs)),
        "lambda_H": lambda: Series(1, [value for value, _ in eigenpairs(H())]),
        "v_H": lambda: Series(1, [vector for _, vector in eigenpairs(H())]),
        "w_H": lambda: Series(1, null_vectors(H(), (0, 2), pairs)),
        "w_3": lambda: zeros_of_A(0),
        "w_4": lambda: zeros_of_A(1),
        "lambda_B": lambda: Series(1, [value for value, _ in eigenpairs(B())]),
        "zerosB": lambda: nullity(B()),
    }


def _ansatz(committee: Committee) -> Mapping[str, Any]:
    """Return rates of all units, and those of one pair of them, away from the plateau."""
    state = [
        value + mpmath.mpf(k + 1) / 70 / (1 + k % 5) for k, value in enumerate(committee.plateau())
    ]
    L = committee.modes

    def block(number: int) -> Series:
        return Series(0, committee.rates(state)[number * L : (number + 1) * L])

    def of_units(kind: int) -> Any:
        return UnitSeries(committee.unit_rates(state)[kind])

    return {
        "r": lambda: block(0),
        "s": lambda: block(1),
        "q": lambda: block(2),
        "c": lambda: block(3),
        "dR": lambda: of_units(0),
        "dQ": lambda: of_units(1),
    }


#: Typical teachers, with the eigen-systems of the flow linearised at the plateau.
eigen_systems = cases(TYPICAL, _eigen_systems)
#: Any homogeneous teacher, at states of the form of the ansatz.
ansatz = cases(GENERAL, _ansatz)
