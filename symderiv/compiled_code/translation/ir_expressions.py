"""Expressions of the translated part of Python, with the values that numba would give."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, cast

import numpy as np

from symderiv.compiled_code.translation.ir_body import FunctionBody
from symderiv.compiled_code.translation.ir_calls import called_known, copied, new_array
from symderiv.compiled_code.translation.ir_module import IrModule, result_type
from symderiv.compiled_code.translation.ir_values import (
    LLVM,
    IrArray,
    IrNumber,
    Kind,
    UntranslatableError,
    Value,
    built,
    joined,
    kind_of,
    known,
    leaves,
    texts,
)
from symderiv.compiled_code.translation.module_source import (
    FromElsewhere,
    FromRuntime,
    FunctionSource,
)

_SIGNS: dict[type, str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.BitAnd: "&",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}


@dataclass(frozen=True)
class IrSlot:
    """A variable in memory: its kind, and the addresses of its words."""

    kind: Kind
    places: tuple[str, ...]


class Expressions(FunctionBody):
    """The expressions of one function as instructions.

    Args:
        module: The module of other functions and constants.
        source: The function.
    """

    def __init__(self, module: IrModule, source: FunctionSource) -> None:
        super().__init__(module, source)
        self.variables: dict[str, Value | IrSlot] = {}

    def value(self, node: ast.expr) -> Value:
        """Return the value of an expression.

        Raises:
            UntranslatableError: It is outside of the translated part of Python.
        """
        value = self._any(node)
        if isinstance(value, (IrNumber, IrArray, tuple)):
            return value
        raise UntranslatableError(f"{ast.unparse(node)} as a value")

    def number(self, node: ast.expr) -> IrNumber:
        """Return the value of an expression that is a number."""
        value = self.value(node)
        if not isinstance(value, IrNumber):
            raise UntranslatableError(f"{ast.unparse(node)} where a number is expected")
        return value

    def condition(self, node: ast.expr) -> IrNumber:
        """Return whether an expression is true."""
        return self.writer.number(self.number(node), "b")

    def _any(self, node: ast.expr) -> Any:
        how: Callable[[Any], Any] | None = getattr(self, f"_{type(node).__name__.lower()}", None)
        if how is None:
            raise UntranslatableError(f"{ast.unparse(node)}, {type(node).__name__}")
        return how(node)

    def _constant(self, node: ast.Constant) -> IrNumber:
        if not isinstance(node.value, (bool, int, float)):
            raise UntranslatableError(f"{node.value!r}")
        return known(node.value)

    def _name(self, node: ast.Name) -> Any:
        variable = self.variables.get(node.id)
        if isinstance(variable, IrSlot):
            return self.writer.loaded(variable.kind, variable.places)
        if variable is not None:
            return variable
        return self._given(self.source.named(node.id))

    def _given(self, value: Any) -> Any:
        """Return a constant of the module as a value."""
        if isinstance(value, np.generic):
            value = value.item()
        if isinstance(value, (bool, int, float)):
            return known(value)
        if isinstance(value, np.ndarray):
            return self.module.array(value)
        if isinstance(value, tuple):
            return tuple(self._given(each) for each in value)
        return value

    def _attribute(self, node: ast.Attribute) -> Any:
        base = self._any(node.value)
        if isinstance(base, ModuleType):
            return self._given(getattr(base, node.attr))
        if isinstance(base, IrArray):
            if node.attr == "shape":
                return base.shape
            if node.attr == "size":
                return self.writer.size_of(base)
        raise UntranslatableError(ast.unparse(node))

    def _tuple(self, node: ast.Tuple) -> tuple[Value, ...]:
        return tuple(self._listed(node.elts))

    def _listed(self, nodes: Sequence[ast.expr]) -> list[Value]:
        listed: list[Value] = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                parts = self.value(node.value)
                if not isinstance(parts, tuple):
                    raise UntranslatableError(ast.unparse(node))
                listed.extend(parts)
            else:
                listed.append(self.value(node))
        return listed

    # operations

    def _binop(self, node: ast.BinOp) -> Value:
        # sums of hundreds of terms nest to the left, deeper than Python's recursion limit
        nested, innermost = [], cast(ast.expr, node)
        while isinstance(innermost, ast.BinOp):
            nested.append(innermost)
            innermost = innermost.left
        left = self.value(innermost)
        for each in reversed(nested):
            left = self._operation(each, left, self.value(each.right))
        return left

    def _operation(self, node: ast.BinOp, left: Value, right: Value) -> Value:
        if isinstance(node.op, ast.Pow) and isinstance(left, IrNumber):
            assert isinstance(right, IrNumber)
            self.module.declared("llvm.pow.f64", 2)
            return self.writer.power(left, right)
        sign = _SIGNS.get(type(node.op))
        if sign is None:
            raise UntranslatableError(ast.unparse(node))
        if isinstance(left, IrNumber) and isinstance(right, IrNumber):
            return self.writer.arithmetic(sign, left, right)
        if isinstance(left, IrNumber) and isinstance(right, IrArray) and sign == "*":
            return self._scaled(left, right)
        raise UntranslatableError(ast.unparse(node))

    def _scaled(self, number: IrNumber, array: IrArray) -> IrArray:
        """Return a number times an array of one axis."""
        if len(array.shape) != 1 or array.item != "f":
            raise UntranslatableError("a number times an array of several axes")
        writer = self.writer
        made = new_array(self, array.shape)

        def write(place: IrNumber) -> None:
            entry = writer.made(f"load double, ptr {writer.place(array, [place])}")
            product = writer.arithmetic("*", number, IrNumber("f", entry))
            writer.line(f"store double {product.text}, ptr {writer.moved(made, place)}")

        self.repeated(array.shape[0], write)
        return made

    def _unaryop(self, node: ast.UnaryOp) -> IrNumber:
        if isinstance(node.op, ast.Not):
            return self.writer.inverted(self.number(node.operand))
        if isinstance(node.op, ast.USub):
            return self.writer.negative(self.number(node.operand))
        raise UntranslatableError(ast.unparse(node))

    def _compare(self, node: ast.Compare) -> IrNumber:
        numbers = [self.number(each) for each in (node.left, *node.comparators)]
        so_far: IrNumber | None = None
        for operation, left, right in zip(node.ops, numbers[:-1], numbers[1:], strict=True):
            sign = _SIGNS.get(type(operation))
            if sign is None:
                raise UntranslatableError(ast.unparse(node))
            here = self.writer.compared(sign, left, right)
            if so_far is not None:
                here = IrNumber("b", self.writer.made(f"and i1 {so_far.text}, {here.text}"))
            so_far = here
        assert so_far is not None
        return so_far

    def _boolop(self, node: ast.BoolOp) -> IrNumber:
        """Return a truth value; later operands are evaluated only if earlier ones leave it open."""
        all_of = isinstance(node.op, ast.And)
        first = self.condition(node.values[0])
        for other in node.values[1:]:
            if first.constant is not None:
                first = self.condition(other) if bool(first.constant) == all_of else first
                continue
            more, done = self.writer.block("more"), self.writer.block("done")
            decided = self.writer.here
            self.writer.branch(first, *((more, done) if all_of else (done, more)))
            self.writer.go_to(more)
            second = self.condition(other)
            ended = self.writer.here
            self.writer.jump(done)
            self.writer.go_to(done)
            merged = self.writer.merged((known(not all_of), decided), (second, ended), "b")
            assert isinstance(merged, IrNumber)
            first = merged
        return first

    def _ifexp(self, node: ast.IfExp) -> Value:
        condition = self.condition(node.test)
        if condition.constant is not None:
            return self.value(node.body if condition.constant else node.orelse)
        writer = self.writer
        yes, no, after = (writer.block(name) for name in ("yes", "no", "after"))
        writer.branch(condition, yes, no)
        ends: list[tuple[Value, str]] = []
        for block, part in ((yes, node.body), (no, node.orelse)):
            writer.go_to(block)
            ends.append((self.value(part), writer.here))
        kind = joined(*(kind_of(value) for value, _ in ends))
        for n, (value, block) in enumerate(ends):
            writer.back_to(block)
            ends[n] = writer.converted(value, kind), block
            writer.jump(after)
        writer.go_to(after)
        return writer.merged(ends[0], ends[1], kind)

    # parts of arrays and tuples

    def _subscript(self, node: ast.Subscript) -> Value:
        base = self.value(node.value)
        if isinstance(base, tuple):
            return self._entry(base, self.number(node.slice))
        if not isinstance(base, IrArray):
            raise UntranslatableError(ast.unparse(node))
        place = self.place(base, node.slice)
        if isinstance(place, str):
            word = LLVM[base.item]
            return IrNumber(base.item, self.writer.made(f"load {word}, ptr {place}"))
        return place

    def _entry(self, base: tuple[Value, ...], index: IrNumber) -> Value:
        """Return an entry of a tuple; if the index is not a constant, all must be of one kind."""
        if index.constant is not None:
            return base[int(index.constant)]
        if not base or len({kind_of(each) for each in base}) != 1:
            raise UntranslatableError("an index of a tuple that is not known beforehand")
        numbers = [each for each in base if isinstance(each, IrNumber)]
        if len(numbers) != len(base):
            raise UntranslatableError("an index of a tuple of arrays")
        kind, constants = numbers[0].kind, [each.constant for each in numbers]
        if kind == "f" and None not in constants:
            array = self.module.numbers(tuple(constants))
        else:
            reserved = self.writer.reserved(f"[{len(base)} x {LLVM[kind]}]")
            array = IrArray(kind, reserved, (known(len(base)),))
            for n, number in enumerate(numbers):
                where = self.writer.moved(array, known(n))
                self.writer.line(f"store {LLVM[kind]} {number.text}, ptr {where}")
        where = self.writer.place(array, [index])
        return IrNumber(kind, self.writer.made(f"load {LLVM[kind]}, ptr {where}"))

    def place(self, base: IrArray, index: ast.expr) -> str | IrArray:
        """Return the address of a number of an array, or a part of the array."""
        nodes = index.elts if isinstance(index, ast.Tuple) else [index]
        if len(nodes) == len(base.shape) and not any(isinstance(n, ast.Slice) for n in nodes):
            return self.writer.place(base, [self.number(each) for each in nodes])
        return self._part(base, nodes)

    def _part(self, base: IrArray, nodes: Sequence[ast.expr]) -> IrArray:
        """Return a view of an array, by fixed indices on some axes and slices on others."""
        writer, steps = self.writer, self.writer.steps_of(base)
        origin = known(0)
        shape: list[IrNumber] = []
        strides: list[IrNumber] = []
        contiguous = base.steps is None
        for axis, (length, step) in enumerate(zip(base.shape, steps, strict=True)):
            node = nodes[axis] if axis < len(nodes) else ast.Slice()
            if isinstance(node, ast.Slice):
                if node.step is not None:
                    raise UntranslatableError("a slice with steps")
                begin = known(0) if node.lower is None else self.number(node.lower)
                end = length if node.upper is None else self.number(node.upper)
                whole = node.lower is None and node.upper is None
                contiguous = contiguous and (whole or not shape)
                shape.append(writer.arithmetic("-", end, begin))
                strides.append(step)
            else:
                begin = self.number(node)
                contiguous = contiguous and not shape
                if begin.constant is not None and begin.constant < 0:
                    begin = writer.arithmetic("+", length, begin)
            if begin.kind == "u":
                begin = IrNumber("i", begin.text)
            origin = writer.arithmetic("+", origin, writer.arithmetic("*", begin, step))
        data = writer.moved(base, origin) if origin.constant != 0 else base.data
        return IrArray(base.item, data, tuple(shape), None if contiguous else tuple(strides))

    # calls

    def _call(self, node: ast.Call) -> Value:
        if isinstance(node.func, ast.Attribute) and node.func.attr == "copy" and not node.args:
            array = self.value(node.func.value)
            if isinstance(array, IrArray):
                return copied(self, array)
        function = self._any(node.func)
        if function in (np.empty, np.zeros, np.ones):
            named = [each.value for each in node.keywords if each.arg == "dtype"]
            given = [self._any(each) for each in (*node.args[1:], *named)]
            dtype = given[0] if given else None
            return called_known(self, function, [self.value(node.args[0])], dtype)
        if node.keywords:
            raise UntranslatableError(ast.unparse(node))
        values = self._listed(node.args)
        if isinstance(function, FunctionSource):
            return self._called(function, values)
        if isinstance(function, FromElsewhere):
            return self._linked(function, values)
        if isinstance(function, FromRuntime) or callable(function):
            return called_known(self, function, values, None)
        raise UntranslatableError(ast.unparse(node))

    def _called(self, source: FunctionSource, values: Sequence[Value]) -> Value:
        """Return the result of calling another function of the module."""
        if len(source.node.args.args) != len(values):
            raise UntranslatableError(f"{source.node.name} with {len(values)} arguments")
        kinds = tuple(kind_of(value) for value in values)
        callee = self.module.callee(source, kinds)
        given = ["ptr %memory"]
        for kind, value in zip(kinds, values, strict=True):
            pairs = zip(leaves(kind), texts(value), strict=True)
            given += [f"{word} {text}" for word, text in pairs]
        result = result_type(callee.returns)
        call = f"call {self._result_flags(result)}{result} @{callee.name}({', '.join(given)})"
        if callee.returns is None:
            self.writer.line(call)
            return ()
        made = self.writer.made(call)
        if "array" in str(callee.returns):
            self.takes_memory = True
        words = leaves(callee.returns)
        if len(words) == 1:
            return built(callee.returns, [made])
        parts = [self.writer.made(f"extractvalue {result} {made}, {n}") for n in range(len(words))]
        return built(callee.returns, parts)

    def _linked(self, function: FromElsewhere, values: Sequence[Value]) -> Value:
        """Call a function whose code is linked, as numba's own code does."""
        given = [f"ptr {self.writer.reserved('i64')}" for _ in range(2)]
        for value in values:
            if isinstance(value, IrNumber):
                given.append(f"{LLVM[value.kind]} {value.text}")
                continue
            if not isinstance(value, IrArray) or len(value.shape) != 1 or value.steps is not None:
                raise UntranslatableError(f"{function.symbol} of something else than vectors")
            size = f"i64 {value.shape[0].text}"
            given += ["ptr null", "ptr null", size, "i64 8", f"ptr {value.data}", size, "i64 8"]
        words = ", ".join(each.partition(" ")[0] for each in given)
        self.module.once(f"declare i32 @{function.symbol}({words})")
        self.writer.made(f"call i32 @{function.symbol}({', '.join(given)})")
        return ()

    def _result_flags(self, result: str) -> str:
        return self.writer.flags if result == "double" else ""
