"""Functions of the translated part of Python: statements, variables, and calls."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from symderiv.compiled_code.translation.ir_calls import filled
from symderiv.compiled_code.translation.ir_expressions import Expressions, IrSlot
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
from symderiv.compiled_code.translation.module_source import FunctionSource, assigned_names


class _WidenedError(Exception):
    """A variable turned out to have a wider kind, so that the function must be written again."""


class Statements(Expressions):
    """The statements of one function as instructions.

    Args:
        module: The module of other functions and constants.
        source: The function.
        wider: Kinds of its variables and of its result (under ``""``) that are known from
            earlier attempts; more may be added.
    """

    def __init__(self, module: IrModule, source: FunctionSource, wider: dict[str, Kind]) -> None:
        super().__init__(module, source)
        self._wider = wider
        self._often = Counter(assigned_names(source.node))
        self._depth = 0
        self._loops: list[tuple[str, str]] = []
        self.returns: Kind | None = None
        self.messages: list[str] = []
        self.raises = False
        self.leave = self.writer.block("leave")
        self.result: tuple[str, ...] = ()

    def arguments(self, values: Sequence[Value]) -> None:
        """Bind the function's arguments to values."""
        for argument, value in zip(self.source.node.args.args, values, strict=True):
            if argument.arg in self._often:
                self._assigned(argument.arg, value)
            else:
                self.variables[argument.arg] = value

    def body(self, values: Sequence[Value] = ()) -> None:
        """Write all statements and move to the block ``leave`` behind them.

        Args:
            values: The arguments of an entry; if the function's code is shipped, they are passed to
                it.
        """
        if values and self.module.comes(self.source, tuple(map(kind_of, values))):
            value = self._called(self.source, values)
            if value != ():
                self._ends_with(value)
        else:
            self._all(self.source.node.body)
        self.writer.jump(self.leave)
        self.writer.go_to(self.leave)

    def _all(self, nodes: Sequence[ast.stmt]) -> None:
        for node in nodes:
            if self.writer.ended:
                return
            how: Callable[[Any], None] | None = getattr(
                self, f"_do_{type(node).__name__.lower()}", None
            )
            if how is None:
                raise UntranslatableError(f"the statement {type(node).__name__}")
            how(node)

    def _inside(self, nodes: Sequence[ast.stmt]) -> None:
        self._depth += 1
        self._all(nodes)
        self._depth -= 1

    def _do_pass(self, node: ast.Pass) -> None:
        pass

    def _do_expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Call):
            self.value(node.value)

    # variables

    def _do_assign(self, node: ast.Assign) -> None:
        value = self.value(node.value)
        for target in node.targets:
            self._put(target, value)

    def _do_annassign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self._put(node.target, self.value(node.value))

    def _do_augassign(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Subscript):
            # the address is computed once, for reading and writing
            base = self.value(node.target.value)
            place = self.place(base, node.target.slice) if isinstance(base, IrArray) else None
            if not isinstance(base, IrArray) or not isinstance(place, str):
                raise UntranslatableError(ast.unparse(node))
            word = LLVM[base.item]
            before = IrNumber(base.item, self.writer.made(f"load {word}, ptr {place}"))
            self._write(base.item, place, self._changed(node.op, before, self.number(node.value)))
            return
        assert isinstance(node.target, ast.Name)
        before = self.number(ast.Name(node.target.id, ast.Load()))
        self._assigned(node.target.id, self._changed(node.op, before, self.number(node.value)))

    def _changed(self, operation: ast.operator, before: IrNumber, by: IrNumber) -> IrNumber:
        signs = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}
        if type(operation) not in signs:
            raise UntranslatableError(f"the operation {type(operation).__name__} in place")
        return self.writer.arithmetic(signs[type(operation)], before, by)

    def _put(self, target: ast.expr, value: Value) -> None:
        if isinstance(target, ast.Name):
            self._assigned(target.id, value)
        elif isinstance(target, ast.Tuple):
            if not isinstance(value, tuple) or len(value) != len(target.elts):
                raise UntranslatableError(ast.unparse(target))
            for part, each in zip(target.elts, value, strict=True):
                self._put(part, each)
        elif isinstance(target, ast.Subscript):
            self._put_into(target, value)
        else:
            raise UntranslatableError(ast.unparse(target))

    def _put_into(self, target: ast.Subscript, value: Value) -> None:
        base = self.value(target.value)
        if not isinstance(base, IrArray) or not isinstance(value, IrNumber):
            raise UntranslatableError(ast.unparse(target))
        place = self.place(base, target.slice)
        if isinstance(place, str):
            self._write(base.item, place, value)
        else:
            filled(self, place, value)

    def _write(self, item: str, place: str, value: IrNumber) -> None:
        text = self.writer.number(value, item).text
        self.writer.line(f"store {LLVM[item]} {text}, ptr {place}")

    def _assigned(self, name: str, value: Value) -> None:
        """Assign to a variable, which needs no memory if the text has one assignment to it."""
        given = {each.arg for each in self.source.node.args.args}
        if self._often[name] == 1 and not self._depth and name not in given:
            self.variables[name] = value
            return
        slot = self.variables.get(name)
        if not isinstance(slot, IrSlot):
            kind = joined(kind_of(value), self._wider.get(name, kind_of(value)))
            places = tuple(self.writer.reserved(word) for word in leaves(kind))
            slot = self.variables[name] = IrSlot(kind, places)
        self.writer.stored(self._as_kind(value, slot.kind, name), slot.places)

    def _as_kind(self, value: Value, kind: Kind, name: str) -> Value:
        wider = joined(kind_of(value), kind)
        if wider != kind:
            self._wider[name] = wider
            raise _WidenedError
        return self.writer.converted(value, kind)

    # control flow

    def _do_if(self, node: ast.If) -> None:
        condition = self.condition(node.test)
        if condition.constant is not None:
            # the omitted branch may assign variables, but only the count of assignments sees it
            self._inside(node.body if condition.constant else node.orelse)
            return
        yes, no, after = (self.writer.block(name) for name in ("then", "else", "behind"))
        self.writer.branch(condition, yes, no)
        for block, nodes in ((yes, node.body), (no, node.orelse)):
            self.writer.go_to(block)
            self._inside(nodes)
            self.writer.jump(after)
        self.writer.go_to(after)

    def _do_while(self, node: ast.While) -> None:
        head, inside, after = (self.writer.block(name) for name in ("while", "do", "behind"))
        if node.orelse:
            raise UntranslatableError("a loop with else")
        self.writer.jump(head)
        self.writer.go_to(head)
        self.writer.branch(self.condition(node.test), inside, after)
        self.writer.go_to(inside)
        self._loops.append((head, after))
        self._inside(node.body)
        self._loops.pop()
        self.writer.jump(head)
        self.writer.go_to(after)

    def _do_for(self, node: ast.For) -> None:
        begin, end, step = self._range(node)
        writer, kind = self.writer, begin.kind
        counter = writer.reserved("i64")
        writer.line(f"store i64 {begin.text}, ptr {counter}")
        head, inside, latch, after = (
            writer.block(name) for name in ("for", "do", "next", "behind")
        )
        writer.jump(head)
        writer.go_to(head)
        here = IrNumber(kind, writer.made(f"load i64, ptr {counter}"))
        down = step.constant is not None and step.constant < 0
        writer.branch(writer.compared(">" if down else "<", here, end), inside, after)
        writer.go_to(inside)
        self._depth += 1
        assert isinstance(node.target, ast.Name)
        self._assigned(node.target.id, here)
        self._loops.append((latch, after))
        self._all(node.body)
        self._loops.pop()
        self._depth -= 1
        writer.jump(latch)
        writer.go_to(latch)
        now = IrNumber(kind, writer.made(f"load i64, ptr {counter}"))
        writer.line(f"store i64 {writer.arithmetic('+', now, step).text}, ptr {counter}")
        writer.jump(head)
        writer.go_to(after)

    def _range(self, node: ast.For) -> tuple[IrNumber, IrNumber, IrNumber]:
        """Return begin, end and step of a loop."""
        call = node.iter
        if node.orelse or not isinstance(call, ast.Call) or not isinstance(node.target, ast.Name):
            raise UntranslatableError(f"a loop over {ast.unparse(node.iter)}")
        if not isinstance(call.func, ast.Name) or call.func.id != "range":
            raise UntranslatableError(f"a loop over {ast.unparse(node.iter)}")
        numbers = [self.number(each) for each in call.args]
        if len(numbers) == 1:
            numbers.insert(0, known(0))
        if len(numbers) == 2:
            numbers.append(known(1))
        begin, end = self.writer.alike(numbers[0], numbers[1])
        begin, step = self.writer.alike(begin, numbers[2])
        if begin.kind not in "iu" or (step.constant is None and step.kind == "i"):
            raise UntranslatableError("a loop with steps that are not known beforehand")
        return begin, end, step

    def _do_continue(self, node: ast.Continue) -> None:
        self.writer.jump(self._loops[-1][0])

    def _do_break(self, node: ast.Break) -> None:
        self.writer.jump(self._loops[-1][1])

    def _do_return(self, node: ast.Return) -> None:
        if node.value is not None:
            self._ends_with(self.value(node.value))
        self.writer.jump(self.leave)

    def _ends_with(self, value: Value) -> None:
        """Make a value the result of the function."""
        kind = kind_of(value)
        if self.returns is None:
            self.returns = joined(kind, self._wider.get("", kind))
            self.result = tuple(self.writer.reserved(word) for word in leaves(self.returns))
        if "array" in str(kind) and not self.gives_arrays:
            self._wider[""] = kind
            raise _WidenedError
        self.writer.stored(self._as_kind(value, self.returns, ""), self.result)

    def _do_raise(self, node: ast.Raise) -> None:
        if not self.raises or not isinstance(node.exc, ast.Call):
            raise UntranslatableError("an error that is raised in a function that others call")
        (message,) = node.exc.args
        assert isinstance(message, ast.Constant)
        self.messages.append(str(message.value))
        self.writer.line(f"store i32 {-9 - len(self.messages)}, ptr %status")
        self.writer.jump(self.leave)


