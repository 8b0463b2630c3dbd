"""From a study to its learning curves: the order-parameter equations, integrated."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from symderiv.dynamics.flat_run import FlatResult, Progress, integrate_flat
from symderiv.dynamics.initial import Initial, initial
from symderiv.dynamics.kernels import Kernel, load_kernel
from symderiv.dynamics.state import State, split_flat
from symderiv.dynamics.study import Study
from symderiv.errors import InputError

#: Up to this many evaluations times state entries the integration is repeated to measure its error.
#: It is a fraction of a second, and a count rather than a time, so that results do not depend on
#: the load of the machine.
REPEAT_WORK = 10_000_000

# A generalisation error less certain than this is worth a warning.
_COARSE = 0.01

REPEATED = "difference to the same integration with a ten times larger tolerance"
LOCAL_SUM = "sum of the estimated local errors"

Check = Literal["auto", "always", "never"]


@dataclass(frozen=True)
class Trajectory:
    """Learning curves of a study.

    Args:
        alpha: times reached, ascending, shape (P,); all those asked for when ``cause`` is "done".
        Q, R, v: shapes (P, K, K), (P, K, M), (P, K).
        T: teacher covariance, shape (M, M).
        teacher_weights: shape (M,).
        generalization_error: shape (P,); absolute error of the order of 1e-16 beside that of Q, R.
        student_overlap, cross_overlap: per eigenvalue, shapes (P, L, K, K), (P, L, K, M).
        initial, final: the states at alpha = 0 and at ``alpha_end``.
        alpha_end: the time of the last accepted step.
        cause: "done", "not-a-number", "step-underflow", "cone-left", "step-limit", "interrupted".
        message: one line that says how the run ended.
        steps, rejected, rhs_evaluations: of all integrations made, the error check included.
        tolerance_reached: largest error of Q, R, v over the times of the result, relative to
            max Q, sqrt(max Q max T) and max v at that time, as ``tolerance_method`` measures it.
        tolerance_kept: not measured to be above the tolerance asked for.
        error_accuracy: largest relative change of the generalisation error in the same comparison;
            not a number when the integration was not repeated. Late in learning the error is a
            small difference of Q, R and T, and less accurate than they are.
    """

    alpha: np.ndarray
    Q: np.ndarray
    R: np.ndarray
    T: np.ndarray
    v: np.ndarray
    teacher_weights: np.ndarray
    generalization_error: np.ndarray
    student_overlap: np.ndarray
    cross_overlap: np.ndarray
    initial: State
    final: State
    alpha_end: float
    cause: str
    message: str
    steps: int
    rejected: int
    rhs_evaluations: int
    wall_seconds: float
    relative_tolerance: float
    tolerance_reached: float
    tolerance_method: str
    tolerance_kept: bool
    error_accuracy: float
    warnings: tuple[str, ...] = ()
    study_text: str = ""
    student_activation: str = ""
    teacher_activation: str = ""
    kernel_sha256: str = ""
    kernel_name: str = ""
    attributes: dict[str, str] = field(default_factory=dict)

    @property
    def succeeded(self) -> bool:
        """The end was reached and the tolerance was kept."""
        return self.cause == "done" and self.tolerance_kept


def solve(
    study: Study,
    *,
    kernel: Kernel | None = None,
    start: Initial | None = None,
    check: Check = "auto",
    max_steps: int = 100_000_000,
    progress: Progress | None = None,
    notice: Callable[[str], None] | None = None,
) -> Trajectory:
    """Integrate the order-parameter equations of a study.

    A run that cannot reach its end is returned up to where it got, with ``cause`` and ``message``;
    so is one interrupted from the keyboard.

    Args:
        study: a study without [sweep].
        kernel: its solver module; None loads it.
        start: its initial state; None makes it.
        check: measure the error by a second integration: "always", "never", or "auto" for runs
            that take a fraction of a second.
        max_steps: steps after which to give up.
        progress: called about ten times a second with the time reached and the steps made.
        notice: see :func:`~symderiv.dynamics.kernels.load_kernel`.

    Raises:
        InputError: the study cannot be run as it is.
    """
    if study.sweep:
        raise InputError(
            "sweep: a study with [sweep] is several runs; use symderiv sweep or symderiv study"
        )
    start = start or initial(study)
    if kernel is None:
        kernel = load_kernel(study.student_activation, study.teacher_activation, notice=notice)
    started = time.perf_counter()
    state = start.state
    sizes = np.array([state.K, state.M, state.L], dtype=np.int64)
    parameters = flat_parameters(study, state)

    def run(tolerance: float, most: int) -> FlatResult:
        factor = tolerance / study.time.relative_tolerance
        return integrate_flat(
            kernel.module.flat_right_hand_side,
            state.flat(),
            sizes,
            parameters,
            study.alpha,
            relative_tolerance=tolerance,
            absolute_tolerance=study.time.absolute_tolerance * factor,
            # rounding and the tolerance may put a matrix on the edge of the cone just outside
            cone_tolerance=min(1e-2, 1e-10 + 1e3 * tolerance),
            max_steps=most,
            progress=progress,
        )

    tolerance = study.time.relative_tolerance
    result = run(tolerance, max_steps)
    runs = [result]
    reached, method = result.error_sum, LOCAL_SUM
    changes = np.empty(0)
    work = result.rhs_evaluations * (result.last_state.size + 10)
    if check == "always" or (check == "auto" and work <= REPEAT_WORK):
        # The better run is the result: its error is smaller than the difference found. If the
        # difference is above the tolerance asked for, errors have grown on the way: go on.
        while len(runs) < 4 and tolerance > 1e-14 and result.cause != "interrupted":
            tolerance = max(tolerance / 10.0, 1e-14)
            # A method of order 8 needs a third more steps. Many times more means that rounding
            # in the right-hand side is above the tolerance, and nothing would be gained.
            most = min(max_steps, 10 * (result.steps + result.rejected) + 1000)
            better = run(tolerance, most)
            runs.append(better)
            if better.cause in ("step-limit", "interrupted") and result.cause != better.cause:
                break
            common = min(result.reached, better.reached)
            if common == 0 or study.alpha[common - 1] == 0.0:
                break  # only the start is common to both, and that says nothing of the error
            reached, method = _difference(result, better, state), REPEATED
            changes = _relative_changes(
                _errors(result, kernel, sizes, parameters),
                _errors(better, kernel, sizes, parameters),
            )
            result = better
            if reached <= study.time.relative_tolerance:
                break
    kept = method == LOCAL_SUM or reached <= study.time.relative_tolerance
    warnings = list(start.warnings)
    if start.data is not None:
        warnings += start.data.warnings()
    if not kept and result.cause == "done":
        warnings.append(
            f"time.relative_tolerance: {study.time.relative_tolerance:g} was asked for, "
            f"{reached:.1e} was reached"
        )
    if np.any(changes > _COARSE):
        first = study.alpha[int(np.argmax(changes > _COARSE))]
        warnings.append(
            f"generalization_error: from alpha = {first:.4g} on it is uncertain by up to "
            f"{np.max(changes):.1%}; a smaller time.relative_tolerance helps"
        )
    return replace(
        _trajectory(result, kernel, state, sizes, parameters, study),
        steps=sum(r.steps for r in runs),
        rejected=sum(r.rejected for r in runs),
        rhs_evaluations=sum(r.rhs_evaluations for r in runs),
        wall_seconds=time.perf_counter() - started,
        tolerance_reached=float(reached),
        tolerance_method=method,
        tolerance_kept=kept,
        error_accuracy=float(np.max(changes)) if changes.size else float("nan"),
        warnings=tuple(warnings),
    )


def flat_parameters(study: Study, state: State) -> np.ndarray:
    """The constants of a run in the layout of the generated modules."""
    training = study.training
    return np.concatenate(
        [
            state.eigenvalue,
            state.weight,
            state.teacher_overlap.ravel(),
            state.teacher_covariance.ravel(),
            state.teacher_weights,
            [
                training.learning_rate,
                study.second_layer_learning_rate,
                training.weight_decay,
                study.second_layer_weight_decay,
                training.label_noise,
                1.0 if training.order == "full" else 0.0,
            ],
        ]
    )


def _fields(
    flat: np.ndarray, state: State
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Q_k, r_k, v, Q, R at every row of ``flat``."""
    Q_k, r_k, v = split_flat(flat, state.K, state.M, state.L)
    variance = state.weight * state.eigenvalue
    Q = np.tensordot(Q_k, variance, axes=([1], [0]))
    R = np.tensordot(r_k, state.weight, axes=([1], [0]))
    return Q_k, r_k, v, Q, R


