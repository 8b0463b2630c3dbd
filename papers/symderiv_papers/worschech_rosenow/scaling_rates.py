"""Equations 54 to 57: the linear network at any learning rate through a companion matrix."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

from symderiv_ledger.claims.claim import Point
from symderiv_ledger.rules.arithmetic import extended

from symderiv_papers.references.companion import companions

Points = Callable[[Any], Iterator[Point]]

# a and ε: larger and smaller than each other, also negative
_GENERAL = (
    (Fraction(2), Fraction(7, 10)),
    (Fraction(1), Fraction(8, 5)),
    (Fraction(3, 2), Fraction(-1, 5)),
    (Fraction(1, 3), Fraction(2, 5)),
)
_NETWORK = ((Fraction(2), Fraction(7, 10)), (Fraction(2), Fraction(8, 5)))
_SMALL = ((Fraction(2), Fraction(0)), (Fraction(3, 2), Fraction(0)))


def general(smallest: int = 2) -> Points:
    return lambda numbers: companions(numbers, _GENERAL, smallest)


def network(numbers: Any) -> Iterator[Point]:
    """Yield a = 2 and ε = η, the matrix of the network."""
    return companions(numbers, _NETWORK)


def small(numbers: Any) -> Iterator[Point]:
    """Yield points without the terms of order η²."""
    return companions(numbers, _SMALL)


def polynomials(numbers: Any) -> Iterator[Point]:
    """Yield values of the characteristic polynomial at x."""
    for point in general()(numbers):
        for x in ("0.37", "-2.1"):
            yield Point(point.label, extended(point.values, {"x": numbers.mpf(x)}))


def first_rows(numbers: Any) -> Iterator[Point]:
    """Yield the first four rows."""
    for point in general()(numbers):
        yield Point(point.label, extended(point.values, {"last": min(4, point.values["L"])}))
