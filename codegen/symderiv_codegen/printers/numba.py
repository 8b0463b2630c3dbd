"""Programs as numba modules, with all passes that make procedures on named arrays fast."""

from __future__ import annotations

import ast
import math
import sys
from collections.abc import Iterable, Sequence

import sympy as sp

from symderiv_codegen.errors import PrinterError, ProgramError
from symderiv_codegen.ir.arrays import Array
from symderiv_codegen.ir.extension import Library
from symderiv_codegen.ir.functions import Function, ScalarFunction
from symderiv_codegen.ir.names import NamePool
from symderiv_codegen.ir.procedures import Procedure
from symderiv_codegen.ir.program import Constant, Program
from symderiv_codegen.ir.tables import TableSum
from symderiv_codegen.ir.templates import TemplateFunction
from symderiv_codegen.passes.assigned_once import check_globals, check_names, check_text
from symderiv_codegen.passes.blocks import sums_long_range
from symderiv_codegen.passes.table_loops import table_nests
from symderiv_codegen.passes.table_nodes import table_nodes
from symderiv_codegen.passes.together import evaluated_together
from symderiv_codegen.printers.docstrings import docstring, documentation
from symderiv_codegen.printers.expressions import (
    ATOM,
    PRODUCT,
    ExpressionPrinter,
    PrintedExpression,
)
from symderiv_codegen.printers.flat import flat_functions, layout_constant
from symderiv_codegen.printers.header import header
from symderiv_codegen.printers.helpers import NUMBA
from symderiv_codegen.printers.lines import INDENT, Chain, Text
from symderiv_codegen.printers.module import ModulePrinter
from symderiv_codegen.printers.pasting import filled_template, pasted

DECORATOR = "@_compiled"
AS_VALUE = "@_compiled_value"
IN_ANY_ORDER = "@_compiled_sums"
OF_MANY = "@_compiled_many"
# All flags are given: numba would take missing floating-point flags from whichever function calls
# first, so that results would depend on compilation order. Only functions passed as values have a
# second entry.
DECORATORS = {
    DECORATOR: 'error_model="numpy", fastmath=False, no_cfunc_wrapper=True',
    AS_VALUE: 'error_model="numpy", fastmath=False',
    IN_ANY_ORDER: 'error_model="numpy", fastmath={"reassoc"}, no_cfunc_wrapper=True',
    OF_MANY: 'error_model="numpy", fastmath={"contract"}, no_cfunc_wrapper=True',
}


class NumbaExpressions(ExpressionPrinter):
    """A printer of expressions over float64 with the functions of ``math``."""

    name = "numba"
    namespace = "math"

    def number(self, value: sp.Rational) -> PrintedExpression:
        """Return floating-point text; fractions that are not short in binary stay quotients.

        Raises:
            PrinterError: No double is near the number.
        """
        if _is_long(value):
            return PrintedExpression(Text(repr(_double(value))), ATOM)
        if value.q == 1:
            return PrintedExpression(
                Text(f"{value.p}.0" if value.p < 10**15 else f"{float(value.p)!r}"), ATOM
            )
        if _is_short_binary(value):
            return PrintedExpression(Text(repr(float(value))), ATOM)
        return PrintedExpression(
            Chain((("", Text(f"{value.p}.0")), (" / ", Text(f"{value.q}.0")))), PRODUCT
        )

    def splits_fractions(self, value: sp.Rational) -> bool:
        """Return True for fractions that doubles cannot represent exactly."""
        return bool(value.q != 1 and not _is_short_binary(value) and not _is_long(value))

    def element(self, name: str, indices: tuple[str, ...]) -> str:
        """Return an element such as ``Q[i, j]``."""
        return f"{name}[{', '.join(indices)}]"


def _is_short_binary(value: sp.Rational) -> bool:
    return value.q in (2, 4, 8, 16) and value.p < 1000


def _is_long(value: sp.Rational) -> bool:
    """Return whether numerator or denominator are beyond, or near, the limits of doubles."""
    return bool(max(abs(value.p), value.q).bit_length() > 1000)


def _double(value: sp.Rational) -> float:
    """Return the nearest double, correctly rounded."""
    try:
        found: float = value.p / value.q  # a quotient of integers is rounded once
    except OverflowError:
        found = math.inf
    if not sys.float_info.min <= abs(found) < math.inf:
        raise PrinterError(f"{sp.N(value, 3)} is outside the range of double precision")
    return found


