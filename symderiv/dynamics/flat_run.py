"""The Python side of the compiled stepper: slices of steps, progress, interrupts, the result."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from symderiv.dynamics.stepper import (
    ACCEPTED,
    ALPHA,
    CONE_LEFT,
    DONE,
    ERROR_SUM,
    EVALUATIONS,
    INTERRUPTED,
    NEXT_OUTPUT,
    NOT_A_NUMBER,
    REJECTED,
    RUNNING,
    STEP_LIMIT,
    STEP_UNDERFLOW,
    advance,
)

REASONS = {
    DONE: "done",
    NOT_A_NUMBER: "not-a-number",
    STEP_UNDERFLOW: "step-underflow",
    CONE_LEFT: "cone-left",
    STEP_LIMIT: "step-limit",
    INTERRUPTED: "interrupted",
}


@dataclass(frozen=True)
class FlatResult:
    """What the stepper computed.

    ``results`` (reached, n) are the states at the first ``reached`` asked times, ``last_state`` (n)
    the state at ``last_alpha``, the last accepted step.``error_sum`` adds up the estimated local
    errors, relative; ``cause`` is one of the values of :data:`REASONS`.
    """

    results: np.ndarray
    reached: int
    last_alpha: float
    last_state: np.ndarray
    code: int
    steps: int
    rejected: int
    rhs_evaluations: int
    error_sum: float

    @property
    def cause(self) -> str:
        return REASONS[self.code]


#: Called with the time reached and the number of steps so far.
Progress = Callable[[float, int], None]

_SLICE_SECONDS = 0.1


def integrate_flat(
    rhs: Callable[..., None],
    state: np.ndarray,
    sizes: np.ndarray,
    parameters: np.ndarray,
    asked: np.ndarray,
    *,
    relative_tolerance: float,
    absolute_tolerance: float,
    cone_tolerance: float,
    max_steps: int = 100_000_000,
    progress: Progress | None = None,
) -> FlatResult:
    """Integrate from alpha = 0 to the last asked time; never raises for a failed integration.

    Args:
        rhs: ``flat_right_hand_side`` of a generated module (see ``advance``).
        state: shape (n,), the state at alpha = 0; not changed.
        sizes: K, M, L.
        parameters: in the layout of the generated modules.
        asked: ascending times, the first may be 0; shape (P,).
        relative_tolerance, absolute_tolerance: of the local error, in the root-mean-square norm.
        cone_tolerance: relative enlargement of the diagonal in the cone test.
        max_steps: steps, accepted and rejected, after which to stop.
        progress: called about ten times a second.

    An interrupt from the keyboard ends the integration with cause "interrupted".
    """
    size = state.size
    y = np.array(state, dtype=np.float64)
    asked = np.ascontiguousarray(asked, dtype=np.float64)
    results = np.empty((asked.size, size))
    reals = np.zeros(5)
    counts = np.zeros(6, dtype=np.int64)
    stages = np.zeros((12, size))
    work = np.zeros((3, size))
    fields = int(sizes[0] + sizes[1])
    covariance = np.zeros((fields, fields))
    limits = np.array([relative_tolerance, absolute_tolerance, cone_tolerance])
    slice_steps = np.array([16], dtype=np.int64)
    code = RUNNING
    try:
        while code == RUNNING:
            started = time.perf_counter()
            taken = int(counts[ACCEPTED] + counts[REJECTED])
            if taken >= max_steps:
                code = STEP_LIMIT
                break
            slice_steps[0] = min(slice_steps[0], max_steps - taken)
            code = advance(
                rhs,
                y,
                sizes,
                parameters,
                asked,
                results,
                reals,
                counts,
                stages,
                work,
                covariance,
                limits,
                slice_steps,
            )
            elapsed = time.perf_counter() - started
            factor = _SLICE_SECONDS / max(elapsed, 1e-6)
            slice_steps[0] = max(1, int(slice_steps[0] * min(4.0, factor)))
            if progress is not None:
                progress(float(reals[ALPHA]), int(counts[ACCEPTED]))
    except KeyboardInterrupt:
        code = INTERRUPTED
    return FlatResult(
        results=results[: counts[NEXT_OUTPUT]],
        reached=int(counts[NEXT_OUTPUT]),
        last_alpha=float(reals[ALPHA]),
        last_state=y,
        code=code,
        steps=int(counts[ACCEPTED]),
        rejected=int(counts[REJECTED]),
        rhs_evaluations=int(counts[EVALUATIONS]),
        error_sum=float(reals[ERROR_SUM]),
    )
