"""Euler steps of the length 1/N against an accurate solution of the engine's equations."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np
from symderiv_ledger.claims.claim import Point
from symderiv_ledger.rules.arithmetic import Indexed

__all__ = [
    "euler_points",
]


@lru_cache(maxsize=1)
def _solutions() -> tuple[np.ndarray, dict[int, np.ndarray]]:
    """Q at t = 1 for two students, three teachers and three eigenvalues."""
    from scipy.integrate import solve_ivp
    from symderiv_kernels import erf

    K, M, L, copies = 2, 3, 3, 6
    random = np.random.default_rng(4)
    eigenvalue, weight = np.array([1.5, 0.8, 0.2]), np.full(L, 1 / L)
    vectors = random.normal(size=(K + M, L, copies))
    gram = np.einsum("irk,jrk->ijr", vectors, vectors) / copies
    q0, r0, t = gram[:K, :K], gram[:K, K:] * eigenvalue, gram[K:, K:] * eigenvalue**2
    T = (gram[K:, K:] * eigenvalue * weight).sum(axis=-1)
    v0, w = np.array([0.5, -0.7]), np.array([1.0, 0.6, -0.4])
    sizes = [q0.size, q0.size + r0.size]

    def rate(_: float, y: np.ndarray) -> np.ndarray:
        parts = np.split(y, sizes)
        q, r, v = parts[0].reshape(q0.shape), parts[1].reshape(r0.shape), parts[2]
        dq, dr, dv = np.empty_like(q), np.empty_like(r), np.empty_like(v)
        erf.right_hand_side(
            q, r, v, eigenvalue, weight, t, T, w, 0.7, 0.7, 0.0, 0.0, 0.0, 1.0, dq, dr, dv
        )
        return np.concatenate([dq.ravel(), dr.ravel(), dv])

    def overlap(y: np.ndarray) -> np.ndarray:
        found: np.ndarray = (y[: q0.size].reshape(q0.shape) * eigenvalue * weight).sum(axis=-1)
        return found

    start = np.concatenate([q0.ravel(), r0.ravel(), v0])
    exact = solve_ivp(rate, (0.0, 1.0), start, method="DOP853", rtol=1e-12, atol=1e-13)
    stepped = {}
    for N in (100, 1000):
        y = start
        for _ in range(N):
            y = y + rate(0.0, y) / N
        stepped[N] = overlap(y)
    return overlap(exact.y[:, -1]), stepped


def euler_points(numbers: Any) -> Iterator[Point]:
    """Q and stepped at t = 1; the parameter is 1/N."""

    def converted(values: np.ndarray) -> Indexed:
        rows = [[numbers.mpf(float(x)) for x in row] for row in values]
        return Indexed(rows, (1, 2), (1, 2))

    exact, stepped = _solutions()
    for N, found in stepped.items():
        yield Point(
            f"N = {N}", {"K": 2, "M": 3, "Q": converted(exact), "stepped": converted(found)}, 1 / N
        )
