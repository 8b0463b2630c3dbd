"""A grid of studies, solved in parallel; finished ones are recognised by their files."""

from __future__ import annotations

import hashlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from multiprocessing import get_context, parent_process
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import TYPE_CHECKING, Any

from symderiv.foundation.errors import InputError
from symderiv.foundation.files import set_aside
from symderiv.foundation.outputs import Output, OutputFolder
from symderiv.foundation.showing import Shown, Summary
from symderiv.show.pages.job import file_stem

if TYPE_CHECKING:
    from symderiv.problem.study import Study

#: How files of the format begin.
HDF5 = b"\x89HDF\r\n\x1a\n"


@dataclass(frozen=True)
class GridPoint:
    """One study of the grid and the file of its result."""

    label: str
    study: Study
    file: Path


@dataclass(repr=False)
class GridResult(Shown):
    """How many points have a result, how many of them had it before, which failed and why.

    Attributes:
        completed, failed, skipped: numbers of points.
        errors: why, by the label of the point.
        output: the folder of the files.
        files: label and file of every point.
    """

    completed: int = 0
    failed: int = 0
    skipped: int = 0
    errors: dict[str, str] = field(default_factory=dict)
    output: str = ""
    files: tuple[tuple[str, str], ...] = ()

    def failure(self) -> str | None:
        """Return what failed, in one line; None if nothing."""
        if not self.failed:
            return None
        label, message = next(iter(self.errors.items()))
        return f"{self.failed} of {len(self.files)} failed; {label}: {message}"

    def to_dict(self) -> dict[str, Any]:
        """Return what ``symderiv sweep --json`` prints."""
        return {
            "completed": self.completed,
            "failed": self.failed,
            "output": self.output,
            "skipped": self.skipped,
            "runs": [{"label": label, "file": file} for label, file in self.files],
            "errors": self.errors,
        }

    def _document(self) -> Summary:
        return Summary(notes=[self._said()])

    def _said(self) -> str:
        return (
            f"{self.completed} completed ({self.skipped} before), {self.failed} failed; "
            f"files in {self.output}"
        )

    def _summary(self) -> Summary:
        return Summary("Sweep", [("points", self._said())], [*map(": ".join, self.errors.items())])


def grid_points(
    study: Study, name: str, over: Mapping[str, Sequence[Any]], directory: Path
) -> list[GridPoint]:
    """Return the studies of a grid: the study's [sweep] with the given keys added or replaced.

    Raises:
        InputError: A study of the grid is not acceptable.
    """
    from symderiv.problem.study import expand_sweep, with_sweep
    from symderiv.sweeps.study_grid import files_digest

    if over:
        study = with_sweep(study, over)
    points = []
    for label, one in expand_sweep(study, timed=True):
        # The name holds a digest of the whole study, so that a changed study is not taken for a
        # finished one.
        digest = hashlib.sha256((one.text + files_digest(one)).encode()).hexdigest()[:12]
        stem = file_stem(label or name)[:100]
        points.append(GridPoint(label or name, one, directory / f"{stem}-{digest}.nc"))
    return points


def run_grid(
    points: Sequence[GridPoint],
    directory: Path,
    *,
    progress: Callable[[str, float], None] = lambda task, fraction: None,
    checkpoint_every: float | None = None,
    fresh: bool = False,
    force: bool = False,
    inputs: Sequence[Path] = (),
    notice: Callable[[str], None] = lambda message: None,
) -> GridResult:
    """Solve every point without a whole result, on all cores; one failure does not stop the others.

    A file of a point's name that is not its finished result, as it was written, is put aside under
    another name, and the point is solved anew.

    Args:
        points, directory: The studies and where their files go.
        progress: Called with a task and the fraction of it that is done.
        checkpoint_every: Seconds between the checkpoints of each point; None makes none.
        fresh: Do not use the checkpoints of unfinished points.
        force: Replace what is not a result instead of putting it aside.
        inputs: Files that the call reads, besides those of the studies.
        notice: Called with a line for every file that is put aside.

    Raises:
        InputError: A file must not be replaced.
        KeyboardInterrupt: After all workers have kept their state.
    """
    from symderiv.integrate.rules.solving import solver_module

    OutputFolder(directory)
    keeping = _Keeping(checkpoint_every, fresh, force, tuple(inputs))
    files = tuple((point.label, str(point.file)) for point in points)
    result = GridResult(output=str(directory), files=files)
    waiting = list(_waiting(points, keeping, progress, notice))
    result.skipped = result.completed = len(points) - len(waiting)
    progress("sweep", result.completed / max(len(points), 1))
    if not waiting:
        return result
    for study in {_kernel_key(p.study): p.study for p in waiting}.values():
        # derived and cached once, here, before the workers ask for it all at once
        solver_module(study)
    _solve_all(waiting, keeping, result, progress)
    return result


