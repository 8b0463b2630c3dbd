"""Progress of long work: a bar if somebody watches, lines in a log, or a function of the caller."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from functools import wraps
from importlib.util import find_spec
from typing import Any, Literal, ParamSpec, TypeVar

from symderiv.foundation.errors import InputError

P = ParamSpec("P")
R = TypeVar("R")

# The seconds after which a bar appears; shorter work needs none.
_MOMENT = 0.5

#: Seconds before the first line, and the least seconds between two lines.
FIRST_LINE = 2.0
_NEXT_LINE = 10.0
# Later, lines come after this share of the time that has passed, so that long runs write few.
_SHARE = 0.25


class DetailedTask(str):
    """The name of a task, with a remark on its present state."""

    detail: str

    def __new__(cls, name: str, detail: str) -> DetailedTask:
        made = super().__new__(cls, name)
        made.detail = detail
        return made


#: A function that is called with the name of a task and the fraction of it that is done, 0 to 1.
Tell = Callable[[str, float], None]

#: How progress is shown. None: a bar if somebody watches; "lines": a bar if somebody watches, else
#: lines on standard error; True: a bar; False: not at all; or a function to be called.
Progress = bool | Tell | Literal["lines"] | None


# The function that shows the progress of the outermost call, if one is under way.
_outermost: ContextVar[Tell | None] = ContextVar("outermost", default=None)


def watched() -> bool:
    """Return whether standard error is a terminal, or the code runs in a notebook with bars."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    # without ipywidgets Rich writes a warning into the notebook, and no bar
    in_notebook = type(shell).__name__ == "ZMQInteractiveShell" and bool(find_spec("ipywidgets"))
    return in_notebook or (sys.stderr is not None and sys.stderr.isatty())


@contextmanager
def progress_bar(progress: Progress = None, task: str = "preparing") -> Iterator[Tell]:
    """Yield a function that reports the progress of tasks in the way that ``progress`` asks for.

    Of nested calls the outermost one shows the progress, so that there is one bar.

    Args:
        progress: how progress is shown.
        task: the task that is shown until another one is reported.
    """
    with ExitStack() as stack:
        outer = _outermost.get()
        shown: Tell = _nothing
        if callable(progress):
            stack.callback(_outermost.reset, _outermost.set(_nothing))
            yield progress
            return
        if isinstance(progress, str) and progress != "lines":
            raise InputError(f'must be "lines", not {progress!r}', argument="progress")
        if outer is not None and progress is not False:
            yield outer
            return
        if progress == "lines" and not watched():
            shown = stack.enter_context(lines(task))
        elif outer is None and progress is not False and (progress is not None or watched()):
            bar = _Bar(task)
            stack.callback(bar.stop)
            shown = bar.update
        stack.callback(_outermost.reset, _outermost.set(shown))
        yield shown


def following(task: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Give a call without an argument ``progress`` a bar, if somebody watches."""

    def decorated(call: Callable[P, R]) -> Callable[P, R]:
        @wraps(call)
        def followed(*values: P.args, **named: P.kwargs) -> R:
            with progress_bar(None, task):
                return call(*values, **named)

        followed.told = task  # type: ignore[attr-defined]
        return followed

    return decorated


def _nothing(task: str, fraction: float) -> None:
    """Show nothing."""


@contextmanager
def lines(task: str) -> Iterator[Tell]:
    """Yield a function that reports progress, which is written as lines on standard error.

    They are meant for logs: the first comes after two seconds, then one every ten seconds, and
    fewer in runs of many minutes. A thread writes them, so that they also come during derivations
    and compilations.
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
            with suppress(OSError, ValueError):  # standard error may be closed
                print(f"symderiv: {task}{part}, {passed:.0f} s", file=sys.stderr, flush=True)
            wait = max(_NEXT_LINE, _SHARE * passed)


def _detail(task: str) -> str:
    detail = getattr(task, "detail", "")
    return f", {detail}" if detail else ""


class _Bar:
    """One bar on standard error, or in the notebook; none for work that takes only a moment.

    A timer starts it, so that it also appears during derivations and compilations that report
    nothing. Another task takes over the bar, with its own remaining time.
    """

    def __init__(self, task: str) -> None:
        self._lock = threading.Lock()
        self._told: tuple[str, float | None] = (task, None)
        self._shown = task
        self._bars: Any = None
        self._number: Any = None
        self._ended = False
        self._timer = threading.Timer(_MOMENT, self._start)
        self._timer.daemon = True
        self._timer.start()

    def _start(self) -> None:
        with self._lock:
            if not self._ended:
                self._bars = _started()
                self._number = self._bars.add_task(self._shown, total=None)
                self._show()

    def update(self, task: str, fraction: float) -> None:
        with self._lock:
            self._told = (task, fraction)
            if self._bars is not None:
                self._show()

    def _show(self) -> None:
        task, fraction = self._told
        if str(task) != self._shown:
            self._shown = str(task)
            self._bars.reset(self._number)
        total = None if fraction is None else 1.0
        words = f"{task}{_detail(task)}"
        self._bars.update(self._number, total=total, completed=fraction or 0.0, description=words)

    def stop(self) -> None:
        self._timer.cancel()
        with self._lock:
            self._ended = True
            if self._bars is not None:
                self._bars.stop()


def _started() -> Any:
    from symderiv.foundation.terminal import bars

    started = bars()
    started.start()
    return started
