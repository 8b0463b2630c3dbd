"""The functions of a module that one function needs, as the text of one LLVM module."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from symderiv.compiled_code.translation.ir_values import (
    LLVM,
    IrArray,
    Kind,
    UntranslatableError,
    double_text,
    known,
    leaves,
)
from symderiv.compiled_code.translation.module_source import FunctionSource

#: Memory of an entry is a list of blocks, which is freed down to a mark.
_RUNTIME = """
declare noalias ptr @malloc(i64)
declare void @free(ptr)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare double @frexp(double, ptr)
declare double @ldexp(double, i32)
declare <8 x double> @llvm.sqrt.v8f64(<8 x double>)

define internal noalias ptr @taken(ptr %memory, i64 %bytes) {
  %all = add i64 %bytes, 64
  %block = call ptr @malloc(i64 %all)
  %before = load ptr, ptr %memory
  store ptr %before, ptr %block
  store ptr %block, ptr %memory
  %first = getelementptr inbounds i8, ptr %block, i64 64
  ret ptr %first
}

define internal void @given_back(ptr %memory, ptr %mark) noinline {
start:
  br label %next
next:
  %block = load ptr, ptr %memory
  %done = icmp eq ptr %block, %mark
  br i1 %done, label %leave, label %one
one:
  %before = load ptr, ptr %block
  store ptr %before, ptr %memory
  call void @free(ptr %block)
  br label %next
leave:
  ret void
}
"""


@dataclass(frozen=True)
class Callee:
    """A function of the LLVM module: its name and the kind of what it returns, None for nothing."""

    name: str
    returns: Kind | None


def result_type(returns: Kind | None) -> str:
    """Return LLVM's type of a result."""
    words = [] if returns is None else leaves(returns)
    return "void" if not words else words[0] if len(words) == 1 else f"{{ {', '.join(words)} }}"


class IrModule:
    """The text that grows while functions are translated.

    Args:
        translate: Writes a function for kinds of arguments; returns its text and its result's kind.
    """

    def __init__(
        self,
        translate: Callable[[IrModule, FunctionSource, str, tuple[Kind, ...]], tuple[str, Kind]],
    ) -> None:
        self._translate = translate
        self._callees: dict[tuple[int, tuple[Kind, ...]], Callee | None] = {}
        self._texts: list[str] = [_RUNTIME]
        self._constants: dict[int, tuple[Any, str]] = {}
        self._tuples: dict[tuple[float, ...], np.ndarray] = {}
        self._declared: dict[str, str] = {}
        self._numbers = itertools.count()

    def text(self) -> str:
        """Return the text of the module."""
        return "\n\n".join([*self._declared.values(), *self._texts])

    def add(self, text: str) -> None:
        """Add a definition."""
        self._texts.append(text)

    def once(self, text: str) -> None:
        """Add a definition or a declaration, if it is not there yet."""
        self._declared.setdefault(text, text)

    def comes(self, source: FunctionSource, kinds: tuple[Kind, ...]) -> bool:
        """Return whether the code of a function is there already, not to be made here."""
        return False

    def callee(self, source: FunctionSource, kinds: tuple[Kind, ...]) -> Callee:
        """Return a function for kinds of arguments, which is translated if it was not."""
        key = id(source), kinds
        if key not in self._callees:
            self._callees[key] = None
            name = f"{source.node.name}_{next(self._numbers)}"
            text, returns = self._translate(self, source, name, kinds)
            self._texts.append(text)
            self._callees[key] = Callee(name, returns)
        callee = self._callees[key]
        if callee is None:
            raise UntranslatableError(f"{source.node.name} calls itself")
        return callee

    def declared(self, name: str, arguments: int = 1) -> str:
        """Return the name of a function of doubles, which is declared."""
        given = ", ".join(["double"] * arguments)
        self._declared[name] = f"declare double @{name}({given})"
        return name

    def array(self, values: np.ndarray) -> IrArray:
        """Return a constant array.

        Raises:
            UntranslatableError: Its numbers are neither doubles nor integers.
        """
        item = {"f": "f", "i": "i"}.get(values.dtype.kind)
        if item is None or values.dtype.itemsize != 8 or not values.flags.c_contiguous:
            raise UntranslatableError(f"an array of {values.dtype}")
        if id(values) not in self._constants:
            name = f"@constant_{len(self._constants)}"
            numbers = [float(x) if item == "f" else int(x) for x in values.ravel()]
            write = double_text if item == "f" else str
            word = LLVM[item]
            content = ", ".join(f"{word} {write(x)}" for x in numbers)
            size = f"[{len(numbers)} x {word}]"
            self._texts.append(
                f"{name} = private unnamed_addr constant {size} [{content}], align 64"
            )
            self._constants[id(values)] = values, name
        shape = tuple(known(int(n)) for n in values.shape)
        return IrArray(item, self._constants[id(values)][1], shape)

    def numbers(self, values: tuple[float, ...]) -> IrArray:
        """Return constant numbers as an array."""
        return self.array(self._tuples.setdefault(values, np.array(values)))
