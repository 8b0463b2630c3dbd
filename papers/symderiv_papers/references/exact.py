"""Exact numbers in the arithmetic of a claim."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

__all__ = ["as_number", "as_numbers"]


def as_number(value: Fraction | int, numbers: Any) -> Any:
    """Return an exact rational in an arithmetic, see :mod:`symderiv.precision.balls.contexts`."""
    return numbers.mpf(value.numerator) / value.denominator


def as_numbers(values: Any, numbers: Any) -> Any:
    """Return lists and tuples of rationals, to any depth, as lists of numbers."""
    if isinstance(values, list | tuple):
        return [as_numbers(value, numbers) for value in values]
    return as_number(values, numbers)