def _difference(first: FlatResult, second: FlatResult, state: State) -> float:
    """The largest difference of Q, R, v over the common times, relative to their scales."""
    common = min(first.reached, second.reached)
    if common == 0:
        return float("inf")
    _, _, v1, Q1, R1 = _fields(first.results[:common], state)
    _, _, v2, Q2, R2 = _fields(second.results[:common], state)
    largest_q = np.max(np.abs(Q2), axis=(1, 2))
    largest_t = np.max(np.abs(state.T))
    worst = 0.0
    for difference, scale in (
        (np.max(np.abs(Q1 - Q2), axis=(1, 2)), largest_q),
        (np.max(np.abs(R1 - R2), axis=(1, 2)), np.sqrt(largest_q * largest_t)),
        (np.max(np.abs(v1 - v2), axis=1), np.max(np.abs(v2), axis=1)),
    ):
        relative = difference / np.where(scale > 0, scale, 1.0)
        worst = max(worst, float(np.max(relative)))
    return worst


def _errors(
    result: FlatResult, kernel: Kernel, sizes: np.ndarray, parameters: np.ndarray
) -> np.ndarray:
    """The generalisation error at every row of a result."""
    K, M, _ = sizes
    Q, R = np.empty((K, K)), np.empty((K, M))
    observables = kernel.module.flat_observables
    return np.array([observables(row, sizes, parameters, Q, R) for row in result.results])