class NumbaModule(ModulePrinter):
    """A module of compiled functions; see the package docstring for how to use it."""

    name = "numba"
    rounds = True
    # Whether the first two rows of sums over tables form one list of pairs.
    pairs_rows = False

    @property
    def library(self) -> Library:
        return self.source.extension.doubles

    def expressions(self, guarded: bool) -> ExpressionPrinter:
        return NumbaExpressions(self._defined, guarded, self.library.functions)

    def decorator(self, function: Function | None = None) -> str:
        as_value = isinstance(function, ScalarFunction) and function.as_value
        return AS_VALUE if as_value else DECORATOR

    def procedure_decorator(self, procedure: Procedure) -> str:
        """Return the decorator of a procedure; long sums may be reordered."""
        if self.program.small and sums_long_range(procedure, self.program.small):
            return IN_ANY_ORDER
        return DECORATOR

    def allocation(self, array: Array) -> str:
        shape = ", ".join(array.shape)
        return f"np.empty(({shape}))" if len(array.shape) > 1 else f"np.empty({shape})"

    def allocations(self, arrays: Sequence[Array], names: NamePool) -> list[str]:
        """Return joint allocations of arrays of one shape, as an allocation costs as much as a
        small loop nest.
        """
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

    def table_sum(self, function: TableSum) -> str:
        """Return a function with loops over the rows of the tables."""
        names = self._register(function.names)
        nests = table_nests(function, names, self.pairs_rows)
        self.operations[function.name] = sum(nest.operations for nest in nests)
        printer = self.expressions(function.guarded)
        code = table_nodes(nests, names)
        nodes, arrays = code.nodes, list(code.arrays)
        if not function.guarded:
            nodes, values = evaluated_together(nodes, names, self.library.together)
            arrays += values
        arguments = [str(argument) for argument in function.arguments]
        frame = self._frame(function, arguments, names, code.total, arrays)
        check_names(nodes, frame, "table sum")
        # the sum over a list is long and innermost
        listed = any(nest.pairs for nest in nests)
        lines = [self._head(function.name, arguments, IN_ANY_ORDER if listed else self.decorator())]
        lines += docstring([function.doc])
        lines += [" " * INDENT + f"{array.name} = {self.allocation(array)}" for array in arrays]
        lines += self._body(nodes, INDENT, printer)
        lines.append(" " * INDENT + f"return {code.total}")
        self._collect(printer)
        return "\n".join(lines)

    def template(self, function: TemplateFunction) -> str:
        """Return a template with its names filled in; other functions that it uses are pasted."""
        return self._filled(function, function.doc, f"function {function.name!r}")

    def template_procedure(self, procedure: Procedure) -> str:
        """Return the template of a procedure with its names filled in.

        Raises:
            ProgramError: The template has other arguments.
        """
        where = f"procedure {procedure.name!r}"
        doc = "\n".join(docstring(documentation(procedure))).strip().strip('"')
        text = self._filled(procedure, doc, where)
        (function,) = ast.parse(text).body
        assert isinstance(function, ast.FunctionDef)
        declared = [array.name for array in (*procedure.inputs, *procedure.array_outputs)]
        if [each.arg for each in function.args.args] != declared:
            raise ProgramError(f"{where}: its template has other arguments")
        return text

    @property
    def template_texts(self) -> tuple[str, ...]:
        """The texts that contain the templates."""
        return self.library.texts

    def _filled(self, owner: TemplateFunction | Procedure, doc: str, where: str) -> str:
        text, used = filled_template(
            self.template_texts, owner.template, owner.name, dict(owner.names), doc, DECORATOR
        )
        check_text(text, self.program.module_names, where)
        self.texts |= used
        return text

    def module(self) -> str:
        """Return the text of the whole module."""
        functions = [self.function(function) for function in self.program.functions]
        procedures = [self.procedure(procedure) for procedure in self.program.procedures]
        flat = self.flat_functions()
        parts = self.ordered(self.pasted(), [*functions, *procedures, *flat])
        imports = "import math\n\nimport numpy as np\nfrom numba import njit\n"
        constants = [constant(name, value) for name, value in self.program.constants.items()]
        if flat:
            constants.append(layout_constant(self.program.ranges, self.program.vectors))
        constants.append(_recipe(self.program))
        code = assembled(imports, constants, parts, f"module {self.program.name!r}")
        stands = "The module stands alone; it needs math, numpy and numba and nothing else."
        return f"{header(self.source, code, self.operations, stands)}\n\n{code}"

    def ordered(self, pasted: list[str], own: list[str]) -> list[str]:
        """Return the parts of the module in their order."""
        return [*pasted, *own]

    def pasted(self, plain: bool = False) -> list[str]:
        """Return the helpers and extension functions used so far."""
        used = (name for name in NUMBA if name in self.helpers)
        helpers = [f"{DECORATOR}\n{NUMBA[name].strip()}" for name in used]
        instead = self.library.plain if plain else ""
        return [
            *helpers,
            *pasted(self.texts, self.library, DECORATOR, self.program.constants, OF_MANY, instead),
        ]

    def flat_functions(self) -> list[str]:
        """Return the right-hand side and the observables on flat vectors."""
        return flat_functions(self.program, self)


def assembled(
    imports: str, constants: Iterable[str], parts: Sequence[str], where: str, kept: bool = True
) -> str:
    """Return the code of a module: imports, constants, the decorators in use, and its parts.

    ``kept``: whether numba caches compiled code of the parts on disk.
    """
    body = "\n\n\n".join(parts)
    code = "\n".join([imports, "\n".join(constants), "", *_decorators(body, kept), body, ""])
    check_globals(code, where)
    return code


def constant(name: str, value: Constant) -> str:
    """Return the definition of a constant of the module."""
    return f"{name} = {_literal(value)}"


def _recipe(program: Program) -> str:
    lines = [f"    {_literal(k)}: {_literal(v)}," for k, v in program.recipe.items()]
    return "\n".join(["RECIPE = {", *lines, "}"])


def _decorators(body: str, kept: bool) -> list[str]:
    """Return the decorators in use, followed by an empty line."""
    used = {name: options for name, options in DECORATORS.items() if f"{name}\n" in body}
    cache = "cache=True, " if kept else ""
    return [*(f"{name[1:]} = njit({cache}{rest})" for name, rest in used.items()), "\n"]


def _literal(value: Constant) -> str:
    if isinstance(value, tuple):
        rows = "".join(f"    {number!r},\n" for number in value)
        return f"np.array([\n{rows}])"
    if isinstance(value, int | float):
        return repr(value)
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def print_numba(program: Program) -> str:
    """Return the program as the text of a numba module.

    Raises:
        PrinterError: An expression contains a node without a rule.
    """
    return NumbaModule(program).module()
