"""Points of claims on squares: phase retrieval, wide committees, fluctuations of one step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final

import sympy as sp
from symderiv_ledger.claims.claim import Point
from symderiv_ledger.rules.arithmetic import Indexed

from symderiv.gaussian import covariance_symbols, expectation
from symderiv_papers.public_code.rates import Committee, point, table
from symderiv_papers.references.exact import as_number

__all__ = ["fluctuations", "narrow", "wide", "wider"]

#: Variance of the labels' noise.
_NOISE: Final = Fraction(3, 7)
#: q, m, ρ and γ of phase retrieval with one unit.
_STATES: Final = (
    (Fraction(3, 2), Fraction(1, 3), Fraction(1), Fraction(3, 5)),
    (Fraction(2, 3), Fraction(-1, 2), Fraction(5, 4), Fraction(4, 3)),
    (Fraction(1, 9), Fraction(1, 50), Fraction(2), Fraction(1, 10)),
)


def _wide(activation: str, copies: int = 1) -> Iterator[tuple[Committee, Any]]:
    """Orthogonal teachers of length one, Q = R Rᵀ + a diagonal, output weights 1/K and 1/M."""
    cross = (
        ([[0.5, -0.25, 1.0, 0.25], [0.75, 0.5, -0.5, 0.125]], [0.5, 1.25], 1.5),
        ([[0.25, 1.0], [-0.5, 0.75], [1.25, -0.25], [0.5, 0.25]], [0.25, 0.75, 1.5, 1.0], 0.75),
    )
    for units, rests, eta in cross:
        R, rest = units * copies, rests * copies
        K, M = len(R), len(R[0])
        Q = [
            [sum(a * b for a, b in zip(R[i], R[k], strict=True)) + rest[i] * (i == k)
             for k in range(K)] for i in range(K)
        ]  # fmt: skip
        rows = [Q[i] + R[i] for i in range(K)]
        rows += [[R[i][n] for i in range(K)] + [float(n == m) for m in range(M)] for n in range(M)]
        yield Committee(rows, [1 / K] * K, [1 / M] * M, eta, activation), rest


def wide(numbers: Any) -> Iterator[Point]:
    """Yield points as ``narrow`` does, for erf."""
    yield from _points("erf", numbers)


def wider(numbers: Any) -> Iterator[Point]:
    """Yield points as ``wide``, dD that of infinitely many copies of each unit, per K/eta of what
    they are.

    A unit's own share of K dD is of order 1/K and exactly so, as all other sums over copies are
    means: the limit follows from one and two copies of each.
    """
    for (one, rest), (two, _) in zip(_wide("erf"), _wide("erf", 2), strict=True):
        single, double = (_rates_beside(committee, numbers) for committee in (one, two))
        limit = [4 * double[i] - single[i] for i in range(one.K)]
        more = {"D": table(rest, numbers), "dD": Indexed(limit, (1, one.K))}
        yield point(one, numbers, "", more)


def narrow(numbers: Any) -> Iterator[Point]:
    """Squares whose overlaps beside the teachers are a diagonal, to the first order in η.

    Names: those of ``rates.point`` without labels' noise, and D[i] = Q[i, i] - the sum of R[i, n]²
    with its rate dD[i] and the part noise_of_D[i] of labels' noise of variance sigma².
    """
    yield from _points("x**2", numbers)


def _points(activation: str, numbers: Any) -> Iterator[Point]:
    for one, rest in _wide(activation):
        K = one.K
        loud = replace(one, noise=0.5).flow(numbers).dQ
        still = one.flow(numbers).dQ
        rate = _rates_beside(one, numbers)
        more = {
            "D": table(rest, numbers),
            "sigma": numbers.mpf(0.5),
            "dD": Indexed(rate, (1, K)),
            "noise_of_D": Indexed([loud[i][i] - still[i][i] for i in range(K)], (1, K)),
        }
        yield point(one, numbers, "", more)


def _rates_beside(one: Committee, numbers: Any) -> list[Any]:
    """Return rates of the diagonal of Q - R Rᵀ to the first order in η."""
    K, first = one.K, one.flow(numbers, full=False)
    return [
        first.dQ[i][i]
        - 2 * sum(numbers.mpf(one.gram[i][K + n]) * first.dR[i][n] for n in range(one.M))
        for i in range(K)
    ]


def fluctuations(numbers: Any) -> Iterator[Point]:
    """Yield one student and one teacher with the activation x², one example of variance N.

    Names: q, m, rho, gamma (learning rate), noise (variance of the labels' noise), variance_q,
    variance_m and covariance, those of N times one step's changes of q and m.
    """
    for q, m, rho, gamma in _STATES:
        exact = {"q": q, "m": m, "rho": rho, "gamma": gamma, "noise": _NOISE}
        values = {name: as_number(value, numbers) for name, value in exact.items()}
        for name, form in _forms().items():
            found = form.subs({sp.Symbol(k): sp.Rational(v) for k, v in exact.items()})
            values[name] = as_number(Fraction(int(found.p), int(found.q)), numbers)
        yield Point(f"q = {q}, m = {m}, rho = {rho}, gamma = {gamma}, noise = {_NOISE}", values)


@lru_cache(maxsize=1)
def _forms() -> dict[str, sp.Expr]:
    """Return variances by Gaussian means of polynomials; z is the labels' noise."""
    x, y, z = sp.symbols("x y z", real=True)
    q, m, rho, gamma, noise = sp.symbols("q m rho gamma noise")
    symbols = covariance_symbols(3)
    entries = {
        symbols[0, 0]: q, symbols[0, 1]: m, symbols[1, 1]: rho, symbols[2, 2]: noise,
        symbols[0, 2]: 0, symbols[1, 2]: 0,
    }  # fmt: skip

    def mean(polynomial: sp.Expr) -> sp.Expr:
        terms = sp.Add.make_args(sp.expand(polynomial))
        found = [expectation(term, [x, y, z], symbols).unfolded() for term in terms]
        return sp.Add(*found).subs(entries)

    delta = y**2 + z - x**2
    of_m = 2 * gamma * delta * x * y
    of_q = 4 * gamma * delta * x**2 + 4 * gamma**2 * delta**2 * x**2
    return {
        "variance_q": mean(of_q**2) - mean(of_q) ** 2,
        "variance_m": mean(of_m**2) - mean(of_m) ** 2,
        "covariance": mean(of_q * of_m) - mean(of_q) * mean(of_m),
    }
