"""Many runs of one module on several threads, one or eight at a time on each of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Self

import numpy as np

from symderiv.foundation.limits import check_memory
from symderiv.integrate.flows.flat_run import FlatProblem, FlatResult
from symderiv.integrate.steppers.run_code import stepper_for
from symderiv.integrate.steppers.walk import ENDED, EXPLICIT, INTERRUPTED, STOP, memory_of, runs_of

#: Length of a state beyond which the stages of eight runs do not fit into the cache: lanes are 7
#: times as fast at 80, 1.8 times at 800, 1.1 times at 1600 (two students and two teachers).
LARGEST_STATE = 1000

#: Called with the number of runs that have ended.
Told = Callable[[int], None]

#: Runs at a time.
WIDTH = 8

_POLL_SECONDS = 0.1
# Steps of one call of the stepper: all runs are made at once, without slices.
_ALL = 2**62


@dataclass(frozen=True)
class LaneResults:
    """Results of n runs.

    Args:
        runs: how each of them ended, as the result of a single run.
        states: at the A times, shape (n, A, S); rows after the last time reached are undefined.
        errors: the generalisation error, shape (n, A); NaN after the last time reached.
        seconds: the sum of the seconds of all threads.
    """

    runs: Sequence[FlatResult]
    states: np.ndarray
    errors: np.ndarray
    seconds: float

    @classmethod
    def of(cls, runs: Sequence[FlatResult], times: int, seconds: float) -> Self:
        """Return results with ``times`` times made of single runs; their errors are unknown."""
        states = np.zeros((len(runs), times, runs[0].last_state.size))
        for number, run in enumerate(runs):
            states[number, : run.reached] = run.results
        return cls(runs, states, np.full(states.shape[:2], np.nan), seconds)

    @property
    def reached(self) -> np.ndarray:
        """The number of times that each run reached, shape (n,)."""
        return np.array([run.reached for run in self.runs])

    @property
    def evaluations(self) -> np.ndarray:
        """The number of right-hand sides evaluated for each run, shape (n,)."""
        return np.array([run.rhs_evaluations for run in self.runs])

    @property
    def interrupted(self) -> bool:
        """True if any run was stopped from the keyboard."""
        return any(run.code == INTERRUPTED for run in self.runs)


def integrate_lanes(
    right_hand_side: Callable[..., None],
    problems: Sequence[FlatProblem],
    tolerances: np.ndarray,
    *,
    width: int,
    threads: int,
    max_steps: int = 100_000_000,
    progress: Told | None = None,
) -> LaneResults:
    """Integrate n problems of one module; the generalisation errors are left as NaN.

    Args:
        right_hand_side: the right-hand side, compiled for the sizes: of a lane module if ``width``
            is 8, of an ordinary one if it is 1.
        problems: problems with states of one size and the same times.
        tolerances: see :class:`~symderiv.integrate.steppers.walk.Runs`; shape (n, 4).
        width, threads: runs at a time on each thread, 8 or 1, and the number of threads.
        max_steps: steps of a run, accepted and rejected.
        progress: called with the number of runs that have ended about ten times a second.

    Raises:
        InputError: the states at all times do not fit into memory.
    """
    asked, sizes = np.ascontiguousarray(problems[0].asked, dtype=float), problems[0].sizes
    n, size = len(problems), problems[0].state.size
    check_memory(
        8.0 * n * size * (asked.size + 2), f"{n} runs with {asked.size} points", argument="points"
    )
    starts = np.array([each.state for each in problems])
    constants = np.array([each.parameters for each in problems])
    runs = runs_of(starts, constants, tolerances, asked, sizes)
    advance, right_hand_side = stepper_for(right_hand_side, EXPLICIT, width)
    assert advance is not None  # code without its compiler comes with the stepper's
    seconds = [0.0] * threads

    def work(thread: int) -> None:
        started = time.perf_counter()
        memory = memory_of(width, size, constants.shape[1], int(sizes[0] + sizes[1]))
        advance(right_hand_side, runs, memory, _ALL, max_steps)
        seconds[thread] = time.perf_counter() - started

    with ThreadPoolExecutor(threads) as pool:
        _watched([pool.submit(work, thread) for thread in range(threads)], runs.queue, progress)
    ended = [
        FlatResult(
            results=states[: end["results"]],
            reached=int(end["results"]),
            last_alpha=float(end["alpha"]),
            last_state=last,
            code=int(end["code"]),
            steps=int(end["accepted"]),
            rejected=int(end["rejected"]),
            rhs_evaluations=int(end["evaluations"]),
            between=int(end["between"]),
            error_sum=float(end["error_sum"]),
        )
        for states, last, end in zip(runs.results, runs.last, runs.ended, strict=True)
    ]
    return LaneResults(ended, runs.results, np.full((n, asked.size), np.nan), sum(seconds))


def _watched(working: Sequence[Future[None]], queue: np.ndarray, progress: Told | None) -> None:
    """Wait for all threads; after an interrupt, tell them to end."""
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
