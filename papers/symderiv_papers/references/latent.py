r"""Inputs and latent vectors with exact covariances: what statements on structured data are about.

A :class:`LatentNetwork` is given by rationals only: Ω = E[x xᵀ] in an orthogonal basis that is not
the coordinates', Φ = E[x cᵀ], a student on x and a teacher on c. From these follow Q, R, T, the
overlaps per eigenvalue and, by the engine's own equations, their rates. Overlaps per eigenvalue are
found by the projectors on the eigenspaces, ∏ (Ω - ρ_s')/(ρ_s - ρ_s'), without eigenvectors.

Fields are λ = w·x/√N and ν = w̃·c/√D with E[c cᵀ] = I. Per eigenvalue ρ_s with N_s eigenvectors

    q_s = w P_s w/N_s,   r_s = w P_s Φ w̃/N_s,   t_s = w̃ᵀ Φᵀ P_s Φ w̃/N_s,

so that Q = Σ_s (N_s/N) ρ_s q_s and R = √(N/D) Σ_s (N_s/N) r_s.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from symderiv.learning.derivation.moment_hierarchy import closure_coefficients
from symderiv_papers.references.exact import as_number, as_numbers
from symderiv_papers.references.moments import Moments, motion, observables

__all__ = [
    "LatentNetwork",
    "LatentRates",
    "latent_network",
    "latent_rates",
]

Vector = tuple[Fraction, ...]
Rows = tuple[Vector, ...]


@dataclass(frozen=True, eq=False)
class LatentNetwork:
    """Exact covariances and weights.

    Args:
        omega: Ω, shape (N, N).
        phi: Φ, shape (N, D).
        eigenvalues: The L distinct ones of Ω.
        multiplicities: Of the eigenvalues, adding up to N.
        student, teacher: w (K, N) and w̃ (M, D).
        v, v_teacher: Output weights (K,) and (M,).
        words: What is special about it.
    """

    omega: Rows
    phi: Rows
    eigenvalues: Vector
    multiplicities: tuple[int, ...]
    student: Rows
    teacher: Rows
    v: Vector
    v_teacher: Vector
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
        return len(self.omega)

    @property
    def D(self) -> int:
        return len(self.phi[0])

    @property
    def label(self) -> str:
        """Sizes and words."""
        words = f", {self.words}" if self.words else ""
        return f"K = {self.K}, M = {self.M}, L = {self.L}, N = {self.N}, D = {self.D}{words}"

    @property
    def weights(self) -> Vector:
        """Multiplicities divided by N, shape (L,)."""
        return tuple(Fraction(count, self.N) for count in self.multiplicities)

    @cached_property
    def images(self) -> Rows:
        """Φ w̃ of every teacher, shape (M, N)."""
        return tuple(_applied(self.phi, w) for w in self.teacher)

    @cached_property
    def q(self) -> tuple[Rows, ...]:
        """Shape (L, K, K)."""
        return tuple(self._projected(s, self.student, self.student) for s in range(self.L))

    @cached_property
    def r(self) -> tuple[Rows, ...]:
        """Shape (L, K, M)."""
        return tuple(self._projected(s, self.student, self.images) for s in range(self.L))

    @cached_property
    def t(self) -> tuple[Rows, ...]:
        """Shape (L, M, M)."""
        return tuple(self._projected(s, self.images, self.images) for s in range(self.L))

    @cached_property
    def Q(self) -> Rows:
        """E[λ λ], shape (K, K)."""
        images = [_applied(self.omega, w) for w in self.student]
        return tuple(tuple(_dot(w, image) / self.N for image in images) for w in self.student)

    @cached_property
    def R_times_root(self) -> Rows:
        """√(N D) E[λ ν], shape (K, M); rational, as E[λ ν] is not."""
        return tuple(tuple(_dot(w, image) for image in self.images) for w in self.student)

    @cached_property
    def T(self) -> Rows:
        """E[ν ν], shape (M, M)."""
        return tuple(tuple(_dot(a, b) / self.D for b in self.teacher) for a in self.teacher)

    @cached_property
    def _projectors(self) -> tuple[Rows, ...]:
        found = []
        for rho in self.eigenvalues:
            product = _identity(self.N)
            for other in self.eigenvalues:
                if other != rho:
                    shifted = [
                        [(x - other * (i == j)) / (rho - other) for j, x in enumerate(row)]
                        for i, row in enumerate(self.omega)
                    ]
                    product = _times(product, shifted)
            found.append(product)
        return tuple(found)

    def _projected(self, s: int, left: Rows, right: Rows) -> Rows:
        images = [_applied(self._projectors[s], b) for b in right]
        share = Fraction(1, self.multiplicities[s])
        return tuple(tuple(share * _dot(a, image) for image in images) for a in left)


@dataclass(frozen=True)
class LatentRates:
    """Rates per unit of α by the engine, and its error.

    Args:
        dq, dr: Of q_s and r_s, shapes (L, K, K) and (L, K, M).
        Q, R: By the engine from q_s and r_s, shapes (K, K) and (K, M).
        error: ε_g = E[(student - teacher)²]/2.
    """

    dq: list[Any]
    dr: list[Any]
    Q: list[Any]
    R: list[Any]
    error: Any


def latent_rates(
    state: LatentNetwork,
    eta: Any,
    numbers: Any,
    activations: tuple[str, str] = ("erf", "erf"),
    *,
    full_order: bool = True,
) -> LatentRates:
    """Return the engine's rates, from its moment form.

    Args:
        state: Weights and covariances.
        eta: Learning rate of the first layer; the second is fixed.
        numbers: mpmath numbers.
        activations: Of student and teacher, names or formulas in ``x``.
        full_order: With the terms of order η².
    """
    student, teacher = activations
    L = state.L
    rho = as_numbers(state.eigenvalues, numbers)
    root = numbers.sqrt(numbers.mpf(state.N) / state.D)
    weight = as_numbers(state.weights, numbers)
    # the engine's r and t are those of sqrt(N/D) phi w
    factors = (
        weight,
        [w * root / x for w, x in zip(weight, rho, strict=True)],
        [w * root**2 / x for w, x in zip(weight, rho, strict=True)],
    )
    Q, R, t = (
        _moments(values, rho, factor, numbers)
        for values, factor in zip((state.q, state.r, state.t), factors, strict=True)
    )
    nu = [numbers.fsum(w * x**l for w, x in zip(weight, rho, strict=True)) for l in range(1, L + 1)]
    moments = Moments(
        Q=Q,
        R=R,
        T=[None, *t],
        nu=[None, *nu],
        closure=[
            as_number(Fraction(c), numbers) for c in closure_coefficients(list(state.eigenvalues))
        ],
        v=as_numbers(state.v, numbers),
        v_teacher=as_numbers(state.v_teacher, numbers),
        covariance=as_numbers(state.T, numbers),
    )
    found = motion(
        moments, eta, numbers, full_order=full_order, activation=student, teacher=teacher
    )
    error, found_Q, found_R = observables(moments, numbers, student, teacher)
    dq = _per_eigenvalue(found.dQ, rho, factors[0], numbers)
    dr = _per_eigenvalue(found.dR, rho, factors[1], numbers)
    return LatentRates(dq, dr, found_Q, found_R, error)


def _moments(values: Any, rho: Sequence[Any], factor: Sequence[Any], numbers: Any) -> list[Any]:
    """Σ_s factor_s ρ_s^l values_s for l = 0 … L - 1."""
    modes = range(len(rho))

    def moment(l: int, i: int, j: int) -> Any:
        terms = (factor[s] * rho[s] ** l * as_number(values[s][i][j], numbers) for s in modes)
        return numbers.fsum(terms)

    rows, columns = range(len(values[0])), range(len(values[0][0]))
    return [[[moment(l, i, j) for j in columns] for i in rows] for l in modes]


def _per_eigenvalue(
    moments: list[Any], rho: Sequence[Any], factor: Sequence[Any], numbers: Any
) -> list[Any]:
    """Return the inverse of :func:`_moments`."""
    modes = range(len(rho))
    inverse = numbers.inverse(
        numbers.matrix([[factor[s] * rho[s] ** l for s in modes] for l in modes])
    )

    def value(s: int, i: int, j: int) -> Any:
        return numbers.fsum(inverse[s, l] * moments[l][i][j] for l in modes)

    rows, columns = range(len(moments[0])), range(len(moments[0][0]))
    return [[[value(s, i, j) for j in columns] for i in rows] for s in modes]


# -- random states --------------------------------------------------------------------------------


@lru_cache(maxsize=16)
def latent_network(
    K: int,
    M: int,
    eigenvalues: tuple[Fraction, ...],
    multiplicities: tuple[int, ...],
    latent: int,
    *,
    seed: int = 0,
    words: str = "",
) -> LatentNetwork:
    """Return random exact covariances and weights in general position.

    Args:
        K, M: Numbers of students and teachers.
        eigenvalues: Distinct, positive.
        multiplicities: Of the eigenvalues.
        latent: D.
        seed: Of the random numbers.
        words: See :class:`LatentNetwork`.
    """
    rng = random.Random(seed)
    N, D = sum(multiplicities), latent
    basis = _identity(N)
    for _ in range(2):
        basis = _times(basis, _reflection([_random_fraction(rng) for _ in range(N)]))
    spectrum = [
        rho for rho, count in zip(eigenvalues, multiplicities, strict=True) for _ in range(count)
    ]
    omega = _times([[x * rho for x, rho in zip(row, spectrum, strict=True)] for row in basis],
                   list(zip(*basis, strict=True)))  # fmt: skip
    # x and c have a joint covariance if Ω^(-1/2) Φ is shorter than one
    parts = [[_random_fraction(rng) for _ in range(D)] for _ in range(N)]
    scaled = np.array([[float(x) for x in row] for row in parts])
    scaled /= np.sqrt([[float(rho)] for rho in spectrum])
    largest = float(np.linalg.norm(scaled, 2))
    scale = Fraction(int(Fraction(19, 20) / Fraction(largest) * 64), 64)
    phi = _times(basis, [[scale * x for x in row] for row in parts])
    student, teacher = (
        tuple(tuple(_random_fraction(rng) for _ in range(size)) for _ in range(units))
        for units, size in ((K, N), (M, D))
    )
    v = tuple(_random_fraction(rng, 4, 3) for _ in range(K))
    v_teacher = tuple(_random_fraction(rng, 4, 3) for _ in range(M))
    return LatentNetwork(
        omega, phi, eigenvalues, multiplicities, student, teacher, v, v_teacher, words
    )


def _dot(a: Sequence[Fraction], b: Sequence[Fraction]) -> Fraction:
    return sum((x * y for x, y in zip(a, b, strict=True)), Fraction(0))


def _applied(rows: Sequence[Sequence[Fraction]], vector: Sequence[Fraction]) -> Vector:
    return tuple(_dot(row, vector) for row in rows)


def _times(a: Sequence[Sequence[Fraction]], b: Sequence[Sequence[Fraction]]) -> Rows:
    columns = list(zip(*b, strict=True))
    return tuple(tuple(_dot(row, column) for column in columns) for row in a)


def _identity(size: int) -> Rows:
    return tuple(tuple(Fraction(int(i == j)) for j in range(size)) for i in range(size))


def _reflection(u: Sequence[Fraction]) -> Rows:
    """I - 2 u uᵀ/(u·u), orthogonal."""
    length = _dot(u, u)
    return tuple(
        tuple(int(i == j) - 2 * a * b / length for j, b in enumerate(u)) for i, a in enumerate(u)
    )


def _random_fraction(rng: random.Random, largest: int = 3, denominator: int = 2) -> Fraction:
    """Return a multiple of 1/denominator between ±largest/denominator, not zero."""
    return Fraction(rng.choice([k for k in range(-largest, largest + 1) if k]), denominator)
