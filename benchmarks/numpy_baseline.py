"""The named baseline: the erf equations in spectral form, vectorised in NumPy by a careful user.

Written by hand and on its own (it shares nothing with the generated modules), so that it also
serves as a second route to the numbers it is timed against.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class ErfProblem:
    """Student and teacher with g(x) = erf(x / sqrt 2) and inputs with L distinct eigenvalues.

    Shapes: ``eigenvalue``, ``weight`` (L,); ``teacher_overlap`` (L, M, M);
    ``teacher_covariance`` (M, M); ``v`` (K,); ``v_teacher`` (M,).
    """

    eigenvalue: Array
    weight: Array
    teacher_overlap: Array
    teacher_covariance: Array
    v: Array
    v_teacher: Array
    learning_rate: float

    @property
    def sizes(self) -> tuple[int, int, int]:
        return len(self.v), len(self.v_teacher), len(self.eigenvalue)

    def fields(self, state: Array) -> tuple[Array, Array, Array]:
        """Return the covariance of all K + M fields and the per-mode overlaps Q_k, r_k."""
        K, M, L = self.sizes
        Qk = state[: L * K * K].reshape(L, K, K)
        rk = state[L * K * K :].reshape(L, K, M)
        S = np.empty((K + M, K + M))
        S[:K, :K] = np.tensordot(self.weight * self.eigenvalue, Qk, 1)
        S[:K, K:] = np.tensordot(self.weight, rk, 1)
        S[K:, :K] = S[:K, K:].T
        S[K:, K:] = self.teacher_covariance
        return S, Qk, rk

    def generalization_error(self, state: Array) -> float:
        """Return E[(student - teacher)^2] / 2."""
        S, _, _ = self.fields(state)
        a = np.sqrt(1.0 + np.diag(S))
        u = np.concatenate([self.v, -self.v_teacher])
        return float(u @ np.arcsin(S / np.outer(a, a)) @ u / np.pi)

    def right_hand_side(self, _alpha: float, state: Array) -> Array:
        """Return d(state)/d(alpha) including the eta^2 terms."""
        K, _, _ = self.sizes
        S, Qk, rk = self.fields(state)
        u = np.concatenate([self.v, -self.v_teacher])
        a = 1.0 + np.diag(S)
        root = np.sqrt(np.outer(a, a) - S * S)
        coupling = (2.0 / np.pi) * u[:K, None] * u[None, :] / root[:K]
        A = coupling[:, :K].copy()
        A[np.diag_indices(K)] -= (coupling * S[:K] / a[:K, None]).sum(1)
        B = coupling[:, K:]

        # Condition on the two Gaussian factors g'(x_i) g'(x_j), then average g g by the arcsine.
        Q = S[:K, :K]
        det = np.outer(a[:K], a[:K]) - Q * Q
        left, right = S[:K, None, :], S[None, :K, :]
        x1 = (a[None, :K, None] * left - Q[:, :, None] * right) / det[:, :, None]
        x2 = (a[:K, None, None] * right - Q[:, :, None] * left) / det[:, :, None]
        C = S - (left[:, :, :, None] * x1[:, :, None, :] + right[:, :, :, None] * x2[:, :, None, :])
        c = 1.0 / np.sqrt(1.0 + np.diagonal(C, axis1=2, axis2=3))
        angle = np.arcsin(C * c[:, :, :, None] * c[:, :, None, :])
        noise = (4.0 / np.pi**2) * (angle @ u) @ u / np.sqrt(det)
        noise = noise * np.outer(self.v, self.v)

        eta, rho = self.learning_rate, self.eigenvalue[:, None, None]
        drift = rho * (A @ Qk) + B @ rk.transpose(0, 2, 1)
        dQ = -eta * (drift + drift.transpose(0, 2, 1)) + eta**2 * rho * noise
        dr = -eta * (rho * (A @ rk) + B @ self.teacher_overlap)
        return np.concatenate([dQ.ravel(), dr.ravel()])


def power_law_problem(
    K: int, M: int, L: int, *, learning_rate: float, exponent: float = 1.0, seed: int = 0
) -> tuple[ErfProblem, Array]:
    """Return a problem with a power-law spectrum and the overlaps of vectors drawn for it.

    The vectors have 64 coordinates per eigenvalue; the teacher's entries are N(0, 1), the student's
    N(0, 0.01^2); output weights 1/sqrt(M).
    """
    rng = np.random.default_rng(seed)
    rho = np.arange(1, L + 1) ** -(1.0 + exponent)
    rho /= rho.mean()
    n = 64
    J = 0.01 * rng.standard_normal((L, K, n))
    phi = rho[:, None, None] * rng.standard_normal((L, M, n))
    weight = np.full(L, 1.0 / L)
    Qk, rk, tk = (x @ y.transpose(0, 2, 1) / n for x, y in ((J, J), (J, phi), (phi, phi)))
    problem = ErfProblem(
        eigenvalue=rho,
        weight=weight,
        teacher_overlap=tk,
        teacher_covariance=np.tensordot(weight / rho, tk, 1),
        v=np.full(K, M**-0.5),
        v_teacher=np.full(M, M**-0.5),
        learning_rate=learning_rate,
    )
    return problem, np.concatenate([Qk.ravel(), rk.ravel()])


def scipy_solution(problem: ErfProblem, state: Array, end: float, rtol: float) -> Any:
    """Integrate with SciPy's DOP853; the result is SciPy's own."""
    from scipy.integrate import solve_ivp

    return solve_ivp(
        problem.right_hand_side, (0.0, end), state, method="DOP853", rtol=rtol, atol=1e-14
    )


class FastBaseline:
    """The same right-hand side in the fastest form that NumPy and BLAS allow.

    The state is in the layout of the generated modules, (K, K, L) and (K, M, L): A Q and B r are
    one matrix product each for all modes, memory is reused, and of the four-field means only one
    of each set that symmetry makes equal is computed, all of them at once.
    """

    def __init__(self, problem: ErfProblem) -> None:
        K, M, L = self.sizes = problem.sizes
        self.problem = problem
        self.variance = problem.weight * problem.eigenvalue
        self.teacher = np.ascontiguousarray(np.moveaxis(problem.teacher_overlap, 0, -1))
        self.u = np.concatenate([problem.v, -problem.v_teacher])
        self.first, self.second = np.tril_indices(K)
        self.c, self.d = np.tril_indices(K + M)
        self.factor = np.where(self.c == self.d, 1.0, 2.0) * self.u[self.c] * self.u[self.d]
        self.vv = problem.v[self.first] * problem.v[self.second]
        self.S = np.empty((K + M, K + M))
        self.S[K:, K:] = problem.teacher_covariance
        self.drift, self.other = np.empty((2, K, K, L))
        self.own, self.theirs = np.empty((2, K, M, L))
        self.crossed = np.empty((M, K, L))
        self.noise = np.empty((K, K))

    def right_hand_side(self, y: Array, derivative: Array, full: bool) -> None:
        """Fill ``derivative`` with d(y)/d(alpha), with eta^2 terms if ``full``."""
        K, M, L = self.sizes
        problem, S, u = self.problem, self.S, self.u
        eta, rho = problem.learning_rate, problem.eigenvalue
        students = y[: K * K * L].reshape(K, K, L)
        cross = y[K * K * L : K * (K + M) * L].reshape(K, M, L)
        S[:K, :K] = (students.reshape(K * K, L) @ self.variance).reshape(K, K)
        S[:K, K:] = (cross.reshape(K * M, L) @ problem.weight).reshape(K, M)
        S[K:, :K] = S[:K, K:].T
        a = 1.0 + S.diagonal()
        coupling = u[:K, None] * u / np.sqrt(np.multiply.outer(a[:K], a) - S[:K] * S[:K])
        coupling *= -eta * (2.0 / np.pi)
        A = coupling[:, :K].copy()
        A.flat[:: K + 1] -= (coupling * S[:K]).sum(1) / a[:K]
        B = np.ascontiguousarray(coupling[:, K:])
        np.matmul(A, students.reshape(K, K * L), out=self.drift.reshape(K, K * L))
        self.drift *= rho
        np.copyto(self.crossed, cross.transpose(1, 0, 2))
        np.matmul(B, self.crossed.reshape(M, K * L), out=self.other.reshape(K, K * L))
        self.drift += self.other
        d_students = derivative[: K * K * L].reshape(K, K, L)
        np.add(self.drift, self.drift.transpose(1, 0, 2), out=d_students)
        if full:
            d_students += (eta * eta * self._noise(a))[:, :, None] * rho
        d_cross = derivative[K * K * L : K * (K + M) * L].reshape(K, M * L)
        np.matmul(A, cross.reshape(K, M * L), out=self.own.reshape(K, M * L))
        self.own *= rho
        np.matmul(B, self.teacher.reshape(M, M * L), out=self.theirs.reshape(K, M * L))
        np.add(self.own.reshape(K, M * L), self.theirs.reshape(K, M * L), out=d_cross)
        derivative[K * (K + M) * L :] = 0.0

    def _noise(self, a: Array) -> Array:
        S, i, j, c, d = self.S, self.first, self.second, self.c, self.d
        overlap = S[i, j][:, None]
        det = a[i] * a[j] - S[i, j] ** 2
        left, right = S[i], S[j]
        x1 = (a[j][:, None] * left - overlap * right) / det[:, None]
        x2 = (a[i][:, None] * right - overlap * left) / det[:, None]
        scale = 1.0 / np.sqrt(a - left * x1 - right * x2)
        C = S[c, d] - left[:, c] * x1[:, d] - right[:, c] * x2[:, d]
        C *= scale[:, c]
        C *= scale[:, d]
        values = (np.arcsin(C) @ self.factor) * ((4.0 / np.pi**2) * self.vv / np.sqrt(det))
        self.noise[i, j] = values
        self.noise[j, i] = values
        return self.noise
