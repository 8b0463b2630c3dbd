"""One change under test, in a forked process that imports only what the change can touch."""

from __future__ import annotations

import gc
import json
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Final

from mutation.needs import needs
from mutation.operators import Mutant, changed_text
from mutation.process import Ended, allow_seconds, enter, forked
from mutation.reach import Reach, pytest_words
from mutation.rooms import Room
from mutation.snapshot import Snapshot

__all__ = ["Outcome", "try_all"]

#: Tests asked first; most changes are noticed there, and the others' files need not be collected.
_FIRST: Final = 10
#: A test of a changed source may use this many times the CPU seconds of the unchanged one, and so
#: many more. A change that makes it longer counts as noticed: the test takes far less.
_TIMES_LONGER: Final = 10
_SECONDS_MORE: Final = 8.0
#: What compiling everything anew may take besides.
_TO_COMPILE: Final = 120.0


@dataclass(frozen=True)
class Outcome:
    """What the tests say to a mutant.

    Args:
        verdict: ``noticed``, ``time`` (a test took far too long), ``crash`` or ``survived``.
        by: The test that noticed.
        why: The beginning of what it says.
        tests, left: How many reach the place; how many of them were not run for lack of time.
        seconds: CPU seconds.
    """

    verdict: str
    by: str
    why: str
    tests: int
    left: int
    seconds: float


def try_all(
    snapshot: Snapshot,
    room: Room,
    chosen: list[Mutant],
    reach: Reach,
    most_seconds: float,
    tell: Callable[[Mutant, Outcome], None],
    *,
    until: Callable[[], bool] = lambda: False,
) -> None:
    """Try mutants of a room, those of a file one after the other.

    Args:
        until: Asked before each mutant; whether to stop.
        most_seconds: CPU seconds that the tests of one mutant may take on unchanged sources; the
            slowest are left out beyond.
        tell: Called with each result in a process of its own: it has to write it to a file.
    """
    passed = _Passed(snapshot.folder / "passed.jsonl")
    by_file: dict[str, list[Mutant]] = {}
    for mutant in chosen:
        by_file.setdefault(mutant.file, []).append(mutant)
    for file, group in by_file.items():

        def task(file: str = file, group: list[Mutant] = group) -> None:
            enter(snapshot, snapshot.compiled, snapshot.derived)
            _import_all(name for name, read in needs(snapshot).items() if file not in read)
            # pytest collects garbage twice; what is imported by now need not be looked at
            gc.collect()
            gc.freeze()
            for mutant in group:
                if until():
                    break
                tell(mutant, _try(snapshot, room, mutant, reach, passed, most_seconds))

        ended = forked(task, 24 * 3600)
        if ended.printed.strip():
            print(ended.printed.strip(), flush=True)


class _Passed:
    """Which tests passed in spite of a mutant; they need not be asked again."""

    def __init__(self, kept: Path) -> None:
        self.kept = kept
        self._keys: dict[str, set[str]] = {}
        if kept.exists():
            for line in kept.read_text(encoding="utf-8").splitlines():
                entry = json.loads(line)
                self._keys.setdefault(entry["id"], set()).update(entry["tests"])

    def __call__(self, mutant: Mutant) -> set[str]:
        return self._keys.get(mutant.identity, set())

    def add(self, mutant: Mutant, keys: list[str]) -> None:
        with self.kept.open("a", encoding="utf-8") as out:
            out.write(json.dumps({"id": mutant.identity, "tests": keys}) + "\n")


