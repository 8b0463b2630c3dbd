"""Estimates of the error of a run, from runs that are worse, or better, in all that limits it.

Two things limit a run: the tolerance of its steps and rounding. A run is compared with one that is
worse in both (:func:`estimated`). Where the difference is above what was asked for, the beginning
of a third run says how much of it is due to rounding (:func:`rounding_in`). If smaller steps do not
help against it, the larger error is stated. Else the run is made again with a smaller tolerance.
Both runs that exist already then say how good it is: the former one is worse in its steps alone,
and the worse one has what rounding grows to (:func:`repeated`). All are estimates. What is proved,
by a run in balls, is a bound (:mod:`symderiv.enclosures`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from symderiv.integrate.flows.compression import relative_changes
from symderiv.integrate.flows.courses import PiecewiseRun
from symderiv.integrate.flows.flat_run import FlatResult, Progress
from symderiv.integrate.flows.trajectory import ESTIMATED, LOCAL_SUM, REPEATED
from symderiv.integrate.steppers.walk import IMPLICIT
from symderiv.problem.study import Study

# How often the difference to a worse run counts. Where errors go with tolerances it is many times
# the error, and that is left for where they do not: a run of few steps may happen to be better than
# its tolerance.
EXPLICIT = 1.5
# Solving for implicit steps leaves more of rounding than explicit ones do.
_IMPLICIT_ROUNDING = 2.0
# Where steps are held back by stability, not by tolerances, both are the same, and errors are below
# this part of the tolerance of a step, but for a few in a thousand runs.
OWN = 0.05
# Of results between steps, which keep a tenth of it in the mean over entries, errors are below this
# part of that tolerance.
_BETWEEN = 0.25
# What rounding counts as, in a start: some units of the last place, for all steps together. One
# start at random says little of the worst one, so that it differs by more.
_ROUNDING = 1e-14
_ALONE = 2.0
# Three quarters of the difference to a worse run are above what rounding has become in this one,
# because its start differs by twice as much.
_ROUNDED = 0.75
# A worse run that differs so many times more than its steps explain differs by rounding.
_BY_ROUNDING = 200.0
# Where rounding is above this part of the tolerance asked for, smaller steps hardly help.
_HOPELESS = 0.5
# How much of the work that a run and a worse one leave is spent to find that out: first steps take
# more evaluations than others.
_LEFT = 0.8
# A smaller tolerance that is no smaller than this part would give much the same run.
_MUCH = 3.0
# How often a run is made again.
_REPEATS = 3
# Unless told otherwise the steps keep a sixtieth of the tolerance, because their errors add up and
# the largest of them is above the mean that is controlled.
_TIGHTER = 60.0

Check = Literal["auto", "always", "never"]


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


#: How much larger the tolerance of the run is that a run is compared with. One of a thirty times
#: larger one costs a tenth less, but its difference, counted as often as the median of stated over
#: true errors allows, was below the error three times as often, and seven times for implicit steps.
TIMES = 10.0

#: By how much the start of a run must differ that is to be worse by rounding, too.
WORSE_START = _ALONE * _ROUNDING


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
        between: What is added where results between steps took shorter ones, or were left out by
            the worse run, for those of the run itself.
    """

    flow: Any
    tolerance: float
    part: float
    own: float
    between: float

    @classmethod
    def of(cls, problem: PiecewiseRun, result: FlatResult, tolerance: float) -> Worse:
        """Worse than a run of a tolerance."""
        larger = problem.looser(tolerance, TIMES)
        size = WORSE_START * (_IMPLICIT_ROUNDING if IMPLICIT in result.method else 1.0)
        flow = problem.shaken(result, size, 0)
        own = OWN * tolerance if larger > tolerance else 0.0
        return cls(flow, larger, EXPLICIT, own, _BETWEEN * tolerance)

    def apart(self, result: FlatResult, coarse: FlatResult) -> float:
        """Return how far the worse run is from a run; not a number where that says nothing."""
        if not _comparable(self.flow, result, coarse):
            return math.nan
        found: float = self.flow.apart(coarse, result)
        return found

    def error(self, result: FlatResult, coarse: FlatResult) -> float:
        """Return the error of the run, from the worse one; not a number where that says nothing."""
        hard = result.between > 0 or np.isnan(coarse.results).any()
        own = self.own + (self.between if hard else 0.0)
        return self.part * self.apart(result, filled(coarse, result)) + own


