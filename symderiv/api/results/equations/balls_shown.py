"""Balls of order parameters, as arrays over time."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from symderiv.foundation.errors import InputError

_ENTRY = re.compile(r"([\w.]+)(?:\[([\d,]+)\])?")


class Ball(NamedTuple):
    """A ball that contains an exact number.

    Args:
        mid: the middle, a decimal.
        rad: the radius, a decimal.
    """

    mid: str
    rad: str

    def __float__(self) -> float:
        return float(self.mid)

    def contains(self, number: str | float) -> bool:
        """Return whether a number lies in the ball.

        Args:
            number: a decimal or a rational such as ``"1/3"``, taken as it is written.

        Raises:
            InputError: it is not a number.
        """
        from fractions import Fraction

        try:
            distance = abs(Fraction(str(number).replace(" ", "")) - Fraction(self.mid))
        except (ValueError, ZeroDivisionError):
            raise InputError(f"{number!r} is not a number", argument="number") from None
        return bool(distance <= Fraction(self.rad))


def ball_arrays(
    names: Sequence[str], middles: Mapping[str, Sequence[str]], radii: Mapping[str, Sequence[float]]
) -> dict[str, np.ndarray]:
    """Return arrays of balls over time, from columns named as entries such as ``Q[1,2]``."""
    places: dict[str, list[tuple[tuple[int, ...], str]]] = {}
    for name in names:
        parts = _ENTRY.fullmatch(name)
        assert parts is not None
        place = tuple(int(n) - 1 for n in parts[2].split(",")) if parts[2] else ()
        places.setdefault(parts[1], []).append((place, name))
    arrays = {}
    for field, entries in places.items():
        shape = tuple(
            max(column) + 1 for column in zip(*(each[0] for each in entries), strict=True)
        )
        count = len(middles[entries[0][1]])
        arrays[field] = np.empty((count, *shape), dtype=object)
        for place, name in entries:
            for n, (middle, radius) in enumerate(zip(middles[name], radii[name], strict=True)):
                arrays[field][(n, *place)] = Ball(middle, repr(radius))
    return arrays