def _try(
    snapshot: Snapshot,
    room: Room,
    mutant: Mutant,
    reach: Reach,
    passed: _Passed,
    most_seconds: float,
) -> Outcome:
    reaching = reach.tests(mutant)
    known = passed(mutant)
    news = [test for test in reaching if reach.keys[test] not in known]
    asked, total = [], 0.0
    for test in news:
        total += reach.seconds[test]
        if asked and total > most_seconds:
            break
        asked.append(test)
    left = len(news) - len(asked)
    if not asked:
        why = "" if reaching else "no test reaches it"
        return Outcome("survived", "", why, len(reaching), 0, 0.0)
    compiles = reach.touches_compiled(mutant)
    text = changed_text(snapshot.read(mutant.file), mutant)
    number = int(mutant.identity, 16) % 10**8
    with snapshot.changed(mutant.file, text, number):
        wall = 120 + 20 * min(total, most_seconds) + (_TO_COMPILE if compiles else 0)
        ended = forked(lambda: _asked(snapshot, room, asked, reach, compiles), wall)
    outcome = _outcome(ended, len(reaching), left)
    if outcome.verdict == "survived":
        passed.add(mutant, [reach.keys[test] for test in asked])
    return outcome


def _outcome(ended: Ended, tests: int, left: int) -> Outcome:
    if ended.answer is None:
        last = ended.printed.rpartition("asked ")[2].splitlines()[:1]
        verdict = "time" if ended.out_of_time else "crash"
        return Outcome(verdict, (last or [""])[0], "", tests, left, ended.seconds)
    by, why = ended.answer
    return Outcome("noticed" if by else "survived", by, why, tests, left, ended.seconds)


def _asked(
    snapshot: Snapshot, room: Room, asked: list[str], reach: Reach, compiles: bool
) -> tuple[str, str]:
    """The first test that fails and the beginning of what it says; two empty texts if none does."""
    import pytest

    own = Path(os.environ["TMPDIR"])
    if compiles:
        _use_own_code(snapshot, own / "compiled")
    if room.derives:
        os.environ["XDG_CACHE_HOME"] = str(own / "derived")
    for ids in (asked[:_FIRST], asked[_FIRST:]):
        if not ids:
            continue
        asking = _Asking(reach.seconds, _TO_COMPILE if compiles else 0.0)
        code = pytest.main(pytest_words(ids), plugins=[asking])
        if code == pytest.ExitCode.USAGE_ERROR and not asking.by:
            # parameters have other names now
            files = list(dict.fromkeys(name.partition("::")[0] for name in ids))
            code = pytest.main(pytest_words(files), plugins=[asking])
        if asking.by:
            return asking.by, asking.why
        if code not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            return f"pytest ends with {int(code)}", ""
    return "", ""


def _use_own_code(snapshot: Snapshot, folder: Path) -> None:
    """Of the compiled code that is kept only that of solver modules, which import no engine."""
    import numba

    folder.mkdir()
    own = (snapshot.compiled.glob(pattern) for pattern in ("symderiv_kernels_*", "fast_*"))
    for kept in chain.from_iterable(own):
        shutil.copytree(kept, folder / kept.name, copy_function=os.link)
    numba.config.CACHE_DIR = str(folder)


class _Asking:
    """A plugin of pytest that limits each test's time and keeps the first failure."""

    def __init__(self, seconds: dict[str, float], more: float) -> None:
        self.seconds, self.more = seconds, more
        self.by, self.why = "", ""

    def pytest_runtest_setup(self, item: Any) -> None:
        print(f"asked {item.nodeid}", flush=True)
        base = self.seconds.get(item.nodeid, 10.0)
        allow_seconds(_TIMES_LONGER * base + _SECONDS_MORE + self.more)

    def pytest_runtest_logreport(self, report: Any) -> None:
        self._note(report)

    def pytest_collectreport(self, report: Any) -> None:
        self._note(report)

    def _note(self, report: Any) -> None:
        if report.failed and not self.by:
            self.by = report.nodeid or "collection"
            crash = getattr(report.longrepr, "reprcrash", None)
            self.why = (crash.message if crash else str(report.longrepr)[-200:])[:200]


def _import_all(names: Iterator[str]) -> None:
    import importlib

    for name in names:
        importlib.import_module(name)
