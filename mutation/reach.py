"""Which tests reach a place of the sources.

Each test runs by itself, in a fork of a process that has collected its file, with no derived solver
kept: what a cache would spare it is seen to be reached. Python does not see lines of compiled
functions, nor again what ran at import; such a place is reached by the tests that reach a function
that names it, and by tests that name it themselves. A function that is pasted as text into a
generated module is reached by being pasted.
"""

from __future__ import annotations

import ast
import gc
import hashlib
import json
import os
import shutil
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from mutation.operators import Mutant
from mutation.process import Ended, allow_seconds, enter, forked
from mutation.snapshot import Snapshot
from mutation.together import watched_together

__all__ = ["Reach", "Reached", "measure", "pytest_words"]

#: CPU seconds for one test of unchanged sources while it is watched; one that takes longer is not
#: asked, and named: others of its room are many times cheaper.
_LONGEST_TEST: Final = 24.0


@dataclass(frozen=True)
class Reached:
    """A test on unchanged sources: CPU seconds, whether it passed, lines by file.

    ``digest`` is of its own file, ``why`` says what was wrong where it did not pass.
    """

    digest: str
    test: str
    seconds: float
    passed: bool
    lines: dict[str, frozenset[int]]
    why: str = ""


def pytest_words(ids: Iterable[str]) -> list[str]:
    """How pytest is called."""
    words = [
        "--every-day",
        "-q",
        "-x",
        "--no-header",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        "--tb=line",
        "--assert=plain",
    ]
    return [*words, *ids]


def measure(
    snapshot: Snapshot,
    tests: Iterable[str],
    kept: Path,
    until: Callable[[], bool] = lambda: False,
    without: Iterable[str] = (),
    together: bool = False,
) -> list[Reached]:
    """Tests in files and folders with the lines they reach; what ``kept`` has is not run again.

    Args:
        together: The tests of a file in one process, see :mod:`mutation.together`.
    """
    files = [path for path in _files(snapshot, tests) if path not in without]
    for path in files:
        digest = _digest(snapshot, path)
        if digest in {entry.digest for entry in _read(kept)}:
            continue
        if until():
            raise SystemExit("stopped; goes on here the next time")
        print(f"which lines does {path} reach?", flush=True)
        ended = forked(lambda path=path: _watched_file(snapshot, path, together), 4 * 3600)
        if ended.answer is None:
            raise RuntimeError(f"{path}: {ended.printed[-2000:]}")
        with kept.open("a", encoding="utf-8") as out:
            for entry in ended.answer:
                out.write(json.dumps({**entry, "digest": digest}) + "\n")
    wanted = {_digest(snapshot, path) for path in files}
    return [entry for entry in _read(kept) if entry.digest in wanted]


def _digest(snapshot: Snapshot, path: str) -> str:
    """Names a file of tests with its text, so that a changed one is run again."""
    return hashlib.sha256(path.encode() + (snapshot.top / path).read_bytes()).hexdigest()[:16]


def _files(snapshot: Snapshot, tests: Iterable[str]) -> list[str]:
    found = []
    for name in tests:
        path = snapshot.top / name
        paths = sorted(path.rglob("test_*.py")) if path.is_dir() else [path]
        found += [p.relative_to(snapshot.top).as_posix() for p in paths]
    return found


def _read(kept: Path) -> list[Reached]:
    if not kept.exists():
        return []
    entries = [json.loads(line) for line in kept.read_text(encoding="utf-8").splitlines()]
    return [
        Reached(
            e["digest"],
            e["test"],
            e["seconds"],
            e["passed"],
            {file: frozenset(lines) for file, lines in e["lines"].items()},
            e.get("why", ""),
        )
        for e in entries
    ]


def _watched_file(snapshot: Snapshot, path: str, together: bool) -> list[dict[str, Any]]:
    import pytest

    enter(snapshot, snapshot.compiled, snapshot.folder / "empty")
    if together:
        return watched_together(snapshot, pytest_words([path]))
    watcher = _Watcher(snapshot)
    code = pytest.main(pytest_words([path]), plugins=[watcher])
    if code not in (0, 1, 5):
        raise RuntimeError(f"pytest ended with {code}")
    return watcher.entries


