"""Finds the sources that a module depends on: what it imports from symderiv, and so on.

Found in the texts, so that nothing is imported for it. An import inside of a function counts, one
that is made by name (``importlib``) or for types alone does not. The rooms ``foundation`` and
``compiled_code`` are left out: what is derived does not depend on how it is written, sealed, shown
or compiled.
"""

from __future__ import annotations

import functools
import re
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]
_LEFT_OUT = _PACKAGE / "foundation", _PACKAGE / "compiled_code"
_FOR_TYPES = re.compile(r"^if TYPE_CHECKING:\n(?:[ \t]+[^\n]*\n|\n)*", re.MULTILINE)
_IMPORT = re.compile(
    r"^[ \t]*from[ \t]+(symderiv(?:\.\w+)*)[ \t]+import[ \t]+(\([^)]*\)|[^\n]*)"
    r"|^[ \t]*import[ \t]+(symderiv(?:\.\w+)*)",
    re.MULTILINE,
)


def imported_sources(*modules: str) -> tuple[Path, ...]:
    """Return the files of modules of symderiv, and of all that they import from it, in
    order.

    Args:
        modules: their names, e.g. ``symderiv.gaussian.engine``.

    Raises:
        FileNotFoundError: if there is no module of a name.
    """
    sources: set[Path] = set()
    waiting = [file for module in modules for file in _files(module)]
    while waiting:
        file = waiting.pop()
        if file not in sources and not any(map(file.is_relative_to, _LEFT_OUT)):
            sources.add(file)
            waiting += [each for name in _imports(file) for each in _files(name)]
    return tuple(sorted(sources))


@functools.cache
def _imports(file: Path) -> tuple[str, ...]:
    """Return the names of modules, and of what may be modules, that a file imports."""
    named: list[str] = []
    text = file.read_text("utf-8")
    if file.name != "__init__.py":  # packages import by name what they state for types
        text = _FOR_TYPES.sub("", text)
    for source, names, module in _IMPORT.findall(text):
        named.append(module or source)
        for name in re.findall(r"\w+", re.sub(r"#[^\n]*|\bas\s+\w+", "", names)):
            if _file(f"{source}.{name}") is not None:
                named.append(f"{source}.{name}")
    return tuple(named)


def _files(module: str) -> list[Path]:
    """Return the file of a module; those of the packages that it stands in run before it."""
    if _file(module) is None:
        raise FileNotFoundError(f"there is no module {module}")
    parts = module.split(".")
    packages = (_file(".".join(parts[:count])) for count in range(2, len(parts) + 1))
    return [file for file in packages if file is not None]


@functools.cache
def _file(module: str) -> Path | None:
    """Return where a module stands; None if there is no such module."""
    place = _PACKAGE.joinpath(*module.split(".")[1:])
    for file in (place / "__init__.py", place.with_suffix(".py")):
        if file.is_file():
            return file
    return None
