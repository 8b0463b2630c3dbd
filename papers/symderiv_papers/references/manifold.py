r"""Hidden manifolds of a few dimensions: what statements on structured inputs are compared with.

Inputs x_i = f(U_i) - E f, U = F c/√D with rows of F of squared length D (here F is D x N as papers
have it), are replaced by Gaussian ones with the covariance of the engine's model,

    E[x x] = (E f² - (E f)² - b²) I + b² Fᵀ F/D,   E[x c] = b F/√D,   b = E u f(u).

Covariances of fields follow from explicit vectors. The rates are the engine's gradients and noise,
applied to these vectors and projected on the eigenvectors afterwards.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from symderiv.precision.balls.contexts import numbers as arithmetic
from symderiv_papers.references.moments import Overlaps

__all__ = [
    "Manifold",
    "coefficients",
    "manifold",
]

#: Learning rate of all points: terms of the second order must not be small.
_ETA = (7, 10)


@lru_cache(maxsize=32)
def _closed_coefficients(f: str) -> tuple[Any, ...]:
    import sympy as sp

    from symderiv.formula import activation
    from symderiv.gaussian import expectation

    x = sp.Symbol("x", real=True)
    g = activation(f).expression
    return tuple(expectation(h, [x], sp.eye(1)).value for h in (g, x * g, g**2))


def coefficients(f: str, numbers: Any) -> tuple[Any, Any, Any]:
    """E f, E u f and E f² for u ~ N(0, 1), from the engine's closed forms."""
    from symderiv.gaussian.forms.evaluate import number

    a, b, c = (number(value, numbers.dps, numbers) for value in _closed_coefficients(f))
    return a, b, c


