"""How long work tells how far it is: a bar where somebody watches, a function, or nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["Progress", "Tell", "progress_bar", "watched"]

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
    from rich.console import Console
    from rich.progress import BarColumn, TaskID, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    bars = Bars(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:3.0f} %"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
    )
    tasks: dict[str, TaskID] = {}

    def update(task: str, fraction: float) -> None:
        if task not in tasks:
            tasks[task] = bars.add_task(task, total=1.0)
        bars.update(tasks[task], completed=fraction)

    with bars:
        yield update
