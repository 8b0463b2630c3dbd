"""A function as a straight-line program: a list of operations without loops or cases.

A printed module, or any other function of numbers, is run once with numbers that record the
operations on them (:class:`Recorder`). The list has no loops over units and no cases of coinciding
indices, equal operations occur once, and what does not depend on the state is a constant. Such a
list can be evaluated in any numbers, over many boxes of doubles
(:mod:`symderiv.precision.balls.forms`), and written into a file that another program checks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

from flint import arb, fmpq

from symderiv.foundation.errors import NotYetError

FUNCTIONS = ("sqrt", "asin", "acos", "atan", "exp", "log", "erf", "sin", "cos")
"""Functions of one number, by the names of the methods of balls."""

_SIGNS = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
_LEAVES = ("state", "number", "ball", "pi")

Entry = tuple[Any, ...]


def no_closed_mean() -> NotYetError:
    """Return the refusal of equations that contain integrals, or sums that approximate them."""
    return NotYetError(
        "has no enclosure: a mean has no closed form; take an activation with closed means (erf, "
        "relu, linear, …), and erf and relu without biases",
        argument="certify",
    )


@contextmanager
def refusing_integrals() -> Iterator[None]:
    """Turn errors of functions that do more than record operations into :func:`no_closed_mean`."""
    try:
        yield
    except (TypeError, AttributeError) as error:
        raise no_closed_mean() from error


class Operations:
    """A list of operations, each on earlier results.

    Attributes:
        entries: For each result the operation and its arguments: ``("state", n)``,
            ``("number", Fraction)``, ``("ball", n)``, ``("pi",)``, ``("add", a, b)``,
            ``("sqrt", a)``, …, where a and b are places in this list.
        outputs: Places of the results.
        balls: Constants that are not exact numbers.
        inputs: The number of components of the state.
    """

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.outputs: list[int] = []
        self.balls: list[arb] = []
        self.inputs = 0
        self._places: dict[Entry, int] = {}

    def place(self, entry: Entry) -> int:
        """Return the index of an operation, which is added if it is new."""
        if entry not in self._places:
            self._places[entry] = len(self.entries)
            self.entries.append(entry)
            if entry[0] == "state":
                self.inputs = max(self.inputs, entry[1] + 1)
        return self._places[entry]

    def place_of_constant(self, value: Any) -> int:
        """Return the index of a constant: a ball, or any number that a fraction is made from."""
        if not isinstance(value, arb):
            return self.place(("number", Fraction(value)))
        if not value.is_finite():
            raise NotYetError("a constant of these equations is not finite")
        if value.is_exact():
            mantissa, exponent = map(int, value.man_exp())
            return self.place(("number", mantissa * Fraction(2) ** exponent))
        ends = value.mid(), value.rad()
        known = [n for n, each in enumerate(self.balls) if (each.mid(), each.rad()) == ends]
        if not known:
            self.balls.append(value)
        return self.place(("ball", known[0] if known else len(self.balls) - 1))

    def copied(self) -> Operations:
        """Return a copy of the entries without the outputs, to which more may be added."""
        copy = Operations()
        copy.balls = list(self.balls)
        for entry in self.entries:
            copy.place(entry)
        copy.inputs = self.inputs
        return copy

    def live(self) -> Operations:
        """Return the list without operations on which no output depends."""
        needed: set[int] = set()
        waiting = list(self.outputs)
        while waiting:
            place = waiting.pop()
            if place not in needed:
                needed.add(place)
                waiting += _arguments(self.entries[place])
        shorter = Operations()
        shorter.balls, shorter.inputs = self.balls, self.inputs
        moved: dict[int, int] = {}
        for place in sorted(needed):
            entry = self.entries[place]
            if _arguments(entry):
                entry = (entry[0], *(moved[each] for each in _arguments(entry)))
            moved[place] = shorter.place(entry)
        shorter.outputs = [moved[place] for place in self.outputs]
        return shorter

    def constant(self) -> list[bool]:
        """Return for each entry whether it is independent of the state."""
        fixed: list[bool] = []
        for entry in self.entries:
            fixed.append(entry[0] != "state" and all(fixed[each] for each in _arguments(entry)))
        return fixed

    def used_constants(self) -> list[int]:
        """Return the places of constants that operations on the state, or outputs, use directly."""
        fixed = self.constant()
        needed = {place for place in self.outputs if fixed[place]}
        for place, entry in enumerate(self.entries):
            if not fixed[place]:
                needed |= {each for each in _arguments(entry) if fixed[each]}
        return sorted(needed)

    def compiled(self) -> tuple[Callable[[], list[Any]], Callable[..., list[Any]]]:
        """Return two functions: one for the constants, one for the results.

        The first returns :meth:`used_constants` as balls of the present precision; the second takes
        the state and these. States are balls, power series of balls, or anything else with their
        operators and methods.
        """
        fixed, used = self.constant(), self.used_constants()
        texts = [f"    t{place} = {self._text(place)}" for place in range(len(self.entries))]
        results = ", ".join(f"t{place}" for place in self.outputs)
        lines = [
            "def constants():",
            *(text for text, same in zip(texts, fixed, strict=True) if same),
            f"    return [{', '.join(f't{place}' for place in used)}]",
            "def rates(state, constants):",
            *(f"    t{place} = constants[{n}]" for n, place in enumerate(used)),
            *(text for text, same in zip(texts, fixed, strict=True) if not same),
            f"    return [{results}]",
        ]

        names: dict[str, Any] = {"arb": arb, "fmpq": fmpq, "balls": self.balls}
        # safe, because the text contains nothing but the operations listed above
        exec(compile("\n".join(lines), "<operations>", "exec"), names)
        return names["constants"], names["rates"]

    def in_balls(self) -> Callable[[Sequence[Any]], list[Any]]:
        """Return the function from states to results, with constants of the present precision."""
        constants, results = self.compiled()
        given = constants()
        return lambda state: results(state, given)

    def _text(self, place: int) -> str:
        name, *arguments = self.entries[place]
        if name == "state":
            return f"state[{arguments[0]}]"
        if name == "number":
            value = arguments[0]
            return f"arb(fmpq({value.numerator}, {value.denominator}))"
        if name == "ball":
            return f"balls[{arguments[0]}]"
        if name == "pi":
            return "arb.pi()"
        if name == "neg":
            return f"-t{arguments[0]}"
        if name in _SIGNS:
            return f"t{arguments[0]} {_SIGNS[name]} t{arguments[1]}"
        return f"t{arguments[0]}.{name}()"


def _arguments(entry: Entry) -> tuple[int, ...]:
    return () if entry[0] in _LEAVES else tuple(entry[1:])


class Recorder:
    """The context of numbers that a printed module asks for; it records operations on its numbers.

    See :class:`symderiv.precision.balls.contexts.Numbers`.
    """

    def __init__(self, operations: Operations | None = None) -> None:
        self.operations = Operations() if operations is None else operations
        self.zero, self.one = self.mpf(0), self.mpf(1)
        self.pi = self.at(self.operations.place(("pi",)))

    def at(self, place: int) -> Recorded:
        """Return the number recorded at a place."""
        return Recorded(self.operations, place)

    def input(self) -> Recorded:
        """Return the next component of the state."""
        return self.at(self.operations.place(("state", self.operations.inputs)))

    def mpf(self, value: Any) -> Recorded:
        """Return a constant; a number that is recorded already is returned as it is."""
        if isinstance(value, Recorded):
            return value
        return self.at(self.operations.place_of_constant(value))

    def recording(self, outputs: list[Any]) -> Operations:
        """Return the operations on which these results depend."""
        self.operations.outputs = [self.mpf(each).place for each in outputs]
        return self.operations.live()

    def expm1(self, x: Any) -> Recorded:
        """Return exp(x) - 1; the cancellation costs only bits of precision here."""
        return self.mpf(x).function("exp") - self.one

    def __getattr__(self, name: str) -> Callable[[Any], Recorded]:
        if name.startswith("_"):
            raise AttributeError(name)
        if name not in FUNCTIONS:
            what = "an integral" if name == "quad" else name
            raise NotYetError(f"has no enclosure: its formulas contain {what}")
        return lambda x: self.mpf(x).function(name)


class Recorded:
    """A number that records the operations on it."""

    __slots__ = ("operations", "place")

    def __init__(self, operations: Operations, place: int) -> None:
        self.operations = operations
        self.place = place

    @property
    def exact(self) -> Fraction | None:
        """Return the value if it is a rational constant, else None."""
        entry = self.operations.entries[self.place]
        return entry[1] if entry[0] == "number" else None

    def _number(self, value: Any) -> Recorded:
        if isinstance(value, Recorded):
            return value
        return Recorded(self.operations, self.operations.place_of_constant(value))

    def _with(self, name: str, one: Any, two: Any) -> Recorded:
        first, second = self._number(one), self._number(two)
        known = first.exact, second.exact
        if known[0] is not None and known[1] is not None and not (name == "div" and not known[1]):
            return self._number(_exactly(name, known[0], known[1]))
        shorter = _shorter(name, first, second)
        if shorter is not None:
            return shorter
        places = (first.place, second.place)
        if name in ("add", "mul"):
            places = (min(places), max(places))
        return Recorded(self.operations, self.operations.place((name, *places)))

    def __add__(self, other: Any) -> Recorded:
        return self._with("add", self, other)

    def __radd__(self, other: Any) -> Recorded:
        return self._with("add", other, self)

    def __sub__(self, other: Any) -> Recorded:
        return self._with("sub", self, other)

    def __rsub__(self, other: Any) -> Recorded:
        return self._with("sub", other, self)

    def __mul__(self, other: Any) -> Recorded:
        return self._with("mul", self, other)

    def __rmul__(self, other: Any) -> Recorded:
        return self._with("mul", other, self)

    def __truediv__(self, other: Any) -> Recorded:
        return self._with("div", self, other)

    def __rtruediv__(self, other: Any) -> Recorded:
        return self._with("div", other, self)

    def __neg__(self) -> Recorded:
        value = self.exact
        return self.function("neg") if value is None else self._number(-value)

    def __pow__(self, power: Any) -> Recorded:
        if isinstance(power, Recorded):
            return (power * self.function("log")).function("exp")
        if not isinstance(power, int) or power < 1:
            raise NotYetError(f"has a power {power!r} that enclosures do not know")
        product = self
        for _ in range(power - 1):
            product = product * self
        return product

    def __rpow__(self, base: Any) -> Recorded:
        return self._number(base) ** self

    def _compared(self, other: Any) -> tuple[Fraction, Fraction]:
        one, two = self.exact, self._number(other).exact
        if one is None or two is None:
            raise NotYetError(
                "has no enclosure: its formulas depend on comparisons of order parameters"
            )
        return one, two

    def __eq__(self, other: object) -> bool:
        one, two = self._compared(other)
        return one == two

    def __lt__(self, other: Any) -> bool:
        one, two = self._compared(other)
        return one < two

    def __gt__(self, other: Any) -> bool:
        one, two = self._compared(other)
        return one > two

    def __le__(self, other: Any) -> bool:
        return not self > other

    def __ge__(self, other: Any) -> bool:
        return not self < other

    __hash__ = None  # type: ignore[assignment]

    def function(self, name: str) -> Recorded:
        """Return a function of this number, named as an operation of one argument."""
        return Recorded(self.operations, self.operations.place((name, self.place)))


def _exactly(name: str, one: Fraction, two: Fraction) -> Fraction:
    if name == "add":
        return one + two
    if name == "sub":
        return one - two
    return one * two if name == "mul" else one / two


def _shorter(name: str, one: Recorded, two: Recorded) -> Recorded | None:
    """Return the result of adding 0, or multiplying by 0 or 1, without an operation, or None."""
    left, right = one.exact, two.exact
    if name in ("add", "mul") and left is not None:
        one, two, left, right = two, one, right, left
    if right is None:
        return None
    if right == 0 and name in ("add", "sub"):
        return one
    if right == 0 and name == "mul":
        return two
    return one if right == 1 and name in ("mul", "div") else None
