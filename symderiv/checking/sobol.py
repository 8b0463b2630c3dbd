"""Sobol's points, as SciPy gives them: its statistics take half a second to import, these none."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["sobol_points"]

_BITS = 30
_NUMBERS = (
    (1, 1),
    (3, 1),
    (7, 1, 3),
    (11, 1, 3, 1),
    (13, 1, 1, 1),
    (19, 1, 1, 3, 3),
    (25, 1, 3, 5, 13),
    (37, 1, 1, 5, 5, 17),
    (41, 1, 1, 5, 5, 5),
    (47, 1, 1, 7, 11, 19),
    (55, 1, 1, 5, 1, 1),
    (59, 1, 1, 1, 3, 11),
    (61, 1, 3, 5, 5, 31),
    (67, 1, 3, 3, 9, 7, 49),
    (91, 1, 1, 1, 15, 21, 21),
    (97, 1, 3, 1, 13, 27, 49),
    (103, 1, 1, 1, 15, 7, 5),
    (109, 1, 3, 1, 15, 13, 25),
    (115, 1, 1, 5, 5, 19, 61),
    (131, 1, 3, 7, 11, 23, 15, 103),
)
"""For each variable its primitive polynomial, by bits, and the first direction numbers (S. Joe and
F. Y. Kuo, SIAM J. Sci. Comput. 30, 2635, 2008)."""


def sobol_points(dimension: int, number: int) -> NDArray[np.float64]:
    """Return Sobol's first points, unscrambled, in the order of Gray's code.

    Args:
        dimension: The number of variables.
        number: The number of points, a power of two.
    """
    if dimension > len(_NUMBERS):
        from scipy.stats import qmc

        return np.asarray(qmc.Sobol(dimension, scramble=False).random(number))
    every = np.arange(number)
    gray, points = every ^ (every >> 1), np.zeros((number, dimension), np.int64)
    for variable in range(dimension):
        for bit, direction in enumerate(_directions(variable, number.bit_length() - 1)):
            points[:, variable] ^= np.where(gray >> bit & 1, direction << (_BITS - 1 - bit), 0)
    return points / 2.0**_BITS


def _directions(variable: int, bits: int) -> list[int]:
    """Return the direction numbers of a variable, without their shifts."""
    polynomial, *found = _NUMBERS[variable]
    degree = polynomial.bit_length() - 1
    if not degree:
        return [1] * bits
    while len(found) < bits:
        new = found[-degree]
        for back in range(1, degree + 1):
            if polynomial >> (degree - back) & 1:
                new ^= found[-back] << back
        found.append(new)
    return found[:bits]
