"""Values of the translated language: numbers, arrays and tuples of both, as LLVM has them."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

LLVM = {"f": "double", "i": "i64", "u": "i64", "b": "i1"}
"""Kinds of numbers: doubles, integers with and without sign, truth values."""


class UntranslatableError(Exception):
    """A text has something that is not translated, so that numba compiles it instead."""


@dataclass(frozen=True)
class IrNumber:
    """A number: its kind, its text in LLVM, and its value if it is a known constant."""

    kind: str
    text: str
    constant: Any = None


@dataclass(frozen=True)
class IrArray:
    """An array of doubles or integers.

    Attributes:
        item: Kind of its numbers.
        data: The name, in LLVM, of the address of the first one.
        shape: Lengths.
        steps: The steps from one number to the next along each axis; None if contiguous.
    """

    item: str
    data: str
    shape: tuple[IrNumber, ...]
    steps: tuple[IrNumber, ...] | None = None


Value = IrNumber | IrArray | tuple["Value", ...]
"""Tuples are represented by Python's tuples."""

Kind = Any
"""A letter for numbers, ("array", item, axes, contiguous), or ("tuple", kinds)."""


def double_text(value: float) -> str:
    """Return a double in LLVM's notation."""
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


def known(value: float | int | bool) -> IrNumber:
    """Return a constant number."""
    if isinstance(value, bool):
        return IrNumber("b", "true" if value else "false", value)
    if isinstance(value, int):
        return IrNumber("i", str(value), value)
    return IrNumber("f", double_text(value), float(value))


def kind_of(value: Value) -> Kind:
    """Return the kind of a value."""
    if isinstance(value, IrNumber):
        return value.kind
    if isinstance(value, IrArray):
        return ("array", value.item, len(value.shape), value.steps is None)
    return ("tuple", tuple(kind_of(each) for each in value))


def leaves(kind: Kind) -> list[str]:
    """Return the types of the words that a value consists of."""
    if isinstance(kind, str):
        return [LLVM[kind]]
    if kind[0] == "array":
        return ["ptr"] + ["i64"] * (kind[2] if kind[3] else 2 * kind[2])
    return [word for each in kind[1] for word in leaves(each)]


def texts(value: Value) -> list[str]:
    """Return the words of a value, in the order of :func:`leaves`."""
    if isinstance(value, IrNumber):
        return [value.text]
    if isinstance(value, IrArray):
        return [value.data, *(n.text for n in (*value.shape, *(value.steps or ())))]
    return [word for each in value for word in texts(each)]


def built(kind: Kind, words: Sequence[str]) -> Value:
    """Return the value of a kind from its words."""
    return _built(kind, iter(words))


def _built(kind: Kind, words: Iterator[str]) -> Value:
    if isinstance(kind, str):
        return IrNumber(kind, next(words))
    if kind[0] == "array":
        _, item, axes, contiguous = kind
        data = next(words)
        shape = tuple(IrNumber("i", next(words)) for _ in range(axes))
        steps = None if contiguous else tuple(IrNumber("i", next(words)) for _ in range(axes))
        return IrArray(item, data, shape, steps)
    return tuple(_built(each, words) for each in kind[1])


def joined(one: Kind, other: Kind) -> Kind:
    """Return a kind that can represent the values of two kinds.

    Raises:
        UntranslatableError: There is none.
    """
    if one == other:
        return one
    if isinstance(one, str) and isinstance(other, str):
        both = {one, other}
        if both == {"i", "f"}:
            return "f"
        if both == {"i", "u"}:  # a name that is the index of several loops
            return "i"
    elif isinstance(one, tuple) and isinstance(other, tuple) and one[0] == other[0]:
        if one[0] == "tuple" and len(one[1]) == len(other[1]):
            pairs = zip(one[1], other[1], strict=True)
            return ("tuple", tuple(joined(mine, its) for mine, its in pairs))
        if one[0] == "array" and one[1:3] == other[1:3]:
            return (*one[:3], False)
    raise UntranslatableError(f"a name stands for {one} and for {other}")
