"""Calls of functions outside of the module: Python's, and those of math, NumPy and runtime."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from symderiv.compiled_code.translation.ir_body import FunctionBody
from symderiv.compiled_code.translation.ir_values import (
    LLVM,
    IrArray,
    IrNumber,
    UntranslatableError,
    Value,
    double_text,
    known,
)
from symderiv.compiled_code.translation.module_source import FromRuntime

_LLVM = {
    math.sqrt: "sqrt",
    math.exp: "exp",
    math.log: "log",
    math.sin: "sin",
    math.cos: "cos",
    math.fabs: "fabs",
    math.log2: "log2",
    math.log10: "log10",
}
_LIBRARY = {
    getattr(math, name): name
    for name in (
        *("tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh"),
        *("erf", "erfc", "expm1", "log1p", "atan2", "hypot", "fmod"),
    )
}
_ROUNDED = {math.floor: "floor", math.ceil: "ceil", math.trunc: "trunc"}
_LINE = 64
_LARGEST_ON_STACK = 512
_EIGHT = "<8 x double>"


def called_known(at: FunctionBody, function: Any, values: Sequence[Value], dtype: Any) -> Value:
    """Return the result of calling a function that is not of the module.

    Raises:
        UntranslatableError: It is not one of those below.
    """
    if isinstance(function, FromRuntime):
        return _of_runtime(at, function.name, values)
    if function in (np.empty, np.zeros, np.ones):
        return _filled_anew(at, function, values, dtype)
    if function is len and len(values) == 1:
        first = values[0]
        return first.shape[0] if isinstance(first, IrArray) else known(len(_tuple(first)))
    numbers = [_number(value) for value in values]
    if function in _LLVM:
        name = at.module.declared(f"llvm.{_LLVM[function]}.f64")
        return at.writer.called(name, numbers)
    if function in _LIBRARY:
        return at.writer.called(at.module.declared(_LIBRARY[function], len(numbers)), numbers)
    if function in _ROUNDED:
        name = at.module.declared(f"llvm.{_ROUNDED[function]}.f64")
        return at.writer.number(at.writer.called(name, numbers), "i")
    special = _SPECIAL.get(function) if callable(function) else None
    if special is None:
        raise UntranslatableError(f"a call of {getattr(function, '__name__', function)}")
    return special(at, numbers)


def _number(value: Value) -> IrNumber:
    if not isinstance(value, IrNumber):
        raise UntranslatableError("an array or a tuple where a number is expected")
    return value


def _tuple(value: Value) -> tuple[Value, ...]:
    if not isinstance(value, tuple):
        raise UntranslatableError("something else where a tuple is expected")
    return value


def _least(sign: str) -> Callable[[FunctionBody, Sequence[IrNumber]], IrNumber]:
    """Return Python's min or max, which takes the first one of equal numbers."""

    def chosen(at: FunctionBody, numbers: Sequence[IrNumber]) -> IrNumber:
        writer, least = at.writer, numbers[0]
        for number in numbers[1:]:
            number, least = writer.alike(number, least)
            condition = writer.compared(sign, number, least)
            if condition.constant is not None:
                least = number if condition.constant else least
            else:
                least = writer.selected(condition, number, least)
        return least

    return chosen


def _absolute(at: FunctionBody, numbers: Sequence[IrNumber]) -> IrNumber:
    (number,) = numbers
    if number.kind == "f":
        return at.writer.called(at.module.declared("llvm.fabs.f64"), numbers)
    less = at.writer.compared("<", number, known(0))
    return at.writer.selected(less, at.writer.negative(number), number)


def _as(kind: str) -> Callable[[FunctionBody, Sequence[IrNumber]], IrNumber]:
    return lambda at, numbers: at.writer.number(numbers[0], kind)


def _copysign(at: FunctionBody, numbers: Sequence[IrNumber]) -> IrNumber:
    return at.writer.called(at.module.declared("llvm.copysign.f64", 2), numbers)


def _power(at: FunctionBody, numbers: Sequence[IrNumber]) -> IrNumber:
    at.module.declared("llvm.pow.f64", 2)
    return at.writer.power(*numbers)


def _is_nan(at: FunctionBody, numbers: Sequence[IrNumber]) -> IrNumber:
    return at.writer.compared("!=", numbers[0], numbers[0])


def _is_infinite(at: FunctionBody, numbers: Sequence[IrNumber]) -> IrNumber:
    return at.writer.compared("==", _absolute(at, numbers), known(math.inf))


def _is_finite(at: FunctionBody, numbers: Sequence[IrNumber]) -> IrNumber:
    return at.writer.compared("<", _absolute(at, numbers), known(math.inf))


def _frexp(at: FunctionBody, numbers: Sequence[IrNumber]) -> tuple[IrNumber, IrNumber]:
    writer = at.writer
    place = writer.reserved("i32")
    value = writer.number(numbers[0], "f").text
    part = writer.made(f"call double @frexp(double {value}, ptr {place})")
    short = writer.made(f"load i32, ptr {place}")
    return IrNumber("f", part), IrNumber("i", writer.made(f"sext i32 {short} to i64"))


def _ldexp(at: FunctionBody, numbers: Sequence[IrNumber]) -> IrNumber:
    writer = at.writer
    short = writer.made(f"trunc i64 {writer.number(numbers[1], 'i').text} to i32")
    value = writer.number(numbers[0], "f").text
    return IrNumber("f", writer.made(f"call double @ldexp(double {value}, i32 {short})"))


