"""Points on the symmetric plateau: homogeneous teachers, drawn ones, nearly homogeneous ones."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

from symderiv_ledger.claims.claim import Point
from symderiv_ledger.rules.arithmetic import Indexed, Values

from symderiv.precision.balls.contexts import numbers as arithmetic
from symderiv_papers.references.exact import as_number
from symderiv_papers.references.homogeneous import Teachers
from symderiv_papers.references.integrals import Integrals
from symderiv_papers.references.plateaus import (
    homogeneous_teachers,
    plateau_error,
    plateau_length,
    unequal_plateau,
)
from symderiv_papers.worschech_rosenow.setup_definitions import study_of

__all__ = [
    "drawn_teachers",
    "homogeneous",
    "nearly_homogeneous",
]


@lru_cache(maxsize=64)
def _length(teacher: Teachers, digits: int) -> Any:
    with arithmetic(digits, "mpmath") as numbers:
        return plateau_length(teacher, numbers)


def _plateau_values(teacher: Teachers, numbers: Any) -> Values:
    """Statistics of a teacher by unit and by kind, and the engine's fixed point."""
    M, top = teacher.units, teacher.modes + 2
    units, orders = (1, M), (0, top)

    def length() -> Any:
        return _length(teacher, numbers.dps)

    def sums() -> list[Any]:
        return [as_number(teacher.T(l) + teacher.D(l), numbers) for l in range(top + 1)]

    def part(rows: Sequence[Sequence[Any]]) -> Any:
        return Integrals("erf", numbers).at(rows)

    def first() -> tuple[Any, Any]:
        total = sums()[1]
        return length() * total, length() ** 2 * M * total

    def cross() -> Any:
        R, Q = first()
        return -M * part([[Q, R], [R, as_number(teacher.T(1), numbers)]])

    def teachers() -> Any:
        T, off = as_number(teacher.T(1), numbers), as_number(teacher.D(1) / (M - 1), numbers)
        return (part([[T, T], [T, T]]) + (M - 1) * part([[T, off], [off, T]])) / 2

    known = {
        **teacher.indexed(numbers),
        "T_unit": Indexed(
            [
                [[as_number(e, numbers) for e in row] for row in teacher.rows(l)]
                for l in range(top + 1)
            ],
            orders,
            units,
            units,
        ),
        "d": Indexed(
            [[as_number(teacher.D(l), numbers)] * M for l in range(top + 1)], orders, units
        ),
        "entry": Indexed(
            [as_number(teacher.D(l) / (M - 1), numbers) for l in range(top + 1)], orders
        ),
    }
    lazy: dict[str, Callable[[], Any]] = {
        "R": lambda: Indexed([length() * total for total in sums()], orders),
        "Q": lambda: Indexed([length() ** 2 * M * total for total in sums()], orders),
        "epsilon_g": lambda: plateau_error(teacher, length(), numbers),
        "students": lambda: M * part([[first()[1]] * 2] * 2) / 2,
        "cross": cross,
        "teachers": teachers,
    }
    return Values(known, lazy)


def homogeneous(*, orthonormal: bool = False) -> Callable[[Any], Iterator[Point]]:
    def points(numbers: Any) -> Iterator[Point]:
        for teacher in homogeneous_teachers(orthonormal=orthonormal):
            yield Point(teacher.label, _plateau_values(teacher, numbers))

    return points


def _unequal_values(orders: dict[int, list[list[Any]]], numbers: Any) -> dict[str, Any]:
    """Return the fixed point of equal students under any teacher, T_nm^(l) given for orders from
    1.
    """
    M, last = len(orders[1]), max(orders)
    lengths = unequal_plateau(orders[1], numbers)
    units, top = (1, M), (1, last)
    R = [
        [sum(t * c for t, c in zip(row, lengths, strict=True)) for row in orders[l]]
        for l in range(1, last + 1)
    ]
    Q = [sum(c * r for c, r in zip(lengths, row, strict=True)) for row in R]
    d = [[sum(row) - row[n] for n, row in enumerate(orders[l])] for l in range(1, last + 1)]
    return {
        "R": Indexed(R, top, units),
        "Q": Indexed(Q, top),
        "T_unit": Indexed([orders[l] for l in range(1, last + 1)], top, units, units),
        "d": Indexed(d, top, units),
        "M": M,
        "K": M,
        "L": last - 1,
    }


@lru_cache(maxsize=4)
def _drawn(L: int, seed: int) -> Any:
    from symderiv.problem.initial import initial

    study = study_of(
        4,
        4,
        data={
            "model": "power-law",
            "dimension": 7000,
            "distinct_eigenvalues": L,
            "exponent": 0.25,
        },
        initial={"student_std": 0.01, "seed": seed},
    )
    return initial(study).state


def drawn_teachers(numbers: Any) -> Iterator[Point]:
    """Yield teachers as the engine draws them, with the parameters of figures 17 and 18."""
    for L, seed in ((10, 2), (10, 1), (2, 0)):
        state = _drawn(L, seed)
        orders = {}
        for l in range(1, 7):
            factors = state.weight * state.eigenvalue ** (l - 2)
            rows = (factors[:, None, None] * state.teacher_overlap).sum(axis=0)
            orders[l] = [[numbers.mpf(float(e)) for e in row] for row in rows]
        label = f"K = M = 4, N = 7000, L = {L}, beta = 1/4, seed {seed}"
        yield Point(label, _unequal_values(orders, numbers))


def nearly_homogeneous(numbers: Any) -> Iterator[Point]:
    """Yield a homogeneous teacher with T^(1) = 13/10, D^(1) = 1/5 and a small random change of
    it.
    """
    for M in (2, 3, 4):
        rng = random.Random(M)
        change = [[Fraction(0)] * M for _ in range(M)]
        for n in range(M):
            for m in range(n + 1):
                change[n][m] = change[m][n] = Fraction(rng.randint(-12, 12), 10)
        for power in (2, 3, 4):
            small = Fraction(1, 10**power)
            rows = [
                [
                    as_number(
                        (Fraction(13, 10) if n == m else Fraction(1, 5) / (M - 1))
                        + small * change[n][m],
                        numbers,
                    )
                    for m in range(M)
                ]
                for n in range(M)
            ]
            values = _unequal_values({1: rows}, numbers)
            yield Point(f"M = {M}, change of 1e-{power}", values, float(small), f"M = {M}")
