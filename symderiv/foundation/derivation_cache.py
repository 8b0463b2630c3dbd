"""Derivations that are kept on disk: what was derived once is read when it is asked for again.

A derivation depends on its arguments, its module, the sources of the rooms that make it, and the
versions of SymPy and Python. The file's name is a digest of all of them, so nothing is ever out of
date, and the file carries the mark of :mod:`symderiv.foundation.seals`: one that is damaged is
derived anew. The folder is the user's own cache, as for compiled code; results are pickled there,
so whoever can write to it could run code as that user. What nobody needs to derive a second time
comes with the package, in a file with the digest of the sources that it was derived by; other
sources derive it anew. ``SYMDERIV_CACHE=off`` derives everything anew.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import inspect
import os
import pickle
import re
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from fractions import Fraction
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

from symderiv import __version__
from symderiv.foundation.files import replace_file
from symderiv.foundation.seals import is_sealed, sealed

P = ParamSpec("P")
T = TypeVar("T")

#: Processes that change the engine under test neither read nor write.
enabled = True

Call = tuple[Callable[..., Any], tuple[Any, ...]]
_listening: list[list[Call]] = []

_ENGINE = Path(__file__).resolve().parents[1]


def cache_folder() -> Path:
    """Return the cache folder: ``$XDG_CACHE_HOME/symderiv`` or ``~/.cache/symderiv``."""
    configured = os.environ.get("XDG_CACHE_HOME", "")
    # the standard says that a relative path there is to be ignored
    base = Path(configured) if os.path.isabs(configured) else Path.home() / ".cache"
    return base / "symderiv"


def is_on() -> bool:
    """Return whether anything is kept, or read from where it is kept."""
    return enabled and os.environ.get("SYMDERIV_CACHE") != "off"


@functools.lru_cache(maxsize=8)
def sources_digest(*rooms: str, also: tuple[Path, ...] = ()) -> str:
    """Return a digest of SymPy's version and of all Python files in rooms and folders.

    Raises:
        FileNotFoundError: if a room or folder does not exist.
    """
    digest = _of_sympy()
    for folder in (*(_ENGINE / name for name in rooms), *also):
        sources = sorted(folder.rglob("*.py"))
        if not sources:
            raise FileNotFoundError(f"there are no Python files in {folder}")
        for path in sources:
            digest.update(path.read_bytes())
    return digest.hexdigest()


@functools.lru_cache(maxsize=8)
def imports_digest(*modules: str, also: tuple[Path, ...] = ()) -> str:
    """Return a digest of SymPy's version, of modules and all that they import from symderiv, and of
    all Python files in folders.
    """
    digest = _of_sympy()
    if also:
        digest.update(sources_digest(also=also).encode())
    for path in imported_sources(*modules):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _of_sympy() -> hashlib._Hash:
    """Return the beginning of a digest."""
    from importlib.metadata import version

    return hashlib.sha256(version("sympy").encode())


def package_folders(name: str) -> tuple[Path, ...]:
    """Return the folders of a package that is not imported here, which may take long."""
    spec = importlib.util.find_spec(name)
    return tuple(map(Path, spec.submodule_search_locations or ())) if spec else ()


def derived_once(
    *rooms: str,
    also: tuple[Path, ...] = (),
    imports: tuple[str, ...] = (),
    shipped: Path | None = None,
    kept: bool = True,
    remembered: int = 8,
) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Keep what a function returns, in this process and on disk.

    Args:
        rooms: the rooms of ``symderiv/``, whose sources the result depends on beside the function's
            module.
        also: other folders of such sources.
        imports: modules, on which and on whose imports it depends, instead of rooms.
        shipped: a file of the package with results, see :func:`ship`.
        kept: whether results that do not come with the package are kept on disk.
        remembered: how many are kept in this process.

    The function's arguments must be hashable and be told apart by their ``repr``; what it returns
    must survive pickling. Errors are not kept.
    """

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        @functools.lru_cache(maxsize=remembered)
        def looked_up(*args: P.args, **kwargs: P.kwargs) -> T:
            for calls in _listening:
                calls.append((looked_up, args))
            if not is_on():
                return function(*args, **kwargs)
            if imports:
                sources = imports_digest(*imports, also=also)
            else:
                sources = sources_digest(*rooms, also=also)
            arguments = _told(args, kwargs)
            if shipped is not None:
                packed = shipped_results(shipped, sources).get(_call(function, arguments))
                if packed is not None:
                    return cast("T", pickle.loads(packed))
            if not kept:
                return function(*args, **kwargs)
            path = _place(function, sources, arguments)
            with suppress(Exception):  # whatever is wrong with the file, it can be derived anew
                content = path.read_bytes()
                if is_sealed(content):
                    name, stored = pickle.loads(content)
                    if name == path.name:  # not a result of other arguments
                        return cast("T", stored)
            result = function(*args, **kwargs)
            with suppress(OSError):  # a cache that cannot be written to costs time only
                replace_file(path, sealed(pickle.dumps((path.name, result)), "pickle"))
            return result

        return cast("Callable[P, T]", functools.update_wrapper(looked_up, function))

    return decorate


