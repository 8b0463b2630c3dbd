"""Section 5: the replica equations for regression on random features, and their special cases."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import numpy as np

from symderiv.verification.arithmetic import Values
from symderiv.verification.claim import Claim, Point
from symderiv.verification.rules import Converges, Exact, WithinErrorBars
from symderiv_papers.goldt.ridge_runs import (
    Array,
    feature_problem,
    feature_runs,
    problems,
    runs,
    solution,
)
from symderiv_papers.goldt.setup_points import (
    eigenbasis_points,
    grid,
    manifold_points,
)
from symderiv_papers.references.integral_references import Integrals

__all__ = ["CLAIMS"]

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


def _special_points(numbers: Any) -> Iterator[Point]:
    """The general channel side by its own means: for ridge and a linear teacher, exactly."""
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
        """Integrals over ξ and y, exact for the quadratic functions that occur."""
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


def _measured_points(_: Any) -> Iterator[Point]:
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


def _feature_points(_: Any) -> Iterator[Point]:
    for seed in (0,):
        problem, _F = feature_problem(seed)
        _, q, m, *_rest = solution(problem)
        known = {"mse_run": feature_runs(seed), "q": q, "m": m, "rho_0": problem.rho0}
        yield Point(f"{problem.words}, {seed}", Values(known))


_SIZES = "finite size: 4 standard errors and 1 % of p = 120 to 160"
_BARS = WithinErrorBars(systematic=0.01, backend="float64")
_GIVEN = "The weight side; V_hat, q_hat, m_hat of a run are those that give its V, q and m."
_LOWER = "inverse(lambda_*identity(p) + V_hat*Omega)"

_GENERAL = [
    Claim(
        "estimator",
        definition=True,
        note="The runs behind the other claims of this section minimise this with the square loss.",
    ),
    Claim(
        "overlaps",
        "Q[k, k] == 1/N*Sum(w[k, i]*Omega[i, j]*w[k, j], (i, 1, N), (j, 1, N))",
        eigenbasis_points,
        Exact(),
        "k = 1..K",
        part="q",
        printed=0,
        definition=True,
        where="Q is E[(w x)^2]/N, with p = N.",
        symmetric=("Omega",),
    ),
    Claim(
        "overlaps",
        "R[k, m] == 1/sqrt(N*D)*Sum(w[k, i]*Phi[i, r]*tilde_w[m, r], (i, 1, N), (r, 1, D))",
        eigenbasis_points,
        Exact(),
        "k = 1..K, m = 1..M",
        part="m",
        printed=1,
        definition=True,
        where="R is E[lambda nu], with p = N, d = D, theta_0 a teacher's weights.",
    ),
    *(
        Claim(
            "channel",
            statement,
            _measured_points,
            _BARS,
            part=part,
            printed=number,
            regime=f"Square loss, linear labels and signs; {_SIZES}",
            given=_GIVEN,
            where="score is the derivative of log Z by omega_0, so that the integral with the "
            "derivative of Z is a mean.",
            note=note,
        )
        for number, (part, statement, note) in enumerate(
            (
                ("V hat", "V_hat_run == alpha/V*mean(1 - slope)", ""),
                ("q hat", "q_hat_run == alpha/V**2*mean((eta_V - omega_1)**2)", ""),
                (
                    "m hat",
                    "m_hat_run == alpha/V*mean(score*(eta_V - omega_1))",
                    "The integral of the derivative of Z over y vanishes, so omega_1 may be left "
                    "out.",
                ),
            )
        )
    ),
    *(
        Claim(
            "weights",
            statement,
            _measured_points,
            _BARS,
            part=part,
            printed=number,
            regime=f"Square loss, linear labels and signs; {_SIZES}",
            given="V_hat, q_hat, m_hat of the fixed point for the square loss.",
            where="The left side is measured in runs: V = Tr Omega (X^T X/p + lambda)^(-1)/p.",
        )
        for number, (part, statement) in enumerate(
            (
                ("V", f"V_run == 1/p*trace(Omega @ {_LOWER})"),
                (
                    "q",
                    f"q_run == 1/p*trace(Omega @ {_LOWER} @ {_LOWER} @ (q_hat*Omega + m_hat**2*p/d*"
                    "(Phi @ theta @ transpose(theta) @ transpose(Phi))))",
                ),
                (
                    "m",
                    "m_run == m_hat/d*trace("
                    f"transpose(theta) @ transpose(Phi) @ {_LOWER} @ Phi @ theta)",
                ),
            )
        )
    ),
]

_FEATURES = [
    Claim(
        "random features",
        "Omega[i, j] == b**2*Sum(F[i, r]*F[j, r], (r, 1, D))/D + rest*delta(i, j)",
        manifold_points("relu"),
        Converges(0.5),
        "i = 1..N, j = 1..N",
        part="Omega",
        printed=0,
        regime="Small parameter 1/d; ReLU; rows of squared length d, overlaps of rows of order "
        "1/sqrt(d).",
        where="b and rest are kappa_1 and kappa_star^2, the mean is taken off.",
    ),
    Claim(
        "random features",
        "mse_run == rho_0 + q - 2*m",
        _feature_points,
        WithinErrorBars(systematic=0.02, backend="float64"),
        part="test error of erf features",
        regime="p = 240, d = 160, n = 300; 4 standard errors and 2 %.",
        given="q and m of the fixed point with the printed Omega and Phi.",
        where="The left side is measured with the features themselves, not with Gaussian ones.",
    ),
]

_RIDGE = [
    Claim(
        equation,
        statement,
        _special_points,
        Exact(),
        part=part,
        printed=printed,
        given=given,
        where=where,
    )
    for equation, part, printed, statement, given, where in (
        ("ridge", "eta_V", 0, "eta_ridge == (omega + V*y)/(1 + V)", "",
         "The left side is the minimiser, found numerically."),
        ("ridge", "V hat", 1, "V_hat == alpha/(1 + V)", "The channel side.",
         "The left side is the general integral with the minimiser found numerically."),
        ("ridge", "m hat", 2, "m_hat == alpha/(1 + V)", "The channel side; linear teacher.",
         "As for V hat."),
        ("ridge", "q hat", 3, "q_hat == alpha*(rho_0 + q - 2*m)/(1 + V)**2",
         "The channel side; linear teacher.", "As for V hat."),
        ("ridge", "test error", 4, "mse == rho_0 + q - 2*m", "Linear teacher.",
         "The left side is the mean over both fields."),
        ("logistic", "eta_V", 0, "eta_logistic == omega + V*y/(1 + exp(y*eta_logistic))", "",
         "The left side is the minimiser, found numerically."),
        ("logistic", "Z", 1, "Z == 1/2*erfc(-y*omega/sqrt(2*V_0))", "",
         "The left side is the integral over the half-line where sgn x = y."),
        ("logistic", "classification error", 2, "wrong == 1/pi*acos(m/sqrt(rho_0*q))", "",
         "The left side is the probability of different signs, by the engine."),
    )
]  # fmt: skip

CLAIMS = (*_GENERAL, *_FEATURES, *_RIDGE)
