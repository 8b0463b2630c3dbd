"""The docstring at the top of a generated module: its content, origin and checksum."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import sympy as sp
from sympy.printing.repr import ReprPrinter

from symderiv_codegen.ir.procedures import OMITTED_IF_EMPTY
from symderiv_codegen.ir.program import Program
from symderiv_codegen.printers.docstrings import arrays_of, docstring
from symderiv_codegen.printers.lines import filled

GENERATED = "Generated, do not edit: change the recipe and generate again."


def digest(text: str) -> str:
    """Return the SHA-256 of a text, in hexadecimal."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def program_digest(program: Program) -> str:
    """Return the SHA-256 of the content of a program, independent of how it is printed."""
    return digest(_spelled(program, _Structure()))


class _Structure(ReprPrinter):  # type: ignore[misc]
    """A printer of expressions by their structure, with arguments in SymPy's own order.

    The texts of repeated parts are remembered.
    """

    def __init__(self) -> None:
        super().__init__({"order": "none"})
        self._written: dict[sp.Basic, str] = {}

    def _print(self, expr: Any, **options: Any) -> str:
        if not isinstance(expr, sp.Basic):
            return str(super()._print(expr, **options))
        if expr not in self._written:
            self._written[expr] = str(super()._print(expr, **options))
        return self._written[expr]


def _spelled(item: object, printer: _Structure) -> str:
    """Return a canonical text of nested dataclasses, mappings, tuples and expressions."""
    if isinstance(item, sp.Basic):
        return str(printer.doprint(item))
    if isinstance(item, Mapping):
        return "{" + ", ".join(f"{k!r}: {_spelled(v, printer)}" for k, v in item.items()) + "}"
    if isinstance(item, tuple):
        return "(" + ", ".join(_spelled(part, printer) for part in item) + ")"
    fields = getattr(type(item), "__dataclass_fields__", None)
    if fields is None:
        return repr(item)
    stated = (
        name
        for name, each in fields.items()
        if each.compare and not (OMITTED_IF_EMPTY in each.metadata and not getattr(item, name))
    )
    parts = ", ".join(f"{name}={_spelled(getattr(item, name), printer)}" for name in stated)
    return f"{type(item).__name__}({parts})"


def header(program: Program, code: str, operations: Mapping[str, int], needs: str) -> str:
    """Return the module docstring. ``code`` is everything below it, ``needs`` a sentence."""
    paragraphs = [program.title, f"{GENERATED} {needs}"]
    if program.recipe:
        width = max(len(key) for key in program.recipe)
        rows = [f"    {key:<{width}}  {value}" for key, value in program.recipe.items()]
        paragraphs.append("\n".join(["Recipe:", *rows]))
    if program.equations:
        lines = [line for equation in program.equations for line in _equation(equation)]
        paragraphs.append("\n".join(["Equations:", *lines]))
    arrays = arrays_of(program)
    if arrays:
        paragraphs.append("\n".join(["Arrays and numbers:", *arrays]))
    counts = [f"{name} {count}" for name, count in operations.items()]
    paragraphs.append(
        "Operations, each line of a loop counted once:\n" + filled(", ".join(counts), 4)
    )
    paragraphs.append(digests(program, code))
    return "\n".join(docstring(paragraphs, indent=0))


def digests(program: Program, code: str) -> str:
    """Return the paragraph with the digests of the program and of the code."""
    release = ".".join(sp.__version__.split(".")[:2])
    return "\n".join(
        [
            "Digests (SHA-256):",
            f"    program  {program_digest(program)}",
            f"    code     {digest(code)}",
            f"Ordered by SymPy {release}.",
        ]
    )


def _equation(equation: str) -> list[str]:
    """Return an equation indented by four; its own line breaks are kept."""
    return ["    " + line for line in equation.split("\n")]


def is_unchanged(text: str) -> bool:
    """Return whether the code of a generated module has the digest that its header states."""
    stated = next(
        (line.split()[-1] for line in text.splitlines() if line.strip().startswith("code ")), ""
    )
    _, closed, code = text.partition('\n"""\n\n')
    return bool(closed) and stated == digest(code)
