"""Random statements of smooth units, their rates beside one quadrature over all fields of a step.

Two units of different functions, one with a bias, a sum of two fields or a polynomial beside it,
learn from a third one; fields are independent, correlated or nearly aligned. Means over drawn
examples tell errors of a hundredth, the quadrature those of 1e-9.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import sympy as sp

import symderiv as sd
from benchmarks.direct_rates import direct_rates

_STEP, _NEAR = 0.2, 1e-9
UNITS: dict[str, Callable[[sp.Expr], sp.Expr]] = {
    "tanh": sp.tanh,
    "softplus": lambda z: sp.log(1 + sp.exp(z)),
    "arctan": sp.atan,
    "logistic": lambda z: 1 / (1 + sp.exp(-z)),
    "erf": lambda z: sp.erf(z / sp.sqrt(2)),
    "Swish": lambda z: z / (1 + sp.exp(-z)),
    "sech": lambda z: 1 / sp.cosh(z),
    "linear": lambda z: z,
    "sine": sp.sin,
}


def stated(seed: int) -> tuple[sd.System, dict[str, Any], str]:
    """Return the statement of a seed, a state, and what it is."""
    rng = np.random.default_rng(seed)
    names = [str(name) for name in rng.choice([*UNITS], 3)]
    form = str(rng.choice(["plain", "bias", "sum of fields", "polynomial"]))
    P = sd.System()
    x, w, B = P.inputs("x"), P.vectors("w", 2), P.vectors("B", fixed=True)
    u, b, eta = P.scalars("u", 2), P.scalars("b"), P.parameter("eta", sp.Rational(3, 2))
    first, second, third = (UNITS[name] for name in names)
    inside = w[0] @ x + {"bias": b, "sum of fields": (w[1] @ x) / 2}.get(form, 0)
    beside = 1 + (w[1] @ x) / 4 if form == "polynomial" else 1
    out = u[0] * first(inside) * beside + u[1] * second(w[1] @ x)
    P.descend((out - third(B @ x)) ** 2 / 2, {w: eta, u: eta, b: eta})
    vectors = rng.standard_normal((3, 5)) * rng.choice([1.0, 0.1, 0.01]) + rng.integers(2)
    vectors *= np.sqrt(rng.uniform(0.2, 2.0, (3, 1))) / np.linalg.norm(vectors, axis=1)[:, None]
    overlaps = vectors @ vectors.T
    state = {"w.w": overlaps[:2, :2], "w.B": overlaps[:2, 2], "B.B": overlaps[2, 2]}
    return P, {**state, "u": rng.uniform(-1, 1, 2), "b": 0.3}, f"{', '.join(names)}; {form}"


@lru_cache(maxsize=1)
def _both(seed: int) -> tuple[dict[str, Any], dict[str, Any], str] | str:
    """Return the rates of a seed and those by quadrature, and what they are of; or a refusal."""
    P, state, what = stated(seed)
    try:
        found = P.rates(state).rates
    except sd.NotClosed as refused:
        return f"refused: {what}: {str(refused).splitlines()[-1][-120:]}"
    what = f"stated {P.solver.closed.means.error:.1e} ({what})"
    return dict(found), dict(direct_rates(P.statement, state, _STEP)), what


def integrated(seed: int, change: float = 1.0) -> str:
    """State the problem of a seed and compare its rates; ``change`` is a factor of them.

    Returns:
        "agrees: …" or "wrong: …", the largest difference, relative to rates above 1, and the error
        that is stated; or "refused: …".
    """
    known = _both(seed)
    if isinstance(known, str):
        return known
    found, rates, what = known
    scale = max(1.0, *(float(np.max(np.abs(rate))) for rate in rates.values()))
    apart = max(
        float(np.max(np.abs(change * np.asarray(found[name]) - rate)))
        for name, rate in rates.items()
    )
    ending = "agrees" if apart <= _NEAR * scale else "wrong"
    return f"{ending}: {apart / scale:.1e}, {what}"
