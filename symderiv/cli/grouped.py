"""Options that several commands share, grouped as records, and how long runs stop and resume.

If a parameter of a command is such a record, a dataclass of options, the command has an option for
each of its fields in that place.
"""

from __future__ import annotations

import functools
import inspect
import shlex
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, fields, is_dataclass
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, get_type_hints

from symderiv.cli.output import (
    Force,
    Json,
    PlotOption,
    StudyFile,
    bars,
    notice,
    option,
    plot_output,
    shown,
    status,
)
from symderiv.foundation.errors import StoppedError, SymderivError

if TYPE_CHECKING:
    from symderiv.api.problem import Problem
    from symderiv.foundation.outputs import Output
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
    command = shlex.join(["symderiv", *(word for word in sys.argv[1:] if word != "--fresh")])
    how = "resume with" if has_state else "there is no checkpoint; start again with"
    return f"{how}: {command}"


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


Set = Annotated[
    list[str] | None,
    option(
        "--set",
        "Replace a value of the study: --set learning_rate=0.3, or training.learning_rate=0.3; "
        "repeatable. A key that is set is not swept.",
        "KEY=VALUE",
    ),
]
End = Annotated[
    float | None,
    option("--end", "Replace the time α at which equations and simulation end.", "A"),
]


def stated_problem(
    study: Path, changes: list[str] | None, end: float | None = None, *, timed: bool = True
) -> Problem:
    """Return the problem of a study file with other values; ``timed`` requires an end."""
    from symderiv.api.arguments.argument_names import typed_changes
    from symderiv.api.problem import Problem

    return Problem.from_toml(study, timed=timed, changes=typed_changes(changes or (), end))


Command = Callable[..., None]


def grouped(command: Command) -> Command:
    """Replace each record among a command's parameters by the options of its fields."""
    own = inspect.signature(command, eval_str=True).parameters
    records: dict[str, Any] = {
        name: each.annotation for name, each in own.items() if is_dataclass(each.annotation)
    }
    shown: list[inspect.Parameter] = []
    for name, each in own.items():
        shown += _options(records[name]) if name in records else [each]

    @functools.wraps(command)
    def wrapped(**given: Any) -> None:
        for name, record in records.items():
            given[name] = record(**{one.name: given.pop(one.name) for one in fields(record)})
        command(**given)

    by_name = inspect.Parameter.KEYWORD_ONLY
    rest = [each for each in shown if each.kind is each.VAR_KEYWORD]
    wrapped.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [*(each.replace(kind=by_name) for each in shown if each not in rest), *rest]
    )
    return wrapped


def _options(record: Any) -> list[inspect.Parameter]:
    kinds = get_type_hints(record, include_extras=True)
    return [
        inspect.Parameter(
            one.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if one.default is MISSING else one.default,
            annotation=kinds[one.name],
        )
        for one in fields(record)
    ]


@dataclass(frozen=True)
class TypedStudy:
    """A study file, with values on the command line that replace the file's."""

    study: StudyFile
    set_: Set = None
    end: End = None

    def problem(self) -> Problem:
        """Return the problem of the study with these values."""
        return stated_problem(self.study, self.set_, self.end)


@dataclass(frozen=True)
class Drawn:
    """The options of results that draw themselves."""

    plot: PlotOption = None
    force: Force = False
    json_: Json = False

    @property
    def bar(self) -> Literal[False] | None:
        """The argument ``progress`` for calls that show their own bar on a terminal."""
        return False if self.json_ else None

    def figure(self, inputs: Iterable[Path] = ()) -> Output | None:
        """Return the file of the figure; refuse an invalid one before anything is computed."""
        return plot_output(self.plot, inputs=inputs, force=self.force)

    def answer(self, doing: str, call: Callable[[], Any], inputs: Iterable[Path] = ()) -> None:
        """Show the result of a call, and draw it if asked; ``doing`` describes the work."""
        figure = self.figure(inputs)
        with status(doing, quiet=self.json_):
            result = call()
        shown(result, self.json_, plot=figure)

    def answer_of(
        self,
        doing: str,
        study: Path,
        changes: list[str] | None,
        call: Callable[[Problem], Any],
    ) -> None:
        """Show what a problem returns; the figure may not replace files that the problem reads.

        Args:
            doing: a description of the work, for the progress.
            study: the study file.
            changes: values that replace the file's.
            call: a function from the problem, which needs no end in time, to the result.
        """
        problem = stated_problem(study, changes, timed=False)
        self.answer(doing, lambda: call(problem), problem.files)


@dataclass(frozen=True)
class LongRun:
    """The options of runs that may take long: checkpoint, files and output."""

    checkpoint_every: CheckpointEvery = 10.0
    fresh: Fresh = False
    force: Force = False
    json_: Json = False

    def checkpoint(self, target: Path) -> Checkpoint:
        """Return the checkpoint of an output file."""
        return checkpoint_beside(target, self.checkpoint_every, self.fresh)

    @property
    def told(self) -> dict[str, Any]:
        """The arguments ``progress`` and ``notice`` of a call."""
        return {"progress": bars(self.json_), "notice": notice(quiet=self.json_)}
