"""Largest number of eigenvalues for late learning; this module imports nothing large."""

from __future__ import annotations

from symderiv.foundation.errors import InputError

#: More eigenvalues than this are refused: finding all rates takes a quarter of a minute.
MAX_EIGENVALUES = 20_000


def check_count(eigenvalues: int) -> None:
    """Refuse more eigenvalues than can be treated, before they are made.

    Raises:
        InputError: the rates of so many would take too long.
    """
    if eigenvalues > MAX_EIGENVALUES:
        raise InputError(
            f"{eigenvalues} are more than the {MAX_EIGENVALUES} whose rates are computed one by "
            "one; the time grows with the square of their number",
            argument="distinct_eigenvalues",
        )