#: A worse run, and how it is worse.
Compared = tuple[Worse, FlatResult]


def first_tolerance(problem: PiecewiseRun, check: Check) -> float:
    """Return the tolerance of the steps of the run that is made first."""
    asked = problem.goal.relative_tolerance
    if check != "auto":
        return asked
    tolerance, least = asked / _TIGHTER, problem.least_tolerance()
    # nothing is left there for a run that is made again; implicit steps gain rounding instead
    near = tolerance < TIMES * least and problem.goal.method != "implicit"
    return least if near else max(tolerance, least)


def measured(
    problem: PiecewiseRun,
    result: FlatResult,
    errors: np.ndarray,
    check: Check,
    runs: list[FlatResult],
    max_steps: int = 100_000_000,
    progress: Progress | None = None,
) -> MeasuredRun:
    """Return the best run that is found, and its error.

    Args:
        problem: What is integrated.
        result: The run of :func:`first_tolerance`.
        errors: The generalisation error along it.
        check, max_steps, progress: See :func:`~symderiv.integrate.rules.solving.solve`.
        runs: All that were made; more are added.
    """
    best, compared = MeasuredRun(result, errors, result.error_sum, LOCAL_SUM), None
    tolerance = first_tolerance(problem, check)
    if check == "auto":
        best, compared = estimated(problem, best, tolerance, progress, runs)
    asked = problem.goal.relative_tolerance
    missed = best.method == LOCAL_SUM or best.reached > asked
    if missed and compared and _smaller(problem, result, tolerance):
        rounding = rounding_in(problem, best, compared, progress, runs)
        if rounding > _HOPELESS * asked:
            return replace(best, rounding=best.reached)
    if check != "never" and missed:
        best = repeated(problem, best, compared, tolerance, max_steps, progress, runs)
    return best


def estimated(
    problem: PiecewiseRun,
    best: MeasuredRun,
    tolerance: float,
    progress: Progress | None,
    runs: list[FlatResult],
) -> tuple[MeasuredRun, Compared | None]:
    """Return how large errors have become, from the difference to a run that is worse, and that
    run, which is added to all that were made.
    """
    result = best.result
    if result.cause == "interrupted":
        return best, None
    worse = Worse.of(problem, result, tolerance)
    most = 2 * (result.steps + result.rejected) + 100
    coarse = worse.flow.run(worse.tolerance, most, progress, result.between)
    runs.append(coarse)
    reached = worse.error(result, coarse)
    coarse = filled(coarse, result)
    if math.isnan(reached):
        return best, None
    changes = worse.part * relative_changes(worse.flow.errors(coarse), best.errors)
    # where steps cannot be smaller all of it is there to stay
    rounding = reached if _smaller(problem, result, tolerance) is None else 0.0
    measured = replace(best, reached=reached, method=ESTIMATED, rounding=rounding, changes=changes)
    return measured, (worse, coarse)


def rounding_in(
    problem: PiecewiseRun,
    best: MeasuredRun,
    compared: Compared,
    progress: Progress | None,
    runs: list[FlatResult],
) -> float:
    """Return how much of the estimate of a run there is because the worse run's start differs.

    The worse run is made once more from the start of the run itself, as far as both together cost
    no more than the run. Up to there the start alone makes the difference of the two. What steps
    add later has less time to grow, so that the start has this part in the whole estimate, or more.

    Args:
        problem: What is integrated.
        best: The run, with its estimate.
        compared: The worse run.
        progress: As everywhere.
        runs: All that were made; this one is added.
    """
    (worse, coarse), result = compared, best.result
    ordinary = max(coarse.rhs_evaluations - coarse.between, 1)
    left = (result.rhs_evaluations - coarse.between - coarse.rhs_evaluations) / ordinary
    most = math.floor(_LEFT * left * (coarse.steps + coarse.rejected))
    begun = problem.run(worse.tolerance, max(most, 0), progress, coarse.between)
    runs.append(begun)
    there = np.flatnonzero(np.isfinite(begun.results).all(axis=1))[-1:]
    if there.size == 0:
        return 0.0
    begun = filled(begun, coarse)
    ours, same, other = (
        replace(each, results=each.results[there], reached=1) for each in (result, begun, coarse)
    )
    by_start, apart = problem.apart(same, other), problem.apart(ours, other)
    part = min(1.0, by_start / apart) if apart > 0.0 else 0.0
    return worse.part * max(problem.apart(begun, coarse), part * worse.apart(result, coarse))


