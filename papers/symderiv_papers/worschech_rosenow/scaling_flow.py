"""Equations 58 to 67, 80 and 81: the mean flow of all weights and what follows from it."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any, Final

from symderiv_ledger.claims.claim import Point
from symderiv_ledger.rules.arithmetic import Indexed, extended

from symderiv_papers.references.companion import Companion
from symderiv_papers.references.linear_vectors import (
    VectorFlow,
    blocks,
    diagonal,
    random_covariance,
    sgd_error,
)

UNEQUAL: Final = (Fraction(9, 5), Fraction(4, 5), Fraction(2, 5))
FOUR: Final = (Fraction(2), Fraction(6, 5), Fraction(3, 5), Fraction(1, 5))
TIME: Final = Fraction(13, 10)


def all_trained(numbers: Any) -> Iterator[Point]:
    """N/L = 2, 1, 3; a general spectrum and power laws."""
    yield diagonal(numbers, UNEQUAL, 2, 6, TIME)
    yield diagonal(numbers, FOUR, 1, 4, Fraction(1, 3))
    yield diagonal(numbers, (2, Fraction(2)), 3, 6, Fraction(5))


def small_rates(numbers: Any) -> Iterator[Point]:
    """Yield exact SGD at finite N, η to 0 at fixed η α."""
    for spectrum, copies in ((UNEQUAL, 2), (FOUR, 1)):
        N = copies * len(spectrum)
        for part in (16, 32, 64):
            eta = Fraction(1, part)
            steps = N * part // 2
            point = diagonal(numbers, spectrum, copies, N, Fraction(part, 2))
            names = point.values
            matrix, deviation = names["covariance"], 1 + float(names["sigma_J"]) ** 2
            exact = sgd_error(matrix, (True,) * N, float(eta), deviation, steps)
            more = {"eta": numbers.one / part, "epsilon_g": numbers.mpf(exact)}
            series = f"N = {N}, L = {len(spectrum)}"
            yield Point(f"{series}, eta = {eta}", extended(names, more), float(eta), series)


def general(numbers: Any) -> Iterator[Point]:
    """General covariances, at time 0."""
    return blocks(numbers, Fraction(0))


def rotated(numbers: Any) -> Iterator[Point]:
    """General covariances, all components trained, in their eigenbasis."""
    for N, seed, copies in ((4, 7, 2), (3, 8, 1)):
        matrix = random_covariance(numbers, N, seed, copies)
        flow = VectorFlow(numbers, matrix, (True,) * N, TIME, N // copies, seed=seed)
        values, W = numbers.eigsy(matrix)
        start, teacher = flow.weights
        student = flow.student(start, teacher)
        point = flow.point(f"N = {N}, covariance {seed}")

        def column(vector: Any, N: int = N, W: Any = W) -> Indexed:
            return Indexed(list(W.T * vector), (1, N))

        more = {
            "W": W,
            "D": numbers.diag(list(values)),
            "rate": Indexed(list(values), (1, N)),
            "tilde_J": column(student),
            "tilde_J0": column(start),
            "tilde_B": column(teacher),
            "J": student,
            "B": teacher,
            "tilde_J_vector": W.T * student,
            "tilde_B_vector": W.T * teacher,
        }
        yield Point(point.label, extended(point.values, more))


def without_fluctuations(numbers: Any) -> Iterator[Point]:
    """Yield the moments without the terms of order η² beside the mean flow of the weights."""
    for spectrum in (UNEQUAL, FOUR):
        case = Companion(numbers, spectrum, Fraction(2), Fraction(0)).point().values
        point = diagonal(numbers, spectrum, 2, 2 * len(spectrum), TIME)
        L = len(spectrum)
        second = numbers.zeros(1, L)
        second[1] = numbers.one
        more = {
            "A_1": case["A_1"],
            "T": numbers.matrix([case["T"][(l,)] for l in range(L)]),
            "e_2": second,
            "error": numbers.matrix([[point.values["epsilon_g"]]]),
        }
        yield Point(point.label, extended(point.values, more))
