"""Section 5: the replica equations for regression on random features, and their special cases."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import numpy as np
from symderiv_ledger.claims.claim import Point
from symderiv_ledger.rules.arithmetic import Values

from symderiv_papers.goldt.ridge_runs import (
    Array,
    feature_problem,
    feature_runs,
    problems,
    runs,
    solution,
)
from symderiv_papers.goldt.setup_points import (
    grid,
)
from symderiv_papers.references.integrals import Integrals

__all__ = [
    "feature_points",
    "measured_points",
    "special_points",
]

#: V, alpha, q, m, rho_0, y, omega, V_0 of the points; m^2 < q rho_0.
_STATES = (
    ("0.7", "1.5", "0.8", "0.6", "1.3", "1", "0.4", "0.9"),
    ("3", "0.4", "2.5", "-0.9", "0.5", "-1", "1.7", "0.2"),
    ("0.05", "6", "0.3", "0.1", "2", "1", "-2.2", "3"),
)
_NAMES = ("V", "alpha", "q", "m", "rho_0", "y", "omega", "V_0")


def _minimiser(loss: Callable[[Any], Any], V: Any, omega: Any, numbers: Any) -> Any:
    """argmin of (x - ω)²/2V + loss(x) from the loss alone."""

    def slope(x: Any) -> Any:
        return numbers.diff(lambda z: (z - omega) ** 2 / (2 * V) + loss(z), x)

    return numbers.findroot(slope, (omega, omega + V / 2), tol=10 ** (-2 * numbers.dps + 6))


def special_points(numbers: Any) -> Iterator[Point]:
    """Yield the general channel side by its own means: for ridge and a linear teacher, exactly."""
    for row in _STATES:
        known = {
            name: numbers.mpf(text.lstrip("-")) * (-1 if text[0] == "-" else 1)
            for name, text in zip(_NAMES, row, strict=True)
        }
        yield Point(
            ", ".join(f"{n} = {t}" for n, t in zip(_NAMES, row, strict=True)),
            Values(known, _special(known, numbers)),
        )


def _special(known: dict[str, Any], numbers: Any) -> dict[str, Callable[[], Any]]:
    V, alpha, q, m, rho_0, y, omega, V_0 = (known[name] for name in _NAMES)

    def ridge(label: Any, at: Any) -> Any:
        return _minimiser(lambda x: (label - x) ** 2 / 2, V, at, numbers)

    def logistic() -> Any:
        return _minimiser(lambda x: numbers.log(1 + numbers.exp(-y * x)), V, omega, numbers)

    @lru_cache(maxsize=1)
    def channel() -> tuple[Any, Any, Any, Any]:
        """Return integrals over ξ and y, exact for the quadratic functions that occur."""
        (xi, zeta), weight = grid(2, 3, numbers)
        rest = rho_0 - m**2 / q
        totals = [numbers.zero] * 4
        step = numbers.mpf(1) / 1024
        for a, b, share in zip(xi, zeta, weight, strict=True):
            mean, own = m / numbers.sqrt(q) * a, numbers.sqrt(q) * a
            label = mean + numbers.sqrt(rest) * b
            near = ridge(label, own)
            # the slope of a linear function
            slope = (ridge(label, own + step) - near) / step
            terms = (
                alpha / V * (1 - slope),
                alpha / V**2 * (near - own) ** 2,
                alpha / V * (label - mean) / rest * (near - own),
                (label - own) ** 2,
            )
            totals = [t + share * term for t, term in zip(totals, terms, strict=True)]
        return totals[0], totals[1], totals[2], totals[3]

    def half_line() -> Any:
        """∫ over the x of sign y of the normal density about ω."""
        scale = numbers.sqrt(2 * numbers.pi * V_0)
        end = omega + y * 14 * numbers.sqrt(V_0)
        places = numbers.linspace(numbers.zero, end, 9) if end * y > 0 else [0, y]

        def density(x: Any) -> Any:
            return numbers.exp(-((x - omega) ** 2) / (2 * V_0)) / scale

        return y * numbers.quad(density, places)

    def wrong() -> Any:
        rows = [[rho_0, m], [m, q]]
        return (1 - Integrals("sign", numbers).at(rows)) / 2

    return {
        "eta_ridge": lambda: ridge(y, omega), "eta_logistic": logistic,
        "V_hat": lambda: channel()[0], "q_hat": lambda: channel()[1],
        "m_hat": lambda: channel()[2], "mse": lambda: channel()[3],
        "Z": half_line, "wrong": wrong,
    }  # fmt: skip


def measured_points(_: Any) -> Iterator[Point]:
    for problem in problems():
        found = runs(problem)
        *_, V_hat, q_hat, m_hat = solution(problem)
        p, d = problem.phi.shape
        rest = problem.rho0 - found.m.mean**2 / found.q.mean
        known = {
            "V_run": found.V, "q_run": found.q, "m_run": found.m,
            "V_hat_run": found.V_hat, "q_hat_run": found.q_hat, "m_hat_run": found.m_hat,
            "V": found.V.mean, "q": found.q.mean, "m": found.m.mean, "alpha": problem.alpha,
            "V_hat": V_hat, "q_hat": q_hat, "m_hat": m_hat, "lambda_": problem.decay,
            "p": p, "d": d, "V_0": rest, "rho_0": problem.rho0,
            "Omega": Array(problem.omega), "Phi": Array(problem.phi),
            "theta": Array(problem.theta[:, None]),
            "identity": lambda size: Array(np.eye(size)),
            "inverse": lambda a: Array(np.linalg.inv(a.values)),
            "transpose": lambda a: Array(a.values.T),
            "trace": lambda a: float(np.trace(a.values)),
            **_means(problem.label, found.V.mean, found.q.mean, found.m.mean, rest),
        }  # fmt: skip
        yield Point(problem.words, Values(known))


def _means(label: Any, V: float, q: float, m: float, rest: float) -> dict[str, Any]:
    """``mean`` over ξ and y, ``eta_V``, its slope, and what ∂_ω Z is beside Z."""
    nodes, weight = np.polynomial.hermite_e.hermegauss(120)
    weight = weight / weight.sum()
    xi, zeta = np.meshgrid(nodes, nodes, indexing="ij")
    own, mean = math.sqrt(q) * xi, m / math.sqrt(q) * xi
    y = label(mean + math.sqrt(rest) * zeta)
    return {
        "mean": lambda values: float(weight @ (values * np.ones_like(xi)) @ weight),
        "eta_V": (own + V * y) / (1 + V),
        "slope": np.full_like(xi, 1 / (1 + V)),
        "omega_1": own,
        # Stein: the derivative by ω_0 of a mean over the teacher's field
        "score": zeta / math.sqrt(rest),
    }


def feature_points(_: Any) -> Iterator[Point]:
    for seed in (0,):
        problem, _F = feature_problem(seed)
        _, q, m, *_rest = solution(problem)
        known = {"mse_run": feature_runs(seed), "q": q, "m": m, "rho_0": problem.rho0}
        yield Point(f"{problem.words}, {seed}", Values(known))
