"""Many runs of one module on several threads, one or eight at a time on each of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Self

import numpy as np

from symderiv.integrate.flows.flat_run import FlatResult
from symderiv.integrate.steppers.memory import (
    ENDED,
    EXPLICIT,
    INTERRUPTED,
    STATUS,
    STOP,
    Runs,
    memory_of,
)
from symderiv.integrate.steppers.run_code import stepper_for

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
# What a run's record says, and its name in the result of a single run.
_NAMES = {
    "results": "reached",
    "alpha": "last_alpha",
    "code": "code",
    "accepted": "steps",
    "rejected": "rejected",
    "evaluations": "rhs_evaluations",
    "between": "between",
    "error_sum": "error_sum",
}


@dataclass(frozen=True)
class LaneResults:
    """Results of n runs.

    Args:
        states: at the A times, shape (n, A, S); rows after the last time reached are undefined.
        last: the states of the last accepted steps, shape (n, S).
        ended: how each run ended, records of :data:`~symderiv.integrate.steppers.memory.STATUS`.
        errors: the generalisation error, shape (n, A); NaN after the last time reached.
        further: what else is observed along the runs, by name; shapes (n, A, …).
        seconds: the sum of the seconds of all threads.
    """

    states: np.ndarray
    last: np.ndarray
    ended: np.ndarray
    errors: np.ndarray
    seconds: float
    further: dict[str, np.ndarray] = field(default_factory=dict)

    @classmethod
    def not_begun(cls, n: int, times: int, size: int) -> Self:
        """Return the results of n runs that have not begun."""
        ended = np.zeros(n, dtype=STATUS)
        ended["code"] = INTERRUPTED
        states = np.empty((n, times, size))
        return cls(states, np.empty((n, size)), ended, np.full((n, times), np.nan), 0.0)

    @classmethod
    def of(cls, runs: Sequence[FlatResult], times: int, seconds: float) -> Self:
        """Return results with ``times`` times made of single runs; their errors are unknown."""
        results = cls.not_begun(len(runs), times, runs[0].last_state.size)
        for number, run in enumerate(runs):
            results.states[number, : run.reached] = run.results
            results.last[number] = run.last_state
            for name, own in _NAMES.items():
                results.ended[name][number] = getattr(run, own)
        return replace(results, seconds=seconds)

    @cached_property
    def runs(self) -> Sequence[FlatResult]:
        """The results as those of single runs."""
        columns = {own: self.ended[name].tolist() for name, own in _NAMES.items()}
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        return [
            FlatResult(results=states[: row["reached"]], last_state=last, **row)
            for states, last, row in zip(self.states, self.last, rows, strict=True)
        ]

    @property
    def reached(self) -> np.ndarray:
        """The number of times that each run reached, shape (n,)."""
        return np.ascontiguousarray(self.ended["results"])

    @property
    def interrupted(self) -> bool:
        """True if any run was stopped from the keyboard."""
        return bool(np.any(self.ended["code"] == INTERRUPTED))


def integrate_lanes(
    right_hand_side: Callable[..., None],
    runs: Runs,
    *,
    width: int,
    threads: int,
    max_steps: int = 100_000_000,
    progress: Told | None = None,
) -> float:
    """Integrate n runs of one module; return the sum of the seconds of all threads.

    Args:
        right_hand_side: the right-hand side, compiled for the sizes: of a lane module if ``width``
            is 8, of an ordinary one if it is 1.
        runs: how they begin; how they end is written there.
        width, threads: runs at a time on each thread, 8 or 1, and the number of threads.
        max_steps: steps of a run, accepted and rejected.
        progress: called with the number of runs that have ended about ten times a second.
    """
    advance, right_hand_side = stepper_for(right_hand_side, EXPLICIT, width)
    assert advance is not None  # code without its compiler comes with the stepper's
    (size, constants), seconds = (runs.starts.shape[1], runs.constants.shape[1]), [0.0] * threads

    def work(thread: int) -> None:
        started = time.perf_counter()
        memory = memory_of(width, size, constants, int(runs.sizes[0] + runs.sizes[1]))
        advance(right_hand_side, runs, memory, _ALL, max_steps)
        seconds[thread] = time.perf_counter() - started

    with ThreadPoolExecutor(threads) as pool:
        _watched([pool.submit(work, thread) for thread in range(threads)], runs.queue, progress)
    return sum(seconds)


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
