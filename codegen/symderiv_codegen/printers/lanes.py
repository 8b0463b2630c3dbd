"""Programs as numba modules for eight runs at a time: one lane of vector registers for each.

The text is that of the fast form; its numbers are lane values of ``runtime.py`` beside the module
(``symderiv_kernels/lanes/runtime.py``). In the vectors of ``specialised(K, M)``, number i of run l
is at ``8 * i + l``. In addition to the right-hand side there is ``specialised_observables(K, M)``
for the scalar that the program's observables return.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import sympy as sp

from symderiv_codegen.errors import ProgramError
from symderiv_codegen.ir.arrays import Array
from symderiv_codegen.ir.functions import Function
from symderiv_codegen.ir.loops import Conditional, Evaluate, Node
from symderiv_codegen.ir.many import ARCSINES, INVERSE_ROOTS
from symderiv_codegen.ir.procedures import Procedure
from symderiv_codegen.ir.program import Program
from symderiv_codegen.ir.templates import TemplateFunction
from symderiv_codegen.passes.inline import with_inner_locals
from symderiv_codegen.passes.lower import Body, inlined_nests
from symderiv_codegen.passes.masks import differs, masked
from symderiv_codegen.printers.docstrings import docstring
from symderiv_codegen.printers.expressions import (
    ATOM,
    PRODUCT,
    SUM,
    ExpressionPrinter,
    PrintedExpression,
)
from symderiv_codegen.printers.fast import LARGEST_ROOM, Access, FastModule, Form, mentioned
from symderiv_codegen.printers.header import GENERATED, digests
from symderiv_codegen.printers.helpers import NUMBA
from symderiv_codegen.printers.lines import Bracket, Chain, Piece, parenthesised
from symderiv_codegen.printers.masked_text import defined, for_lanes
from symderiv_codegen.printers.numba import (
    DECORATOR,
    OF_MANY,
    NumbaExpressions,
    assembled,
    constant,
)
from symderiv_codegen.printers.pasting import pasted

WIDTH = 8
MANY = {ARCSINES.function: "to_arcsines", INVERSE_ROOTS.function: INVERSE_ROOTS.function}
"""Functions of many lane values, by the names of those of many numbers."""

_OPTIONS = """    cache=True,
    error_model="numpy",
    fastmath={"reassoc", "contract"},
)
"""
RIGHT_HAND_SIDE_TYPE = "void(float64[::1], float64[::1], int64[::1], float64[::1], float64[::1])"
OBSERVABLES_TYPE = "void(float64[::1], int64[::1], float64[::1], float64[::1])"


class _LaneAccess(Access):
    """Access to vectors of lane values."""

    def array(self, vector: str, shape: Sequence[str]) -> str:
        single = "," if len(shape) == 1 else ""
        return f"view({vector}, start, ({', '.join(shape)}{single}))"

    def number(self, vector: str) -> str:
        return f"lanes_at({vector}, start)"

    def end(self) -> str:
        return f"{WIDTH} * start"


@dataclass(frozen=True)
class _LaneForm(Form):
    """The form of the right-hand side on lanes."""

    access: ClassVar[Access] = _LaneAccess()
    signature: ClassVar[str] = f'njit(\n    "{RIGHT_HAND_SIDE_TYPE}",\n{_OPTIONS}'
    largest_room: ClassVar[int] = LARGEST_ROOM // WIDTH
    most_indices: ClassVar[float] = math.inf

    def documentation(self) -> list[str]:
        first, *packing, last = super().documentation()
        each = f"Every number stands for {WIDTH} runs, whose numbers are neighbours."
        return [first, *packing, each, last]


class _ObservablesForm(_LaneForm):
    """The form of the observables: the scalar that they return, for each run."""

    maker = "specialised_observables"
    kept = "_OBSERVABLES"
    signature = f'njit(\n    "{OBSERVABLES_TYPE}",\n{_OPTIONS}'

    @property
    def arguments(self) -> str:
        return f"{self.state.name}, sizes, {self.parameters.name}, found"

    @property
    def returned(self) -> tuple[str, ...]:  # type: ignore[override]
        result = self.procedure.result
        assert result is not None
        return (f"put_lanes(found, 0, {result.name})",)

    def documentation(self) -> list[str]:
        result = self.procedure.result
        assert result is not None
        return [f"{self.name} for one set of sizes: {result.doc}, for each run, in ``found``."]

    def fields(self) -> list[str]:
        lines = super().fields()
        return lines[: lines.index("derivative_apart()")]


class LaneExpressions(NumbaExpressions):
    """A printer of expressions over lane values; conditions on numbers choose lane by lane."""

    name = "lanes"

    def _cases(self, node: sp.Piecewise) -> PrintedExpression:
        *cases, (last, otherwise) = node.args
        if not any(differs(when) for _, when in cases):
            return super()._cases(node)
        if otherwise != sp.true:
            raise ProgramError(f"the {self.name} printer: {str(node)[:80]} has no last case (True)")
        found = self.expression(last)
        for value, when in reversed(cases):
            pieces = (self.condition(when), self.expression(value), found)
            found = Bracket("chosen(", pieces)
        return PrintedExpression(found, ATOM)

    def _divided(self, numerator: PrintedExpression, below: list[sp.Expr]) -> PrintedExpression:
        """Return a quotient; a division by an unguarded root becomes a product with its inverse."""
        roots = [each for each in below if isinstance(each, sp.Pow) and each.exp == sp.S.Half]
        if self._guarded or len(roots) != 1 or roots[0].is_number:
            return super()._divided(numerator, below)
        rest = [each for each in below if each is not roots[0]]
        found = super()._divided(numerator, rest)
        inverse = Bracket("inverse_root(", (self.expression(roots[0].base),))
        if found.piece.flat() == "1.0":
            return PrintedExpression(inverse, ATOM)
        piece = found.piece if found.binding >= PRODUCT else parenthesised(found.piece)
        return PrintedExpression(Chain((("", piece), (" * ", inverse))), PRODUCT)

    def _condition(self, node: sp.Basic) -> PrintedExpression:
        kind = type(node).__name__
        if kind in ("And", "Or") and differs(node):
            sign = " & " if kind == "And" else " | "
            links: list[tuple[str, Piece]] = []
            for argument in sorted(node.args, key=sp.default_sort_key):
                piece = parenthesised(self._condition(argument).piece)
                links.append((sign if links else "", piece))
            return PrintedExpression(Chain(tuple(links)), SUM)
        if kind == "Not" and differs(node):
            raise ProgramError(f"the {self.name} printer: {str(node)[:80]}")
        return super()._condition(node)


class LaneModule(FastModule):
    """A module with the flat right-hand side and the observables for eight runs at a time."""

    name = "lanes"
    pairs_rows = False  # runs fill vectors, and may differ in which numbers are equal
    from_runtime: ClassVar[tuple[str, ...]] = (
        "DIGEST",
        "any_lane",
        "chosen",
        "derivative_apart",
        "inverse_root",
        "lane_of",
        "lanes_at",
        "negated",
        "put_lanes",
        "stack_array",
        *MANY.values(),
        "unit_scale",
        "view",
        "with_lane",
    )

    def __init__(self, program: Program) -> None:
        super().__init__(program)
        # Names of constants that are numbers of elements, by these numbers as text.
        self._rooms: dict[str, str] = {}

    def expressions(self, guarded: bool) -> ExpressionPrinter:
        return LaneExpressions(self._defined, guarded, self.library.functions)

    def nests_of(self, form: Form) -> Body:
        procedure = with_inner_locals(form.procedure, self.program)
        return inlined_nests(procedure, self.program, {"masks": masked})

    def function(self, function: Function) -> str:
        """Return a scalar function.

        Raises:
            ProgramError: It is given as a template.
        """
        if isinstance(function, TemplateFunction):
            raise self._no_form(function.name)
        return super().function(function)

    def allocation(self, array: Array) -> str:
        """Return the allocation of an array on the stack; its size is a constant of the module."""
        (size,) = array.shape
        room = self._rooms.setdefault(size, f"_ROOM_{len(self._rooms) + 1}")
        return f"stack_array({room}, ({room},))"

    def pasted(self, plain: bool = False) -> list[str]:
        """Return the helpers and functions used so far, with branches replaced by choices."""
        helpers = [f"{DECORATOR}\n{NUMBA[name].strip()}" for name in NUMBA if name in self.helpers]
        texts = self.texts - set(self.from_runtime)
        library, given = self.library, self.program.constants
        found = pasted(texts, library, DECORATOR, given, OF_MANY, library.lanes)
        return for_lanes(
            [*helpers, *found],
            {*self.helpers, *texts},
            defined(library.lanes),
            lambda names: pasted(names, library, DECORATOR, given, OF_MANY),
        )

    def procedure(self, procedure: Procedure) -> str:
        """Return a procedure.

        Raises:
            ProgramError: It is given as text, and not for several runs at a time.
        """
        if procedure.template and procedure.template not in defined(self.library.lanes):
            raise self._no_form(procedure.name)
        return super().procedure(procedure)

    @property
    def template_texts(self) -> tuple[str, ...]:
        """The text that contains the templates for several runs at a time."""
        return (self.library.lanes,)

    def module(self) -> str:
        """Return the text of the whole module.

        Raises:
            ProgramError: The program has no such form: some part of it does not consist of sums and
                expressions.
        """
        program = self.program
        form = self.form()
        plain = _LaneForm(program, form.procedure, form.state, form.parameters)
        flat = [self.specialised(plain)]
        if (seen := _scalar_of(program)) is not None:
            flat.append(
                self.specialised(_ObservablesForm(program, seen, form.state, form.parameters))
            )
        text = "\n\n\n".join(flat)
        parts = self.parts(text)
        whole = "\n".join([*parts, text])
        used = [name for name in self.from_runtime if mentioned(name, whole)]
        imports = "import math\n\nimport numpy as np\nfrom numba import njit\n\n"
        imports += f"from .runtime import (\n{''.join(f'    {name},{chr(10)}' for name in used)})\n"
        tables = {n: v for n, v in program.constants.items() if mentioned(n, whole)}
        constants = [constant(name, value) for name, value in tables.items()]
        constants += [f"{room} = {size}" for size, room in self._rooms.items()]
        constants += ["_SPECIALISED = {}", "_OBSERVABLES = {}"]
        where = f"lane module {program.name!r}"
        # code inlined here would not notice a change of the runtime if it were cached on its own
        code = assembled(imports, constants, [*parts, text], where, kept=False)
        paragraphs = [
            f"{program.title}: {WIDTH} runs at a time",
            f"{GENERATED} The equations stand in {program.name}.py, from the same program; here is "
            f"the right-hand side for {WIDTH} runs at a time, compiled for given numbers of units. "
            "The module needs math, numpy, numba and the runtime.py beside it.",
            digests(self.source, code),
        ]
        return "\n".join(docstring(paragraphs, indent=0)) + f"\n\n{code}"

    def _no_form(self, name: str) -> ProgramError:
        return ProgramError(
            f"program {self.program.name!r}: {name!r} has no form for several runs at a time"
        )

    def _node(self, node: Node, indent: int, printer: ExpressionPrinter) -> list[str]:
        if isinstance(node, Evaluate):
            if node.function not in MANY:
                return super()._node(node, indent, printer)
            arguments = ", ".join((*node.arrays, printer.index(node.count)))
            return [f"{' ' * indent}{MANY[node.function]}({arguments})"]
        return super()._node(node, indent, printer)

    def _branch(self, node: Conditional, indent: int, printer: ExpressionPrinter) -> list[str]:
        """Return a conditional; one on numbers runs if it holds in any run, see
        ``passes/masks.py``.
        """
        lines = super()._branch(node, indent, printer)
        when = node.cases[0][0]
        if differs(when):
            first = printer.condition(when).flat()
            assert lines[0].strip() == f"if {first}:"
            lines[0] = f"{' ' * indent}if any_lane({first}):"
        return lines


def _scalar_of(program: Program) -> Procedure | None:
    """Return the program's observables with their scalar as the only result."""
    procedure = program.procedure(program.observables)
    if procedure is None or procedure.result is None:
        return None
    return replace(
        procedure,
        outputs=(procedure.result,),
        locals=(*procedure.locals, *procedure.array_outputs),
    )


def print_lanes(program: Program) -> str:
    """Return the program for eight runs at a time as the text of a numba module, as above.

    Raises:
        PrinterError: An expression contains a node without a rule.
        ProgramError: The program has no such form.
    """
    return LaneModule(program).module()