@dataclass(frozen=True, eq=False)
class Manifold:
    """Features, a student and a teacher.

    Args:
        features: F, D x N, columns of squared length D.
        student: W, K x N.
        teacher: Rows of M x D.
        f: The nonlinearity of the inputs.
        activation: Of student and teacher.
        numbers: mpmath numbers.
    """

    features: Any
    student: Any
    teacher: Any
    f: str
    activation: str
    numbers: Any

    @property
    def D(self) -> int:
        return int(self.features.rows)

    @property
    def N(self) -> int:
        return int(self.features.cols)

    @property
    def K(self) -> int:
        return int(self.student.rows)

    @property
    def M(self) -> int:
        return int(self.teacher.rows)

    @cached_property
    def v(self) -> list[Any]:
        return [self.numbers.mpf(5 - 2 * k) / 4 for k in range(self.K)]

    @cached_property
    def v_teacher(self) -> list[Any]:
        return [self.numbers.mpf(3 + 2 * n) / 4 for n in range(self.M)]

    @cached_property
    def eta(self) -> Any:
        return self.numbers.mpf(_ETA[0]) / _ETA[1]

    @cached_property
    def coefficients(self) -> tuple[Any, Any, Any]:
        return coefficients(self.f, self.numbers)

    @cached_property
    def input_covariance(self) -> Any:
        """E[x x], N x N."""
        a, b, c = self.coefficients
        F = self.features
        return (c - a**2 - b**2) * self.numbers.eye(self.N) + b**2 * (F.T * F) / self.D

    @cached_property
    def cross_covariance(self) -> Any:
        """E[x c], N x D."""
        return self.coefficients[1] * self.features.T / self.numbers.sqrt(self.D)

    @cached_property
    def fields(self) -> list[tuple[Any, Any]]:
        """λ_1 … λ_K, ν_1 … ν_M, β_1 … β_D as vectors on x and on c."""
        root_N, root_D = (self.numbers.sqrt(size) for size in (self.N, self.D))
        none = self.numbers.zeros
        found = [(self.student[k, :].T / root_N, none(self.D, 1)) for k in range(self.K)]
        found += [(none(self.N, 1), self.teacher[m, :].T / root_D) for m in range(self.M)]
        found += [(self.features[r, :].T / root_N, none(self.D, 1)) for r in range(self.D)]
        return found

    @cached_property
    def covariance(self) -> list[list[Any]]:
        """Of all fields."""
        x, c = self.input_covariance, self.cross_covariance
        inside = [(x * u + c * w, c.T * u + w) for u, w in self.fields]
        return [[(u.T * p)[0] + (w.T * q)[0] for p, q in inside] for u, w in self.fields]

    def block(self, first: str, second: str) -> list[list[Any]]:
        """Return covariances of two kinds of fields, "student" or "teacher"."""
        ranges = {"student": range(self.K), "teacher": range(self.K, self.K + self.M)}
        return [[self.covariance[i][j] for j in ranges[second]] for i in ranges[first]]

    @cached_property
    def overlaps(self) -> Overlaps:
        """Of the network's fields, as the engine has them."""
        return Overlaps(
            self.block("student", "student"),
            self.block("student", "teacher"),
            self.block("teacher", "teacher"),
            self.v,
            self.v_teacher,
            self.activation,
        )

    @cached_property
    def gradients(self) -> tuple[Any, Any, Any]:
        """(1 + delta_ij) dε/dQ_ij, dε/dR_in and dε/dv_i of the engine."""
        return self.overlaps.gradients(self.numbers)

    @cached_property
    def noise(self) -> list[list[Any]]:
        """The engine's mean of two students' forces."""
        return self.overlaps.noise(self.numbers)

    @cached_property
    def error(self) -> Any:
        """ε_g of the engine."""
        return self.overlaps.error(self.numbers)

    @cached_property
    def student_rate(self) -> Any:
        """dW/dα, K x N."""
        A, B, _ = self.gradients
        students = self.student * self.input_covariance
        teachers = (self.cross_covariance * self.teacher.T).T * self.numbers.sqrt(
            self.numbers.mpf(self.N) / self.D
        )
        return -self.eta * (self.numbers.matrix(A) * students + self.numbers.matrix(B) * teachers)

    @cached_property
    def basis(self) -> tuple[Any, Any]:
        """Eigenvalues of F Fᵀ/N and eigenvectors of squared length D as columns."""
        values, vectors = self.numbers.eigsy(self.features * self.features.T / self.N)
        for tau in range(self.D - self.N):
            values[tau] = self.numbers.zero  # ascending; known to vanish, up to rounding
        return values, vectors * self.numbers.sqrt(self.D)

    def projected(self, weights: Any) -> Any:
        """Return weights on the latent coordinates in the eigenbasis, K x D."""
        return weights * self.basis[1] / self.numbers.sqrt(self.D)

    @cached_property
    def seen(self) -> Any:
        """S = W Fᵀ/√N, K x D."""
        return self.student * self.features.T / self.numbers.sqrt(self.N)

    @cached_property
    def seen_rate(self) -> Any:
        """dS/dα."""
        return self.student_rate * self.features.T / self.numbers.sqrt(self.N)

    def noise_per_mode(self, tau: int) -> Any:
        """Return what a unit of noise adds to the square of a projected weight."""
        direction = self.features.T * self.basis[1][:, tau]
        return (direction.T * self.input_covariance * direction)[0] / (self.N * self.D)


@lru_cache(maxsize=32)
def manifold(
    K: int, M: int, D: int, N: int, f: str, activation: str, digits: int, seed: int
) -> Manifold:
    """Return a manifold of random rational features and weights, columns of F brought to length
    √D.
    """
    rng = random.Random(seed)
    with arithmetic(digits, "mpmath") as numbers:

        def matrix(rows: int, columns: int) -> Any:
            entries = [
                [numbers.mpf(rng.choice((-5, -3, -2, -1, 1, 2, 4))) / 2 for _ in range(columns)]
                for _ in range(rows)
            ]
            return numbers.matrix(entries)

        F, W, teacher = matrix(D, N), matrix(K, N), matrix(M, D)
        for i in range(N):
            length = numbers.sqrt(sum(F[r, i] ** 2 for r in range(D)) / D)
            for r in range(D):
                F[r, i] /= length
        return Manifold(F, W, teacher, f, activation, numbers)
