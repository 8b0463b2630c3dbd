"""How long work tells how far it is: a bar where somebody watches, a function, or nothing."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["Progress", "Tell", "progress_bar", "watched"]

# Work that takes less seconds is done before a bar could be read.
_MOMENT = 0.5

#: Called with the name of the task and the fraction of it that is done, 0 to 1.
Tell = Callable[[str, float], None]

#: None: a bar if somebody watches; True: a bar; False: nothing; or a function to be called.
Progress = bool | Tell | None


def watched() -> bool:
    """Whether standard error is a terminal, or the code runs in a notebook."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    in_notebook = type(shell).__name__ == "ZMQInteractiveShell"
    return in_notebook or (sys.stderr is not None and sys.stderr.isatty())


@contextmanager
def progress_bar(progress: Progress = None) -> Iterator[Tell]:
    """A function that shows how far tasks are, as ``progress`` wants it."""
    if callable(progress):
        yield progress
        return
    if progress is False or (progress is None and not watched()):
        yield lambda task, fraction: None
        return
    bars = _Bars()
    try:
        yield bars.update
    finally:
        bars.stop()


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
        self._bars.update(self._tasks[task], completed=fraction)

    def stop(self) -> None:
        if self._bars is not None:
            self._bars.stop()


def _started() -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    bars = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:3.0f} %"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
    )
    bars.start()
    return bars
