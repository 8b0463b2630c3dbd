"""Programs as Julia: functions of static arrays that give static arrays, out of place.

This is the form for ensembles of trajectories on many threads or graphics processors: ``u`` in, the
derivative out, nothing written in place and nothing on the heap.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import sympy as sp

from symderiv_codegen.ir.arrays import Array
from symderiv_codegen.ir.functions import ScalarFunction
from symderiv_codegen.ir.names import NamePool
from symderiv_codegen.ir.procedures import Assignment, Call, Procedure
from symderiv_codegen.ir.program import Constant, Program
from symderiv_codegen.ir.tables import TableSum
from symderiv_codegen.ir.walk import Total
from symderiv_codegen.printers.docstrings import documentation
from symderiv_codegen.printers.expressions import ATOM, POWER, PrintedExpression
from symderiv_codegen.printers.formulas import (
    Example,
    FormulaExpressions,
    FormulaModule,
    Limits,
    described,
    limits_of,
)
from symderiv_codegen.printers.formulas import plain_statement as statement
from symderiv_codegen.printers.lines import (
    INDENT,
    WIDTH,
    Bracket,
    Chain,
    Piece,
    Text,
    filled,
    parenthesised,
)

SPELLED = MappingProxyType({"Abs": "abs", "Max": "max", "Min": "min", "atan2": "atan"})

KEYWORDS = frozenset(
    """
    baremodule begin break catch const continue do else elseif end export false finally for function
    global if import in isa let local macro module quote return struct true try using where while
    """.split()  # noqa: SIM905
)


def spelled(name: object) -> str:
    """Return a name that is not a keyword of the language."""
    return f"{name}_" if str(name) in KEYWORDS else str(name)


class JuliaExpressions(FormulaExpressions):
    """A printer of expressions with generators; indices count from one."""

    name = "Julia"
    words: Mapping[str, str] = MappingProxyType({"And": " && ", "Or": " || ", "Not": "!"})
    relations_bind_less = True

    def printed(self, node: sp.Basic) -> PrintedExpression:
        if isinstance(node, sp.Symbol):
            return PrintedExpression(Text(spelled(node)), ATOM)
        return super().printed(node)

    def applied(self, function: str, arguments: tuple[Piece, ...]) -> PrintedExpression:
        return PrintedExpression(Bracket(f"{SPELLED.get(function, function)}(", arguments), ATOM)

    def constant(self, name: str) -> PrintedExpression:
        # as a double: products of irrational constants would have another type
        return PrintedExpression(Text({"pi": "Float64(pi)", "e": "exp(1.0)"}[name]), ATOM)

    def builtin(self, name: str, arguments: tuple[Piece, ...]) -> PrintedExpression:
        return self.applied(name, arguments)

    def raised(self, base: Piece, exponent: Piece) -> PrintedExpression:
        return PrintedExpression(Chain((("", base), ("^", exponent))), POWER)

    def cases(self, cases: list[tuple[sp.Expr, sp.Basic]], last: sp.Expr) -> PrintedExpression:
        links: list[tuple[str, Piece]] = []
        for value, when in cases:
            links.append((" : " if links else "", parenthesised(self.condition(when))))
            links.append((" ? ", parenthesised(self.expression(value))))
        links.append((" : ", parenthesised(self.expression(last))))
        return PrintedExpression(parenthesised(Text(Chain(tuple(links)).flat())), ATOM)

    def total(self, node: Total) -> PrintedExpression:
        limits, inside = limits_of(node)
        term = self.within(limits.indices).expression(inside)
        if isinstance(term, Chain):
            term = parenthesised(term)
        return PrintedExpression(Bracket("sum(", (_generator(term, limits),)), ATOM)


def _generator(term: Piece, limits: Limits) -> Piece:
    ranges = zip(limits.indices, limits.sizes, strict=True)
    over = ", ".join(f"{index} in 1:{size}" for index, size in ranges)
    return Chain((("", term), (f" for {over}", Text(""))))


class JuliaModule(FormulaModule):
    """A Julia file of a program."""

    name = "Julia"

    def constant(self, name: str, value: Constant) -> str:
        if not isinstance(value, tuple):
            return f"const {name} = {value}"
        numbers = Bracket("(", tuple(Text(repr(x)) for x in value))
        return statement(f"const {name} = ", numbers, 0)

    def scalar(self, function: ScalarFunction) -> str:
        printer = JuliaExpressions(self.names)
        lines = [
            f'"{function.doc}"'.replace("$", ""),
            self._head(function.name, function.arguments),
        ]
        for symbol, value in function.definitions:
            lines.append(statement(f"{spelled(symbol)} = ", printer.expression(value), INDENT))
        return "\n".join(
            [*lines, statement("return ", printer.expression(function.value), 4), "end"]
        )

    def table_sum(self, function: TableSum) -> str:
        printer = JuliaExpressions(self.names)
        lines = [f'"{function.doc}"', self._head(function.name, function.arguments)]
        names = []
        for number, term in enumerate(function.terms):
            pool = NamePool((*function.names, *(str(s) for s, _ in term.definitions)))
            indices = [pool.take(f"k{n + 1}") for n in range(len(term.rows))]
            name = f"term_{number + 1}"
            lines.append(f"    function {name}({', '.join(indices)})")
            for row, index in zip(term.rows, indices, strict=True):
                lines += [
                    f"        {spelled(entry)} = {table}[{index}]" for entry, table in row.entries
                ]
            for symbol, value in term.definitions:
                lines.append(statement(f"{spelled(symbol)} = ", printer.expression(value), 8))
            lines += [statement("return ", printer.expression(term.value), 8), "    end"]
            limits = Limits(tuple(indices), tuple(row.size for row in term.rows))
            call = f"{name}({', '.join(indices)})"
            names.append(f"sum({_generator(Text(call), limits).flat()})" if indices else call)
        return "\n".join([*lines, f"    return {' + '.join(names)}", "end"])

    def _head(self, name: str, arguments: Sequence[object]) -> str:
        return statement(
            f"function {name}", Bracket("(", tuple(Text(spelled(a)) for a in arguments)), 0
        )

    def head(self, procedure: Procedure, sizes: Sequence[tuple[str, str]]) -> list[str]:
        words, given = documentation(procedure)
        given = given.replace("Outputs, in place:", "Returns:")
        lines = ['"""', *filled(words, 0).split("\n"), "", *given.split("\n"), '"""']
        lines.append(self._head(procedure.name, [a.name for a in procedure.inputs]))
        return [*lines, *(f"    {name} = {told}" for name, told in sizes)]

    def size(self, array: Array, axis: int) -> str:
        return f"size({array.name}, {axis + 1})"

    def assignment(self, step: Assignment, limits: Limits, value: sp.Expr) -> list[str]:
        piece = JuliaExpressions(self.names, limits.indices).expression(value)
        if limits.indices:
            if isinstance(piece, Chain):
                piece = parenthesised(piece)
            shape = f"SArray{{Tuple{{{', '.join(limits.sizes)}}}}}("
            piece = Bracket(shape, (_generator(piece, limits),))
        return [statement(f"{step.name} = ", piece, INDENT)]

    def call(self, step: Call, inputs: Sequence[str], outputs: Sequence[str]) -> list[str]:
        call = Bracket(f"{step.procedure}(", tuple(map(Text, inputs)))
        lines = [statement(f"{', '.join(outputs)} = ", call, INDENT)]
        if step.when is not None:
            condition = JuliaExpressions(self.names).condition(step.when).flat()
            lines += [f"    {name} = {condition} ? {name} : zero({name})" for name in outputs]
        return lines

    def tail(self, procedure: Procedure) -> list[str]:
        return [f"    return {', '.join(each.name for each in procedure.outputs)}", "end"]

    def module(self, example: Example | None) -> str:
        """Return the text of the whole file."""
        parts = self.parts()
        use = [
            "It needs StaticArrays and SpecialFunctions. vector_field(u, p, alpha) is the "
            "out-of-place form that solvers of differential equations take, also for ensembles; p "
            "is a named tuple with the sizes as Val and the fields of the parameters. Arrays are "
            "packed in u one after the other, the first index running fastest.",
            "Written without a Julia at hand: a grammar of the language reads files of this kind; "
            "they have not been run.",
        ]
        top = "\n".join(
            f"# {line}".rstrip()
            for each in described(self.source, use)
            for line in [
                *(each.split("\n") if "\n" in each else filled(each, 0, WIDTH - 2).split("\n")),
                "",
            ]
        )
        body = [*parts.functions, *parts.procedures, *self._packed()]
        whole = [top, "", "using StaticArrays", "using SpecialFunctions: erf, erfc, gamma", ""]
        text = "\n".join([*whole, *parts.constants, ""]) + "\n" + "\n\n".join(body) + "\n"
        return text if example is None else f"{text}\n{self._example(example)}"

    def _packed(self) -> list[str]:
        state, _ = self.flat_vectors()
        rhs, seen = self.right_hand_side(), self.observables()
        sizes = self.program.ranges
        given = ", ".join(f"::Val{{{size}}}" for size in sizes)
        lines = [f"function unpacked(u, {given}) where {{{', '.join(sizes)}}}"]
        start = "0"
        for array in state:
            indices = [f"i{n + 1}" for n in range(len(array.shape))]
            at, stride = [start], "1"
            for index, size in zip(indices, array.shape, strict=True):
                at.append(f"{stride} * ({index} - 1)" if stride != "1" else f"({index} - 1)")
                stride = size if stride == "1" else f"{stride} * {size}"
            place = Text(f"u[{' + '.join(at)} + 1]")
            limits = Limits(tuple(indices), array.shape)
            piece = Bracket(
                f"SArray{{Tuple{{{', '.join(array.shape)}}}}}(", (_generator(place, limits),)
            )
            lines.append(statement(f"{array.name} = ", piece, INDENT))
            start = f"{start} + {stride}".removeprefix("0 + ")
        lines += [f"    return (; {', '.join(a.name for a in state)})", "end"]
        of_state = {array.name for array in state}

        def arguments(procedure: Procedure) -> tuple[Text, ...]:
            names = (a.name for a in procedure.inputs)
            return tuple(
                Text(n if n == "alpha" else f"{'s' if n in of_state else 'p'}.{n}") for n in names
            )

        unpack = f"    s = unpacked(u, {', '.join(f'p.{size}' for size in sizes)})"
        outputs = [a.name for a in rhs.outputs]
        packed = ", ".join(f"vec({name})" for name in outputs)
        field = [
            '"The derivative of u, to be handed to a solver."',
            "function vector_field(u, p, alpha)",
            unpack,
            statement(f"{', '.join(outputs)} = ", Bracket(f"{rhs.name}(", arguments(rhs)), INDENT),
            f"    return vcat({packed})",
            "end",
        ]
        look = [
            f'"{", ".join(a.name for a in seen.outputs)} of u."',
            "function observables_of(u, p)",
            unpack,
            statement("return ", Bracket(f"{seen.name}(", arguments(seen)), INDENT),
            "end",
        ]
        return ["\n".join(each) for each in (lines, field, look)]

    def _example(self, example: Example) -> str:
        state, parameters = self.flat_vectors()

        def column(array: Array) -> list[str]:
            """Return entries with the first index running fastest."""
            shape = tuple(example.sizes[size] for size in array.shape)
            numbers = list(example.values[array.name])
            order = sorted(range(len(numbers)), key=lambda n: tuple(reversed(_place(n, shape))))
            return [repr(numbers[n]) for n in order]

        values = [number for array in state for number in column(array)]
        lines = ["if abspath(PROGRAM_FILE) == @__FILE__"]
        lines.append(statement("u = ", Bracket("SVector(", tuple(map(Text, values))), INDENT))
        entries = [f"{size} = Val({example.sizes[size]})" for size in self.program.ranges]
        for array in parameters:
            numbers = column(array)
            shape = ", ".join(str(example.sizes[size]) for size in array.shape)
            whole = (
                f"SArray{{Tuple{{{shape}}}}}({', '.join(numbers)})" if array.shape else numbers[0]
            )
            entries.append(f"{array.name} = {whole}")
        result = self.observables().result
        lines.append(
            "    p = (\n" + "\n".join(f"        {entry}," for entry in entries) + "\n    )"
        )
        place = [a.name for a in self.observables().outputs].index(
            result.name if result else ""
        ) + 1
        lines += [
            f"    steps, h = {example.steps}, {example.end!r} / {example.steps}",
            "    for n in 0:steps",
            "        if n % max(steps ÷ 10, 1) == 0",
            f'            println(n * h, "  ", observables_of(u, p)[{place}])',
            "        end",
            "        k1 = vector_field(u, p, n * h)",
            "        k2 = vector_field(u + h / 2 * k1, p, (n + 0.5) * h)",
            "        k3 = vector_field(u + h / 2 * k2, p, (n + 0.5) * h)",
            "        k4 = vector_field(u + h * k3, p, (n + 1) * h)",
            "        global u = u + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)",
            "    end",
            "end",
        ]
        return "\n".join(lines) + "\n"


def _place(n: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the indices of the n-th number in C order."""
    found = []
    for size in reversed(shape):
        n, index = divmod(n, size)
        found.append(index)
    return tuple(reversed(found))


def print_julia(program: Program, example: Example | None = None) -> str:
    """Return the program as the text of a Julia file.

    Args:
        program: The program with a state, parameters, a right-hand side and observables.
        example: Numbers for the example at the end, which runs if the file is the main program.

    Raises:
        PrinterError: The program has a function that only compiled modules evaluate.
    """
    return JuliaModule(program).module(example)
