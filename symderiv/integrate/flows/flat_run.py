"""The Python side of the compiled stepper: first step, slices of steps, progress, interrupts."""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np

from symderiv.integrate.steppers.switching import (
    TRIED,
    change,
    due,
    limited,
    pays,
    stages_for,
    stays,
)
from symderiv.integrate.steppers.walk import (
    CONE_LEFT,
    DONE,
    ENDS,
    INTERRUPTED,
    LIMITS,
    NOT_A_NUMBER,
    RUNNING,
    STEP_LIMIT,
    STEP_UNDERFLOW,
    STIFF,
    WALK,
)
from symderiv.problem.flat_layout import places
from symderiv.storage.checkpoint import Checkpoint

EXPLICIT = "explicit"
STABILISED = "stabilised"

_NAMES = WALK.names or ()

REASONS = {
    DONE: "done",
    NOT_A_NUMBER: "not-a-number",
    STEP_UNDERFLOW: "step-underflow",
    CONE_LEFT: "cone-left",
    STEP_LIMIT: "step-limit",
    INTERRUPTED: "interrupted",
    STIFF: "stiff",
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
    method: str = EXPLICIT

    @property
    def cause(self) -> str:
        return REASONS[self.code]


class _Memory:
    """All that the steps to come depend on, and the results so far.

    ``walk`` is the one record in ``walks``; compiled code takes the array, Python reads the record
    by the names of its fields (attributes of records would be ten times as slow).
    Of the stages only the first matters between slices, the slope at ``y``; ``times`` and ``ends``
    are those of the last steps.
    """

    def __init__(self, state: np.ndarray, asked: np.ndarray) -> None:
        self.asked = np.ascontiguousarray(asked, dtype=np.float64)
        self.y = np.array(state, dtype=np.float64)
        self.results = np.empty((asked.size, state.size))
        self.stages = np.zeros((12, state.size))
        self.times, self.ends = np.zeros(ENDS + 1), np.zeros((ENDS + 1, 2, state.size))
        self.walks, self.walk = _record(WALK)
        #: where the search for the fastest mode goes on
        self.direction = np.zeros(state.size)
        self.code = RUNNING

    @property
    def taken(self) -> int:
        """Steps, accepted and rejected."""
        return int(self.walk["accepted"] + self.walk["rejected"])

    @property
    def filled(self) -> np.ndarray:
        """The results so far."""
        return self.results[: self.walk["results"]]

    def keep(self, checkpoint: Checkpoint, key: str) -> None:
        entry = {name: np.array(self.walk[name]) for name in _NAMES}
        entry |= {"y": self.y, "slope": self.stages[0], "code": np.array(self.code)}
        entry |= {"times": self.times, "ends": self.ends, "direction": self.direction}
        alpha = float(self.walk["alpha"])
        # results that lag behind may still be added to these
        checkpoint.keep(key, {**entry, "filled": self.filled.copy()}, f"alpha = {alpha:.6g}")

    def restore(self, entry: Mapping[str, np.ndarray] | None) -> None:
        if entry is None:
            return
        for name in _NAMES:
            self.walk[name] = entry[name]
        self.y[:], self.stages[0] = entry["y"], entry["slope"]
        self.times[:], self.ends[:] = entry["times"], entry["ends"]
        self.direction[:] = entry["direction"]
        self.results[: self.walk["results"]] = entry["filled"]
        self.code = int(entry["code"])

    def result(self) -> FlatResult:
        return FlatResult(
            results=self.filled,
            reached=int(self.walk["results"]),
            last_alpha=float(self.walk["alpha"]),
            last_state=self.y,
            code=self.code,
            steps=int(self.walk["accepted"]),
            rejected=int(self.walk["rejected"]),
            rhs_evaluations=int(self.walk["evaluations"]),
            error_sum=float(self.walk["error_sum"]),
            method=EXPLICIT
            if self.walk["since"] == 0.0
            else f"{EXPLICIT} to alpha = {self.walk['since']:.4g}, then {STABILISED}",
        )


def _record(fields: np.dtype) -> tuple[np.ndarray, Any]:
    """One record of zeros: the array that holds it, and itself, with its fields by name."""
    array = np.zeros(1, dtype=fields)
    return array, array[0]


def _key(*inputs: np.ndarray) -> str:
    digest = hashlib.sha256()
    for array in inputs:
        digest.update(str(array.shape).encode())
        digest.update(np.ascontiguousarray(array, dtype=np.float64).tobytes())
    return f"integration {digest.hexdigest()}"


#: Called with the time reached and the number of steps so far.
Progress = Callable[[float, int], None]

#: Called every so many steps with the time, the step and the state; True ends with code STIFF.
Watch = Callable[[float, float, np.ndarray], bool]

#: The tolerance of a stabilised step, in that of the run.
STRICTER = 0.003

_SLICE_SECONDS = 0.1
_FIRST_SLICE = 100_000.0
_STEPS_BETWEEN_WATCHES = 1000


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
    checkpoint: Checkpoint | None = None,
    watch: Watch | None = None,
    advance: Callable[..., int] | None = None,
    stabilise: bool = True,
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
        checkpoint: where to go on from and to keep what is needed for it; an integration that it
            holds as finished is not made again.
        watch: asked every 1000 steps whether to stop, with the cause "stiff".
        advance: the compiled stepper; numba's when left out.
        stabilise: make stabilised steps where they are cheaper.

    An interrupt from the keyboard ends the integration with cause "interrupted".
    """
    memory = _Memory(state, asked)
    walk = memory.walk
    tolerances = relative_tolerance, absolute_tolerance, cone_tolerance
    key = ""
    if checkpoint is not None:
        watched = float(watch is not None)
        given = np.array([*tolerances, max_steps, watched, stabilise], dtype=np.float64)
        key = _key(state, sizes, parameters, asked, given)
        memory.restore(checkpoint.entry(key))
    limits, limit = _record(LIMITS)
    advanced = _Slices(advance, rhs, sizes, parameters, memory, limits)
    limit["relative"], limit["absolute"], limit["cone"] = tolerances
    # an evaluation takes about a nanosecond for each entry of the state
    pace = max(16.0, _FIRST_SLICE / state.size)
    listening = nullcontext() if checkpoint is None else checkpoint.listening()
    try:
        with listening:
            if not walk["started"]:
                memory.code = _begin(rhs, memory, sizes, parameters, *tolerances[:2])
            while memory.code == RUNNING:
                if checkpoint is not None and _stopped(memory, checkpoint, key):
                    memory.code = INTERRUPTED
                    break
                started = time.perf_counter()
                taken = memory.taken
                if taken >= max_steps:
                    memory.code = STEP_LIMIT
                    break
                most = max_steps - taken
                if stabilise:
                    # at counts of steps, not at times of the clock: runs are repeatable
                    if taken >= walk["decide"]:
                        advanced.decide()
                    most = min(most, int(walk["decide"]) - taken)
                if watch is not None:
                    to_watch = _STEPS_BETWEEN_WATCHES - taken % _STEPS_BETWEEN_WATCHES
                    due = taken > 0 and to_watch == _STEPS_BETWEEN_WATCHES
                    if due and watch(float(walk["alpha"]), advanced.usual_step, memory.y):
                        memory.code = STIFF
                        break
                    most = min(most, to_watch)
                limit["steps"] = min(int(pace), most)
                memory.code = advanced()
                elapsed = time.perf_counter() - started
                factor = _SLICE_SECONDS / max(elapsed, 1e-6)
                if factor < 1.0 or limit["steps"] == int(pace):
                    pace = max(1.0, limit["steps"] * min(4.0, factor))
                if progress is not None:
                    progress(float(walk["alpha"]), int(walk["accepted"]))
    except KeyboardInterrupt:
        memory.code = INTERRUPTED
    if memory.code in (STEP_LIMIT, INTERRUPTED, STIFF):
        # the results that lag behind
        advanced.fill()
    if checkpoint is not None and memory.code != INTERRUPTED:
        memory.keep(checkpoint, key)
    return memory.result()


def _with_compiler(rhs: Callable[..., None]) -> tuple[Callable[..., int], Callable[..., None]]:
    """numba's stepper, and the right-hand side as an argument for it."""
    # here, because a run whose code is kept does without numba
    from symderiv.compiled_code.compiled import as_argument
    from symderiv.integrate.steppers.stepper import advance

    return advance, as_argument(rhs)


class _Slices:
    """Slices of steps of one problem, with the room that they work in."""

    def __init__(
        self,
        advance: Callable[..., int] | None,
        rhs: Callable[..., None],
        sizes: np.ndarray,
        parameters: np.ndarray,
        memory: _Memory,
        limits: np.ndarray,
    ) -> None:
        fields = int(sizes[0] + sizes[1])
        self._memory, self._limits = memory, limits
        self._rhs = rhs
        self._advance, value = (advance, rhs) if advance is not None else _with_compiler(rhs)
        self._problem = value, memory.y, sizes, places(sizes), parameters
        self._kept = memory.asked, memory.results, memory.walks
        self._steps = memory.stages, memory.times, memory.ends
        between, order = np.zeros((5, ENDS)), np.zeros(ENDS, dtype=np.int64)
        self._covariance = np.zeros((fields, fields))
        self._work = np.zeros((3, memory.y.size)), between, order, self._covariance
        self._room = np.zeros((0, 0))

    def __call__(self) -> int:
        """At most so many steps as the limits say."""
        memory = self._memory
        if not memory.walk["stabilised"]:
            return self._advance(
                *self._problem, *self._kept, *self._steps, *self._work, self._limits
            )
        advance_stabilised = self._stabilised()
        if advance_stabilised is None:
            change(memory.walk)
            return self()
        self._room[-1] = memory.direction
        # the explicit steps that these replace are held back by stability, and far more accurate
        # than asked: on a plateau, where errors grow, that accuracy would be missed
        limits = self._limits.copy()
        limits["relative"] *= STRICTER
        limits["absolute"] *= STRICTER
        code = advance_stabilised(
            *self._problem, *self._kept, *self._steps, self._room, *self._work[1:], limits
        )
        memory.direction[:] = self._room[-1]
        return int(code)

    def _stabilised(self) -> Callable[..., int] | None:
        # here, because most runs get along without it
        from symderiv.integrate.steppers.stabilised_code import ROOM, stabilised_code

        if not self._room.size:
            self._room = np.zeros((ROOM, self._memory.y.size))
        return stabilised_code(self._rhs)

    def fill(self) -> None:
        """The results that lag behind."""
        self._limits[0]["steps"] = 0
        self()

    def decide(self) -> None:
        """Change the kind of steps, where it is time for that."""
        memory, walk = self._memory, self._memory.walk
        slope = memory.stages[0]
        if walk["stabilised"]:
            changes = not stays(walk)
        else:
            changes = (
                due(walk, float(memory.asked[-1]))
                # compiled code does that too, but first it must be there; what was tried before is
                # known from the walk, so that a run that goes on decides as one undisturbed
                and (walk["rate"] > 0.0 or limited(walk, memory.y, slope, self._slope))
                and self._stabilised() is not None
                and pays(walk, self._tried())
            )
        if changes:
            self.fill()
            change(walk)

    def _slope(self, alpha: float, y: np.ndarray, slope: np.ndarray) -> None:
        _, _, sizes, _, parameters = self._problem
        self._rhs(alpha, y, sizes, parameters, slope)

    def _tried(self) -> float:
        """How long stabilised steps could be, from one that is tried."""
        walk = self._memory.walk
        step = float(walk["step"])
        walk["step"], walk["stabilised"], self._limits[0]["steps"] = TRIED * step, 1, -1
        walk["rate"] = 0.0
        self()
        found = float(walk["step"])
        walk["step"], walk["stabilised"] = step, 0
        return found

    @property
    def usual_step(self) -> float:
        """The step of the explicit method that would cost as much."""
        step, rate = float(self._memory.walk["step"]), float(self._memory.walk["rate"])
        if not self._memory.walk["stabilised"]:
            return step
        return 12.0 * step / stages_for(step, rate)


def _stopped(memory: _Memory, checkpoint: Checkpoint, key: str) -> bool:
    """Keep the state where that is due; tell whether to stop."""
    if checkpoint.stop_asked:
        memory.keep(checkpoint, key)
        checkpoint.stop()
        return True
    if checkpoint.due:
        memory.keep(checkpoint, key)
        checkpoint.write()
    return False


def _begin(
    rhs: Callable[..., None],
    memory: _Memory,
    sizes: np.ndarray,
    parameters: np.ndarray,
    rtol: float,
    atol: float,
) -> int:
    """The results at alpha = 0, the slope there and the first step; returns how that went."""
    y, slope, asked, walk = memory.y, memory.stages[0], memory.asked, memory.walk
    walk["started"] = 1
    walk["results"] = np.count_nonzero(asked <= 0.0)
    memory.filled[:] = y
    rhs(0.0, y, sizes, parameters, slope)
    walk["evaluations"] += 1
    if not (np.all(np.isfinite(y)) and np.all(np.isfinite(slope))):
        return NOT_A_NUMBER
    if walk["results"] == asked.size:
        return DONE
    memory.ends[0] = y, slope
    with np.errstate(all="ignore"):
        walk["step"] = _first_step(rhs, y, slope, sizes, parameters, float(asked[-1]), rtol, atol)
    walk["evaluations"] += 1
    walk["last_error"] = 1e-4
    return RUNNING


def _first_step(
    rhs: Callable[..., None],
    y: np.ndarray,
    slope: np.ndarray,
    sizes: np.ndarray,
    parameters: np.ndarray,
    end: float,
    rtol: float,
    atol: float,
) -> float:
    """A first step from the sizes of the solution, its slope and its curvature.

    Source: :cite:`HairerNorsettWanner1993`, II.4.
    """
    scale = atol + rtol * np.abs(y)
    counted = scale > 0.0

    def norm(values: np.ndarray) -> float:
        squares = np.square(values[counted] / scale[counted])
        return math.sqrt(float(np.sum(squares)) / y.size)

    d0, d1 = norm(y), norm(slope)
    step = min(1e-6 if d0 < 1e-5 or d1 < 1e-5 else 0.01 * d0 / d1, end)
    moved = np.empty_like(y)
    rhs(step, y + step * slope, sizes, parameters, moved)
    largest = max(d1, norm((moved - slope) / step))
    if not math.isfinite(largest):
        return step
    guess = max(1e-6, 1e-3 * step) if largest <= 1e-15 else (0.01 / largest) ** 0.125
    return min(100.0 * step, guess, end)
