"""The linearised flow at the plateau: eigen-systems, reductions.

Everything comes from :class:`symderiv_papers.references.homogeneous.Committee`, whose rates
are those of all units and orders, and (G and H) from
:mod:`symderiv.analysis.plateau.plateau_forms`, which collapses sums.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import mpmath

from symderiv_papers.references.homogeneous import DIGITS, Committee, at_precision
from symderiv_papers.worschech_rosenow.escape_points import converted

__all__ = [
    "PlateauModes",
    "eigenpairs",
    "kron",
    "linearised",
    "normalised_matrices",
    "null_vectors",
    "nullity",
    "plateau_modes",
    "reduced_flow",
    "reduced_matrices",
    "vector_u",
]

_TINY: Final = mpmath.mpf(10) ** -25


@lru_cache(maxsize=64)
def linearised(committee: Committee) -> Any:
    """Return the Jacobian of the first-order equations at the plateau, in r, s, q, c of all
    orders.
    """
    return committee.jacobian(committee.plateau())


def null_vectors(matrix: Any, given: Sequence[int], values: Sequence[Sequence[Any]]) -> list[Any]:
    """Return vectors that a matrix maps to zero, by the values of as many entries as there are
    such.

    Args:
        matrix: Shape (n, n).
        given: Positions of entries that single out one vector.
        values: Their values, one sequence per vector.
    """
    n = matrix.rows
    free = [k for k in range(n) if k not in given]
    found = []
    with at_precision():
        for entries in values:
            vector = mpmath.zeros(n, 1)
            for position, value in zip(given, entries, strict=True):
                vector[position] = mpmath.mpf(value)
            if free:
                reduced = mpmath.matrix(n, len(free))
                for i in range(n):
                    for j, position in enumerate(free):
                        reduced[i, j] = matrix[i, position]
                rest = mpmath.lu_solve(reduced, -(matrix * vector))
                for j, position in enumerate(free):
                    vector[position] = rest[j]
            residual = mpmath.norm(matrix * vector, mpmath.inf)
            assert residual < _TINY, "no such vector"
            found.append(vector)
    return found


@dataclass(frozen=True)
class PlateauModes:
    """Eigenvalues and eigenvectors of the linearised flow, r^(1) = 1 in all (r^(0) if L = 1).

    Attributes:
        escape: The growing one.
        length: Decaying ones that move along states of equal students, slow ones first.
        norm: Decaying ones of Q off those states: -2 a_s times the eigenvalues of the inputs.
        zeros: How many eigenvalues vanish.
    """

    escape: tuple[Any, Any]
    length: tuple[tuple[Any, Any], ...]
    norm: tuple[tuple[Any, Any], ...]
    zeros: int


@lru_cache(maxsize=64)
def plateau_modes(committee: Committee) -> PlateauModes:
    """Return the eigen-system at the plateau, from the Jacobian."""
    with at_precision():
        values, vectors = mpmath.eig(linearised(committee))
        stiffness = committee.plateau_rate("symmetric_stiffness")
        poles = [-2 * stiffness * converted(rho, mpmath) for rho in committee.eigenvalue]
        groups: dict[str, list[tuple[Any, Any]]] = {"escape": [], "length": [], "norm": []}
        zeros, order = 0, min(1, committee.modes - 1)
        for k, value in enumerate(values):
            if abs(value) < _TINY:
                zeros += 1
                continue
            vector = (vectors[:, k] / vectors[order, k]).apply(mpmath.re)
            near = min(abs(value - pole) for pole in poles) < _TINY
            group = "escape" if mpmath.re(value) > 0 else "norm" if near else "length"
            groups[group].append((mpmath.re(value), vector))
        (growing,) = groups["escape"]
        length, norm = (tuple(sorted(groups[name], key=_slow)) for name in ("length", "norm"))
        return PlateauModes(growing, length, norm, zeros)


def _slow(pair: tuple[Any, Any]) -> Any:
    return -pair[0]


@lru_cache(maxsize=64)
def normalised_matrices(committee: Committee) -> tuple[Any, Any]:
    """G and H of :mod:`.plateau_forms` over G's first entry; T = 1, D = 0."""
    found = _matrices(committee.activation)
    with at_precision():
        numbers = []
        for matrix in (found.G, found.H):
            numbers.append(mpmath.matrix(4, 4))
            for i, j in itertools.product(range(4), range(4)):
                numbers[-1][i, j] = _at(matrix[i, j], committee)
        return numbers[0] / numbers[0][0, 0], numbers[1] / numbers[0][0, 0]


