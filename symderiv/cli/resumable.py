"""The commands of long runs: options of checkpoints, signals, and how to resume."""

from __future__ import annotations

import shlex
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, TypeVar

from symderiv.cli.output import option
from symderiv.foundation.errors import StoppedError, SymderivError

if TYPE_CHECKING:
    from symderiv.storage.checkpoint import Checkpoint

Result = TypeVar("Result")

CheckpointEvery = Annotated[
    float,
    option(
        "--checkpoint-every",
        "Seconds between checkpoints, kept beside the output as FILE.checkpoint. After a kill "
        "or Ctrl-C the same command continues from there to the same numbers.",
        "SECONDS",
        min=0.0,
    ),
]

Fresh = Annotated[bool, option("--fresh", "Start over, without the checkpoint of an earlier run.")]


def tell(message: str) -> None:
    """Print a line on standard error, even with --json."""
    print(f"symderiv: {message}", file=sys.stderr)


def checkpoint_beside(target: Path, every: float, fresh: bool) -> Checkpoint:
    """Return the checkpoint of an output file."""
    from symderiv.storage.checkpoint import Checkpoint, checkpoint_path

    return Checkpoint(checkpoint_path(target), every=every, fresh=fresh, notice=tell)


def resume_command() -> str:
    """Return the command line that continues this run."""
    return shlex.join(["symderiv", *(word for word in sys.argv[1:] if word != "--fresh")])


@contextmanager
def resumable(has_state: Callable[[], bool]) -> Iterator[None]:
    """Let SIGTERM end the run as Ctrl-C does; the error says how to continue.

    Args:
        has_state: a function that says whether the run can be continued.
    """
    received = int(signal.SIGINT)

    def terminate(number: int, frame: FrameType | None) -> None:
        nonlocal received
        received = number
        raise KeyboardInterrupt

    listens = (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    )
    if listens:
        signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    except KeyboardInterrupt:
        raise StoppedError(f"interrupted; {_how_to_go_on(has_state())}", received) from None
    except StoppedError as error:
        raise StoppedError(f"{error}; {_how_to_go_on(has_state())}", error.signal) from None
    finally:
        if listens:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _how_to_go_on(has_state: bool) -> str:
    if has_state:
        return f"resume with: {resume_command()}"
    return f"there is no checkpoint; start again with: {resume_command()}"


def write_result(checkpoint: Checkpoint, write: Callable[[], Result]) -> Result:
    """Write a result; if the disk is full, keep the run's checkpoint."""
    try:
        return write()
    except SymderivError as error:
        if checkpoint.write(quiet=True):
            raise type(error)(
                f"{error}; the computed part is stored in {checkpoint.path}, and the same "
                "command continues from there"
            ) from None
        raise
