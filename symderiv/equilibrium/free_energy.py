r"""The annealed free energy of order parameters, at high temperature, with α scaled by temperature.

f(Q, R) = α ε_g(Q, R) - ½ ln det(Q - R T⁻¹ Rᵀ): the second term is the entropy of weights with these
overlaps. Spherical students have Q_ii = 1; without the sphere a weight decay adds κ/2 Σ Q_ii.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations_with_replacement

import numpy as np
import sympy as sp

from symderiv.equilibrium.pair_means import pair_mean, square_mean

#: A value, its gradient (n,) and its second derivatives (n, n).
Derivatives = tuple[float, np.ndarray, np.ndarray]


@dataclass(frozen=True)
class FreeEnergy:
    """The two terms of the free energy, with derivatives by the free order parameters.

    These are Q_ij with i ≤ j row by row, without Q_ii on the sphere, then R_in.

    Attributes:
        student, teacher: Activations of x.
        v: Output weights of students, shape (K,).
        w: Output weights of teachers, shape (M,).
        T: Covariance of the teachers' fields, shape (M, M), positive definite.
        sphere: Whether Q_ii = 1.
        decay: κ; 0 on the sphere.
    """

    student: sp.Expr
    teacher: sp.Expr
    v: np.ndarray
    w: np.ndarray
    T: np.ndarray
    sphere: bool = True
    decay: float = 0.0

    @property
    def K(self) -> int:
        """The number of students."""
        return int(self.v.size)

    @property
    def M(self) -> int:
        """The number of teachers."""
        return int(self.w.size)

    @cached_property
    def pairs(self) -> np.ndarray:
        """Indices (i, j) of the free entries of Q, shape (q, 2)."""
        first, second = np.triu_indices(self.K, 1 if self.sphere else 0)
        return np.array([first, second]).T

    @property
    def size(self) -> int:
        """The number of free order parameters."""
        return len(self.pairs) + self.K * self.M

    def overlaps(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return Q (K, K) and R (K, M)."""
        Q, q = np.eye(self.K), len(self.pairs)
        Q[self.pairs[:, 0], self.pairs[:, 1]] = Q[self.pairs[:, 1], self.pairs[:, 0]] = x[:q]
        return Q, x[q:].reshape(self.K, self.M)

    def free(self, Q: np.ndarray, R: np.ndarray) -> np.ndarray:
        """Return the free order parameters of Q and R."""
        return np.concatenate([Q[self.pairs[:, 0], self.pairs[:, 1]], R.ravel()])

    def drawn(self, random: np.random.Generator, known: float | None = None) -> np.ndarray:
        """Return the order parameters of random students, each with this overlap with one teacher
        if ``known`` is given.
        """
        B = np.hstack([np.linalg.cholesky(self.T), np.zeros((self.M, self.K))])
        J = random.normal(size=(self.K, self.M + self.K))
        J /= np.linalg.norm(J, axis=1, keepdims=True)
        if known is not None:
            own = B[np.arange(self.K) % self.M]
            own = own / np.linalg.norm(own, axis=1, keepdims=True)
            J = known * own + (1.0 - known**2) ** 0.5 * J
        if self.sphere:
            J /= np.linalg.norm(J, axis=1, keepdims=True)
        else:
            J *= self.decay**-0.5
        return self.free(J @ J.T, J @ B.T)

    def inside(self, x: np.ndarray) -> bool:
        """Return whether vectors with these overlaps exist."""
        Q, R = self.overlaps(x)
        rest = Q - R @ self._inverse @ R.T
        return bool(np.isfinite(rest).all() and np.linalg.eigvalsh(rest)[0] > 0.0)

    def error(self, x: np.ndarray) -> Derivatives:
        """Return the generalisation error ε_g with derivatives."""
        Q, R = self.overlaps(x)
        overlaps, weights = np.block([[Q, R], [R.T, self.T]]), np.append(self.v, -self.w)
        lengths = np.diag(overlaps)
        # the last entry collects derivatives by overlaps that are not free
        value, slope, bend = 0.0, np.zeros(self.size + 1), np.zeros((self.size + 1,) * 2)
        for g, units in self._units:
            squares = 0.5 * weights[units] ** 2 * square_mean(g)(lengths[units])
            places = self._places[units, units]
            value += float(squares[0].sum())
            np.add.at(slope, places, squares[1])
            np.add.at(bend, (places, places), squares[2])
        for g, h, one, other in self._couples:
            means = pair_mean(g, h)(lengths[one], overlaps[one, other], lengths[other])
            factors = weights[one] * weights[other]
            places = self._places[[one, one, other], [one, other, other]]
            value += float(factors @ means[0])
            np.add.at(slope, places, factors * means[1])
            np.add.at(bend, (places[:, None], places[None]), factors * means[2])
        return value, slope[:-1], bend[:-1, :-1]

    def entropy(self, x: np.ndarray) -> Derivatives:
        """Return ½ ln det(Q - R T⁻¹ Rᵀ) minus κ/2 Σ Q_ii, with derivatives."""
        Q, R = self.overlaps(x)
        P = R @ self._inverse
        rest = Q - P @ R.T
        inverse = np.linalg.inv(rest)
        K, M, q = self.K, self.M, len(self.pairs)
        changes = np.zeros((self.size, K, K))
        for n, (i, j) in enumerate(self.pairs):
            changes[n, i, j] = changes[n, j, i] = 1.0
        for i in range(K):
            for n in range(M):
                changes[q + i * M + n, i] -= P[:, n]
                changes[q + i * M + n, :, i] -= P[:, n]
        turned = np.einsum("ij,njk->nik", inverse, changes)
        slope = 0.5 * np.einsum("nii->n", turned)
        bend = -0.5 * np.einsum("nij,mji->nm", turned, turned)
        bend[q:, q:] -= np.kron(inverse, self._inverse)
        value = 0.5 * float(np.linalg.slogdet(rest)[1])
        if self.decay:
            own = self.pairs[:, 0] == self.pairs[:, 1]
            value -= 0.5 * self.decay * float(np.trace(Q))
            slope[:q][own] -= 0.5 * self.decay
        return value, slope, bend

    def at(self, x: np.ndarray, alpha: float) -> Derivatives:
        """Return the free energy α ε_g - entropy, with derivatives."""
        error, entropy = self.error(x), self.entropy(x)
        return (
            alpha * error[0] - entropy[0],
            alpha * error[1] - entropy[1],
            alpha * error[2] - entropy[2],
        )

    @cached_property
    def _inverse(self) -> np.ndarray:
        return np.linalg.inv(self.T)

    @cached_property
    def _places(self) -> np.ndarray:
        """Indices of the free order parameters in the matrix of all overlaps; ``size`` for other
        entries.
        """
        K, (first, second) = self.K, self.pairs.T
        places = np.full((K + self.M,) * 2, self.size)
        places[first, second] = places[second, first] = np.arange(len(self.pairs))
        places[:K, K:] = np.arange(len(self.pairs), self.size).reshape(K, self.M)
        places[K:, :K] = places[:K, K:].T
        return places

    @cached_property
    def _units(self) -> tuple[tuple[sp.Expr, np.ndarray], ...]:
        """Activations with the indices of their units, students before teachers."""
        every = np.arange(self.K + self.M)
        return (self.student, every[: self.K]), (self.teacher, every[self.K :])

    @cached_property
    def _couples(self) -> list[tuple[sp.Expr, sp.Expr, np.ndarray, np.ndarray]]:
        """Pairs of different units, by their activations."""
        couples = []
        for (g, ones), (h, others) in combinations_with_replacement(self._units, 2):
            one, other = (each.ravel() for each in np.meshgrid(ones, others, indexing="ij"))
            if (one < other).any():
                couples.append((g, h, one[one < other], other[one < other]))
        return couples
