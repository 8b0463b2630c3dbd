"""Compiled functions that, once compiled, are called without importing their compiler.

The functions are in modules of their own, decorated with
:func:`symderiv.compiled_code.compiled.compiled`, and allocate nothing; callers name module and
function. See :mod:`symderiv.compiled_code.machine_code`. Code of some comes with the package
(:mod:`symderiv.compiled_code.shipped_code`); those have one explicit signature.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
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
        self._was_kept = False

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

    def for_function(
        self, function: Callable[..., Any], kind: str = "RIGHT_HAND_SIDE"
    ) -> tuple[Any, Any]:
        """Return this function with one that it calls, as its argument: without numba where both
        can be.

        Args:
            function: Compiled by numba, or code without its compiler.
            kind: The name of its type in :mod:`symderiv.compiled_code.compiled`.

        Returns:
            None in place of this one if it cannot be kept and the other came without its compiler;
            numba can call such code only if it was translated.
        """
        code = self.without_compiler()
        if isinstance(function, MachineCode) and (code is not None or not function.for_c):
            if code is None and not self._was_kept:
                self._keep(self.compiled())
            return self.without_compiler(), function
        from symderiv.compiled_code import compiled
        from symderiv.compiled_code.for_numba import for_numba
        from symderiv.compiled_code.object_code import in_memory

        type_of = getattr(compiled, kind)
        if code is not None and compiled.is_from_numba(function):
            called = in_memory(function, type_of.signature)
            if called is not None:
                return code, called
        return self.compiled(), for_numba(function, type_of)

    def compiled(self) -> Callable[..., Any]:
        """Return numba's function."""
        function: Callable[..., Any] = getattr(import_module(self._module), self._name)
        return function

    def ship(self) -> None:
        """Write the code that comes with the package; ``make stepper-code`` says how."""
        from symderiv.compiled_code.shipped_code import ship

        ship(self.shipped_path(), self.compiled(), self.digest())

    def shipped_path(self) -> Path:
        """Return the file of the code that comes with the package."""
        return self._file().with_name(f"{self._name}.code")

    def digest(self) -> str:
        """Return the digest of the sources from which it is compiled."""
        sources = self._file(), Path(__file__).with_name("compiled.py")
        return hashlib.sha256("\0".join(each.read_text() for each in sources).encode()).hexdigest()

    def _find(self, arguments: tuple[Any, ...]) -> None:
        if self.without_compiler() is not None:
            return
        self._compiled = self.compiled()
        if is_possible():
            self._compiled(*arguments)
            self._keep(self._compiled)

    def _keep(self, function: Callable[..., Any]) -> None:
        from symderiv.compiled_code import object_code

        self._was_kept = True
        object_code.keep(self._path(), {self._name: function})

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
        return code_path(f"{self._module}.{self._name}", (self.digest(),))

    def _file(self) -> Path:
        spec = find_spec(self._module)
        if spec is None or spec.origin is None:
            raise ModuleNotFoundError(f"no module {self._module}")
        return Path(spec.origin)