@contextmanager
def derived_from_nothing() -> Iterator[None]:
    """Keep nothing, and read nothing that is kept: what is kept was asked for other results when it
    was derived, and does not ask for them again.
    """
    global enabled
    before, enabled = enabled, False
    try:
        yield
    finally:
        enabled = before


@contextmanager
def noted_calls() -> Iterator[list[Call]]:
    """Yield a list to which functions that are derived once, and what they are called with, are
    added when a process first asks.
    """
    calls: list[Call] = []
    _listening.append(calls)
    try:
        yield calls
    finally:
        _listening.remove(calls)


def ship(path: Path, sources: str, *calls: Call) -> None:
    """Write results, derived anew, that come with the package.

    Args:
        path: where to.
        sources: the digest of what they depend on, by :func:`sources_digest` or
            :func:`imports_digest`.
        calls: functions, as :func:`derived_once` gave them, and the arguments of a call each.
    """
    results = {}
    for function, args in calls:
        derive = inspect.unwrap(function)
        results[_call(derive, _told(args, {}))] = pickle.dumps(derive(*args))
    path.write_bytes(sealed(zlib.compress(pickle.dumps((sources, results)), 9), "pickle"))


@functools.lru_cache(maxsize=8)
def shipped_results(path: Path, sources: str) -> Mapping[str, bytes]:
    """Return pickled results by their calls; none if the file is damaged or of other sources."""
    with suppress(Exception):  # whatever is wrong with the file, they can be derived anew
        content = path.read_bytes()
        if is_sealed(content):
            made_by, results = pickle.loads(zlib.decompressobj().decompress(content))
            if made_by == sources:
                return cast("Mapping[str, bytes]", results)
    return {}


def _call(function: Callable[..., object], arguments: str) -> str:
    return f"{function.__qualname__}{arguments}"


def _told(args: tuple[object, ...], kwargs: Mapping[str, object]) -> str:
    """Return a text that is another one for other arguments of a call."""
    named = [(name, _short(value)) for name, value in sorted(kwargs.items())]
    return repr((_short(args), named))


def _short(value: object) -> object:
    """Return a value with digests in place of formulas, which take longer to print than many
    questions about them; numbers of SymPy, and whole ones, are told as those of Python are.
    """
    if type(value) is tuple:
        return tuple(map(_short, value))
    if isinstance(value, Fraction) and value.denominator == 1:
        return int(value)
    is_tree = hasattr(value, "free_symbols") and bool(getattr(value, "args", ()))
    return _of_formula(value) if is_tree else value


@functools.lru_cache(maxsize=1 << 16, typed=True)
def _of_formula(formula: Any) -> str:
    """Return a text that is another one for another tree; trees share their parts."""
    inside = ", ".join(map(_of_formula, formula.args)) or repr(formula)
    text = f"{type(formula).__name__}({inside})"
    return text if len(text) < 100 else hashlib.sha256(text.encode()).hexdigest()


def _place(function: Callable[..., object], sources: str, arguments: str) -> Path:
    digest = hashlib.sha256()
    for part in (
        "with its name",
        __version__,
        ".".join(map(str, sys.version_info[:3])),
        sources,
        _own_text(function),
        f"{function.__module__}.{function.__qualname__}",
        arguments,
    ):
        digest.update(part.encode())
        digest.update(b"\0")
    return cache_folder() / "derived" / f"{digest.hexdigest()[:32]}.pickle"


def _own_text(function: Callable[..., object]) -> str:
    """Return the module that a function stands in; empty for one that was typed."""
    with suppress(OSError, TypeError, UnicodeDecodeError):
        return Path(inspect.getfile(inspect.unwrap(function))).read_text(encoding="utf-8")
    return ""


_LEFT_OUT = _ENGINE / "foundation", _ENGINE / "compiled_code"
_FOR_TYPES = re.compile(r"^if TYPE_CHECKING:\n(?:[ \t]+[^\n]*\n|\n)*", re.MULTILINE)
_IMPORT = re.compile(
    r"^[ \t]*from[ \t]+(symderiv(?:\.\w+)*)[ \t]+import[ \t]+(\([^)]*\)|[^\n]*)"
    r"|^[ \t]*import[ \t]+(symderiv(?:\.\w+)*)",
    re.MULTILINE,
)


def imported_sources(*modules: str) -> tuple[Path, ...]:
    """Return the files of modules of symderiv, and of all that they import from it, in order.

    They are found in the texts, so that nothing is imported. An import inside of a function counts,
    one that is made by name (``importlib``) or for types alone does not. The rooms ``foundation``
    and ``compiled_code`` are left out: what is derived does not depend on how it is written,
    sealed, shown or compiled.

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
    place = _ENGINE.joinpath(*module.split(".")[1:])
    for file in (place / "__init__.py", place.with_suffix(".py")):
        if file.is_file():
            return file
    return None
