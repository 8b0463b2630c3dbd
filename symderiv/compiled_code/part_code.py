"""The file of code that comes with the package for functions of solver modules.

:mod:`symderiv.compiled_code.translation.shipped_parts` says which functions these are.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from symderiv.compiled_code.target import for_this_processor

#: The prefix of the symbols of these functions.
PART: Final = "symderiv_part_"

FILE: Final = Path(__file__).with_name("means.code")


def made_by() -> dict[str, str]:
    """Return the versions of compiler and system that the code depends on."""
    from llvmlite import binding

    return {"llvmlite": version("llvmlite"), "system": binding.get_process_triple()}


def parts() -> list[dict[str, str]]:
    """Return the shipped functions, each with name, symbol, kinds of arguments and result.

    The list is empty if the file is of another LLVM or system.
    """
    shipped: list[dict[str, str]] = _shipped()[0].get("parts", [])
    return shipped


@cache
def code_of_parts() -> tuple[bytes, frozenset[str]]:
    """Return the instructions of all functions for this processor, and C functions they call."""
    said, packed = _shipped()
    code = for_this_processor(packed[: said["object"]], packed[said["object"] :])
    return code, frozenset(said["imports"])


@cache
def _shipped() -> tuple[dict[str, Any], bytes]:
    """Return the head and the code of the file; both empty if it is of another LLVM or system."""
    try:
        head, _, packed = FILE.read_bytes().partition(b"\n")
        said: dict[str, Any] = json.loads(head)
    except (OSError, ValueError):
        return {}, b""
    return (said, packed) if {**said, **made_by()} == said else ({}, b"")
