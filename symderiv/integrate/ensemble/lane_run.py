"""Many runs of one solver module on several threads, without Python between their steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from symderiv.compiled_code.code_cache import kept_code
from symderiv.integrate.ensemble.lane_pieces import LaneStart, alike
from symderiv.integrate.flows.courses import Law
from symderiv.integrate.flows.lanes import LARGEST_STATE, LaneResults, Told
from symderiv.integrate.flows.study_flow import Flow

LEAST_RUNS = 256
"""Fewer runs are made one on each thread: they end before code for eight would be compiled."""


def steps_together(flow: Flow) -> bool:
    """Return whether a flow can share lanes: one module, pieces with constant coefficients,
    explicit steps.
    """
    study, state = flow.study, flow.state
    compressed = study.time.compression == "on" or (
        study.time.compression == "auto" and state.L >= 256
    )
    return (
        flow.is_constant
        and study.time.method != "implicit"
        and not compressed
        and flow.size <= LARGEST_STATE
    )


def width_for(flows: Sequence[Flow]) -> int:
    """Return how many runs are made at a time on each thread: 8 where there are many and their
    module has a form for that and its arrays fit on the stack, else 1.
    """
    if len(flows) < LEAST_RUNS or flows[0].kernel.lanes is None:
        return 1
    try:
        _right_hand_side(flows[0], 8)
    except ValueError:
        return 1
    return 8


def run_in_lanes(
    flows: Sequence[Flow],
    *,
    threads: int,
    max_steps: int = 100_000_000,
    tolerances: Sequence[float],
    progress: Told | None = None,
    between: Sequence[float] | None = None,
    width: int = 8,
) -> LaneResults:
    """Integrate flows of one module with states of one size.

    An interrupt from the keyboard ends all runs with the code of an interrupted one.

    Args:
        flows: those for which :func:`steps_together` holds, with the same output times.
        threads: how many.
        max_steps: steps of a run, accepted and rejected.
        tolerances: relative tolerances of the steps of each run.
        progress: called about ten times a second.
        between: the largest numbers of evaluations for results between steps; None for no limits.
        width: runs at a time on each thread, 8 or 1; see :func:`width_for`.

    Raises:
        InputError: the states at all times do not fit into memory.
    """
    rhs = _right_hand_side(flows[0], width)
    given = LaneStart(width, rhs, threads, max_steps, progress, tolerances, between)
    return _observed(flows, given.walked(flows), width)


def _right_hand_side(flow: Flow, width: int) -> Callable[..., None]:
    if width > 1:
        module = flow.kernel.lanes
        assert module is not None
        with kept_code():
            return module.specialised(flow.state.K, flow.state.M)  # type: ignore[no-any-return]
    return flow.kernel.right_hand_side_for(flow.state.K, flow.state.M)


def _observed(flows: Sequence[Flow], runs: LaneResults, width: int) -> LaneResults:
    """Return results with the generalisation errors, and with what else is observed along runs.

    What a run did not reach is not a number.
    """
    alpha = flows[0].goal.alpha
    runs.states[np.arange(alpha.size) >= runs.reached[:, None]] = np.nan
    for members in alike([flow.course for flow in flows]):
        some = [flows[number] for number in members]
        numbers = np.array([some[0].course.number_at(float(time)) for time in alpha])
        for number in range(len(some[0].pieces)):
            here = np.flatnonzero(numbers == number)
            law = Law.together([flow.pieces[number].laws[0] for flow in some])
            inside = law.into(runs.states[members[:, None], here])
            runs.errors[members[:, None], here] = _errors(some, width, inside, law.constants)
    errors = partial(_errors, flows, width)
    return replace(runs, further=Flow.further_of(flows, runs.states, errors))


def _errors(
    flows: Sequence[Flow], width: int, states: np.ndarray, constants: np.ndarray
) -> np.ndarray:
    """Return the generalisation errors of states (n, A, S) of runs with constants (n, P); not a
    number where states are none.
    """
    states = np.ascontiguousarray(states)
    there = ~np.isnan(states).any(axis=-1)
    # up to the last one: results between steps may be left out in front of it
    reached = np.where(there.any(axis=1), there.shape[1] - np.argmax(there[:, ::-1], axis=1), 0)
    if width > 1:
        from symderiv.integrate.ensemble.lane_observables import averages  # it compiles

        first = flows[0]
        units = first.state.K, first.state.M
        return averages(first.kernel.lanes, units, first.sizes, states, constants, reached)
    errors = np.full(states.shape[:2], np.nan)
    for number, (flow, count) in enumerate(zip(flows, reached, strict=True)):
        if count:
            errors[number, :count] = flow.errors_at(states[number, :count], constants[number])
    return errors
