"""What an addition to the engine is: edits of files, and a check that fails without them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.import_arrows import ROOT

__all__ = ["Addition", "Copy", "Edit", "Tried"]

_CODE = ("symderiv/", "codegen/")
_SOURCES = ("", "codegen", "generated", "ledger", "models", "papers")
_LAST_LINES = 12
_PYTEST = ("-m", "pytest", "-q", "-p", "no:cacheprovider")
_NOT_TODAY = 5  # pytest's status where no test is left: all are dealt to other days


@dataclass(frozen=True)
class Edit:
    """A text of a file, which occurs in it exactly once, and what stands there afterwards."""

    path: str
    old: str
    new: str


@dataclass(frozen=True)
class Addition:
    """Something new, as a person would add it.

    Attributes:
        row: What it is an example of: the first cell of its row in "Where something new goes".
        what: The example, in a few words.
        goal: The most files that shall have to be touched.
        edits: Of files that there are.
        check: Lines of Python that end well with the edits only.
        made: New files.
        asking: Files of tests, or single tests, that ask for something of such an addition.
    """

    row: str
    what: str
    goal: int
    edits: tuple[Edit, ...]
    check: str
    made: Mapping[str, str] = field(default_factory=dict)
    asking: tuple[str, ...] = ()

    @property
    def files(self) -> tuple[str, ...]:
        """The files that are touched; those of the engine first."""
        found = {*(edit.path for edit in self.edits), *self.made}
        return tuple(sorted(found, key=lambda path: (not path.startswith(_CODE), path)))

    @property
    def code(self) -> tuple[str, ...]:
        """Those that are part of the engine."""
        return tuple(path for path in self.files if path.startswith(_CODE))

    def faults(self, root: Path = ROOT) -> list[str]:
        """Return what keeps the edits from being made in a tree."""
        found = [f"{path} is there already" for path in self.made if (root / path).exists()]
        for edit in self.edits:
            count = (root / edit.path).read_text(encoding="utf-8").count(edit.old)
            if count != 1:
                first = edit.old.strip().splitlines()[0]
                found.append(f"{edit.path}: {first!r} occurs {count} times")
        return found

    def make(self, root: Path) -> None:
        """Make the edits in a tree.

        Raises:
            ValueError: The tree has changed so that they cannot be made.
        """
        faults = self.faults(root)
        if faults:
            raise ValueError("; ".join(faults))
        for edit in self.edits:
            path = root / edit.path
            text = path.read_text(encoding="utf-8")
            path.write_text(text.replace(edit.old, edit.new), encoding="utf-8")
        for name, text in self.made.items():
            (root / name).write_text(text, encoding="utf-8")


@dataclass(frozen=True)
class Tried:
    """What became of an addition.

    Attributes:
        needed: Whether its check fails without the edits.
        works: Whether it ends well with them.
        accepted: Whether the tests that ask for something pass; None if they were not run.
        last: The last lines of what ran last.
    """

    needed: bool
    works: bool
    accepted: bool | None
    last: str

    @property
    def well(self) -> bool:
        """Whether the addition is one, with all that it takes."""
        return self.needed and self.works and self.accepted is not False


class Copy:
    """A copy of the files that git knows of, as they are in the tree.

    Args:
        folder: An empty folder, which also holds what is compiled and derived there.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        command = ["git", "-C", str(ROOT), "ls-files", "-z"]
        listed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        for name in filter(None, listed.split("\0")):
            self._restore(name)

    def _restore(self, name: str) -> None:
        """Bring a file back to what it is in the tree."""
        source, copy = ROOT / name, self.folder / name
        if source.is_file():
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, copy)
        else:
            copy.unlink(missing_ok=True)

    def tried(self, addition: Addition, with_tests: bool = False) -> Tried:
        """Return what becomes of an addition; the copy is afterwards as it was.

        Args:
            addition: What is added.
            with_tests: Also run the tests that ask for something of such an addition.
        """
        check = ["-c", addition.check]
        needed = bool(self._run(check)[0])
        try:
            addition.make(self.folder)
            failed, last = self._run(check)
            accepted: bool | None = None
            if with_tests and not failed:
                status, last = self._run([*_PYTEST, *addition.asking])
                accepted = status in (0, _NOT_TODAY)
        finally:
            for name in addition.files:
                self._restore(name)
        return Tried(needed, not failed, accepted, last)

    def _run(self, arguments: list[str]) -> tuple[int, str]:
        """Return the exit status of Python in the copy, and the last lines that it wrote."""
        paths = os.pathsep.join(str(self.folder / each) for each in _SOURCES)
        # nothing is read from, or left in, the user's cache
        cache = str(self.folder / ".cache")
        environment = {**os.environ, "PYTHONPATH": paths, "XDG_CACHE_HOME": cache}
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
        )
        lines = [*done.stdout.splitlines(), *done.stderr.splitlines()]
        return done.returncode, "\n".join(lines[-_LAST_LINES:])