def repeated(
    problem: PiecewiseRun,
    best: MeasuredRun,
    compared: Compared | None,
    tolerance: float,
    max_steps: int,
    progress: Progress | None,
    runs: list[FlatResult],
) -> MeasuredRun:
    """Return the same integration with smaller tolerances, until its error is below the one asked.

    The better run is the result: where errors go with the tolerance its own is a tenth of the
    difference found. What rounding has become in it is in the difference to the worse run that
    there is already. A worse run of its own is made where that one is too bad in its steps.

    Args:
        problem: what is integrated.
        best: with the run of ``tolerance``.
        compared: the worse run that it was compared with, if that said anything.
        tolerance: the tolerance of its steps.
        max_steps: the largest number of steps of a run.
        progress: as everywhere.
        runs: all that were made; more are added.
    """
    first: _Pair | None = None
    for _ in range(_REPEATS):
        former, result = best, best.result
        smaller = _smaller(problem, result, tolerance)
        if smaller is None and best.method == LOCAL_SUM:
            return estimated(problem, best, tolerance, progress, runs)[0]
        if smaller is None or result.cause == "interrupted":
            return best
        # A method of order 8 needs a third more steps. Many times more means that rounding
        # in the right-hand side is above the tolerance, and nothing would be gained.
        most = min(max_steps, 10 * (result.steps + result.rejected) + 1000)
        better = problem.run(smaller, most, progress)
        runs.append(better)
        if not _comparable(problem, result, better):
            return best
        pair = _Pair(problem, former, better, problem.errors(better), tolerance, smaller)
        tolerance = smaller
        if compared is None or pair.too_bad(*compared):
            _, compared = estimated(problem, pair.unknown, tolerance, progress, runs)
        if compared is None:
            return pair.unknown
        best, settled = pair.judged(*compared)
        if settled:
            return best
        first = first or pair
        if pair.follows_no_tolerance(first):
            return replace(best, rounding=best.reached)
    return best


def _smaller(problem: PiecewiseRun, result: FlatResult, tolerance: float) -> float | None:
    """Return the tolerance to make a run again with; None where it would be much the same."""
    smaller = max(tolerance / TIMES, problem.least_tolerance(result))
    return smaller if smaller <= tolerance / _MUCH else None


@dataclass(frozen=True)
class _Pair:
    """A run that was made again with a smaller tolerance.

    Attributes:
        problem: What is integrated.
        former, better, errors: The run, the better one, and the generalisation error along it.
        larger: The tolerance of the steps of the former run.
        tolerance: The tolerance of the steps of the better run.
    """

    problem: PiecewiseRun
    former: MeasuredRun
    better: FlatResult
    errors: np.ndarray
    larger: float
    tolerance: float

    @property
    def unknown(self) -> MeasuredRun:
        """The better run, of which no error is known."""
        return MeasuredRun(self.better, self.errors, self.better.error_sum, LOCAL_SUM)

    @cached_property
    def steps(self) -> float:
        """The difference of the two, which is what the former one owes to its steps."""
        return self.problem.apart(self.former.result, self.better)

    @property
    def of_steps(self) -> float:
        """The error that the better run owes to its steps, at most."""
        return EXPLICIT * self.steps + self.tolerance

    def by_rounding(self, worse: Worse, coarse: FlatResult) -> bool:
        """Return whether a worse run is further away than its steps explain."""
        explained = self.steps * worse.tolerance / self.larger
        return worse.apart(self.better, coarse) > _BY_ROUNDING * explained

    def follows_no_tolerance(self, first: _Pair) -> bool:
        """Return whether differences go down less than the root of the tolerance."""
        return self.steps > first.steps * math.sqrt(self.larger / first.larger)

    def too_bad(self, worse: Worse, coarse: FlatResult) -> bool:
        """Return whether steps of a worse run hide that rounding is small enough."""
        away, asked = worse.apart(self.better, coarse), self.problem.goal.relative_tolerance
        if math.isnan(away):
            return True
        within = self.of_steps + _ROUNDED * away <= asked
        return self.of_steps <= asked and not within and not self.by_rounding(worse, coarse)

    def judged(self, worse: Worse, coarse: FlatResult) -> tuple[MeasuredRun, bool]:
        """Return the better run with its error, and whether no smaller tolerance would help."""
        asked = self.problem.goal.relative_tolerance
        rounding = _ROUNDED * worse.apart(self.better, coarse)
        by_steps = EXPLICIT * relative_changes(self.former.errors, self.errors)
        by_start = _ROUNDED * relative_changes(worse.flow.errors(coarse), self.errors)
        count, reached = min(by_steps.size, by_start.size), self.of_steps + rounding
        stays = self.of_steps <= asked < reached or self.by_rounding(worse, coarse)
        best = replace(
            self.unknown,
            reached=reached,
            method=REPEATED,
            rounding=rounding if stays else 0.0,
            changes=by_steps[:count] + by_start[:count],
        )
        return best, stays or reached <= asked


