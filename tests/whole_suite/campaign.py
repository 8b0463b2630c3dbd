"""Runs files of tests in processes of their own and keeps how each of them ended."""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path

from support import rotating, session_derivations
from support.room_times import room_of

__all__ = ["TOP", "Campaign", "Ran"]

TOP = Path(__file__).parents[2]
#: Whose sources are the engine, beside what files of tests share.
_PACKAGES = ("symderiv", "codegen", "generated", "ledger", "models", "papers")
#: Seconds after which a file is stopped; the longest take a third of it.
_LONGEST = 3600.0
_SAID = re.compile(r"^(?:FAILED|ERROR|SKIPPED) \S.*", re.MULTILINE)
_COUNTS = re.compile(r"^=*\s*(\d+ \w+.*?) in [\d.]+s", re.MULTILINE)


@dataclass(frozen=True)
class Ran:
    """How a file of tests ended: pytest's exit code, counts and lines of what did not pass.

    ``text`` is a digest of the file, ``engine`` of what it tests.
    """

    file: str
    text: str
    engine: str
    code: int
    seconds: float
    counts: str
    said: tuple[str, ...]

    @property
    def passed(self) -> bool:
        return self.code == 0


class Campaign:
    """Files of tests, and how those that were run ended.

    Args:
        tests: The folder of all tests.
        results: Folder with ``results.jsonl`` and what files that failed have printed.
        only: Beginnings of the names of files below ``tests``, of which one must fit.
    """

    def __init__(self, tests: Path, results: Path, only: tuple[str, ...] = ("",)) -> None:
        self.tests, self.results = tests, results
        found = (path.relative_to(tests).as_posix() for path in tests.rglob("test_*.py"))
        self.files = sorted(name for name in found if name.startswith(only))
        if not self.files:
            raise SystemExit(f"no files of tests below {tests} begin with {', '.join(only)}")
        self.known: dict[str, Ran] = {}
        if self._lines.exists():
            for line in self._lines.read_text(encoding="utf-8").splitlines():
                row = json.loads(line)
                self.known[row["file"]] = Ran(**{**row, "said": tuple(row["said"])})

    @property
    def _lines(self) -> Path:
        return self.results / "results.jsonl"

    @cached_property
    def engine(self) -> str:
        """A digest of the sources of the packages and of what files of tests share."""
        folders = [self.tests.parent / name for name in _PACKAGES] + [self.tests]
        paths = [path for folder in folders for path in sorted(folder.rglob("*.py"))]
        return _digest(path for path in paths if not path.name.startswith("test_"))

    @property
    def open(self) -> list[str]:
        """Files that have not passed as they are, the failed ones first."""
        left = [file for file in self.files if not self._stands(file)]
        return sorted(left, key=lambda file: file not in self.known)

    @property
    def older(self) -> list[str]:
        """Files that have passed as they are, but with another engine."""
        return [
            file
            for file in self.files
            if self._stands(file) and self.known[file].engine != self.engine
        ]

    @property
    def passed(self) -> bool:
        return not self.open

    def _stands(self, file: str) -> bool:
        ran = self.known.get(file)
        return ran is not None and ran.passed and ran.text == _digest([self.tests / file])

    def run(self, processes: int) -> None:
        """Run what is open; if nothing is, what has passed with another engine."""
        files = self.open or self.older
        print(f"{len(files)} of {len(self.files)} files of tests to run", flush=True)
        self.results.mkdir(parents=True, exist_ok=True)
        with (
            # what one file has derived is there for the others
            tempfile.TemporaryDirectory(prefix="symderiv-derivations-") as derivations,
            ThreadPoolExecutor(processes) as pool,
        ):
            given = {session_derivations.FOLDER: derivations, rotating.GIVEN: "every"}
            try:
                begun = [pool.submit(self._ran, file, os.environ | given) for file in files]
                for number, ran in enumerate(as_completed(begun), start=1):
                    print(f"[{number:3}/{len(files)}] {_told(ran.result())}", flush=True)
            finally:
                pool.shutdown(cancel_futures=True)

    def _ran(self, file: str, environment: dict[str, str]) -> Ran:
        text, since = _digest([self.tests / file]), time.monotonic()
        words = ("-m", "pytest", "-p", "no:xdist", "-p", "no:cacheprovider", "-q", "-ra")
        printed = self.results / f"{file.replace('/', '-')}.txt"
        with printed.open("w", encoding="utf-8") as out:
            try:
                code = subprocess.run(
                    [sys.executable, *words, file],
                    cwd=self.tests,
                    env=environment,
                    stdout=out,
                    stderr=subprocess.STDOUT,
                    timeout=_LONGEST,
                ).returncode
            except subprocess.TimeoutExpired:
                code = -9
        said = printed.read_text(encoding="utf-8", errors="replace")
        counts = _COUNTS.findall(said)[-1:] or [f"pytest ended with {code}"]
        seconds = round(time.monotonic() - since, 1)
        lines = tuple(_SAID.findall(said))
        ran = Ran(file, text, self.engine, code, seconds, counts[0], lines)
        self.known[file] = ran
        with self._lines.open("a", encoding="utf-8") as kept:
            kept.write(json.dumps(asdict(ran)) + "\n")
        if ran.passed:
            printed.unlink()
        return ran

    def summary(self) -> str:
        """Seconds of each folder, what was skipped, what is open, and the tests that failed."""
        ran = [self.known[file] for file in self.files if file in self.known]
        rooms: Counter[str] = Counter()
        for each in ran:
            rooms[room_of(each.file)] += each.seconds
        lines = [f"{seconds:8.0f} s  {room}" for room, seconds in rooms.most_common()]
        lines += [f"{rooms.total():8.0f} s  {len(ran)} of {len(self.files)} files"]
        if self.older:
            lines += [f"{len(self.older)} files passed with another engine: run them again"]
        lines += [line for each in ran if each.passed for line in each.said]
        for each in ran:
            if not self._stands(each.file):
                lines += [_told(each), *(f"    {line}" for line in each.said)]
        return "\n".join([*lines, "all passed" if self.passed else f"{len(self.open)} files open"])


def _told(ran: Ran) -> str:
    return f"{'' if ran.passed else 'FAILED '}{ran.file}: {ran.counts}, {ran.seconds:.0f} s"


def _digest(paths: Iterable[Path]) -> str:
    found = sha256()
    for path in paths:
        found.update(path.name.encode() + b"\0" + path.read_bytes())
    return found.hexdigest()[:16]
