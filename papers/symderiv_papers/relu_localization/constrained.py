"""Points with X split by the positivity constraint of unit 1, or also by that of unit k."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from symderiv_ledger.claims.claim import Point

from symderiv_papers.relu_localization.flow import all_points
from symderiv_papers.relu_localization.populations import population_points
from symderiv_papers.relu_localization.references import (
    gaussian_points,
    near_points,
    orthogonal_points,
)
from symderiv_papers.relu_localization.splits import with_one_constraint, with_two_constraints

__all__ = [
    "near",
    "one_any_input",
    "one_gaussian",
    "one_not_gaussian",
    "one_symmetric",
    "orthogonal",
    "two_any_input",
    "two_gaussian",
]


def one_any_input(numbers: Any) -> Iterator[Point]:
    """Yield Gaussian classes and finite populations."""
    yield from with_one_constraint(all_points(numbers), numbers)


def one_gaussian(numbers: Any) -> Iterator[Point]:
    """Yield Gaussian classes."""
    yield from with_one_constraint(gaussian_points(numbers), numbers)


def one_not_gaussian(numbers: Any) -> Iterator[Point]:
    """Finite populations."""
    yield from with_one_constraint(population_points(numbers), numbers)


def one_symmetric(numbers: Any) -> Iterator[Point]:
    """Laws that are symmetric about 0: without the first population."""
    yield from one_gaussian(numbers)
    yield from with_one_constraint(islice(population_points(numbers), 1, None), numbers)


def two_gaussian(numbers: Any) -> Iterator[Point]:
    """Yield Gaussian classes."""
    yield from with_two_constraints(gaussian_points(numbers), numbers)


def two_any_input(numbers: Any) -> Iterator[Point]:
    """Yield Gaussian classes and finite populations."""
    yield from with_two_constraints(all_points(numbers), numbers)


def orthogonal(numbers: Any) -> Iterator[Point]:
    """Yield units whose preactivations are independent."""
    yield from with_two_constraints(orthogonal_points(numbers), numbers)


def near(numbers: Any) -> Iterator[Point]:
    """Yield units that are almost the same."""
    yield from with_two_constraints(near_points(numbers), numbers)
