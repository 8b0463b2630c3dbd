"""A list of operations as arrays of numbers, for compiled code that repeats it on many boxes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from flint import arb

from symderiv.foundation.errors import NotYetError
from symderiv.precision.balls.operations import Operations
from symderiv.precision.balls.working import working_bits

CONSTANT, INPUT, ADD, SUBTRACT, MULTIPLY, DIVIDE, SQUARE, ROOT, EXP, ASIN = range(10)
_FUNCTIONS: Final = {"sqrt": ROOT, "exp": EXP, "asin": ASIN}
_BITS = 128


@dataclass(frozen=True)
class BoxOperations:
    """Operations in their order; each writes one number and reads numbers written before.

    Attributes:
        operations: What is done with the numbers at which places; shape (p, 3). An input reads
            its number in place of a place.
        constants: Least and largest value of every constant, zero elsewhere; shape (p, 2).
        outputs: Places of the results.
        inputs: How many there are.
    """

    operations: npt.NDArray[np.int64]
    constants: npt.NDArray[np.float64]
    outputs: npt.NDArray[np.int64]
    inputs: int


@lru_cache(maxsize=16)
def box_operations(listed: Operations) -> BoxOperations:
    """Return a list of operations as arrays.

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
    return BoxOperations(
        np.array(rows.rows, dtype=np.int64),
        np.array(rows.bounds),
        np.array([row_of[place] for place in listed.outputs], dtype=np.int64),
        listed.inputs,
    )


class _Rows:
    """Rows of operations, equal ones once, with the bounds of constants."""

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
        """Return where an operation is, added if it is new."""
        if operation in (ADD, MULTIPLY) and second < first:
            first, second = second, first
        return self._place((operation, first, second), (0.0, 0.0))

    def constant(self, value: Any) -> int:
        """Return where a constant is, with doubles on both sides of it."""
        ball = arb(value)
        low, high = float(ball.lower()), float(ball.upper())
        if not (ball.is_exact() and arb(low) == ball):
            low, high = math.nextafter(low, -math.inf), math.nextafter(high, math.inf)
        return self._place((CONSTANT, 0, 0), (low, high))

    def quotient(self, first: int, second: int) -> int:
        """Return where a quotient is; that of a number and itself is 1."""
        return self.constant(1) if first == second else self.row(DIVIDE, first, second)

    def product(self, first: int, second: int) -> int:
        """Return where a product is, squares told apart.

        A square has no sign, which a product of two equal boxes would not know.
        """
        if first == second:
            return self.row(SQUARE, first)
        for one, two in ((first, second), (second, first)):
            operation, *factors = self.rows[one]
            if operation == MULTIPLY and two in factors:
                rest = factors[1] if factors[0] == two else factors[0]
                return self.row(MULTIPLY, rest, self.row(SQUARE, two))
        return self.row(MULTIPLY, first, second)
