"""The keys over which a sweep goes, with their values, and the arrays at each point."""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from symderiv.foundation.errors import InputError
from symderiv.foundation.showing import plain
from symderiv.keys.toml_text import short_text, typed_value
from symderiv.storage.run_files import MORE_OF_RULES, NUMBERS, axes_of, of_rules

_OF_STUDIES = ("generalization_error", "Q", "R", "v", "T")


def _axes(name: str) -> tuple[str, ...]:
    return tuple("time" if axis == "alpha" else axis for axis in axes_of(name)[0])


#: Dimensions of each variable after those of the sweep; "time" is that of the output times.
AXES = {name: _axes(name) for name in (*_OF_STUDIES, *MORE_OF_RULES)}


@dataclass(frozen=True)
class PointArrays:
    """The curves that every point has.

    Args:
        times: the number of output times.
        sizes: lengths of the dimensions, except that of the times.
        curves: dimensions by variable.
        study: True if the points are studies, whose rules may add variables.
    """

    times: int
    sizes: Mapping[str, int]
    curves: Mapping[str, tuple[str, ...]]
    study: bool = False

    @classmethod
    def of_studies(cls, times: int, K: int, M: int) -> Self:
        """Return the arrays of studies with up to K students and M teachers."""
        sizes = {"student": K, "student_2": K, "teacher": M, "teacher_2": M}
        return cls(times, sizes, {name: AXES[name] for name in _OF_STUDIES}, True)

    @classmethod
    def read(cls, said: Any) -> Self:
        """Return the variables from the form :attr:`said`, in which a store keeps them."""
        if isinstance(said, list):
            return cls.of_studies(*said)
        curves = {name: tuple(axes) for name, axes in said["curves"].items()}
        return cls(said["times"], said["sizes"], curves)

    @property
    def said(self) -> Any:
        """The sizes in JSON: for studies the numbers of times, students and teachers."""
        if self.study:
            return [self.times, self.sizes["student"], self.sizes["teacher"]]
        curves = {name: list(axes) for name, axes in self.curves.items()}
        return {"times": self.times, "sizes": dict(self.sizes), "curves": curves}

    @property
    def numbers(self) -> int:
        """The number of values in the curves of a point."""
        lengths = {**self.sizes, "time": self.times}
        return sum(int(np.prod([lengths[a] for a in axes])) for axes in self.curves.values())

    def axes(self, variable: str) -> tuple[str, ...]:
        """Return the dimensions of a variable."""
        known = self.study and of_rules(variable)
        return self.curves.get(variable) or (_axes(variable) if known else ())


#: Names that no dimension of a sweep can have, because variables and axes of runs use them.
TAKEN = frozenset(
    {"alpha", "time_index", "point_hash", "state", *NUMBERS, *AXES}
    | {axis for axes in AXES.values() for axis in axes}
)

_RANGE = re.compile(r"(?P<log>log:)?(?P<low>[^:,]+):(?P<high>[^:,]+):(?P<count>[^:,]+)")
_NO_COUNT = re.compile(r"(log:)?[-+.e\d]+:[-+.e\d]+")
_MOST_VALUES = 10**7
MOST_POINTS = 10**8


@dataclass(frozen=True)
class Axis:
    """One swept key.

    Args:
        key: the key of the study, ``training.learning_rate``.
        name: the name of the dimension.
        values: the values as checked studies have them, each once.
    """

    key: str
    name: str
    values: tuple[Any, ...]

    def coordinate(self) -> np.ndarray:
        """Return the values as numbers or texts, shape (len,); lists and tables as JSON."""
        kinds = {type(value) for value in self.values}
        if kinds == {bool}:
            return np.array(self.values)
        if kinds <= {int} and max(abs(value) for value in self.values) < 2**63:
            return np.array(self.values, dtype=np.int64)
        if kinds <= {int, float} and all(abs(value) < 2**53 for value in self.values):
            return np.array(self.values, dtype=np.float64)
        return np.array([text_of(value) for value in self.values])


def text_of(value: Any) -> str:
    """Return a value in one line: texts as they are, other values as JSON."""
    if isinstance(value, str):
        return value
    try:
        return json.dumps(plain(value))
    except TypeError:
        return repr(value)


def values_at(axes: Sequence[Axis], index: int) -> Iterator[tuple[Axis, Any]]:
    """Return the axes with their values at a flat index, whose last axis varies fastest."""
    places = np.unravel_index(index, tuple(len(axis.values) for axis in axes))
    return ((axis, axis.values[place]) for axis, place in zip(axes, places, strict=True))


