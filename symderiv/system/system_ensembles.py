"""Many runs of a system at a time: eight in the lanes of each thread, else one on each thread."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from symderiv.compiled_code.code_cache import kept_code
from symderiv.foundation.drawing import drawing
from symderiv.foundation.errors import InputError, SymderivError
from symderiv.foundation.limits import check_memory
from symderiv.foundation.progress import Tell
from symderiv.integrate.flows.courses import looser_tolerance
from symderiv.integrate.flows.flat_run import FlatResult, StepLimits
from symderiv.integrate.flows.lanes import (
    LARGEST_STATE,
    EndedRuns,
    LaneResults,
    LaneTask,
    integrate_lanes,
    lane_results,
)
from symderiv.integrate.flows.run_errors import EXPLICIT, OWN, TIMES, WORSE_START
from symderiv.storage.run_files import FIELDS_OF_RUNS, labels_of, listed
from symderiv.system.named_states import Layout
from symderiv.system.system_runs import Solver
from symderiv.system.varied_system import SystemPoint, VariedSystem

if TYPE_CHECKING:
    import xarray

__all__ = ["SystemChunk", "Wanted", "ensemble_of", "integrate_points", "point_or_error"]

# Errors of steps add up, and the largest is above the mean that is controlled.
_TIGHTER = 10.0

#: Called with the number of runs that have ended.
Told = Callable[[int], None]


@dataclass(frozen=True)
class Wanted:
    """Times, tolerances and limits that all runs share.

    Args:
        alpha: Ascending times, shape (A,).
        relative_tolerance, absolute_tolerance: The relative tolerance and absolute tolerance of the
            results; steps keep a tenth of them.
        threads: One per processor if it is None.
        max_steps: Steps after which a run is given up.
        check: Measure the error of each run from one with a larger tolerance and a start that
            differs by more than rounding.
        fewest: Runs of one solver from which on they go through lanes, whose code takes seconds to
            compile the first time.
    """

    alpha: np.ndarray
    relative_tolerance: float = 1e-9
    absolute_tolerance: float = 1e-14
    threads: int | None = None
    max_steps: int = 100_000_000
    check: bool = False
    fewest: int = 8

    @property
    def workers(self) -> int:
        """Number of threads."""
        return self.threads or len(os.sched_getaffinity(0))

    @property
    def steps(self) -> tuple[float, float]:
        """The tolerances of steps, relative and absolute."""
        relative = max(self.relative_tolerance / _TIGHTER, 1e-14)
        return relative, self.absolute_tolerance * relative / self.relative_tolerance


@dataclass(frozen=True, eq=False, kw_only=True)
class SystemChunk(EndedRuns):
    """Runs at the same A times; rows beyond ``alpha_end`` are not a number.

    Args:
        values: Order parameters and observables by name, shapes (n, A, …).
    """

    values: dict[str, np.ndarray] = field(default_factory=dict)

    def put(self, number: int, values: dict[str, np.ndarray], times: int) -> None:
        """Take over the curves of one run, of which ``times`` were asked for."""
        for name, curve in values.items():
            if name not in self.values:
                shape = (self.status.size, times, *curve.shape[1:])
                self.values[name] = np.full(shape, np.nan)
            self.values[name][number, : len(curve)] = curve


@dataclass
class _Batch:
    """Points of one solver, by their numbers."""

    solver: Solver
    numbers: list[int] = field(default_factory=list)
    points: list[SystemPoint] = field(default_factory=list)


def integrate_points(
    points: Sequence[SystemPoint | Exception], wanted: Wanted, progress: Told | None = None
) -> SystemChunk:
    """Integrate runs, eight at a time in lanes where the program is made of plain expressions.

    The numbers of a run do not depend on which others there are.

    Args:
        points: The runs; an exception stands for one that cannot start.
        wanted: The times, tolerances and limits of all points.
        progress: Called with the number of runs that have ended.

    Raises:
        InputError: The results do not fit into memory.
    """
    chunk = SystemChunk(**SystemChunk.not_begun(len(points)))
    batches: dict[int, _Batch] = {}
    for number, point in enumerate(points):
        if isinstance(point, SystemPoint):
            batch = batches.setdefault(id(point.solver), _Batch(point.solver))
            batch.numbers.append(number)
            batch.points.append(point)
        else:
            chunk.fail(number, point)
    done = sum(not isinstance(point, SystemPoint) for point in points)
    for batch in batches.values():
        size, times = batch.points[0].state.size, wanted.alpha.size
        check_memory(
            24.0 * len(batch.points) * size * times,
            f"{len(batch.points)} runs with {times} points",
            argument="alpha",
        )

        def told(ended: int, before: int = done) -> None:
            if progress is not None:
                progress(before + ended)

        runs = _Runs(batch, wanted)
        curves = runs.integrated(wanted.steps, [p.state for p in batch.points], told)
        _take(chunk, batch, wanted, curves, runs.held)
        if wanted.check and not curves.interrupted:
            chunk.tolerance_reached[batch.numbers] = _errors(runs, batch, wanted, curves)
        done += len(batch.points)
        if curves.interrupted:
            break
    return chunk


class _Runs:
    """Integrations of the points of one solver."""

    def __init__(self, batch: _Batch, wanted: Wanted) -> None:
        self._solver, self._points, self._wanted = batch.solver, batch.points, wanted
        small = batch.points[0].state.size <= LARGEST_STATE
        many = len(batch.points) >= wanted.fewest
        plain = batch.solver.closed.autonomous
        # where something jumps in time, the constants that the states of a run were computed with
        self.held: dict[int, np.ndarray] = {}
        self._lanes = batch.solver.lanes() if small and many and plain else None

    def integrated(
        self, tolerances: tuple[float, float], states: Sequence[np.ndarray], told: Told
    ) -> LaneResults:
        """Return the runs from states, with tolerances of steps."""
        if self._lanes is None:
            return self._singly(tolerances, states, told)
        count = len(states)
        with kept_code():
            right_hand_side = self._lanes.specialised(1)
        task = LaneTask(
            right_hand_side,
            np.array(states),
            np.array([point.constants for point in self._points]),
            np.tile((*tolerances, 0.0), (count, 1)),
            self._solver.layout.sizes,
            np.ascontiguousarray(self._wanted.alpha, dtype=float),
        )
        threads = min(self._wanted.workers, -(-count // 8))
        most = self._wanted.max_steps
        return integrate_lanes(task, threads=threads, max_steps=most, progress=told)

    def _singly(
        self, tolerances: tuple[float, float], states: Sequence[np.ndarray], told: Told
    ) -> LaneResults:
        """Return one run on each thread; the first one alone, since it compiles what others use."""
        started, alpha = time.perf_counter(), self._wanted.alpha
        limits = StepLimits(*tolerances, max_steps=self._wanted.max_steps)
        ended = [0]

        def run(number: int) -> FlatResult:
            begin = replace(self._points[number], state=states[number])
            results = self._solver.piecewise(alpha, begin, limits)
            self.held[number] = self._solver.course(begin).held(alpha[: results.reached])
            ended[0] += 1
            told(ended[0])
            return results

        first = run(0)
        with ThreadPoolExecutor(self._wanted.workers) as pool:
            results = [first, *pool.map(run, range(1, len(states)))]
        errors = np.full((len(results), alpha.size), np.nan)
        return lane_results(results, errors, time.perf_counter() - started)


def _take(
    chunk: SystemChunk,
    batch: _Batch,
    wanted: Wanted,
    found: LaneResults,
    held: Mapping[int, np.ndarray],
) -> None:
    """Take over runs with their observables."""
    layout = batch.solver.layout
    chunk.end_lanes(np.array(batch.numbers), found)
    observed = _observed(batch, found, wanted, held)
    for place, (number, point) in enumerate(zip(batch.numbers, batch.points, strict=True)):
        reached = int(found.reached[place])
        names = layout.shown(point.given)
        values = layout.unpacked(found.states[place, :reached], point.constants, names)
        values |= {name: each[place, :reached] for name, each in observed.items()}
        chunk.put(number, values, wanted.alpha.size)


def _observed(
    batch: _Batch, found: LaneResults, wanted: Wanted, held: Mapping[int, np.ndarray]
) -> dict[str, np.ndarray]:
    """Return the observables of all runs, shapes (n, A)."""
    solver = batch.solver
    many = len(batch.points) >= wanted.fewest and solver.closed.autonomous
    constants = np.array([point.constants for point in batch.points])
    result = {}
    for name in solver.closed.observables:
        errors = np.full(found.states.shape[:2], np.nan)
        module = solver.lanes(name) if many else None
        if module is None:
            for place, reached in enumerate(found.reached):
                states = found.states[place, :reached]
                rows, times = held.get(place, constants[place]), wanted.alpha[:reached]
                errors[place, :reached] = solver.observed(states, rows, times, (name,))[name]
        else:
            with kept_code():
                observables = module.specialised_observables(1)
            from symderiv.integrate.ensemble.lane_observables import observe_lanes  # compiles

            observe_lanes(
                observables, found.states, constants, solver.layout.sizes, found.reached, errors
            )
        result[name] = errors
    return result


def _errors(runs: _Runs, batch: _Batch, wanted: Wanted, found: LaneResults) -> np.ndarray:
    """Return the largest error of each run, relative to the largest order parameter at its time.

    Estimated as for problems, by the difference to runs that are worse in tolerance and rounding.
    """
    relative, absolute = wanted.steps
    looser = looser_tolerance(relative, TIMES)
    states = [_moved(point.state, WORSE_START) for point in batch.points]
    worse = runs.integrated((looser, absolute * looser / relative), states, lambda ended: None)
    errors = np.full(len(batch.points), np.nan)
    for place in range(len(batch.points)):
        common = min(int(found.reached[place]), int(worse.reached[place]))
        if common == 0 or wanted.alpha[common - 1] == 0.0:
            continue
        ours, theirs = found.states[place, :common], worse.states[place, :common]
        scale = np.max(np.abs(ours), axis=1, keepdims=True)
        apart = float(np.max(np.abs(ours - theirs) / np.where(scale > 0, scale, 1.0)))
        errors[place] = EXPLICIT * apart + OWN * relative
    return errors


def _moved(state: np.ndarray, size: float) -> np.ndarray:
    """Return a state that differs at random; numbers that are equal are moved alike."""
    _, same = np.unique(state, return_inverse=True)
    noise = np.random.default_rng(0).standard_normal(state.size)[same]
    return np.asarray(state * (1.0 + size * noise))


def ensemble_of(
    varied: VariedSystem, lists: Mapping[str, Sequence[Any]], wanted: Wanted, update: Tell
) -> xarray.Dataset:
    """Integrate every combination of values; see :meth:`symderiv.System.ensemble`.

    Raises:
        InputError: A list is none, or a name means nothing that varies.
    """
    if not lists:
        raise InputError("are missing; give a list of values, as eta=[0.1, 0.2]", argument="lists")
    keys, values = [], []
    for name, given in lists.items():
        key = varied.key_of(name)
        keys.append(key)
        values.append(listed(name, given))
    points = [
        point_or_error(varied, dict(zip(keys, combination, strict=True)))
        for combination in itertools.product(*values)
    ]
    if isinstance(points[0], SymderivError) and not any(isinstance(p, SystemPoint) for p in points):
        raise points[0]
    told = len(points)
    wanted = replace(wanted, alpha=varied.solver.times(wanted.alpha))
    chunk = integrate_points(points, wanted, lambda ended: update("integrating", ended / told))
    coordinates = {name: labels_of(each) for name, each in zip(lists, values, strict=True)}
    return _labelled(chunk, coordinates, wanted.alpha, varied.solver.layout)


def point_or_error(varied: VariedSystem, values: Mapping[str, Any]) -> SystemPoint | Exception:
    """Return the point of a system with other values, or why it cannot start."""
    try:
        return varied.point(values)
    except SymderivError as error:
        return error


def _labelled(
    chunk: SystemChunk, coordinates: Mapping[str, np.ndarray], alpha: np.ndarray, layout: Layout
) -> xarray.Dataset:
    """Return runs as a dataset with one dimension per list."""
    import xarray

    over = list(coordinates)
    shape = tuple(len(each) for each in coordinates.values())
    variables: dict[str, Any] = {}
    for name, array in chunk.values.items():
        inner = layout.dimensions(name) if name in layout.all_names else ()
        variables[name] = ((*over, "alpha", *inner), array.reshape((*shape, *array.shape[1:])))
    for name, attribute in FIELDS_OF_RUNS.items():
        numbers = getattr(chunk, attribute)
        variables[name] = (
            over,
            (numbers.astype(str) if name == "status" else numbers).reshape(shape),
        )
    data = xarray.Dataset(variables, coords={**coordinates, "alpha": alpha})
    # datasets draw and save themselves
    runs: xarray.Dataset = drawing("symderiv.sweeps.dataset_accessor").as_runs(data)
    return runs
