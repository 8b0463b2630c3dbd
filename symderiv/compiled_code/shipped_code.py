"""Code of functions that never change between releases, compiled by numba before a release.

numba takes many seconds to compile a large function, nearly all of them before the last stage, in
which LLVM turns optimised bitcode into instructions of one processor. The package has both: the
instructions for processors of level 3 (AVX2 and multiply-adds, most since 2013), and the bitcode,
whose last stage is done here on other processors, once for each user. The result is kept like other
code (:mod:`symderiv.compiled_code.machine_code`).

A file is used only if it was made from the present sources, by the present numba and LLVM, for this
kind of system; otherwise numba compiles the function.
"""

from __future__ import annotations

import json
import lzma
from importlib.metadata import version
from pathlib import Path
from typing import Any

from llvmlite import binding

from symderiv.compiled_code.elf_symbols import imports_of
from symderiv.compiled_code.target import for_this_processor, level_three, machine

_NAME = "shipped"


def ship(path: Path, function: Any, sources: str) -> None:
    """Write the bitcode of a compiled function, and its instructions for processors of level 3.

    Args:
        path: the file that is written.
        function: compiled by numba in this process for one signature, for the least processor that
            is to run it fast (``NUMBA_CPU_NAME``).
        sources: digest of all that it is compiled from.
    """
    from symderiv.compiled_code.object_code import entry_of_first

    (compiled,) = function.overloads.values()
    entry, _ = entry_of_first(function) or ({}, b"")
    module = binding.parse_assembly(compiled.library.get_llvm_str())
    for each in module.functions:
        if not each.is_declaration:
            each.linkage = "internal"
    # remove the wrapper for Python and everything that only it needs
    own = module.get_function(compiled.fndesc.llvm_func_name)
    own.linkage, own.name = "external", _NAME
    passes = binding.create_new_module_pass_manager()
    passes.add_global_dead_code_eliminate_pass()
    passes.add_strip_symbols_pass()
    passes.run(module, binding.create_pass_builder(machine(), _options()))
    # llvm.x86.atomic, which counts owners of arrays, is available on every such processor
    if "@llvm.x86" in str(module).replace("@llvm.x86.atomic.", ""):
        raise ValueError("the code is for one kind of processor alone")
    head = {**_made_by(sources), "arguments": entry["arguments"], "returns": entry["returns"]}
    bitcode = module.as_bitcode()
    code = lzma.compress(level_three().emit_object(binding.parse_bitcode(bitcode)))
    head["object"] = len(code)
    path.write_bytes(json.dumps(head).encode() + b"\n" + code + lzma.compress(bitcode))


def shipped(path: Path, sources: str) -> tuple[dict[str, Any], bytes] | None:
    """Return the calling convention of a file's function, and its instructions for this processor.

    Returns:
        As :func:`~symderiv.compiled_code.machine_code.write` takes them; None if the file is
        missing, or is of other sources or another compiler.
    """
    try:
        head, _, packed = path.read_bytes().partition(b"\n")
        entry = json.loads(head)
        if {**entry, **_made_by(sources)} != entry:
            return None
        code = for_this_processor(packed[: entry["object"]], packed[entry["object"] :])
    except (OSError, ValueError, KeyError, RuntimeError, lzma.LZMAError):
        return None
    imports = imports_of(code)
    if imports is None:
        return None
    how = {"symbol": _NAME, "arguments": entry["arguments"], "returns": entry["returns"]}
    return {**how, "imports": imports}, code


def _made_by(sources: str) -> dict[str, str]:
    triple: str = binding.get_process_triple()
    versions = {name: version(name) for name in ("numba", "llvmlite")}
    return {"sources": sources, **versions, "system": triple}


def _options() -> Any:
    return binding.create_pipeline_tuning_options()
