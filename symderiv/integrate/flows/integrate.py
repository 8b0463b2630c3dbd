"""Integration of the order-parameter equations: from a flow to learning curves."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from symderiv.integrate.flows.activation_error import (
    activation_attributes,
    activation_warnings,
    beyond_range,
    range_warnings,
    searched,
)
from symderiv.integrate.flows.compression import Compression, settle
from symderiv.integrate.flows.flat_run import STALLED, FlatResult, Progress
from symderiv.integrate.flows.run_errors import (
    COARSE,
    Check,
    MeasuredRun,
    accuracy_warnings,
    first_tolerance,
    measured,
    missing_warnings,
)
from symderiv.integrate.flows.study_flow import Flow
from symderiv.integrate.flows.trajectory import LOCAL_SUM, Trajectory
from symderiv.problem.flat_layout import fields_of
from symderiv.problem.initial import Initial
from symderiv.problem.state import State
from symderiv.storage.checkpoint import identity


def solve_flow(
    flow_at: Callable[[State], Flow],
    start: Initial,
    *,
    check: Check = "auto",
    max_steps: int = 100_000_000,
    progress: Progress | None = None,
) -> Trajectory:
    """Integrate a flow from a start, on as few eigenvalues as its accuracy allows.

    Args:
        flow_at: a function from an initial state to the flow, for one study and module.
        start: the initial state, with the input model.
        check, max_steps, progress: see :func:`~symderiv.integrate.rules.solving.solve`.
    """
    first = flow_at(start.state)
    study, kernel, checkpoint = first.study, first.kernel, first.checkpoint
    if checkpoint is not None:
        checkpoint.open(identity(study, kernel.digests, command="solve"))
    started = time.perf_counter()
    asked = first.goal.relative_tolerance
    tolerance = first_tolerance(first, check)
    runs: list[FlatResult] = []
    flows: list[Flow] = []

    def first_run(state: State) -> tuple[FlatResult, np.ndarray]:
        problem = flow_at(state)
        flows.append(problem)
        runs.append(problem.run(tolerance, max_steps, progress))
        return runs[-1], problem.errors(runs[-1])

    state, (result, errors), compression = settle(start.state, first.compression, asked, first_run)
    # that of the run, whose code is compiled
    problem = next(flow for flow in flows if flow.state is state)
    best = measured(problem, result, errors, check, runs, max_steps, progress)
    # that of the study: means may be less accurate, and steps with them
    reached = check == "never" or best.reached <= study.time.relative_tolerance
    return replace(
        _warned(start, problem, best, reached, compression),
        steps=sum(r.steps for r in runs),
        rejected=sum(r.rejected for r in runs),
        rhs_evaluations=sum(r.rhs_evaluations for r in runs),
        wall_seconds=checkpoint.seconds if checkpoint else time.perf_counter() - started,
        tolerance_reached=float(best.reached),
        tolerance_method=best.method,
        tolerance_kept=reached,
        error_accuracy=best.accuracy,
        compression=compression,
    )


def _warned(
    start: Initial, problem: Flow, best: MeasuredRun, kept: bool, compression: Compression | None
) -> Trajectory:
    """Return the trajectory of the best run, with its warnings and its accuracy."""
    kernel = problem.kernel
    trajectory = _trajectory(best.result, problem, best.errors)
    beyond = beyond_range(kernel, trajectory, problem.fixed_bias)
    if beyond is not None:
        beyond = searched(kernel, beyond, problem.rule.rule)
        if beyond.error > 0.0:
            attributes = {**trajectory.attributes, "activation_error": beyond.error}
            trajectory = replace(trajectory, attributes=attributes)
    warnings = (
        *start.warnings,
        *(() if start.data is None else start.data.warnings()),
        *activation_warnings(kernel, problem.study.time.relative_tolerance, beyond),
        *missing_warnings(problem.study.alpha, best.result),
        *accuracy_warnings(problem.study, best, kept, problem.goal.relative_tolerance),
        *_compression_warnings(compression),
        *range_warnings(kernel, trajectory, beyond),
        *problem.mean_warnings(trajectory),
    )
    return replace(trajectory, warnings=warnings)


def _compression_warnings(compression: Compression | None) -> Iterator[str]:
    if compression is not None and compression.error > COARSE:
        yield (
            f"time.compression: with {compression} the generalisation error is uncertain by up to "
            f'{compression.error:.1%}; compression = "off" keeps them all'
        )


def _fields(flat: np.ndarray, state: State) -> tuple[np.ndarray, ...]:
    """Return Q_k, r_k, v, Q and R at every row of ``flat``."""
    return fields_of(flat, state.weight, state.eigenvalue, state.K, state.M)


def _trajectory(result: FlatResult, problem: Flow, errors: np.ndarray) -> Trajectory:
    study, kernel, state = problem.study, problem.kernel, problem.state
    Q_k, r_k, v, Q, R = _fields(result.results, state)
    return Trajectory(
        alpha=study.alpha[: result.reached].copy(),
        Q=Q,
        R=R,
        T=state.T,
        v=v,
        teacher_weights=state.teacher_weights,
        generalization_error=errors,
        student_overlap=np.ascontiguousarray(Q_k),
        cross_overlap=np.ascontiguousarray(r_k),
        initial=state,
        final=problem.state_at(result.last_state),
        alpha_end=result.last_alpha,
        cause=result.cause,
        message=_message(result, state),
        steps=result.steps,
        rejected=result.rejected,
        rhs_evaluations=result.rhs_evaluations,
        method=result.method,
        wall_seconds=0.0,
        relative_tolerance=study.time.relative_tolerance,
        tolerance_reached=result.error_sum,
        tolerance_method=LOCAL_SUM,
        tolerance_kept=True,
        error_accuracy=float("nan"),
        study_text=study.text,
        student_activation=kernel.student_activation,
        teacher_activation=kernel.teacher_activation,
        kernel_sha256=kernel.sha256,
        kernel_name=kernel.path.name,
        attributes=activation_attributes(kernel),
        further=problem.further(result),
    )


# Why a run stalled, and what to do, after the number of its steps.
_STALLED = (
    "most implicit ones shortened by rounding or by slopes that are not smooth, and the rest would "
    'take far too many; end there, or ask for a larger time.relative_tolerance or for "explicit" '
    "as time.method"
)


def _message(result: FlatResult, state: State) -> str:
    """Return how the run ended, in one line."""
    where = f"alpha = {result.last_alpha:.10g}"
    if result.cause == "done":
        return f"reached {where}"
    with np.errstate(over="ignore", invalid="ignore"):
        largest = np.max(np.abs(_fields(result.last_state[None], state)[0]))
    size = f"the largest student overlap is {largest:.3g} there"
    reason = {
        "not-a-number": f"the right-hand side is not a number beyond it; {size}",
        "step-underflow": f"the step became smaller than rounding, the solution diverges; {size}",
        "cone-left": "the covariance of the fields [[Q, R], [R^T, T]] is no longer positive "
        "semi-definite beyond it",
        "step-limit": f"{result.steps + result.rejected} steps were made, "
        + (_STALLED if result.code == STALLED else "the most allowed"),
        "interrupted": "interrupted",
    }[result.cause]
    return f"stopped at {where}: {reason}"
