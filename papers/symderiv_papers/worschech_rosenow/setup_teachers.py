"""Statistics of teachers and the homogeneous teacher, around equation 95."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

import sympy as sp
from symderiv_ledger.claims.claim import Point
from symderiv_ledger.rules.arithmetic import Indexed

from symderiv.gaussian import expectation
from symderiv_papers.references.exact import as_number
from symderiv_papers.references.vectors import networks

__all__ = [
    "sums",
    "teachers",
]


@lru_cache(maxsize=4)
def _product_moments(same: bool) -> tuple[Fraction, Fraction]:
    """Return mean and variance of B_na B_ma for independent normal components."""
    a, b = sp.symbols("a b", real=True)
    product = a * a if same else a * b
    mean = expectation(product, (a, b), sp.eye(2)).value
    square = expectation(product**2, (a, b), sp.eye(2)).value
    first, second = (Fraction(int(x.p), int(x.q)) for x in (mean, square))
    return first, second - first**2


def _spectrum(L: int, copies: int) -> list[Fraction]:
    """lambda_l ~ 1/l^2 (beta = 1) of mean 1, N = L copies entries."""
    shape = [Fraction(1, l * l) for l in range(1, L + 1)]
    scale = L / sum(shape, Fraction(0))
    return [scale * value for value in shape for _ in range(copies)]


def _statistics(variance: Sequence[Fraction], M: int, numbers: Any) -> dict[str, Any]:
    """Return mean and variance of T_nm^(l) over teachers with components N(0, 1), l = 0 … 4."""
    N = len(variance)
    means, variances = [], []
    for l in range(5):
        total = sum((rho**l for rho in variance), Fraction(0)) / N
        squares = sum((rho ** (2 * l) for rho in variance), Fraction(0)) / N**2
        rows: list[list[list[Any]]] = [[], []]
        for n in range(M):
            moments = [_product_moments(n == m) for m in range(M)]
            rows[0].append([as_number(total * mean, numbers) for mean, _ in moments])
            rows[1].append([as_number(squares * var, numbers) for _, var in moments])
        means.append(rows[0])
        variances.append(rows[1])
    units = (1, M)
    return {
        "mean_T": Indexed(means, (0, 4), units, units),
        "var_T": Indexed(variances, (0, 4), units, units),
    }


def teachers(shapes: Sequence[tuple[int, int]]) -> Callable[[Any], Iterator[Point]]:
    """Ensembles of teachers with (L, N/L), and the variances at half of N."""

    def points(numbers: Any) -> Iterator[Point]:
        for L, copies in shapes:
            variance = _spectrum(L, copies)
            half = _spectrum(L, copies // 2) if copies > 1 else []
            values = {
                **_statistics(variance, 3, numbers),
                "lambda_": Indexed(
                    [as_number(rho, numbers) for rho in variance], (1, len(variance))
                ),
                "beta": 1,
                "M": 3,
                "L": L,
                "N": len(variance),
            }
            if half:
                values["var_half_N"] = _statistics(half, 3, numbers)["var_T"]
            label = f"L = {L}, N = {len(variance)}, beta = 1"
            yield Point(label, values, 1 / len(variance))

    return points


def sums(numbers: Any) -> Iterator[Point]:
    """Yield overlaps of a teacher with the sum of the others, from vectors."""
    for state in networks():
        B = state.teacher
        others = [
            tuple(sum((B[m][a] for m in range(state.M) if m != n), Fraction(0))
                  for a in range(state.N))
            for n in range(state.M)
        ]  # fmt: skip
        orders = range(state.L + 1)
        d = [[as_number(state.overlap(b, o, l), numbers) for b, o in zip(B, others, strict=True)]
             for l in orders]  # fmt: skip
        T = [[[as_number(e, numbers) for e in row] for row in state.gram(B, B, l)] for l in orders]
        top, units = (0, state.L), (1, state.M)
        values = {
            "d": Indexed(d, top, units),
            "T": Indexed(T, top, units, units),
            "M": state.M,
            "K": state.K,
            "L": state.L,
        }
        yield Point(state.label, values)
