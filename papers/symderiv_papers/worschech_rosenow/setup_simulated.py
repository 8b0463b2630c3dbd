"""Equation 18 against single examples of the learning rule at finite N, without any derivation."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np
from symderiv_ledger.claims.claim import Point
from symderiv_ledger.rules.arithmetic import Indexed, Values
from symderiv_ledger.rules.comparison_rules import Measured

from symderiv_papers.references.vectors import Network, network
from symderiv_papers.worschech_rosenow.setup_points import ETA, network_points

__all__ = [
    "examples",
]

_COPIES, _BLOCKS, _EXAMPLES = 60, 60, 5000


def _networks() -> Iterator[Network]:
    for K, M in ((2, 3), (3, 2)):
        yield network(K, M, ("3", "1/10"), 4, seed=K)


@lru_cache(maxsize=2)
def _changes(state: Network) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray], int]:
    """Return mean and standard error of N times the change of Q^(l) and R^(l) by one example.

    Every component is repeated, so that N is large and the overlaps are those of the state.
    """
    from symderiv_kernels import erf as kernel

    K, M, L = state.K, state.M, state.L
    g, slope = (np.vectorize(f) for f in (kernel.student_activation,
                                          kernel.student_activation_derivative))  # fmt: skip
    J, B, variance = (np.repeat(np.array(a, dtype=float), _COPIES, axis=-1)
                      for a in (state.student, state.teacher, state.variance))  # fmt: skip
    N = variance.size
    eta, v = ETA[0] / ETA[1], M**0.5 / K
    random = np.random.default_rng(K)
    powers = [variance**l for l in range(L)]
    blocks: dict[str, list[np.ndarray]] = {"Q": [], "R": []}
    for _ in range(_BLOCKS):
        xi = random.standard_normal((_EXAMPLES, N)) * np.sqrt(variance)
        x, y = xi @ J.T / N**0.5, xi @ B.T / N**0.5
        delta = v * g(x).sum(axis=1) - M**-0.5 * g(y).sum(axis=1)
        # dJ_i = -eta v delta g'(x_i) xi/sqrt(N)
        step = -eta * v * delta[:, None] * slope(x)
        Q, R = np.zeros((L, K, K)), np.zeros((L, K, M))
        for l, power in enumerate(powers):
            a, b = ((xi * power) @ w.T / N**0.5 for w in (J, B))
            length = (xi**2 * power).sum(axis=1) / N
            first = step.T @ a / _EXAMPLES
            second = (step * length[:, None]).T @ step / _EXAMPLES
            Q[l], R[l] = first + first.T + second, step.T @ b / _EXAMPLES
        blocks["Q"].append(Q)
        blocks["R"].append(R)
    means = {name: np.mean(found, axis=0) for name, found in blocks.items()}
    errors = {name: np.std(found, axis=0, ddof=1) / _BLOCKS**0.5 for name, found in blocks.items()}
    return means, errors, N


def examples(numbers: Any) -> Iterator[Point]:
    for state in _networks():
        means, errors, N = _changes(state)
        point = network_points(state, numbers)
        measured = {}
        for name, columns in (("Q", state.K), ("R", state.M)):
            rows = [
                [[Measured(m, e) for m, e in zip(p, q, strict=True)]
                 for p, q in zip(mean, error, strict=True)]
                for mean, error in zip(means[name].tolist(), errors[name].tolist(), strict=True)
            ]  # fmt: skip
            sizes = (0, state.L - 1), (1, state.K), (1, columns)
            measured[f"d{name}"] = Indexed(rows, *sizes)
        values = {name: point.values[name] for name in point.values if name not in _RATES}
        label = f"K = {state.K}, M = {state.M}, L = {state.L}, N = {N}, eta = 7/10"
        yield Point(label, Values({**values, **measured}))


_RATES = ("dQ", "dR", "dQ1", "dQ2", "epsilon_g")
