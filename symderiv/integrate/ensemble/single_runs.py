"""Runs that lanes do not integrate: one on each thread."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from functools import partial

from symderiv.foundation.errors import SymderivError
from symderiv.integrate.ensemble.chunk import Chunk
from symderiv.integrate.flows.trajectory import Trajectory
from symderiv.integrate.rules.solving import solve
from symderiv.problem.initial import Initial
from symderiv.problem.study import Study
from symderiv.storage.kernels import Kernel

# As in lanes.
_TIGHTER = 10.0

#: Number of the run, its study, start and module.
Single = tuple[int, Study, Initial, Kernel]


def run_singly(
    chunk: Chunk,
    runs: Sequence[Single],
    threads: int,
    max_steps: int,
    ended: Callable[[], None],
    measure: bool = False,
) -> None:
    """Integrate runs and take their curves over into a chunk.

    The first run is made alone: it compiles what the others use. The compiled steps of runs do not
    wait for each other. An interrupt from the keyboard lets the runs end that have begun, and
    leaves the others as interrupted.

    Args:
        chunk: filled in place.
        runs: in any order.
        threads: how many.
        max_steps: steps after which a run is given up.
        ended: called after each run.
        measure: measure the errors, as single runs do.
    """
    solved = partial(_solved, max_steps=max_steps, measure=measure)

    def take(run: Single, found: Trajectory | SymderivError) -> None:
        if isinstance(found, Trajectory):
            chunk.add(run[0], found)
        else:
            chunk.fail(run[0], found)
        ended()

    if not runs:
        return
    try:
        take(runs[0], solved(runs[0]))
    except KeyboardInterrupt:
        return  # what has ended in other ways is in the chunk
    rest = iter(runs[1:])
    with ThreadPoolExecutor(threads) as pool:
        working: dict[Future[Trajectory | SymderivError], Single] = {}
        try:
            while True:
                while len(working) < 2 * threads and (run := next(rest, None)) is not None:
                    working[pool.submit(solved, run)] = run
                if not working:
                    return
                done, _ = wait(working, return_when=FIRST_COMPLETED)
                for each in done:
                    take(working.pop(each), each.result())
        except KeyboardInterrupt:
            for each, run in working.items():
                if not each.cancel():
                    take(run, each.result())


def _solved(run: Single, max_steps: int, measure: bool) -> Trajectory | SymderivError:
    """Return a run's trajectory, or why there is none."""
    _, study, start, kernel = run
    try:
        if measure:
            return solve(study, kernel=kernel, start=start, max_steps=max_steps)
        asked = study.time
        relative = max(asked.relative_tolerance / _TIGHTER, 1e-14)
        absolute = asked.absolute_tolerance * relative / asked.relative_tolerance
        study = study.changed(
            {"time.relative_tolerance": relative, "time.absolute_tolerance": absolute}
        )
        return solve(study, kernel=kernel, start=start, check="never", max_steps=max_steps)
    except SymderivError as error:
        return error
