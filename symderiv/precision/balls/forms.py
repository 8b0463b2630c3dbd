"""Narrowing of boxes of doubles by linear forms of recorded operations.

Every form that must vanish bounds each input, given the range of the others; so does every form
that Gauss-Jordan elimination makes of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from flint import arb

from symderiv.compiled_code.linked import Linked
from symderiv.foundation.errors import NotYetError
from symderiv.precision.balls.operations import Operations
from symderiv.precision.balls.working import working_bits

Floats = npt.NDArray[np.float64]

CONSTANT, INPUT, ADD, SUBTRACT, MULTIPLY, DIVIDE, SQUARE, ROOT, EXP, ASIN = range(10)
#: In lists of forms a quotient is a product with an inverse, which has this number.
INVERSE = DIVIDE
_FUNCTIONS: Final = {"sqrt": ROOT, "exp": EXP, "asin": ASIN}
_LANES, _BITS = 32, 128

narrow = Linked("symderiv.precision.balls.form_loops", "narrow", shipped=True)


@dataclass(frozen=True)
class Forms:
    """Operations whose results are stored in places that are used again when they are no longer
    read.

    Attributes:
        operations: Operation, place of the result, and two places that it reads; shape (p, 4). An
            input reads its number in place of a place.
        constants: Least and largest value of every constant, shape (p, 2).
        outputs: Places of the results.
        places: The number of places.
    """

    operations: npt.NDArray[np.int64]
    constants: Floats
    outputs: npt.NDArray[np.int64]
    places: int


@lru_cache(maxsize=16)
def forms_of(listed: Operations) -> Forms:
    """Return operations prepared for evaluation as linear forms.

    Raises:
        NotYetError: A function has no enclosure over boxes of doubles.
    """
    recorded, results = _recorded(listed)
    rows: list[tuple[int, int, int]] = []
    bounds: list[tuple[float, float]] = []
    inverse: dict[int, int] = {}
    row_of: list[int] = []
    for (operation, first, second), ends in zip(recorded.rows, recorded.bounds, strict=True):
        if operation > INPUT:
            first, second = row_of[first], row_of[second]
        if operation == DIVIDE:
            if second not in inverse:
                inverse[second] = len(rows)
                rows.append((INVERSE, second, second))
                bounds.append(ends)
            operation, second = MULTIPLY, inverse[second]
        elif operation > DIVIDE:
            second = first
        row_of.append(len(rows))
        rows.append((operation, first, second))
        bounds.append(ends)
    outputs = [row_of[place] for place in results]
    operations, place_of, places = _placed(rows, outputs)
    return Forms(operations, np.array(bounds), place_of[outputs], places)


def _recorded(listed: Operations) -> tuple[_Rows, list[int]]:
    """Return operations as rows, and the numbers of the rows that are the results.

    Raises:
        NotYetError: A function has no enclosure over boxes of doubles.
    """
    rows = _Rows()
    with working_bits(_BITS):
        constants = dict(zip(listed.used_constants(), listed.compiled()[0](), strict=True))
        row_of = {place: rows.constant(ball) for place, ball in constants.items()}
        fixed = listed.constant()
        for place, (name, *arguments) in enumerate(listed.entries):
            if fixed[place]:
                continue
            if name == "state":
                row_of[place] = rows.row(INPUT, arguments[0])
                continue
            first, *others = (row_of[each] for each in arguments)
            if name == "div" and arguments[1] in constants:
                row_of[place] = rows.product(first, rows.constant(1 / constants[arguments[1]]))
            elif name == "div":
                row_of[place] = rows.quotient(first, *others)
            elif name == "mul":
                row_of[place] = rows.product(first, *others)
            elif name == "neg":
                row_of[place] = rows.product(first, rows.constant(-1))
            elif name in ("add", "sub"):
                row_of[place] = rows.row(ADD if name == "add" else SUBTRACT, first, *others)
            elif name in _FUNCTIONS:
                row_of[place] = rows.row(_FUNCTIONS[name], first)
            else:
                raise NotYetError(f"the function {name} has no enclosure over boxes of doubles")
    return rows, [row_of[place] for place in listed.outputs]


class _Rows:
    """A list of distinct operations as rows, with the bounds of constants."""

    def __init__(self) -> None:
        self.rows: list[tuple[int, int, int]] = []
        self.bounds: list[tuple[float, float]] = []
        self._places: dict[tuple[Any, ...], int] = {}

    def _place(self, row: tuple[int, int, int], bounds: tuple[float, float]) -> int:
        key = (*row, *bounds)
        if key not in self._places:
            self._places[key] = len(self.rows)
            self.rows.append(row)
            self.bounds.append(bounds)
        return self._places[key]

    def row(self, operation: int, first: int, second: int = 0) -> int:
        """Return the index of an operation, which is added if it is new."""
        if operation in (ADD, MULTIPLY) and second < first:
            first, second = second, first
        return self._place((operation, first, second), (0.0, 0.0))

    def constant(self, value: Any) -> int:
        """Return the index of a constant, bounded by doubles on both sides."""
        ball = arb(value)
        low, high = float(ball.lower()), float(ball.upper())
        if not (ball.is_exact() and arb(low) == ball):
            low, high = math.nextafter(low, -math.inf), math.nextafter(high, math.inf)
        return self._place((CONSTANT, 0, 0), (low, high))

    def quotient(self, first: int, second: int) -> int:
        """Return the index of a quotient; that of a number and itself is 1."""
        return self.constant(1) if first == second else self.row(DIVIDE, first, second)

    def product(self, first: int, second: int) -> int:
        """Return the index of a product, with squares recognised.

        A square is never negative, which the product of two equal boxes would not show.
        """
        if first == second:
            return self.row(SQUARE, first)
        for one, two in ((first, second), (second, first)):
            operation, *factors = self.rows[one]
            if operation == MULTIPLY and two in factors:
                rest = factors[1] if factors[0] == two else factors[0]
                return self.row(MULTIPLY, rest, self.row(SQUARE, two))
        return self.row(MULTIPLY, first, second)


def _placed(
    rows: list[tuple[int, int, int]], outputs: list[int]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], int]:
    """Return operations with places for their results, the place of each row, and their number."""
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
        functions: m functions of n inputs.
        low, high: Bounds of B boxes, shapes (B, n).

    Returns:
        Bounds of the narrowed boxes, and their share of the volume, -1 where a function cannot
        vanish.
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
