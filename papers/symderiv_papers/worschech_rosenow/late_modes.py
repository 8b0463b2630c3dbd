"""The flow linearised at perfect learning, Q = R = T: matrices, groups of eigenvalues.

Jacobians come from the full equations (:mod:`symderiv_papers.references.homogeneous`), the
4 × 4 matrices from
:mod:`symderiv.analysis.late.perfect_learning`, which collapses sums over units first.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import mpmath

from symderiv_papers.references.homogeneous import DIGITS, Committee, at_precision
from symderiv_papers.worschech_rosenow.escape_points import Series, converted

__all__ = [
    "LateModes",
    "blocks",
    "forced",
    "late_matrices",
    "late_modes",
    "linearised_late",
    "stiffness",
]


@lru_cache(maxsize=64)
def linearised_late(committee: Committee) -> Any:
    """Return the Jacobian of the equations at perfect learning, in r, s, q, c of all orders."""
    return committee.jacobian(committee.teacher())


@lru_cache(maxsize=64)
def late_matrices(committee: Committee) -> Mapping[str, Any]:
    """G, H, F as the print normalises them: G_11 = 1, F_33 = 1; and the factors a and g.

    a is per unit of η; g contains η, so that the flow is η a (G⊗A1 + H⊗U + g F⊗U).
    """
    from symderiv.analysis.late.perfect_learning import perfect_learning
    from symderiv.formula import activation

    theory = perfect_learning(activation(committee.activation).text)

    def numbers(matrix: Any) -> Any:
        found = mpmath.matrix(4, 4)
        for i, j in itertools.product(range(4), range(4)):
            found[i, j] = theory.at(
                matrix[i, j], committee.units, committee.T(1), committee.D(1), DIGITS
            )
        return found

    with at_precision():
        G, H, F = (numbers(matrix) for matrix in (theory.G, theory.H, theory.F))
        factor = G[0, 0]
        eta = converted(committee.learning_rate, mpmath)
        return {
            "G": G / factor,
            "H": -H / factor,
            "F": F / F[2, 2],
            "a": factor,
            "g": eta * F[2, 2] / factor,
        }


@lru_cache(maxsize=64)
def stiffness(committee: Committee) -> tuple[Any, Any]:
    """Return eigenvalues of A at perfect learning: on equal units, on units that differ; mpmath."""
    from symderiv.analysis.late.perfect_learning import perfect_learning
    from symderiv.formula import activation

    theory = perfect_learning(activation(committee.activation).text)
    uniform, differing = (
        theory.at(entry, committee.units, committee.T(1), committee.D(1), DIGITS)
        for entry in theory.stiffness
    )
    return uniform, differing


@dataclass(frozen=True)
class LateModes:
    """Eigenvalues of A_a (the Jacobian over η a) and its eigenvectors, group by group.

    Attributes:
        differing, uniform: Nearest to -2 A_d λ_k and -2 A_u λ_k over a, k = 1 ... L.
        rest: The other 2L, the slowest first.
        all_vectors: As columns, in no order.
        left_differing, left_uniform: Rows of the inverse of the matrix of all eigenvectors.
    """

    differing: tuple[tuple[Any, Any], ...]
    uniform: tuple[tuple[Any, Any], ...]
    rest: tuple[tuple[Any, Any], ...]
    all_vectors: Any
    left_differing: tuple[Any, ...]
    left_uniform: tuple[Any, ...]


@lru_cache(maxsize=64)
def late_modes(committee: Committee) -> LateModes:
    """Return the eigen-system at perfect learning at first order in η."""
    with at_precision():
        factor = late_matrices(committee)["a"] * converted(committee.learning_rate, mpmath)
        values, vectors = mpmath.eig(linearised_late(committee) / factor)
        inverse = mpmath.inverse(vectors)
        left_over = list(range(len(values)))
        groups: list[list[int]] = []
        uniform, differing = stiffness(committee)
        for stiff in (differing, uniform):
            wanted = [
                -2 * stiff * converted(rho, mpmath) / late_matrices(committee)["a"]
                for rho in committee.eigenvalue
            ]
            groups.append([])
            for pole in wanted:
                nearest = min(left_over, key=lambda k, pole=pole: abs(values[k] - pole))  # type: ignore[misc]
                left_over.remove(nearest)
                groups[-1].append(nearest)

        def pair(k: int) -> tuple[Any, Any]:
            vector = vectors[:, k]
            largest = max(range(vector.rows), key=lambda i: abs(vector[i]))
            return mpmath.re(values[k]), (vector / vector[largest]).apply(mpmath.re)

        def row(k: int) -> Any:
            vector = vectors[:, k]
            largest = max(range(vector.rows), key=lambda i: abs(vector[i]))
            return (inverse[k, :] * vector[largest]).apply(mpmath.re)

        rest = sorted((pair(k) for k in left_over), key=lambda found: -found[0])
        return LateModes(
            tuple(pair(k) for k in groups[0]),
            tuple(pair(k) for k in groups[1]),
            tuple(rest),
            vectors,
            tuple(row(k) for k in groups[0]),
            tuple(row(k) for k in groups[1]),
        )


def blocks(vectors: list[Any], committee: Committee) -> dict[str, Any]:
    """r[k, l], s, q, c of several vectors, k from 1, l from 0, as functions of two indices."""
    L = committee.modes
    found = {}
    for number, name in enumerate("rsqc"):
        table = mpmath.matrix(len(vectors), L)
        for k, vector in enumerate(vectors):
            for l in range(L):
                table[k, l] = vector[number * L + l]
        found[name] = Series((1, 0), table)
    return found


def forced(committee: Committee) -> Any:
    """U: T^(1) ... T^(L) in the column of order 1."""
    found = mpmath.zeros(committee.modes)
    for l in range(committee.modes):
        found[l, 1] = converted(committee.T(l + 1), mpmath)
    return found
