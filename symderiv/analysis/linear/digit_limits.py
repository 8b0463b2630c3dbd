"""The numbers of digits that linear networks are served with."""

from __future__ import annotations

from typing import Final

from symderiv.foundation.errors import InputError

MAX_DIGITS: Final = 1000
MAX_WORKING_DIGITS: Final = 20_000


def check_digits(digits: int, working_digits: int | None) -> None:
    """Refuse numbers of digits that nobody computes with, before anything is computed.

    Raises:
        InputError: one of them is out of range.
    """
    for name, value, most in (
        ("digits", digits, MAX_DIGITS),
        ("working_digits", working_digits, MAX_WORKING_DIGITS),
    ):
        if value is not None and not 1 <= value <= most:
            raise InputError(f"{value} is not between 1 and {most}", argument=name)
