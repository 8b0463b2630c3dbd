"""Many runs of one solver module in compiled lanes, on several threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from types import ModuleType

import numpy as np

from symderiv.compiled_code.code_cache import kept_code
from symderiv.integrate.flows.lanes import (
    LARGEST_STATE,
    LaneResults,
    LaneTask,
    Told,
    integrate_lanes,
)
from symderiv.integrate.flows.study_flow import Flow
from symderiv.integrate.rules.rule_run import RuleFlow

# Errors of steps add up, and the largest is above the mean that is controlled.
_TIGHTER = 10.0


def fits_in_lanes(flow: Flow) -> bool:
    """Return whether a flow is one that lanes integrate: one module, in one piece, by explicit
    steps.
    """
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
    first = flows[0]
    module = first.kernel.lanes
    assert module is not None
    task = LaneTask(
        _specialised(module, "specialised", first),
        np.array([flow.begin for flow in flows]),
        np.array([flow.parameters for flow in flows]),
        np.array([_tolerances(flow, looser) for flow in flows]),
        first.sizes,
        np.ascontiguousarray(first.study.alpha),
    )
    found = integrate_lanes(task, threads=threads, max_steps=max_steps, progress=progress)
    errors = _errors(module, first, found.states, task.constants, found.reached)
    return replace(found, errors=errors)


def _specialised(module: ModuleType, name: str, flow: Flow) -> Callable[..., None]:
    with kept_code():
        found: Callable[..., None] = getattr(module, name)(flow.state.K, flow.state.M)
    return found


def step_tolerance(flow: Flow) -> float:
    """Return the relative tolerance of each step: a tenth of what is asked."""
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
    from symderiv.integrate.flows.lane_observables import observe_lanes

    errors = np.full(results.shape[:2], np.nan)
    observables = _specialised(module, "specialised_observables", flow)
    observe_lanes(observables, results, constants, flow.sizes, reached, errors)
    return errors
