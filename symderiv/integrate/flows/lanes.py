"""Many runs of one module on several threads, one or eight at a time on each of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass

import numpy as np

from symderiv.foundation.limits import check_memory
from symderiv.integrate.flows.flat_run import FlatResult
from symderiv.integrate.steppers.run_code import stepper_for
from symderiv.integrate.steppers.walk import ENDED, EXPLICIT, INTERRUPTED, STOP, memory_of, runs_of

#: Beyond this many numbers of a state the stages of eight runs do not fit into the cache: lanes
#: are 7 times as fast at 80, 1.8 times at 800, 1.1 times at 1600 (two students and two teachers).
LARGEST_STATE = 1000

#: Called with the number of runs that have ended.
Told = Callable[[int], None]

#: Runs at a time.
WIDTH = 8

_POLL_SECONDS = 0.1
# Steps of all runs together: no slices are made.
_ALL = 2**62


@dataclass(frozen=True)
class LaneTask:
    """The task of integrating n runs of one module.

    Args:
        right_hand_side: the right-hand side of a lane module, compiled for the sizes; of an
            ordinary one where one run is made at a time.
        starts: states at alpha = 0, shape (n, S).
        constants: in the layout of the module, shape (n, P).
        tolerances: relative, absolute, of the cone test; shape (n, 3).
        sizes: as everywhere.
        asked: ascending times of the results, shape (A,).
        width: runs at a time on each thread, 8 or 1.
    """

    right_hand_side: Callable[..., None]
    starts: np.ndarray
    constants: np.ndarray
    tolerances: np.ndarray
    sizes: np.ndarray
    asked: np.ndarray
    width: int = WIDTH


@dataclass(frozen=True)
class LaneResults:
    """Results of n runs.

    Args:
        states: at the A times, shape (n, A, S); rows beyond ``reached`` mean nothing.
        reached: shape (n,).
        last_states: at ``alpha_end``, shape (n, S).
        errors: the generalisation error, shape (n, A); not a number beyond ``reached``.
        codes: as those of the scalar stepper, shape (n,).
        alpha_end, error_sum, steps, rejected, evaluations: shape (n,).
        seconds: the sum of the seconds of all threads.
    """

    states: np.ndarray
    reached: np.ndarray
    last_states: np.ndarray
    errors: np.ndarray
    codes: np.ndarray
    alpha_end: np.ndarray
    error_sum: np.ndarray
    steps: np.ndarray
    rejected: np.ndarray
    evaluations: np.ndarray
    seconds: float

    @property
    def interrupted(self) -> bool:
        """True if any run was stopped from the keyboard."""
        return bool(np.any(self.codes == INTERRUPTED))


def integrate_lanes(
    task: LaneTask,
    *,
    threads: int,
    max_steps: int = 100_000_000,
    progress: Told | None = None,
) -> LaneResults:
    """Integrate a task; errors along the runs are left as not a number.

    Args:
        task: what is integrated.
        threads, max_steps, progress: how many; steps of a run, accepted and
            rejected; called with the number of runs that have ended about ten times a second.

    Raises:
        InputError: the states at all times do not fit into memory.
    """
    asked, sizes = task.asked, task.sizes
    n, size = task.starts.shape
    check_memory(
        8.0 * n * size * (asked.size + 2), f"{n} runs with {asked.size} points", argument="points"
    )
    runs = runs_of(task.starts, task.constants, task.tolerances, asked, sizes)
    advance, right_hand_side = stepper_for(task.right_hand_side, EXPLICIT, task.width)
    assert advance is not None  # code without its compiler comes with the stepper's
    seconds = [0.0] * threads

    def work(thread: int) -> None:
        started = time.perf_counter()
        memory = memory_of(task.width, size, task.constants.shape[1], int(sizes[0] + sizes[1]))
        advance(right_hand_side, runs, memory, _ALL, max_steps)
        seconds[thread] = time.perf_counter() - started

    with ThreadPoolExecutor(threads) as pool:
        _watched([pool.submit(work, thread) for thread in range(threads)], runs.queue, progress)
    ended = runs.ended
    return LaneResults(
        states=runs.results,
        reached=ended["results"].copy(),
        last_states=runs.last,
        errors=np.full((n, asked.size), np.nan),
        codes=ended["code"].copy(),
        alpha_end=ended["alpha"].copy(),
        error_sum=ended["error_sum"].copy(),
        steps=ended["accepted"].copy(),
        rejected=ended["rejected"].copy(),
        evaluations=ended["evaluations"].copy(),
        seconds=sum(seconds),
    )


def flat_result(found: LaneResults, place: int, reached: int) -> FlatResult:
    """Return one of the runs as single runs give it."""
    return FlatResult(
        results=found.states[place, :reached],
        reached=reached,
        last_alpha=float(found.alpha_end[place]),
        last_state=found.last_states[place],
        code=int(found.codes[place]),
        steps=int(found.steps[place]),
        rejected=int(found.rejected[place]),
        rhs_evaluations=int(found.evaluations[place]),
        error_sum=float(found.error_sum[place]),
    )


def lane_results(runs: Sequence[FlatResult], errors: np.ndarray, seconds: float) -> LaneResults:
    """Return single runs with their errors, shape (n, A), in the form of runs in lanes."""
    states = np.zeros((*errors.shape, runs[0].last_state.size))
    for number, run in enumerate(runs):
        states[number, : run.reached] = run.results
    return LaneResults(
        states=states,
        reached=np.array([run.reached for run in runs]),
        last_states=np.array([run.last_state for run in runs]),
        errors=errors,
        codes=np.array([run.code for run in runs]),
        alpha_end=np.array([run.last_alpha for run in runs]),
        error_sum=np.array([run.error_sum for run in runs]),
        steps=np.array([run.steps for run in runs]),
        rejected=np.array([run.rejected for run in runs]),
        evaluations=np.array([run.rhs_evaluations for run in runs]),
        seconds=seconds,
    )


def _watched(working: Sequence[Future[None]], queue: np.ndarray, progress: Told | None) -> None:
    """Wait for all threads; an interrupt makes them end."""
    left = set(working)
    while left:
        try:
            done, left = wait(left, timeout=_POLL_SECONDS)
            for each in done:
                each.result()
            if progress is not None:
                progress(int(queue[ENDED]))
        except KeyboardInterrupt:
            queue[STOP] = INTERRUPTED
