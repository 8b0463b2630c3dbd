"""Functions of a module's text as object code, made by LLVM alone.

numba spends most of its time on the inference of types. Solver modules contain little that is not
plain arithmetic: numbers, arrays of doubles, tuples of both, loops, conditions, the functions of
``math``. That part of Python is translated here, with the results that numba's code has, and then
optimised. Anything else in a text raises
:class:`~symderiv.compiled_code.translation.ir_values.UntranslatableError`, and numba compiles it.

Differences from Python: an index that is not a literal is never negative, slices end within their
arrays, and integers have 64 bits.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from symderiv.compiled_code.target import machine, optimised
from symderiv.compiled_code.translation.ir_entry import add_entry
from symderiv.compiled_code.translation.ir_function import function_text
from symderiv.compiled_code.translation.ir_values import UntranslatableError
from symderiv.compiled_code.translation.module_source import FunctionSource
from symderiv.compiled_code.translation.shipped_parts import PartsModule

Made = tuple[dict[str, Any], bytes]
"""How a function is called, and its code."""


def translated(
    source: FunctionSource, arguments: Sequence[Any], others: Collection[str] = ()
) -> Made:
    """Return a function as :func:`symderiv.compiled_code.machine_code.linked` takes it.

    Args:
        source: The result of
            :func:`~symderiv.compiled_code.translation.module_source.module_names`.
        arguments: The kinds of its arguments, as in
            :class:`~symderiv.compiled_code.machine_code.MachineCode`.
        others: The symbols of functions that it is linked with.

    Raises:
        UntranslatableError: It is outside of the translated part of Python.
    """
    (code,) = together([(source, arguments)], others)
    return code


def together(
    functions: Sequence[tuple[FunctionSource, Sequence[Any]]], others: Collection[str] = ()
) -> list[Made]:
    """Return several functions in one piece of code, in which shared ones are compiled once.

    Raises:
        UntranslatableError: One is outside of the translated part of Python.
    """
    from symderiv.compiled_code.elf_symbols import imports_of

    text, entries = assembly(functions)
    code = object_code_of(text)
    imports = imports_of(code, others)
    if imports is None:
        raise UntranslatableError("a call of what compiled code may not call")
    return [({**how, "imports": imports}, code) for how in entries]


def assembly(
    functions: Sequence[tuple[FunctionSource, Sequence[Any]]],
) -> tuple[str, list[dict[str, Any]]]:
    """Return functions as the text of an LLVM module before optimisation, and their conventions."""
    module = PartsModule(function_text)
    entries = [
        vars(add_entry(module, source, f"entry{n}", arguments))
        for n, (source, arguments) in enumerate(functions)
    ]
    how = [
        {name: value for name, value in entry.items() if value or name == "arguments"}
        for entry in entries
    ]
    return module.text(), how


def object_code_of(text: str) -> bytes:
    """Return the instructions of this processor for an LLVM module."""
    from llvmlite import binding

    target = machine()
    module = binding.parse_assembly(text)
    module.data_layout = str(target.target_data)
    module.triple = binding.get_process_triple()
    builder = binding.create_pass_builder(target, optimised())
    builder.getModulePassManager().run(module, builder)
    code: bytes = target.emit_object(module)
    return code
