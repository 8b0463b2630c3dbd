"""The second derivation in normalised variables: equations 59 to 76."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

from symderiv_ledger.claims.claim import Point
from symderiv_ledger.claims.statement import Relation, parse_statement
from symderiv_ledger.rules.arithmetic import evaluate

from symderiv_papers.relu_localization.references import moderate_points
from symderiv_papers.relu_localization.splits import with_two_constraints
from symderiv_papers.relu_localization.variables import moment_formula

__all__ = [
    "correlations",
    "moderate",
    "scalars",
]

_CORRELATIONS = (-0.8125, -0.375, 0.25, 0.6875, 0.9375)


@functools.lru_cache(maxsize=4)
def _kept_moment(power: int) -> Relation:
    """Return the engine's E[x^power θ(x)] for x ~ N(m, c11)."""
    import sympy as sp

    from symderiv.gaussian import covariance_symbols, expectation

    x, m = sp.symbols("x m")
    found = expectation(x**power * sp.Heaviside(x), [x], covariance_symbols(1), mean=sp.Matrix([m]))
    return parse_statement(f"0 == {found.value}")


def _values(rho: Any, t: Any, numbers: Any) -> dict[str, Any]:
    """rho, T' = t, and moments of S' given it with the event S' > 0 kept: kept0, kept1, kept2.

    ``second`` is E[(S')^2 1(S' > 0) 1(T' > 0)], also that of (T')^2; ``both`` is P(S' > 0, T' > 0).
    """
    given = {"m": rho * t, "c11": 1 - rho**2}
    one = numbers.mpf(1)
    entries = {"c11": one, "c12": one, "c22": one, "c33": one, "c44": one}
    entries |= {"c13": one, "c14": rho, "c23": one, "c24": rho, "c34": rho}
    known = {
        f"kept{power}": evaluate(_kept_moment(power).sides[1], given, numbers) for power in range(3)
    }
    both = {"c11": one, "c12": rho, "c22": one}
    return known | {
        "rho": rho,
        "t": t,
        "second": evaluate(moment_formula(2, 2).sides[1], entries, numbers),
        "both": evaluate(moment_formula(0, 2).sides[1], both, numbers),
    }


def moderate(numbers: Any) -> Iterator[Point]:
    yield from with_two_constraints(moderate_points(numbers), numbers)


def scalars(numbers: Any) -> Iterator[Point]:
    """Yield both signs of rho, several values of T' > 0."""
    for rho in _CORRELATIONS:
        for t in (0.25, 1.125, 2.5):
            values = _values(numbers.mpf(rho), numbers.mpf(t), numbers)
            yield Point(f"rho = {rho}, T' = {t}", values)


def correlations(numbers: Any) -> Iterator[Point]:
    """Yield both signs of rho."""
    for rho in _CORRELATIONS:
        yield Point(f"rho = {rho}", _values(numbers.mpf(rho), numbers.mpf(1), numbers))
