"""The computation of a sweep's boxes: in this process, in several, or on a cluster.

Results return to the one process that writes. Only a few boxes per worker are in progress, so that
memory does not depend on the size of the sweep.
"""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np

from symderiv.foundation.errors import InputError, SymderivError
from symderiv.foundation.progress import DetailedTask, Tell
from symderiv.sweeps.box_results import BoxResult, compute
from symderiv.sweeps.run_grid import Box, PointsTold, RunGrid, SweepLayout

#: Number of points from which on a sweep uses several processes by default.
LARGE = 50_000

_IN_FLIGHT = 3
_MOST_PROCESSES = 10_000
# A box whose workers die so often is taken to be the cause, most likely by its memory.
_DEATHS = 10
_PATIENCE = "60"
# Workers and their page can be reached from this machine only.
_HERE = "127.0.0.1"
_START_SECONDS = 120
_WATCH_SECONDS = 1.0
# A worker that ends so often before it joins is not started again.
_STARTS = 3
# Number of lines of a program's output that are read, and of characters that are repeated.
_SAID = 200
_ERROR = re.compile(r"(\w+\.)*\w*(Error|Exception)\b")


@dataclass(frozen=True)
class Job:
    """A box to be computed, with its known results."""

    box: Box
    known: BoxResult | None = None


class Jobs(Protocol):
    """The boxes that remain to be computed, found one by one, and the progress."""

    def __iter__(self) -> Iterator[Job]: ...

    def progress(self, in_box: int = 0) -> tuple[DetailedTask, float]:
        """Return the task and the finished fraction; ``in_box`` points of the current box count."""


class Workplace:
    """The place where the boxes of a sweep are computed.

    Args:
        where: the address of a running Dask cluster, or a number of processes on this machine; 0
            for this process alone; None chooses by the number of points.
        stack: contexts that are entered here and end with the sweep.
        notice: called with a line that says where the sweep runs.

    Raises:
        InputError: the number of processes is not acceptable.
    """

    def __init__(
        self, where: str | int | None, stack: ExitStack, notice: Callable[[str], None]
    ) -> None:
        if isinstance(where, int) and not 0 <= where <= _MOST_PROCESSES:
            raise InputError(
                f"must be from 0 to {_MOST_PROCESSES}; got {where}", argument="workers"
            )
        self._where, self._stack, self._notice = where, stack, notice
        self._client: Any = None

    def check(self) -> None:
        """Refuse a cluster that does not answer at its address.

        Raises:
            InputError: the cluster does not answer.
        """
        if isinstance(self._where, str):
            self._client = self._stack.enter_context(running_cluster(self._where))

    def results(
        self, jobs: Jobs, grid: RunGrid, layout: SweepLayout, tell: Tell
    ) -> Iterator[tuple[Box, BoxResult]]:
        """Yield computed boxes as they come; a cluster is started or joined with the first one."""
        where = _processes(len(grid)) if self._where is None else self._where
        if where == 0:
            yield from here(grid, layout, jobs, lambda done: tell(*jobs.progress(done)))
            return
        waiting = iter(jobs)
        first = next(waiting, None)
        if first is None:
            return
        grid.derive(tell)
        if isinstance(where, str):
            words = f"the cluster at {where}"
            if self._client is None:
                self.check()
        else:
            words = f"{where} processes of this machine"
            self._client = self._stack.enter_context(local_cluster(where))
        self._notice(f"{len(grid)} points on {words}")
        if find_spec("bokeh") is not None:  # the page needs bokeh
            self._notice(f"dashboard: {self._client.dashboard_link}")
        yield from on_cluster(self._client, grid, layout, itertools.chain([first], waiting))


def _processes(points: int) -> int:
    """Return the number of processes for a sweep of so many points; 0 means this one alone."""
    return (os.cpu_count() or 1) if points >= LARGE else 0


def here(
    grid: RunGrid, layout: SweepLayout, jobs: Iterable[Job], told: PointsTold
) -> Iterator[tuple[Box, BoxResult]]:
    """Compute one box after the other in this process, on all processors."""
    for job in jobs:
        yield job.box, compute(grid, layout, job.box.indices, known=job.known, told=told)


