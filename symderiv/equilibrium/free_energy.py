r"""The annealed free energy of order parameters, at high temperature with α rescaled by it.

f(Q, R) = α ε_g(Q, R) - ½ ln det(Q - R T⁻¹ Rᵀ): the second term is the entropy of weights with these
overlaps. Of spherical students Q_ii = 1, and without the sphere a weight decay adds κ/2 Σ Q_ii.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import sympy as sp

from symderiv.equilibrium.pair_means import pair_mean, square_mean

#: A value, its gradient (n,) and its second derivatives (n, n).
Derivatives = tuple[float, np.ndarray, np.ndarray]


@dataclass(frozen=True)
class FreeEnergy:
    """The two terms of the free energy, with derivatives, by the order parameters that are free.

    Order parameters are Q_ij with i ≤ j row by row, without Q_ii on the sphere, then R_in.

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
        """Places (i, j) of Q that are free, shape (q, 2)."""
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
        """Return the order parameters of drawn students, who know a teacher each by this overlap,
        or none.
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
        """Return the generalisation error ε_g."""
        Q, R = self.overlaps(x)
        value, slope, bend = self._teachers, np.zeros(self.size), np.zeros((self.size,) * 2)
        value += self._add_students(Q, slope, bend)
        value += self._add_cross(Q, R, slope, bend)
        return value, slope, bend

    def entropy(self, x: np.ndarray) -> Derivatives:
        """Return ½ ln det(Q - R T⁻¹ Rᵀ), less κ/2 Σ Q_ii."""
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
        """Return the free energy α ε_g - entropy."""
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
    def _places(self) -> dict[tuple[int, int], int]:
        return {(int(i), int(j)): n for n, (i, j) in enumerate(self.pairs)}

    @cached_property
    def _teachers(self) -> float:
        """The part of the error that teachers have alone."""
        mean, square = pair_mean(self.teacher, self.teacher), square_mean(self.teacher)
        error = 0.0
        for n in range(self.M):
            error += 0.5 * self.w[n] ** 2 * float(square(np.array(self.T[n, n]))[0])
            for m in range(n):
                given = (np.array(each) for each in (self.T[n, n], self.T[n, m], self.T[m, m]))
                error += float(self.w[n] * self.w[m] * mean(*given)[0])
        return error

    def _add_students(self, Q: np.ndarray, slope: np.ndarray, bend: np.ndarray) -> float:
        mean, own = pair_mean(self.student, self.student), square_mean(self.student)
        squares = own(np.diag(Q))
        value = 0.5 * float(self.v**2 @ squares[0])
        for i in range(self.K):
            place = self._places.get((i, i))
            if place is not None:
                slope[place] += 0.5 * self.v[i] ** 2 * squares[1, i]
                bend[place, place] += 0.5 * self.v[i] ** 2 * squares[2, i]
        first, second = np.triu_indices(self.K, 1)
        if not first.size:
            return value
        means = mean(np.diag(Q)[first], Q[first, second], np.diag(Q)[second])
        factors = self.v[first] * self.v[second]
        for n, (i, j) in enumerate(zip(first.tolist(), second.tolist(), strict=True)):
            places = [self._places.get(each) for each in ((i, i), (i, j), (j, j))]
            self._add(places, float(factors[n]), [each[..., n] for each in means[1:]], slope, bend)
        return value + float(factors @ means[0])

    def _add_cross(
        self, Q: np.ndarray, R: np.ndarray, slope: np.ndarray, bend: np.ndarray
    ) -> float:
        mean, q = pair_mean(self.student, self.teacher), len(self.pairs)
        means = mean(np.diag(Q)[:, None], R, np.diag(self.T)[None, :])
        factors = -np.outer(self.v, self.w)
        for i, n in np.ndindex(R.shape):
            places = [self._places.get((i, i)), q + i * self.M + n, None]
            self._add(
                places, float(factors[i, n]), [each[..., i, n] for each in means[1:]], slope, bend
            )
        return float(np.sum(factors * means[0]))

    @staticmethod
    def _add(
        places: list[int | None],
        factor: float,
        derivatives: list[np.ndarray],
        slope: np.ndarray,
        bend: np.ndarray,
    ) -> None:
        first, second = derivatives
        for m, row in enumerate(places):
            if row is None:
                continue
            slope[row] += factor * first[m]
            for n, column in enumerate(places):
                if column is not None:
                    bend[row, column] += factor * second[m, n]
