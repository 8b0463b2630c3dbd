"""Recorded operations as linear forms over boxes of doubles, which make the boxes smaller.

A system of forms that must vanish leaves of a box what each of them, and each of those that
Gauss and Jordan make of them, leaves to one input when the others are anywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from symderiv.compiled_code.linked import Linked
from symderiv.precision.balls.box_operations import DIVIDE, INPUT, MULTIPLY, box_operations
from symderiv.precision.balls.operations import Operations

Floats = npt.NDArray[np.float64]

_LANES = 32
#: In lists of forms a quotient is a product with an inverse.
INVERSE = DIVIDE

narrow = Linked("symderiv.precision.balls.form_loops", "narrow", shipped=True)


@dataclass(frozen=True)
class Forms:
    """Operations that write to places which are used again when nothing reads them any more.

    Attributes:
        operations: What is written where, from which places; shape (p, 4). An input reads its
            number in place of a place.
        constants: Least and largest value of every constant, shape (p, 2).
        outputs: Places of the results.
        places: How many there are.
    """

    operations: npt.NDArray[np.int64]
    constants: Floats
    outputs: npt.NDArray[np.int64]
    places: int


@lru_cache(maxsize=16)
def forms_of(listed: Operations) -> Forms:
    """Return the same operations.

    Raises:
        NotYetError: A function has no enclosure over boxes of doubles.
    """
    program = box_operations(listed)
    rows: list[tuple[int, int, int]] = []
    bounds: list[Floats] = []
    inverse: dict[int, int] = {}
    row_of: list[int] = []
    for n, (operation, first, second) in enumerate(program.operations.tolist()):
        if operation > INPUT:
            first, second = row_of[first], row_of[second]
        if operation == DIVIDE:
            if second not in inverse:
                inverse[second] = len(rows)
                rows.append((INVERSE, second, second))
                bounds.append(program.constants[n])
            operation, second = MULTIPLY, inverse[second]
        elif operation > DIVIDE:
            second = first
        row_of.append(len(rows))
        rows.append((operation, first, second))
        bounds.append(program.constants[n])
    outputs = [row_of[place] for place in program.outputs]
    operations, place_of, places = _placed(rows, outputs)
    return Forms(operations, np.array(bounds), place_of[outputs], places)


def _placed(
    rows: list[tuple[int, int, int]], outputs: list[int]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], int]:
    """Return operations with the places they write to, the places of rows, and how many."""
    last = np.arange(len(rows))
    for p, (operation, first, second) in enumerate(rows):
        if operation > INPUT:
            last[[first, second]] = p
    last[outputs] = len(rows)
    ends: dict[int, list[int]] = {}
    for row, p in enumerate(last.tolist()):
        ends.setdefault(p, []).append(row)
    place_of, used = np.zeros(len(rows), dtype=np.int64), 0
    free: list[int] = []
    operations = np.zeros((len(rows), 4), dtype=np.int64)
    for p, (operation, first, second) in enumerate(rows):
        if free:
            place_of[p] = free.pop()
        else:
            place_of[p], used = used, used + 1
        read = place_of[[first, second]] if operation > INPUT else (first, second)
        operations[p] = operation, place_of[p], *read
        free += [int(place_of[row]) for row in ends.get(p, [])]
    return operations, place_of, used


def narrowed(functions: Operations, low: Floats, high: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the parts of boxes in which all functions may vanish, and their shares of volumes.

    Args:
        functions: m of n inputs.
        low, high: Bounds of B boxes, shapes (B, n).

    Returns:
        Bounds of what is left of boxes, and how much of each, -1 where a function cannot vanish.
    """
    forms = forms_of(functions)
    n, m = low.shape[1], forms.outputs.size
    low, high, left = low.copy(), high.copy(), np.ones(len(low))
    narrow(
        forms.operations,
        forms.constants,
        forms.outputs,
        low,
        high,
        left,
        np.zeros((forms.places, n + 5, _LANES)),
        np.zeros((2 * n + 2 * m + 16, max(n + 2, m, _LANES))),
    )
    left[np.any(low > high, axis=1)] = -1.0
    return low, high, left
