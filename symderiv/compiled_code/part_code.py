"""The code of functions of solver modules that comes with the package, as its file has it.

:mod:`symderiv.compiled_code.translation.shipped_parts` says which functions these are.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from symderiv.compiled_code.target import for_this_processor

#: How the names of these functions begin.
PART: Final = "symderiv_part_"

FILE: Final = Path(__file__).with_name("means.code")


def made_by() -> dict[str, str]:
    """Return the compiler and the system that code is of."""
    from llvmlite import binding

    return {"llvmlite": version("llvmlite"), "system": binding.get_process_triple()}


def parts() -> list[dict[str, str]]:
    """Return the functions: name, symbol, kinds of arguments, result; none if the file is of
    another LLVM or system.
    """
    found: list[dict[str, str]] = _shipped()[0].get("parts", [])
    return found


@cache
def code_of_parts() -> tuple[bytes, frozenset[str]]:
    """Return the instructions of all of them for this processor, and what they call of C."""
    said, packed = _shipped()
    code = for_this_processor(packed[: said["object"]], packed[said["object"] :])
    return code, frozenset(said["imports"])


@cache
def _shipped() -> tuple[dict[str, Any], bytes]:
    """Return what the file says, and the code; nothing if it is of another LLVM or system."""
    try:
        head, _, packed = FILE.read_bytes().partition(b"\n")
        said: dict[str, Any] = json.loads(head)
    except (OSError, ValueError):
        return {}, b""
    return (said, packed) if {**said, **made_by()} == said else ({}, b"")
