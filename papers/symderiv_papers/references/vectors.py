r"""Students and teachers with exact vectors.

A :class:`Network` consists of rational vectors and a rational spectrum. Every covariance of its
fields and every moment Q^(l), R^(l), T^(l) is a rational number that follows from them, so that
states are consistent by construction. Their time derivatives and ε_g are the engine's own, from
the moment form of its equations, in any kind of numbers.

x_i^(l) = ξ·Σ^l J_i/√N as papers define it, so E[x_i^(l) x_j^(m)] = J_i Σ^(l+m+1) J_j/N.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

from symderiv.learning.derivation.moment_hierarchy import closure_coefficients
from symderiv_papers.references.exact import as_numbers
from symderiv_papers.references.integrals import Integrals
from symderiv_papers.references.moments import Moments

__all__ = [
    "Field",
    "Network",
    "field_integral",
    "moments_of",
    "network",
    "networks",
]

Vector = tuple[Fraction, ...]


@dataclass(frozen=True, eq=False)
class Field:
    """The field ξ·w/√N of an input ξ, by its vector w; a network has one object per vector."""

    vector: Vector


@dataclass(frozen=True)
class Network:
    """Exact vectors of a student and a teacher, in the eigenbasis of the inputs.

    Args:
        student: J, K vectors of N components.
        teacher: B, M vectors of N components.
        eigenvalues: L distinct ones, each of N/L components one after the other.
        words: What is special about it.
    """

    student: tuple[Vector, ...]
    teacher: tuple[Vector, ...]
    eigenvalues: Vector
    words: str = ""

    @property
    def K(self) -> int:
        return len(self.student)

    @property
    def M(self) -> int:
        return len(self.teacher)

    @property
    def L(self) -> int:
        return len(self.eigenvalues)

    @property
    def N(self) -> int:
        return len(self.student[0])

    @cached_property
    def variance(self) -> Vector:
        """Σ's diagonal, N entries."""
        copies = self.N // self.L
        return tuple(rho for rho in self.eigenvalues for _ in range(copies))

    @cached_property
    def closure(self) -> list[Fraction]:
        """c_0 … c_(L-1) of ∏ (ρ - λ_k), by the engine."""
        return [Fraction(value) for value in closure_coefficients(list(self.eigenvalues))]

    def x(self, i: int, l: int = 0) -> Field:
        """x_i^(l), i = 1 … K."""
        return self._field(True, i, l)

    def y(self, n: int, l: int = 0) -> Field:
        """y_n^(l), n = 1 … M."""
        return self._field(False, n, l)

    def covariance(self, a: Field, b: Field) -> Fraction:
        """Return the covariance of two fields."""
        if (a, b) not in self._covariances:
            value = self.overlap(a.vector, b.vector, 1)
            self._covariances[a, b] = self._covariances[b, a] = value
        return self._covariances[a, b]

    @cached_property
    def _covariances(self) -> dict[tuple[Field, Field], Fraction]:
        return {}

    def overlap(self, a: Vector, b: Vector, power: int) -> Fraction:
        """a·Σ^power b/N."""
        terms = zip(a, b, self.variance, strict=True)
        return sum((p * q * rho**power for p, q, rho in terms), Fraction(0)) / self.N

    def nu(self, l: int) -> Fraction:
        """ν_l, the mean of λ^l."""
        return sum((rho**l for rho in self.eigenvalues), Fraction(0)) / self.L

    def gram(self, left: Sequence[Vector], right: Sequence[Vector], l: int) -> list[list[Fraction]]:
        """Return all overlaps of order l."""
        return [[self.overlap(a, b, l) for b in right] for a in left]

    @property
    def label(self) -> str:
        """Sizes and words."""
        words = f", {self.words}" if self.words else ""
        return f"K = {self.K}, M = {self.M}, L = {self.L}, N = {self.N}{words}"

    @cached_property
    def _fields(self) -> dict[Any, Field]:
        return {}

    def _field(self, student: bool, unit: int, l: int) -> Field:
        key = (student, unit, l)
        if key not in self._fields:
            vector = (self.student if student else self.teacher)[unit - 1]
            shifted = tuple(w * rho**l for w, rho in zip(vector, self.variance, strict=True))
            self._fields[key] = self._fields.setdefault(shifted, Field(shifted))
        return self._fields[key]