_SPECIAL: dict[Any, Callable[[FunctionBody, Sequence[IrNumber]], Value]] = {
    min: _least("<"),
    max: _least(">"),
    abs: _absolute,
    float: _as("f"),
    int: _as("i"),
    bool: _as("b"),
    np.uint64: _as("u"),
    np.int64: _as("i"),
    np.float64: _as("f"),
    math.copysign: _copysign,
    math.pow: _power,
    math.isnan: _is_nan,
    math.isinf: _is_infinite,
    math.isfinite: _is_finite,
    math.frexp: _frexp,
    math.ldexp: _ldexp,
}


# arrays


def new_array(at: FunctionBody, shape: tuple[IrNumber, ...], item: str = "f") -> IrArray:
    """Return a new array, on the stack if its size is known and small."""
    writer, size = at.writer, known(1)
    for length in shape:
        size = writer.arithmetic("*", size, length)
    if size.constant is not None and size.constant <= _LARGEST_ON_STACK and not at.gives_arrays:
        return _on_stack(at, max(1, size.constant), shape, item)
    at.takes_memory = True
    number = writer.arithmetic("*", size, known(8)).text
    data = writer.made(f"call noalias ptr @taken(ptr %memory, i64 {number})")
    return IrArray(item, data, shape)


def _on_stack(
    at: FunctionBody, count: int, shape: tuple[IrNumber, ...], item: str = "f"
) -> IrArray:
    """Return an array of zeros on the stack.

    Functions of many numbers at once also read what lies behind the last number, and denormal
    numbers left there would take a hundred times longer.
    """
    writer = at.writer
    data = writer.reserved(f"[{count} x {LLVM[item]}], align {_LINE}")
    writer.line(f"call void @llvm.memset.p0.i64(ptr {data}, i8 0, i64 {8 * count}, i1 false)")
    return IrArray(item, data, shape)


def _filled_anew(at: FunctionBody, function: Any, values: Sequence[Value], dtype: Any) -> IrArray:
    shape = values[0] if isinstance(values[0], tuple) else (values[0],)
    lengths = tuple(at.writer.number(_number(each), "i") for each in shape)
    item = {None: "f", np.float64: "f", float: "f", np.int64: "i", int: "i"}.get(dtype)
    if item is None:
        raise UntranslatableError(f"an array of {dtype}")
    array = new_array(at, lengths, item)
    if function is np.zeros:
        filled(at, array, known(0.0) if item == "f" else known(0))
    elif function is np.ones:
        filled(at, array, known(1.0) if item == "f" else known(1))
    return array


def filled(at: FunctionBody, array: IrArray, value: IrNumber) -> None:
    """Write one number to all places of an array."""
    if array.steps is not None:
        raise UntranslatableError("numbers that are written to a part of an array's columns")
    writer = at.writer
    value, size = writer.number(value, array.item), writer.size_of(array)
    if value.constant == 0 and value.text in ("0", double_text(0.0)):
        count = writer.arithmetic("*", size, known(8)).text
        writer.line(f"call void @llvm.memset.p0.i64(ptr {array.data}, i8 0, i64 {count}, i1 false)")
        return

    def write(place: IrNumber) -> None:
        where = writer.moved(array, place)
        writer.line(f"store {LLVM[array.item]} {value.text}, ptr {where}")

    at.repeated(size, write)


def copied(at: FunctionBody, array: IrArray) -> IrArray:
    """Return a copy of an array."""
    writer = at.writer
    made = new_array(at, array.shape, array.item)
    if array.steps is None:
        count = writer.arithmetic("*", writer.size_of(array), known(8)).text
        both = f"ptr {made.data}, ptr {array.data}"
        writer.line(f"call void @llvm.memcpy.p0.p0.i64({both}, i64 {count}, i1 false)")
        return made
    if len(array.shape) != 1:
        raise UntranslatableError("a copy of a part of an array's columns")
    word = LLVM[array.item]

    def write(place: IrNumber) -> None:
        item = writer.made(f"load {word}, ptr {writer.place(array, [place])}")
        writer.line(f"store {word} {item}, ptr {writer.moved(made, place)}")

    at.repeated(array.shape[0], write)
    return made


# functions of runtime.py


def _of_runtime(at: FunctionBody, name: str, values: Sequence[Value]) -> Value:
    if name == "view":
        vector, start, shape = values
        assert isinstance(vector, IrArray)
        place = at.writer.moved(vector, _number(start))
        return IrArray(vector.item, place, tuple(_number(each) for each in _tuple(shape)))
    if name == "stack_array":
        lengths = tuple(_number(each) for each in _tuple(values[1]))
        return _on_stack(at, max(1, int(_number(values[0]).constant)), lengths)
    if name == "derivative_apart":
        at.apart = True
        return ()
    if name == "to_inverse_roots":
        _inverse_roots(at, values)
        return ()
    raise UntranslatableError(f"{name} of the runtime")


def _inverse_roots(at: FunctionBody, values: Sequence[Value]) -> None:
    """Replace numbers, eight at a time, by their inverse square roots."""
    array, count = values
    assert isinstance(array, IrArray)
    writer = at.writer
    eights = writer.arithmetic("//", writer.arithmetic("+", _number(count), known(7)), known(8))
    ones = ", ".join([f"double {double_text(1.0)}"] * 8)

    def write(place: IrNumber) -> None:
        where = writer.moved(array, writer.arithmetic("*", place, known(8)))
        numbers = writer.made(f"load {_EIGHT}, ptr {where}, align 8")
        roots = writer.made(f"call contract {_EIGHT} @llvm.sqrt.v8f64({_EIGHT} {numbers})")
        inverse = writer.made(f"fdiv contract {_EIGHT} <{ones}>, {roots}")
        writer.line(f"store {_EIGHT} {inverse}, ptr {where}, align 8")

    at.repeated(eights, write)
