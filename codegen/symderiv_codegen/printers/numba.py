"""Programs as numba modules."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence

import sympy as sp

from symderiv_codegen import many
from symderiv_codegen.assigned_once import check_names, check_text
from symderiv_codegen.blocks import sums_long_range
from symderiv_codegen.errors import PrinterError
from symderiv_codegen.inline import with_inner_locals
from symderiv_codegen.layout import INDENT, Bracket, Chain, Text, statement
from symderiv_codegen.loops import Block, Fill, Groups, Invoke
from symderiv_codegen.lower import inlined_nests, loop_nests
from symderiv_codegen.names import NamePool
from symderiv_codegen.printers.expressions import ATOM, PRODUCT, ExpressionPrinter, Printed
from symderiv_codegen.printers.header import header
from symderiv_codegen.printers.module import ModulePrinter, docstring
from symderiv_codegen.printers.specialised import APART, IMPORTS, STACK, VIEW, specialised
from symderiv_codegen.printers.vectors import INVERSE_ROOTS
from symderiv_codegen.program import (
    Array,
    Constant,
    Function,
    Procedure,
    Program,
    ScalarFunction,
)
from symderiv_codegen.runtime.helpers import NUMBA
from symderiv_codegen.runtime.snippets import filled_template, pasted
from symderiv_codegen.table_loops import table_nests
from symderiv_codegen.table_nodes import table_nodes
from symderiv_codegen.tables import TableSum
from symderiv_codegen.templates import TemplateFunction
from symderiv_codegen.together import evaluated_together

DECORATOR = "@_compiled"
AS_VALUE = "@_compiled_value"
IN_ANY_ORDER = "@_compiled_sums"
OF_MANY = "@_compiled_many"
# All are given: numba takes the floating-point rules that are not from whichever function calls
# first, so that results would depend on what was compiled before. Only values have a second entry.
DECORATORS = {
    DECORATOR: 'error_model="numpy", fastmath=False, no_cfunc_wrapper=True',
    AS_VALUE: 'error_model="numpy", fastmath=False',
    IN_ANY_ORDER: 'error_model="numpy", fastmath={"reassoc"}, no_cfunc_wrapper=True',
    OF_MANY: 'error_model="numpy", fastmath={"contract"}, no_cfunc_wrapper=True',
}
RIGHT_HAND_SIDE_TYPE = "void(float64, float64[::1], int64[::1], float64[::1], float64[::1])"
# Sums may be made in any order, which is what vector instructions need; nothing else is given up,
# and scalar functions, with their own decorators, keep their order.
SPECIALISED = (
    f'@njit(\n    "{RIGHT_HAND_SIDE_TYPE}",\n    cache=True,\n    error_model="numpy",\n'
    '    fastmath={"reassoc", "contract"},\n)'
)

View = Callable[[str, Array, str], str]
"""The text of a view of a vector from ``start`` on, for an array of so many elements."""


class NumbaExpressions(ExpressionPrinter):
    """Expressions over float64 with the functions of ``math``."""

    name = "numba"
    namespace = "math"

    def number(self, value: sp.Rational) -> Printed:
        """Floating-point text; a fraction that is no short binary one stays a quotient.

        Raises:
            PrinterError: No double is near the number.
        """
        if _is_long(value):
            return Printed(Text(repr(_double(value))), ATOM)
        if value.q == 1:
            return Printed(
                Text(f"{value.p}.0" if value.p < 10**15 else f"{float(value.p)!r}"), ATOM
            )
        if _is_short_binary(value):
            return Printed(Text(repr(float(value))), ATOM)
        return Printed(Chain((("", Text(f"{value.p}.0")), (" / ", Text(f"{value.q}.0")))), PRODUCT)

    def splits_fractions(self, value: sp.Rational) -> bool:
        """Only fractions that binary numbers cannot hold."""
        return bool(value.q != 1 and not _is_short_binary(value) and not _is_long(value))

    def element(self, name: str, indices: tuple[str, ...]) -> str:
        """``Q[i, j]``."""
        return f"{name}[{', '.join(indices)}]"


def _is_short_binary(value: sp.Rational) -> bool:
    return value.q in (2, 4, 8, 16) and value.p < 1000


def _is_long(value: sp.Rational) -> bool:
    """Whether numerator or denominator are beyond the doubles, or near."""
    return bool(max(abs(value.p), value.q).bit_length() > 1000)


def _double(value: sp.Rational) -> float:
    """The nearest double, with all of its bits."""
    try:
        found: float = value.p / value.q  # of integers: rounded once
    except OverflowError:
        found = math.inf
    if not sys.float_info.min <= abs(found) < math.inf:
        raise PrinterError(f"{sp.N(value, 3)} is outside the range of double precision")
    return found


class NumbaModule(ModulePrinter):
    """A module of compiled functions; see the package docstring for how to use it."""

    name = "numba"
    rounds = True

    def expressions(self, guarded: bool) -> ExpressionPrinter:
        return NumbaExpressions(self._defined, guarded)

    def decorator(self, function: Function | None = None) -> str:
        as_value = isinstance(function, ScalarFunction) and function.as_value
        return AS_VALUE if as_value else DECORATOR

    def procedure_decorator(self, procedure: Procedure) -> str:
        """Long sums may be made in any order."""
        if self.program.small and sums_long_range(procedure, self.program.small):
            return IN_ANY_ORDER
        return DECORATOR

    def allocation(self, array: Array) -> str:
        shape = ", ".join(array.shape)
        return f"np.empty(({shape}))" if len(array.shape) > 1 else f"np.empty({shape})"

    def allocations(self, arrays: Sequence[Array], names: NamePool) -> list[str]:
        """Arrays of one shape share one allocation, which costs as much as a small loop nest."""
        shapes = dict.fromkeys(array.shape for array in arrays)
        lines = []
        for shape in shapes:
            group = [array for array in arrays if array.shape == shape]
            if len(group) == 1:
                lines.append(f"{group[0].name} = {self.allocation(group[0])}")
                continue
            block = names.take("_".join(["block", *shape]))
            lines.append(f"{block} = np.empty(({len(group)}, {', '.join(shape)}))")
            lines += [f"{array.name} = {block}[{n}]" for n, array in enumerate(group)]
        return lines

    def size(self, array: Array, axis: int) -> str:
        return f"{array.name}.shape[{axis}]"

    def zero(self) -> str:
        return "0.0"

    def filled_with_zero(self, node: Fill, indent: int) -> list[str]:
        array = node.array
        # an assignment of slices does the same, but takes numba a second longer to compile
        lines = []
        names = [str(index) for index in node.indices]
        for depth, (name, size) in enumerate(zip(names, array.shape, strict=True)):
            lines.append(" " * (indent + INDENT * depth) + f"for {name} in range({size}):")
        target = f"{array.name}[{', '.join(names)}]" if names else array.name
        return [*lines, " " * (indent + INDENT * len(names)) + f"{target} = 0.0"]

    def table_sum(self, function: TableSum) -> str:
        """Loops over the rows of the tables."""
        names = self._register(function.names)
        nests = table_nests(function, names)
        self.operations[function.name] = sum(nest.operations for nest in nests)
        printer = self.expressions(function.guarded)
        code = table_nodes(nests, names)
        nodes, arrays = code.nodes, list(code.arrays)
        if not function.guarded:
            nodes, values = evaluated_together(nodes, names)
            arrays += values
        arguments = [str(argument) for argument in function.arguments]
        frame = self._frame(function, arguments, names, code.total, arrays)
        check_names(nodes, frame, "table sum")
        lines = [self._head(function.name, arguments, self.decorator())]
        lines += docstring([function.doc])
        lines += [" " * INDENT + f"{array.name} = {self.allocation(array)}" for array in arrays]
        lines += self._body(nodes, INDENT, printer)
        lines.append(" " * INDENT + f"return {code.total}")
        self._collect(printer)
        return "\n".join(lines)

    def template(self, function: TemplateFunction) -> str:
        """The text with its names put in; what else it uses is pasted in front."""
        text, used = filled_template(
            function.template, function.name, dict(function.names), function.doc, DECORATOR
        )
        check_text(text, self.program.module_names, f"function {function.name!r}")
        self.runtime |= used
        return text

    def module(self) -> str:
        """The text of the whole module."""
        functions = [self.function(function) for function in self.program.functions]
        procedures = [self.procedure(procedure) for procedure in self.program.procedures]
        flat = self.flat_functions()
        views = [VIEW.strip()] if any(" = _view(" in f or " = _room(" in f for f in flat) else []
        helpers = [f"{DECORATOR}\n{NUMBA[name].strip()}" for name in NUMBA if name in self.helpers]
        snippets = pasted(self.runtime, DECORATOR, self.program.constants, OF_MANY)
        stack = [STACK.strip()] if self.program.small else []
        if many.INVERSE_ROOTS.function in self.runtime:
            stack.append(INVERSE_ROOTS.format(decorator=OF_MANY).strip())
        body = "\n\n\n".join([*helpers, *snippets, *functions, *procedures, *views, *stack, *flat])
        imports = "import math\n\nimport numpy as np\nfrom numba import njit\n"
        if views or self.program.small:
            imports += IMPORTS
        code = "\n".join([imports, _constants(self.program), *_decorators(body), body, ""])
        top = header(self.program, code, self.operations, "math, numpy and numba")
        return f"{top}\n\n{code}"

    def block(self, node: Block, indent: int) -> list[str]:
        """Indices without sign: numba then leaves out what makes negative ones count from the end,
        which the compiler could not turn into vector instructions.
        """
        pad, inner = " " * indent, " " * (indent + INDENT)
        stop, length = f"np.uint64({node.stop})", f"np.uint64({node.length})"
        return [
            f"{pad}for {node.first} in range(np.uint64(0), {stop}, {length}):",
            f"{inner}{node.last} = min({node.first} + {length}, {stop})",
        ]

    def groups(self, node: Groups, indent: int) -> list[str]:
        """A loop over groups of as many rows as ``specialised`` has chosen."""
        pad, inner = " " * indent, " " * (indent + INDENT)
        rows, size = f"rows_{node.size}", node.size
        return [
            f"{pad}for {node.group} in range(groups_{size}):",
            f"{inner}{node.begin} = min({node.group} * {rows}, {size} - {rows})",
        ]

    def flat_functions(self) -> list[str]:
        """The right-hand side and the observables on flat vectors."""
        program = self.program
        if program.state is None or program.parameters is None:
            return []
        texts = []
        procedure = program.procedure(program.right_hand_side)
        if procedure is not None and program.small:
            texts.append(self._specialised(procedure))
        elif procedure is not None:
            texts.append(_flat_right_hand_side(program, procedure))
        procedure = program.procedure(program.observables)
        if procedure is not None:
            texts.append(_flat_observables(program, procedure, self))
        return texts

    def _specialised(self, procedure: Procedure) -> str:
        widened = with_inner_locals(procedure, self.program)
        body = inlined_nests(widened, self.program)
        views = _field_views(self.program, procedure)
        views.append(" " * INDENT + APART)
        views += _views("derivative", procedure.outputs)
        return specialised(
            self.program,
            procedure,
            self,
            body,
            [line[INDENT:] for line in views],
            SPECIALISED,
            _packing(self.program),
        )


def _constants(program: Program) -> str:
    lines = [f"{name} = {_literal(value)}" for name, value in program.constants.items()]
    if program.small:
        lines.append("_SPECIALISED = {}")
    lines.append("RECIPE = {")
    lines += [f"    {_literal(k)}: {_literal(v)}," for k, v in program.recipe.items()]
    lines.append("}")
    return "\n".join(lines) + "\n"


def _decorators(body: str) -> list[str]:
    """The decorators that are used, and an empty line."""
    used = {name: options for name, options in DECORATORS.items() if f"{name}\n" in body}
    return [*(f"{name[1:]} = njit(cache=True, {rest})" for name, rest in used.items()), "\n"]


def _literal(value: Constant) -> str:
    if isinstance(value, tuple):
        rows = "".join(f"    {number!r},\n" for number in value)
        return f"np.array([\n{rows}])"
    if isinstance(value, int | float):
        return repr(value)
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def print_numba(program: Program) -> str:
    """The program as the text of a numba module.

    Raises:
        PrinterError: An expression contains a node without a rule.
    """
    return NumbaModule(program).module()


# Flat functions: the same procedures on one vector of unknowns and one of parameters.


def _explicit(signature: str) -> str:
    single = f'@njit("{signature}", cache=True, error_model="numpy")'
    if len(single) <= 100:
        return single
    return f'@njit(\n    "{signature}",\n    cache=True,\n    error_model="numpy",\n)'


def _flat_right_hand_side(program: Program, procedure: Procedure) -> str:
    assert program.state is not None
    assert program.parameters is not None
    names = [program.state.name, "sizes", program.parameters.name, "derivative"]
    lines = [
        _explicit(RIGHT_HAND_SIDE_TYPE),
        f"def flat_{procedure.name}(alpha, {', '.join(names)}):",
    ]
    lines += docstring(
        [
            f"{procedure.name} on flat vectors, with the signature that time steppers expect.",
            *_packing(program),
            "derivative is packed like the first vector. alpha is the time.",
        ]
    )
    lines += _unpacking(program, procedure)
    lines += _views("derivative", procedure.outputs)
    arguments = [array.name for array in (*procedure.inputs, *procedure.outputs)]
    call = Bracket(f"{procedure.name}(", tuple(Text(a) for a in arguments))
    lines.append(statement("", call, INDENT))
    return "\n".join(lines)


def _flat_observables(program: Program, procedure: Procedure, printer: NumbaModule) -> str:
    """Plain Python: it only hands views to compiled functions, which are compiled in any case."""
    assert program.state is not None
    assert program.parameters is not None
    outputs = procedure.array_outputs
    names = [program.state.name, "sizes", program.parameters.name, *(a.name for a in outputs)]
    lines = [f"def flat_{procedure.name}({', '.join(names)}):"]
    lines += docstring(
        [f"{procedure.name} on flat vectors, to be called from Python.", *_packing(program)]
    )
    lines.append(" " * INDENT + f"[{', '.join(program.ranges)}] = (int(size) for size in sizes)")
    lines += _field_views(program, procedure, _reshaped)
    nodes = loop_nests(procedure, program).nodes
    if procedure.locals or not all(isinstance(node, Invoke) for node in nodes):
        result = procedure.result.name if procedure.result else None
        arguments = tuple(array.name for array in (*procedure.inputs, *outputs))
        nodes = (Invoke(procedure.name, arguments, (), result),)
    lines += printer.body(nodes, INDENT)
    if procedure.result:
        lines.append(" " * INDENT + f"return {procedure.result.name}")
    return "\n".join(lines)


def _packing(program: Program) -> list[str]:
    """Paragraphs that say how the vectors are packed."""
    assert program.state is not None
    assert program.parameters is not None
    described = [f"sizes = [{', '.join(program.ranges)}]"]
    for vector in (program.state, program.parameters):
        fields = [
            f"{array.name} ({', '.join(array.shape)})" if array.shape else array.name
            for array in vector.fields
        ]
        described.append(f"{vector.name} = {', '.join(fields)}")
    return described


def _unpacking(program: Program, procedure: Procedure) -> list[str]:
    """Sizes and views of the fields that the procedure needs."""
    assert program.state is not None
    assert program.parameters is not None
    lines = [
        " " * INDENT + f"{size} = sizes[{position}]" for position, size in enumerate(program.ranges)
    ]
    return lines + _field_views(program, procedure)


def _field_views(program: Program, procedure: Procedure, view: View | None = None) -> list[str]:
    """Views of the fields that the procedure needs."""
    assert program.state is not None
    assert program.parameters is not None
    lines: list[str] = []
    needed = {array.name for array in procedure.inputs}
    for vector in (program.state, program.parameters):
        lines += _views(vector.name, vector.fields, needed, view or _view)
    return lines


def _views(
    vector: str, fields: Sequence[Array], needed: set[str] | None = None, view: View | None = None
) -> list[str]:
    """One view per field, at running offsets; fields nobody needs are stepped over."""
    lines: list[str] = ["start = 0"]
    scalars = 0
    for array in fields:
        wanted = needed is None or array.name in needed
        if not array.shape:
            if wanted:
                lines += _step(scalars)
                scalars = 0
                lines.append(f"{array.name} = {vector}[start]")
            scalars += 1
            continue
        lines += _step(scalars)
        scalars = 0
        extent = " * ".join(array.shape)
        if wanted:
            lines.append(f"{array.name} = " + (view or _view)(vector, array, extent))
        lines.append(f"start += {extent}")
    lines += _step(scalars)
    # Views do not know where the vector ends.
    lines.append(f"if start != {vector}.size:")
    lines.append(f'    raise ValueError("{vector}: its length does not agree with sizes")')
    return [" " * INDENT + line for line in lines]


def _step(scalars: int) -> list[str]:
    """Over scalar fields, in one step."""
    return [f"start += {scalars}"] if scalars else []


def _view(vector: str, array: Array, extent: str) -> str:
    if len(array.shape) == 1:
        return f"{vector}[start : start + {extent}]"
    return f"_view({vector}, start, ({', '.join(array.shape)}))"


def _reshaped(vector: str, array: Array, extent: str) -> str:
    part = f"{vector}[start : start + {extent}]"
    return part if len(array.shape) == 1 else f"{part}.reshape({', '.join(array.shape)})"