def written(
    module: IrModule,
    source: FunctionSource,
    write: Callable[[Statements], tuple[str, Kind | None]],
) -> tuple[str, Kind | None]:
    """Return the text that ``write`` makes of a function, once the kinds of variables are known.

    Raises:
        UntranslatableError: The function is outside of the translated part of Python; the message
            says where.
    """
    wider: dict[str, Kind] = {}
    while True:
        statements = Statements(module, source, wider)
        statements.gives_arrays = "array" in str(wider.get("", ""))
        try:
            return write(statements)
        except _WidenedError:
            continue


def function_text(
    module: IrModule, source: FunctionSource, name: str, kinds: tuple[Kind, ...]
) -> tuple[str, Kind | None]:
    """Return the definition of a function that others of the module call, and its result's kind."""

    def write(statements: Statements) -> tuple[str, Kind | None]:
        words = [word for kind in kinds for word in leaves(kind)]
        names = [f"%a{n}" for n in range(len(words))]
        statements.arguments(_values(kinds, names))
        statements.body()
        writer = statements.writer
        mark = ""
        if statements.takes_memory and not statements.gives_arrays:
            mark = "  %mark = load ptr, ptr %memory\n"
            writer.line("call void @given_back(ptr %memory, ptr %mark)")
        _returned(statements)
        given = ", ".join(["ptr %memory", *_named(words, names)])
        result = result_type(statements.returns)
        text = writer.text().replace("start:\n", f"start:\n{mark}", 1)
        # inlined, so that loops over it become vector instructions
        how = " alwaysinline" if kinds == ("f",) and _is_formula(source.node) else ""
        return f"define internal {result} @{name}({given}){how} {{\n{text}\n}}", statements.returns

    return written(module, source, write)


def _is_formula(node: ast.FunctionDef) -> bool:
    """Return whether a function neither branches nor loops."""
    return not any(isinstance(each, (ast.If, ast.For, ast.While)) for each in ast.walk(node))


def _returned(statements: Statements) -> None:
    writer, returns = statements.writer, statements.returns
    if returns is None:
        writer.end("ret void")
        return
    value = writer.loaded(returns, statements.result)
    result, words = result_type(returns), texts(value)
    if len(words) == 1:
        writer.end(f"ret {result} {words[0]}")
        return
    whole = "undef"
    for n, (word, text) in enumerate(zip(leaves(returns), words, strict=True)):
        whole = writer.made(f"insertvalue {result} {whole}, {word} {text}, {n}")
    writer.end(f"ret {result} {whole}")


def _values(kinds: Sequence[Kind], names: Sequence[str]) -> list[Value]:
    values, at = [], 0
    for kind in kinds:
        count = len(leaves(kind))
        values.append(built(kind, names[at : at + count]))
        at += count
    return values


def _named(words: Sequence[str], names: Sequence[str]) -> list[str]:
    return [f"{word} {name}" for word, name in zip(words, names, strict=True)]
