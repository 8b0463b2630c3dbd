"""Stiff problems: when the explicit steps are worth leaving, and the implicit ones of SciPy.

Backward differentiation formulas of variable order (:class:`scipy.integrate.BDF`) take steps as
long as the slow part of the solution allows, at the cost of linear systems.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from functools import partial

import numpy as np

from symderiv.foundation.errors import InputError
from symderiv.integrate.flows.flat_run import (
    FlatProblem,
    FlatResult,
    Progress,
    StepLimits,
    integrate_flat,
)
from symderiv.integrate.steppers.walk import (
    CONE_LEFT,
    DONE,
    EXPLICIT,
    INTERRUPTED,
    NOT_A_NUMBER,
    RUNNING,
    STEP_LIMIT,
    STEP_UNDERFLOW,
    STIFF,
)
from symderiv.storage.checkpoint import Checkpoint

IMPLICIT = "implicit"

# The steps of order 8 become unstable where step times rate is about 6. A solution that allows
# longer steps keeps them close to that; one that does not is not stiff.
_STABILITY = 4.0
# Rough costs in microseconds, of an evaluation and of an implicit run; they decide on speed only.
# They are constants and not measured, so that results do not depend on the load of the machine.
_PAYS = 1.5
# An implicit step of the tolerance asked for is less accurate than an explicit one.
_TIGHTER = 0.02
_LEAST_RELATIVE = 3e-14
#: The smallest tolerance that makes a difference: SciPy's steps keep no smaller ones.
LEAST_TOLERANCE = _LEAST_RELATIVE / _TIGHTER
_MOST_ENTRIES = 5 * 10**7
_PROGRESS_SECONDS = 0.1


def integrate(
    method: str,
    problem: FlatProblem,
    limits: StepLimits,
    *,
    progress: Progress | None = None,
    checkpoint: Checkpoint | None = None,
) -> FlatResult:
    """Integrate as :func:`~symderiv.integrate.flows.flat_run.integrate_flat`, by the method asked
    for.

    Args:
        method: "explicit", "implicit", or "auto": explicit steps until the problem is found to be
            stiff and the rest of the way long enough for implicit ones to be faster.
        problem, limits, progress, checkpoint: see there.

    Raises:
        InputError: an implicit method was asked for and needs too much memory.
    """
    explicit = partial(integrate_flat, problem, limits, progress=progress, checkpoint=checkpoint)
    K, _, L = (int(each) for each in problem.sizes)
    size = _size_of_mode(problem)
    fits = L * size * size <= _MOST_ENTRIES and L * size * (K + size) <= _MOST_ENTRIES
    if method == "implicit" and not fits:
        raise InputError(
            f"the implicit method keeps {L} matrices of {size} x {size} numbers, "
            'which is too much; use "auto", or compression = "on"',
            argument="time.method",
        )
    if method == "implicit":
        return _continue(_nothing_done(problem), problem, limits, progress, checkpoint)
    watch = _Watch(problem, limits.relative) if method == "auto" and fits else None
    first = explicit(watch=watch, stabilise=method == "auto")
    if first.code != STIFF:
        return first
    first = replace(first, method=f"{EXPLICIT} to alpha = {first.last_alpha:.4g}, then {IMPLICIT}")
    result = _continue(first, problem, limits, progress, checkpoint)
    if result.code in (DONE, STEP_LIMIT, INTERRUPTED):
        return result
    # what implicit steps fail at, explicit ones may still do
    slow = explicit(stabilise=False)
    return replace(
        slow,
        steps=slow.steps + result.steps,
        rejected=slow.rejected + result.rejected,
        rhs_evaluations=slow.rhs_evaluations + result.rhs_evaluations,
    )


def _size_of_mode(problem: FlatProblem) -> int:
    """Return how many numbers of Q and r belong to one eigenvalue."""
    K, M, _ = (int(each) for each in problem.sizes)
    return K * (K + 1) // 2 + K * M


def _nothing_done(problem: FlatProblem) -> FlatResult:
    """Return what implicit steps go on from at alpha = 0."""
    state = np.array(problem.state, dtype=np.float64)
    return FlatResult(np.empty((0, state.size)), 0, 0.0, state, STIFF, 0, 0, 0, 0.0, IMPLICIT)


class _Watch:
    """Tells, from time to time, whether to leave the explicit steps."""

    def __init__(self, problem: FlatProblem, tolerance: float) -> None:
        self._problem = problem.rhs, problem.sizes, problem.parameters
        self._end = float(problem.asked[-1])
        L, size = int(problem.sizes[2]), _size_of_mode(problem)
        evaluation = 0.35 + 0.0006 * L * size
        # formulas of order 5 at most, so tight tolerances cost many steps
        steps = 300.0 * max(1.0, 1e-9 / tolerance) ** 0.5
        self._explicit_step = 12.0 * evaluation
        self._implicit = steps * (600.0 + 5.0 * evaluation + 0.026 * L * size**2)

    def __call__(self, alpha: float, step: float, flat: np.ndarray) -> bool:
        rest = (self._end - alpha) / step * self._explicit_step
        if rest < _PAYS * self._implicit:
            return False
        # here, because most runs get along without SciPy
        from symderiv.integrate.steppers.stiff import StiffEquations

        return step * StiffEquations(*self._problem).fastest_rate(flat) > _STABILITY


def _continue(
    first: FlatResult,
    problem: FlatProblem,
    limits: StepLimits,
    progress: Progress | None,
    checkpoint: Checkpoint | None,
) -> FlatResult:
    """Implicit steps from where ``first`` ended; a run that is resumed makes them again."""
    run = _Implicit(first, problem, limits)
    reported = time.perf_counter()
    listening = nullcontext() if checkpoint is None else checkpoint.listening()
    try:
        # what overflows is found by its result
        with listening, np.errstate(all="ignore"):
            run.begin()
            while run.code == RUNNING:
                if checkpoint is not None and checkpoint.stop_asked:
                    checkpoint.stop()
                    run.code = INTERRUPTED
                    break
                if first.steps + first.rejected + run.steps >= limits.max_steps:
                    run.code = STEP_LIMIT
                    break
                if not run.step():
                    break
                now = time.perf_counter()
                if progress is not None and now - reported > _PROGRESS_SECONDS:
                    progress(run.alpha, first.steps + run.steps)
                    reported = now
    except KeyboardInterrupt:
        run.code = INTERRUPTED
    return run.result()


class _Implicit:
    """A run of implicit steps: where it is, and the results so far."""

    def __init__(self, first: FlatResult, problem: FlatProblem, limits: StepLimits) -> None:
        from symderiv.integrate.steppers.stiff import StiffEquations

        sizes, parameters = problem.sizes, problem.parameters
        self.equations = StiffEquations(problem.rhs, sizes, parameters)
        self.first, self.asked, self.limits = first, problem.asked, limits
        self.flat, self.alpha = first.last_state, first.last_alpha
        self.results = np.empty((self.asked.size, self.flat.size))
        self.results[: first.reached] = first.results
        self.reached, self.steps, self.code = first.reached, 0, RUNNING
        self._fill(lambda alpha: self.flat)
        self._start = self.equations.pack(self.flat)
        self._scale = self.equations.scale(self._start)
        self._relative = max(_TIGHTER * limits.relative, _LEAST_RELATIVE)
        self._layout = sizes, parameters

    def begin(self) -> None:
        """Make the solver, where there is anything to solve."""
        from scipy.integrate import BDF

        equations, start, relative = self.equations, self._start, self._relative
        if not np.all(np.isfinite(equations.derivative(self.alpha, start))):
            self.code = NOT_A_NUMBER
        elif self.reached == self.asked.size:
            self.code = DONE
        else:
            self._solver = BDF(
                equations.derivative,
                self.alpha,
                start,
                float(self.asked[-1]),
                rtol=relative,
                atol=self._least(start),
                # the blocks of a single mode cannot be told from the effect of its sums
                jac=equations.jacobian if equations.separable else None,
            )

    def _least(self, unknowns: np.ndarray) -> np.ndarray:
        """Return the absolute tolerances of a step from here."""
        rounding = _unseen(self._relative) * self.equations.scale(unknowns, of_teachers=False)
        return np.maximum(_TIGHTER * self.limits.absolute, rounding)

    def step(self) -> bool:
        """Make a step and fill the results in it; whether there was one."""
        equations, solver = self.equations, self._solver
        # students may be small beside teachers: what rounding leaves is small with them
        solver.atol = self._least(solver.y)
        try:
            solver.step()
        except (RuntimeError, ValueError):
            # a singular matrix, or one with an entry that is not a number
            self.code = STEP_UNDERFLOW
            return False
        if solver.status == "failed":
            finite = np.all(np.isfinite(equations.derivative(solver.t, solver.y)))
            self.code = STEP_UNDERFLOW if finite else NOT_A_NUMBER
            return False
        self.steps += 1
        inside = solver.dense_output()
        before, self.alpha = self.alpha, float(solver.t)
        self.flat = equations.unpack(solver.y)
        if not np.all(np.isfinite(self.flat)):
            self.alpha, self.flat = before, equations.unpack(inside(before))
            self.code = NOT_A_NUMBER
        elif self._outside(self.flat):
            # a step may be long: keep the part of it that is inside
            self.alpha = _last_inside(
                before, self.alpha, lambda alpha: self._outside(equations.unpack(inside(alpha)))
            )
            self.flat = equations.unpack(inside(self.alpha))
            self.code = CONE_LEFT
        elif solver.status == "finished":
            self.code = DONE
        self._fill(lambda alpha: equations.unpack(inside(alpha)))
        return True

    def result(self) -> FlatResult:
        first, relative = self.first, self.limits.relative
        return replace(
            first,
            results=self.results[: self.reached],
            reached=self.reached,
            last_alpha=self.alpha,
            last_state=self.flat,
            code=self.code,
            steps=first.steps + self.steps,
            rhs_evaluations=first.rhs_evaluations + self.equations.evaluations,
            # SciPy keeps its estimates to itself; each is at most the tolerance
            error_sum=first.error_sum + self.steps * _TIGHTER * relative,
        )

    def _fill(self, state_at: Callable[[float], np.ndarray]) -> None:
        """Fill the results up to where the run is."""
        while self.reached < self.asked.size and self.asked[self.reached] <= self.alpha:
            self.results[self.reached] = state_at(self.asked[self.reached])
            self.reached += 1

    def _outside(self, state: np.ndarray) -> bool:
        from symderiv.integrate.steppers.cone import is_outside

        # what the tolerances leave of a student that dies out may be below zero
        largest = float(np.max(self._scale[-self.equations.size :]))
        slack = 10.0 * self._relative * largest
        return is_outside(state, *self._layout, self.limits.cone, slack)


def _unseen(relative_tolerance: float) -> float:
    """Return the relative absolute tolerance below which Newton's iterations would chase rounding
    errors.

    SciPy ends them when a correction is below this part of the tolerances.
    """
    epsilon = float(np.finfo(float).eps)
    part: float = max(10.0 * epsilon / relative_tolerance, min(0.03, relative_tolerance**0.5))
    return 5.0 * epsilon / part


def _last_inside(inside: float, outside: float, is_outside: Callable[[float], bool]) -> float:
    """Return the last time found inside between one that is and one that is not."""
    for _ in range(40):
        middle = 0.5 * (inside + outside)
        if is_outside(middle):
            outside = middle
        else:
            inside = middle
    return inside
