"""Points at the symmetric plateau: linearised flow, eigen-systems, reductions.

Everything comes from :class:`symderiv.papers.committee.Committee`, whose rates are those of all units
and orders, and (G and H) from :mod:`symderiv.analysis.linearised`, which collapses sums first.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final

import mpmath

from symderiv.papers.arithmetic import Indexed, Values
from symderiv.papers.claim import Point
from symderiv.papers.committee import DIGITS, Committee, at_precision

__all__ = [
    "GENERAL",
    "TYPICAL",
    "PlateauModes",
    "Series",
    "UnitSeries",
    "cases",
    "companion",
    "eigenpairs",
    "linearised",
    "normalised_matrices",
    "null_vectors",
    "nullity",
    "plateau_modes",
    "powers",
    "reduced_flow",
    "reduced_matrices",
    "vector_u",
]

_TINY: Final = mpmath.mpf(10) ** -25


def _committee(M: int, L: int, learning_rate: Fraction, *, correlated: bool) -> Committee:
    """Teachers with T^(0) = 1 and D^(0) = 0, and either T^(1) = 1 and no D at all, or neither.

    The mean eigenvalue is 1. All moments that the print leaves open are in general position.
    """
    share = [Fraction(3 + k, sum(range(3, 3 + L))) for k in range(L)]
    raw = [Fraction(7, 2 + 3 * k) for k in range(L)]
    mean = sum((w * x for w, x in zip(share, raw, strict=True)), Fraction(0))
    eigenvalue = [x / mean for x in raw]
    diagonal, row = [Fraction(1)] * L, [Fraction(0)] * L
    if correlated:
        diagonal[0] += Fraction(4, 5)
        diagonal[1] -= Fraction(4, 5) * share[0] / share[1]
        for k in range(1, L):
            overlap = Fraction((M - 1) * (-1) ** k, 8 + k)
            row[k] += overlap
            row[0] -= overlap * share[k] / share[0]
    elif L > 2:
        # the last eigenspace differs; the first two keep T^(0) and T^(1)
        change = Fraction(1, 5)
        diagonal[L - 1] += change
        (a, b, last), (x, y, z) = ((s[0], s[1], s[L - 1]) for s in (share, eigenvalue))
        first = change * last * (y - z) / (a * (x - y))
        diagonal[0] += first
        diagonal[1] -= (change * last + first * a) / b
    return Committee(
        M, tuple(eigenvalue), tuple(share), tuple(diagonal), tuple(row), learning_rate
    )


_SIZES: Final = ((2, 3), (3, 2), (5, 4))
#: T^(1) = 1, D^(l) = 0, but T^(l) in general position.
TYPICAL: Final = tuple(_committee(M, L, Fraction(M, 7), correlated=False) for M, L in _SIZES)
#: T^(1) and all D^(l) in general position.
GENERAL: Final = tuple(_committee(M, L, Fraction(M, 7), correlated=True) for M, L in _SIZES)


@dataclass(frozen=True)
class Series:
    """Values with one index, or a matrix with two, that start at ``first``."""

    first: int
    values: Any

    def indexed(self, numbers: Any) -> Indexed:
        """For statements."""
        entries = converted(self.values, numbers)
        if hasattr(entries, "rows"):
            ends = [self.first + n - 1 for n in (entries.rows, entries.cols)]
            return Indexed(entries, *((self.first, end) for end in ends))
        return Indexed(entries, (self.first, self.first + len(entries) - 1))


@dataclass(frozen=True)
class UnitSeries:
    """Values by order (from 0) and two units (from 1), nested."""

    values: Any

    def indexed(self, numbers: Any) -> Indexed:
        """For statements."""
        orders, units = len(self.values), len(self.values[0])
        entries = converted(self.values, numbers)
        return Indexed(entries, (0, orders - 1), (1, units), (1, units))


def converted(value: Any, numbers: Any) -> Any:
    """Matrices, vectors and numbers of mpmath in the numbers of a claim."""
    if isinstance(value, int):
        return value
    if isinstance(value, Series | UnitSeries):
        return value.indexed(numbers)
    if isinstance(value, Fraction):
        return numbers.mpf(value.numerator) / value.denominator
    if isinstance(value, list | tuple):
        return [converted(entry, numbers) for entry in value]
    if hasattr(value, "rows"):
        found = numbers.matrix(value.rows, value.cols)
        for i, j in itertools.product(range(value.rows), range(value.cols)):
            found[i, j] = numbers.mpf(value[i, j])
        return found
    return numbers.mpf(value)


def label(committee: Committee) -> str:
    """A case in words."""
    return (
        f"M = {committee.units}, L = {committee.modes}, T1 = {float(committee.T(1)):.4g}, "
        f"D1 = {float(committee.D(1)):.4g}, eta = {committee.learning_rate}"
    )


def cases(
    committees: Iterable[Committee], found: Callable[[Committee], Mapping[str, Any]]
) -> Callable[[Any], Iterator[Point]]:
    """Points of a claim.

    Args:
        committees: Cases.
        found: For a case, values by name; functions are asked when their name occurs in a statement.
            All in mpmath's numbers.
    """

    def points(numbers: Any) -> Iterator[Point]:
        for committee in committees:
            yield Point(label(committee), _values(committee, found(committee), numbers))

    return points


def _values(committee: Committee, more: Mapping[str, Any], numbers: Any) -> Values:
    L, rho = committee.modes, committee.eigenvalue
    orders = range(L + 2)

    def column(entries: Iterable[Any]) -> Any:
        return mpmath.matrix([converted(entry, mpmath) for entry in entries])

    with at_precision():
        everywhere = {
            "M": committee.units,
            "L": L,
            "eta": committee.learning_rate,
            "T": Series(0, [committee.T(l) for l in orders]),
            "D": Series(0, [committee.D(l) for l in orders]),
            "lam": Series(1, list(rho)),
            "A1": companion(committee),
            "v": Series(1, [mpmath.matrix(power) for power in powers(committee)]),
            "e": Series(1, [column(Fraction(int(i == j)) for i in range(L)) for j in range(L)]),
            "u": column(committee.T(l + 1) for l in range(L)),
            "uplus": column(committee.T(l + 2) for l in range(L)),
        }

    def later(value: Any) -> Callable[[], Any]:
        def compute() -> Any:
            with at_precision():
                return converted(value() if callable(value) else value, numbers)

        return compute

    return Values(lazy={name: later(value) for name, value in {**everywhere, **more}.items()})


def companion(committee: Committee) -> Any:
    """Multiplication by minus the covariance, in the basis of its powers."""
    L = committee.modes
    found = mpmath.zeros(L)
    for l in range(L - 1):
        found[l, l + 1] = mpmath.mpf(-1)
    for l, value in enumerate(committee.closure):
        found[L - 1, l] = converted(value, mpmath)
    return found


@lru_cache(maxsize=64)
def linearised(committee: Committee) -> Any:
    """The Jacobian of the full first-order equations at the plateau, in r, s, q, c of all orders."""
    return committee.jacobian(committee.plateau())


def null_vectors(matrix: Any, given: Sequence[int], values: Sequence[Sequence[Any]]) -> list[Any]:
    """Vectors that a matrix maps to zero, by the values of as many entries as there are such.

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
    """Eigenvalues and eigenvectors of the linearised flow, r^(1) = 1 in all of them.

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
    """The eigen-system at the plateau, from the Jacobian."""
    with at_precision():
        values, vectors = mpmath.eig(linearised(committee))
        stiffness = committee.plateau_rate("symmetric_stiffness")
        poles = [-2 * stiffness * converted(rho, mpmath) for rho in committee.eigenvalue]
        groups: dict[str, list[tuple[Any, Any]]] = {"escape": [], "length": [], "norm": []}
        zeros = 0
        for k, value in enumerate(values):
            if abs(value) < _TINY:
                zeros += 1
                continue
            vector = (vectors[:, k] / vectors[1, k]).apply(mpmath.re)
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
    """G and H of :mod:`symderiv.analysis.linearised` over G's first entry; for T = 1, D = 0."""
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

    from symderiv.analysis.plateau import SYMBOLS
    from symderiv.gaussian.evaluate import number

    exact = (sp.Integer(committee.units), sp.Rational(committee.T(1)), sp.Rational(committee.D(1)))
    return number(expression.xreplace(dict(zip(SYMBOLS, exact, strict=True))), DIGITS)


