"""Programs as Python whose lines are formulas: for NumPy, JAX and CasADi.

``_array(lambda i, j: ..., K, K)`` is an array by its entries, ``_sum(lambda p: ..., K)`` a sum,
``_cases`` distinguishes coinciding indices. For NumPy and JAX indices are whole ranges, so that all
entries are computed at once; for CasADi they are numbers. Indices are never traced: each case is
computed only for its own indices, and gradients do not see the others.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources

import sympy as sp

from symderiv_codegen.errors import PrinterError
from symderiv_codegen.ir.arrays import Array
from symderiv_codegen.ir.functions import ScalarFunction
from symderiv_codegen.ir.names import NamePool
from symderiv_codegen.ir.procedures import Assignment, Call, Procedure
from symderiv_codegen.ir.program import Constant, Program
from symderiv_codegen.ir.tables import TableSum, TableTerm
from symderiv_codegen.ir.walk import Total
from symderiv_codegen.printers.docstrings import docstring, documentation
from symderiv_codegen.printers.expressions import ATOM, PrintedExpression
from symderiv_codegen.printers.flat import layout_constant
from symderiv_codegen.printers.formulas import (
    Example,
    FormulaExpressions,
    FormulaModule,
    Limits,
    described,
    limits_of,
)
from symderiv_codegen.printers.lines import (
    INDENT,
    Bracket,
    Chain,
    Piece,
    Text,
    statement,
)

MOST_TERMS = 1000
"""The largest number of terms of a sum that is written out."""
NUMERIC = re.compile(r"[-+*/(). \d]|math\.(pi|e|sqrt)")


@dataclass(frozen=True)
class Flavour:
    """The calling conventions of a library.

    Attributes:
        name: The name of the language.
        namespace: The module with its elementary functions.
        spelled: Its names of some of them; empty if it has no such function.
        needs: A sentence on the packages that it needs.
        written_out: Whether sums are expressions with all of their terms.
    """

    name: str
    namespace: str
    spelled: Mapping[str, str]
    needs: str
    written_out: bool = False


_ARC = {f: f"arc{f[1:]}" for f in ("asin", "acos", "atan", "asinh", "acosh", "atanh")}
_NAMES = {"atan2": "arctan2", "Abs": "abs", "Max": "maximum", "Min": "minimum", "where": "where"}
FLAVOURS = {
    each.name: each
    for each in (
        Flavour(
            "python",
            "np",
            {**_ARC, **_NAMES, "erf": "_erf", "erfc": "_erfc", "gamma": "_gamma"},
            "The module stands alone; it needs NumPy and nothing else.",
        ),
        Flavour(
            "jax",
            "jnp",
            {
                **_ARC,
                **_NAMES,
                "erf": "special.erf",
                "erfc": "special.erfc",
                "gamma": "special.gamma",
            },
            "The module needs JAX, in double precision; all functions can be traced (jit), mapped "
            "(vmap) and differentiated (grad, jacfwd, jacrev).",
        ),
        Flavour(
            "casadi",
            "ca",
            {
                "Abs": "fabs",
                "Max": "fmax",
                "Min": "fmin",
                "where": "if_else",
                "erfc": "_erfc",
                "gamma": "",
            },
            "The module needs CasADi and NumPy: arrays of SX expressions, whose sums are written "
            "out for the sizes that they are called with.",
            written_out=True,
        ),
    )
}


class ArrayExpressions(FormulaExpressions):
    """A printer of expressions over entries of arrays; subclasses define a flavour."""

    name = "Python"
    words: Mapping[str, str] = {"And": " & ", "Or": " | ", "Not": "~"}
    relations_bind_less = True
    flavour: Flavour
    # all indices around an expression
    known: frozenset[str] = frozenset()

    def applied(self, function: str, arguments: tuple[Piece, ...]) -> PrintedExpression:
        if not NUMERIC.sub("", arguments[0].flat()) and function == "sqrt":
            return PrintedExpression(Bracket(f"math.{function}(", arguments), ATOM)
        spelled = self.flavour.spelled.get(function, function)
        if not spelled:
            raise PrinterError(f"{self.flavour.name} has no function {function}")
        dotted = "." in spelled or spelled.startswith("_")
        opening = spelled if dotted else f"{self.flavour.namespace}.{spelled}"
        return PrintedExpression(Bracket(f"{opening}(", arguments), ATOM)

    def constant(self, name: str) -> PrintedExpression:
        return PrintedExpression(Text(f"math.{name}"), ATOM)

    def builtin(self, name: str, arguments: tuple[Piece, ...]) -> PrintedExpression:
        found = arguments[0]
        if len(arguments) == 1:
            return self.applied(name, arguments)
        for each in arguments[1:]:
            found = self.applied(name, (found, each)).piece
        return PrintedExpression(found, ATOM)

    def element(self, name: str, indices: tuple[str, ...]) -> str:
        return f"{name}[{', '.join(indices)}]"

    def total(self, node: Total) -> PrintedExpression:
        limits, inside = limits_of(node)
        printer = self.within(limits.indices)
        term = printer.expression(inside)
        beside = (Text(f"beside={self.around[-1]}"),) if self.around else ()
        sizes = tuple(Text(size) for size in limits.sizes)
        arguments = (_lambda(limits.indices, term), *sizes, *beside)
        self.helpers |= {"_sum"} | printer.helpers
        return PrintedExpression(Bracket("_sum(", arguments), ATOM)

    def cases(self, cases: list[tuple[sp.Expr, sp.Basic]], last: sp.Expr) -> PrintedExpression:
        if not all(_of_indices(condition) for _, condition in cases):
            found = self.expression(last)
            for value, condition in reversed(cases):
                piece = self.condition(condition)
                found = self.applied("where", (piece, self.expression(value), found)).piece
            return PrintedExpression(found, ATOM)
        parts = [part for case in cases for part in case] + [last]
        free = {str(s) for part in parts for s in part.free_symbols if s.is_integer}
        indices = tuple(sorted(free & self.known))
        printer = self.within(indices)
        pairs = [
            (_lambda(indices, printer.condition(condition)), value) for value, condition in cases
        ]
        listed = [
            Bracket("(", (holds, _lambda(indices, printer.expression(value))))
            for holds, value in [*pairs, (Text("None"), last)]
        ]
        self.helpers |= {"_cases"} | printer.helpers
        whole = Text(f"({', '.join(indices)}{',' * (len(indices) == 1)})")
        return PrintedExpression(Bracket("_cases(", (whole, *listed)), ATOM)

    def within(self, indices: tuple[str, ...]) -> FormulaExpressions:
        found = super().within(indices)
        assert isinstance(found, ArrayExpressions)
        found.known = self.known | set(indices)
        return found


def _lambda(indices: Sequence[str], value: Piece) -> Piece:
    return Chain(((f"lambda {', '.join(indices)}: ", value),))


def _of_indices(condition: sp.Basic) -> bool:
    return all(s.is_integer for s in condition.free_symbols) and not condition.has(sp.Indexed)


class ArrayModule(FormulaModule):
    """A Python module of formulas in one flavour."""

    name = "Python"

    def __init__(self, program: Program, flavour: Flavour) -> None:
        super().__init__(program)
        self.flavour = flavour
        self.helpers: set[str] = set()

    def printer(self, around: tuple[str, ...] = ()) -> ArrayExpressions:
        """Return a printer of expressions in this flavour."""
        kind = type("Expressions", (ArrayExpressions,), {"flavour": self.flavour})
        found: ArrayExpressions = kind(self.names, around)
        found.known = frozenset(around)
        return found

    def constant(self, name: str, value: Constant) -> str:
        if not isinstance(value, tuple):
            return f"{name} = {value!r}"
        numbers = Bracket("[", tuple(Text(repr(number)) for number in value), "]")
        return statement(f"{name} = ", Bracket("np.array(", (numbers,)), 0)

    def scalar(self, function: ScalarFunction) -> str:
        printer = self.printer()
        lines = [self._head(function.name, [str(a) for a in function.arguments])]
        lines += docstring([function.doc])
        for symbol, expression in function.definitions:
            lines.append(statement(f"{symbol} = ", printer.expression(expression), INDENT))
        lines.append(statement("return ", printer.expression(function.value), INDENT))
        return "\n".join(lines)

    def table_sum(self, function: TableSum) -> str:
        arguments = [str(a) for a in function.arguments]
        lines = [self._head(function.name, arguments), *docstring([function.doc])]
        names: list[Piece] = []
        printer = self.printer()
        for number, term in enumerate(function.terms):
            pool = NamePool((*function.names, *(str(s) for s, _ in term.definitions)))
            indices = [pool.take(f"k{n + 1}") for n in range(len(term.rows))]
            name = f"term_{number + 1}"
            lines += ["", f"    def {name}({', '.join(indices)}):"]
            for row, index in zip(term.rows, indices, strict=True):
                lines += [f"        {entry} = {table}[{index}]" for entry, table in row.entries]
            for symbol, value in term.definitions:
                lines.append(statement(f"{symbol} = ", printer.expression(value), 2 * INDENT))
            lines.append(statement("return ", printer.expression(term.value), 2 * INDENT))
            rows = [Text(row.size) for row in term.rows]
            beside = Bracket("beside=(", tuple(map(Text, arguments)))
            self._check_rows(function, term)
            names.append(
                Bracket("_sum(", (Text(name), *rows, beside)) if rows else Text(f"{name}()")
            )
        chain = Chain(tuple((" + " if n else "", name) for n, name in enumerate(names)))
        return "\n".join([*lines, "", statement("return ", chain, INDENT)])

    def _check_rows(self, function: TableSum, term: TableTerm) -> None:
        """Refuse sums that would be written out with too many terms."""
        lengths = (int(str(self.program.constants[row.size])) for row in term.rows)
        if self.flavour.written_out and math.prod(lengths) > MOST_TERMS:
            raise PrinterError(
                f"{function.name!r} is a sum of more than {MOST_TERMS} terms, which "
                f"{self.flavour.name} would write out; choose c, julia, python or jax"
            )

    def _head(self, name: str, arguments: Sequence[str]) -> str:
        return statement(f"def {name}", Bracket("(", tuple(map(Text, arguments)), "):"), 0)

    def head(self, procedure: Procedure, sizes: Sequence[tuple[str, str]]) -> list[str]:
        words, given = documentation(procedure)
        given = given.replace("Outputs, in place:", "Returns:")
        lines = [self._head(procedure.name, [a.name for a in procedure.inputs])]
        lines += docstring([words, given])
        return [*lines, *(f"    {name} = {told}" for name, told in sizes)]

    def size(self, array: Array, axis: int) -> str:
        return f"{array.name}.shape[{axis}]"

    def assignment(self, step: Assignment, limits: Limits, value: sp.Expr) -> list[str]:
        piece = self.printer(limits.indices).expression(value)
        if limits.indices:
            sizes = tuple(Text(size) for size in limits.sizes)
            piece = Bracket("_array(", (_lambda(limits.indices, piece), *sizes))
        return [statement(f"{step.name} = ", piece, INDENT)]

    def call(self, step: Call, inputs: Sequence[str], outputs: Sequence[str]) -> list[str]:
        call = Bracket(f"{step.procedure}(", tuple(map(Text, inputs)))
        lines = [statement(f"{', '.join(outputs)} = ", call, INDENT)]
        if step.when is not None:
            condition = self.printer().condition(step.when).flat()
            lines += [f"    {name} = _where({condition}, {name}, 0.0)" for name in outputs]
        return lines

    def tail(self, procedure: Procedure) -> list[str]:
        return [f"    return {', '.join(each.name for each in procedure.outputs)}"]

    def module(self, example: Example | None) -> str:
        """Return the text of the whole module."""
        parts = self.parts()
        state, parameters = self.flat_vectors()
        use = [
            self.flavour.needs,
            "rates(alpha, state, parameters) gives the time derivatives of a state, "
            "observables_of(state, parameters) what is seen of it; states and parameters are "
            "dictionaries of arrays by name.",
        ]
        top = docstring(described(self.source, use), indent=0)
        runtime = resources.files(__package__).joinpath(f"runtime_{self.flavour.name}.txt")
        texts = runtime.read_text(encoding="utf-8").strip().split("\n# ---\n")
        imports, helpers, usage = (text.strip("\n") for text in texts)
        body = [*parts.functions, *parts.procedures, *self._named(state, parameters)]
        layout = layout_constant(self.source.ranges, self.source.vectors)
        whole = [*top, "", imports, "", layout, ""]
        if parts.constants:
            whole += [*parts.constants, ""]
        text = "\n".join(whole) + "\n\n" + "\n\n\n".join([helpers, *body]) + "\n"
        return text if example is None else f"{text}\n\n{self._example(usage, example)}"

    def _named(self, state: Sequence[Array], parameters: Sequence[Array]) -> list[str]:
        texts = []
        of_state = {array.name for array in state}
        for name, procedure in (
            ("rates(alpha, state, parameters)", self.right_hand_side()),
            ("observables_of(state, parameters)", self.observables()),
        ):
            arguments = [
                array.name
                if array.name == "alpha"
                else f'{"state" if array.name in of_state else "parameters"}["{array.name}"]'
                for array in procedure.inputs
            ]
            call = Bracket(f"{procedure.name}(", tuple(map(Text, arguments)))
            names = [array.name for array in procedure.outputs]
            if procedure is self.right_hand_side():
                words = "Time derivatives of a state, by the names of its fields."
                names = [array.name for array in state]
            else:
                words = f"{', '.join(names)} of a state, by name."
            entries = ", ".join(f'"{each}"' for each in names)
            texts.append(
                "\n".join(
                    [
                        f"def {name}:",
                        *docstring([words]),
                        statement("found = ", call, INDENT),
                        f"    return dict(zip([{entries}], found, strict=True))",
                    ]
                )
            )
        return texts

    def _example(self, usage: str, example: Example) -> str:
        lines = []
        for name, fields in zip(("state", "parameters"), self.flat_vectors(), strict=True):
            lines.append(f"    {name} = {{")
            for array in fields:
                numbers = Bracket(
                    "[", tuple(Text(repr(x)) for x in example.values[array.name]), "]"
                )
                shape = tuple(example.sizes[size] for size in array.shape)
                if shape:
                    value = statement("", Bracket("np.reshape(", (numbers, Text(repr(shape)))), 8)
                    lines.append(f'        "{array.name}": {value.strip()},')
                else:
                    lines.append(f'        "{array.name}": {example.values[array.name][0]!r},')
            lines.append("    }")
        filled_in = usage.replace("    NUMBERS", "\n".join(lines))
        result = self.observables().result
        filled_in = filled_in.replace("RESULT", result.name if result else "")
        filled_in = filled_in.replace("SIZES", repr(example.sizes))
        filled_in = filled_in.replace("END", repr(example.end)).replace("STEPS", str(example.steps))
        return filled_in + "\n"


def print_array_python(program: Program, flavour: str, example: Example | None = None) -> str:
    """Return the program as a Python module for NumPy ("python"), "jax" or "casadi".

    Args:
        program: The program with a state, parameters, a right-hand side and observables.
        flavour: One of :data:`FLAVOURS`.
        example: Numbers for the example at the end, which runs with the file.

    Raises:
        PrinterError: The program has a function that only compiled modules evaluate, or one that
            the library lacks.
    """
    return ArrayModule(program, FLAVOURS[flavour]).module(example)
