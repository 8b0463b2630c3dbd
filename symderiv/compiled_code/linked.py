"""Compiled functions that are called without importing their compiler, once they were.

The functions stand in a module of their own, decorated with
:func:`symderiv.compiled_code.compiled.compiled`, and allocate nothing; whoever calls them names
module and function. See :mod:`symderiv.compiled_code.machine_code`.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from symderiv.compiled_code.machine_code import MachineCode, code_path, is_possible, load

__all__ = ["Linked"]


class Linked:
    """A function of a module that imports numba.

    Args:
        module: its full name; it must not import other compiled functions.
        name: the name of the function.

    It is called with doubles, whole numbers and C-contiguous arrays of doubles or 64-bit integers
    that can be written to. What it was first called with is what its code is kept for.
    """

    def __init__(self, module: str, name: str) -> None:
        self._module, self._name = module, name
        self._code: MachineCode | None = None
        self._compiled: Any = None

    def __call__(self, *arguments: Any) -> Any:
        if self._code is None and self._compiled is None:
            self._find(arguments)
        if self._code is not None:
            return self._code(*arguments)
        return self._compiled(*arguments)

    def _find(self, arguments: tuple[Any, ...]) -> None:
        path = self._path() if is_possible() else None
        if path is not None:
            self._code = (load(path) or {}).get(self._name)
        if self._code is not None:
            return
        self._compiled = getattr(import_module(self._module), self._name)
        if path is not None:
            from symderiv.compiled_code import object_code

            self._compiled(*arguments)
            object_code.keep(path, {self._name: self._compiled})

    def _path(self) -> Path:
        spec = find_spec(self._module)
        own = "" if spec is None or spec.origin is None else Path(spec.origin).read_text()
        shared = Path(__file__).with_name("compiled.py").read_text()
        return code_path(f"{self._module}.{self._name}", (own, shared))