def point_label(axes: Sequence[Axis], index: int) -> str:
    """Return a point in words, with the names of the dimensions."""
    return ", ".join(f"{axis.name}={short_text(value)}" for axis, value in values_at(axes, index))


def axis_names(keys: Sequence[str]) -> list[str]:
    """Return the names of the dimensions: keys without their tables if these are unique."""
    short = [key.partition(".")[2] for key in keys]
    return [
        key if short.count(name) > 1 or name in TAKEN or "." in name else name
        for key, name in zip(keys, short, strict=True)
    ]


def lists_of(
    over: Mapping[str, Sequence[Any]], key_of: Callable[[str], str]
) -> dict[str, list[Any]]:
    """Return the keys and values of a sweep, with ranges written out.

    Args:
        over: Lists of values, or ranges as texts, by name.
        key_of: A function from a name to its key, which raises an error if there is none.

    Raises:
        InputError: There is no such key, or it has no values.
    """
    lists = {}
    for name, values in over.items():
        key = key_of(name)
        lists[key] = (
            values_of(values) if isinstance(values, str) else list(plain(values, finite=False))
        )
        if not lists[key]:
            raise InputError("must be a list of at least one value", argument=name)
    return lists


def axes_of_lists(lists: Mapping[str, list[Any]], elsewhere: str = "") -> tuple[Axis, ...]:
    """Return the axes of a grid.

    Args:
        lists: Lists of values by key.
        elsewhere: Words for the message that say where else keys may be given.

    Raises:
        InputError: There is no key, or there are too many points.
    """
    if not lists:
        raise InputError(
            f"there is nothing to sweep over; give keys and values{elsewhere}", argument="over"
        )
    count = math.prod(len(values) for values in lists.values())
    if count > MOST_POINTS:
        raise InputError(
            f"{count} points are more than {MOST_POINTS}; give fewer values", argument="over"
        )
    return tuple(
        Axis(key, name, tuple(values))
        for (key, values), name in zip(lists.items(), axis_names(list(lists)), strict=True)
    )


def is_whole(model: Any, name: str) -> bool:
    """Return whether an argument of a checked table takes whole numbers only."""
    fields = getattr(type(model), "model_fields", {})
    annotation = str(fields[name].annotation) if name in fields else ""
    return "int" in annotation and "float" not in annotation


def parse_over(text: str) -> tuple[str, list[Any]]:
    """Return key and values of ``key=v1,v2``, ``key=low:high:count`` or ``key=log:low:high:count``.

    Values are TOML, or else texts; a range includes both ends.

    Raises:
        InputError: the key, a value or the equals sign is missing, or the range is invalid.
    """
    key, equals, values = text.partition("=")
    key = key.strip()
    if not equals or not key or not values.strip():
        raise InputError(
            f"{text!r} must have the form key=value1,value2 or key=low:high:count", argument="over"
        )
    return key, values_of(values)


def values_of(text: str) -> list[Any]:
    """Return the values that a text lists or gives as a range."""
    match = _RANGE.fullmatch(text.strip())
    if match is not None:
        return _spread(text, match)
    if _NO_COUNT.fullmatch(text.strip()):
        raise InputError(
            f"{text!r} is a range without a count; write low:high:count", argument="over"
        )
    try:
        # read as a TOML list, so that quoted texts and nested lists are right
        return list(tomllib.loads(f"values = [{text}]")["values"])
    except tomllib.TOMLDecodeError:
        return [typed_value(part) for part in text.split(",")]


def _spread(text: str, match: re.Match[str]) -> list[Any]:
    low, high, count = (typed_value(match[name]) for name in ("low", "high", "count"))
    numbers = all(type(end) in (int, float) and np.isfinite(float(end)) for end in (low, high))
    if not numbers or type(count) is not int or not 1 < count <= _MOST_VALUES:
        raise InputError(
            f"{text.strip()!r} must have the form low:high:count with two numbers and a count of "
            "at least 2",
            argument="over",
        )
    if match["log"]:
        if not low > 0.0 or not high > 0.0:
            raise InputError(f"{text.strip()!r}: both ends must be above 0", argument="over")
        values = np.geomspace(low, high, count)
    else:
        if type(low) is type(high) is int and (high - low) % (count - 1) == 0 and high != low:
            step = (high - low) // (count - 1)
            return list(range(low, high + (1 if step > 0 else -1), step))
        values = np.linspace(low, high, count)
    values[0], values[-1] = low, high
    return [float(value) for value in values]
