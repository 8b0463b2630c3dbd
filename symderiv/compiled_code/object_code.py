"""Functions as numba compiled them, in files for :mod:`symderiv.compiled_code.machine_code`.

numba keeps the object code of each function in its own cache, from which it is taken here, with its
undefined symbols. Code that needs more than the C library, such as numba's own memory or Python, is
not kept: :data:`~symderiv.compiled_code.machine_code.CALLED` is all that it may call.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from numba import types

from symderiv.compiled_code.elf_symbols import imports_of
from symderiv.compiled_code.machine_code import MachineCode, is_possible, write


def keep(path: Path, functions: Mapping[str, Any]) -> bool:
    """Write a file of compiled functions; return whether it was possible.

    Args:
        path: the path of :func:`symderiv.compiled_code.machine_code.code_path`.
        functions: the functions by name; each decorated by numba with its cache on, and called or
            compiled.
    """
    if not is_possible():
        return False
    entries = {name: entry_of_first(function) for name, function in functions.items()}
    complete = {name: entry for name, entry in entries.items() if entry is not None}
    return len(complete) == len(functions) and write(path, complete)


def in_memory(function: Any, signature: Any) -> MachineCode | None:
    """Return one of numba's functions as code that other such code can call, or None."""
    compiled = function.get_compile_result(signature)
    description = compiled.fndesc
    arguments = [_kind(each) for each in description.argtypes]
    address = compiled.library.get_pointer_to_function(description.llvm_func_name)
    if not address or not all(arguments) or description.restype != types.none:
        return None
    return MachineCode(address, arguments, "none", function)


def entry_of_first(function: Any) -> tuple[dict[str, Any], bytes] | None:
    """Return a function's calling convention and code, or None if it cannot be kept.

    If it was compiled several times, the first form that can be kept is taken: arguments are
    checked at calls.
    """
    overloads = getattr(function, "overloads", {}).values()
    entries = (_entry_of(function, compiled) for compiled in overloads)
    return next((entry for entry in entries if entry is not None), None)


def _entry_of(function: Any, compiled: Any) -> tuple[dict[str, Any], bytes] | None:
    description = compiled.fndesc
    arguments = [_kind(each) for each in description.argtypes]
    returns = {"none": "none", "float64": "double", "int64": "int64"}.get(str(description.restype))
    convention = compiled.target_context.call_conv
    signature = convention.get_function_type(description.restype, description.argtypes)
    expected = "pp" + "".join(_words(kind) for kind in arguments)
    if returns is None or "".join(map(_word, signature.args)) != expected:
        return None
    code = _object_code(function, description.llvm_func_name)
    if code is None:
        return None
    imports = imports_of(code)
    if imports is None:
        return None
    entry = {"symbol": description.llvm_func_name, "arguments": arguments, "returns": returns}
    return {**entry, "imports": imports}, code


def _kind(argument: Any) -> Any:
    """Return the kind of an argument of machine code, or ``""`` if it cannot be one."""
    if isinstance(argument, types.BaseTuple):
        return [_kind(each) for each in argument]
    if isinstance(argument, types.FunctionType):
        return "function"
    if isinstance(argument, types.Array) and argument.layout == "C" and argument.mutable:
        items = {types.float64: "<f8", types.int64: "<i8", types.uint64: "<u8"}
        inner = items.get(argument.dtype, "")
        if isinstance(argument.dtype, types.Record):
            inner = f"|V{argument.dtype.size}"
        return f"{inner} {argument.ndim}" if inner else ""
    return {types.float64: "double", types.int64: "int64"}.get(argument, "")


def _words(kind: Any) -> str:
    """Return an argument as letters of LLVM's types: p pointer, i integer, d double, ? unknown."""
    if isinstance(kind, list):
        return "".join(_words(each) for each in kind)
    if kind in ("double", "int64", "function"):
        return {"double": "d", "int64": "i", "function": "ppp"}[kind]
    return "ppiip" + "ii" * int(kind.split()[1]) if kind else "?"


def _word(llvm_type: Any) -> str:
    text = str(llvm_type)
    if text.endswith("*") or text == "ptr":
        return "p"
    return {"i64": "i", "double": "d"}.get(text, "x")


def _object_code(function: Any, symbol: str) -> bytes | None:
    """Return the code of a function from numba's cache, or None if it is not there."""
    # these attributes are private to numba and may be missing in other versions
    with suppress(AttributeError, OSError, TypeError, IndexError):
        file = function._cache._cache_file
        for key in file._load_index():
            cached = file.load(key)
            if cached is not None and cached[1].llvm_func_name == symbol:
                _, how, parts = cached[0]
                return bytes(parts[0]) if how == "object" else None
    return None
