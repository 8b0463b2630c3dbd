"""The copy of the project that is changed, one place at a time, and changed back.

A real copy: parts of the engine read their own sources (digests of kept solvers, functions pasted
as text). Each source ends with one comment more than the original, so a test that passes in the
copy does not depend on the text of the sources as such.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

__all__ = ["Snapshot", "sources_digest"]

_PACKAGES: Final = ("symderiv", "codegen", "generated", "ledger", "models")
_BESIDE: Final = ("tests", "benchmarks", "examples", "docs", "pyproject.toml", "README.md")
_IGNORED: Final = shutil.ignore_patterns("__pycache__", "*.nc", "*-results", ".hypothesis")


class Snapshot:
    """A copy of the project in a folder, made once.

    Args:
        folder: Holds the copy and what is kept for it: compiled code, derived solvers, reach.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self.top = self.folder / "tree"
        self.compiled = self.folder / "compiled"
        self.derived = self.folder / "derived"

    def make(self, project: Path) -> None:
        """Copy the project, unless there is a copy already; what a stopped run left is mended."""
        if self.top.exists():
            self._restore()
            return
        unfinished = self.folder / "unfinished"
        shutil.rmtree(unfinished, ignore_errors=True)
        for name in (*_PACKAGES, *_BESIDE):
            source, target = project / name, unfinished / name
            if source.is_dir():
                shutil.copytree(source, target, ignore=_IGNORED)
            elif source.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source, target)
        for package in ("symderiv", "codegen"):
            for path in (unfinished / package).rglob("*.py"):
                path.write_text(path.read_text() + "# a copy\n")
        for place in (self.compiled, self.derived):
            place.mkdir(exist_ok=True)
        unfinished.rename(self.top)

    def refresh_tests(self, project: Path) -> None:
        """Take over the tests as they are now; sources stay as they are."""
        shutil.rmtree(self.top / "tests")
        shutil.copytree(project / "tests", self.top / "tests", ignore=_IGNORED)

    @property
    def search_path(self) -> list[str]:
        """What goes in front of Python's search path."""
        beside = (name for name in _PACKAGES if name != "symderiv")
        return [str(self.top), *(str(self.top / name) for name in beside)]

    def read(self, file: str) -> str:
        """The source of a file."""
        return (self.top / file).read_text(encoding="utf-8")

    def _restore(self) -> None:
        changed = self.folder / "changed"
        if changed.exists():
            # with the time of its last change, which kept code goes by
            shutil.copy2(self.folder / "original", self.top / changed.read_text())
            changed.unlink()

    @contextmanager
    def changed(self, file: str, text: str, number: int) -> Iterator[None]:
        """The file with another text, and what Python or numba kept of it out of the way.

        Args:
            number: A different one for each change: kept code knows a file by its size and the
                second of its last change.
        """
        path = self.top / file
        stamp = path.stat()
        shutil.copy2(path, self.folder / "original")
        (self.folder / "changed").write_text(file)
        try:
            path.write_text(text, encoding="utf-8")
            seconds = int(stamp.st_mtime) + 1 + number
            os.utime(path, (seconds, seconds))
            yield
        finally:
            self._restore()
            # processes started by tests do not know the folder for compiled code
            for package in _PACKAGES:
                for kept in (self.top / package).rglob("*.nb[ic]*"):
                    kept.unlink()


def sources_digest(project: Path) -> str:
    """Twelve digits that change with any source of the packages."""
    digest = hashlib.sha256()
    for package in _PACKAGES:
        for path in sorted((project / package).rglob("*.py")):
            digest.update(path.relative_to(project).as_posix().encode() + b"\0")
            digest.update(path.read_bytes())
    return digest.hexdigest()[:12]