def on_cluster(
    client: Any, grid: RunGrid, layout: SweepLayout, jobs: Iterable[Job]
) -> Iterator[tuple[Box, BoxResult]]:
    """Compute boxes on the workers of a cluster, and yield them as they come.

    A box whose worker was killed is computed again by another worker.

    Raises:
        SymderivError: the scheduler has stopped, or a box kills its workers.
    """
    distributed = _distributed()
    waiting, deaths = iter(jobs), Counter[int]()
    at_work: dict[Any, Job] = {}
    finished = distributed.as_completed()

    def submit(job: Job) -> None:
        # a box is sent with everything that it needs: data kept on workers would die with them
        part = grid.part(job.box.slices)
        future = client.submit(_on_worker, part, layout.sizes_only(), job.known, pure=False)
        at_work[future.key] = job
        finished.add(future)

    def feed() -> None:
        most = _IN_FLIGHT * max(1, len(client.nthreads()))
        while len(at_work) < most and (job := next(waiting, None)) is not None:
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
                        f"{_DEATHS} workers, perhaps because memory ran out; finished points are "
                        "stored"
                    ) from None
                submit(job)
                continue
            yield job.box, result
            feed()
    except (OSError, TimeoutError, distributed.CancelledError) as error:
        raise SymderivError(
            f"the scheduler stopped ({type(error).__name__}); finished points are stored, and "
            "the same command continues from there"
        ) from None


def _on_worker(part: RunGrid, layout: SweepLayout, known: BoxResult | None) -> BoxResult:
    return compute(part, layout, np.arange(len(part)), known=known, threads=1)


@contextmanager
def local_cluster(workers: int) -> Iterator[Any]:
    """Yield the client of a scheduler and workers in separate processes, which end with this one.

    They are started as programs, not as forks of this process, which may have compiled threads, and
    whose main module perhaps cannot be imported again. A worker that ends is started again, unless
    it has ended three times in a row before it joined.

    Raises:
        SymderivError: they do not start; the message has the last line of the program that failed.
    """
    with tempfile.TemporaryDirectory(prefix="symderiv-sweep-") as folder, ExitStack() as stack:
        file = Path(folder) / "scheduler.json"
        own = ("--scheduler-file", str(file), "--host", _HERE)
        # if this process is killed, scheduler and workers end after some time without it
        scheduler = stack.enter_context(
            _program(Path(folder) / "scheduler.log", "scheduler", *own, "--port", "0",
                     "--idle-timeout", _PATIENCE, "--dashboard-address", f"{_HERE}:0")
        )  # fmt: skip
        words = ("worker", *own, "--nthreads", "1", "--nworkers", "1", "--memory-limit", "0",
                 "--death-timeout", _PATIENCE, "--no-dashboard")  # fmt: skip
        cluster = stack.enter_context(_KeptRunning(words, workers, Path(folder)))
        client = _client_of(file, scheduler)
        # those who wait for results learn that there will be none only if the scheduler ends
        cluster.watch(client, give_up=scheduler.process.kill)
        try:
            yield client
        except SymderivError:
            if cluster.trouble:
                raise SymderivError(cluster.trouble) from None
            raise
        finally:
            _close(client, scheduler.process.poll() is None)


@dataclass
class _DaskProgram:
    """One of Dask's programs, and the file with its output."""

    process: subprocess.Popen[bytes]
    log: Path

    @property
    def last_words(self) -> str:
        """The last error in the program's output, or its last line."""
        lines = self.log.read_text(errors="replace").split("\n")[-_SAID:]
        said = [line.strip() for line in lines if line.strip()]
        errors = [line for line in said if _ERROR.match(line)]
        ended = f"exit code {self.process.poll()}"
        return (errors or said or [ended])[-1][:_SAID]


@contextmanager
def _program(log: Path, *words: str) -> Iterator[_DaskProgram]:
    """Yield one of Dask's programs; it ends with the block, and so do its children."""
    started = _started(log, words)
    try:
        yield started
    finally:
        _end(started.process)


