"""Progress of long work: a bar where somebody watches, lines, or a function."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from typing import Any, Literal

__all__ = ["DetailedTask", "Progress", "Tell", "lines", "progress_bar", "watched"]

# Work that takes less seconds is done before a bar could be read.
_MOMENT = 0.5

#: Seconds after which the first line is written, and at least those between two.
FIRST_LINE = 2.0
_NEXT_LINE = 10.0
# Of the time that has passed, later: a run of a day does not fill the log.
_SHARE = 0.25


class DetailedTask(str):
    """The name of a task, with a remark on what it does just now."""

    detail: str

    def __new__(cls, name: str, detail: str) -> DetailedTask:
        made = super().__new__(cls, name)
        made.detail = detail
        return made


#: Called with the name of the task and the fraction of it that is done, 0 to 1.
Tell = Callable[[str, float], None]

#: None: a bar if somebody watches; "lines": the same, or else lines on standard error; True: a bar;
#: False: nothing; or a function to be called.
Progress = bool | Tell | Literal["lines"] | None


def watched() -> bool:
    """Return whether standard error is a terminal, or the code runs in a notebook that can show
    bars.
    """
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    # without ipywidgets Rich writes a warning into the notebook, and no bar
    in_notebook = type(shell).__name__ == "ZMQInteractiveShell" and bool(find_spec("ipywidgets"))
    return in_notebook or (sys.stderr is not None and sys.stderr.isatty())


@contextmanager
def progress_bar(progress: Progress = None) -> Iterator[Tell]:
    """Yield a function that shows how far tasks are, as ``progress`` wants it."""
    if callable(progress):
        yield progress
        return
    if progress == "lines" and not watched():
        with lines("preparing") as tell:
            yield tell
        return
    if progress is False or (progress is None and not watched()):
        yield lambda task, fraction: None
        return
    bars = _Bars()
    try:
        yield bars.update
    finally:
        bars.stop()


@contextmanager
def lines(task: str) -> Iterator[Tell]:
    """Yield lines on standard error that say what is going on, as long as it goes on.

    For logs: the first after two seconds, then one in ten, fewer in runs of many minutes. They
    come from a thread, so that they come also while something is derived or compiled.
    """
    written = _Lines(task)
    thread = threading.Thread(target=written.write, daemon=True)
    thread.start()
    try:
        yield written.update
    finally:
        written.ended.set()
        thread.join()


class _Lines:
    def __init__(self, task: str) -> None:
        self._state: tuple[str, float | None] = (task, None)
        self.ended = threading.Event()

    def update(self, task: str, fraction: float) -> None:
        self._state = (task, fraction)

    def write(self) -> None:
        begun = time.monotonic()
        wait = FIRST_LINE
        while not self.ended.wait(wait):
            passed = time.monotonic() - begun
            task, fraction = self._state
            part = "" if fraction is None else f", {100 * fraction:.0f} %"
            part += _detail(task)
            with suppress(OSError, ValueError):  # nobody reads it any more
                print(f"symderiv: {task}{part}, {passed:.0f} s", file=sys.stderr, flush=True)
            wait = max(_NEXT_LINE, _SHARE * passed)


def _detail(task: str) -> str:
    detail = getattr(task, "detail", "")
    return f", {detail}" if detail else ""


class _Bars:
    """Bars on standard error, or in the notebook; none for what takes a moment only."""

    def __init__(self) -> None:
        self._begun = time.monotonic()
        self._bars: Any = None
        self._tasks: dict[str, Any] = {}

    def update(self, task: str, fraction: float) -> None:
        if self._bars is None:
            if time.monotonic() - self._begun < _MOMENT:
                return
            self._bars = _started()
        if task not in self._tasks:
            self._tasks[task] = self._bars.add_task(task, total=1.0)
        self._bars.update(
            self._tasks[task], completed=fraction, description=f"{task}{_detail(task)}"
        )

    def stop(self) -> None:
        if self._bars is not None:
            self._bars.stop()


def _started() -> Any:
    from symderiv.foundation.terminal import bars

    found = bars()
    found.start()
    return found