class _Watcher:
    """A plugin of pytest that runs each test in a fork and notes the lines it reaches."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.entries: list[dict[str, Any]] = []

    def pytest_runtest_protocol(self, item: Any, nextitem: Any) -> bool:
        ended = forked(lambda: self._watched(item), 20 * _LONGEST_TEST)
        entry = {"test": item.nodeid, "seconds": ended.seconds, **self._seen(ended)}
        self.entries.append(entry)
        return True

    @staticmethod
    def _seen(ended: Ended) -> dict[str, Any]:
        late = f"takes over {_LONGEST_TEST:g} CPU seconds"
        why = late if ended.out_of_time else ended.printed[-300:]
        return ended.answer or {"passed": False, "lines": {}, "why": why}

    def _watched(self, item: Any) -> dict[str, Any]:
        from _pytest.runner import runtestprotocol
        from coverage import Coverage

        allow_seconds(_LONGEST_TEST)
        gc.freeze()
        caches = Path(os.environ["TMPDIR"], "caches")
        os.environ["XDG_CACHE_HOME"] = str(caches)
        top = self.snapshot.top
        include = [str(top / "symderiv" / "*"), str(top / "codegen" / "*")]
        coverage = Coverage(data_file=None, include=include, config_file=False)
        pasted = _note_pasted()
        coverage.start()
        reports = runtestprotocol(item, nextitem=None, log=False)
        coverage.stop()
        with warnings.catch_warnings():
            # of a test that reaches no line, because it looks at numbers or starts a process
            warnings.simplefilter("ignore")
            data = coverage.get_data()
        lines = {
            Path(file).relative_to(top).as_posix(): sorted(data.lines(file) or ())
            for file in data.measured_files()
        }
        for file, more in pasted.items():
            name = Path(file).relative_to(top).as_posix()
            lines[name] = sorted(more.union(lines.get(name, ())))
        for solver in (caches / "symderiv").rglob("kernel_*.py"):
            kept = self.snapshot.derived / solver.relative_to(caches)
            kept.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(solver, kept)
        failed = [r for r in reports if r.failed]
        passed = not failed and any(r.when == "call" and r.passed for r in reports)
        return {
            "passed": passed,
            "lines": lines,
            "why": str(failed[0].longrepr)[-300:] if failed else "",
        }


def _note_pasted() -> dict[str, set[int]]:
    """Lines of functions that are pasted from now on, by file; filled as it happens."""
    from symderiv_codegen.printers import pasting

    from symderiv.numerics import extension

    noted: dict[str, set[int]] = {}
    places: dict[str, tuple[str, range]] = {}
    special = (*extension.DOUBLES, *extension.MULTIPRECISION)
    files = [Path(module.__file__ or "") for module in special]
    for path in (Path(pasting.__file__).with_name(pasting.ELEMENTARY), *files):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef):
                places[node.name] = str(path), range(node.lineno, (node.end_lineno or 0) + 1)
    plain = pasting._without_annotations

    def noting(text: str, node: ast.FunctionDef) -> str:
        # a template has no file of its own: what it calls is pasted beside it
        if node.name in places:
            file, lines = places[node.name]
            noted.setdefault(file, set()).update(lines)
        return plain(text, node)

    pasting._without_annotations = noting
    return noted


class Reach:
    """Answers which tests reach a mutant."""

    def __init__(self, snapshot: Snapshot, measured: list[Reached]) -> None:
        self.snapshot = snapshot
        self.seconds = {e.test: e.seconds for e in measured if e.passed}
        self.keys = {e.test: f"{e.digest} {e.test}" for e in measured}
        self.unasked = sorted(f"{e.test} ({e.why or 'fails'})" for e in measured if not e.passed)
        self._by_line: dict[tuple[str, int], set[str]] = {}
        self._naming = _Naming(snapshot, self.seconds)
        for entry in measured:
            if entry.passed:
                for file, lines in entry.lines.items():
                    for line in lines:
                        self._by_line.setdefault((file, line), set()).add(entry.test)

    @cached_property
    def _sources(self) -> _Sources:
        return _Sources(self.snapshot)

    def tests(self, mutant: Mutant) -> list[str]:
        """Tests that reach the place, the quickest first."""
        found = self._at(mutant.file, mutant.statement, set())
        return sorted(found, key=lambda test: (self.seconds[test], test))

    def touches_compiled(self, mutant: Mutant) -> bool:
        """Whether compiled code may hold the place: a compiled function, or a constant."""
        place = self._sources.place(mutant.file, mutant.statement[0])
        return place is None or not place.runs

    def _at(self, file: str, lines: tuple[int, int], seen: set[str]) -> set[str]:
        place = self._sources.place(file, lines[0])
        if place is None:
            # at module level: whatever uses the names that are assigned there
            names = self._sources.assigned(file, lines[0])
            found = self._users(names, seen) | self._naming.tests(file, names)
            return found or self._anywhere(file)
        if not place.runs:
            return self._users([place.name], seen) | self._naming.tests(file, [place.name])
        if lines[0] <= place.first < lines[1] or lines[0] < place.body:
            lines = (place.body, place.last)
        found = set()
        for line in range(lines[0], lines[1] + 1):
            found |= self._by_line.get((file, line), set())
        return found

    def _anywhere(self, file: str) -> set[str]:
        found = set()
        for place in self._sources.places[file]:
            for line in range(place.body, place.last + 1):
                found |= self._by_line.get((file, line), set())
        return found

    def _users(self, names: Iterable[str], seen: set[str]) -> set[str]:
        found = set()
        for name in names:
            if name not in seen:
                seen.add(name)
                for file, line in self._sources.uses.get(name, ()):
                    found |= self._at(file, (line, line), seen)
        return found


class _Naming:
    """Which tests name what of a module that their file imports."""

    def __init__(self, snapshot: Snapshot, tests: Iterable[str]) -> None:
        self._tests: dict[str, dict[str, list[str]]] = {}
        for test in tests:
            file, _, function = test.partition("::")
            own = self._tests.setdefault(file, {})
            own.setdefault(function.partition("[")[0].rpartition("::")[2], []).append(test)
        trees = {file: ast.parse(snapshot.read(file)) for file in self._tests}
        self._imported = {file: _imported(tree) for file, tree in trees.items()}
        self._named = {
            file: {
                node.name: _named(node) for node in tree.body if isinstance(node, ast.FunctionDef)
            }
            for file, tree in trees.items()
        }

    def tests(self, source: str, names: Iterable[str]) -> set[str]:
        """Tests whose function names one of these, in files that import the source's module."""
        found: set[str] = set()
        for file, own in self._tests.items():
            if Path(source).stem in self._imported[file]:
                for function, tests in own.items():
                    if self._named[file].get(function, set()) & set(names):
                        found.update(tests)
        return found


