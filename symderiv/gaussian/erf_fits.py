"""Sums of exponentials that approximate sech²(√t) and sech⁴(√t): mixtures for tanh and its slope.

The second kind stands for the product of two slopes at one field, in place of all pairs of terms of
the first. Newton's method for the sum of squares over a grid, in multiprecision, because sums of
exponentials determine their exponents badly. The fits depend on no activation: they are kept in
``erf_fits.json``, which ``python -m symderiv.gaussian.erf_fits`` writes. No result relies on their
stated errors, because the errors of a mixture are proved for the numbers that it has.
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

__all__ = ["MOST_TERMS", "RANGE", "SLOPE", "SQUARE", "ErfFit", "fits", "fitted"]

SLOPE, SQUARE = "slope", "square of the slope"
"""The functions that are approximated, sech² and sech⁴."""

MOST_TERMS = 14
RANGE = 16  # sech² is below 1e-13 from here on
_SAMPLES = 160
_BITS = 200
_FILE = Path(__file__).with_suffix(".json")


class ErfFit(NamedTuple):
    """A fit by error functions: of sech² by their slopes, or of sech⁴ by the squares of their
    slopes.

    Attributes:
        largest: The largest error over the grid.
        terms: Scale and weight of each function.
    """

    largest: float
    terms: list[tuple[float, float]]


def fits(tolerance: float, of: str = SLOPE) -> Iterator[list[tuple[float, float]]]:
    """Yield scales and weights of the fits with errors below a tolerance, fewest terms first.

    The fit with the most terms is always yielded.
    """
    for number, fit in enumerate(_shipped()[of], start=1):
        if fit.largest < tolerance or number == MOST_TERMS:
            yield fit.terms


@cache
def _shipped() -> dict[str, list[ErfFit]]:
    fits = json.loads(_FILE.read_text(encoding="utf-8"))
    return {
        of: [ErfFit(each["largest"], [(a, w) for a, w in each["terms"]]) for each in fits[of]]
        for of in (SLOPE, SQUARE)
    }


def fitted(terms: int, of: str = SLOPE) -> ErfFit:
    """Compute the fit with this number of terms."""
    with flint.ctx.workprec(_BITS):
        times = [((arb(RANGE) * j / _SAMPLES) ** 2).mid() for j in range(_SAMPLES + 1)]
        power = 2 if of == SLOPE else 4
        values = [(1 / t.sqrt().cosh() ** power).mid() for t in times]
        logs, factors, largest = _least_squares(times, values, _start(terms, of))
        fit = []
        for log, factor in zip(logs, factors, strict=True):
            # the slope of erf(a x) is 2a/√π exp(-a²x²), its square 4a²/π exp(-2a²x²)
            scale = (log / 2).exp() if of == SLOPE else (log.exp() / 2).sqrt()
            slope = 2 * scale / arb.pi().sqrt()
            weight = factor / (slope if of == SLOPE else slope**2)
            fit.append((float(scale.mid()), float(weight.mid())))
        return ErfFit(largest, fit)


def _start(terms: int, of: str) -> list[Any]:
    """Return starting values of the logarithms of exponents, evenly spread over a range.

    The range grows with the number of terms: the smallest has to follow the tail e^(-2x), or
    e^(-4x), the largest the singularity at iπ/2.
    """
    if terms == 1:
        return [arb("-0.25") if of == SLOPE else arb("0.57")]
    low, high = -math.log(0.883 * terms + 0.9), math.log(0.37 * terms + 1.0)
    if of == SQUARE:
        low, high = -math.log(0.3 * terms + 0.3), math.log(0.55 * terms + 2.0)
    return [arb(low + (high - low) * k / (terms - 1)) for k in range(terms)]


def _least_squares(
    times: list[Any], values: list[Any], logs: list[Any]
) -> tuple[list[Any], list[Any], float]:
    """Return exponents (logarithms), factors and the largest residual of sech² ≈ Σ factor e^(-s t).

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
        # Near the minimum, the second derivatives of the terms make the convergence quadratic.
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
    """Return the best factors for given exponents, the decays, the residuals and their sum of
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
    """Return the solution of normal equations; the product's last column is the right-hand side."""
    last = product.ncols() - 1
    left = arb_mat([[product[a, b].mid() for b in range(size)] for a in range(size)])
    right = arb_mat([[product[a, last].mid()] for a in range(size)])
    solution = left.solve(right, algorithm="approx")
    return [solution[k, 0].mid() for k in range(size)]


if __name__ == "__main__":
    written = []
    for of in (SLOPE, SQUARE):
        rows = [json.dumps(fitted(terms, of)._asdict()) for terms in range(1, MOST_TERMS + 1)]
        written.append(f"{json.dumps(of)}: [\n" + ",\n".join(rows) + "\n]")
    write_whole(_FILE, ("{" + ",\n".join(written) + "}\n").encode())
