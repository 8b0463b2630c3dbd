"""The true error of each drawn study beside the one that its run states."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from stated_errors.drawing import Drawn, draw
from stated_errors.long_double import LONG, NoReferenceError, long_results
from symderiv.foundation.errors import SymderivError
from symderiv.integrate.ensemble import integrate_chunk
from symderiv.integrate.flows.study_flow import Flow
from symderiv.integrate.rules.solving import flow_of, solve
from symderiv.problem.flat_layout import fields_of

#: Of a step of the reference, and of the run that says what the reference knows.
_TOLERANCE, _CHECKED = 3e-17, 1e-15
#: What doubles can tell of a difference, beside the largest entry.
_ROUNDED = 1e-15


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
        seconds: Of the run and of the reference.
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
    seconds: tuple[float, float]

    @property
    def outcome(self) -> str:
        """One of "holds", "not reached", "below", "unknown"."""
        if not self.kept or self.cause not in ("done", "nothing"):
            return "not reached"
        if math.isnan(self.true):
            return "unknown"
        if self.true - self.known > self.stated or math.isnan(self.stated):
            return "below"
        return "holds" if self.true + self.known <= max(self.stated, self.asked) else "unknown"

    @property
    def stated_below(self) -> bool:
        """Whether the number is too small, whatever else was said."""
        return self.true - self.known > self.stated


def flow_at(drawn: Drawn) -> Flow:
    """What the run integrates."""
    study, start = drawn.study, drawn.start
    return flow_of(study, start)(start.state)


def tried(drawn: Drawn) -> Verdict:
    """Run a study, and the reference."""
    begun = time.process_time()
    study, method = drawn.study, drawn.method
    asked = study.time.relative_tolerance
    if method == "ensemble":
        found = integrate_chunk([study], starts=[drawn.start], threads=1, check="auto")
        reached = int(np.count_nonzero(np.isfinite(found.generalization_error[0])))
        curves = tuple(each[0, :reached] for each in (found.Q, found.R, found.v))
        stated, kept = float(found.tolerance_reached[0]), float(found.tolerance_reached[0]) <= asked
        cause, made, how = str(found.status[0]), "lanes", "ensemble"
    else:
        run = solve(study, start=drawn.start)
        curves, reached = (run.Q, run.R, run.v), run.alpha.size
        stated, kept, cause = run.tolerance_reached, run.tolerance_kept, run.cause
        made, how = run.method, run.tolerance_method[:10]
    ran = time.process_time() - begun
    begun = time.process_time()
    true = known = math.nan
    try:
        flow = flow_at(drawn)
        exact, other = (_curves(long_results(flow, t), flow) for t in (_TOLERANCE, _CHECKED))
        true = _apart(curves, tuple(each[:reached] for each in exact), flow.state.T)
        known = _apart(other, exact, flow.state.T) + _ROUNDED
    except NoReferenceError:
        pass
    spent = time.process_time() - begun
    return Verdict(
        drawn.number, method, made, asked, stated, kept, cause, true, known, how, (ran, spent)
    )


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
    known: dict[int, Verdict] = {}
    if results is not None and results.exists():
        for line in results.read_text(encoding="utf-8").splitlines():
            entry = json.loads(line)
            if entry.pop("seed") == seed:
                entry["seconds"] = tuple(entry["seconds"])
                known[entry["number"]] = Verdict(**entry)
    for number in numbers:
        if number not in known:
            drawn = draw(number, seed)
            try:
                known[number] = tried(drawn)
            except SymderivError as error:
                raise RuntimeError(f"study {number} of seed {seed}: {error}") from error
            if results is not None:
                results.parent.mkdir(parents=True, exist_ok=True)
                with results.open("a", encoding="utf-8") as file:
                    print(json.dumps({"seed": seed, **asdict(known[number])}), file=file)
        yield known[number]
