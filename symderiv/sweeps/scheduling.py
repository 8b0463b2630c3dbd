"""Who computes the boxes of a sweep: this process, processes of this machine, or a cluster.

Results come back to the one process that writes. At most a few boxes per worker are on their way,
so that memory does not depend on the size of the sweep.
"""

from __future__ import annotations

import logging
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from symderiv.errors import InputError, SymderivError
from symderiv.sweeps.box_results import BoxProgress, BoxResult, compute
from symderiv.sweeps.layout import Box, Layout
from symderiv.sweeps.study_grid import Grid

__all__ = ["LARGE", "Job", "here", "local_cluster", "on_cluster", "running_cluster"]

#: Points from which on a sweep is spread over processes of its own unless told otherwise.
LARGE = 50_000

_IN_FLIGHT = 3
# A box whose worker dies so often is what kills it, most likely by its memory.
_DEATHS = 10
_PATIENCE = "60s"


@dataclass(frozen=True)
class Job:
    """A box to be computed, and what is known of it."""

    box: Box
    known: BoxResult | None = None


def here(
    grid: Grid, layout: Layout, jobs: Iterable[Job], progress: BoxProgress
) -> Iterator[tuple[Box, BoxResult]]:
    """Compute one box after the other, in this process on all its processors."""
    for job in jobs:
        yield job.box, compute(grid, layout, job.box.indices, known=job.known, progress=progress)


def on_cluster(
    client: Any, grid: Grid, layout: Layout, jobs: Iterable[Job]
) -> Iterator[tuple[Box, BoxResult]]:
    """Compute boxes on the workers of a cluster, whichever is ready first.

    A box whose worker was killed is computed again by another one.

    Raises:
        SymderivError: the scheduler is gone, or a box kills its workers.
    """
    distributed = _distributed()
    waiting, deaths = iter(jobs), Counter[int]()
    at_work: dict[Any, Job] = {}
    finished = distributed.as_completed()

    def submit(job: Job) -> None:
        # all that a box needs goes with it: data kept on workers would die with them
        part = grid.part(job.box.slices)
        future = client.submit(_on_worker, part, layout.sizes_only(), job.known, pure=False)
        at_work[future.key] = job
        finished.add(future)

    def feed() -> None:
        room = _IN_FLIGHT * max(1, len(client.nthreads()))
        while len(at_work) < room and (job := next(waiting, None)) is not None:
            submit(job)

    try:
        feed()
        for future in finished:
            job = at_work.pop(future.key)
            try:
                result = future.result()
            except distributed.KilledWorker:
                deaths[job.box.number] += 1
                if deaths[job.box.number] >= _DEATHS:
                    raise SymderivError(
                        f"{grid.label(int(job.box.indices[0]))} and its neighbours killed "
                        f"{_DEATHS} workers, perhaps for want of memory; what is finished is kept"
                    ) from None
                submit(job)
                continue
            yield job.box, result
            feed()
    except (OSError, TimeoutError, distributed.CancelledError) as error:
        raise SymderivError(
            f"the scheduler is gone ({type(error).__name__}); what is finished is kept, the same "
            "command goes on from there"
        ) from None


def _on_worker(part: Grid, layout: Layout, known: BoxResult | None) -> BoxResult:
    return compute(part, layout, np.arange(len(part)), known=known, threads=1)


@contextmanager
def local_cluster(workers: int) -> Iterator[Any]:
    """A scheduler and workers in processes of their own, which end with this one.

    They are started as programs, not as copies of this process: it may hold compiled threads, and
    its main module need not be one that can be imported again.
    """
    import dask
    from distributed.deploy.subprocess import SubprocessCluster

    # whoever is killed leaves processes that wait for it; not for ever
    scheduler = {"idle_timeout": _PATIENCE, "allowed_failures": _DEATHS}
    with (
        dask.config.set({"distributed.comm.timeouts.connect": _PATIENCE}),
        SubprocessCluster(
            n_workers=workers,
            threads_per_worker=1,
            scheduler_kwargs=scheduler,
            worker_kwargs={"death_timeout": 60, "memory_limit": 0},
            dashboard_address=":0",
            silence_logs=logging.ERROR,
        ) as cluster,
        _distributed().Client(cluster) as client,
    ):
        client.wait_for_workers(1, timeout=_PATIENCE)
        yield client


@contextmanager
def running_cluster(address: str) -> Iterator[Any]:
    """A cluster that runs already.

    Raises:
        InputError: nobody answers at the address.
    """
    try:
        client = _distributed().Client(address, timeout="10s")
    except (OSError, ValueError, TimeoutError, TypeError) as error:
        raise InputError(
            f"{address}: no Dask scheduler answers there ({type(error).__name__})",
            argument="scheduler",
        ) from None
    with client:
        yield client


def _distributed() -> Any:
    """The package, imported late; most of its calls have no types."""
    import distributed

    return distributed


def has_dashboard() -> bool:
    """Whether the package that Dask's dashboard needs is installed."""
    from importlib.util import find_spec

    return find_spec("bokeh") is not None


def processes(points: int, asked: int | None) -> int:
    """How many processes a sweep of so many points gets; 0 for none but this one."""
    if asked is not None:
        return asked
    return (os.cpu_count() or 1) if points >= LARGE else 0
