r"""Derivatives of means by the moments of their fields: means of other factors.

By Price's theorem the derivative of E[∏ f_a(z_a)] by the covariance of two fields is the mean with
a derivative at each of the two, that by a variance half the mean with two derivatives at the field,
and that by the mean of a field the mean with one.
"""

from __future__ import annotations

from collections.abc import Iterator

import sympy as sp

from symderiv.foundation.errors import NotYetError
from symderiv.lowering.means.closed_means import upper_triangle
from symderiv.lowering.means.patterns import Kind

__all__ = ["NUMBERS", "kinds_of", "number_of", "slopes_of_mean", "turned"]

HALF_CURVATURE = 2
"""The number in templates of the factor g''/2, which stands first in a mean of two factors."""

_OF_DESCENT = {(False, 0): 0, (False, 1): 1, (True, 0): 3, (True, 1): 4}
OF_RULES = {(False, 3): 5, (True, 2): 6, (False, 2): 7}
OF_SLOPES = {(False, 4): 8, (True, 3): 9, (False, 5): 10, (True, 4): 11}
NUMBERS: dict[Kind, int] = {**_OF_DESCENT, **OF_RULES, **OF_SLOPES}
"""Numbers of factors in templates: first those of plain descent, then those of rules with slopes of
slopes, then those that occur only in derivatives of means."""

TEACHERS = {number for (teacher, _), number in NUMBERS.items() if teacher}
"""The numbers of the teachers' factors."""

FIXED = 12
"""The number of the constant factor 1, that of a field at a fixed place."""

_KINDS: dict[int, Kind] = {number: kind for kind, number in NUMBERS.items()}


def number_of(kind: Kind) -> int:
    """Return the number of a factor.

    Raises:
        NotYetError: It is a derivative of an order that templates do not have.
    """
    if kind not in NUMBERS:
        raise NotYetError(f"not yet: means with derivatives of order {kind[1]} of an activation")
    return NUMBERS[kind]


def kinds_of(numbers: tuple[int, ...]) -> tuple[sp.Expr, tuple[Kind, ...]]:
    """Return the prefactor and the factors of a mean from the numbers of its factors."""
    if HALF_CURVATURE in numbers:
        return sp.Rational(1, 2), ((False, 2), *(_KINDS[number] for number in numbers[1:]))
    return sp.S.One, tuple(_KINDS[number] for number in numbers)


def slopes_of_mean(
    kinds: tuple[Kind, ...], biased: bool
) -> Iterator[tuple[sp.Expr, tuple[Kind, ...]]]:
    """Yield the derivatives of a mean by its arguments: a number times a mean of other factors.

    Args:
        kinds: Its factors, each of a field of its own.
        biased: Whether fields have means, by which there are derivatives too.
    """
    size = len(kinds)
    for first, second in upper_triangle(size):
        front = sp.Rational(1, 2) if first == second else sp.S.One
        yield front, _raised(kinds, first, second)
    for place in range(size if biased else 0):
        yield sp.S.One, _raised(kinds, place)


def _raised(kinds: tuple[Kind, ...], *places: int) -> tuple[Kind, ...]:
    """Return factors with one derivative more at each of some places."""
    return tuple(
        (teacher, order + places.count(place)) for place, (teacher, order) in enumerate(kinds)
    )


def turned(size: int, first: int, biased: bool) -> tuple[list[int], list[int]]:
    """Return the places of a mean's arguments after one field is moved to the front, and the places
    of the other fields.

    Args:
        size: The number of fields.
        first: The place of that field.
        biased: Whether means of fields are among the arguments.
    """
    others = [place for place in range(size) if place != first]
    order, pairs = [first, *others], list(upper_triangle(size))
    arguments = [pairs.index((min(a, b), max(a, b))) for a, b in _pairs_of(order)]
    biases = [len(pairs) + place for place in order] if biased else []
    return arguments + biases, others


def _pairs_of(order: list[int]) -> list[tuple[int, int]]:
    """Return all pairs of the given places, row by row."""
    return [(order[a], order[b]) for a, b in upper_triangle(len(order))]
