"""Derivations that are kept on disk, so that each is derived only once.

A derivation depends on its arguments, its module, the sources of the rooms that make it, and the
versions of SymPy and Python. The file's name is a digest of all of them, so that no file is ever
out of date, and the file carries the mark of :mod:`symderiv.foundation.seals`: a damaged one is
derived anew. The folder is the user's own cache, as for compiled code; results are pickled there,
so whoever can write to it could run code as that user. Results that are the same for all users come
with the package, in a file with the digest of the sources from which they were derived; if the
sources have changed, they are derived anew. ``SYMDERIV_CACHE=off`` derives everything anew.
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

#: Set to False by processes that change the engine under test: they neither read nor write.
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
    """Return whether derivations and code are read from the cache and written to it."""
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
    """Return a digest of SymPy's version, of modules with their imports, and of folders.

    The imports are those from symderiv, also indirect ones; of folders all Python files count.
    """
    digest = _of_sympy()
    if also:
        digest.update(sources_digest(also=also).encode())
    for path in imported_sources(*modules):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _of_sympy() -> hashlib._Hash:
    """Return a hash object that has taken in SymPy's version."""
    from importlib.metadata import version

    return hashlib.sha256(version("sympy").encode())


def package_folders(name: str) -> tuple[Path, ...]:
    """Return the folders of a package without importing it, which may take long."""
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
    """Keep the results of a function, in this process and on disk.

    Args:
        rooms: the rooms of ``symderiv/`` on whose sources the result depends, beside the
            function's module.
        also: other folders of such sources.
        imports: modules on which and on whose imports it depends, instead of rooms.
        shipped: a file of the package with results, see :func:`ship`.
        kept: whether results that do not come with the package are kept on disk.
        remembered: the number of results kept in this process.

    The function's arguments must be hashable and be told apart by their ``repr``; its results must
    survive pickling. Errors are not kept.
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
            with suppress(Exception):  # if anything is wrong with the file, derive anew
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
    """Switch the cache off inside the block.

    A result from the cache does not call the functions that were called when it was derived;
    without the cache, all of these calls are made.
    """
    global enabled
    before, enabled = enabled, False
    try:
        yield
    finally:
        enabled = before


@contextmanager
def noted_calls() -> Iterator[list[Call]]:
    """Yield a list of the calls of functions that are derived once, with their arguments.

    A call is added when this process makes it for the first time.
    """
    calls: list[Call] = []
    _listening.append(calls)
    try:
        yield calls
    finally:
        _listening.remove(calls)


def ship(path: Path, sources: str, *calls: Call) -> None:
    """Write a file of results, derived anew, that comes with the package.

    Args:
        path: the file that is written.
        sources: the digest of what they depend on, by :func:`sources_digest` or
            :func:`imports_digest`.
        calls: functions, as :func:`derived_once` returned them, each with the arguments of a call.
    """
    results = {}
    for function, args in calls:
        derive = inspect.unwrap(function)
        results[_call(derive, _told(args, {}))] = pickle.dumps(derive(*args))
    path.write_bytes(sealed(zlib.compress(pickle.dumps((sources, results)), 9), "pickle"))


@functools.lru_cache(maxsize=8)
def shipped_results(path: Path, sources: str) -> Mapping[str, bytes]:
    """Return pickled results by call; empty if the file is damaged or of other sources."""
    with suppress(Exception):  # if anything is wrong with the file, results are derived anew
        content = path.read_bytes()
        if is_sealed(content):
            made_by, results = pickle.loads(zlib.decompressobj().decompress(content))
            if made_by == sources:
                return cast("Mapping[str, bytes]", results)
    return {}


def _call(function: Callable[..., object], arguments: str) -> str:
    return f"{function.__qualname__}{arguments}"


def _told(args: tuple[object, ...], kwargs: Mapping[str, object]) -> str:
    """Return a text that is unique for the arguments of a call."""
    named = [(name, _short(value)) for name, value in sorted(kwargs.items())]
    return repr((_short(args), named))


def _short(value: object) -> object:
    """Return a value in which formulas are replaced by digests, which are faster to print.

    Fractions with denominator 1 become integers, so that equal numbers have one text.
    """
    if type(value) is tuple:
        return tuple(map(_short, value))
    if isinstance(value, Fraction) and value.denominator == 1:
        return int(value)
    is_tree = hasattr(value, "free_symbols") and bool(getattr(value, "args", ()))
    return _of_formula(value) if is_tree else value


@functools.lru_cache(maxsize=1 << 16, typed=True)
def _of_formula(formula: Any) -> str:
    """Return a text or digest that is unique for a tree; those of common subtrees are cached."""
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
    """Return the text of the module in which a function is defined; empty if it has no file."""
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

    The texts are searched, so that nothing is imported. An import inside a function counts; one
    that is made by name (``importlib``) or for types alone does not. The rooms ``foundation`` and
    ``compiled_code`` are left out: results do not depend on how they are written, sealed, shown or
    compiled.

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
    """Return the names of modules that a file imports, also those imported by ``from``."""
    named: list[str] = []
    text = file.read_text("utf-8")
    if file.name != "__init__.py":  # packages import lazily what they list under TYPE_CHECKING
        text = _FOR_TYPES.sub("", text)
    for source, names, module in _IMPORT.findall(text):
        named.append(module or source)
        for name in re.findall(r"\w+", re.sub(r"#[^\n]*|\bas\s+\w+", "", names)):
            if _file(f"{source}.{name}") is not None:
                named.append(f"{source}.{name}")
    return tuple(named)


def _files(module: str) -> list[Path]:
    """Return the files that an import of a module runs: its packages, then its own."""
    if _file(module) is None:
        raise FileNotFoundError(f"there is no module {module}")
    parts = module.split(".")
    packages = (_file(".".join(parts[:count])) for count in range(2, len(parts) + 1))
    return [file for file in packages if file is not None]


@functools.cache
def _file(module: str) -> Path | None:
    """Return the file of a module, or None if there is no such module."""
    place = _ENGINE.joinpath(*module.split(".")[1:])
    for file in (place / "__init__.py", place.with_suffix(".py")):
        if file.is_file():
            return file
    return None
