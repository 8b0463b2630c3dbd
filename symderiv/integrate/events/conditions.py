"""Conditions on order parameters, typed by users, as gaps that become positive."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from symderiv.foundation.errors import FormulaError, InputError, errors_about

if TYPE_CHECKING:
    import sympy as sp

_CONDITION = re.compile(r"^([^<>=]+)(<|>)=?([^<>=]+)$")
#: Order parameters and observables at a state, arrays and numbers, by name.
Observed = Mapping[str, Any]


@dataclass(frozen=True)
class Readable:
    """The names that conditions on a run may contain.

    Attributes:
        entries: The pattern of an entry of an array, as ``Q[1,2]``.
        entry: A function from such a text to the name of its array and the index in it; raises an
            InputError if there is no such entry.
        numbers: The names of scalar observables.
        example: Examples of conditions, for messages.
        measured: What observables are called in messages.
    """

    entries: re.Pattern[str]
    entry: Callable[[str], tuple[str, tuple[int, ...]]]
    numbers: tuple[str, ...]
    example: str
    measured: str = "the name of an observable"


class Condition:
    """A condition on order parameters, typed by a user: a gap that becomes positive.

    Args:
        text: The condition.
        readable: The names that it may contain.

    Raises:
        InputError: It cannot be read, or names what does not exist.
    """

    def __init__(self, text: str, readable: Readable) -> None:
        from symderiv.formula import parse_formula

        self.text, self._readable = text, readable
        parts = _CONDITION.match(text)
        if parts is None:
            raise InputError(
                f"{text!r} is not a condition such as {readable.example}", argument="events"
            )
        left, sign, right = parts.groups()
        self._places: dict[str, tuple[str, tuple[int, ...]]] = {}
        plain = [readable.entries.sub(self._entry, side) for side in (left, right)]
        variables = (*self._places, *readable.numbers, "alpha")
        try:
            less, more = (parse_formula(side, variables) for side in plain)
            self._gap = more - less if sign == "<" else less - more
        except FormulaError as error:
            raise InputError(f"{text!r}: {error}", argument="events") from None
        used = {str(each) for each in self._gap.free_symbols}
        self._names = [name for name in variables if name in used]

    def _entry(self, match: re.Match[str]) -> str:
        with errors_about("events"):
            name, place = self._readable.entry(match[0])
        label = "_".join([re.sub(r"\W", "_", name), *(str(n + 1) for n in place)])
        while self._places.get(label, (name, place)) != (name, place):
            label += "_"
        self._places[label] = name, place
        return label

    @property
    def needs(self) -> frozenset[str]:
        """The names of the arrays and numbers that the condition contains."""
        return frozenset(self._places.get(name, (name,))[0] for name in self._names)

    def _numbers(self, observed: Observed, alpha: float) -> list[float]:
        numbers = []
        for name in self._names:
            field, place = self._places.get(name, (name, ()))
            numbers.append(alpha if name == "alpha" else float(np.asarray(observed[field])[place]))
        return numbers

    def gap(self, observed: Observed, alpha: float) -> float:
        """Return the gap, which is positive where the condition holds."""
        return float(self._value(*self._numbers(observed, alpha))[0])

    @cached_property
    def _value(self) -> Callable[..., Any]:
        return self._function([self._gap])

    @cached_property
    def _slopes(self) -> Callable[..., Any]:
        return self._function([self._gap.diff(self._symbol(name)) for name in self._names])

    def named_gap(self) -> sp.Expr:
        """Return the gap as an expression in ``Q[1,1]`` and so on."""
        import sympy as sp

        names = {
            label: f"{field}[{','.join(str(n + 1) for n in place)}]" if place else field
            for label, (field, place) in self._places.items()
        }
        return self._gap.xreplace(
            {each: sp.Symbol(names.get(str(each), str(each))) for each in self._gap.free_symbols}
        )

    def change(self, observed: Observed, alpha: float, rates: Observed, time: float) -> float:
        """Return the derivative of the gap along given rates of the observables and of time."""
        slopes = self._slopes(*self._numbers(observed, alpha))
        return float(np.dot(slopes, self._numbers(rates, time)))

    def _symbol(self, name: str) -> sp.Symbol:
        return next(each for each in self._gap.free_symbols if str(each) == name)

    def _function(self, expressions: list[sp.Expr]) -> Callable[..., Any]:
        from symderiv.formula.as_function import as_function

        return as_function([self._symbol(name) for name in self._names], expressions, "floats")
