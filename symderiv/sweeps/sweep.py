"""A sweep from its keys to its store, in which only missing points are computed."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from symderiv.foundation.errors import InputError
from symderiv.foundation.outputs import OutputFolder, resolved
from symderiv.foundation.progress import DetailedTask, Progress, Tell, progress_bar
from symderiv.problem.study import Study
from symderiv.sweeps.box_results import NOT_YET, BoxResult
from symderiv.sweeps.files.manifest import DamagedError, is_store, read_manifest
from symderiv.sweeps.files.sealed_files import sole_writer
from symderiv.sweeps.files.store import Store
from symderiv.sweeps.run_grid import Box, RunGrid, Swept, layout_of
from symderiv.sweeps.scheduling import Job, Workplace
from symderiv.sweeps.study_grid import SweptStudy
from symderiv.sweeps.sweep_result import Sweep
from symderiv.sweeps.widening import recovered, widened, with_values_of

Notice = Callable[[str], None]

# Extra length in bytes of the names of unfinished and earlier stores.
_BESIDE = 48
# Largest number of damaged boxes that are reported one by one.
_MOST_TOLD = 5


def run_sweep(
    study: Study | Swept,
    over: Mapping[str, Sequence[Any]],
    path: Path,
    *,
    where: str | int | None = None,
    fresh: bool = False,
    force: bool = False,
    progress: Progress = False,
    notice: Notice | None = None,
) -> Sweep:
    """Integrate every point of a grid that the store does not contain yet.

    Args:
        study: the study, or the system with its start and times, that is swept.
        over: values of keys, in addition to its own ones or in place of them.
        path: the store; a new one is made, an existing one is widened by new keys and values.
        where: the address of a running Dask cluster, or a number of processes on this machine; 0
            for this process alone; chosen by the number of points when left out.
        fresh: compute everything again.
        force: replace a sweep of another study, or a store without a readable description.
        progress: the progress with rate, remaining time and failures, shown or reported.
        notice: called with a line on where the sweep runs, and on each part that is computed again.

    Raises:
        InputError: a study is not acceptable, the path is no store of this sweep, or another
            process writes it.
        SymderivError: the disk is full, or the scheduler has stopped; complete parts are kept.
        KeyboardInterrupt: the sweep was interrupted; points that have ended are kept.
    """
    swept = SweptStudy(study) if isinstance(study, Study) else study
    OutputFolder(path, beside=_BESIDE)
    if path.is_symlink():
        # the store to which a link leads is widened, and the link stays
        path = resolved(path)
    notice = notice or (lambda message: None)
    with ExitStack() as stack:
        tell = stack.enter_context(progress_bar(progress))
        place = Workplace(where, stack, notice)
        if not os.path.lexists(path):
            # a new sweep that cannot be computed is refused; an existing one may have all points
            # already
            place.check()
        stack.enter_context(sole_writer(path))
        recovered(path)
        store, grid = _store(swept, over, path, force, tell, notice)
        jobs = _Jobs(store, grid, fresh=fresh, notice=notice)
        tell(*jobs.progress())
        for box, result in place.results(jobs, grid, store.layout, tell):
            _write(store, box, result)
            jobs.written(box, result)
            tell(*jobs.progress())
        store.complete()
        return Sweep._of(store, skipped=jobs.skipped)


def _write(store: Store, box: Box, result: BoxResult) -> None:
    """Write a box, again after an interrupt, so that no point that has ended is lost."""
    try:
        store.write(box, result)
    except KeyboardInterrupt:
        store.write(box, result)
        raise
    if result.interrupted:
        raise KeyboardInterrupt


def _store(
    swept: Swept,
    over: Mapping[str, Sequence[Any]],
    path: Path,
    force: bool,
    tell: Tell,
    notice: Notice,
) -> tuple[Store, RunGrid]:
    """Return the store, made or widened for all points, and the grid of its points."""
    if not os.path.lexists(path):
        grid = swept.grid(over, tell)
        return Store.create(path, grid.text, layout_of(grid)), grid
    if not is_store(path):
        raise InputError(f"{path}: exists and is not the store of a sweep; choose another name")
    try:
        manifest = read_manifest(path, copy=True)
        if not manifest.is_saved(path):
            notice(f"{path}: zarr.json or its copy was changed or removed; both are written again")
        values = with_values_of(manifest, swept, over)
        # keys in the order of the store, not in that of [sweep]
        grid = swept.without_sweep().grid(values, tell)
    except InputError:
        if not force:
            raise
        shutil.rmtree(path)
        return _store(swept, over, path, force, tell, notice)
    layout = layout_of(grid)
    if not manifest.has_layout(layout):
        return widened(path, manifest, grid, layout, tell, notice), grid
    store = Store(path, manifest)
    store.mend(layout, notice)
    return store, grid


class _Jobs:
    """The boxes that remain to be computed, found one by one, and the progress."""

    def __init__(self, store: Store, grid: RunGrid, *, fresh: bool, notice: Notice) -> None:
        self._store, self._grid, self._fresh, self._notice = store, grid, fresh, notice
        self._begun = time.monotonic()
        self._computed = self._failed = self._damaged = 0
        self._todo: dict[int, int] = {}
        self._left = self._found()
        #: The number of points that the store contained already.
        self.skipped = 0

    def __iter__(self) -> Iterator[Job]:
        return self._left

    def written(self, box: Box, result: BoxResult) -> None:
        self._computed += self._todo.pop(box.number)
        self._failed += int(np.sum(result.arrays["status"] != "done"))

    def progress(self, in_box: int = 0) -> tuple[DetailedTask, float]:
        """Return the task with rate, remaining time and failures, and the finished fraction."""
        total = len(self._grid)
        here = min(in_box, max(self._todo.values(), default=0))
        computed = self._computed + here
        done = self.skipped + computed
        rate = computed / max(time.monotonic() - self._begun, 1e-9)
        detail = f"{done} of {total} points, {rate:.3g}/s"
        if computed:
            detail += f", {_duration((total - done) / rate)} left"
        if self._failed:
            detail += f", {self._failed} failed"
        return DetailedTask("sweep", detail), done / total

    def _found(self) -> Iterator[Job]:
        for box in self._store.layout.boxes():
            known = None if self._fresh else self._known(box)
            if known is not None and not known.missing.size:
                self.skipped += len(box)
                continue
            missing = len(box) if known is None else known.missing.size
            self.skipped += len(box) - missing
            self._todo[box.number] = missing
            yield Job(box, known)

    def _known(self, box: Box) -> BoxResult | None:
        try:
            known = self._store.read(box)
        except DamagedError as error:
            self._damaged += 1
            if self._damaged <= _MOST_TOLD:
                more = "" if self._damaged < _MOST_TOLD else ", and so is what else is damaged"
                self._notice(f"{error.damage}; it is computed again{more}")
            return None
        if known is None:
            return None
        # a file that a study reads may have changed
        other = known.arrays["point_hash"] != self._grid.hashes(box.indices)
        if other.any():
            return None
        if self._grid.checked:
            known.arrays["status"][known.unmeasured] = NOT_YET
        known.arrays["status"][known.missing] = NOT_YET
        return known


def _duration(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