def _imported(tree: ast.Module) -> set[str]:
    """The last parts of what a file imports, and of the modules that it imports from."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            found.update(alias.name.rpartition(".")[2] for alias in node.names)
        if isinstance(node, ast.ImportFrom):
            found.add((node.module or "").rpartition(".")[2])
    return found


def _named(tree: ast.AST) -> set[str]:
    nodes = list(ast.walk(tree))
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    return names | {node.attr for node in nodes if isinstance(node, ast.Attribute)}


@dataclass(frozen=True)
class _Function:
    """A function: its lines, where its body begins, and whether Python runs it as it stands."""

    name: str
    first: int
    body: int
    last: int
    runs: bool


class _Sources:
    """Functions of all sources, and where names are used."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.places: dict[str, list[_Function]] = {}
        self.uses: dict[str, list[tuple[str, int]]] = {}
        self._trees: dict[str, ast.Module] = {}
        for package in ("symderiv", "codegen"):
            for path in sorted((snapshot.top / package).rglob("*.py")):
                self._read(path.relative_to(snapshot.top).as_posix(), path.read_text())

    def _read(self, file: str, text: str) -> None:
        tree = self._trees[file] = ast.parse(text)
        self.places[file] = []
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                runs = not any("compiled" in ast.unparse(d) for d in node.decorator_list)
                first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
                last = node.end_lineno or node.lineno
                function = _Function(node.name, first, node.body[0].lineno, last, runs)
                self.places[file].append(function)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                self.uses.setdefault(node.id, []).append((file, node.lineno))
            elif isinstance(node, ast.Attribute):
                self.uses.setdefault(node.attr, []).append((file, node.lineno))

    def place(self, file: str, line: int) -> _Function | None:
        """The innermost function around a line; a compiled one in preference."""
        around = [f for f in self.places[file] if f.first <= line <= f.last]
        compiled = [f for f in around if not f.runs]
        chosen = compiled or around
        return max(chosen, key=lambda f: f.first) if chosen else None

    def assigned(self, file: str, line: int) -> list[str]:
        """Names that the module's statement at a line gives a meaning to."""
        for node in self._trees[file].body:
            if node.lineno <= line <= (node.end_lineno or node.lineno):
                if isinstance(node, ast.ClassDef):
                    return [node.name]
                names = [n for n in ast.walk(node) if isinstance(n, ast.Name)]
                return [n.id for n in names if isinstance(n.ctx, ast.Store)]
        return []