@lru_cache(maxsize=4)
def _matrices(activation: str) -> Any:
    from symderiv.analysis.linearised import linearised_matrices
    from symderiv.analysis.plateau import plateau_forms
    from symderiv.analysis.symmetric import reduced_equations
    from symderiv.learning import derive_equations, learning_problem

    equations = derive_equations(learning_problem(activation))
    reduced = reduced_equations(equations, paired=True, noise=False)
    found = linearised_matrices(reduced, plateau_forms(equations))
    assert found is not None
    return found


def eigenpairs(matrix: Any, first: int = 0) -> list[tuple[Any, Any]]:
    """Non-zero eigenvalues, ascending, and eigenvectors with 1 as the entry ``first``, if it can."""
    with at_precision():
        values, vectors = mpmath.eig(matrix)
        found = []
        for k, value in enumerate(values):
            if abs(value) < _TINY:
                continue
            vector = vectors[:, k]
            size = mpmath.norm(vector, mpmath.inf)
            given = [i for i in range(first, matrix.rows) if abs(vector[i]) > _TINY * size]
            found.append((mpmath.re(value), (vector / vector[given[0]]).apply(mpmath.re)))
        return sorted(found, key=lambda pair: pair[0])


def nullity(matrix: Any) -> int:
    """How many independent vectors a square matrix maps to zero."""
    with at_precision():
        return sum(1 for value in mpmath.svd_r(matrix, compute_uv=False) if value < _TINY)


def reduced_flow(committee: Committee) -> Any:
    """The Jacobian on r and s, with q = c = 2 c (r + (M - 1) s); shape (2L, 2L).

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


def powers(committee: Committee) -> list[list[Any]]:
    """v_k: per eigenvalue its powers 0 ... L - 1."""
    return [
        [converted(rho**l, mpmath) for l in range(committee.modes)] for rho in committee.eigenvalue
    ]
