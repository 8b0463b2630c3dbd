"""Which files of the project each of its modules has read once it is imported.

Everything is imported once, in one process, and each import noted with the module whose body asks
for it, also where it is a function that imports (names that a package looks up when asked).
"""

from __future__ import annotations

import builtins
import importlib
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, Final

from mutation.process import enter, forked
from mutation.snapshot import Snapshot

__all__ = ["needs"]

_PACKAGES: Final = {"symderiv": "", "symderiv_codegen": "codegen"}


def needs(snapshot: Snapshot) -> dict[str, list[str]]:
    """Files by module, relative to the copy; a module that cannot be imported is left out."""
    kept = snapshot.folder / "needs.json"
    if not kept.exists():
        ended = forked(lambda: _imported(snapshot), 600)
        if ended.answer is None:
            raise RuntimeError(f"importing everything: {ended.printed[-2000:]}")
        kept.write_text(json.dumps(ended.answer))
    found: dict[str, list[str]] = json.loads(kept.read_text())
    return found


def _imported(snapshot: Snapshot) -> dict[str, list[str]]:
    enter(snapshot, snapshot.compiled, snapshot.derived)
    asked: dict[str, set[str]] = {}
    names = _modules(snapshot.top)
    for name in names:
        asked[name] = set(_around(name))
    _note_imports(asked)
    for name in names:
        importlib.import_module(name)
    files = {
        name: Path(module.__file__ or "").relative_to(snapshot.top).as_posix()
        for name, module in sys.modules.items()
        if name in asked
    }
    return {name: sorted({files[other] for other in _closure(name, asked)}) for name in names}


def _modules(top: Path) -> list[str]:
    names = []
    for package, folder in _PACKAGES.items():
        root = top / folder
        for path in sorted((root / package).rglob("*.py")):
            parts = path.relative_to(root).with_suffix("").parts
            names.append(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
    return [name for name in names if not name.endswith("__main__")]


def _around(name: str) -> list[str]:
    """The packages that hold a module."""
    parts = name.split(".")
    return [".".join(parts[:end]) for end in range(1, len(parts))]


def _note_imports(asked: dict[str, set[str]]) -> None:
    """From now on add to each module the modules that are imported while its body runs."""

    def note(names: list[str]) -> None:
        asking = _body_that_runs(sys._getframe(2))
        if asking in asked:
            asked[asking].update(name for name in names if name in asked)

    plain: Callable[..., Any] = builtins.__import__
    plain_module = importlib.import_module

    def noting(name: str, *more: Any, **named: Any) -> Any:
        module = plain(name, *more, **named)
        listed = named.get("fromlist") or (more[2] if len(more) > 2 else ())
        note([name, *(f"{name}.{each}" for each in listed or ())])
        return module

    def noting_module(name: str, package: str | None = None) -> Any:
        module = plain_module(name, package)
        note([name])
        return module

    builtins.__import__ = noting
    importlib.import_module = noting_module


def _body_that_runs(frame: FrameType | None) -> str:
    """The module of the project, innermost, whose body waits for this."""
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if frame.f_code.co_name == "<module>" and name.partition(".")[0] in _PACKAGES:
            return str(name)
        frame = frame.f_back
    return ""


def _closure(name: str, asked: dict[str, set[str]]) -> set[str]:
    found: set[str] = set()
    pending = [name]
    while pending:
        here = pending.pop()
        if here not in found:
            found.add(here)
            pending += asked[here]
    return found
