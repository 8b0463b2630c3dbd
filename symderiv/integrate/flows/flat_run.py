"""The Python side of the stepper for one run: slices, progress, interrupts, kinds of steps."""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from symderiv.integrate.flows.at_rest import Rest
from symderiv.integrate.steppers.coupled_modes import CoupledModes
from symderiv.integrate.steppers.memory import (
    CHANGED,
    CONE_LEFT,
    DONE,
    EXPLICIT,
    IMPLICIT,
    INTERRUPTED,
    KINDS,
    NEXT,
    NOT_A_NUMBER,
    RUNNING,
    STEP_LIMIT,
    STEP_UNDERFLOW,
    STOP,
    VALUES,
    VECTORS,
    memory_of,
    runs_of,
)
from symderiv.integrate.steppers.run_code import stepper_for
from symderiv.integrate.steppers.switching import due, implicit_pays, limited
from symderiv.storage.checkpoint import Checkpoint

#: The code of a run whose end would take far too many steps, because rounding makes them short.
STALLED = 100

REASONS = {
    DONE: "done",
    NOT_A_NUMBER: "not-a-number",
    STEP_UNDERFLOW: "step-underflow",
    CONE_LEFT: "cone-left",
    STEP_LIMIT: "step-limit",
    INTERRUPTED: "interrupted",
    STALLED: "step-limit",
}


@dataclass(frozen=True)
class FlatProblem:
    """An initial value problem, in flat vectors, that begins at alpha = 0.

    Args:
        rhs: ``flat_right_hand_side`` of a generated module.
        state: at alpha = 0, shape (n,); not changed.
        sizes: K, M, L.
        parameters: in the layout of the generated modules.
        asked: ascending times, the first may be 0; shape (P,).
        modes: how the state is coupled, which implicit steps need.
        step: the time that a step of order one takes, with ``asked`` counted in such steps; 0 for a
            flow.
    """

    rhs: Callable[..., None]
    state: np.ndarray
    sizes: np.ndarray
    parameters: np.ndarray
    asked: np.ndarray
    modes: CoupledModes | None = None
    step: float = 0.0


@dataclass(frozen=True)
class StepLimits:
    """Limits and tolerances of the steps of a run.

    Args:
        relative, absolute: tolerances of the local error in the root-mean-square norm.
        cone: relative enlargement of the diagonal in the cone test.
        max_steps: the number of steps, accepted and rejected, after which to stop.
        between: the largest number of evaluations in shorter steps that are made for results
            between steps; results that need more are not a number. Nor are results in implicit
            steps whose iterations do not converge even in parts.
        followed: where the implicit steps of another run began and how long they were, shape
            (n, 2); implicit steps are longer by a factor, except after a rejected one.
    """

    relative: float
    absolute: float
    cone: float = 0.0
    max_steps: int = 100_000_000
    between: float = math.inf
    followed: np.ndarray = field(default_factory=lambda: np.empty((0, 2)))


