"""Which lines the tests of a file reach when they run one after the other in one process.

For files whose tests share a derivation of seconds, which each of them would make anew in a process
of its own. A line that one of them reaches counts as reached by all: more than that may be asked of
a mutant than reaches it, never less.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mutation.snapshot import Snapshot

__all__ = ["watched_together"]


def watched_together(snapshot: Snapshot, words: list[str]) -> list[dict[str, Any]]:
    """The tests that pytest collects for these words, with CPU seconds and lines by file."""
    os.environ["XDG_CACHE_HOME"] = str(Path(os.environ["TMPDIR"], "caches"))
    watcher = _Watcher(snapshot)
    # without -x: each test is asked, whatever another one says
    code = pytest.main([word for word in words if word != "-x"], plugins=[watcher])
    if code not in (0, 1, 5):
        raise RuntimeError(f"pytest ended with {code}")
    return watcher.entries()


class _Watcher:
    """A plugin of pytest that watches from the end of the collection on."""

    def __init__(self, snapshot: Snapshot) -> None:
        from coverage import Coverage

        self.top = snapshot.top
        include = [str(self.top / "symderiv" / "*"), str(self.top / "codegen" / "*")]
        self.coverage = Coverage(data_file=None, include=include, config_file=False)
        self.seconds: dict[str, float] = {}
        self.outcomes: dict[str, list[Any]] = {}

    def pytest_collection_finish(self) -> None:
        self.coverage.start()

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: Any) -> Iterator[None]:
        before = time.process_time()
        yield
        self.seconds[item.nodeid] = time.process_time() - before

    def pytest_runtest_logreport(self, report: Any) -> None:
        self.outcomes.setdefault(report.nodeid, []).append(report)

    def entries(self) -> list[dict[str, Any]]:
        """As those of tests that were watched one by one."""
        self.coverage.stop()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            data = self.coverage.get_data()
        lines = {
            Path(file).relative_to(self.top).as_posix(): sorted(data.lines(file) or ())
            for file in data.measured_files()
        }
        found = []
        for test, seconds in self.seconds.items():
            reports = self.outcomes.get(test, [])
            failed = any(report.failed for report in reports)
            called = any(report.when == "call" and report.passed for report in reports)
            found.append(
                {"test": test, "seconds": seconds, "passed": called and not failed, "lines": lines}
            )
        return found
