"""Sums of exponentials that approximate sech²(√t), from which mixtures for tanh are made.

Newton's method for the sum of squares over a grid, in multiprecision, because sums of exponentials
determine their exponents badly. The fits depend on no activation: they stand in ``erf_fits.json``,
which ``python -m symderiv.gaussian.erf_fits`` writes. Nothing has to be believed of them, as the
errors of a mixture are proved for the numbers that it has.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import flint
from flint import arb, arb_mat

from symderiv.foundation.files import write_whole

__all__ = ["MOST_TERMS", "RANGE", "ErfFit", "fits", "made"]

MOST_TERMS = 14
RANGE = 16  # sech² is below 1e-13 from here on
_SAMPLES = 160
_BITS = 200
_FILE = Path(__file__).with_suffix(".json")


class ErfFit(NamedTuple):
    """A sum of error functions near tanh.

    Attributes:
        largest: The largest error of its derivative over the grid.
        terms: Scale and weight of each function.
    """

    largest: float
    terms: list[tuple[float, float]]


def fits(tolerance: float) -> Iterator[list[tuple[float, float]]]:
    """Scales and weights with as many terms as the tolerance may need, and more."""
    for number, fit in enumerate(_shipped(), start=1):
        # Fewer cannot do: each term reduces the error by a factor of at most 7 on average.
        last = number == MOST_TERMS
        if 0.02 * 0.14 ** (number - 1) > tolerance and not last:
            continue
        if fit.largest < 1.2 * tolerance or last:
            yield fit.terms


@cache
def _shipped() -> list[ErfFit]:
    fits = json.loads(_FILE.read_text(encoding="utf-8"))
    return [ErfFit(each["largest"], [(a, w) for a, w in each["terms"]]) for each in fits]


def made(terms: int) -> ErfFit:
    """Return the fit with so many terms."""
    with flint.ctx.workprec(_BITS):
        times = [((arb(RANGE) * j / _SAMPLES) ** 2).mid() for j in range(_SAMPLES + 1)]
        values = [(1 / t.sqrt().cosh() ** 2).mid() for t in times]
        logs, factors, largest = _least_squares(times, values, _start(terms))
        fit = []
        for log, factor in zip(logs, factors, strict=True):
            scale = (log / 2).exp()
            fit.append((float(scale.mid()), float((factor * arb.pi().sqrt() / scale / 2).mid())))
        return ErfFit(largest, fit)


def _start(terms: int) -> list[Any]:
    """Return logarithms of exponents to start from: evenly spread, over a range that grows with n.

    The smallest has to follow the tail e^(-2x), the largest the singularity at x = iπ/2.
    """
    if terms == 1:
        return [arb("-0.25")]
    low, high = -math.log(0.883 * terms + 0.9), math.log(0.37 * terms + 1.0)
    return [arb(low + (high - low) * k / (terms - 1)) for k in range(terms)]


def _least_squares(
    times: list[Any], values: list[Any], logs: list[Any]
) -> tuple[list[Any], list[Any], float]:
    """Exponents (logarithms), factors and the largest residual of sech² ≈ Σ factor e^(-s t).

    The best factors are a linear problem at given exponents, so that only the exponents are moved.
    """
    n = len(logs)
    state = _projected(times, values, logs)
    for _ in range(40):
        factors, decays, residuals, squares = state
        exponents = [log.exp().mid() for log in logs]
        rows, curvature = [], [[arb(0), arb(0)] for _ in range(n)]
        for row, t, residual in zip(decays, times, residuals, strict=True):
            bent = [-c * s * t * e for c, s, e in zip(factors, exponents, row, strict=True)]
            rows.append([*row, *bent, residual])
            for k, s in enumerate(exponents):
                moved = residual * s * t * row[k]
                curvature[k][0] += moved
                curvature[k][1] += moved * factors[k] * (1 - s * t)
        product = _gram(rows)
        step = _solved(product, 2 * n)[n:]
        size = _largest(step)
        # Close by, the second derivatives of the terms make the convergence quadratic.
        for k in range(n):
            product[k, n + k] += curvature[k][0]
            product[n + k, k] += curvature[k][0]
            product[n + k, n + k] += curvature[k][1]
        quadratic = _solved(product, 2 * n)[n:]
        if _largest(quadratic) < min(2 * size, 0.1):
            step, size = quadratic, _largest(quadratic)
        damping = min(1.0, 0.4 / size)
        for _ in range(8):
            moved_logs = [(log + damping * s).mid() for log, s in zip(logs, step, strict=True)]
            state = _projected(times, values, moved_logs)
            if state[3] <= squares:
                break
            damping /= 3
        logs = moved_logs
        if size < 1e-10:
            break
    return logs, state[0], _largest(state[2])


def _projected(
    times: list[Any], values: list[Any], logs: list[Any]
) -> tuple[list[Any], list[list[Any]], list[Any], Any]:
    """Return the best factors for given exponents; the decays, the residuals, the sum of their
    squares.
    """
    exponents = [log.exp().mid() for log in logs]
    decays = [[(-s * t).exp().mid() for s in exponents] for t in times]
    product = _gram([[*row, value] for row, value in zip(decays, values, strict=True)])
    factors = _solved(product, len(logs))
    residuals = [
        (value - sum((c * e for c, e in zip(factors, row, strict=True)), arb(0))).mid()
        for row, value in zip(decays, values, strict=True)
    ]
    return factors, decays, residuals, sum((r * r for r in residuals), arb(0)).mid()


def _largest(values: list[Any]) -> float:
    return max(abs(float(value)) for value in values)


def _gram(rows: list[list[Any]]) -> Any:
    matrix = arb_mat(rows)
    return (matrix.transpose() * matrix).mid()


def _solved(product: Any, size: int) -> list[Any]:
    """Return normal equations; the last column of the product is the right-hand side."""
    last = product.ncols() - 1
    left = arb_mat([[product[a, b].mid() for b in range(size)] for a in range(size)])
    right = arb_mat([[product[a, last].mid()] for a in range(size)])
    solution = left.solve(right, algorithm="approx")
    return [solution[k, 0].mid() for k in range(size)]


if __name__ == "__main__":
    rows = [json.dumps(made(terms)._asdict()) for terms in range(1, MOST_TERMS + 1)]
    write_whole(_FILE, ("[\n" + ",\n".join(rows) + "\n]\n").encode())