def filled(run: FlatResult, other: FlatResult) -> FlatResult:
    """Return a run with the results of another one where its own would take more evaluations than
    it may: there it says nothing.
    """
    common = min(run.reached, other.reached)
    results = run.results.copy()
    left_out = np.isnan(results[:common])
    results[:common][left_out] = other.results[:common][left_out]
    return replace(run, results=results)


def _comparable(problem: PiecewiseRun, result: FlatResult, other: FlatResult) -> bool:
    """Return whether two runs have more than the start in common, which says nothing of errors."""
    common = min(result.reached, other.reached)
    cut_short = other.cause in ("step-limit", "interrupted") and result.cause != other.cause
    return not (cut_short or common == 0 or problem.goal.alpha[common - 1] == 0.0)


def why_missed(asked: float, best: MeasuredRun, study: Study | None = None) -> str:
    """Why a run has not the tolerance asked for, and what to do, in one line."""
    key = "relative_tolerance" if study is None else "time.relative_tolerance"
    said = f"{key}: {asked:g} was asked for, {best.reached:.1e} was reached"
    if best.rounding > 0.5 * best.reached:
        grown, units = max(best.rounding / _ROUNDING, 1.0), "students" if study else "vectors"
        wanted = math.ceil(-math.log10(asked))
        digits = wanted + math.ceil(math.log10(grown)) + 2
        data = None if study is None else study.data_model
        one = data is None or len(data.components) == 1
        plain = study is not None and not study.rule_keys and one
        how = (
            f" (symderiv.integrate.flows.moment_check.solve_moments(study, digits={wanted}))"
            if plain
            else ""
        )
        return (
            f"{said}: rounding errors grow {grown:.0e}-fold along the run, as on a plateau, and "
            "smaller steps do not help; start with larger differences between the "
            f"{units}, end earlier, or compute with {digits} digits{how}"
        )
    wider = 10.0 ** math.ceil(math.log10(best.reached)) if best.reached > 0.0 else asked
    return (
        f"{said}: errors of the steps grow on the way, and smaller tolerances did not make up "
        f"for it; end earlier, {'' if study is None else 'try another time.method, '}or ask for "
        f"{wider:g}"
    )


def accuracy_warnings(study: Study, best: MeasuredRun, kept: bool) -> Iterator[str]:
    """Yield what to say of the accuracy of a run."""
    if not kept and best.result.cause == "done":
        yield why_missed(study.time.relative_tolerance, best, study)
    if np.any(best.changes > COARSE):
        first, largest = study.alpha[int(np.argmax(best.changes > COARSE))], np.max(best.changes)
        # of an error that vanishes the percentage has no meaning
        much = f"up to {100.0 * largest:.3g}%" if largest < 1.0 else "as much as its size or more"
        yield (
            f"generalization_error: from alpha = {first:.4g} on it is uncertain by {much}; "
            "a smaller time.relative_tolerance helps"
        )


#: A generalisation error less certain than this is worth a warning.
COARSE = 0.01
