"""Procedures on one vector of unknowns and one of parameters, and the layout of these vectors."""

from __future__ import annotations

from collections.abc import Sequence

from symderiv_codegen.ir.arrays import Vector
from symderiv_codegen.ir.loops import Invoke
from symderiv_codegen.ir.procedures import Procedure
from symderiv_codegen.ir.program import Program
from symderiv_codegen.printers.docstrings import docstring
from symderiv_codegen.printers.lines import INDENT, Bracket, Text, statement
from symderiv_codegen.printers.module import ModulePrinter

UNPACKED = '''
def _unpacked(vector, which, sizes):
    """The arrays that are packed in a vector, by name; not copied. See ``LAYOUT``."""
    lengths = dict(zip(LAYOUT["sizes"], (int(size) for size in sizes), strict=True))
    arrays, start = {}, 0
    for name, axes in LAYOUT[which].items():
        shape = tuple(lengths[axis] for axis in axes)
        stop = start + math.prod(shape)
        arrays[name] = vector[start:stop].reshape(shape) if shape else vector[start]
        start = stop
    if start != vector.size:
        raise ValueError(f"{which}: its length does not agree with sizes")
    return arrays
'''


def layout_constant(ranges: Sequence[str], vectors: Sequence[Vector]) -> str:
    """Return the layout of vectors as the definition of ``LAYOUT``.

    ``LAYOUT["sizes"]`` has the names of the ranges in the order of the functions' sizes; for each
    vector a dict maps its fields, in order, to the names of their axes.
    """
    lines = [
        "# How arrays are packed into vectors: one after the other, the last index runs fastest.",
        "LAYOUT = {",
        f'    "sizes": {_names(ranges)},',
    ]
    for vector in vectors:
        fields = tuple(Text(f'"{a.name}": {_names(a.shape)}') for a in vector.fields)
        lines.append(statement(f'"{vector.name}": ', Bracket("{", fields, "}"), INDENT) + ",")
    return "\n".join([*lines, "}"])


def print_layout(title: str, ranges: Sequence[str], vectors: Sequence[Vector]) -> str:
    """Return a module with ``LAYOUT`` alone, for packing vectors of many modules."""
    heading = docstring([title, "Generated, do not edit."], indent=0)
    return "\n".join([*heading, "", layout_constant(ranges, vectors), ""])


def _names(names: Sequence[str]) -> str:
    quoted = ", ".join(f'"{name}"' for name in names)
    return f"({quoted},)" if len(names) == 1 else f"({quoted})"


def flat_functions(program: Program, printer: ModulePrinter) -> list[str]:
    """Return the right-hand side and the observables of a program on vectors, if it has both."""
    if not program.vectors:
        return []
    texts = []
    procedure = program.procedure(program.right_hand_side)
    if procedure is not None:
        texts.append(_flat_right_hand_side(program, procedure))
    procedure = program.procedure(program.observables)
    if procedure is not None:
        texts.append(_flat_observables(program, procedure, printer))
    return [UNPACKED.strip(), *texts] if texts else []


def _flat_right_hand_side(program: Program, procedure: Procedure) -> str:
    state, parameters = (vector.name for vector in program.vectors)
    lines = [
        f"def flat_{procedure.name}(alpha, {state}, sizes, {parameters}, derivative):",
        *docstring(
            [
                f"{procedure.name} on vectors, to be called from Python; see ``LAYOUT``.",
                f"derivative, written in place, is packed like {state}. alpha is the time.",
            ]
        ),
        *_unpacking(program, procedure),
        f'    rates = list(_unpacked(derivative, "{state}", sizes).values())',
    ]
    arguments = [Text(array.name) for array in procedure.inputs]
    call = Bracket(f"{procedure.name}(", (*arguments, Text("*rates")))
    return "\n".join([*lines, statement("", call, INDENT)])


def _flat_observables(program: Program, procedure: Procedure, printer: ModulePrinter) -> str:
    """Return the observables on vectors as plain Python, which only passes views to compiled
    functions.
    """
    state, parameters = (vector.name for vector in program.vectors)
    outputs = procedure.array_outputs
    names = [state, "sizes", parameters, *(array.name for array in outputs)]
    lines = [f"def flat_{procedure.name}({', '.join(names)}):"]
    lines += docstring([f"{procedure.name} on vectors, to be called from Python; see ``LAYOUT``."])
    lines += _unpacking(program, procedure)
    nodes = printer.nests(procedure).nodes
    if procedure.locals or not all(isinstance(node, Invoke) for node in nodes):
        result = procedure.result.name if procedure.result else None
        arguments = tuple(array.name for array in (*procedure.inputs, *outputs))
        nodes = (Invoke(procedure.name, arguments, (), result),)
    lines += printer.body(nodes, INDENT)
    if procedure.result:
        lines.append(" " * INDENT + f"return {procedure.result.name}")
    return "\n".join(lines)


def _unpacking(program: Program, procedure: Procedure) -> list[str]:
    """Return assignments of the arrays in both vectors that the procedure needs."""
    lines = []
    needed = {array.name for array in procedure.inputs}
    for vector in program.vectors:
        names = [array.name for array in vector.fields if array.name in needed]
        lines.append(f'    arrays = _unpacked({vector.name}, "{vector.name}", sizes)')
        if names == [array.name for array in vector.fields]:
            targets = Bracket("[", tuple(Text(name) for name in names), "]")
            lines.append(statement("", targets, INDENT) + " = arrays.values()")
        else:
            lines += [f'    {name} = arrays["{name}"]' for name in names]
    return lines
