"""Equations 68 to 78: overlaps and error when some components are learned, as sums."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any, Final

from symderiv_ledger.claims.claim import Point
from symderiv_ledger.rules.arithmetic import extended

from symderiv_papers.references.linear_vectors import (
    END,
    diagonal,
)
from symderiv_papers.worschech_rosenow.scaling_flow import (
    FOUR,
    UNEQUAL,
)

Points = Callable[[Any], Iterator[Point]]

_POWER: Final = (5, Fraction(1, 2))


def some_trained(time: str) -> Points:
    """N_l of the N components; N_l smaller and larger than L."""

    def points(numbers: Any) -> Iterator[Point]:
        yield diagonal(numbers, UNEQUAL, 2, 4, Fraction(time))
        yield diagonal(numbers, FOUR, 2, 2, Fraction(time))
        yield diagonal(numbers, _POWER, 1, 3, Fraction(time))

    return points


def some_spaces(time: str) -> Points:
    """N_l of the L eigenvalues with all their components."""

    def points(numbers: Any) -> Iterator[Point]:
        yield diagonal(numbers, UNEQUAL, 2, 2, Fraction(time), spaces=True)
        yield diagonal(numbers, FOUR, 1, 2, Fraction(time), spaces=True)
        yield diagonal(numbers, _POWER, 1, 3, Fraction(time), spaces=True)
        yield diagonal(numbers, UNEQUAL, 1, 3, Fraction(time), spaces=True)

    return points


def power_laws(numbers: Any) -> Iterator[Point]:
    for size, beta, trained in ((5, Fraction(1, 2), 3), (4, Fraction(2), 1)):
        point = diagonal(numbers, (size, beta), 2, trained, END, spaces=True)
        names = point.values
        total = 2 * names["epsilon_g"] / (1 + names["sigma_J"] ** 2)
        yield Point(f"{point.label}, beta = {beta}", extended(names, {"S": total}))
