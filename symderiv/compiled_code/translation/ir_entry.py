"""Entries: translated functions with the calling conventions of numba's code and of C.

A function writes its result to a given address and returns a status. An array is passed as its
owner (twice; not used), number of entries, bytes of each, address, lengths and strides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from symderiv.compiled_code.translation.ir_function import Statements, written
from symderiv.compiled_code.translation.ir_module import MEMORY, IrModule
from symderiv.compiled_code.translation.ir_values import (
    LLVM,
    IrArray,
    IrNumber,
    Kind,
    UntranslatableError,
    Value,
    texts,
)
from symderiv.compiled_code.translation.module_source import FunctionSource

_ITEMS = {"<f8": "f", "<i8": "i"}
_NUMBERS = {"double": "f", "int64": "i"}
_ARRAY_HEAD = ("ptr", "ptr", "i64", "i64", "ptr")
_DATA = 4  # the position of the address among these words


@dataclass(frozen=True)
class IrEntry:
    """The calling convention of a translated function.

    Attributes:
        symbol: Its name.
        for_c: The name of its form for C; empty if there is none.
        arguments: See :class:`symderiv.compiled_code.machine_code.MachineCode`.
        returns: "none", "double" or "int64".
        messages: The messages of the errors that it raises, by number.
    """

    symbol: str
    for_c: str
    arguments: list[Any]
    returns: str
    messages: list[str]


def add_entry(
    module: IrModule, source: FunctionSource, symbol: str, arguments: Sequence[Any]
) -> IrEntry:
    """Add a function that can be called from outside of the module.

    Raises:
        UntranslatableError: The function is outside of the translated part of Python.
    """
    entries: list[IrEntry] = []

    def write(statements: Statements) -> tuple[str, Kind | None]:
        statements.raises = True
        words, names, values = _arguments(arguments)
        statements.arguments(values)
        statements.body(values)
        writer = statements.writer
        returns = {None: "none", "f": "double", "i": "int64"}.get(statements.returns, "")
        if not returns:
            raise UntranslatableError("a function that gives more than one number")
        if statements.returns is not None:
            value = writer.loaded(statements.returns, statements.result)
            word = LLVM[statements.returns]
            writer.line(f"store {word} {texts(value)[0]}, ptr %result")
        # called functions take memory too, of which the first block is still held
        writer.line("call void @all_given_back(ptr %memory)")
        writer.end(f"ret i32 {writer.made('load i32, ptr %status')}")
        apart = {names[n] for n in _apart(source, arguments)} if statements.apart else set()
        given = [
            f"{word} {'noalias ' if name in apart else ''}{name}"
            for word, name in zip(words, names, strict=True)
        ]
        head = ", ".join(["ptr noalias %result", "ptr noalias %raised", *given])
        begin = (
            f"  %memory = alloca {MEMORY}\n  %status = alloca i32\n"
            f"  store {MEMORY} zeroinitializer, ptr %memory\n  store i32 0, ptr %status\n"
        )
        text = writer.text().replace("start:\n", f"start:\n{begin}", 1)
        tuples = any(isinstance(each, list) for each in arguments)
        for_c = "" if tuples else f"{symbol}_c"
        entries[:] = [IrEntry(symbol, for_c, list(arguments), returns, statements.messages)]
        return f"define i32 @{symbol}({head}) {{\n{text}\n}}", statements.returns

    text, _ = written(module, source, write)
    module.add(text)
    if entries[0].for_c:
        module.add(_for_c(entries[0]))
    return entries[0]


def _arguments(arguments: Sequence[Any]) -> tuple[list[str], list[str], list[Value]]:
    """Return the words of all arguments, their names, and the values that they form."""
    words: list[str] = []

    def value_of(kind: Any) -> Value:
        if isinstance(kind, list):
            return tuple(value_of(each) for each in kind)
        first = len(words)
        if kind in _NUMBERS:
            words.append(LLVM[_NUMBERS[kind]])
            return IrNumber(_NUMBERS[kind], f"%a{first}")
        item, _, axes = kind.partition(" ")
        words.extend([*_ARRAY_HEAD, *["i64"] * (2 * int(axes))])
        lengths = range(first + len(_ARRAY_HEAD), first + len(_ARRAY_HEAD) + int(axes))
        shape = tuple(IrNumber("i", f"%a{n}") for n in lengths)
        return IrArray(_ITEMS[item], f"%a{first + _DATA}", shape)

    values = [value_of(kind) for kind in arguments]
    return words, [f"%a{n}" for n in range(len(words))], values


def _apart(source: FunctionSource, arguments: Sequence[Any]) -> list[int]:
    """Return the positions, among the words, of the addresses of arrays called ``derivative``."""
    places = []
    names = [each.arg for each in source.node.args.args]
    for n, name in enumerate(names):
        if name == "derivative":
            before, _, _ = _arguments(arguments[:n])
            places.append(len(before) + _DATA)
    return places


def _for_c(entry: IrEntry) -> str:
    """Return a wrapper for C, in which arrays are structures and the result is returned."""
    heads: list[str] = []
    lines: list[str] = []
    given = ["ptr %result", "ptr %result"]

    for number, kind in enumerate(entry.arguments):
        name = f"%a{number}"
        if kind in _NUMBERS:
            heads.append(f"{LLVM[_NUMBERS[kind]]} {name}")
            given.append(heads[-1])
            continue
        axes = int(kind.partition(" ")[2])
        word = f"{{ {', '.join(_ARRAY_HEAD)}, [{axes} x i64], [{axes} x i64] }}"
        heads.append(f"{word} {name}")
        places = [(each, str(n)) for n, each in enumerate(_ARRAY_HEAD)]
        places += [("i64", f"{len(_ARRAY_HEAD) + m}, {n}") for m in range(2) for n in range(axes)]
        for n, (each, place) in enumerate(places):
            lines.append(f"  {name}_{n} = extractvalue {word} {name}, {place}")
            given.append(f"{each} {name}_{n}")
    lines.append(f"  %status = call i32 @{entry.symbol}({', '.join(given)})")
    result, last = "ptr", ["  ret ptr null"]
    if entry.returns != "none":
        result = LLVM[_NUMBERS[entry.returns]]
        last = [f"  %found = load {result}, ptr %result", f"  ret {result} %found"]
    body = "\n".join(["  %result = alloca i64", *lines, *last])
    return f"define {result} @{entry.for_c}({', '.join(heads)}) {{\n{body}\n}}"
