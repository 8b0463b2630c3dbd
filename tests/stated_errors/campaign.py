"""The true error of each drawn study beside the one that its run states."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from support.campaign import Kept

from stated_errors.costs import counted
from stated_errors.drawing import Drawn, draw
from stated_errors.long_double import LONG, NoReferenceError, long_results
from symderiv.foundation.errors import SymderivError
from symderiv.integrate.ensemble import integrate_chunk
from symderiv.integrate.flows.flat_run import FlatResult
from symderiv.integrate.flows.study_flow import Flow, shaken
from symderiv.integrate.rules.solving import flow_of, solve
from symderiv.integrate.steppers.walk import DONE
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
    growth: float
    cost: float
    ran: float
    referred: float

    @property
    def outcome(self) -> str:
        """One of "holds", "below", "unknown", and "more than asked", which holds and says so."""
        if math.isnan(self.true):
            return "unknown"
        if self.true - self.known > self.stated or math.isnan(self.stated):
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
    study, method = drawn.study, drawn.method
    asked = study.time.relative_tolerance
    flow = flow_at(drawn)
    if method == "ensemble":
        with counted(type(flow)) as counts:
            found = integrate_chunk([study], starts=[drawn.start], threads=1, check="auto")
        reached = int(np.count_nonzero(np.isfinite(found.generalization_error[0])))
        curves = tuple(each[0, :reached] for each in (found.Q, found.R, found.v))
        stated, kept = float(found.tolerance_reached[0]), float(found.tolerance_reached[0]) <= asked
        cause, made, how = str(found.status[0]), "lanes", "ensemble"
    else:
        with counted(type(flow)) as counts:
            run = solve(study, start=drawn.start)
        curves, reached = (run.Q, run.R, run.v), run.alpha.size
        stated, kept, cause = run.tolerance_reached, run.tolerance_kept, run.cause
        made, how = run.method, run.tolerance_method[:10]
    ran = time.process_time() - begun
    begun = time.process_time()
    true = known = growth = math.nan
    try:
        rows = long_results(flow, _TOLERANCE)
        exact, other = (_curves(each, flow) for each in (rows, long_results(flow, _CHECKED)))
        true = _apart(curves, tuple(each[:reached] for each in exact), flow.state.T)
        known = _apart(other, exact, flow.state.T) + _ROUNDED
        growth = _growth(flow, rows)
    except NoReferenceError:
        pass
    referred, cost = time.process_time() - begun, counts.cost(curves[0])
    return Verdict(
        drawn.number,
        method,
        made,
        asked,
        stated,
        kept,
        cause,
        true,
        known,
        how,
        *(float(f"{each:.3g}") for each in (growth, cost, ran, referred)),
    )


def _growth(flow: Flow, rows: np.ndarray) -> float:
    """How many times a small change of the start and of the weights has grown at the most."""
    doubles = rows.astype(float)
    run = FlatResult(doubles, len(rows), 0.0, doubles[-1], DONE, 0, 0, 0, 0.0)
    moved = long_results(shaken(flow, run, _MOVED, 0), _MOVED_CHECKED)
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
