"""Tests derive what they test: nothing is read from, or left in, the user's cache of derivations.

What one test has derived the others of the session read. Commands that tests start as processes of
their own do keep what they derive, and code is kept as always: its files are named by all the
sources that it is made of.
"""

import gc
import os
import sys
from pathlib import Path

import pytest
from _pytest.runner import runtestprotocol
from support import session_derivations
from support.room_times import RoomTimes
from support.rotating import DAY, EVERY, of_other_days

from symderiv.foundation import progress

# Threads of BLAS that wait for one another beside other workers take most of the time of small
# products: an iteration of 11 x 625 complex numbers took 20 ms instead of half of one.
os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")

# What tests write need not outlast a cut of power, and workers would wait for the disk.
os.fsync = lambda fd: None

session_derivations.share()
# a slow machine shall not change what commands write
progress.FIRST_LINE = 1e6


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--test-seconds", metavar="FILE", help="write the CPU seconds of every test")
    parser.addoption(
        "--every-day", action="store_true", help="all tests, also those dealt to other days"
    )


def pytest_configure(config: pytest.Config) -> None:
    # what is imported and rewritten stays: looking through it over and over takes a second
    gc.disable()
    config.pluginmanager.register(RoomTimes())
    config.addinivalue_line("markers", "days(n): an n-th of the cases of a test is tried a day")
    config.addinivalue_line(
        "markers", "turns(n): an n-th of a file's tests so marked is tried a day"
    )


_OBJECTS = 1_000_000
#: Seconds of a setup that are told.
_TOLD = 0.005
#: Files that take long with few tests; begun last, one of them would keep a worker alone.
LONG = ("tests/values/", "tests/pairs/", "tests/unit/papers/", "tests/wrong_models/")
#: Folders whose files all take a moment; ended with them, no worker waits long for another.
SHORT = tuple(
    f"tests/{folder}/"
    for folder in (
        *("external", "golden", "property", "unit/analysis", "unit/data", "unit/formula"),
        *("unit/localisation", "unit/one_step", "unit/statement"),
    )
)


def pytest_collect_directory(path: Path, parent: pytest.Collector) -> pytest.Dir | None:
    """Let every other worker import test files from the last to the first: who meets one first
    keeps its byte code.
    """
    if os.environ.get("PYTEST_XDIST_WORKER", "gw0")[-1] not in "13579":
        return None
    found = pytest.Dir.from_parent(parent, path=path)
    forwards = found.collect
    found.collect = lambda: list(forwards())[::-1]  # type: ignore[method-assign]
    return found


def pytest_collection_finish() -> None:
    """Take what was imported out of the sight of the collection of garbage."""
    gc.collect()
    gc.freeze()


def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool:
    """Report of most tests the call alone: what workers tell of a test costs as much as the test,
    and of its setup and its end they tell where it failed or took time.
    """
    name = {"nodeid": item.nodeid, "location": item.location}
    item.ihook.pytest_runtest_logstart(**name)
    for report in runtestprotocol(item, log=False, nextitem=nextitem):
        if report.when == "call" or not report.passed or report.duration > _TOLD:
            item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(**name)
    return True


def pytest_runtest_logfinish() -> None:
    """Collect garbage between tests, where many objects are left of them: during tests it takes a
    tenth of the time, for trees that are needed still.
    """
    if gc.get_count()[0] > _OBJECTS:
        gc.collect()
        gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if draws := sys.modules.get("hypothesis.internal.conjecture.providers"):
        # of the constants of all modules, which take seconds to collect, those of formulas are
        # what may be drawn
        draws.is_local_module_file = lambda path: "/symderiv/formula/" in path  # type: ignore[attr-defined]
    named = any("[" in word for word in config.args)
    if not (named or EVERY or config.getoption("--every-day")):
        later = {id(item) for item in of_other_days(items, DAY)}
        config.hook.pytest_deselected(items=[item for item in items if id(item) in later])
        items[:] = [item for item in items if id(item) not in later]
    items.sort(key=_place)


def _place(item: pytest.Item) -> tuple[int, str]:
    name = item.nodeid
    return name.startswith(SHORT) - name.startswith(LONG), name.partition("::")[0]
