"""Equations 82 to 88: training outside of the eigenbasis."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final

import numpy as np
from symderiv_ledger.claims.claim import Point
from symderiv_ledger.rules.arithmetic import Indexed, extended
from symderiv_ledger.rules.comparison_rules import Measured

from symderiv.analysis.linear.error_curve import rotated_covariance
from symderiv_papers.references.exact import as_number
from symderiv_papers.references.linear_vectors import (
    END,
    VectorFlow,
    block_flows,
    blocks,
    diagonal,
    sgd_error,
)

Points = Callable[[Any], Iterator[Point]]

_SPECTRUM: Final = (Fraction(2), Fraction(6, 5), Fraction(3, 5), Fraction(1, 5))
_BETAS: Final = (Fraction(1, 2), Fraction(1), Fraction(3))


def trained_blocks(time: str) -> Points:
    """Return random covariances; N/L = 2, 1, 3."""

    def points(numbers: Any) -> Iterator[Point]:
        for point in blocks(numbers, Fraction(time)):
            names = point.values
            N, cut = names["N"], names["N_l"]
            unit = numbers.eye(N)
            decay = numbers.expm(names["tilde_Sigma"] * (-names["eta"] * names["alpha"]))
            more = {"E_1": unit[:, :cut], "E_2": unit[:, cut:], "E": decay}
            yield Point(point.label, extended(names, more))

    return points


def small_rates(numbers: Any) -> Iterator[Point]:
    """Yield exact SGD at finite N, run to its end, η to 0."""
    for flow in block_flows(numbers, Fraction(1)):
        deviation = 1 + float(flow.student_std) ** 2
        for part in (8, 16, 32):
            exact = sgd_error(flow.covariance, flow.trained, 1 / part, deviation, 10**6)
            series = f"N = {flow.N}, covariance {flow.seed}"
            point = flow.point(f"{series}, eta = 1/{part}")
            more = {"epsilon_g": numbers.mpf(exact)}
            yield Point(point.label, extended(point.values, more), 1 / part, series)


def in_eigenbasis(numbers: Any) -> Iterator[Point]:
    yield diagonal(numbers, _SPECTRUM, 2, 2, END, spaces=True)
    yield diagonal(numbers, (5, Fraction(1, 2)), 1, 3, END)
    yield diagonal(numbers, (3, Fraction(2)), 2, 1, END, spaces=True)


def turned(numbers: Any) -> Iterator[Point]:
    """Eigenvectors turned away from the trained directions, by little and by much."""
    for trained in (1, 2, 3):
        for angle in ("0.001", "0.4", "1.1"):
            values = [as_number(value, numbers) for value in _SPECTRUM]
            N, turn = len(values), numbers.mpf(angle)
            basis = numbers.eye(N)
            for i, j in ((0, 2), (1, 3), (0, 3), (1, 2)):
                plane = numbers.eye(N)
                plane[i, i] = plane[j, j] = numbers.cos(turn)
                plane[j, i] = numbers.sin(turn)
                plane[i, j] = -plane[j, i]
                basis = basis * plane
            matrix = basis * numbers.diag(values) * basis.T
            mask = tuple(k < trained for k in range(N))
            flow = VectorFlow(numbers, matrix, mask, Fraction(4 * 10**6), N)
            point = flow.point(f"N_l = {trained}, turned by {angle}")
            more = {"lambda_": Indexed(values, (1, N))}
            yield Point(point.label, extended(point.values, more), series=f"N_l = {trained}")


def doubled(numbers: Any) -> Iterator[Point]:
    """ε_g,asymp with 2 N_l trained directions over that with N_l; L = N_l^6, N_l to infinity."""
    for beta in _BETAS:
        b = as_number(beta, numbers)
        for trained in (20, 40, 80):
            end = numbers.zeta(1 + b, trained**6 + 1)
            one, two = (numbers.zeta(1 + b, n + 1) - end for n in (trained, 2 * trained))
            values = {"beta": b, "ratio": two / one}
            yield Point(f"beta = {beta}, N_l = {trained}", values, 1 / trained, str(beta))


_SIZES: Final = (16, 32, 64)


@lru_cache(maxsize=4)
def _random_errors(beta: float, N: int = 4000, samples: int = 12) -> np.ndarray[Any, Any]:
    """N ε_g,asymp (up to one factor) of random orthogonal bases, shape (samples, sizes).

    With W_1 the rows of W that are trained the blocks give N - tr((W_1 Λ W_1ᵀ)⁻¹ W_1 Λ² W_1ᵀ),
    which any basis of the same rows gives, so that normal numbers need not be made orthogonal.
    """
    source = np.random.default_rng(5)
    eigenvalue = np.arange(1, N + 1) ** -(1.0 + beta)
    eigenvalue *= N / eigenvalue.sum()
    found = np.empty((samples, len(_SIZES)))
    for sample in range(samples):
        rows = source.standard_normal((_SIZES[-1], N))
        inner, square = (
            np.einsum("ik,k,jk->ij", rows, values, rows, optimize=False)
            for values in (eigenvalue, eigenvalue**2)
        )
        for place, size in enumerate(_SIZES):
            part = np.linalg.solve(inner[:size, :size], square[:size, :size])
            found[sample, place] = N - np.trace(part)
    return found


def random_doubled(numbers: Any) -> Iterator[Point]:
    for beta in (Fraction(1), Fraction(3, 2)):
        errors = _random_errors(float(beta))
        for place in range(len(_SIZES) - 1):
            one, two = errors[:, place], errors[:, place + 1]
            ratio = two.mean() / one.mean()
            spread = ratio * np.std(two / two.mean() - one / one.mean(), ddof=1)
            measured = Measured(float(ratio), float(spread / np.sqrt(len(one))))
            yield Point(
                f"beta = {beta}, N = 4000, N_l = {_SIZES[place]}",
                {"beta": numbers.mpf(float(beta)), "ratio": measured},
            )


def orthogonal(numbers: Any) -> Iterator[Point]:
    """Squares of one entry of random eigenbases, in the engine's rotated covariances."""
    for N in (3, 8):
        squares = []
        for seed in range(400):
            # two eigenvalues: the entry of the covariance is that of W²
            values = np.zeros(N)
            values[0] = 1.0
            squares.append(rotated_covariance(values, seed)[1, 1])
        error = np.std(squares, ddof=1) / np.sqrt(len(squares))
        measured = Measured(float(np.mean(squares)), float(error))
        yield Point(f"N = {N}", {"N": N, "L": 2, "M": 1, "K": 1, "square": measured})
