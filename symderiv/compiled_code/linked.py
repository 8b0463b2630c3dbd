"""Compiled functions that, once compiled, are called without importing their compiler.

The functions are in modules of their own, decorated with
:func:`symderiv.compiled_code.compiled.compiled`, and allocate nothing; callers name module and
function. See :mod:`symderiv.compiled_code.machine_code`. Code of some comes with the package
(:mod:`symderiv.compiled_code.shipped_code`); those have one explicit signature.
"""

from __future__ import annotations

import hashlib
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from symderiv.compiled_code.machine_code import (
    MachineCode,
    code_path,
    is_possible,
    linked,
    load,
    write,
)


class Linked:
    """A function of a module that imports numba.

    Args:
        module: its full name; it must not import other compiled functions.
        name: the name of the function.
        shipped: whether its code comes with the package, in a file beside its module.

    It is called with doubles, integers, tuples, other functions without their compiler, and
    C-contiguous writable arrays of doubles or 64-bit integers. Its code is kept for the types of
    the first call.
    """

    def __init__(self, module: str, name: str, *, shipped: bool = False) -> None:
        self._module, self._name, self._shipped = module, name, shipped
        self._code: MachineCode | None = None
        self._compiled: Any = None

    def __call__(self, *arguments: Any) -> Any:
        if self._code is None and self._compiled is None:
            self._find(arguments)
        if self._code is not None:
            return self._code(*arguments)
        return self._compiled(*arguments)

    def without_compiler(self) -> MachineCode | None:
        """Return the function from the cache or the package, or None if neither has it."""
        if self._code is None and is_possible():
            self._code = (load(self._path()) or {}).get(self._name) or self._came()
        return self._code

    def ship(self) -> None:
        """Write the code that comes with the package; ``make stepper-code`` says how."""
        from symderiv.compiled_code.shipped_code import ship

        function = getattr(import_module(self._module), self._name)
        ship(self.shipped_path(), function, self.digest())

    def shipped_path(self) -> Path:
        """Return the file of the code that comes with the package."""
        return self._file().with_name(f"{self._name}.code")

    def digest(self) -> str:
        """Return the digest of the sources from which it is compiled."""
        return hashlib.sha256("\0".join(self._sources()).encode()).hexdigest()

    def _find(self, arguments: tuple[Any, ...]) -> None:
        if self.without_compiler() is not None:
            return
        self._compiled = getattr(import_module(self._module), self._name)
        if is_possible():
            from symderiv.compiled_code import object_code

            self._compiled(*arguments)
            object_code.keep(self._path(), {self._name: self._compiled})

    def _came(self) -> MachineCode | None:
        """Return the code that came with the package, after writing it to the cache."""
        if not self._shipped:
            return None
        from symderiv.compiled_code.shipped_code import shipped

        code = shipped(self.shipped_path(), self.digest())
        if code is None:
            return None
        write(self._path(), {self._name: code})
        return linked(*code)

    def _path(self) -> Path:
        return code_path(f"{self._module}.{self._name}", self._sources())

    def _sources(self) -> tuple[str, str]:
        return self._file().read_text(), Path(__file__).with_name("compiled.py").read_text()

    def _file(self) -> Path:
        spec = find_spec(self._module)
        if spec is None or spec.origin is None:
            raise ModuleNotFoundError(f"no module {self._module}")
        return Path(spec.origin)