def _solve_all(
    waiting: Sequence[GridPoint],
    keeping: _Keeping,
    result: GridResult,
    progress: Callable[[str, float], None],
) -> None:
    """Solve points in processes of their own, and count them in the result."""
    workers = min(len(waiting), os.cpu_count() or 1)
    # Fresh interpreters: a forked copy of a process that has run compiled threads may hang.
    context = get_context("spawn")
    stop = context.Event()
    pool = ProcessPoolExecutor(
        workers, mp_context=context, initializer=_start_worker, initargs=(stop,)
    )
    try:
        futures = {pool.submit(_solve_one, point, keeping): point for point in waiting}
        for future in as_completed(futures):
            point = futures[future]
            try:
                message = future.result()
            except Exception as error:
                message = f"{type(error).__name__}: {error}"
            if message:
                result.failed += 1
                result.errors[point.label] = message
            else:
                result.completed += 1
            progress("sweep", (result.completed + result.failed) / len(result.files))
    finally:
        stop.set()
        pool.shutdown(wait=True, cancel_futures=True)


@dataclass(frozen=True)
class _Keeping:
    """How a worker keeps what it computes; see :func:`run_grid`."""

    checkpoint_every: float | None
    fresh: bool
    force: bool
    inputs: tuple[Path, ...]

    def outputs(self, point: GridPoint) -> tuple[Output, Output]:
        """Return the file of the result, and that of what is there of it after an early end."""
        incomplete = point.file.with_name(f"{point.file.stem}-incomplete.nc")
        inputs = (*self.inputs, *point.study.input_files)
        target, early = (
            Output(file, "nc", inputs=inputs, force=self.force) for file in (point.file, incomplete)
        )
        return target, early


def _waiting(
    points: Sequence[GridPoint],
    keeping: _Keeping,
    progress: Callable[[str, float], None],
    notice: Callable[[str], None],
) -> Iterator[GridPoint]:
    """Yield the points without a finished result; what else has their name is put aside."""
    for done, point in enumerate(points):
        progress("looking at results", done / len(points))
        if os.path.lexists(point.file):
            if _finished(point):
                continue
            if not keeping.force and _was_a_result(point.file):
                aside = set_aside(point.file, "damaged")
                notice(
                    f"{point.file} is not the whole result of this study; it is kept as "
                    f"{aside.name}, and this point is solved again"
                )
        # what must not be replaced is refused here, before anything is computed
        keeping.outputs(point)
        yield point
    progress("looking at results", 1.0)


def _was_a_result(file: Path) -> bool:
    """Return whether it looks like a result that was damaged or cut off; anything else stays."""
    if not file.is_file():
        return False
    with file.open("rb") as opened:
        return opened.read(len(HDF5)) == HDF5


def _finished(point: GridPoint) -> bool:
    """Return whether the file is the result of this very study, to its end, as it was written."""
    from symderiv.storage.run_files import read_attributes

    try:
        found = read_attributes(point.file)
    except InputError:
        return False
    return found.get("study") == point.study.text and found.get("end") == "done"


def _kernel_key(study: Study) -> tuple[object, ...]:
    """Return what the solver module of a study depends on."""
    from symderiv.integrate.rules.solving import rule_of_study

    tolerance = study.time.relative_tolerance
    return study.student_activation, study.teacher_activation, tolerance, rule_of_study(study)


# In a worker: set when the sweep is to stop.
_stop: Event | None = None


def _start_worker(stop: Event) -> None:
    """Leave signals to the sweep; a worker whose sweep was killed ends with it."""
    global _stop
    _stop = stop
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _solve_one(point: GridPoint, keeping: _Keeping) -> str:
    """Solve and write one point; the message of its failure, or nothing.

    A run that stops early keeps what it computed under another name, so that it counts as
    unfinished.
    """
    from symderiv.foundation.errors import SymderivError
    from symderiv.integrate.flows.trajectory import write_run
    from symderiv.integrate.rules.solving import solve
    from symderiv.storage.checkpoint import Checkpoint, checkpoint_path

    checkpoint = None
    try:
        target, early = keeping.outputs(point)
        if keeping.checkpoint_every is not None:
            checkpoint = Checkpoint(
                checkpoint_path(point.file),
                every=keeping.checkpoint_every,
                fresh=keeping.fresh,
                notice=lambda message: print(f"symderiv: {message}", file=sys.stderr),
                stop=lambda: _stop is not None and _stop.is_set(),
            )
        trajectory = solve(point.study, checkpoint=checkpoint)
        stopped = checkpoint is not None and checkpoint.stopped
        if trajectory.succeeded and not stopped:
            write_run(target, trajectory)
            early.path.unlink(missing_ok=True)
        else:
            write_run(early, trajectory)
    except SymderivError as error:
        return str(error)
    if checkpoint is not None and not stopped:
        checkpoint.remove()
    return "" if trajectory.succeeded and not stopped else trajectory.message
