"""The true error of each drawn study beside the one that its run states."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from support.campaign import Kept

from stated_errors.costs import counted
from stated_errors.drawing import Drawn, draw
from stated_errors.long_double import LONG, NoReferenceError, long_results
from symderiv.foundation.errors import SymderivError
from symderiv.integrate.ensemble import Chunk, integrate_chunk
from symderiv.integrate.flows.compression import relative_changes
from symderiv.integrate.flows.flat_run import FlatResult
from symderiv.integrate.flows.study_flow import Flow, shaken
from symderiv.integrate.flows.trajectory import Trajectory
from symderiv.integrate.rules.solving import flow_of, solve
from symderiv.integrate.steppers.memory import DONE
from symderiv.problem.flat_layout import fields_of

#: Of a step of the reference, and of the run that says what the reference knows.
_TOLERANCE, _CHECKED = 3e-17, 1e-15
#: What doubles can tell of a difference, beside the largest entry.
_ROUNDED = 1e-15
#: By how much another start differs, to see what a difference grows to, and the tolerance of it.
_MOVED, _MOVED_CHECKED = 1e-7, 1e-11
#: A study whose start's differences grow so many times has a plateau.
PLATEAU = 10.0


@dataclass(frozen=True)
class Verdict:
    """What one run said, and what is true.

    Attributes:
        number, method: Of the study; ``made`` is how the run says it was integrated.
        asked, stated: Tolerances; a run that measured nothing states not a number.
        kept: Whether the run says that it kept what was asked.
        cause: How it ended.
        true: Its largest error relative to the scales, as ``tolerance_reached`` means it.
        known: How far that is uncertain.
        how: The run's method of measurement.
        accuracy: The error of the generalisation error that the run states, relative to it.
        error_true, error_known: What that error is, and how far this is uncertain; differences of
            1e-14 are not counted.
        growth: How many times a small change of the start grows, relative to the scales.
        cost: Right-hand sides that stating the error took, for each of the run itself.
        ran, referred: CPU seconds of the run and of the references.
    """

    number: int
    method: str
    made: str
    asked: float
    stated: float
    kept: bool
    cause: str
    true: float
    known: float
    how: str
    accuracy: float
    error_true: float
    error_known: float
    growth: float
    cost: float
    ran: float
    referred: float

    @property
    def outcome(self) -> str:
        """One of "holds", "below", "unknown", and "more than asked", which holds and says so."""
        if math.isnan(self.true):
            return "unknown"
        stated = (
            (self.true, self.known, self.stated),
            (*(self.error_true, self.error_known, self.accuracy),),
        )
        if any(not true - known <= said for true, known, said in stated):
            return "below"
        if not self.kept or self.cause != "done":
            return "more than asked"
        return "holds" if self.true + self.known <= max(self.stated, self.asked) else "unknown"

    @property
    def ratio(self) -> float:
        """The stated error over the true one, or over what is known of it."""
        return self.stated / max(self.true, self.known)


def flow_at(drawn: Drawn) -> Flow:
    """What the run integrates."""
    study, start = drawn.study, drawn.start
    return flow_of(study, start)(start.state)


def tried(drawn: Drawn) -> Verdict:
    """Run a study, and the reference."""
    begun = time.process_time()
    study, flow = drawn.study, flow_at(drawn)
    if drawn.method == "ensemble":
        with counted(type(flow)) as counts:
            chunk = integrate_chunk([study], starts=[drawn.start], threads=1, check="auto")
        said = StatedErrors.of_chunk(chunk, 0, study.time.relative_tolerance)
    else:
        with counted(type(flow)) as counts:
            run = solve(study, start=drawn.start)
        said = StatedErrors.of_run(run)
    ran, cost = time.process_time() - begun, counts.cost(said.curves[0])
    return judged(drawn, said, cost, ran, long_results)


@dataclass(frozen=True)
class StatedErrors:
    """What a run says: its curves Q, R, v and generalisation error, and of their errors."""

    curves: tuple[np.ndarray, np.ndarray, np.ndarray]
    error: np.ndarray
    stated: float
    accuracy: float
    kept: bool
    words: tuple[str, str, str]

    @classmethod
    def of_run(cls, run: Trajectory) -> StatedErrors:
        """What a single run says."""
        words = run.cause, run.method, run.tolerance_method[:10]
        stated = run.tolerance_reached, run.error_accuracy, run.tolerance_kept
        return cls((run.Q, run.R, run.v), run.generalization_error, *stated, words)

    @classmethod
    def of_chunk(cls, chunk: Chunk, number: int, asked: float) -> StatedErrors:
        """What one of many runs says."""
        reached = int(np.count_nonzero(np.isfinite(chunk.generalization_error[number])))
        Q, R, v, error = (
            each[number, :reached]
            for each in (chunk.Q, chunk.R, chunk.v, chunk.generalization_error)
        )
        stated = float(chunk.tolerance_reached[number])
        words = str(chunk.status[number]), "lanes", "ensemble"
        accuracy = float(chunk.error_accuracy[number])
        return cls((Q, R, v), error, stated, accuracy, stated <= asked, words)


#: The states of a flow at all times of its study, with a tolerance of each step.
Reference = Callable[[Flow, float], np.ndarray]


def judged(
    drawn: Drawn, said: StatedErrors, cost: float, ran: float, reference: Reference
) -> Verdict:
    """Compare what a run says with a reference."""
    begun, flow = time.process_time(), flow_at(drawn)
    true = known = error_true = error_known = growth = math.nan
    reached = len(said.error)
    try:
        rows, checked = (reference(flow, each) for each in (_TOLERANCE, _CHECKED))
        exact, other = (_curves(each, flow) for each in (rows, checked))
        true = _apart(said.curves, tuple(each[:reached] for each in exact), flow.state.T)
        known = _apart(other, exact, flow.state.T) + _ROUNDED
        error, again = (_errors(each, flow) for each in (rows, checked))
        error_true, error_known = (
            float(np.max(relative_changes(each[:reached], other), initial=0.0))
            for each, other in ((error, said.error), (again, error[:reached]))
        )
        growth = _growth(flow, rows, reference)
    except NoReferenceError:
        pass
    referred = time.process_time() - begun
    cause, made, how = said.words
    return Verdict(
        *(drawn.number, drawn.method, made, drawn.study.time.relative_tolerance, said.stated),
        *(said.kept, cause, true, known, how),
        *(float(f"{x:.3g}") for x in (said.accuracy, error_true, error_known)),
        *(float(f"{x:.3g}") for x in (growth, cost, ran, referred)),
    )


def _result(rows: np.ndarray) -> FlatResult:
    doubles = rows.astype(float)
    return FlatResult(doubles, len(rows), 0.0, doubles[-1], DONE, 0, 0, 0, 0.0)


def _errors(rows: np.ndarray, flow: Flow) -> np.ndarray:
    """The generalisation error along a reference."""
    return flow.errors(_result(rows))


def _growth(flow: Flow, rows: np.ndarray, reference: Reference) -> float:
    """How many times a small change of the start and of the weights has grown at the most."""
    moved = reference(shaken(flow, _result(rows), _MOVED, 0), _MOVED_CHECKED)
    return _apart(_curves(moved, flow), _curves(rows, flow), flow.state.T) / _MOVED


def _curves(rows: np.ndarray, flow: Flow) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    state = flow.state
    weight, eigenvalue = (each.astype(LONG) for each in (state.weight, state.eigenvalue))
    _, _, v, Q, R = fields_of(rows, weight, eigenvalue, state.K, state.M)
    return Q, R, v


def _apart(found: tuple[np.ndarray, ...], exact: tuple[np.ndarray, ...], T: np.ndarray) -> float:
    """As ``tolerance_reached``: at each time relative to max Q, sqrt(max Q max T) and max v."""
    if not len(exact[0]):
        return math.nan
    largest = np.abs(exact[0]).max(axis=(1, 2))
    scales = largest, np.sqrt(largest * np.abs(T).max()), np.abs(exact[2]).max(axis=1)
    worst = 0.0
    for one, other, scale in zip(found, exact, scales, strict=True):
        apart = np.abs(one - other).reshape(len(other), -1).max(axis=1)
        worst = max(worst, float(np.max(apart / np.where(scale > 0, scale, 1))))
    return worst


def campaign(numbers: Iterable[int], seed: int, results: Path | None) -> Iterator[Verdict]:
    """The verdicts of studies; those that a file of results has are taken from it."""
    kept = Kept(results, Verdict, seed=seed)
    for number in numbers:
        try:
            yield kept.of(number, lambda number=number: tried(draw(number, seed)))
        except SymderivError as error:
            raise RuntimeError(f"study {number} of seed {seed}: {error}") from error
