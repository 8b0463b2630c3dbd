"""Common parts of printed Python modules: header, functions, loop nests."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import sympy as sp

from symderiv_codegen.errors import PrinterError
from symderiv_codegen.ir.arrays import Array
from symderiv_codegen.ir.extension import Library, Restated
from symderiv_codegen.ir.functions import Function, ScalarFunction
from symderiv_codegen.ir.loops import (
    Block,
    Conditional,
    Evaluate,
    Fill,
    Groups,
    Increase,
    Invoke,
    Loop,
    Node,
    Remark,
    Set,
)
from symderiv_codegen.ir.names import NamePool
from symderiv_codegen.ir.procedures import Procedure
from symderiv_codegen.ir.program import Program
from symderiv_codegen.ir.tables import TableSum
from symderiv_codegen.ir.templates import TemplateFunction
from symderiv_codegen.ir.walk import array_name, free_names
from symderiv_codegen.passes.assigned_once import Frame, check_names
from symderiv_codegen.passes.derivatives.writing_out import with_sums_written_out
from symderiv_codegen.passes.lower import Body, loop_nests
from symderiv_codegen.passes.scalars import StraightLine, straight_line
from symderiv_codegen.printers.docstrings import docstring, documentation
from symderiv_codegen.printers.expressions import HELPERS, ExpressionPrinter
from symderiv_codegen.printers.lines import INDENT, WIDTH, Bracket, Piece, Text, filled, statement

OWN_NAMES = tuple(HELPERS.values())


class ModulePrinter:
    """A printer of functions and procedures; subclasses define the details of a dialect."""

    name = "module"
    context: tuple[str, ...] = ()
    # Whether numbers have fixed precision, so that cancellations must be avoided.
    rounds = False

    def __init__(self, program: Program) -> None:
        self.source = program
        self.program = self.prepared(program)
        self.helpers: set[str] = set()
        # Names of functions whose texts the module needs.
        self.texts: set[str] = set()
        self.operations: dict[str, int] = {}
        self._defined = [f.name for f in program.functions] + [p.name for p in program.procedures]

    # Details of a dialect.

    def prepared(self, program: Program) -> Program:
        """Return the program in the form that is printed, with the same values."""
        return with_sums_written_out(program, self.library)

    def scalars(self, function: ScalarFunction, names: NamePool) -> StraightLine:
        """Return a scalar function as definitions and a value."""
        return straight_line(function, names)

    def nests(self, procedure: Procedure) -> Body:
        """Return a procedure as loop nests."""
        return loop_nests(procedure, self.program)

    @property
    def library(self) -> Library:
        """The special functions of the program for numbers of this dialect."""
        raise NotImplementedError

    def expressions(self, guarded: bool) -> ExpressionPrinter:
        """Return a printer of expressions in this dialect."""
        raise NotImplementedError

    def decorator(self, function: Function | None = None) -> str:
        """Return the decorator of a function, or an empty text."""
        return ""

    def procedure_decorator(self, procedure: Procedure) -> str:
        """Return the decorator of a procedure, or an empty text."""
        return self.decorator()

    def allocation(self, array: Array) -> str:
        """Return the allocation of a local array, not initialised."""
        raise NotImplementedError

    def allocations(self, arrays: Sequence[Array], names: NamePool) -> list[str]:
        """Return statements that allocate local arrays; ``names`` is the register of the
        function.
        """
        return [f"{array.name} = {self.allocation(array)}" for array in arrays]

    def size(self, array: Array, axis: int) -> str:
        """Return the number of elements along an axis."""
        raise NotImplementedError

    def zero(self) -> str:
        """Return the number zero, with which a sum starts."""
        raise NotImplementedError

    def filled_with_zero(self, node: Fill, indent: int) -> list[str]:
        """Return statements that set an array, or a scalar, to zero."""
        lines = []
        names = tuple(str(index) for index in node.indices[: len(node.array.shape)])
        for depth, (name, size) in enumerate(zip(names, node.array.shape, strict=True)):
            lines.append(" " * (indent + INDENT * depth) + f"for {name} in range({size}):")
        target = node.array.name
        if names:
            target = self.expressions(guarded=False).element(target, names)
        return [*lines, " " * (indent + INDENT * len(names)) + f"{target} = {self.zero()}"]

    def block(self, node: Block, indent: int) -> list[str]:
        """Return the head of a loop over blocks."""
        raise NotImplementedError

    def groups(self, node: Groups, indent: int) -> list[str]:
        """Return the head of a loop over groups of rows."""
        raise NotImplementedError

    # Functions.

    def function(self, function: Function) -> str:
        """Return a scalar function with its docstring."""
        if isinstance(function, TableSum):
            return self.table_sum(function)
        if isinstance(function, TemplateFunction):
            return self.template(function)
        names = self._register(function.names)
        restated = Restated(function)
        if self.rounds:
            restated = self.program.extension.restated(function, names)
        code = self.scalars(restated.function, names)
        scalars = (*function.arguments, *restated.targets)
        frame = self._frame(function, [str(s) for s in scalars], names, code.value)
        check_names(code.nodes, frame, "straight line")
        self.operations[function.name] = code.operations
        printer = self.expressions(function.guarded)
        arguments = [str(argument) for argument in function.arguments]
        lines = [self._head(function.name, arguments, self.decorator(function))]
        lines += docstring([function.doc])
        if restated.targets:
            targets = ", ".join(str(symbol) for symbol in restated.targets)
            lines.append(statement(f"{targets} = ", printer.expression(restated.source), INDENT))
        for symbol, expression in code.definitions:
            lines.append(statement(f"{symbol} = ", printer.expression(expression), INDENT))
        lines.append(statement("return ", printer.expression(code.value), INDENT))
        self._collect(printer)
        return "\n".join(lines)

    def _register(self, own: Iterable[str]) -> NamePool:
        """Return a register of names of one function, which contains its own."""
        return NamePool([*self.program.module_names, *OWN_NAMES, *own])

    def _frame(
        self,
        function: Function,
        scalars: Sequence[str],
        names: NamePool,
        result: sp.Expr,
        arrays: Sequence[Array] = (),
    ) -> Frame:
        """Return the environment of the body of a scalar function."""
        return Frame(
            where=f"function {function.name!r}",
            module=self.program.module_names,
            scalars=tuple(scalars),
            inputs=(),
            arrays=tuple(array.name for array in arrays),
            names=names,
            result=result,
        )

    def table_sum(self, function: TableSum) -> str:
        """Return a sum over tables, in dialects that have them."""
        raise PrinterError(
            f"the {self.name} printer: {function.name!r} is a sum over tables of doubles"
        )

    def template(self, function: TemplateFunction) -> str:
        """Return a function given as text, in dialects that have them."""
        raise PrinterError(f"the {self.name} printer: {function.name!r} is a template for doubles")

    def template_procedure(self, procedure: Procedure) -> str:
        """Return a procedure given as text, in dialects that have them."""
        raise PrinterError(f"the {self.name} printer: {procedure.name!r} is a template for doubles")

    def procedure(self, procedure: Procedure) -> str:
        """Return a procedure with its docstring, its sizes, its local arrays and its loops."""
        if procedure.template:
            return self.template_procedure(procedure)
        body = self.nests(procedure)
        nodes, local = body.nodes, body.arrays
        printer = self.expressions(guarded=False)
        arguments = [array.name for array in (*procedure.inputs, *procedure.array_outputs)]
        lines = [self._head(procedure.name, arguments, self.procedure_decorator(procedure))]
        lines += docstring(documentation(procedure))
        lines += self._sizes(procedure, nodes, local)
        lines += [" " * INDENT + line for line in self.allocations(local, body.names)]
        lines += self._body(nodes, INDENT, printer)
        if procedure.result:
            lines.append(" " * INDENT + f"return {procedure.result.name}")
        self._collect(printer)
        self.operations[procedure.name] = _operations(nodes)
        return "\n".join(lines)

    def _collect(self, printer: ExpressionPrinter) -> None:
        self.helpers |= printer.helpers
        self.texts |= printer.pasted

    def _head(self, name: str, arguments: Sequence[str], decorator: str) -> str:
        pieces = tuple(Text(a) for a in (*self.context, *arguments))
        head = statement(f"def {name}", Bracket("(", pieces, "):"), 0)
        return f"{decorator}\n{head}" if decorator else head

    def _sizes(
        self, procedure: Procedure, nodes: Sequence[Node], local: Sequence[Array]
    ) -> list[str]:
        needed = _ranges_used(nodes) | {size for array in local for size in array.shape}
        lines = []
        for size in self.program.ranges:
            if size not in needed:
                continue
            visible = (*procedure.inputs, *procedure.outputs)
            # The array with the size on its first possible axis gives the simplest expression.
            array = min((a for a in visible if size in a.shape), key=lambda a: a.shape.index(size))
            lines.append(" " * INDENT + f"{size} = {self.size(array, array.shape.index(size))}")
        return lines

    # Loop nests.

    def body(self, nodes: Iterable[Node], indent: int) -> list[str]:
        """Return loop nests as lines."""
        printer = self.expressions(guarded=False)
        lines = self._body(nodes, indent, printer)
        self._collect(printer)
        return lines

    def _body(self, nodes: Iterable[Node], indent: int, printer: ExpressionPrinter) -> list[str]:
        lines: list[str] = []
        for node in nodes:
            lines += self._node(node, indent, printer)
        return lines

    def _node(self, node: Node, indent: int, printer: ExpressionPrinter) -> list[str]:
        pad = " " * indent
        if isinstance(node, Remark):
            return [f"{pad}# {line}" for line in _remark_lines(node.text, indent)]
        if isinstance(node, Fill):
            return self.filled_with_zero(node, indent)
        if isinstance(node, Set):
            target = self._target(node.target, printer)
            if node.target.is_integer:
                return [f"{pad}{target} = {printer.index(node.value)}"]
            if node.value == 0:
                return [f"{pad}{target} = {self.zero()}"]
            return [statement(f"{target} = ", printer.expression(node.value), indent)]
        if isinstance(node, Increase):
            operator, value = " += ", node.value
            if node.target.is_integer:
                return [f"{pad}{node.target} += {printer.index(value)}"]
            if value.could_extract_minus_sign() and not isinstance(value, sp.Add):
                operator, value = " -= ", -value
            return [statement(f"{node.target}{operator}", printer.expression(value), indent)]
        if isinstance(node, Loop):
            bounds = [printer.index(node.stop)]
            if node.start != 0:
                bounds.insert(0, printer.index(node.start))
            head = f"{pad}for {node.index} in range({', '.join(bounds)}):"
            return [head, *self._body(node.body, indent + INDENT, printer)]
        if isinstance(node, Conditional):
            return self._branch(node, indent, printer)
        if isinstance(node, Block):
            return [*self.block(node, indent), *self._body(node.body, indent + INDENT, printer)]
        if isinstance(node, Evaluate):
            self.texts.add(node.function)
            arguments = ", ".join((*node.arrays, *node.scratch, printer.index(node.count)))
            return [f"{pad}{node.function}({arguments})"]
        if isinstance(node, Groups):
            return [*self.groups(node, indent), *self._body(node.body, indent + INDENT, printer)]
        return self._invoke(node, indent)

    def _target(self, target: sp.Symbol | sp.Indexed, printer: ExpressionPrinter) -> str:
        if isinstance(target, sp.Symbol):
            return str(target)
        return printer.element(array_name(target), tuple(printer.index(i) for i in target.indices))

    def _branch(self, node: Conditional, indent: int, printer: ExpressionPrinter) -> list[str]:
        lines: list[str] = []
        for condition, body in node.cases:
            if condition == sp.true and lines:
                lines.append(" " * indent + "else:")
            else:
                word = "elif " if lines else "if "
                piece = printer.condition(condition)
                lines.append(_headed(word, piece, indent))
            lines += self._body(body, indent + INDENT, printer)
        return lines

    def _invoke(self, node: Invoke, indent: int) -> list[str]:
        arguments: tuple[Piece, ...] = tuple(Text(a) for a in (*self.context, *node.arguments))
        head = f"{node.result} = " if node.result else ""
        return [statement(head, Bracket(f"{node.procedure}(", arguments), indent)]


def _headed(word: str, condition: Piece, indent: int) -> str:
    line = " " * indent + word + condition.flat() + ":"
    if len(line) <= WIDTH:
        return line
    broken = Bracket("(", (condition,))
    return statement(word, broken, indent) + ":"


def _remark_lines(text: str, indent: int) -> list[str]:
    return [line.strip() for line in filled(text, 0, WIDTH - indent - 2).split("\n")]


def _ranges_used(nodes: Iterable[Node]) -> set[str]:
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, Set | Increase):
            found |= free_names(node.value)
        elif isinstance(node, Loop):
            found |= free_names(node.start) | free_names(node.stop) | _ranges_used(node.body)
        elif isinstance(node, Conditional):
            for condition, body in node.cases:
                found |= free_names(condition) | _ranges_used(body)
        elif isinstance(node, Fill):
            found |= set(node.array.shape)
        elif isinstance(node, Block):
            found |= free_names(node.stop) | _ranges_used(node.body)
        elif isinstance(node, Groups):
            found |= {node.size} | _ranges_used(node.body)
    return found


def _operations(nodes: Iterable[Node]) -> int:
    """Return the number of operations in a procedure's text, each counted once."""
    total = 0
    for node in nodes:
        if isinstance(node, Set | Increase):
            # Array elements count as names: index arithmetic is not counted.
            plain = {
                e: sp.Symbol(f"element{n}") for n, e in enumerate(node.value.atoms(sp.Indexed))
            }
            total += int(sp.count_ops(node.value.xreplace(plain))) + isinstance(node, Increase)
        elif isinstance(node, Loop | Block | Groups):
            total += _operations(node.body)
        elif isinstance(node, Conditional):
            total += sum(_operations(body) for _, body in node.cases)
    return total
