"""Operations of a module recorded as a list, so that compiled code repeats them on many boxes.

The functions of a printed module take a context of numbers first. :class:`Recorder` is a context
whose numbers are only references: every operation is written down once, however often it occurs,
and constants are combined as balls. Comparisons have no meaning here and are refused.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from flint import arb

from symderiv.foundation.errors import NotYetError

__all__ = ["ADD", "ASIN", "CONSTANT", "DIVIDE", "EXP", "INPUT", "MULTIPLY", "ROOT", "SQUARE"]
__all__ += ["SUBTRACT", "Recorder", "Recording"]

CONSTANT, INPUT, ADD, SUBTRACT, MULTIPLY, DIVIDE, SQUARE, ROOT, EXP, ASIN = range(10)
_FUNCTIONS: Final = {"sqrt": ROOT, "exp": EXP, "asin": ASIN}


@dataclass(frozen=True)
class Recording:
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


class Recorder:
    """A context of numbers that writes operations down; see
    :class:`symderiv.precision.balls.contexts.Numbers`.
    """

    zero, one = arb(0), arb(1)

    def __init__(self) -> None:
        self._places: dict[tuple[Any, ...], int] = {}
        self._rows: list[tuple[int, int, int]] = []
        self._constants: dict[int, arb] = {}
        self._inputs = 0

    @property
    def pi(self) -> arb:
        return arb.pi()

    def mpf(self, value: arb | float | str) -> arb:
        return arb(value)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name not in _FUNCTIONS:
            raise NotYetError(f"the function {name} has no enclosure over boxes of doubles")
        return lambda x: (
            self.of(_FUNCTIONS[name], x.place) if isinstance(x, _Number) else _of_ball(name, x)
        )

    def input(self) -> Any:
        """Return the next input."""
        self._inputs += 1
        return self.of(INPUT, self._inputs - 1)

    def of(self, operation: int, first: int, second: int = 0) -> Any:
        """Return the number that an operation gives, written down if it is new."""
        if operation in (ADD, MULTIPLY) and second < first:
            first, second = second, first
        key = operation, first, second
        if key not in self._places:
            self._places[key] = len(self._rows)
            self._rows.append(key)
        return _Number(self, self._places[key])

    def place(self, value: Any) -> int:
        """Return where a number or a constant stands."""
        if isinstance(value, _Number):
            return value.place
        constant = arb(value)
        if not constant.is_finite():
            raise NotYetError("a constant of these equations is not finite")
        key = CONSTANT, constant.lower().str(40, radius=False), constant.upper().str(40)
        if key not in self._places:
            self._places[key] = len(self._rows)
            self._constants[len(self._rows)] = constant
            self._rows.append((CONSTANT, 0, 0))
        return self._places[key]

    def factors(self, place: int) -> tuple[int, int] | None:
        """Return what a product was made of."""
        operation, first, second = self._rows[place]
        return (first, second) if operation == MULTIPLY else None

    def recording(self, outputs: list[Any]) -> Recording:
        """Return what was written down, with these results."""
        places = np.array([self.place(each) for each in outputs], dtype=np.int64)
        constants = np.zeros((len(self._rows), 2))
        for place, value in self._constants.items():
            low, high = float(value.lower()), float(value.upper())
            constants[place] = np.nextafter(low, -math.inf), np.nextafter(high, math.inf)
            if value.is_exact() and arb(float(value)) == value:
                constants[place] = float(value)
        return Recording(np.array(self._rows, dtype=np.int64), constants, places, self._inputs)


@dataclass(frozen=True, eq=False)
class _Number:
    """A reference to a number that some operation will have written."""

    recorder: Recorder = field(repr=False)
    place: int

    def _with(self, operation: int, other: Any, *, swapped: bool = False) -> Any:
        there = self.recorder.place(other)
        pair = (there, self.place) if swapped else (self.place, there)
        return self.recorder.of(operation, *pair)

    def __add__(self, other: Any) -> Any:
        return self if _is(other, 0) else self._with(ADD, other)

    def __sub__(self, other: Any) -> Any:
        return self if _is(other, 0) else self._with(SUBTRACT, other)

    def __rsub__(self, other: Any) -> Any:
        return self._with(SUBTRACT, other, swapped=True)

    def __mul__(self, other: Any) -> Any:
        if _is(other, 0):
            return arb(0)
        if _is(other, 1):
            return self
        there = self.recorder.place(other)
        # a square has no sign, which a product of two equal boxes would not know
        if there == self.place:
            return self.recorder.of(SQUARE, there)
        for one, two in ((self.place, there), (there, self.place)):
            factors = self.recorder.factors(one)
            if factors and two in factors:
                square = self.recorder.of(SQUARE, two)
                rest = factors[1] if factors[0] == two else factors[0]
                return self.recorder.of(MULTIPLY, rest, square.place)
        return self.recorder.of(MULTIPLY, self.place, there)

    def __truediv__(self, other: Any) -> Any:
        return self * (1 / arb(other)) if not isinstance(other, _Number) else self._over(other)

    def _over(self, other: _Number) -> Any:
        return arb(1) if other.place == self.place else self._with(DIVIDE, other)

    def __rtruediv__(self, other: Any) -> Any:
        return self._with(DIVIDE, other, swapped=True)

    def __neg__(self) -> Any:
        return self * -1

    def __pow__(self, power: int) -> Any:
        if power != 2:
            raise NotYetError(f"the power {power} has no enclosure over boxes of doubles")
        return self.recorder.of(SQUARE, self.place)

    __radd__, __rmul__ = __add__, __mul__

    def _compared(self, other: object) -> Any:
        raise NotYetError("a comparison of these equations depends on the state")

    __lt__ = __gt__ = __le__ = __ge__ = __eq__ = __ne__ = __bool__ = _compared


def _is(value: Any, number: int) -> bool:
    if isinstance(value, _Number):
        return False
    return bool(arb(value).is_exact() and arb(value) == number)


def _of_ball(name: str, value: Any) -> arb:
    found: arb = getattr(arb(value), name)()
    return found
