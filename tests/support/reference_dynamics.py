"""The dynamics of erf networks in arbitrary precision, written by hand and apart from the engine.

The right-hand side is the textbook one: sums of the three- and four-field averages of Saad and
Solla (1995) for g(x) = erf(x / sqrt 2), per eigenspace, with the middle field of I3 projected on
the eigenspace. It shares no formula with the engine, which differentiates the error function.
The integration is Gragg's midpoint rule with extrapolation (Hairer, Norsett and Wanner 1993, II.9).

Numbers are ``flint.arb`` balls whose radii are dropped after each evaluation; any context with
``sqrt``, ``asin`` and ``pi`` would do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import flint
import numpy as np

Number = Any
Matrix = list[list[Number]]


def pi() -> Number:
    return flint.arb.pi()


def i2(c11: Number, c22: Number, c12: Number) -> Number:
    """E[g(u) g(v)]."""
    return 2 / pi() * (c12 / ((1 + c11) * (1 + c22)).sqrt()).asin()


def i3(c11: Number, c12: Number, c13: Number, c23: Number, c33: Number) -> Number:
    """E[g'(u) v g(w)]."""
    root = ((1 + c11) * (1 + c33) - c13 * c13).sqrt()
    return 2 / pi() / root * (c23 * (1 + c11) - c12 * c13) / (1 + c11)


def i4(C: Matrix, a: int, b: int, c: int, d: int) -> Number:
    """E[g'(z_a) g'(z_b) g(z_c) g(z_d)]."""
    A, B = 1 + C[a][a], 1 + C[b][b]
    base = A * B - C[a][b] * C[a][b]
    top = (
        base * C[c][d]
        - C[b][c] * C[b][d] * A
        - C[a][c] * C[a][d] * B
        + C[a][b] * (C[a][c] * C[b][d] + C[a][d] * C[b][c])
    )

    def below(e: int) -> Number:
        return (
            base * (1 + C[e][e])
            - C[b][e] * C[b][e] * A
            - C[a][e] * C[a][e] * B
            + 2 * C[a][b] * C[a][e] * C[b][e]
        )

    return 4 / pi() ** 2 / base.sqrt() * (top / (below(c) * below(d)).sqrt()).asin()


def g_prime_product(c11: Number, c22: Number, c12: Number) -> Number:
    """E[g'(u) g'(v)]."""
    return 2 / pi() / ((1 + c11) * (1 + c22) - c12 * c12).sqrt()


@dataclass
class Problem:
    """Everything constant; the doubles are taken as the exact numbers they are."""

    eigenvalue: list[Number]
    weight: list[Number]
    teacher_overlap: list[Matrix]
    T: Matrix
    v_teacher: list[Number]
    K: int
    eta: Number
    eta_v: Number
    kappa: Number
    kappa_v: Number
    sigma: Number
    full: bool = True

    def unpack(self, y: list[Number]) -> tuple[list[Matrix], list[Matrix], list[Number]]:
        K, M, L = self.K, len(self.v_teacher), len(self.eigenvalue)
        q = [[y[(k * K + i) * K : (k * K + i + 1) * K] for i in range(K)] for k in range(L)]
        at = L * K * K
        r = [[y[at + (k * K + i) * M :][:M] for i in range(K)] for k in range(L)]
        return q, r, y[at + L * K * M :]

    def covariance(self, q: list[Matrix], r: list[Matrix]) -> Matrix:
        K, M, L = self.K, len(self.v_teacher), len(self.eigenvalue)
        C = [[flint.arb(0)] * (K + M) for _ in range(K + M)]
        for i in range(K):
            for j in range(K):
                C[i][j] = sum(
                    (self.weight[k] * self.eigenvalue[k] * q[k][i][j] for k in range(L)),
                    flint.arb(0),
                )
            for n in range(M):
                C[i][K + n] = C[K + n][i] = sum(
                    (self.weight[k] * r[k][i][n] for k in range(L)), flint.arb(0)
                )
        for n in range(M):
            for m in range(M):
                C[K + n][K + m] = self.T[n][m]
        return C

    def error(self, y: list[Number]) -> Number:
        q, r, v = self.unpack(y)
        C = self.covariance(q, r)
        s = [*v, *(-w for w in self.v_teacher)]
        total = flint.arb(0)
        for a in range(len(s)):
            for b in range(len(s)):
                total += s[a] * s[b] * i2(C[a][a], C[b][b], C[a][b])
        return total / 2

    def rhs(self, y: list[Number]) -> list[Number]:
        K, M, L = self.K, len(self.v_teacher), len(self.eigenvalue)
        q, r, v = self.unpack(y)
        C = self.covariance(q, r)
        s = [*v, *(-w for w in self.v_teacher)]
        fields = range(K + M)
        noise = [[flint.arb(0)] * K for _ in range(K)]
        if self.full:
            for i in range(K):
                for j in range(i + 1):
                    total = self.sigma**2 * g_prime_product(C[i][i], C[j][j], C[i][j])
                    for a in fields:
                        for b in range(a + 1):
                            factor = 1 if a == b else 2
                            total += factor * s[a] * s[b] * i4(C, i, j, a, b)
                    noise[i][j] = noise[j][i] = v[i] * v[j] * total
        out_q, out_r = [], []
        for k in range(L):
            rho = self.eigenvalue[k]
            t = self.teacher_overlap[k]

            def drift(i: int, own: Number, others: list[Number]) -> Number:
                # E[delta v_i g'(x_i) s] for the field s whose covariance with x_i is `own` and
                # with all the fields in turn is `others`
                total = flint.arb(0)
                for a in fields:
                    total += s[a] * i3(C[i][i], own, C[i][a], others[a], C[a][a])
                return v[i] * total

            for i in range(K):
                for j in range(K):
                    value = -2 * self.kappa * q[k][i][j] + self.eta**2 * rho * noise[i][j]
                    for a, b in ((i, j), (j, i)):
                        others = [rho * q[k][b][c] for c in range(K)] + list(r[k][b])
                        value -= self.eta * drift(a, others[a], others)
                    out_q.append(value)
                for n in range(M):
                    others = [rho * r[k][c][n] for c in range(K)] + [t[n][m] for m in range(M)]
                    value = -self.eta * drift(i, others[i], others) - self.kappa * r[k][i][n]
                    out_r.append(value)
        out_v = []
        for i in range(K):
            total = flint.arb(0)
            for a in fields:
                total += s[a] * i2(C[i][i], C[a][a], C[i][a])
            out_v.append(-self.eta_v * total - self.kappa_v * v[i])
        return [x.mid() for x in (*out_q, *out_r, *out_v)]


def exact(array: np.ndarray) -> Any:
    """The doubles of an array as exact numbers in nested lists."""
    if array.ndim == 0:
        return flint.arb(float(array))
    return [exact(part) for part in array]


def integrate(
    problem: Problem, y: list[Number], times: list[float], tolerance: float = 1e-16
) -> tuple[list[list[Number]], float]:
    """The solution at ascending times from time 0, and the summed error estimates."""
    now, step, spent = 0.0, 0.25, 0.0
    results = []
    for target in times:
        while now < target:
            last = now + step >= target
            size = target - now if last else step
            candidate, error = _extrapolated(problem, y, size)
            if error > tolerance:
                step = size * 0.6
                continue
            y, spent = candidate, spent + error
            now = target if last else now + size
            if not last:
                step *= min(2.0, max(0.7, 0.8 * (tolerance / max(error, 1e-40)) ** (1 / 15)))
        results.append(y)
    return results, spent


def _extrapolated(
    problem: Problem, y: list[Number], size: float, columns: int = 8
) -> tuple[list[Number], float]:
    H = flint.arb(size)
    slope = problem.rhs(y)
    rows: list[list[list[Number]]] = []
    counts = [2 * (j + 1) for j in range(columns)]
    for j, n in enumerate(counts):
        h = H / n
        before, here = y, [a + h * b for a, b in zip(y, slope, strict=True)]
        for _ in range(1, n):
            f = problem.rhs(here)
            before, here = (
                here,
                [(a + 2 * h * b).mid() for a, b in zip(before, f, strict=True)],
            )
        row = [here]
        for m in range(1, j + 1):
            ratio = flint.arb(counts[j] * counts[j]) / (counts[j - m] * counts[j - m]) - 1
            row.append(
                [(a + (a - b) / ratio).mid() for a, b in zip(row[-1], rows[-1][m - 1], strict=True)]
            )
        rows.append(row)
    best, second = rows[-1][-1], rows[-1][-2]
    error = max(abs(float((a - b).mid())) for a, b in zip(best, second, strict=True))
    return best, error
