"""Studies that share a solver module and their output times, in lanes or one on each thread."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from functools import partial
from typing import Any, Literal

from symderiv.foundation.errors import InputError, SymderivError
from symderiv.integrate.ensemble.chunk import Chunk, empty_chunk
from symderiv.integrate.ensemble.lane_pieces import lane_accuracy, step_tolerance
from symderiv.integrate.ensemble.lane_run import (
    run_in_lanes,
    steps_together,
    width_for,
)
from symderiv.integrate.flows.lanes import LaneResults
from symderiv.integrate.flows.study_flow import Flow
from symderiv.integrate.flows.trajectory import Trajectory
from symderiv.integrate.rules.solving import flow_of, rule_of_study, solve, solver_module
from symderiv.problem.initial import Initial, check_equations, initial
from symderiv.problem.study import Study
from symderiv.problem.timetable import heads
from symderiv.storage.kernels import Kernel
from symderiv.storage.study_kernel import activation_tolerance

#: Called with the number of runs that have ended and the number of all.
ChunkProgress = Callable[[int, int], None]

# Bytes of states at all times that are held at once, besides the results made of them.
_BYTES = 128 * 2**20


def group_points(points: Iterable[Study]) -> list[list[int]]:
    """Return the indices of the points in groups that :func:`integrate_chunk` takes together."""
    groups: dict[Hashable, list[int]] = {}
    for number, study in enumerate(points):
        groups.setdefault(_shared(study), []).append(number)
    return list(groups.values())


def _shared(study: Study) -> Hashable:
    """Return the key of a chunk: sizes, activations, times, tolerance, rule, heads."""
    rule: Hashable = None
    try:
        if study.rule_keys:
            rule = rule_of_study(study)
    except InputError as error:
        rule = str(error)
    return (
        study.K,
        study.M,
        study.student_activation,
        study.teacher_activation,
        study.alpha.tobytes(),
        activation_tolerance(study.time.relative_tolerance),
        study.rule_keys,
        rule,
        tuple(heads(study).items()),
    )


def integrate_chunk(
    points: Sequence[Study],
    *,
    starts: Sequence[Initial] | None = None,
    threads: int | None = None,
    max_steps: int = 100_000_000,
    progress: ChunkProgress | None = None,
    notice: Callable[[str], None] | None = None,
    check: Literal["auto", "never"] = "never",
) -> Chunk:
    """Integrate studies that :func:`group_points` puts into one group.

    Where there are many, and all means of their module are sums and expressions, eight at a time
    share the lanes of each thread; else each thread makes one after the other. Between the steps of
    both there is no Python. Rates that follow a formula, mixtures of tasks, batches that grow with
    N and large systems are solved by Python's threads. The numbers of a run do not depend on which
    others there are, but by rounding on whether they are many. A run that fails or escapes says so
    in its status and stops no other.

    Args:
        points: at least one.
        starts: their initial states; made from the studies when left out.
        threads: one per processor when left out.
        max_steps: steps after which a run is given up.
        progress: called with the number of runs that have ended and the number of all.
        notice: called with a line when a solver has to be derived first.
        check: "auto" measures the error of each run from one with a larger tolerance and a start
            that differs by more than rounding, which takes up to twice the time.

    Raises:
        InputError: the results do not fit into memory.
    """
    chunk = empty_chunk(points)
    workers = threads or len(os.sched_getaffinity(0))
    told = EndedRuns(progress, len(points))
    lanes, single = _prepared(points, starts, notice, chunk, told)
    for flows in lanes.values():
        made = [flow for _, flow in flows]
        Flow.prepare(made)
        width = width_for(made)
        how = partial(run_in_lanes, threads=workers, max_steps=max_steps, width=width)
        if not through_lanes(chunk, flows, how, chunk.add_lanes, told, check == "auto"):
            return chunk
    run_singly(chunk, single, workers, max_steps, lambda: told.ended(1), check == "auto")
    return chunk


#: Index of the run, its study, initial state and solver module.
Single = tuple[int, Study, Initial, Kernel]


def _prepared(
    points: Sequence[Study],
    starts: Sequence[Initial] | None,
    notice: Callable[[str], None] | None,
    chunk: Chunk,
    told: EndedRuns,
) -> tuple[dict[Hashable, list[tuple[int, Flow]]], list[Single]]:
    """Return the flows that may share lanes, with their numbers, in groups of one size, and what
    the others need to be solved singly; a study that cannot be solved fails in the chunk.
    """
    lanes: dict[Hashable, list[tuple[int, Flow]]] = {}
    single: list[Single] = []
    kernel: Kernel | None = None
    # behind the first runs of one seed come one after the other, since the last starts are kept
    order = sorted(range(1, len(points)), key=lambda each: points[each].initial.seed)
    for number in (0, *order):
        study = points[number]
        try:
            start = initial(study) if starts is None else starts[number]
            check_equations(start)
            if kernel is None:
                kernel = solver_module(study, notice=notice)
            flow = flow_of(study, start, kernel=kernel)(start.state)
        except SymderivError as error:
            chunk.fail(number, error)
            told.ended(1)
            continue
        if steps_together(flow):
            lanes.setdefault((flow.state.L, flow.size), []).append((number, flow))
        else:
            single.append((number, study, start, kernel))
    return lanes, single


def through_lanes(
    chunk: Chunk,
    members: Sequence[tuple[int, Any]],
    integrated: Callable[..., LaneResults],
    take: Callable[[Sequence[int], Sequence[Any], LaneResults], None],
    told: EndedRuns,
    checked: bool,
) -> bool:
    """Integrate runs of one module with states of one size; return False if interrupted.

    Args:
        chunk: filled in place.
        members: indices and runs; as many are integrated at a time as fit into memory.
        integrated: the function that integrates some of the runs, see :func:`run_in_lanes`.
        take: the function that stores indices, runs and results in the chunk.
        told: the count of runs that have ended.
        checked: True also measures the errors of the runs.
    """
    size, times = members[0][1].course.begin.size, chunk.alpha.size
    most = max(64, int(_BYTES / (8.0 * size * times)))
    for first in range(0, len(members), most):
        numbers, part = zip(*members[first : first + most], strict=True)
        tolerances = [step_tolerance(run, checked) for run in part]
        runs = integrated(part, tolerances=tolerances, progress=told.so_far)
        take(numbers, part, runs)
        if checked and not runs.interrupted:
            accuracies = lane_accuracy(part, runs, tolerances, integrated)
            chunk.put_errors(list(numbers), *accuracies)
        told.ended(len(part))
        if runs.interrupted:
            return False
    return True


class EndedRuns:
    """A count of runs that have ended, which reports progress."""

    def __init__(self, progress: ChunkProgress | None, total: int) -> None:
        self._progress, self._total, self._count = progress, total, 0

    def so_far(self, more: int) -> None:
        if self._progress is not None:
            self._progress(self._count + more, self._total)

    def ended(self, more: int) -> None:
        self._count += more
        self.so_far(0)


# Steps keep a tenth of the tolerance, as in lanes.
_TIGHTER = 10.0


def run_singly(
    chunk: Chunk,
    runs: Sequence[Single],
    threads: int,
    max_steps: int,
    ended: Callable[[], None],
    measure: bool = False,
) -> None:
    """Integrate runs one on each thread and store their curves in a chunk.

    The first run is made alone: it compiles what the others use. The compiled steps of runs do not
    wait for each other. After an interrupt from the keyboard the runs that have begun go on to
    their end, and the others count as interrupted.

    Args:
        chunk: filled in place.
        runs: in any order.
        threads: how many.
        max_steps: steps after which a run is given up.
        ended: called after each run.
        measure: True estimates the error of each run from a second one.
    """
    solved = partial(_solved, max_steps=max_steps, measure=measure)

    def take(run: Single, outcome: Trajectory | SymderivError) -> None:
        if isinstance(outcome, Trajectory):
            chunk.add(run[0], outcome, measure)
        else:
            chunk.fail(run[0], outcome)
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
    """Return a run's trajectory, or the error that prevented it."""
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
