"""Many runs of one solver module in compiled lanes, on several threads."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from types import ModuleType

import numpy as np

from symderiv.code_cache import kept_code
from symderiv.dynamics.rules.rule_run import RuleFlow
from symderiv.dynamics.stepping.stepper import INTERRUPTED
from symderiv.dynamics.stepping.study_flow import Flow
from symderiv.dynamics.studies.flat_layout import places
from symderiv.limits import check_memory

#: Beyond this many numbers of a state the stages of eight runs do not fit into the cache: lanes
#: are 7 times as fast at 80, 1.8 times at 800, 1.1 times at 1600 (two students and two teachers).
LARGEST_STATE = 1000

#: Called with the number of runs that have ended.
Told = Callable[[int], None]

_POLL_SECONDS = 0.1
# Errors of steps add up, and the largest is above the mean that is controlled.
_TIGHTER = 10.0


@dataclass(frozen=True)
class LaneResults:
    """What n runs gave.

    Args:
        states: at the A times, shape (n, A, S); rows beyond ``reached`` mean nothing.
        reached: shape (n,).
        last_states: at ``alpha_end``, shape (n, S).
        errors: the generalisation error, shape (n, A); not a number beyond ``reached``.
        codes: as those of the scalar stepper, shape (n,).
        alpha_end, error_sum, steps, rejected, evaluations: shape (n,).
        seconds: of all threads together.
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
        """Whether any run was stopped from the keyboard."""
        return bool(np.any(self.codes == INTERRUPTED))


def fits_in_lanes(flow: Flow) -> bool:
    """Whether a flow is one that lanes integrate: one module, in one piece, by explicit steps."""
    study, state = flow.study, flow.state
    compressed = study.time.compression == "on" or (
        study.time.compression == "auto" and state.L >= 256
    )
    return (
        type(flow) in (Flow, RuleFlow)
        and study.time.method != "implicit"
        and not compressed
        and flow.begin.size <= LARGEST_STATE
        and flow.kernel.lanes is not None
    )


def run_in_lanes(
    flows: Sequence[Flow],
    *,
    threads: int,
    max_steps: int = 100_000_000,
    progress: Told | None = None,
    looser: float = 1.0,
) -> LaneResults:
    """Integrate flows of one module with states of one size.

    An interrupt from the keyboard ends all runs with the code of an interrupted one.

    Args:
        flows: for which :func:`fits_in_lanes`, with the same output times.
        threads: how many.
        max_steps: steps of a run, accepted and rejected.
        progress: called about ten times a second.
        looser: times larger tolerances than those of :func:`step_tolerance`.

    Raises:
        InputError: the states at all times do not fit into memory.
    """
    # compiled code is loaded by whoever needs it
    from symderiv.dynamics.ensemble import lane_stepper as lanes

    first = flows[0]
    module = first.kernel.lanes
    assert module is not None
    asked = np.ascontiguousarray(first.study.alpha)
    n, size = len(flows), first.begin.size
    check_memory(
        8.0 * n * size * (asked.size + 2), f"{n} runs with {asked.size} points", argument="points"
    )
    sizes = first.sizes
    starts = np.array([flow.begin for flow in flows])
    constants = np.array([flow.parameters for flow in flows])
    tolerances = np.array([_tolerances(flow, looser) for flow in flows])
    results = np.empty((n, asked.size, size))
    last, ended = np.empty((n, size)), np.zeros((n, lanes.COLUMNS))
    ended[:, lanes.CODE] = INTERRUPTED
    last[:] = starts
    queue = np.zeros(3, dtype=np.int64)
    rhs = _specialised(module, "specialised", first)
    seconds = [0.0] * threads

    def work(thread: int) -> None:
        started = time.perf_counter()
        lanes.run_lanes(
            rhs,
            queue,
            starts,
            constants,
            tolerances,
            sizes,
            places(sizes),
            asked,
            results,
            last,
            ended,
            max_steps,
            *lanes.workspace(size, constants.shape[1], int(sizes[0] + sizes[1])),
        )
        seconds[thread] = time.perf_counter() - started

    with ThreadPoolExecutor(threads) as pool:
        working = [pool.submit(work, thread) for thread in range(threads)]
        _watched(working, queue, lanes.STOP, lanes.ENDED, progress)
    reached = ended[:, lanes.RESULTS].astype(np.int64)
    return LaneResults(
        states=results,
        reached=reached,
        last_states=last,
        errors=_errors(module, first, results, constants, reached),
        codes=ended[:, lanes.CODE].astype(np.int64),
        alpha_end=ended[:, lanes.ALPHA].copy(),
        error_sum=ended[:, lanes.ERROR_SUM].copy(),
        steps=ended[:, lanes.ACCEPTED].astype(np.int64),
        rejected=ended[:, lanes.REJECTED].astype(np.int64),
        evaluations=ended[:, lanes.EVALUATIONS].astype(np.int64),
        seconds=sum(seconds),
    )


def _watched(
    working: Sequence[Future[None]],
    queue: np.ndarray,
    stop: int,
    ended: int,
    progress: Told | None,
) -> None:
    """Wait for all threads; an interrupt makes them end."""
    left = set(working)
    while left:
        try:
            done, left = wait(left, timeout=_POLL_SECONDS)
            for each in done:
                each.result()
            if progress is not None:
                progress(int(queue[ended]))
        except KeyboardInterrupt:
            queue[stop] = 1


def _specialised(module: ModuleType, name: str, flow: Flow) -> Callable[..., None]:
    with kept_code():
        found: Callable[..., None] = getattr(module, name)(flow.state.K, flow.state.M)
    return found


def step_tolerance(flow: Flow) -> float:
    """The relative tolerance of each step: a tenth of what is asked."""
    return max(flow.study.time.relative_tolerance / _TIGHTER, 1e-14)


def _tolerances(flow: Flow, looser: float) -> tuple[float, float, float]:
    """Relative, absolute and of the cone test, as for single runs."""
    asked = flow.study.time
    relative = looser * step_tolerance(flow)
    absolute = asked.absolute_tolerance * relative / asked.relative_tolerance
    return relative, absolute, min(1e-2, 1e-10 + 1e3 * relative)


def _errors(
    module: ModuleType,
    flow: Flow,
    results: np.ndarray,
    constants: np.ndarray,
    reached: np.ndarray,
) -> np.ndarray:
    from symderiv.dynamics.ensemble.lane_errors import observe_lanes

    errors = np.full(results.shape[:2], np.nan)
    observables = _specialised(module, "specialised_observables", flow)
    observe_lanes(observables, results, constants, flow.sizes, reached, errors)
    return errors
