"""Many runs of a system at a time: eight in the lanes of each thread, else one on each thread."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np

from symderiv.compiled_code.code_cache import kept_code
from symderiv.foundation.errors import SymderivError
from symderiv.integrate.ensemble import Chunk, EndedRuns, through_lanes
from symderiv.integrate.ensemble.lane_pieces import LaneStart
from symderiv.integrate.flows.courses import Goal
from symderiv.integrate.flows.flat_run import FlatResult
from symderiv.integrate.flows.lanes import LARGEST_STATE, LaneResults
from symderiv.system.point_run import PointRun
from symderiv.system.varied_system import SystemPoint, VariedSystem

#: Called with the number of runs that have ended.
EndedTold = Callable[[int], None]


@dataclass(frozen=True)
class Wanted:
    """Times, tolerances and limits that all runs share.

    Args:
        alpha: Ascending times, shape (A,).
        relative_tolerance, absolute_tolerance: The relative tolerance and absolute tolerance of the
            results; steps are controlled to a tenth of them.
        threads: The number of threads; None takes one per processor.
        max_steps: The number of steps after which a run is given up.
        check: Measure the error of each run by one with a larger tolerance and a perturbed start.
        fewest: The number of runs of one solver from which they go through lanes, whose code takes
            seconds to compile the first time.
    """

    alpha: np.ndarray
    relative_tolerance: float = 1e-9
    absolute_tolerance: float = 1e-14
    threads: int | None = None
    max_steps: int = 100_000_000
    check: bool = False
    fewest: int = 1

    @property
    def workers(self) -> int:
        """Number of threads."""
        return self.threads or len(os.sched_getaffinity(0))


def integrate_points(
    points: Sequence[SystemPoint | Exception], wanted: Wanted, progress: EndedTold | None = None
) -> Chunk:
    """Integrate runs, eight at a time in lanes where the program has no means by quadrature.

    The result of a run does not depend on the other runs.

    Args:
        points: The runs; an exception stands for one that cannot start.
        wanted: The times, tolerances and limits of all points.
        progress: Called with the number of runs that have ended.

    Raises:
        InputError: The results do not fit into memory.
    """
    chunk = Chunk.not_begun(wanted.alpha, len(points))
    asked = Goal.asked(wanted.alpha, wanted.relative_tolerance, wanted.absolute_tolerance)
    batches: dict[int, dict[int, PointRun]] = {}
    for number, point in enumerate(points):
        if isinstance(point, SystemPoint):
            batches.setdefault(id(point.solver), {})[number] = PointRun(point, asked)
        else:
            chunk.fail(number, point)
    told = EndedRuns(progress and (lambda ended, total: progress(ended)), len(points))
    told.ended(sum(not isinstance(point, SystemPoint) for point in points))

    def take(numbers: Sequence[int], runs: Sequence[PointRun], found: LaneResults) -> None:
        chunk.end_lanes(np.array(numbers), found)
        for number, values in zip(numbers, _curves(runs, wanted, found), strict=True):
            chunk.put(number, values)

    integrated = partial(_integrated, wanted=wanted)
    for batch in batches.values():
        if not through_lanes(chunk, [*batch.items()], integrated, take, told, wanted.check):
            break
    return chunk


def _module(runs: Sequence[PointRun], wanted: Wanted, observable: str = "") -> ModuleType | None:
    """Return the module for eight runs at a time; None if runs are few or cannot use one."""
    solver = runs[0].point.solver
    many = len(runs) >= wanted.fewest and solver.closed.autonomous
    return solver.lanes(observable) if many else None


def _integrated(
    runs: Sequence[PointRun],
    *,
    wanted: Wanted,
    tolerances: Sequence[float],
    progress: EndedTold | None = None,
    between: Sequence[float] | None = None,
) -> LaneResults:
    """Return the runs of one solver, integrated in lanes or one on each thread."""
    small = runs[0].point.state.size <= LARGEST_STATE
    module, most = _module(runs, wanted) if small else None, wanted.max_steps
    if module is not None:
        with kept_code():
            right_hand_side = module.specialised(1)
        workers = wanted.workers
        return LaneStart(8, right_hand_side, workers, most, progress, tolerances, between).walked(
            runs
        )
    started, ended = time.perf_counter(), [0]

    def one(run: PointRun, tolerance: float, between: float) -> FlatResult:
        result = run.run(tolerance, most, None, between)
        ended[0] += 1
        if progress is not None:
            progress(ended[0])
        return result

    evaluations = between or [math.inf] * len(runs)
    first = one(runs[0], tolerances[0], evaluations[0])  # alone: it compiles for the others
    with ThreadPoolExecutor(wanted.workers) as pool:
        results = [first, *pool.map(one, runs[1:], tolerances[1:], evaluations[1:])]
    return LaneResults.of(results, wanted.alpha.size, time.perf_counter() - started)


def _curves(
    runs: Sequence[PointRun], wanted: Wanted, lanes: LaneResults
) -> Iterator[dict[str, np.ndarray]]:
    """Yield the order parameters and observables of each run, by name."""
    solver = runs[0].point.solver
    constants = np.array([run.point.constants for run in runs])
    together: dict[str, np.ndarray] = {}
    for name in solver.closed.observables:
        module = _module(runs, wanted, name)
        if module is not None:
            from symderiv.integrate.ensemble.lane_observables import averages  # compiles

            sizes = solver.layout.sizes
            together[name] = averages(module, (1,), sizes, lanes.states, constants, lanes.reached)
    alone = [name for name in solver.closed.observables if name not in together]
    for place, run in enumerate(runs):
        states, reached = lanes.runs[place].results, lanes.runs[place].reached
        alpha = wanted.alpha[:reached]
        names = solver.layout.shown(run.point.given)
        held = run.course.held(alpha) if alone else constants[place]
        yield {
            **solver.layout.unpacked(states, run.point.constants, names),
            **{name: each[place, :reached] for name, each in together.items()},
            **solver.observed(states, held, alpha, alone),
        }


def point_or_error(varied: VariedSystem, values: Mapping[str, Any]) -> SystemPoint | Exception:
    """Return the point of a system with other values, or why it cannot start."""
    try:
        return varied.point(values)
    except SymderivError as error:
        return error
