"""From a study to its learning curves: the order-parameter equations, integrated."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

import numpy as np

from symderiv.dynamics.stepping.activation_error import (
    activation_attributes,
    activation_warnings,
    range_warnings,
)
from symderiv.dynamics.stepping.compression import Compression, relative_changes, settle
from symderiv.dynamics.stepping.flat_run import FlatResult, Progress
from symderiv.dynamics.stepping.implicit_run import integrate
from symderiv.dynamics.stepping.run_code import RunCode, keep_code, run_code
from symderiv.dynamics.stepping.trajectory import ESTIMATED, REPEATED, Trajectory
from symderiv.dynamics.storage.checkpoint import Checkpoint, identity
from symderiv.dynamics.storage.kernels import Kernel
from symderiv.dynamics.storage.study_kernel import kernel_for
from symderiv.dynamics.studies.flat_layout import pack_parameters, sizes_of, split_flat, state_size
from symderiv.dynamics.studies.initial import Initial, initial
from symderiv.dynamics.studies.state import State
from symderiv.dynamics.studies.study import Study
from symderiv.errors import InputError
from symderiv.limits import check_memory

# Unless told otherwise the steps keep a twentieth of the tolerance, because their errors add up and
# the largest of them is above the mean that is controlled, and a run with a thousand times that, of
# two fifths of the steps, tells what has become of them.
_TIGHTER = 20.0
_LOOSER = 1000.0
_LOOSEST = 0.1
# Errors are proportional to the tolerance within about this factor: of thirty runs of different
# K, M, spectra, learning rates and tolerances the true error of one was above the estimate, by 0.3.
_PROPORTIONAL = 2.0

# A generalisation error less certain than this is worth a warning.
_COARSE = 0.01

LOCAL_SUM = "sum of the estimated local errors"

Check = Literal["auto", "always", "never"]


def solve(
    study: Study,
    *,
    kernel: Kernel | None = None,
    start: Initial | None = None,
    check: Check = "auto",
    max_steps: int = 100_000_000,
    progress: Progress | None = None,
    notice: Callable[[str], None] | None = None,
    checkpoint: Checkpoint | None = None,
) -> Trajectory:
    """Integrate the order-parameter equations of a study.

    A run that cannot reach its end is returned up to where it got, with ``cause`` and ``message``;
    so is one interrupted from the keyboard.

    Args:
        study: a study without [sweep].
        kernel: its solver module; None loads it.
        start: its initial state; None makes it.
        check: how the error is known. "always" compares with the same integration at smaller
            tolerances, "never" adds up what is estimated step by step, and "auto" estimates it from
            a run with a larger tolerance, and compares where that estimate is above what is asked.
        max_steps: steps after which to give up.
        progress: called about ten times a second with the time reached and the steps made.
        notice: see :func:`~symderiv.dynamics.storage.kernels.load_kernel`.
        checkpoint: where to go on from, and where to keep what that needs; the numbers are those of
            an undisturbed run. It is left for the caller to remove.

    Raises:
        InputError: the study cannot be run as it is.
    """
    if study.sweep:
        raise InputError(
            "a study with [sweep] is several runs; use symderiv sweep or symderiv study",
            argument="sweep",
        )
    study.only_plain("plain descent")
    start = start or initial(study)
    check_equations(start)
    if kernel is None:
        kernel = kernel_for(study, notice=notice)
    if start.data is not None and len(start.data.components) > 1:
        # SciPy's integrator is loaded for them only
        from symderiv.dynamics.stepping.components import solve_components

        remarks = (*start.warnings, *start.data.warnings())
        return solve_components(study, kernel, start.state, start.data, remarks)
    chosen = kernel
    return solve_flow(
        lambda state: Flow(study, chosen, state, checkpoint),
        start,
        check=check,
        max_steps=max_steps,
        progress=progress,
    )


def check_equations(start: Initial) -> None:
    """Refuse inputs that can be drawn and have no equations.

    Raises:
        InputError: they have none.
    """
    latent = None if start.data is None else start.data.latent
    if latent is not None and latent.no_equations:
        raise InputError(f"data.{latent.no_equations}")


def solve_flow(
    flow_at: Callable[[State], Flow],
    start: Initial,
    *,
    check: Check = "auto",
    max_steps: int = 100_000_000,
    progress: Progress | None = None,
) -> Trajectory:
    """Integrate a flow from a start, with as few eigenvalues as its accuracy needs.

    Args:
        flow_at: the flow from a state, of the same study and module for all of them.
        start: the state, and what is known of the inputs.
        check, max_steps, progress: see :func:`solve`.
    """
    first = flow_at(start.state)
    study, kernel, checkpoint = first.study, first.kernel, first.checkpoint
    if checkpoint is not None:
        checkpoint.open(identity(study, kernel.digests, command="solve"))
    started = time.perf_counter()
    asked = study.time.relative_tolerance
    tolerance = max(asked / _TIGHTER, 1e-14) if check == "auto" else asked
    runs: list[FlatResult] = []

    def first_run(state: State) -> tuple[FlatResult, np.ndarray]:
        problem = flow_at(state)
        runs.append(problem.run(tolerance, max_steps, progress))
        return runs[-1], problem.errors(runs[-1])

    state, (result, errors), compression = settle(
        start.state, study.time.compression, asked, first_run
    )
    problem = flow_at(state)
    best = _Best(result, errors, result.error_sum)
    if check == "auto":
        best = _estimated(problem, best, tolerance, progress, runs)
    if check == "always" or (best.method == ESTIMATED and best.reached > asked):
        best = _repeated(problem, best, tolerance, max_steps, progress, runs)
    problem.keep_code()
    trajectory = _trajectory(best.result, problem, best.errors)
    kept = best.method == LOCAL_SUM or best.reached <= asked
    warnings = [
        *start.warnings,
        *(() if start.data is None else start.data.warnings()),
        *activation_warnings(kernel, study.time.relative_tolerance),
        *_warnings(study, best, kept, compression),
        *range_warnings(kernel, trajectory),
    ]
    return replace(
        trajectory,
        steps=sum(r.steps for r in runs),
        rejected=sum(r.rejected for r in runs),
        rhs_evaluations=sum(r.rhs_evaluations for r in runs),
        wall_seconds=checkpoint.seconds if checkpoint else time.perf_counter() - started,
        tolerance_reached=float(best.reached),
        tolerance_method=best.method,
        tolerance_kept=kept,
        error_accuracy=float(np.max(best.changes)) if best.changes.size else float("nan"),
        compression=compression,
        warnings=tuple(warnings),
    )


@dataclass(frozen=True)
class _Best:
    """The best run so far.

    Attributes:
        result, errors: It, and the generalisation error along it.
        reached, method: Its tolerance, and how that is known.
        changes: How much the generalisation error differs from the run before, relative.
    """

    result: FlatResult
    errors: np.ndarray
    reached: float
    method: str = LOCAL_SUM
    changes: np.ndarray = field(default_factory=lambda: np.empty(0))


def _estimated(
    problem: Flow,
    best: _Best,
    tolerance: float,
    progress: Progress | None,
    runs: list[FlatResult],
) -> _Best:
    """How large errors have become, from their size in a run with a larger tolerance.

    What small errors grow to on the way is the same for both runs. A run that is limited by
    stability makes as many steps with any tolerance; it is not made beyond those of the first.
    """
    result = best.result
    larger = min(_LOOSER * tolerance, _LOOSEST)
    if result.cause == "interrupted" or larger <= tolerance:
        return best
    coarse = problem.run(larger, result.steps + result.rejected + 100, progress)
    runs.append(coarse)
    common = min(result.reached, coarse.reached)
    cut_short = coarse.cause in ("step-limit", "interrupted") and result.cause != coarse.cause
    if cut_short or common == 0 or problem.study.alpha[common - 1] == 0.0:
        return best  # with the start alone in common nothing is known of the error
    part = _PROPORTIONAL * tolerance / larger
    reached = part * _difference(coarse, result, problem.state)
    changes = part * relative_changes(problem.errors(coarse), best.errors)
    return replace(best, reached=reached, method=ESTIMATED, changes=changes)


def _repeated(
    problem: Flow,
    best: _Best,
    tolerance: float,
    max_steps: int,
    progress: Progress | None,
    runs: list[FlatResult],
) -> _Best:
    """The same integration with smaller tolerances, until the difference is below the one asked.

    The better run is the result. Where errors go with the tolerance its own is a tenth of the
    difference found; they do within some factor, and where they grow a lot on the way both may be
    of one size. If the difference is above the tolerance asked for, errors have grown: go on.
    """
    asked = problem.study.time.relative_tolerance
    repeats = 0
    while repeats < 3 and tolerance > 1e-14 and best.result.cause != "interrupted":
        result = best.result
        repeats += 1
        tolerance = max(tolerance / 10.0, 1e-14)
        # A method of order 8 needs a third more steps. Many times more means that rounding
        # in the right-hand side is above the tolerance, and nothing would be gained.
        most = min(max_steps, 10 * (result.steps + result.rejected) + 1000)
        better = problem.run(tolerance, most, progress)
        runs.append(better)
        if better.cause in ("step-limit", "interrupted") and result.cause != better.cause:
            break
        common = min(result.reached, better.reached)
        if common == 0 or problem.study.alpha[common - 1] == 0.0:
            break  # only the start is common to both, and that says nothing of the error
        errors = problem.errors(better)
        reached = _difference(result, better, problem.state)
        best = _Best(better, errors, reached, REPEATED, relative_changes(best.errors, errors))
        if reached <= asked:
            break
    return best


def _warnings(
    study: Study, best: _Best, kept: bool, compression: Compression | None
) -> Iterator[str]:
    """What to say of the accuracy."""
    if not kept and best.result.cause == "done":
        yield (
            f"time.relative_tolerance: {study.time.relative_tolerance:g} was asked for, "
            f"{best.reached:.1e} was reached"
        )
    if np.any(best.changes > _COARSE):
        first = study.alpha[int(np.argmax(best.changes > _COARSE))]
        yield (
            f"generalization_error: from alpha = {first:.4g} on it is uncertain by up to "
            f"{np.max(best.changes):.1%}; a smaller time.relative_tolerance helps"
        )
    if compression is not None and compression.error > _COARSE:
        yield (
            f"time.compression: with {compression} the generalisation error is uncertain by up to "
            f'{compression.error:.1%}; compression = "off" keeps them all'
        )


# Vectors of the size of the state that a stepper works with.
_STAGES = 20


@dataclass(frozen=True)
class Flow:
    """A study with the state to start from, as the compiled code wants it."""

    study: Study
    kernel: Kernel
    state: State
    checkpoint: Checkpoint | None = None

    @cached_property
    def sizes(self) -> np.ndarray:
        return sizes_of(self.state.K, self.state.M, self.state.L)

    @cached_property
    def parameters(self) -> np.ndarray:
        """The constants of the run."""
        return flat_parameters(self.study, self.state)

    @cached_property
    def begin(self) -> np.ndarray:
        """The flat state at alpha = 0."""
        return self.state.flat()

    @cached_property
    def code(self) -> RunCode:
        """What is called, compiled."""
        return run_code(self.kernel, self.state.K, self.state.M)

    def run(self, tolerance: float, most: int, progress: Progress | None) -> FlatResult:
        """Integrate in at most so many steps; the absolute tolerance goes with the relative one."""
        asked = self.study.time
        start = self.begin
        self.check_memory()
        return integrate(
            asked.method,
            self.code.right_hand_side,
            start,
            self.sizes,
            self.parameters,
            self.study.alpha,
            relative_tolerance=tolerance,
            absolute_tolerance=asked.absolute_tolerance * tolerance / asked.relative_tolerance,
            # rounding and the tolerance may put a matrix on the edge of the cone just outside
            cone_tolerance=min(1e-2, 1e-10 + 1e3 * tolerance),
            max_steps=most,
            progress=progress,
            checkpoint=self.checkpoint,
            advance=self.code.advance,
        )

    def keep_code(self) -> None:
        """Keep the compiled code for the next process."""
        if "code" in self.__dict__:
            keep_code(self.kernel, self.state.K, self.state.M, self.code)

    def check_memory(self) -> None:
        """Refuse a run whose results do not fit into memory."""
        # two runs are compared, and the better one is taken apart
        check_memory(
            8.0 * self.begin.size * (_STAGES + 3 * self.study.alpha.size),
            f"{self.study.alpha.size} points of {self.state.L} eigenvalues, {self.state.K} "
            f"students and {self.state.M} teachers",
            argument="time.points",
        )

    def errors(self, result: FlatResult) -> np.ndarray:
        """The generalisation error at every row of a result."""
        state, error = self.state, self.code.generalization_error
        _, _, v, Q, R = fields_of(result.results, state)
        # compiled functions take writable arrays in C order
        T, v_teacher = state.T.copy(), state.teacher_weights.copy()
        rows = zip(Q, np.ascontiguousarray(R), np.ascontiguousarray(v), strict=True)
        return np.array([error(*row[:2], T, row[2], v_teacher) for row in rows])

    def further(self, result: FlatResult) -> dict[str, np.ndarray]:
        """What else is known at every row of a result, by its name in ``RUN.nc``."""
        return {}


def flat_parameters(study: Study, state: State) -> np.ndarray:
    """The constants of a run in the layout of the generated modules."""
    training = study.training
    return pack_parameters(
        state.eigenvalue,
        state.weight,
        state.teacher_overlap,
        state.teacher_covariance,
        state.teacher_weights,
        {
            "learning_rate": training.learning_rate,
            "second_layer_learning_rate": study.second_layer_learning_rate,
            "weight_decay": training.weight_decay,
            "second_layer_weight_decay": study.second_layer_weight_decay,
            "label_noise": training.label_noise,
            "full_order": 1.0 if training.order == "full" else 0.0,
        },
    )


def fields_of(
    flat: np.ndarray, state: State
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Q_k, r_k, v, Q, R at every row of ``flat``; a rule may keep more behind them."""
    size = state_size(state.K, state.M, state.L)
    Q_k, r_k, v = split_flat(flat[..., :size], state.K, state.M, state.L)
    variance = state.weight * state.eigenvalue
    Q = np.ascontiguousarray(np.tensordot(Q_k, variance, axes=([1], [0])))
    R = np.tensordot(r_k, state.weight, axes=([1], [0]))
    return Q_k, r_k, v, Q, R


def _difference(first: FlatResult, second: FlatResult, state: State) -> float:
    """The largest difference of Q, R, v over the common times, relative to their scales."""
    common = min(first.reached, second.reached)
    if common == 0:
        return float("inf")
    _, _, v1, Q1, R1 = fields_of(first.results[:common], state)
    _, _, v2, Q2, R2 = fields_of(second.results[:common], state)
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


def _trajectory(result: FlatResult, problem: Flow, errors: np.ndarray) -> Trajectory:
    study, kernel, state = problem.study, problem.kernel, problem.state
    Q_k, r_k, v, Q, R = fields_of(result.results, state)
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
        final=state.with_flat(result.last_state[: state.flat().size]),
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


def _message(result: FlatResult, state: State) -> str:
    """How the run ended, in one line."""
    where = f"alpha = {result.last_alpha:.10g}"
    if result.cause == "done":
        return f"reached {where}"
    with np.errstate(over="ignore", invalid="ignore"):
        largest = np.max(np.abs(fields_of(result.last_state[None], state)[0]))
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
