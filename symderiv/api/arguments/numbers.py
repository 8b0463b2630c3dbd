"""Numbers, ranges and times as arguments of calls."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

from symderiv.foundation.errors import InputError, errors_about

_MOST_STARTS = 10_000
_MOST_DIGITS, _MOST_WORKING_DIGITS = 1000, 20_000


def check_starts(starts: int) -> None:
    """Refuse numbers of random starts of a search that are out of range.

    Raises:
        InputError: the number is out of range.
    """
    if not 1 <= starts <= _MOST_STARTS:
        raise InputError(f"{starts} is not between 1 and {_MOST_STARTS}", argument="starts")


def check_digits(digits: int, working_digits: int | None = None) -> None:
    """Refuse numbers of digits that are out of range, before anything is computed.

    Raises:
        InputError: one of them is out of range.
    """
    given = (
        ("digits", digits, _MOST_DIGITS),
        ("working_digits", working_digits, _MOST_WORKING_DIGITS),
    )
    for name, value, most in given:
        if value is not None and not 1 <= value <= most:
            raise InputError(f"{value} is not between 1 and {most}", argument=name)


def exact(name: str, value: Any) -> Fraction:
    """Return the exact rational that an argument states: a text, or a float's shortest decimal.

    Raises:
        InputError: it is not a rational number.
    """
    from symderiv.formula import parse_rational

    with errors_about(name):
        number = parse_rational(value if isinstance(value, str) else str(value))
    if number is None:
        raise InputError(f"{value} is not a decimal number or a fraction", argument=name)
    return number


def exact_decimal(number: float) -> Fraction:
    """Return the shortest decimal that gives a double: the one that was typed."""
    return Fraction(repr(float(number)))


def times_of(alpha: float | Iterable[float]) -> list[float]:
    """Return times as a list.

    Raises:
        InputError: one is not a finite number >= 0.
    """
    try:
        if isinstance(alpha, bool | str | bytes):
            raise TypeError
        given = [alpha] if isinstance(alpha, int | float) else list(alpha)
        times = [float(time) for time in given]
    except (TypeError, ValueError):
        raise InputError("must be a number or a list of numbers", argument="alpha") from None
    for time in times:
        if not (math.isfinite(time) and time >= 0.0):
            raise InputError(f"{time!r} is not a finite number >= 0", argument="alpha")
    if not times:
        raise InputError("give at least one time", argument="alpha")
    return times


def check_tolerance(tolerance: float | None) -> float | None:
    """Return the tolerance; refuse one that is not between 0 and 1."""
    if tolerance is not None and not 0 < tolerance < 1:
        raise InputError(
            f"{tolerance:g}: choose a number between 0 and 1, like 1e-8", argument="tolerance"
        )
    return tolerance


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
