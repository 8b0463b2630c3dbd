"""Docstrings of modules, and lists of arrays with their shapes."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from symderiv_codegen.ir.arrays import Array
from symderiv_codegen.ir.procedures import Procedure
from symderiv_codegen.ir.program import Program
from symderiv_codegen.printers.lines import INDENT, WIDTH, filled


def docstring(paragraphs: Sequence[str], indent: int = INDENT) -> list[str]:
    """Return a docstring: one line where it fits, otherwise paragraphs between blank lines.

    Paragraphs of one line are wrapped; paragraphs that already consist of lines are kept.
    """
    pad = " " * indent
    shown = []
    for number, paragraph in enumerate(paragraphs):
        quotes_width = 0 if number else 3
        clean = paragraph.strip().replace("\\", "\\\\").replace('"""', "'''")
        if "\n" in clean or len(pad) + len(clean) + quotes_width <= WIDTH:
            shown.append("\n".join((pad + line).rstrip() for line in clean.split("\n")))
        else:
            shown.append(filled(clean, indent, WIDTH - quotes_width))
    text = "\n\n".join(shown).strip()
    single = len(shown) == 1 and "\n" not in text and len(pad) + len(text) + 6 <= WIDTH
    quotes = '"""'
    if single:
        return [f"{pad}{quotes}{text}{quotes}"]
    return [f"{pad}{quotes}{text}", f"{pad}{quotes}"]


def documentation(procedure: Procedure) -> list[str]:
    """Return the description and the arguments with their shapes; the header explains the
    arrays.
    """
    lines = []
    if procedure.inputs:
        lines.append(f"Inputs: {_listed(procedure.inputs)}.")
    if procedure.array_outputs:
        lines.append(f"Outputs, in place: {_listed(procedure.array_outputs)}.")
    if procedure.result:
        lines.append(f"Returns {procedure.result.name}.")
    wrapped = (textwrap.wrap(line, WIDTH - INDENT, break_on_hyphens=False) for line in lines)
    given = "\n".join(line.replace("\0", " ") for each in wrapped for line in each)
    return [procedure.doc, given]


def _listed(arrays: Sequence[Array]) -> str:
    # keeps lines from breaking inside of a shape
    shown = (f"{a.name} {shape(a)}" if a.shape else a.name for a in arrays)
    shown = (each.replace(" ", "\0") for each in shown)
    return ", ".join(shown)


def arrays_of(program: Program) -> list[str]:
    """Return lines that explain the arrays and scalars of the procedures, each name once."""
    found: dict[str, Array] = {}
    for procedure in program.procedures:
        for array in (*procedure.inputs, *procedure.outputs):
            found.setdefault(array.name, array)
    names = max((len(name) for name in found), default=0)
    shapes = max((len(shape(array)) for array in found.values()), default=0)
    return [
        f"    {name:<{names}}  {shape(array):<{shapes}}  {array.doc}".rstrip()
        for name, array in found.items()
    ]


def shape(array: Array) -> str:
    """Return the ranges of an array in brackets; empty for a scalar."""
    return f"({', '.join(array.shape)})" if array.shape else ""
