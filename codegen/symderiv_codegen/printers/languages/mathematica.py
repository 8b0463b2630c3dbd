"""Programs as Wolfram language: pure functions, sums and tables, names without underscores."""

from __future__ import annotations

import re
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
from symderiv_codegen.printers.expressions import ATOM, POWER, PRODUCT, PrintedExpression
from symderiv_codegen.printers.formulas import (
    Example,
    FormulaExpressions,
    FormulaModule,
    Limits,
    described,
    limits_of,
)
from symderiv_codegen.printers.formulas import plain_statement as statement
from symderiv_codegen.printers.lines import INDENT, WIDTH, Bracket, Chain, Piece, Text, filled

SPELLED = MappingProxyType(
    {
        **{f: f"Arc{f[1:].capitalize()}" for f in ("asin", "acos", "atan")},
        **{f: f"Arc{f[1:].capitalize()}" for f in ("asinh", "acosh", "atanh")},
        **{f: f.capitalize() for f in ("sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "log")},
        **{f: f.capitalize() for f in ("erf", "erfc", "sqrt", "floor", "gamma")},
    }
)
SINGLE = frozenset("CDEIKNO")
"""Letters that are reserved by the language."""


def spelled(name: str) -> str:
    """Return a name without underscores that is not reserved by the language."""
    if name in SINGLE:
        return f"size{name}"
    head, *rest = name.split("_")
    return head + "".join(part[:1].upper() + part[1:] for part in rest)


class WolframExpressions(FormulaExpressions):
    """A printer of expressions with exact numbers; indices count from one."""

    name = "Mathematica"
    words: Mapping[str, str] = MappingProxyType({"And": " && ", "Or": " || ", "Not": "!"})
    relations_bind_less = True

    def number(self, value: sp.Rational) -> PrintedExpression:
        if value.q == 1:
            return PrintedExpression(Text(str(value.p)), ATOM)
        return PrintedExpression(
            Chain((("", Text(str(value.p))), (" / ", Text(str(value.q))))), PRODUCT
        )

    def splits_fractions(self, value: sp.Rational) -> bool:
        return bool(value.q != 1)

    def printed(self, node: sp.Basic) -> PrintedExpression:
        if isinstance(node, sp.Symbol):
            return PrintedExpression(Text(spelled(str(node))), ATOM)
        return super().printed(node)

    def index(self, node: sp.Basic) -> str:
        return re.sub(r"\w+", lambda name: spelled(name[0]), super().index(node))

    def applied(self, function: str, arguments: tuple[Piece, ...]) -> PrintedExpression:
        return PrintedExpression(
            Bracket(f"{SPELLED.get(function, function)}[", arguments, "]"), ATOM
        )

    def constant(self, name: str) -> PrintedExpression:
        return PrintedExpression(Text({"pi": "Pi", "e": "E"}[name]), ATOM)

    def builtin(self, name: str, arguments: tuple[Piece, ...]) -> PrintedExpression:
        return self.applied(name, arguments)

    def helper_call(self, name: str, arguments: tuple[Piece, ...]) -> PrintedExpression:
        return PrintedExpression(Bracket(f"{spelled(name)}[", arguments, "]"), ATOM)

    def raised(self, base: Piece, exponent: Piece) -> PrintedExpression:
        return PrintedExpression(Chain((("", base), ("^", exponent))), POWER)

    def element(self, name: str, indices: tuple[str, ...]) -> str:
        return f"{spelled(name)}[[{', '.join(indices)}]]"

    def cases(self, cases: list[tuple[sp.Expr, sp.Basic]], last: sp.Expr) -> PrintedExpression:
        found: Piece = self.expression(last)
        for value, when in reversed(cases):
            found = Bracket("If[", (self.condition(when), self.expression(value), found), "]")
        return PrintedExpression(found, ATOM)

    def total(self, node: Total) -> PrintedExpression:
        limits, inside = limits_of(node)
        term = self.within(limits.indices).expression(inside)
        return PrintedExpression(_sum(term, limits), ATOM)


def _over(limits: Limits) -> tuple[Piece, ...]:
    pairs = zip(limits.indices, limits.sizes, strict=True)
    return tuple(Text(f"{{{spelled(index)}, {spelled(size)}}}") for index, size in pairs)


def _sum(term: Piece, limits: Limits) -> Piece:
    """Return nested sums over single indices: for several at once, some interpreters first try a
    closed form.
    """
    for over in reversed(_over(limits)):
        term = Bracket("Sum[", (term, over), "]")
    return term


class WolframModule(FormulaModule):
    """A file of definitions in the Wolfram language."""

    name = "Mathematica"

    def constant(self, name: str, value: Constant) -> str:
        if not isinstance(value, tuple):
            number = _double(value) if isinstance(value, float) else str(value)
            return f"{spelled(name)} = {number};"
        numbers = Bracket("{", tuple(Text(_double(x)) for x in value), "}")
        return statement(f"{spelled(name)} = ", numbers, 0) + ";"

    def scalar(self, function: ScalarFunction) -> str:
        printer = WolframExpressions(self.names)
        steps = [
            statement(f"{spelled(str(symbol))} = ", printer.expression(value), INDENT)
            for symbol, value in function.definitions
        ]
        result = statement("", printer.expression(function.value), INDENT)
        names = [str(symbol) for symbol, _ in function.definitions]
        return self._definition(
            function.name, function.arguments, function.doc, names, steps, result
        )

    def table_sum(self, function: TableSum) -> str:
        printer = WolframExpressions(self.names)
        parts: list[Piece] = []
        for term in function.terms:
            pool = NamePool((*function.names, *(str(s) for s, _ in term.definitions)))
            indices = tuple(pool.take(f"k{n + 1}") for n in range(len(term.rows)))
            steps = [
                Text(f"{spelled(str(entry))} = {spelled(table)}[[{spelled(index)}]]")
                for row, index in zip(term.rows, indices, strict=True)
                for entry, table in row.entries
            ]
            local = [spelled(str(entry)) for row in term.rows for entry, _ in row.entries]
            local += [spelled(str(symbol)) for symbol, _ in term.definitions]
            links: list[tuple[str, Piece]] = [
                ("", step) if not n else ("; ", step) for n, step in enumerate(steps)
            ]
            for symbol, value in term.definitions:
                head = f"{'; ' if links else ''}{spelled(str(symbol))} = "
                links.append((head, printer.expression(value)))
            links.append(("; " if links else "", printer.expression(term.value)))
            inside: Piece = Bracket(
                "Module[", (Text(f"{{{', '.join(local)}}}"), Chain(tuple(links))), "]"
            )
            limits = Limits(indices, tuple(row.size for row in term.rows))
            parts.append(_sum(inside, limits))
        chain = Chain(tuple((" + " if n else "", part) for n, part in enumerate(parts)))
        result = statement("", chain, INDENT)
        return self._definition(function.name, function.arguments, function.doc, [], [], result)

    def _definition(
        self,
        name: str,
        arguments: Sequence[object],
        words: str,
        local: Sequence[str],
        steps: Sequence[str],
        result: str,
    ) -> str:
        given = tuple(Text(f"{spelled(str(a))}_") for a in arguments)
        head = statement(spelled(name), Bracket("[", given, "]"), 0)
        if not local:
            return f"{_comment(words)}\n{head} :=\n{result}"
        listed = Bracket("{", tuple(Text(spelled(each)) for each in local), "}")
        body = ";\n".join([*steps, result])
        opening = statement("Module[", listed, 0)
        return f"{_comment(words)}\n{head} := {opening},\n{body}\n]"

    def head(self, procedure: Procedure, sizes: Sequence[tuple[str, str]]) -> list[str]:
        local = [name for name, _ in sizes]
        for step in procedure.body:
            outputs = [step.name] if isinstance(step, Assignment) else self._outputs(step)
            local += [name for name in outputs if name not in local]
        given = tuple(Text(f"{spelled(a.name)}_") for a in procedure.inputs)
        head = statement(spelled(procedure.name), Bracket("[", given, "]"), 0)
        listed = Bracket("{", tuple(Text(spelled(name)) for name in local), "}")
        opening = statement("Module[", listed, 0)
        lines = [_comment(procedure.doc), f"{head} := {opening},"]
        return [*lines, *(f"    {spelled(name)} = {told};" for name, told in sizes)]

    def _outputs(self, step: Call) -> list[str]:
        called = self.program.procedure(step.procedure)
        assert called is not None
        return list(step.arguments[len(called.inputs) :])

    def size(self, array: Array, axis: int) -> str:
        return f"Dimensions[{spelled(array.name)}][[{axis + 1}]]"

    def assignment(self, step: Assignment, limits: Limits, value: sp.Expr) -> list[str]:
        piece = WolframExpressions(self.names, limits.indices).expression(value)
        if limits.indices:
            piece = Bracket("Table[", (piece, *_over(limits)), "]")
        return [statement(f"{spelled(step.name)} = ", piece, INDENT) + ";"]

    def call(self, step: Call, inputs: Sequence[str], outputs: Sequence[str]) -> list[str]:
        call = Bracket(f"{spelled(step.procedure)}[", tuple(Text(spelled(a)) for a in inputs), "]")
        lines = [statement(f"{{{', '.join(map(spelled, outputs))}}} = ", call, INDENT) + ";"]
        if step.when is not None:
            condition = WolframExpressions(self.names).condition(step.when).flat()
            for name in map(spelled, outputs):
                lines.append(f"    {name} = If[{condition}, {name}, 0 * {name}];")
        return lines

    def tail(self, procedure: Procedure) -> list[str]:
        return [f"    {{{', '.join(spelled(each.name) for each in procedure.outputs)}}}", "]"]

    def module(self, example: Example | None) -> str:
        """Return the text of the whole file."""
        parts = self.parts()
        use = [
            "Wolfram language. Names are those of the list below without underscores. Every "
            "procedure gives the list of its outputs; numbers are exact where the equations are.",
            "Written without a Wolfram kernel at hand; files of this kind were run with Mathics3.",
        ]
        words = "\n\n".join(
            each if "\n" in each else filled(each, 0, WIDTH - 3)
            for each in described(self.source, use)
        )
        body = [*parts.functions, *parts.procedures]
        text = "\n\n".join([_comment(words), *parts.constants, *body]) + "\n"
        return text if example is None else f"{text}\n{self._example(example)}"

    def _example(self, example: Example) -> str:
        rhs = self.right_hand_side()
        lines = [_comment("The time derivatives at the start of the study.")]
        for array in (a for vector in self.flat_vectors() for a in vector):
            shape = tuple(example.sizes[size] for size in array.shape)
            whole = _nested([_double(x) for x in example.values[array.name]], shape)
            lines.append(f"{spelled(array.name)}0 = {whole};")
        arguments = tuple(Text(f"{spelled(a.name)}0") for a in rhs.inputs)
        lines.append(
            statement("Print[", Bracket(f"{spelled(rhs.name)}[", arguments, "]"), 0) + "];"
        )
        return "\n".join(lines) + "\n"


def _nested(numbers: list[str], shape: tuple[int, ...]) -> str:
    if not shape:
        return numbers[0]
    step = len(numbers) // shape[0]
    parts = (numbers[n * step : (n + 1) * step] for n in range(shape[0]))
    return "{" + ", ".join(_nested(part, shape[1:]) for part in parts) + "}"


def _double(value: float) -> str:
    """Return a double such as ``1.5*^-7``, with a point, as ``1*^-7`` would be exact."""
    digits, _, exponent = repr(value).partition("e")
    digits += "" if "." in digits else "."
    return f"{digits}*^{int(exponent)}" if exponent else digits


def _comment(text: str) -> str:
    return "(* " + text.replace("(*", "( *").replace("*)", "* )") + " *)"


def print_mathematica(program: Program, example: Example | None = None) -> str:
    """Return the program as the text of a file of the Wolfram language.

    Args:
        program: The program with a state, parameters and a right-hand side.
        example: Numbers for the lines at the end.

    Raises:
        PrinterError: The program has a function that only compiled modules evaluate.
    """
    return WolframModule(program).module(example)
