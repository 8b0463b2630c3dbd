"""Many runs of one solver module on several threads, without Python between their steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from symderiv.compiled_code.code_cache import kept_code
from symderiv.integrate.ensemble.lane_pieces import LaneStart
from symderiv.integrate.flows.lanes import LARGEST_STATE, LaneResults, Told
from symderiv.integrate.flows.study_flow import Flow
from symderiv.integrate.rules.phases import PhasedFlow
from symderiv.integrate.rules.rule_run import RuleFlow

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
        (type(flow) in (Flow, RuleFlow) or (type(flow) is PhasedFlow and flow.is_constant))
        and study.time.method != "implicit"
        and not compressed
        and flow.begin.size <= LARGEST_STATE
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
    progress: Told | None = None,
    looser: float = 1.0,
    between: Sequence[float] | None = None,
    width: int = 8,
) -> LaneResults:
    """Integrate flows of one module with states of one size.

    An interrupt from the keyboard ends all runs with the code of an interrupted one.

    Args:
        flows: those for which :func:`steps_together` holds, with the same output times.
        threads: how many.
        max_steps: steps of a run, accepted and rejected.
        progress: called about ten times a second.
        looser: times larger tolerances than those of :func:`step_tolerance`.
        between: the largest numbers of evaluations for results between steps; None for no limits.
        width: runs at a time on each thread, 8 or 1; see :func:`width_for`.

    Raises:
        InputError: the states at all times do not fit into memory.
    """
    first = flows[0]
    threads = min(threads, -(-len(flows) // width))
    rhs = _right_hand_side(first, width)
    given = LaneStart(width, rhs, threads, max_steps, progress, looser, between)
    results = given.walked(flows)
    return replace(results, errors=_errors(flows, results, width))


def _right_hand_side(flow: Flow, width: int) -> Callable[..., None]:
    if width > 1:
        module = flow.kernel.lanes
        assert module is not None
        with kept_code():
            return module.specialised(flow.state.K, flow.state.M)  # type: ignore[no-any-return]
    return flow.kernel.right_hand_side_for(flow.state.K, flow.state.M)


def with_fast_errors(flows: Sequence[Flow], width: int) -> list[Flow]:
    """Return the flows, those of rules with generalisation errors of many states at once."""
    if width == 1:
        return list(flows)
    observed = partial(_observed, flows[0])
    return [each.observing(observed) if isinstance(each, RuleFlow) else each for each in flows]


def _observed(flow: Flow, states: np.ndarray, constants: np.ndarray) -> np.ndarray:
    """Return the generalisation errors of states (P, S) of one run with its constants."""
    reached = np.array([len(states)])
    rows = np.ascontiguousarray(states)[None]
    errors: np.ndarray = _averages(flow, rows, constants[None], reached)[0]
    return errors


def _averages(flow: Flow, *runs: np.ndarray) -> np.ndarray:
    from symderiv.integrate.ensemble.lane_observables import averages  # here, because it compiles

    return averages(flow.kernel.lanes, (flow.state.K, flow.state.M), flow.sizes, *runs)


def _errors(flows: Sequence[Flow], found: LaneResults, width: int) -> np.ndarray:
    """Return the generalisation errors of runs, shape (n, A)."""
    if width > 1 and all(len(flow.pieces) == 1 == len(flow.pieces[0].laws) for flow in flows):
        laws = [flow.pieces[0].laws[0] for flow in flows]
        states = found.states
        if any(law.places is not None or law.scale is not None for law in laws):
            states = np.array([law.into(each) for law, each in zip(laws, states, strict=True)])
        constants = np.array([law.constants for law in laws])
        return _averages(flows[0], np.ascontiguousarray(states), constants, found.reached)
    errors = np.full(found.states.shape[:2], np.nan)
    for number, (flow, run) in enumerate(zip(flows, found.runs, strict=True)):
        if run.reached:
            errors[number, : run.reached] = flow.errors(run)
    return errors
