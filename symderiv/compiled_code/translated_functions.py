"""The functions of a solver module without numba: translated, kept on disk, called from Python.

See :mod:`symderiv.compiled_code.translation.translated` for what can be translated. The file of a
function is named by all that its code depends on: the module's text, the translator's, LLVM's
version and the processor. Where a function cannot be translated, or on a system where code does not
run without numba, numba compiles it; :attr:`TranslatedModule.untranslated` says why.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np

from symderiv.compiled_code.machine_code import (
    NO_OTHERS,
    MachineCode,
    Others,
    can_link,
    code_path,
    linked,
    read,
    write,
)
from symderiv.compiled_code.translation.ir_values import UntranslatableError

#: The kinds of arguments of right-hand sides on vectors.
RIGHT_HAND_SIDE_KINDS = ("double", "<f8 1", "<i8 1", "<f8 1", "<f8 1")

_ITEMS = ("<f8", "<i8")


class TranslatedModule:
    """The functions of a module's text, each translated when it is first asked for.

    Args:
        text: The text of the module.

    Attributes:
        untranslated: Why functions were left to numba, by name.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._found: dict[str, MachineCode | None] = {}
        self.untranslated: dict[str, str] = {}

    def specialised(self, *sizes: int) -> MachineCode | None:
        """Return the right-hand side for these sizes, or None if numba has to compile it.

        Raises:
            ValueError: The module does not have it for so many units.
        """
        return self.code("specialised", RIGHT_HAND_SIDE_KINDS, sizes)

    def code(
        self, name: str, arguments: tuple[Any, ...], sizes: tuple[int, ...] | None = None
    ) -> MachineCode | None:
        """Return a function for these kinds of arguments, or None if numba has to compile it.

        Args:
            name: The name of the function, or of the function that makes it for ``sizes``.
            arguments: As in :class:`~symderiv.compiled_code.machine_code.MachineCode`.
            sizes: The sizes for which the function is made.
        """
        key = f"{name} {sizes} {arguments}"
        if key not in self._found:
            self._found[key] = self._made(name, arguments, sizes) if can_link() else None
        return self._found[key]

    def function(self, name: str, otherwise: Callable[[], Callable[..., Any]]) -> Any:
        """Return a function that is translated for the arguments with which it is called.

        Args:
            name: The name of the function.
            otherwise: Returns numba's function, if it cannot be translated.
        """
        return TranslatedFunction(self, name, otherwise)

    @property
    def names(self) -> dict[str, Any]:
        """Return the meaning of each name of the module, without numba.

        Raises:
            UntranslatableError: It imports something that solver modules do not.
        """
        return self._names

    def together(self, functions: Mapping[str, tuple[Any, ...]]) -> None:
        """Translate several functions at once, given the kinds of their arguments by name.

        The functions that they share are compiled once. If one cannot be translated, each is
        translated alone when it is asked for.
        """
        from symderiv.compiled_code.translation.translated import together

        paths = [self._path(name, kinds, None) for name, kinds in functions.items()]
        if not can_link() or all(path is not None and path.exists() for path in paths):
            return
        try:
            made = together([(self._names[name], kinds) for name, kinds in functions.items()])
        except UntranslatableError:
            return
        for path, (name, kinds), how in zip(paths, functions.items(), made, strict=True):
            if path is not None:
                write(path, {name: how})
            self._found[f"{name} None {kinds}"] = linked(*how)

    def _made(
        self, name: str, arguments: tuple[Any, ...], sizes: tuple[int, ...] | None
    ) -> MachineCode | None:
        def made() -> tuple[dict[str, Any], bytes]:
            from symderiv.compiled_code.translation.translated import translated

            source = self._names[name]
            return translated(source if sizes is None else source(*sizes), arguments)

        try:
            return kept(self._path(name, arguments, sizes), name, made)
        except UntranslatableError as error:
            self.untranslated[name] = str(error)
            return None

    def _path(
        self, name: str, arguments: tuple[Any, ...], sizes: tuple[int, ...] | None
    ) -> Path | None:
        return kept_path(f"translated {name} {sizes} {arguments}", self._text)

    @cached_property
    def _names(self) -> dict[str, Any]:
        from symderiv.compiled_code.translation.module_source import module_names

        return module_names(self._text)


class TranslatedFunction:
    """A function of a module, called from Python with numbers, arrays and tuples of them."""

    def __init__(
        self, module: TranslatedModule, name: str, otherwise: Callable[[], Callable[..., Any]]
    ) -> None:
        self._module, self._name, self._otherwise = module, name, otherwise
        self._codes: dict[tuple[Any, ...], Callable[..., Any]] = {}

    def by_numba(self) -> Callable[..., Any]:
        """Return numba's function, which other code compiled by numba can call."""
        return self._otherwise()

    def __call__(self, *arguments: Any) -> Any:
        return self.for_kinds_of(*arguments)(*arguments)

    def for_kinds_of(self, *arguments: Any) -> Callable[..., Any]:
        """Return the code for arguments of these kinds; calling it directly is faster."""
        kinds = tuple(_kind(each) for each in arguments)
        code = self._codes.get(kinds)
        if code is None:
            known = None not in kinds
            translated = self._module.code(self._name, _as_lists(kinds)) if known else None
            code = self._codes[kinds] = translated or self._otherwise()
        return code


def _kind(value: Any) -> Any:
    """Return the kind of an argument as a key, or None if no translated function takes it."""
    if isinstance(value, np.ndarray):
        known = value.dtype.str in _ITEMS and value.flags.c_contiguous and value.flags.writeable
        return f"{value.dtype.str} {value.ndim}" if known else None
    if isinstance(value, tuple):
        kinds = tuple(_kind(each) for each in value)
        return None if None in kinds else kinds
    if isinstance(value, (bool, np.bool_)):
        return None
    if isinstance(value, (int, np.integer)):
        return "int64"
    return "double" if isinstance(value, (float, np.floating)) else None


def _as_lists(kinds: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(list(_as_lists(each)) if isinstance(each, tuple) else each for each in kinds)


def kept_path(what: str, *texts: str) -> Path | None:
    """Return the file of a translated function, named by its texts; None where none is kept.

    Unlike other code it does not depend on whether derivations are kept: its file is named by its
    text.
    """
    if os.environ.get("SYMDERIV_CACHE") == "off":
        return None
    return code_path(what, (*texts, translator_digest()))


def kept(
    path: Path | None,
    name: str,
    made: Callable[[], tuple[dict[str, Any], bytes]],
    others: Others = NO_OTHERS,
) -> MachineCode:
    """Return a function from its file, or as it is made, which is then written there.

    Args:
        path: The file.
        name: The name of the function in it.
        made: Returns how it is called, and its code.
        others: The functions that it is linked with, by their symbols.

    Raises:
        UntranslatableError: It cannot be made.
    """
    on_disk = (read(path, others) if path is not None else None) or {}
    if name in on_disk:
        return on_disk[name]
    entry, code = made()
    if path is not None:
        write(path, {name: (entry, code)})
    return linked(entry, code, others)


@cache
def translator_digest() -> str:
    """Return the texts of all modules that translate."""
    here = Path(__file__)
    files = [here, here.with_name("target.py"), *sorted((here.parent / "translation").glob("*.py"))]
    return "\0".join(path.read_text(encoding="utf-8") for path in files)