def moments_of(
    state: Network, numbers: Any, v: Any = None, v_teacher: Any = None, top: int | None = None
) -> Moments:
    """Return the moments of exact vectors as numbers.

    Args:
        state: The vectors.
        numbers: The arithmetic.
        v, v_teacher: Output weights of all students, of all teachers: one number each. By default
            √M/K and 1/√M, so that both networks are means of the same kind.
        top: Highest order; 2 L + 2 by default.
    """
    highest = 2 * state.L + 2 if top is None else top
    root = numbers.sqrt(numbers.mpf(state.M))
    v = root / state.K if v is None else v
    v_teacher = 1 / root if v_teacher is None else v_teacher
    J, B, orders = state.student, state.teacher, range(highest + 1)
    return Moments(
        [as_numbers(state.gram(J, J, l), numbers) for l in orders],
        [as_numbers(state.gram(J, B, l), numbers) for l in orders],
        [as_numbers(state.gram(B, B, l), numbers) for l in orders],
        [as_numbers(state.nu(l), numbers) for l in orders],
        as_numbers(state.closure, numbers),
        [v] * state.K,
        [v_teacher] * state.M,
    )


def field_integral(integrals: Integrals, state: Network, *fields: Field) -> Any:
    """I2, I3 or I4 of fields, with fields that coincide told from those that do not."""
    different = list(dict.fromkeys(fields))
    rows = [[state.covariance(a, b) for b in different] for a in different]
    return integrals.at(rows, tuple(different.index(field) for field in fields))


# -- random states --------------------------------------------------------------------------------


def network(K: int, M: int, eigenvalues: Sequence[Any], copies: int = 4, seed: int = 0) -> Network:
    """Return random vectors with components k/2, k = ±1 … ±3.

    Args:
        K, M: Numbers of students and teachers.
        eigenvalues: Distinct, positive, rational.
        copies: N/L.
        seed: Of the random numbers.
    """
    rng = random.Random(seed)
    size = copies * len(eigenvalues)

    def vectors(units: int) -> tuple[Vector, ...]:
        halves = (-3, -2, -1, 1, 2, 3)
        return tuple(
            tuple(Fraction(rng.choice(halves), 2) for _ in range(size)) for _ in range(units)
        )

    student, teacher = vectors(K), vectors(M)
    return Network(student, teacher, tuple(Fraction(rho) for rho in eigenvalues))


@lru_cache(maxsize=4)
def networks(*, square: bool = False) -> tuple[Network, ...]:
    """Networks at which statements are tried, corners last.

    Args:
        square: Only K = M.
    """
    generic = Fraction(7, 4), Fraction(3, 5), Fraction(1, 3)
    close = Fraction(1), Fraction(10001, 10000)
    wide = Fraction(5), Fraction(1, 100)
    sizes: tuple[tuple[int, int, Vector], ...]
    if square:
        sizes = ((3, 3, generic), (4, 4, close), (3, 3, (Fraction(2),)), (2, 2, wide))
    else:
        sizes = ((2, 3, generic), (4, 3, close), (1, 3, (Fraction(2),)), (3, 2, wide), (3, 3, wide))
    found = [network(K, M, rho, 4, seed) for seed, (K, M, rho) in enumerate(sizes)]
    return (*found, *(_corners(found[0])))


def _corners(state: Network) -> Iterator[Network]:
    """Yield students that coincide, that oppose each other, that have learned; few components."""
    J, B = list(state.student), list(state.teacher)
    equal = [J[0], J[0], *J[2:]]
    yield Network(tuple(equal), tuple(B), state.eigenvalues, "two students coincide")
    opposed = [J[0], tuple(-w for w in J[0]), *J[2:]]
    yield Network(tuple(opposed), tuple(B), state.eigenvalues, "two students are opposed")
    learned = [*B[: len(J) - 1], J[-1]]
    yield Network(tuple(learned), tuple(B), state.eigenvalues, "students that are teachers")
