"""What the tests of each room cost: CPU seconds over all workers, processes they start included.

Rooms are the folders of tests; what a test compiles or derives for all that come after it counts
as its own. ``--test-seconds FILE`` writes those of every test.
"""

import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest


def cpu_seconds() -> float:
    """Of this process and of those it has waited for."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


class RoomTimes:
    """Measures in workers, sums where the reports arrive."""

    def __init__(self) -> None:
        self._since = cpu_seconds()
        self.rooms: Counter[str] = Counter()
        self.tests: Counter[str] = Counter()
        self.counts: Counter[str] = Counter()
        self.workers = 0.0

    def pytest_runtest_logstart(self) -> None:
        self._since = cpu_seconds()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Any:
        report = yield
        now = cpu_seconds()
        report.cpu_seconds, self._since = now - self._since, now
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        seconds = getattr(report, "cpu_seconds", 0.0)
        room = room_of(report.nodeid)
        self.rooms[room] += seconds
        self.tests[report.nodeid] += seconds
        self.counts[room] += report.when == "call"

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        output = getattr(session.config, "workeroutput", None)
        if output is not None:
            output["cpu_seconds"] = cpu_seconds()

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        self.workers += getattr(node, "workeroutput", {}).get("cpu_seconds", 0.0)

    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter, config: pytest.Config
    ) -> None:
        if not self.tests:
            return
        terminalreporter.section("CPU seconds of the tests of each room")
        for room, seconds in self.rooms.most_common():
            terminalreporter.write_line(f"{seconds:8.1f}  {self.counts[room]:5}  {room}")
        total = self.rooms.total()
        around = (self.workers or cpu_seconds()) - total
        terminalreporter.write_line(f"{total:8.1f}  {self.counts.total():5}  together")
        terminalreporter.write_line(f"{max(around, 0.0):8.1f}         imports and collection")
        wanted = config.getoption("--test-seconds", None)
        if wanted:
            lines = (f"{seconds:.2f}\t{name}\n" for name, seconds in self.tests.most_common())
            Path(wanted).write_text("".join(lines), encoding="utf-8")


def room_of(nodeid: str) -> str:
    """``unit/cli`` for ``tests/unit/cli/test_x.py::test_y``."""
    parts = nodeid.partition("::")[0].split("/")[:-1]
    return "/".join(parts[1:] if parts[:1] == ["tests"] else parts) or "tests"