def _relative_changes(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    common = min(first.size, second.size)
    change: np.ndarray = np.abs(first[:common] - second[:common])
    # what rounding leaves of an error that should be zero is not worth a word
    return np.where(change > 1e-14, change / np.maximum(np.abs(second[:common]), 1e-300), 0.0)


def _trajectory(
    result: FlatResult,
    kernel: Kernel,
    state: State,
    sizes: np.ndarray,
    parameters: np.ndarray,
    study: Study,
) -> Trajectory:
    Q_k, r_k, v, Q, R = _fields(result.results, state)
    return Trajectory(
        alpha=study.alpha[: result.reached].copy(),
        Q=Q,
        R=R,
        T=state.T,
        v=v,
        teacher_weights=state.teacher_weights,
        generalization_error=_errors(result, kernel, sizes, parameters),
        student_overlap=Q_k,
        cross_overlap=r_k,
        initial=state,
        final=state.with_flat(result.last_state),
        alpha_end=result.last_alpha,
        cause=result.cause,
        message=_message(result, state),
        steps=result.steps,
        rejected=result.rejected,
        rhs_evaluations=result.rhs_evaluations,
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
    )


def _message(result: FlatResult, state: State) -> str:
    """How the run ended, in one line."""
    where = f"alpha = {result.last_alpha:.10g}"
    if result.cause == "done":
        return f"reached {where}"
    with np.errstate(over="ignore", invalid="ignore"):
        largest = np.max(np.abs(split_flat(result.last_state, state.K, state.M, state.L)[0]))
    size = f"the largest student overlap is {largest:.3g} there"
    reason = {
        "not-a-number": f"the right-hand side is not a number beyond it; {size}",
        "step-underflow": f"the step became smaller than rounding, the solution diverges; {size}",
        "cone-left": "the covariance of the fields [[Q, R], [R^T, T]] is no longer positive "
        "semi-definite beyond it",
        "step-limit": f"{result.steps + result.rejected} steps were made, the most allowed",
        "interrupted": "interrupted",
    }[result.cause]
    return f"stopped at {where}: {reason}"
