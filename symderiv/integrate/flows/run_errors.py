"""Estimates of the error of a run, from runs that are worse, or better, in all that limits it.

Two things limit a run: the tolerance of its steps and rounding. A run is compared with one that is
worse in both (:func:`estimated`); or with one of smaller tolerance, and rounding is measured by
itself, from runs whose starts differ by some of it (:func:`repeated`). Both are estimates. What is
proved, by a run in balls, is a bound (:mod:`symderiv.enclosures`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from symderiv.integrate.flows.compression import relative_changes
from symderiv.integrate.flows.flat_run import FlatResult, Progress
from symderiv.integrate.flows.implicit_run import IMPLICIT
from symderiv.integrate.flows.rounding import shaken
from symderiv.integrate.flows.trajectory import ESTIMATED, LOCAL_SUM, REPEATED
from symderiv.problem.flat_layout import fields_of
from symderiv.problem.state import State
from symderiv.problem.study import Study

if TYPE_CHECKING:
    from symderiv.integrate.flows.study_flow import Flow

# How often the difference to a worse run counts. Where errors go with tolerances it is many times
# the error, and that is left for where they do not: a run of few steps may happen to be better than
# its tolerance. Errors of implicit steps follow tolerances least.
EXPLICIT, _IMPLICIT = 1.5, 3.0
# Solving for implicit steps leaves more of rounding than explicit ones do.
_IMPLICIT_ROUNDING = 30.0
# Where steps are held back by stability, not by tolerances, both are the same, and errors are below
# this part of the tolerance of a step.
OWN = 0.1
# What rounding counts as, in a start: some units of the last place, for all steps together. One
# start at random says little of the worst one, so that alone it counts more.
_ROUNDING = 1e-14
_ALONE = 3.0
_PROBES = 3
# Differences above this are no longer in proportion to what they began as.
_LINEAR = 0.03


@dataclass(frozen=True)
class MeasuredRun:
    """The best run so far, and its error.

    Attributes:
        result, errors: The run, and the generalisation error along it.
        reached, method: Its tolerance, and how that is known.
        rounding: The part of rounding in it, where that is known by itself.
        changes: How uncertain the generalisation error is, relative, time by time.
    """

    result: FlatResult
    errors: np.ndarray
    reached: float
    method: str
    rounding: float = 0.0
    changes: np.ndarray = field(default_factory=lambda: np.empty(0))


#: How much larger the tolerance of the run is that a run is compared with.
TIMES = 10.0
_PROBE_TIMES = 1000.0

#: By how much the start of a run must differ that is to be worse by rounding, too.
WORSE_START = _ALONE * _ROUNDING


def _counted(result: FlatResult) -> float:
    """Return how often the difference to a run of larger tolerance counts."""
    return _IMPLICIT if IMPLICIT in result.method else EXPLICIT


@dataclass(frozen=True)
class Worse:
    """A second integration that is worse in all that limits the first: steps and rounding.

    What small errors grow to on the way is the same for both runs. Where stability holds the steps
    back, or errors die out, both may be the same; some of the tolerance is added for that.

    Attributes:
        flow: The flow from a start that differs by more than rounding.
        tolerance: The tolerance of its steps.
        part: How often a difference counts.
        own: What is added for tolerance; zero where that plays no part.
    """

    flow: Flow
    tolerance: float
    part: float
    own: float

    @classmethod
    def of(cls, problem: Flow, result: FlatResult, tolerance: float) -> Worse:
        """Worse than a run of a tolerance."""
        larger = problem.looser(tolerance, TIMES)
        size = WORSE_START * (_IMPLICIT_ROUNDING if IMPLICIT in result.method else 1.0)
        flow = shaken(problem, result, size, 0)
        own = OWN * tolerance if larger > tolerance else 0.0
        return cls(flow, larger, _counted(result), own)

    def error(self, result: FlatResult, coarse: FlatResult) -> float:
        """Return the error of the run, from the worse one; not a number where that says nothing."""
        if not _comparable(self.flow, result, coarse):
            return math.nan
        return self.part * difference(coarse, result, self.flow.state) + self.own


def estimated(
    problem: Flow, best: MeasuredRun, tolerance: float, progress: Progress | None
) -> tuple[MeasuredRun, FlatResult | None]:
    """Return how large errors have become, from the difference to a run that is worse, and that
    run.
    """
    result = best.result
    if result.cause == "interrupted":
        return best, None
    worse = Worse.of(problem, result, tolerance)
    most = 2 * (result.steps + result.rejected) + 100
    coarse = worse.flow.run(worse.tolerance, most, progress)
    reached = worse.error(result, coarse)
    if math.isnan(reached):
        return best, coarse
    changes = worse.part * relative_changes(worse.flow.errors(coarse), best.errors)
    return replace(best, reached=reached, method=ESTIMATED, changes=changes), coarse


def repeated(
    problem: Flow,
    best: MeasuredRun,
    tolerance: float,
    max_steps: int,
    progress: Progress | None,
    runs: list[FlatResult],
) -> MeasuredRun:
    """Return the same integration with smaller tolerances, until the difference is below the one
    asked.

    The better run is the result: where errors go with the tolerance its own is a tenth of the
    difference found. What rounding has become is measured from starts that differ by some of it,
    and added.

    Args:
        problem: what is integrated.
        best: with the run of ``tolerance``.
        tolerance: the tolerance of its steps.
        max_steps: the largest number of steps of a run.
        progress: as everywhere.
        runs: all that were made; more are added.
    """
    asked = problem.study.time.relative_tolerance
    repeats = 0
    if not problem.least_tolerance(best.result) < tolerance:
        best = _beside_larger(problem, best, tolerance, max_steps, progress, runs)
    while repeats < 3 and best.result.cause != "interrupted":
        result = best.result
        smaller = max(tolerance / 10.0, problem.least_tolerance(result))
        if not smaller < tolerance:
            break
        repeats, tolerance = repeats + 1, smaller
        # A method of order 8 needs a third more steps. Many times more means that rounding
        # in the right-hand side is above the tolerance, and nothing would be gained.
        most = min(max_steps, 10 * (result.steps + result.rejected) + 1000)
        better = problem.run(tolerance, most, progress)
        runs.append(better)
        if not _comparable(problem, result, better):
            break
        errors = problem.errors(better)
        reached = _counted(better) * difference(result, better, problem.state) + tolerance
        changes = relative_changes(best.errors, errors)
        best = MeasuredRun(better, errors, reached, REPEATED, changes=changes)
        if reached <= asked:
            break
    if best.method == LOCAL_SUM or best.result.cause == "interrupted":
        return best
    return _with_rounding(problem, best, tolerance, progress, runs)


def _beside_larger(
    problem: Flow,
    best: MeasuredRun,
    tolerance: float,
    max_steps: int,
    progress: Progress | None,
    runs: list[FlatResult],
) -> MeasuredRun:
    """Return the same run, compared with one of larger tolerance: no smaller one makes a
    difference.
    """
    larger = problem.looser(tolerance, TIMES)
    if not larger > tolerance:
        return replace(best, reached=0.0, method=REPEATED)
    other = problem.run(larger, max_steps, progress)
    runs.append(other)
    if not _comparable(problem, best.result, other):
        return best
    reached = _counted(other) * difference(other, best.result, problem.state) + tolerance
    changes = relative_changes(problem.errors(other), best.errors)
    return replace(best, reached=reached, method=REPEATED, changes=changes)


def _with_rounding(
    problem: Flow,
    best: MeasuredRun,
    tolerance: float,
    progress: Progress | None,
    runs: list[FlatResult],
) -> MeasuredRun:
    """Return the same run, with what rounding has become added to its error."""
    larger = problem.looser(tolerance, _PROBE_TIMES)
    apart, changes = math.inf, np.empty(0)
    for size, with_tolerance in ((_ROUNDING * larger / tolerance, larger), (_ROUNDING, tolerance)):
        most = 2 * (best.result.steps + best.result.rejected) + 1000
        probes = []
        for seed in range(1, _PROBES + 1):
            moved = shaken(problem, best.result, size, seed)
            run = moved.run(with_tolerance, most, progress)
            runs.append(run)
            if run.cause == "interrupted":
                return best
            probes.append((run, moved.errors(run)))
        pairs = list(combinations(probes, 2))
        apart = max(difference(one[0], other[0], problem.state) for one, other in pairs)
        count = min(errors.size for _, errors in probes)
        changes = np.max(
            [relative_changes(a[1][:count], b[1][:count]) for a, b in pairs], axis=0, initial=0.0
        )
        if apart < _LINEAR or size == _ROUNDING:
            apart, changes = apart * _ROUNDING / size, changes * _ROUNDING / size
            break
    if IMPLICIT in best.result.method:
        apart, changes = _IMPLICIT_ROUNDING * apart, _IMPLICIT_ROUNDING * changes
    count = min(changes.size, best.changes.size)
    return replace(
        best,
        reached=best.reached + apart,
        rounding=apart,
        changes=best.changes[:count] + changes[:count],
    )


def _comparable(problem: Flow, result: FlatResult, other: FlatResult) -> bool:
    """Return whether two runs have more than the start in common, which says nothing of the
    error.
    """
    common = min(result.reached, other.reached)
    cut_short = other.cause in ("step-limit", "interrupted") and result.cause != other.cause
    return not (cut_short or common == 0 or problem.study.alpha[common - 1] == 0.0)


def difference(first: FlatResult, second: FlatResult, state: State) -> float:
    """Return the largest difference of Q, R, v over the common times, relative to their scales."""
    common = min(first.reached, second.reached)
    if common == 0:
        return math.inf
    v1, Q1, R1, v2, Q2, R2 = (
        each
        for run in (first, second)
        for each in fields_of(
            run.results[:common], state.weight, state.eigenvalue, state.K, state.M
        )[2:]
    )
    largest_q = np.max(np.abs(Q2), axis=(1, 2))
    largest_t = np.max(np.abs(state.T))
    worst = 0.0
    for apart, scale in (
        (np.max(np.abs(Q1 - Q2), axis=(1, 2)), largest_q),
        (np.max(np.abs(R1 - R2), axis=(1, 2)), np.sqrt(largest_q * largest_t)),
        (np.max(np.abs(v1 - v2), axis=1), np.max(np.abs(v2), axis=1)),
    ):
        relative = apart / np.where(scale > 0, scale, 1.0)
        worst = max(worst, float(np.max(relative)))
    return worst


def why_missed(study: Study, best: MeasuredRun) -> str:
    """Why a run has not the tolerance asked for, and what to do, in one line."""
    asked = study.time.relative_tolerance
    said = f"time.relative_tolerance: {asked:g} was asked for, {best.reached:.1e} was reached"
    if best.rounding > 0.5 * best.reached:
        grown = max(best.rounding / _ROUNDING, 1.0)
        wanted = math.ceil(-math.log10(asked))
        data = study.data_model
        plain = not study.rule_keys and (data is None or len(data.components) == 1)
        how = (
            f": symderiv.integrate.flows.moment_check.solve_moments(study, digits={wanted}) does"
            if plain
            else ""
        )
        return (
            f"{said}: what differs by rounding grows {grown:.0e}-fold on the way, as on a plateau, "
            "and smaller steps do not help; start with larger differences between the students, "
            f"end earlier, or compute with {wanted + math.ceil(math.log10(grown)) + 2} digits{how}"
        )
    wider = 10.0 ** math.ceil(math.log10(best.reached)) if best.reached > 0.0 else asked
    return (
        f"{said}: errors of the steps grow on the way, and smaller tolerances did not make up "
        f"for it; end earlier, try another time.method, or ask for {wider:g}"
    )


def accuracy_warnings(problem: Flow, best: MeasuredRun, kept: bool) -> Iterator[str]:
    """Yield what to say of the accuracy of a run."""
    study = problem.study
    if not kept and best.result.cause == "done":
        yield why_missed(study, best)
    if np.any(best.changes > COARSE):
        first = study.alpha[int(np.argmax(best.changes > COARSE))]
        yield (
            f"generalization_error: from alpha = {first:.4g} on it is uncertain by up to "
            f"{np.max(best.changes):.1%}; a smaller time.relative_tolerance helps"
        )


#: A generalisation error less certain than this is worth a warning.
COARSE = 0.01