class _KeptRunning:
    """A fixed number of workers, each of which is started again when it ends.

    Args:
        words: the command line of a worker, without its name.
        count: the number of workers.
        folder: the folder of their output.
    """

    def __init__(self, words: Sequence[str], count: int, folder: Path) -> None:
        self._words, self._folder = words, folder
        self._numbers = itertools.count()
        self._names = [""] * count
        self._programs = [self._start(place) for place in range(count)]
        self._failures = [0] * count
        self._ending = threading.Event()
        self._watching: threading.Thread | None = None
        #: Why workers cannot start; empty if they can.
        self.trouble = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._ending.set()
        if self._watching is not None:
            self._watching.join()
        for program in self._programs:
            _end(program.process)

    def watch(self, client: Any, give_up: Callable[[], None]) -> None:
        """Restart workers that end from now on; call ``give_up`` once if they cannot start."""

        def watch() -> None:
            waiting = set(range(len(self._programs)))
            while not self._ending.wait(_WATCH_SECONDS):
                known = self._joined(client) if waiting else set()
                waiting = {place for place in waiting if self._names[place] not in known}
                for place, program in enumerate(self._programs):
                    if program.process.poll() is None:
                        continue
                    self._failures[place] = self._failures[place] + 1 if place in waiting else 0
                    if self._failures[place] >= _STARTS:
                        self.trouble = (
                            f"a worker of the sweep ended {_STARTS} times before it could work "
                            f"({program.last_words}); what is finished is kept; try --workers 0"
                        )
                        give_up()
                        return
                    self._programs[place] = self._start(place)
                    waiting.add(place)

        self._watching = threading.Thread(target=watch, daemon=True)
        self._watching.start()

    def _start(self, place: int) -> _DaskProgram:
        # a new name, because the scheduler may still know the earlier worker
        self._names[place] = name = f"{place}-{next(self._numbers)}"
        return _started(self._folder / f"{place}.log", (*self._words, "--name", name))

    @staticmethod
    def _joined(client: Any) -> set[str]:
        """Return the names of the workers that the scheduler knows."""
        with suppress(OSError, TimeoutError):
            identity = client.sync(client.scheduler.identity)
            return {str(worker["name"]) for worker in identity["workers"].values()}
        return set()


def _started(log: Path, words: Sequence[str]) -> _DaskProgram:
    environment = {**os.environ, "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": str(_DEATHS)}
    # in a session of their own: an interrupt is for this process, which ends them
    with log.open("wb") as said:
        process = subprocess.Popen(
            [sys.executable, "-m", "dask", *words],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=said,
            start_new_session=True,
        )
    return _DaskProgram(process, log)


def _end(program: subprocess.Popen[bytes]) -> None:
    """End a program and its children."""
    psutil: Any = import_module("psutil")  # Dask needs this module too
    with suppress(psutil.Error):
        for child in psutil.Process(program.pid).children(recursive=True):
            with suppress(psutil.Error):
                child.kill()
    program.kill()
    program.wait()


def _client_of(file: Path, scheduler: _DaskProgram) -> Any:
    """Return a client of the scheduler whose address is written to a file."""
    end = time.monotonic() + _START_SECONDS
    while not file.exists():
        if scheduler.process.poll() is not None or time.monotonic() > end:
            raise SymderivError(
                f"the scheduler of the sweep does not start ({scheduler.last_words}); try "
                "--workers 0"
            )
        time.sleep(0.02)
    try:
        return _client(scheduler_file=str(file), timeout=_START_SECONDS)
    except (OSError, TimeoutError) as error:
        raise SymderivError(
            f"the scheduler of the sweep does not answer ({type(error).__name__}); try --workers 0"
        ) from None


def _client(*address: str, **options: Any) -> Any:
    """Return a client of a scheduler; close it if the scheduler does not answer.

    An open client is closed by the garbage collector; in a fork of this process, which lacks the
    thread that does it, that would take twenty seconds.
    """
    kind = _distributed().Client
    client = kind.__new__(kind)
    try:
        client.__init__(*address, **options)
    except BaseException:
        _close(client, answers=False)
        raise
    return client


def _close(client: Any, answers: bool) -> None:
    """Close a client; the wait is short if the cluster has stopped."""
    for seconds in (5.0 if answers else 0.1, 1.0):
        with suppress(OSError, TimeoutError):
            client.close(timeout=seconds)
            return


@contextmanager
def running_cluster(address: str) -> Iterator[Any]:
    """Yield the client of a cluster that is already running.

    Raises:
        InputError: no cluster answers at the address.
    """
    try:
        client = _client(address, timeout="10s")
    except (OSError, ValueError, TimeoutError, TypeError) as error:
        raise InputError(
            f"{address}: no Dask scheduler answers there ({type(error).__name__})",
            argument="scheduler",
        ) from None
    try:
        yield client
    finally:
        _close(client, client.status == "running")


def _distributed() -> Any:
    """Return Dask's package ``distributed``, imported late; most of its calls have no types."""
    import distributed

    return distributed
