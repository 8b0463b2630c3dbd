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

#: The size of the blocks of memory that an entry takes; one block stays for the next call.
_BLOCK = 1 << 22

#: The memory of an entry: begin and end of the free part of its last block, and this block, which
#: stores the same of the block before. Functions give back what they take when they end; the first
#: block stays until the entry ends.
MEMORY = "{ ptr, ptr, ptr }"

RUNTIME = f"""
declare noalias ptr @malloc(i64)
declare void @free(ptr)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare double @frexp(double, ptr)
declare double @ldexp(double, i32)
declare <8 x double> @llvm.sqrt.v8f64(<8 x double>)

@spare = internal global i64 0

define internal noalias ptr @taken(ptr %memory, i64 %bytes) noinline {{
start:
  %more = add i64 %bytes, 63
  %whole = and i64 %more, -64
  %first = load ptr, ptr %memory
  %place_of_end = getelementptr inbounds {MEMORY}, ptr %memory, i64 0, i32 1
  %end = load ptr, ptr %place_of_end
  %from = ptrtoint ptr %first to i64
  %to = ptrtoint ptr %end to i64
  %left = sub i64 %to, %from
  %fits = icmp ule i64 %whole, %left
  br i1 %fits, label %there, label %another
there:
  %next = getelementptr inbounds i8, ptr %first, i64 %whole
  store ptr %next, ptr %memory
  ret ptr %first
another:
  %large = icmp ugt i64 %whole, {_BLOCK}
  br i1 %large, label %new, label %usual
usual:
  %kept = atomicrmw xchg ptr @spare, i64 0 acq_rel
  %is_kept = icmp ne i64 %kept, 0
  br i1 %is_kept, label %old, label %new
old:
  %same = inttoptr i64 %kept to ptr
  br label %have
new:
  %size = select i1 %large, i64 %whole, i64 {_BLOCK}
  %all = add i64 %size, 128
  %made = call ptr @malloc(i64 %all)
  br label %have
have:
  %block = phi ptr [ %same, %old ], [ %made, %new ]
  %room = phi i64 [ {_BLOCK}, %old ], [ %size, %new ]
  %before = load {MEMORY}, ptr %memory
  store {MEMORY} %before, ptr %block
  %mine = call ptr @first_of(ptr %block)
  %rest = getelementptr inbounds i8, ptr %mine, i64 %whole
  store ptr %rest, ptr %memory
  %new_end = getelementptr inbounds i8, ptr %mine, i64 %room
  store ptr %new_end, ptr %place_of_end
  %place_of_block = getelementptr inbounds {MEMORY}, ptr %memory, i64 0, i32 2
  store ptr %block, ptr %place_of_block
  ret ptr %mine
}}

define internal ptr @first_of(ptr %block) {{
  %address = ptrtoint ptr %block to i64
  %behind = add i64 %address, 127
  %begin = and i64 %behind, -64
  %skipped = sub i64 %begin, %address
  %first = getelementptr inbounds i8, ptr %block, i64 %skipped
  ret ptr %first
}}

define internal void @given_back(ptr %memory, ptr %mark) noinline {{
start:
  %place_of_block = getelementptr inbounds {MEMORY}, ptr %memory, i64 0, i32 2
  %place_of_end = getelementptr inbounds {MEMORY}, ptr %memory, i64 0, i32 1
  br label %next
next:
  %block = load ptr, ptr %place_of_block
  %none = icmp eq ptr %block, null
  br i1 %none, label %leave, label %one
one:
  %end = load ptr, ptr %place_of_end
  %behind = icmp ugt ptr %mark, %block
  %before_end = icmp ule ptr %mark, %end
  %inside = and i1 %behind, %before_end
  br i1 %inside, label %back, label %other
back:
  store ptr %mark, ptr %memory
  ret void
other:
  %former = load {MEMORY}, ptr %block
  %former_block = extractvalue {MEMORY} %former, 2
  %is_first = icmp eq ptr %former_block, null
  br i1 %is_first, label %keep, label %drop
keep:
  %first = call ptr @first_of(ptr %block)
  store ptr %first, ptr %memory
  ret void
drop:
  store {MEMORY} %former, ptr %memory
  call void @free(ptr %block)
  br label %next
leave:
  ret void
}}

define internal void @all_given_back(ptr %memory) noinline {{
start:
  %place_of_block = getelementptr inbounds {MEMORY}, ptr %memory, i64 0, i32 2
  %place_of_end = getelementptr inbounds {MEMORY}, ptr %memory, i64 0, i32 1
  br label %next
next:
  %block = load ptr, ptr %place_of_block
  %none = icmp eq ptr %block, null
  br i1 %none, label %leave, label %one
one:
  %end = load ptr, ptr %place_of_end
  %former = load {MEMORY}, ptr %block
  store {MEMORY} %former, ptr %memory
  %address = ptrtoint ptr %block to i64
  %last = ptrtoint ptr %end to i64
  %size = sub i64 %last, %address
  %usual = icmp ule i64 %size, {_BLOCK + 128}
  br i1 %usual, label %stays, label %drop
stays:
  %other = atomicrmw xchg ptr @spare, i64 %address acq_rel
  %one_more = inttoptr i64 %other to ptr
  call void @free(ptr %one_more)
  br label %next
drop:
  call void @free(ptr %block)
  br label %next
leave:
  ret void
}}
"""


@dataclass(frozen=True)
class Callee:
    """A function of the LLVM module: its name and the kind of its result (None for nothing)."""

    name: str
    returns: Kind | None


def result_type(returns: Kind | None) -> str:
    """Return LLVM's type of a result."""
    words = [] if returns is None else leaves(returns)
    return "void" if not words else words[0] if len(words) == 1 else f"{{ {', '.join(words)} }}"


class IrModule:
    """The text of an LLVM module, which grows while functions are translated.

    Args:
        translate: Writes a function for kinds of arguments; returns its text and its result's kind.
    """

    def __init__(
        self,
        translate: Callable[[IrModule, FunctionSource, str, tuple[Kind, ...]], tuple[str, Kind]],
    ) -> None:
        self._translate = translate
        self._callees: dict[tuple[int, tuple[Kind, ...]], Callee | None] = {}
        self._texts: list[str] = [RUNTIME]
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
        """Return whether a function's code is available elsewhere and need not be made here."""
        return False

    def callee(self, source: FunctionSource, kinds: tuple[Kind, ...]) -> Callee:
        """Return a function for these kinds of arguments, translated on first use."""
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
        """Declare an external function of doubles; return its name."""
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