def _at(expression: Any, committee: Committee) -> Any:
    import sympy as sp

    from symderiv.analysis.plateau.plateau_algebra import SYMBOLS
    from symderiv.gaussian.forms.evaluate import number

    exact = (sp.Integer(committee.units), sp.Rational(committee.T(1)), sp.Rational(committee.D(1)))
    return number(expression.xreplace(dict(zip(SYMBOLS, exact, strict=True))), DIGITS)


@lru_cache(maxsize=4)
def _matrices(activation: str) -> Any:
    from symderiv.analysis.plateau.plateau_forms import linearised_matrices, plateau_forms
    from symderiv.analysis.symmetric import reduced_equations
    from symderiv.learning.derivation.learning_equations import derive_equations
    from symderiv.learning.rule.learning_problem import learning_problem

    equations = derive_equations(learning_problem(activation))
    reduced = reduced_equations(equations, paired=True, noise=False)
    found = linearised_matrices(reduced, plateau_forms(equations))
    assert found is not None
    return found


def eigenpairs(matrix: Any) -> list[tuple[Any, Any]]:
    """Non-zero eigenvalues, ascending, and eigenvectors whose first entry that is not 0 is 1."""
    with at_precision():
        values, vectors = mpmath.eig(matrix)
        found = []
        for k, value in enumerate(values):
            if abs(value) < _TINY:
                continue
            vector = vectors[:, k]
            size = mpmath.norm(vector, mpmath.inf)
            given = [i for i in range(matrix.rows) if abs(vector[i]) > _TINY * size]
            found.append((mpmath.re(value), (vector / vector[given[0]]).apply(mpmath.re)))
        return sorted(found, key=lambda pair: pair[0])


def nullity(matrix: Any) -> int:
    """Return how many independent vectors a square matrix maps to zero."""
    with at_precision():
        return sum(1 for value in mpmath.svd_r(matrix, compute_uv=False) if value < _TINY)


def reduced_flow(committee: Committee) -> Any:
    """Return the Jacobian on r and s, with q = c = 2 c (r + (M - 1) s); shape (2L, 2L).

    Here c is the length of the students in sums of teachers: R^(1)/(T^(1) + D^(1)).
    """
    L, full = committee.modes, linearised(committee)
    factor = 2 * committee.plateau_length()
    found = mpmath.matrix(2 * L, 2 * L)
    for i, j in itertools.product(range(2 * L), range(2 * L)):
        share = 1 if j < L else committee.units - 1
        moved = full[i, 2 * L + j % L] + full[i, 3 * L + j % L]
        found[i, j] = full[i, j] + factor * share * moved
    return found


def reduced_matrices(committee: Committee, *, normalised: bool = True) -> tuple[Any, Any]:
    """G and H on r and s alone, 2 × 2, over G's first entry; without that times η."""
    factor = 2 * committee.plateau_length()
    found = []
    for matrix in normalised_matrices(committee):
        small = mpmath.matrix(2, 2)
        for i, j in itertools.product(range(2), range(2)):
            share = 1 if j == 0 else committee.units - 1
            small[i, j] = matrix[i, j] + factor * share * (matrix[i, 2] + matrix[i, 3])
        found.append(small)
    unit = 1
    if not normalised:
        first = _at(_matrices(committee.activation).G[0, 0], committee)
        unit = converted(committee.learning_rate, mpmath) * first
    return found[0] * unit, found[1] * unit


def vector_u(committee: Committee) -> list[Any]:
    """T^(1) ... T^(L)."""
    return [converted(committee.T(l + 1), mpmath) for l in range(committee.modes)]


def kron(first: Any, second: Any) -> Any:
    """Return the Kronecker product of two mpmath matrices."""
    found = mpmath.matrix(first.rows * second.rows, first.cols * second.cols)
    for i in range(found.rows):
        for j in range(found.cols):
            found[i, j] = (
                first[i // second.rows, j // second.cols] * second[i % second.rows, j % second.cols]
            )
    return found
