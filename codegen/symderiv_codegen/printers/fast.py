"""Programs as numba modules to be run: the flat right-hand side, for known sizes.

A function ``specialised(K, M)`` of the module makes it: loops over small ranges have fixed lengths,
so that the compiler unrolls them, and intermediate arrays lie on the stack. Everything is computed
in one function, because functions that are inlined late are compiled twice. The module needs
``runtime.py`` (``symderiv_kernels/fast/runtime.py``) beside it, with operations that numba does not
have.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

from symderiv_codegen.errors import ProgramError
from symderiv_codegen.ir.arrays import Array, Vector
from symderiv_codegen.ir.loops import Block, Groups, Node, inner, reads
from symderiv_codegen.ir.many import INVERSE_ROOTS
from symderiv_codegen.ir.procedures import Procedure
from symderiv_codegen.ir.program import Program
from symderiv_codegen.passes.blocks import MOST_PRODUCTS, MOST_UNITS
from symderiv_codegen.passes.inline import with_inner_locals
from symderiv_codegen.passes.lower import Body, inlined_nests
from symderiv_codegen.printers.docstrings import docstring
from symderiv_codegen.printers.header import GENERATED, digests
from symderiv_codegen.printers.lines import INDENT, Bracket, Chain, Text, statement
from symderiv_codegen.printers.numba import NumbaModule, assembled, constant

RIGHT_HAND_SIDE_TYPE = "void(float64, float64[::1], int64[::1], float64[::1], float64[::1])"
# Sums may be reordered, which vector instructions need; no other freedom is given, and scalar
# functions, with their own decorators, keep their order.
SIGNATURE = f'''
njit(
    "{RIGHT_HAND_SIDE_TYPE}",
    cache=True,
    error_model="numpy",
    fastmath={{"reassoc", "contract"}},
)
'''

# Two megabytes, a quarter of the usual stack.
LARGEST_ROOM = 262144

FROM_RUNTIME = ("DIGEST", "derivative_apart", INVERSE_ROOTS.function, "stack_array", "view")
"""The names that modules may import from ``runtime.py``."""


class FastModule(NumbaModule):
    """A module with the flat right-hand side for given sizes, and the functions that it calls."""

    name = "fast"
    pairs_rows = True
    from_runtime: ClassVar[tuple[str, ...]] = FROM_RUNTIME

    def form(self) -> Form:
        """Return the form of the flat right-hand side: its signature and vectors.

        Raises:
            ProgramError: The program has no right-hand side, no vectors or no small ranges.
        """
        program = self.program
        procedure = program.procedure(program.right_hand_side)
        if procedure is None or not (program.state and program.parameters and program.small):
            raise ProgramError(
                f"program {program.name!r}: only a right-hand side on vectors over small ranges "
                "has a fast form"
            )
        return Form(program, procedure, program.state, program.parameters)

    def module(self) -> str:
        """Return the text of the whole module.

        Raises:
            ProgramError: See :meth:`form`.
        """
        program = self.program
        form = self.form()
        flat = self.specialised(form, "\n".join(form.for_any_sizes()))
        parts = self.parts(flat)
        text = "\n".join([*parts, flat])
        tables = {n: v for n, v in program.constants.items() if mentioned(n, text)}
        used = [name for name in self.from_runtime if mentioned(name, flat)]
        imports = "import math\n\nimport numpy as np\nfrom numba import njit\n\n"
        imports += f"from .runtime import {', '.join(sorted(used, key=str.lower))}\n"
        constants = [constant(name, value) for name, value in tables.items()]
        constants.append("_SPECIALISED = {}")
        code = assembled(imports, constants, [*parts, flat], f"fast module {program.name!r}")
        paragraphs = [
            f"{program.title}: fast",
            f"{GENERATED} The equations and what computes them one by one stand in "
            f"{program.name}.py, from the same program; here is the right-hand side on vectors, "
            "compiled for given numbers of units. The module needs math, numpy, numba and the "
            "runtime.py beside it.",
            digests(self.source, code),
        ]
        return "\n".join(docstring(paragraphs, indent=0)) + f"\n\n{code}"

    def parts(self, text: str) -> list[str]:
        """Return the functions that the text needs, directly or not: pasted ones and the
        program's.
        """
        calls = (*self.program.functions, *self.program.procedures)
        found: dict[str, str] = {}
        called_in = cache(called)
        while True:
            pasted = self.pasted()
            names = set().union(*map(called_in, (text, *pasted, *found.values())))
            new = [each for each in calls if each.name in names and each.name not in found]
            if not new:
                return [*pasted, *(found[each.name] for each in calls if each.name in found)]
            for callee in new:
                if isinstance(callee, Procedure):
                    found[callee.name] = self.procedure(callee)
                else:
                    found[callee.name] = self.function(callee)

    def block(self, node: Block, indent: int) -> list[str]:
        """Return the head of a loop with unsigned indices: for signed ones numba allows counting
        from the end, which prevents vector instructions.
        """
        pad, inner = " " * indent, " " * (indent + INDENT)
        stop, length = f"np.uint64({node.stop})", f"np.uint64({node.length})"
        return [
            f"{pad}for {node.first} in range(np.uint64(0), {stop}, {length}):",
            f"{inner}{node.last} = min({node.first} + {length}, {stop})",
        ]

    def groups(self, node: Groups, indent: int) -> list[str]:
        """Return the head of a loop over groups of rows, whose number ``specialised`` has
        chosen.
        """
        pad, inner = " " * indent, " " * (indent + INDENT)
        rows, size = f"rows_{node.size}", node.size
        return [
            f"{pad}for {node.group} in range(groups_{size}):",
            f"{inner}{node.begin} = min({node.group} * {rows}, {size} - {rows})",
        ]

    def nests_of(self, form: Form) -> Body:
        """Return the body of the flat function."""
        program = self.program
        return inlined_nests(with_inner_locals(form.procedure, program), program)

    def specialised(self, form: Form, behind: str = "") -> str:
        """Return the text of ``specialised``, followed by another text."""
        program, kept = self.program, form.kept
        body = self.nests_of(form)
        sizes = ", ".join(program.small)
        pad = " " * INDENT
        large = [array for array in body.arrays if len(array.shape) > form.most_indices]
        rooms = {
            body.names.take(f"room_{array.name}"): array
            for array in body.arrays
            if array not in large
        }
        lines = [f"def {form.maker}({sizes}):", *docstring(form.documentation())]
        lines.append(f"{pad}if ({sizes}) in {kept}:")
        lines.append(f"{pad * 2}return {kept}[{sizes}]")
        lines += [pad + line for line in _in_parts(body.nodes, program.small)]
        lines += _stack_check(rooms, form.largest_room)
        lines.append(f"{pad}digest = DIGEST")
        lines.append("")
        lines.append(f"{pad}def {form.name}({form.arguments}):")
        lines += [pad * 2 + line for line in (*form.unpacking(body), *_stack_allocations(rooms))]
        lines += [f"{pad * 2}{each.name} = np.empty(({', '.join(each.shape)}))" for each in large]
        lines += self.body(body.nodes, 2 * INDENT)
        lines += [pad * 2 + line for line in form.returned]
        # Otherwise code for different sizes, read from caches of different processes, might have
        # the same symbol.
        marked = "_".join(f"{{{size}}}" for size in program.small)
        lines += ["", f'{pad}{form.name}.__qualname__ += f"_{marked}"']
        decorated = f"{kept}[{sizes}] = {form.signature.strip()}({form.name})"
        lines += [pad + line for line in decorated.split("\n")]
        lines.append(f"{pad}return {kept}[{sizes}]")
        return "\n".join([*lines, *(("", "", behind) if behind else ())])


class Access:
    """Expressions by which compiled code reads vectors of doubles."""

    def array(self, vector: str, shape: Sequence[str]) -> str:
        """Return a view of an array at the offset ``start``."""
        if len(shape) == 1:
            return f"{vector}[start : start + {shape[0]}]"
        return f"view({vector}, start, ({', '.join(shape)}))"

    def number(self, vector: str) -> str:
        """Return a number at the offset ``start``."""
        return f"{vector}[start]"

    def end(self) -> str:
        """Return the length of a vector that ends at ``start``."""
        return "start"


@dataclass(frozen=True)
class Form:
    """The signature of the flat function, and the layout of its vectors."""

    program: Program
    procedure: Procedure
    state: Vector
    parameters: Vector

    access: ClassVar[Access] = Access()
    maker: ClassVar[str] = "specialised"
    kept: ClassVar[str] = "_SPECIALISED"
    signature: ClassVar[str] = SIGNATURE
    largest_room: ClassVar[int] = LARGEST_ROOM
    most_indices: ClassVar[float] = 3  # of an array on the stack
    returned: ClassVar[tuple[str, ...]] = ()

    @property
    def name(self) -> str:
        return f"flat_{self.procedure.name}"

    @property
    def arguments(self) -> str:
        return f"alpha, {self.state.name}, sizes, {self.parameters.name}, derivative"

    def documentation(self) -> list[str]:
        """Paragraphs that explain ``specialised`` and how the vectors are packed."""
        packing = [f"sizes = [{', '.join(self.program.ranges)}]"]
        for vector in (self.state, self.parameters):
            fields = (
                f"{array.name} ({', '.join(array.shape)})" if array.shape else array.name
                for array in vector.fields
            )
            packing.append(f"{vector.name} = {', '.join(fields)}")
        return [
            f"{self.name} for one set of sizes, compiled for them, with the signature that time "
            "steppers expect.",
            *packing,
            f"derivative is packed like {self.state.name} and must not overlap with any other. "
            "alpha is the time.",
        ]

    def unpacking(self, body: Body) -> list[str]:
        """Return definitions of the sizes and views that the procedure needs, after the digest in
        its cache key.
        """
        program = self.program
        lines = ["digest  # compiled code is kept by what the function mentions"]
        used = set().union(*(reads(node) for node in body.nodes))
        for position, size in enumerate(program.ranges):
            if size not in program.small:
                lines.append(f"{size} = sizes[{position}]")
            elif f"number_{size}" in used:
                lines.append(f"number_{size} = min({size}, sizes[{position}])")
        return lines + self.fields()

    def fields(self) -> list[str]:
        """Return views of the fields that the procedure needs."""
        lines = []
        needed = {array.name for array in self.procedure.inputs}
        for vector in (self.state, self.parameters):
            lines += views(self.access, vector.name, vector.fields, needed)
        lines.append("derivative_apart()")
        return lines + views(self.access, "derivative", self.procedure.outputs)

    def for_any_sizes(self) -> list[str]:
        """Return the function of the same name that calls the one for its sizes."""
        program = self.program
        vectors = ("alpha", self.state.name, "sizes", self.parameters.name, "derivative")
        positions = [f"int(sizes[{program.ranges.index(size)}])" for size in program.small]
        call = Bracket("(", tuple(Text(name) for name in vectors))
        return [
            f"def {self.name}({self.arguments}):",
            *docstring(["What ``specialised`` makes for these sizes; to be called from Python."]),
            statement(f"specialised({', '.join(positions)})", call, INDENT),
        ]


def print_fast(program: Program) -> str:
    """Return the program's flat right-hand side as the text of a numba module, as above.

    Raises:
        PrinterError: An expression contains a node without a rule.
        ProgramError: The program has no right-hand side, no vectors or no small ranges.
    """
    return FastModule(program).module()


def mentioned(name: str, text: str) -> bool:
    return re.search(rf"\b{name}\b", text) is not None


def called(text: str) -> set[str]:
    return set(re.findall(r"(\w+)\(", text))


def _stack_check(rooms: Mapping[str, Array], largest: int) -> list[str]:
    """Return definitions of the sizes of arrays on the stack, and a check of their sum."""
    if not rooms:
        return []
    pad = " " * INDENT
    lines = [f"{pad}{room} = {_product(array.shape)}" for room, array in rooms.items()]
    total = Chain(tuple((" + " if n else "", Text(room)) for n, room in enumerate(rooms)))
    lines.append(statement("room = ", total, INDENT))
    lines.append(f"{pad}if room > {largest}:")
    reason = "the arrays of so many units do not fit on the stack"
    return [*lines, f'{pad * 2}raise ValueError("{reason}")']


def _stack_allocations(rooms: Mapping[str, Array]) -> list[str]:
    """Return allocations on the stack, one piece of memory per array, so that they cannot
    overlap.
    """
    lines = []
    for room, array in rooms.items():
        shape = ", ".join(array.shape) if len(array.shape) > 1 else f"{room},"
        lines.append(f"{array.name} = stack_array({room}, ({shape}))")
    return lines


def _product(shape: Sequence[str]) -> str:
    """Return the number of elements of an array, as text."""
    return " * ".join(shape)


def _in_parts(nodes: Sequence[Node], small: Sequence[str]) -> list[str]:
    """Return definitions of the number of parts of sums, of rows in a group, and of groups."""
    found = (part for node in nodes for part in inner(node) if isinstance(part, Groups))
    rows = dict.fromkeys(node.size for node in found)
    if not rows:
        return []
    lines = [f"parts = -(-({' + '.join(small)}) // {MOST_UNITS})"]
    for size in small:
        lines.append(f"width_{size} = -(-{size} // parts)")
        lines.append(f"padded_{size} = parts * width_{size}")
    widths = " + ".join(f"width_{size}" for size in small)
    lines.append(f"most = max(1, {MOST_PRODUCTS} // ({widths}))")
    for size in rows:
        lines.append(f"groups_{size} = -(-{size} // most)")
        lines.append(f"rows_{size} = -(-{size} // groups_{size})")
    return lines


def views(
    access: Access, vector: str, fields: Iterable[Array], needed: set[str] | None = None
) -> list[str]:
    """Return one view per field, at running offsets; fields that are not needed are skipped."""
    lines: list[str] = ["start = 0"]
    scalars = 0
    for array in fields:
        wanted = needed is None or array.name in needed
        if not array.shape:
            if wanted:
                lines += _step(scalars)
                scalars = 0
                lines.append(f"{array.name} = {access.number(vector)}")
            scalars += 1
            continue
        lines += _step(scalars)
        scalars = 0
        extent = _product(array.shape)
        if wanted:
            lines.append(f"{array.name} = {access.array(vector, array.shape)}")
        lines.append(f"start += {extent}")
    lines += _step(scalars)
    # Views do not know the end of the vector.
    lines.append(f"if {access.end()} != {vector}.size:")
    lines.append(f'    raise ValueError("{vector}: its length does not agree with sizes")')
    return lines


def _step(scalars: int) -> list[str]:
    """Return the increment of the offset over scalar fields."""
    return [f"start += {scalars}"] if scalars else []
