"""Programs as C99: one file, plain loops over flat arrays, math.h and nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

import sympy as sp

from symderiv_codegen.ir.arrays import Array
from symderiv_codegen.ir.functions import Function, ScalarFunction
from symderiv_codegen.ir.loops import (
    Conditional,
    Fill,
    Increase,
    Invoke,
    Loop,
    Node,
    Remark,
    Set,
    Start,
    inner,
)
from symderiv_codegen.ir.names import NamePool
from symderiv_codegen.ir.procedures import Procedure
from symderiv_codegen.ir.program import Constant, Program
from symderiv_codegen.ir.tables import TableSum
from symderiv_codegen.passes.lower import loop_nests
from symderiv_codegen.passes.scalars import as_defined
from symderiv_codegen.passes.self_contained import self_contained
from symderiv_codegen.passes.table_loops import table_nests
from symderiv_codegen.passes.table_nodes import table_nodes
from symderiv_codegen.printers.docstrings import shape
from symderiv_codegen.printers.expressions import ATOM, PrintedExpression
from symderiv_codegen.printers.formulas import Example, FormulaExpressions, described
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

SPELLED = MappingProxyType({"gamma": "tgamma", "Abs": "fabs", "Max": "fmax", "Min": "fmin"})
CONSTANTS = MappingProxyType({"pi": "PI", "e": "E"})


class CExpressions(FormulaExpressions):
    """A printer of expressions over double; arrays are flat, with the last index fastest."""

    name = "C"
    words: Mapping[str, str] = MappingProxyType({"And": " && ", "Or": " || ", "Not": "!"})
    relations_bind_less = True
    shapes: Mapping[str, tuple[str, ...]] = MappingProxyType({})

    def applied(self, function: str, arguments: tuple[Piece, ...]) -> PrintedExpression:
        return PrintedExpression(Bracket(f"{SPELLED.get(function, function)}(", arguments), ATOM)

    def constant(self, name: str) -> PrintedExpression:
        return PrintedExpression(Text(CONSTANTS[name]), ATOM)

    def builtin(self, name: str, arguments: tuple[Piece, ...]) -> PrintedExpression:
        found = arguments[0]
        if len(arguments) == 1:
            return self.applied(name, arguments)
        for each in arguments[1:]:
            found = self.applied(name, (found, each)).piece
        return PrintedExpression(found, ATOM)

    def raised(self, base: Piece, exponent: Piece) -> PrintedExpression:
        return PrintedExpression(Bracket("pow(", (base, exponent)), ATOM)

    def cases(self, cases: list[tuple[sp.Expr, sp.Basic]], last: sp.Expr) -> PrintedExpression:
        links: list[tuple[str, Piece]] = []
        for value, when in cases:
            links.append((" : " if links else "", self.condition(when)))
            links.append(
                (
                    " ? ",
                    parenthesised(self.expression(value))
                    if _long(value)
                    else self.expression(value),
                )
            )
        links.append((" : ", self.expression(last)))
        return PrintedExpression(parenthesised(Chain(tuple(links))), ATOM)

    def element(self, name: str, indices: tuple[str, ...]) -> str:
        """Return an element such as ``Q[i * K + j]``."""
        sizes = self.shapes[name]
        text = _factor(indices[0]) if len(indices) > 1 else indices[0]
        for n, (index, size) in enumerate(zip(indices[1:], sizes[1:], strict=True)):
            text = f"{text} * {size} + {index}"
            if n < len(indices) - 2:
                text = f"({text})"
        return f"{name}[{text}]"


def _factor(index: str) -> str:
    return index if index.isidentifier() else f"({index})"


def _long(value: sp.Expr) -> bool:
    return isinstance(value, sp.Add)


class CModule:
    """A C file of a program."""

    def __init__(self, program: Program) -> None:
        self.source = program
        self.program = self_contained(program)
        self.names = tuple(f.name for f in self.program.functions)
        self.sizes: dict[str, tuple[str, ...]] = {}

    def printer(self, arrays: Iterable[Array] = ()) -> CExpressions:
        """Return a printer that knows the shapes of arrays."""
        found = CExpressions(self.names)
        found.shapes = {array.name: array.shape for array in arrays}
        return found

    # Functions.

    def constant(self, name: str, value: Constant) -> str:
        """Return a table, or its length as a macro."""
        if not isinstance(value, tuple):
            return f"#define {name} {value}"
        numbers = Bracket("{", tuple(Text(repr(x)) for x in value), "}")
        return statement(f"static const double {name}[{len(value)}] = ", numbers, 0) + ";"

    def function(self, function: Function) -> str:
        """Return a scalar function or a sum over tables."""
        register = NamePool([*self.program.module_names, *function.names])
        arguments = tuple(Text(f"double {a}") for a in function.arguments)
        lines = [
            *_comment(function.doc),
            statement(f"double {function.name}", Bracket("(", arguments), 0),
            "{",
        ]
        printer = self.printer()
        if isinstance(function, TableSum):
            code = table_nodes(table_nests(function, register), register)
            printer = self.printer([*code.arrays, *self._tables(function)])
            lines += [f"    double {a.name}[{' * '.join(a.shape)}];" for a in code.arrays]
            lines += self._body(code.nodes, INDENT, printer, set())
            lines.append(f"    return {code.total};")
        else:
            assert isinstance(function, ScalarFunction)
            straight = as_defined(function)
            for symbol, value in straight.definitions:
                head = f"const double {symbol} = "
                lines.append(statement(head, printer.expression(value), INDENT) + ";")
            lines.append(statement("return ", printer.expression(straight.value), INDENT) + ";")
        text = "\n".join(lines[lines.index("{") :])
        lines += [f"    (void){a};" for a in function.arguments if not re.search(rf"\b{a}\b", text)]
        return "\n".join([*_returning_last(lines), "}"])

    def _tables(self, function: TableSum) -> list[Array]:
        tables = {
            t: row.size for term in function.terms for row in term.rows for _, t in row.entries
        }
        return [Array(table, (size,)) for table, size in tables.items()]

    # Procedures.

    def procedure(self, procedure: Procedure) -> str:
        """Return a function that writes its outputs in place and returns its scalar, if any."""
        body = loop_nests(procedure, self.program, plain=True)
        arrays = [*procedure.inputs, *procedure.outputs, *procedure.locals, *body.arrays]
        printer = self.printer(arrays)
        local = [f"    double {a.name}[{' * '.join(a.shape)}];" for a in body.arrays]
        below = _set_in_branches(body.nodes)
        scalars = sorted(below)
        local += [f"    double {', '.join(scalars)};"] if scalars else []
        lines = self._body(body.nodes, INDENT, printer, below)
        result = procedure.result
        if result:
            lines.append(f"    return {result.name};")
        text = _without_keywords("\n".join([*local, *lines]))
        sizes = tuple(size for size in self.program.ranges if re.search(rf"\b{size}\b", text))
        self.sizes[procedure.name] = sizes
        given = [
            *(f"int {size}" for size in sizes),
            *(
                f"const double *{a.name}" if a.shape else f"double {a.name}"
                for a in procedure.inputs
            ),
            *(f"double *{a.name}" for a in procedure.array_outputs),
        ]
        unused = [
            f"    (void){a.name};"
            for a in procedure.inputs
            if not re.search(rf"\b{a.name}\b", text)
        ]
        kind = "double" if result else "void"
        head = statement(f"{kind} {procedure.name}", Bracket("(", tuple(map(Text, given))), 0)
        words = [procedure.doc, *_listed("Inputs", procedure.inputs)]
        words += _listed("Outputs, in place", procedure.array_outputs)
        return "\n".join([*_comment("\n".join(words)), head, "{", text, *unused, "}"])

    def _body(
        self, nodes: Sequence[Node], indent: int, printer: CExpressions, below: set[str]
    ) -> list[str]:
        return [line for node in nodes for line in self._node(node, indent, printer, below)]

    def _node(self, node: Node, indent: int, printer: CExpressions, below: set[str]) -> list[str]:
        pad = " " * indent
        if isinstance(node, Remark):
            return [
                f"{pad}/* {line.strip()} */"
                for line in filled(node.text, 0, WIDTH - 12).split("\n")
            ]
        if isinstance(node, Fill):
            return self._zeros(node, indent, printer)
        if isinstance(node, Loop):
            i, start, stop = node.index, printer.index(node.start), printer.index(node.stop)
            head = f"{pad}for (int {i} = {start}; {i} < {stop}; ++{i}) {{"
            return [head, *self._body(node.body, indent + INDENT, printer, below), f"{pad}}}"]
        if isinstance(node, Conditional):
            return self._branch(node, indent, printer, below)
        if isinstance(node, Invoke):
            sizes = tuple(map(Text, self.sizes[node.procedure]))
            call = Bracket(f"{node.procedure}(", (*sizes, *map(Text, node.arguments)))
            head = ""
            if node.result:
                head = (
                    f"{node.result} = "
                    if node.result in below
                    else f"const double {node.result} = "
                )
            return [statement(head, call, indent) + ";"]
        assert isinstance(node, Set | Increase), type(node).__name__
        if isinstance(node, Increase):
            return [statement(f"{node.target} += ", printer.expression(node.value), indent) + ";"]
        value = printer.expression(node.value)
        if isinstance(node.target, sp.Indexed):
            target = printer.printed(node.target).piece.flat()
            return [statement(f"{target} = ", value, indent) + ";"]
        name = str(node.target)
        again = name in below or (isinstance(node, Start) and node.again)
        kind = "" if again else "double " if isinstance(node, Start) else "const double "
        return [statement(f"{kind}{name} = ", value, indent) + ";"]

    def _zeros(self, node: Fill, indent: int, printer: CExpressions) -> list[str]:
        lines, names = [], tuple(map(str, node.indices[: len(node.array.shape)]))
        for depth, (i, size) in enumerate(zip(names, node.array.shape, strict=True)):
            lines.append(
                " " * (indent + INDENT * depth) + f"for (int {i} = 0; {i} < {size}; ++{i})"
            )
        target = printer.element(node.array.name, names) if names else node.array.name
        return [*lines, " " * (indent + INDENT * len(names)) + f"{target} = 0.0;"]

    def _branch(
        self, node: Conditional, indent: int, printer: CExpressions, below: set[str]
    ) -> list[str]:
        pad = " " * indent
        lines: list[str] = []
        for condition, body in node.cases:
            if condition == sp.true and lines:
                lines[-1] = f"{pad}}} else {{"
            else:
                text = f"if ({printer.condition(condition).flat()}) {{"
                if lines:
                    lines[-1] = f"{pad}}} else {text}"
                else:
                    lines.append(f"{pad}{text}")
            lines += [*self._body(body, indent + INDENT, printer, below), f"{pad}}}"]
        return lines

    # The file.

    def module(self, example: Example | None) -> str:
        """Return the text of the whole file."""
        used = {
            name
            for f in self.program.functions
            if isinstance(f, TableSum)
            for term in f.terms
            for row in term.rows
            for name in (row.size, *(table for _, table in row.entries))
        }
        constants = [self.constant(n, v) for n, v in self.program.constants.items() if n in used]
        functions = [self.function(each) for each in self.program.functions]
        procedures = [self.procedure(each) for each in self.program.procedures]
        use = [
            "The file stands alone; it needs a C99 compiler and math.h and nothing else. Arrays "
            "are flat, the last index runs fastest. flat_right_hand_side works on vectors: sizes "
            f"are {', '.join(self.program.ranges)}; fields stand one after the other, those of the "
            f"state {_fields(self.source.vectors[0].fields)}, those of the parameters "
            f"{_fields(self.source.vectors[1].fields)}.",
            "The example at the end:  gcc -std=c99 -DEXAMPLE FILE.c -lm && ./a.out",
        ]
        numbers = [f"static const double {name} = {value};" for name, value in _NUMBERS.items()]
        text = "\n\n".join([*functions, *procedures, *self._flat()])
        code = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
        needed = [line for line in numbers if re.search(rf"\b{line.split()[3]}\b", code)]
        top = "\n".join(_comment("\n\n".join(_wrapped(described(self.source, use)))))
        parts = [
            f"{top}\n\n#include <math.h>\n#include <stddef.h>",
            "\n".join([*needed, *constants]),
            text,
        ]
        found = "\n\n".join(filter(None, parts)) + "\n"
        return found if example is None else f"{found}\n{self._example(example)}"

    def _flat(self) -> list[str]:
        state, parameters = self.source.vectors
        texts = []
        for name, outputs in (
            (self.program.right_hand_side, True),
            (self.program.observables, False),
        ):
            procedure = self.program.procedure(name)
            assert procedure is not None
            lines = [f"    const int {r} = sizes[{n}];" for n, r in enumerate(self.program.ranges)]
            pointers = []
            for vector in (state, parameters):
                lines.append(f"    const double *{vector.name}_at = {vector.name};")
                for a in vector.fields:
                    length = " * ".join(a.shape) or "1"
                    entry = f"const double *{a.name}" if a.shape else f"const double {a.name}"
                    value = f"{vector.name}_at" if a.shape else f"*{vector.name}_at"
                    lines.append(f"    {entry} = {value};")
                    lines.append(f"    {vector.name}_at += {length};")
                    pointers.append(a.name)
            derivative: list[str] = []
            if outputs:
                lines.append("    double *rate = derivative;")
                for a, out in zip(state.fields, procedure.outputs, strict=True):
                    lines.append(f"    double *{out.name} = rate;")
                    lines.append(f"    rate += {' * '.join(a.shape) or '1'};")
                    derivative.append(out.name)
            else:
                derivative = [a.name for a in procedure.array_outputs]
            arguments = [*self.sizes[name], *(a.name for a in procedure.inputs), *derivative]
            call = statement(
                "" if outputs else "return ",
                Bracket(f"{name}(", tuple(map(Text, arguments))),
                INDENT,
            )
            body = "\n".join([*lines, call + ";"])
            kept = {*arguments, "sizes"}
            unused = [f"    (void){p};" for p in (*self.program.ranges, *pointers) if p not in kept]
            unused += ["    (void)rate;"] if outputs else []
            unused += [f"    (void){v.name}_at;" for v in (state, parameters)]
            given = ["const double *state", "const int *sizes", "const double *parameters"]
            given += ["double *derivative"] if outputs else [f"double *{n}" for n in derivative]
            if outputs:
                given.insert(0, "double alpha")
                unused += [] if "alpha" in arguments else ["    (void)alpha;"]
            unused_text = "\n".join(unused)
            kind = "void" if outputs else "double"
            head = statement(f"{kind} flat_{name}", Bracket("(", tuple(map(Text, given))), 0)
            words = f"{name} on vectors."
            if outputs:
                texts.append("\n".join([*_comment(words), head, "{", body, unused_text, "}"]))
            else:
                whole = "\n".join([*lines, unused_text, call + ";"])
                texts.append("\n".join([*_comment(words), head, "{", whole, "}"]))
        return texts

    def _example(self, example: Example) -> str:
        lines = ["#ifdef EXAMPLE", "#include <stdio.h>", "", "int main(void)", "{"]
        sizes = ", ".join(str(example.sizes[r]) for r in self.program.ranges)
        lines.append(f"    const int sizes[] = {{{sizes}}};")
        length = 0
        for vector, const in zip(self.source.vectors, ("", "const "), strict=True):
            numbers = [x for a in vector.fields for x in example.values[a.name]]
            length = length or len(numbers)
            entries = Bracket("{", tuple(Text(repr(x)) for x in numbers), "}")
            lines.append(statement(f"{const}double {vector.name}[] = ", entries, INDENT) + ";")
        procedure = self.program.procedure(self.program.observables)
        assert procedure is not None
        room = [
            "*".join(str(example.sizes[size]) for size in a.shape) for a in procedure.array_outputs
        ]
        names = ", ".join(a.name for a in procedure.array_outputs)
        declared = ", ".join(
            f"{a.name}[{n}]" for a, n in zip(procedure.array_outputs, room, strict=True)
        )
        text = _MAIN.replace("LENGTH", str(length)).replace("DECLARED", declared)
        text = text.replace("NAMES", names).replace("END", repr(example.end))
        return "\n".join([*lines, text.replace("STEPS", str(example.steps)).strip("\n")]) + "\n"


_NUMBERS = {"PI": "3.14159265358979323846", "E": "2.71828182845904523536"}
_MAIN = """
    enum { n = LENGTH, steps = STEPS };
    const double end = END, step = end / steps;
    double k1[n], k2[n], k3[n], k4[n], at[n], DECLARED;

    for (int s = 0; s <= steps; ++s) {
        if (s % (steps >= 10 ? steps / 10 : 1) == 0) {
            const double seen = flat_observables(state, sizes, parameters, NAMES);
            printf("%10.4f  %.12e\\n", s * step, seen);
        }
        /* one step of the classical method of Runge and Kutta */
        flat_right_hand_side(s * step, state, sizes, parameters, k1);
        for (int i = 0; i < n; ++i)
            at[i] = state[i] + 0.5 * step * k1[i];
        flat_right_hand_side((s + 0.5) * step, at, sizes, parameters, k2);
        for (int i = 0; i < n; ++i)
            at[i] = state[i] + 0.5 * step * k2[i];
        flat_right_hand_side((s + 0.5) * step, at, sizes, parameters, k3);
        for (int i = 0; i < n; ++i)
            at[i] = state[i] + step * k3[i];
        flat_right_hand_side((s + 1) * step, at, sizes, parameters, k4);
        for (int i = 0; i < n; ++i)
            state[i] += step / 6.0 * (k1[i] + 2.0 * k2[i] + 2.0 * k3[i] + k4[i]);
    }
    return 0;
}
#endif
"""


def _set_in_branches(nodes: Iterable[Node]) -> set[str]:
    """Return scalars that branches set, which are declared at the top."""
    found: set[str] = set()
    for node in nodes:
        for part in inner(node):
            if isinstance(part, Conditional):
                for _, body in part.cases:
                    found |= _set_directly(body)
    return found


def _set_directly(nodes: Iterable[Node]) -> set[str]:
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, Set) and isinstance(node.target, sp.Symbol):
            found.add(str(node.target))
        if isinstance(node, Invoke) and node.result:
            found.add(node.result)
        if isinstance(node, Fill) and not node.array.shape:
            found.add(node.array.name)
    return found


def _without_keywords(text: str) -> str:
    """Return a text whose temporary variables have no keywords of C as names."""
    return re.sub(r"\bcase(?=_\d|\b)", "chosen", text)


def _returning_last(lines: list[str]) -> list[str]:
    """Return lines with the return statement moved behind those that mark unused arguments."""
    at = next(n for n, line in enumerate(lines) if line.startswith("    return "))
    unused = [line for line in lines if line.startswith("    (void)")]
    return [*lines[:at], *unused, *(line for line in lines[at:] if line not in unused)]


def _listed(what: str, arrays: Sequence[Array]) -> list[str]:
    shown = ", ".join(f"{a.name} {shape(a)}" if a.shape else a.name for a in arrays)
    return [f"{what}: {shown}."] if arrays else []


def _fields(arrays: Sequence[Array]) -> str:
    return ", ".join(f"{a.name} {shape(a)}" if a.shape else a.name for a in arrays)


def _wrapped(paragraphs: Iterable[str]) -> list[str]:
    return [each if "\n" in each else filled(each, 0, WIDTH - 3) for each in paragraphs]


def _comment(text: str) -> list[str]:
    """Return a comment that keeps its lines, wrapped if they are too long."""
    lines = [
        part
        for line in text.replace("*/", "* /").replace("/*", "/ *").split("\n")
        for part in (filled(line, 0, WIDTH - 3).split("\n") if len(line) > WIDTH - 3 else [line])
    ]
    if len(lines) == 1:
        return [f"/* {lines[0]} */"]
    return [
        "/* " + lines[0],
        *(f"   {line}".rstrip() for line in lines[1:-1]),
        f"   {lines[-1]} */",
    ]


def print_c(program: Program, example: Example | None = None) -> str:
    """Return the program as the text of a C99 file.

    Args:
        program: The program with a state, parameters, a right-hand side and observables.
        example: Numbers for a ``main`` that is compiled with ``-DEXAMPLE``.

    Raises:
        PrinterError: The program has a function that only compiled modules evaluate.
    """
    return CModule(program).module(example)
