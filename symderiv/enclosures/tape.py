"""A right-hand side as a straight-line program: a list of operations without loops or cases.

The printed module of arbitrary precision is run once with numbers that write down what is done to
them. Loops over units and cases of coinciding indices are gone then, equal operations are one, and
what does not depend on the state is a constant. Such a list can be evaluated in any numbers, and
written into a file that another program checks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import sympy as sp

from symderiv.formula.walker import Meaning, added, constant, multiplied, value_of
from symderiv.foundation.errors import NotYetError

__all__ = ["FUNCTIONS", "Tape", "traced"]

FUNCTIONS = ("sqrt", "asin", "acos", "atan", "exp", "log", "erf")
"""Functions of one number, by the names of the methods of balls."""

_OPERATIONS = {"add": "+", "sub": "-", "mul": "*", "div": "/"}

Entry = tuple[Any, ...]


class Tape:
    """Operations, each on the results of former ones.

    Attributes:
        entries: For each result the operation and its arguments: ``("state", n)``,
            ``("number", Fraction)``, ``("pi",)``, ``("add", a, b)``, ``("sqrt", a)``, …, where a
            and b are places in this list.
        outputs: Places of the rates, in the order of the state.
    """

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.outputs: list[int] = []
        self._places: dict[Entry, int] = {}

    def place(self, entry: Entry) -> int:
        """Return where an operation is, added if it is new."""
        if entry not in self._places:
            self._places[entry] = len(self.entries)
            self.entries.append(entry)
        return self._places[entry]

    def live(self) -> Tape:
        """Return the same without operations whose results nothing needs."""
        needed: set[int] = set()
        waiting = list(self.outputs)
        while waiting:
            place = waiting.pop()
            if place not in needed:
                needed.add(place)
                waiting += _arguments(self.entries[place])
        found = Tape()
        moved: dict[int, int] = {}
        for place in sorted(needed):
            entry = self.entries[place]
            if _arguments(entry):
                entry = (entry[0], *(moved[each] for each in _arguments(entry)))
            moved[place] = found.place(entry)
        found.outputs = [moved[place] for place in self.outputs]
        return found

    def continued(self, expression: sp.Expr, names: Sequence[str]) -> Tape:
        """Return the operations that give an expression in the outputs, under these names.

        Raises:
            NotYetError: There is an operation that does not enclose.
        """
        found = Tape()
        for entry in self.entries:
            found.place(entry)
        known = dict(zip(names, self.outputs, strict=True))
        symbols = {each: _Traced(found, known[each.name]) for each in expression.free_symbols}
        context = _Tracing(found)
        value = context.mpf(value_of(expression, _OnTape(context), symbols))
        found.outputs = [value.place]
        return found.live()

    def constant(self) -> list[bool]:
        """Return of each entry whether it is the same at all states."""
        found: list[bool] = []
        for entry in self.entries:
            arguments = _arguments(entry)
            found.append(entry[0] != "state" and all(found[each] for each in arguments))
        return found

    def compiled(self) -> tuple[Callable[[], list[Any]], Callable[..., list[Any]]]:
        """Return two functions: constants in balls of the present precision, and, given the state
        and these constants, the rates.

        States are balls, power series of balls, or anything else with their operators and methods.
        """
        constant = self.constant()
        used = sorted(
            {
                each
                for place, entry in enumerate(self.entries)
                if not constant[place]
                for each in _arguments(entry)
                if constant[each]
            }
            | {place for place in self.outputs if constant[place]}
        )
        given = [f"    t{place} = constants[{n}]" for n, place in enumerate(used)]
        moving = [place for place in range(len(self.entries)) if not constant[place]]
        before = [place for place in range(len(self.entries)) if constant[place]]
        rates = ", ".join(f"t{place}" for place in self.outputs)
        kept = ", ".join(f"t{place}" for place in used)
        lines = [
            "def constants():",
            *(f"    t{place} = {self._text(place)}" for place in before),
            f"    return [{kept}]",
            "def rates(state, constants):",
            *given,
            *(f"    t{place} = {self._text(place)}" for place in moving),
            f"    return [{rates}]",
        ]
        from flint import arb, fmpq

        names: dict[str, Any] = {"arb": arb, "fmpq": fmpq}
        # the text is made of places and operations that were listed above
        exec(compile("\n".join(lines), "<tape>", "exec"), names)
        return names["constants"], names["rates"]

    def _text(self, place: int) -> str:
        name, *arguments = self.entries[place]
        if name == "state":
            return f"state[{arguments[0]}]"
        if name == "number":
            value = arguments[0]
            return f"arb(fmpq({value.numerator}, {value.denominator}))"
        if name == "pi":
            return "arb.pi()"
        if name == "neg":
            return f"-t{arguments[0]}"
        if name in _OPERATIONS:
            return f"t{arguments[0]} {_OPERATIONS[name]} t{arguments[1]}"
        return f"t{arguments[0]}.{name}()"


def _arguments(entry: Entry) -> tuple[int, ...]:
    return () if entry[0] in ("state", "number", "pi") else tuple(entry[1:])


class _Traced:
    """A number that writes down on a tape what is done to it."""

    __slots__ = ("place", "tape")

    def __init__(self, tape: Tape, place: int) -> None:
        self.tape = tape
        self.place = place

    @property
    def exact(self) -> Fraction | None:
        """The value if it is a rational constant."""
        entry = self.tape.entries[self.place]
        return entry[1] if entry[0] == "number" else None

    def _number(self, value: Any) -> _Traced:
        if isinstance(value, _Traced):
            return value
        return _Traced(self.tape, self.tape.place(("number", Fraction(value))))

    def _with(self, name: str, one: Any, two: Any) -> _Traced:
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
        return _Traced(self.tape, self.tape.place((name, *places)))

    def __add__(self, other: Any) -> _Traced:
        return self._with("add", self, other)

    def __radd__(self, other: Any) -> _Traced:
        return self._with("add", other, self)

    def __sub__(self, other: Any) -> _Traced:
        return self._with("sub", self, other)

    def __rsub__(self, other: Any) -> _Traced:
        return self._with("sub", other, self)

    def __mul__(self, other: Any) -> _Traced:
        return self._with("mul", self, other)

    def __rmul__(self, other: Any) -> _Traced:
        return self._with("mul", other, self)

    def __truediv__(self, other: Any) -> _Traced:
        return self._with("div", self, other)

    def __rtruediv__(self, other: Any) -> _Traced:
        return self._with("div", other, self)

    def __neg__(self) -> _Traced:
        value = self.exact
        if value is not None:
            return self._number(-value)
        return _Traced(self.tape, self.tape.place(("neg", self.place)))

    def __pow__(self, power: Any) -> _Traced:
        if not isinstance(power, int) or power < 1:
            raise NotYetError(f"has a power {power!r} that enclosures do not know")
        found = self
        for _ in range(power - 1):
            found = found * self
        return found

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

    def function(self, name: str) -> _Traced:
        return _Traced(self.tape, self.tape.place((name, self.place)))


def _exactly(name: str, one: Fraction, two: Fraction) -> Fraction:
    if name == "add":
        return one + two
    if name == "sub":
        return one - two
    return one * two if name == "mul" else one / two


def _shorter(name: str, one: _Traced, two: _Traced) -> _Traced | None:
    """Return a result that takes no operation: of adding 0, or multiplying by 0 or 1."""
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


class _Tracing:
    """The context of numbers that a printed module asks for, on a tape."""

    def __init__(self, tape: Tape) -> None:
        self._tape = tape
        self.zero, self.one = self.mpf(0), self.mpf(1)
        self.pi = _Traced(tape, tape.place(("pi",)))

    def mpf(self, value: Any) -> _Traced:
        """Return an exact number."""
        if isinstance(value, _Traced):
            return value
        return _Traced(self._tape, self._tape.place(("number", Fraction(value))))

    def __getattr__(self, name: str) -> Callable[[Any], _Traced]:
        if name not in FUNCTIONS:
            raise NotYetError(f"has no enclosure: its formulas contain {name}")
        return lambda x: self.mpf(x).function(name)


@dataclass(frozen=True)
class _OnTape:
    """SymPy's numbers that are made of fractions and roots, on a tape."""

    context: _Tracing

    def meaning(self, node: sp.Expr) -> Meaning:
        if node.is_Rational:
            return constant(self.context.mpf(Fraction(int(node.p), int(node.q))))
        if node.is_Add:
            return added(node.args)
        if node.is_Mul:
            return multiplied(node.args)
        if node.is_Pow and (2 * node.exp).is_Integer:
            power = int(2 * node.exp)
            return (lambda base: self._half_power(base, power)), (node.base,)
        raise NotYetError(f"has no enclosure: {node} is not made of fractions and roots")

    def _half_power(self, base: _Traced, power: int) -> _Traced:
        root = base if power % 2 == 0 else base.function("sqrt")
        raised = root ** (abs(power) // (2 if power % 2 == 0 else 1))
        return raised if power > 0 else 1 / raised


def traced(
    module: SimpleNamespace, name: str, arguments: Sequence[Any], outputs: Sequence[Any]
) -> Tape:
    """Return the operations of one function of a printed module.

    Args:
        module: See :func:`symderiv.lowering.programs.precise_module.precise_module`.
        name: The name of the function.
        arguments: What it takes behind the context: nested lists of numbers; a number of the state
            is its place as an ``int`` in a tuple of one, ``(n,)``, others are exact fractions or
            SymPy's numbers made of roots.
        outputs: Nested lists in which the function leaves its results; see ``arguments``. What it
            returns comes behind them.

    Raises:
        NotYetError: There is an operation, a function or a comparison that does not enclose.
    """
    tape = Tape()
    context = _Tracing(tape)

    def number(value: Any) -> Any:
        if isinstance(value, list):
            return [number(each) for each in value]
        if isinstance(value, tuple):
            return _Traced(tape, tape.place(("state", value[0])))
        if isinstance(value, sp.Basic):
            return value_of(value, _OnTape(context), {})
        return context.mpf(value)

    function = getattr(module, name)
    guarded = {
        # inside of their domains, which evaluation in balls proves, guards are what they guard
        "_clipped_sqrt": lambda mp, x: mp.sqrt(x),
        "_clipped_asin": lambda mp, x: mp.asin(x),
        "_ratio": lambda mp, numerator, denominator: mp.mpf(numerator) / denominator,
    }
    names = function.__globals__
    before = {key: names[key] for key in guarded if key in names}
    try:
        names.update({key: guarded[key] for key in before})
        places = [number(each) for each in outputs]
        returned = function(context, *map(number, arguments), *places)
    finally:
        names.update(before)
    found = [*_flat(places), *([] if returned is None else [returned])]
    tape.outputs = [context.mpf(each).place for each in found]
    return tape.live()


def _flat(values: Any) -> Iterable[Any]:
    if isinstance(values, list):
        for each in values:
            yield from _flat(each)
    else:
        yield values
