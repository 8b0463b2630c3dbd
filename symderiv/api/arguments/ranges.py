"""Ranges of numbers, as calls take them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from symderiv.foundation.errors import InputError


def range_of(given: Any, argument: str, name: str = "") -> tuple[float, float]:
    """Return the two ends of a range as doubles.

    Args:
        given: what an argument was given.
        argument: the argument, for errors.
        name: the number whose range it is, if the argument takes several.

    Raises:
        InputError: it is not two finite numbers, the smaller one first.
    """
    of = f"{name}: " if name else ""
    try:
        # a text such as "12" has characters that are numbers
        low, high = [] if isinstance(given, str) else [float(each) for each in given]
    except (TypeError, ValueError):
        raise InputError(
            f"{of}{given!r} is not two numbers such as (0, 5)", argument=argument
        ) from None
    if not -math.inf < low < high < math.inf:
        raise InputError(
            f"{of}{low:g} and {high:g} are not finite numbers, the smaller one first",
            argument=argument,
        )
    return low, high


def ranges_of(given: Any, argument: str, most: int) -> dict[str, tuple[float, float]]:
    """Return ranges by the names of the numbers that they are of; see :func:`range_of`.

    Raises:
        InputError: it is no dictionary, has more than ``most`` names, or a range is none.
    """
    if not isinstance(given, Mapping):
        said = f'{given!r} is not a dictionary such as {{"learning_rate": (0, 5)}}'
        raise InputError(said, argument=argument)
    if len(given) > most:
        words = "one" if most == 1 else "one or two"
        raise InputError(f"has {len(given)} names; give {words}", argument=argument)
    return {str(name): range_of(ends, argument, str(name)) for name, ends in given.items()}