@dataclass(frozen=True)
class FlatResult:
    """Results of the stepper.

    ``results`` (reached, n) are the states at the first ``reached`` asked times, ``last_state`` (n)
    the state at ``last_alpha``, the last accepted step. ``error_sum`` adds up the estimated local
    errors, relative; ``between`` are the evaluations that shorter steps took, for results between
    steps; ``cause`` is one of the values of :data:`REASONS`. ``lengths`` are where implicit steps
    began and how long they were, shape (n, 2), for each piece of the run.
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
    method: str = EXPLICIT
    between: int = 0
    lengths: tuple[np.ndarray, ...] = ()

    @classmethod
    def of_rows(cls, rows: np.ndarray, last_alpha: float = 0.0) -> FlatResult:
        """Return states (P, n) as the results of a run that did no work and ended at the last."""
        return cls(rows, len(rows), last_alpha, rows[-1], DONE, 0, 0, 0, 0.0)

    @property
    def cause(self) -> str:
        return REASONS[self.code]

    @property
    def missing(self) -> np.ndarray:
        """Mark results that are not there, shape (reached,); see :class:`StepLimits`."""
        absent: np.ndarray = np.isnan(self.results[: self.reached]).any(axis=1)
        return absent

    @property
    def there(self) -> FlatResult:
        """The run with the results alone that are there."""
        rows = self.results[: self.reached][~self.missing]
        return replace(self, results=rows, reached=len(rows))


class SteppedRun:
    """A run of the stepper: the memory on which further steps depend, and the results so far."""

    def __init__(self, problem: FlatProblem, limits: StepLimits, kind: str = EXPLICIT) -> None:
        state, parameters, asked = problem.state, problem.parameters, problem.asked
        size = state.size
        self._problem, self._most = problem, limits.max_steps
        self._asked = limits.relative, limits.absolute, limits.cone, limits.between
        tolerances = np.array([self._asked])
        self._runs = runs_of(state[None], parameters[None], tolerances, asked, problem.sizes)
        fields = int(problem.sizes[0] + problem.sizes[1])
        memory = memory_of(1, size, parameters.size, fields)
        self._memory, self._made = memory._replace(followed=limits.followed), [np.empty((0, 2))]
        # attribute access to records is ten times as slow as their fields by name
        self.status = self._memory.statuses[0]
        numbers = self._memory.numbers
        self.y, self.slope = numbers[:size], numbers[size : 2 * size]
        values = size * VECTORS + VALUES
        self._limits = numbers[values - 4 : values]
        self._constants = numbers[values : values + parameters.size]
        self._steppers: dict[str, tuple[Callable[..., Any] | None, Any]] = {}
        if kind == IMPLICIT:
            self._begin_implicit()

    @property
    def code(self) -> int:
        """The code of the reason for which the run ended, or ``RUNNING``."""
        if self._runs.queue[NEXT] == 0 or self.status["run"] >= 0:
            return RUNNING
        return int(self.status["code"])

    @property
    def taken(self) -> int:
        """The number of steps so far, accepted and rejected."""
        return int(self.status["accepted"] + self.status["rejected"])

    def advance(self, steps: int) -> None:
        """Make at most this number of steps, accepted and rejected."""
        method = KINDS[int(self.status["kind"])]
        if method not in self._steppers:
            self._steppers[method] = stepper_for(self._problem.rhs, method)
        stepper, rhs = self._steppers[method]
        part = STRICTER if method == IMPLICIT else 1.0
        self._limits[:] = part * self._asked[0], part * self._asked[1], *self._asked[2:]
        self._runs.tolerances[0] = self._limits
        made = np.zeros((steps if method == IMPLICIT else 0, 2))
        self._memory = self._memory._replace(made=made)
        assert stepper is not None  # a function without its compiler comes with compiled steppers
        stepper(rhs, self._runs, self._memory, steps, self._most)
        self._made.append(made[made[:, 1] > 0.0])

    def stop(self, code: int) -> None:
        """End the run and fill all results up to the time reached."""
        self._runs.queue[STOP] = code
        self.advance(1)

    def decide(self) -> None:
        """Change to implicit steps if explicit ones are limited by stability and it pays; end at a
        state that stays where it is, or where implicit steps are rejected without end.
        """
        status, asked, modes = self.status, self._runs.asked, self._problem.modes
        if not due(status, float(asked[-1])) or self._rests() or modes is None:
            return
        if status["kind"] == KINDS.index(IMPLICIT):
            self._give_up()
        elif limited(status, self.y, self.slope, self._slope_at) and implicit_pays(
            status, asked, modes, self._asked[0]
        ):
            self.stop(CHANGED)
            self._runs.queue[STOP], status["run"], status["code"] = RUNNING, 0, RUNNING
            status["in_a_row"], status["last_log"], status["since"] = 0, 0.0, status["alpha"]
            self._begin_implicit()

    def _rests(self) -> bool:
        """Return whether the run has ended at a state that stays where it is, where steps are far
        shorter than the times before and to come.
        """
        status, asked = self.status, self._runs.asked
        alpha, end, step = float(status["alpha"]), float(asked[-1]), float(status["step"])
        many = _STUCK[KINDS[int(status["kind"])]] * step
        if alpha < many or end - alpha < many:
            return False
        rest = Rest(self._slope_at, alpha, self.y, self.slope)
        stays = rest.stays(self._asked[0], asked[asked > alpha])
        status["evaluations"] += rest.evaluations
        if stays:
            self.stop(DONE)
            self._runs.results[0, status["results"] :] = self.y
            status["results"], status["alpha"] = asked.size, end
        elif rest.undecided:
            # the answer took as much as many steps
            status["decide"] = 2 * self.taken
        return stays

    def _give_up(self) -> None:
        """End a run whose implicit steps are rejected without end: as failed where explicit ones
        are no shorter, and as stalled where the rest takes too many at the pace so far.
        """
        status, end = self.status, float(self._runs.asked[-1])
        if status["rejected"] < max(_REJECTED, _PART * status["accepted"]):
            return
        alpha, changed = float(status["alpha"]), status["since"] > 0.0
        longer = changed and not limited(status, self.y, self.slope, self._slope_at)
        most = _TOO_MANY * (_LONGER if longer else 1.0)
        if (end - alpha) * self.taken > most * alpha:
            self.stop(STALLED)
        elif longer:
            self.stop(STEP_UNDERFLOW)

    def _begin_implicit(self) -> None:
        """Allocate the memory of implicit steps, and choose them."""
        assert self._problem.modes is not None
        memory = self._problem.modes.vector()
        self._memory, self.status["kind"] = (
            self._memory._replace(implicit=memory),
            KINDS.index(IMPLICIT),
        )

    def _slope_at(self, alpha: float, y: np.ndarray, slope: np.ndarray) -> None:
        self._problem.rhs(alpha, y, self._problem.sizes, self._problem.parameters, slope)

    def keep(self, checkpoint: Checkpoint, key: str) -> None:
        memory, runs = self._memory, self._runs
        live = {"walk": memory.statuses.view(np.int64), "queue": runs.queue, "y": self.y}
        live |= {"slope": self.slope, "times": memory.times, "ends": memory.ends}
        live["filled"] = runs.results[0, : self.status["results"]]
        # copies, because another run may use this memory when this one has stopped
        entry = {name: values.copy() for name, values in live.items()}
        entry["made"] = np.vstack(self._made)
        entry["implicit"] = memory.implicit  # large, and only a guess of the Jacobian
        checkpoint.keep(key, entry, f"alpha = {float(self.status['alpha']):.6g}")

    def restore(self, entry: Mapping[str, np.ndarray] | None) -> None:
        if entry is None:
            return
        if entry["implicit"].size > 0:
            self._begin_implicit()
        memory, runs = self._memory, self._runs
        memory.implicit[:] = entry["implicit"]
        memory.statuses.view(np.int64)[:], runs.queue[:] = entry["walk"], entry["queue"]
        self.y[:], self.slope[:] = entry["y"], entry["slope"]
        memory.times[:], memory.ends[:] = entry["times"], entry["ends"]
        runs.results[0, : self.status["results"]] = entry["filled"]
        self._constants[:], self._made = runs.constants[0], [entry["made"]]

    def result(self) -> FlatResult:
        status = self.status
        since, kind = float(status["since"]), KINDS[int(status["kind"])]
        return FlatResult(
            results=self._runs.results[0, : status["results"]],
            reached=int(status["results"]),
            last_alpha=float(status["alpha"]),
            last_state=self.y if self._runs.queue[NEXT] else self._problem.state,
            code=self.code or int(self._runs.queue[STOP]),
            steps=int(status["accepted"]),
            rejected=int(status["rejected"]),
            rhs_evaluations=int(status["evaluations"]),
            error_sum=float(status["error_sum"]),
            method=kind if since == 0.0 else f"{EXPLICIT} to alpha = {since:.4g}, then {kind}",
            between=int(status["between"]),
            lengths=(np.vstack(self._made),),
        )


def _key(*inputs: np.ndarray) -> str:
    digest = hashlib.sha256()
    for array in inputs:
        digest.update(str(array.shape).encode())
        digest.update(np.ascontiguousarray(array, dtype=np.float64).tobytes())
    return f"integration {digest.hexdigest()}"


#: Called with the time reached and the number of steps so far.
Progress = Callable[[float, int], None]

#: The tolerance of implicit steps, in units of that of the run.
STRICTER = 0.02

# So many steps would fit into the times before and to come. At rest an implicit one is as long as
# all before, unless rounding limits it; explicit ones are limited by stability, and then by that.
_STUCK = {EXPLICIT: 1e4, IMPLICIT: 10.0}
# Implicit steps are hardly ever rejected where errors of the method limit them. So many, and such a
# part of the accepted ones, mean that something else does: rounding of slopes along directions that
# nothing damps, or slopes that are not smooth. Then a run of so many more steps takes hours, and
# explicit ones that could be no shorter are by at least so much longer.
_REJECTED, _PART, _TOO_MANY, _LONGER = 500, 0.25, 2e7, 3.0
_SLICE_SECONDS = 0.1
_FIRST_SLICE = 100_000.0


def integrate_flat(
    problem: FlatProblem,
    limits: StepLimits,
    *,
    progress: Progress | None = None,
    checkpoint: Checkpoint | None = None,
    kinds: Sequence[str] = (EXPLICIT,),
) -> FlatResult:
    """Integrate to the last asked time; never raises for a failed integration.

    Args:
        problem: the initial value problem.
        limits: tolerances and number of steps.
        progress: called about ten times a second.
        checkpoint: the file from which to resume, and in which the state is kept; an integration
            that it holds as finished is not repeated.
        kinds: the kinds of steps that are allowed: that of the first steps, and perhaps another one
            to change to if it is cheaper.

    An interrupt from the keyboard ends the integration with cause "interrupted".
    """
    run = SteppedRun(problem, limits, kinds[0])
    key = ""
    if checkpoint is not None:
        tolerances = limits.relative, limits.absolute, limits.cone, limits.between
        given = np.array([*tolerances, limits.max_steps, *(kind in kinds for kind in KINDS)])
        arrays = problem.state, problem.sizes, problem.parameters, problem.asked, limits.followed
        key = _key(*arrays, given.astype(np.float64))
        run.restore(checkpoint.entry(key))
    listening = nullcontext() if checkpoint is None else checkpoint.listening()
    try:
        with listening:
            _advance(run, progress, checkpoint, key, kinds)
    except KeyboardInterrupt:
        run.stop(INTERRUPTED)
    if checkpoint is not None and run.code not in (RUNNING, INTERRUPTED):
        run.keep(checkpoint, key)
    return run.result()


def _advance(
    run: SteppedRun,
    progress: Progress | None,
    checkpoint: Checkpoint | None,
    key: str,
    kinds: Sequence[str],
) -> None:
    """Make slices of steps until the run ends, with progress and checkpoints in between."""
    status = run.status
    # the first guess: an evaluation takes about a nanosecond for each entry of the state
    pace = max(16.0, _FIRST_SLICE / run.y.size)
    while run.code == RUNNING:
        if checkpoint is not None and _stopped(run, checkpoint, key):
            return run.stop(INTERRUPTED)
        started, taken, most = time.perf_counter(), run.taken, int(pace)
        if IMPLICIT in kinds:
            # decisions depend on counts of steps, not on the clock, so that runs are repeatable
            if taken >= status["decide"]:
                run.decide()
            most = min(most, max(int(status["decide"]) - taken, 1))
        run.advance(most)
        factor = _SLICE_SECONDS / max(time.perf_counter() - started, 1e-6)
        if factor < 1.0 or most == int(pace):
            pace = max(1.0, most * min(4.0, factor))
        if progress is not None:
            progress(float(status["alpha"]), int(status["accepted"]))
    return None


def _stopped(run: SteppedRun, checkpoint: Checkpoint, key: str) -> bool:
    """Write the checkpoint if that is due; return whether the run is asked to stop."""
    if checkpoint.stop_asked:
        run.keep(checkpoint, key)
        checkpoint.stop()
        return True
    if checkpoint.due:
        run.keep(checkpoint, key)
        checkpoint.write()
    return False
