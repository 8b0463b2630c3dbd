"""Estimates of a run's error from other runs that are less, or more, accurate.

Two things limit the accuracy of a run: the tolerance of its steps, and rounding. A run is compared
with a worse one, which has a larger tolerance and a start that differs by more than rounding
(:func:`estimated`). If the difference is above the accuracy asked for, the beginning of a third run
tells how much of it is due to the start (:func:`rounding_in`). If that is most of it, smaller steps
do not help, and the larger error is stated. Otherwise the run is repeated with a smaller tolerance.
Its error is estimated from the two runs that exist already: the former run differs in its steps
alone, and the worse run shows how rounding grows (:func:`repeated`). All these are estimates; a run
in balls has proved bounds (:mod:`symderiv.enclosures`).
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
from symderiv.integrate.flows.trajectory import ESTIMATED, LOCAL_SUM, REPEATED, error_missed
from symderiv.integrate.steppers.memory import IMPLICIT
from symderiv.problem.study import Study

# Factor between the difference to a worse run and the error that is stated. If errors are
# proportional to tolerances, the difference alone is many times the error; this margin covers other
# cases: a worse run of few steps may happen to be better than its tolerance.
EXPLICIT = 1.5
# Implicit steps have larger rounding errors than explicit ones, because they solve equations.
_IMPLICIT_ROUNDING = 2.0
# If steps are limited by stability, not by tolerances, both runs are the same. Errors are then
# below this part of the tolerance of a step, except for a few in a thousand runs.
NOT_SHOWN = 0.05
# Bound on the error of results between steps, as a part of the tolerance of a step; in the mean
# over entries they keep a tenth of it.
_BETWEEN = 0.25
# Errors of the generalisation error that are not counted: rounding when it is evaluated.
_IGNORED = 1e-14
# Relative error of the generalisation error that implicit steps may always have: where it does not
# follow the directions in which starts are changed, differences do not show their rounding errors.
_IMPLICIT_UNSEEN = 1e-12
# Change of a start that is equivalent to the rounding of all steps: some units of the last place. A
# single random start says little about the worst one, so that it is changed by twice as much.
_ROUNDING = 1e-14
_START_FACTOR = 2.0
# Rounding errors are below three quarters of the difference to a worse run, whose start is changed
# by twice the equivalent of rounding.
_ROUNDED = 0.75
# A difference larger by this factor than the steps explain is due to rounding.
_BY_ROUNDING = 200.0
# If rounding errors are above this part of the tolerance asked for, smaller steps hardly help.
_MOSTLY_ROUNDING = 0.5
# The third run may take this part of the steps with which it and the worse run would cost as much
# as the run: its first steps need more evaluations than others.
_LEFT = 0.8
# A tolerance smaller by less than this factor would give much the same run.
_WORTH_REPEATING = 3.0
# The largest number of repetitions with smaller tolerances.
_REPEATS = 3
# With check "auto" steps keep a sixtieth of the tolerance: their errors add up, and only their mean
# is controlled.
_TIGHTER = 60.0

Check = Literal["auto", "always", "never"]


@dataclass(frozen=True)
class MeasuredRun:
    """The best run so far, with its estimated error.

    Attributes:
        result, errors: The run, and the generalisation error along it.
        reached, method: The accuracy that it reached, and how that was estimated.
        rounding: The part of this error that is due to rounding; 0 if it is not known.
        changes: The relative uncertainty of the generalisation error at each time.
        accuracy: The largest of them, with what the runs may not show; not a number if unknown.
    """

    result: FlatResult
    errors: np.ndarray
    reached: float
    method: str
    rounding: float = 0.0
    changes: np.ndarray = field(default_factory=lambda: np.empty(0))
    accuracy: float = math.nan


#: Factor between the tolerances of a worse run and of the run. With a factor of thirty the worse
#: run costs a tenth less, but at the same median of stated over true errors the stated error was
#: too small three times as often, and seven times as often for implicit steps.
TIMES = 10.0

#: The relative change of the start of a worse run.
WORSE_START = _START_FACTOR * _ROUNDING


@dataclass(frozen=True)
class Worse:
    """A second integration that is less accurate in both respects: larger steps, a changed start.

    Small errors grow by the same factor in both runs. If stability limits the steps, or errors die
    out, the two runs may agree although they have errors; part of the tolerance is added for that.

    At order 9 ten times the error is 1.26 times the step, and steps of one tolerance differ among
    themselves by as much. One of them may make the whole error, on a plateau, and could be the same
    in both runs. Therefore implicit steps follow those of the run, longer by a factor.

    Attributes:
        flow: The flow from the changed start.
        tolerance: The tolerance of its steps.
        factor: The factor between the difference of the runs and the error that is stated.
        added: The part of the tolerance that is added; 0 if both runs have the same tolerance.
        between: The part that is added if results between steps needed shorter ones, or are missing
            in the worse run.
    """

    flow: Any
    tolerance: float
    factor: float
    added: float
    between: float

    @classmethod
    def of(cls, problem: PiecewiseRun, result: FlatResult, tolerance: float) -> Worse:
        """Return the worse integration to compare with a run whose steps have a tolerance."""
        larger = problem.looser(tolerance, TIMES)
        size = WORSE_START * (_IMPLICIT_ROUNDING if IMPLICIT in result.method else 1.0)
        flow = problem.shaken(result.there, size, 0)
        added = NOT_SHOWN * tolerance if larger > tolerance else 0.0
        return cls(flow, larger, EXPLICIT, added, _BETWEEN * tolerance)

    def apart(self, result: FlatResult, coarse: FlatResult) -> float:
        """Return the difference between the worse run and a run; NaN if they cannot be compared."""
        if not _comparable(self.flow, result, coarse):
            return math.nan
        largest: float = self.flow.apart(coarse, result)
        return largest

    def error(self, result: FlatResult, coarse: FlatResult) -> float:
        """Return the estimated error of a run; NaN if it cannot be compared with the worse one."""
        apart = self.apart(result, filled(coarse, result))
        return self.factor * apart + self._unseen(result, coarse)

    def changes(self, errors: np.ndarray, others: np.ndarray) -> np.ndarray:
        """Return the relative differences of generalisation errors, as parts of what is stated.

        Args:
            errors, others: The generalisation error along a run, and along the worse run; not a
                number where the latter has no result, which says nothing.
        """
        apart: np.ndarray = relative_changes(others, errors)
        return self.factor * apart

    def accuracy(
        self, result: FlatResult, coarse: FlatResult, errors: np.ndarray, others: np.ndarray
    ) -> float:
        """Return the largest relative error of the generalisation error, as it is stated."""
        unseen = self._unseen(result, coarse)
        if IMPLICIT in result.method:
            unseen = max(unseen, _IMPLICIT_UNSEEN)
        return accuracy(self.changes(errors, others), errors, unseen)

    def _unseen(self, result: FlatResult, coarse: FlatResult) -> float:
        """Return the part of an error that the difference of the two runs may not show."""
        hard = result.between > 0 or np.isnan(coarse.results).any()
        return self.added + (self.between if hard else 0.0)


def accuracy(changes: np.ndarray, errors: np.ndarray, unseen: float) -> float:
    """Return the largest error of the generalisation error, relative to it.

    Args:
        changes: Its relative uncertainty at each time, as two runs show it.
        errors: The generalisation error at these times, and perhaps at later ones; not a number
            where a result is missing, of which nothing is said.
        unseen: What they may not show, relative to the largest generalisation error.
    """
    sizes = np.abs(errors[: changes.size])
    known = ~np.isnan(sizes)
    changes, sizes = changes[known], sizes[known]
    hidden = unseen * np.max(sizes, initial=0.0)
    if hidden > _IGNORED:
        # at most all digits
        changes = changes + np.minimum(hidden / np.maximum(sizes, _IGNORED), 1.0)
    return float(np.max(changes, initial=0.0))


#: How a worse run is worse, and its result.
Compared = tuple[Worse, FlatResult]


def first_tolerance(problem: PiecewiseRun, check: Check) -> float:
    """Return the tolerance of the steps of the first run."""
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
    """Return the best run that was found, with its error.

    Args:
        problem: The problem that is integrated.
        result: The run with the tolerance :func:`first_tolerance`.
        errors: The generalisation error along it.
        check, max_steps, progress: See :func:`~symderiv.integrate.rules.solving.solve`.
        runs: The list of all runs, to which more are added.
    """
    best, compared = MeasuredRun(result, errors, result.error_sum, LOCAL_SUM), None
    tolerance = first_tolerance(problem, check)
    if check == "auto":
        best, compared = estimated(problem, best, tolerance, progress, runs)
    asked = problem.goal.relative_tolerance
    missed = best.method == LOCAL_SUM or best.reached > asked
    if missed and compared and _smaller(problem, result, tolerance):
        rounding = rounding_in(problem, best, compared, progress, runs)
        if rounding > _MOSTLY_ROUNDING * asked:
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
    """Return a run with the error estimated from a worse run, and the worse run.

    The worse run is None if the two cannot be compared; it is added to ``runs``.
    """
    result = best.result
    if result.cause == "interrupted":
        return best, None
    worse = Worse.of(problem, result, tolerance)
    most = 2 * (result.steps + result.rejected) + 100
    # if these are a fifth fewer, one of 300 stated errors is below the true one
    coarse = worse.flow.run(worse.tolerance, most, progress, result.between, result.lengths)
    runs.append(coarse)
    reached = worse.error(result, coarse)
    if math.isnan(reached):
        return best, None
    others = worse.flow.errors(coarse)
    # if steps cannot be smaller, none of it can be removed
    rounding = reached if _smaller(problem, result, tolerance) is None else 0.0
    measured = replace(
        best,
        reached=reached,
        method=ESTIMATED,
        rounding=rounding,
        changes=worse.changes(best.errors, others),
        accuracy=worse.accuracy(result, coarse, best.errors, others),
    )
    return measured, (worse, filled(coarse, result))


def rounding_in(
    problem: PiecewiseRun,
    best: MeasuredRun,
    compared: Compared,
    progress: Progress | None,
    runs: list[FlatResult],
) -> float:
    """Return the part of a run's estimated error that is due to the changed start of the worse run.

    The beginning of the worse run is repeated from the start of the run itself, as far as both
    worse runs together cost no more than the run. There the difference of the two is due to the
    start alone. Errors that steps make later have less time to grow, so that the start accounts for
    at least this part of the whole estimate.

    Args:
        problem: The problem that is integrated.
        best: The run, with its estimate.
        compared: The worse run.
        progress: See :func:`measured`.
        runs: The list of all runs, to which this one is added.
    """
    (worse, coarse), result = compared, best.result
    ordinary = max(coarse.rhs_evaluations - coarse.between, 1)
    left = (result.rhs_evaluations - coarse.between - coarse.rhs_evaluations) / ordinary
    most = math.floor(_LEFT * left * (coarse.steps + coarse.rejected))
    most = max(most, 0)
    begun = problem.run(worse.tolerance, most, progress, coarse.between, result.lengths)
    runs.append(begun)
    # a run that diverges may end before the others
    rows = min(len(each.results) for each in (result, begun, coarse))
    both = np.isfinite(begun.results[:rows]) & ~result.missing[:rows, None]
    there = np.flatnonzero(both.all(axis=1))[-1:]
    if there.size == 0:
        return 0.0
    begun = filled(begun, coarse)
    ours, same, other = (
        replace(each, results=each.results[there], reached=1) for each in (result, begun, coarse)
    )
    by_start, apart = problem.apart(same, other), problem.apart(ours, other)
    part = min(1.0, by_start / apart) if apart > 0.0 else 0.0
    return worse.factor * max(problem.apart(begun, coarse), part * worse.apart(result, coarse))


def repeated(
    problem: PiecewiseRun,
    best: MeasuredRun,
    compared: Compared | None,
    tolerance: float,
    max_steps: int,
    progress: Progress | None,
    runs: list[FlatResult],
) -> MeasuredRun:
    """Return a run with smaller tolerances, reduced until the error is below the one asked for.

    The better of two runs is the result: if errors are proportional to tolerances, its own is a
    tenth of their difference. The effect of rounding on it is part of the difference to the worse
    run that exists already. A new worse run is made if the steps of that one are too inaccurate.

    Args:
        problem: the problem that is integrated.
        best: the run with steps of ``tolerance``, and its error.
        compared: the worse run that it was compared with; None if there is none.
        tolerance: the tolerance of the steps of ``best``.
        max_steps: the largest number of steps of a run.
        progress: see :func:`measured`.
        runs: the list of all runs, to which more are added.
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
    """Return the tolerance for repeating a run; None if a repetition would be much the same."""
    smaller = max(tolerance / TIMES, problem.least_tolerance(result))
    return smaller if smaller <= tolerance / _WORTH_REPEATING else None


@dataclass(frozen=True)
class _Pair:
    """A run, and its repetition with a smaller tolerance.

    Attributes:
        problem: The problem that is integrated.
        former, better, errors: The run, its repetition, and the generalisation error along the
            latter.
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
        """The repetition, with an unknown error."""
        return MeasuredRun(self.better, self.errors, self.better.error_sum, LOCAL_SUM)

    @cached_property
    def steps(self) -> float:
        """The difference of the two runs: the error that the former one owes to its steps."""
        return self.problem.apart(self.former.result, self.better)

    @property
    def of_steps(self) -> float:
        """An upper estimate of the error that the repetition owes to its steps."""
        return EXPLICIT * self.steps + self.tolerance

    def by_rounding(self, worse: Worse, coarse: FlatResult) -> bool:
        """Return whether the difference to a worse run is too large to be due to its steps."""
        explained = self.steps * worse.tolerance / self.larger
        return worse.apart(self.better, coarse) > _BY_ROUNDING * explained

    def follows_no_tolerance(self, first: _Pair) -> bool:
        """Return whether differences decrease by less than the square root of the tolerance."""
        return self.steps > first.steps * math.sqrt(self.larger / first.larger)

    def too_bad(self, worse: Worse, coarse: FlatResult) -> bool:
        """Return whether inaccurate steps of a worse run hide that rounding is small enough."""
        away, asked = worse.apart(self.better, coarse), self.problem.goal.relative_tolerance
        if math.isnan(away):
            return True
        within = self.of_steps + _ROUNDED * away <= asked
        return self.of_steps <= asked and not within and not self.by_rounding(worse, coarse)

    def judged(self, worse: Worse, coarse: FlatResult) -> tuple[MeasuredRun, bool]:
        """Return the repetition with its error, and whether it is final.

        It is if the error is small enough, or smaller tolerances would not help.
        """
        asked = self.problem.goal.relative_tolerance
        rounding = _ROUNDED * worse.apart(self.better, coarse)
        by_steps = EXPLICIT * relative_changes(self.former.errors, self.errors)
        by_start = _ROUNDED * relative_changes(worse.flow.errors(coarse), self.errors)
        count, reached = min(by_steps.size, by_start.size), self.of_steps + rounding
        stays = self.of_steps <= asked < reached or self.by_rounding(worse, coarse)
        changes = by_steps[:count] + by_start[:count]
        best = replace(
            self.unknown,
            reached=reached,
            method=REPEATED,
            rounding=rounding if stays else 0.0,
            changes=changes,
            accuracy=accuracy(changes, self.errors, self.tolerance),
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
    """Return whether errors can be compared: both runs reached a common time after the start."""
    common = min(result.reached, other.reached)
    cut_short = other.cause in ("step-limit", "interrupted") and result.cause != other.cause
    return not (cut_short or common == 0 or problem.goal.alpha[common - 1] == 0.0)


def why_missed(asked: float, best: MeasuredRun, study: Study | None = None) -> str:
    """Return why a run does not have the accuracy asked for, and what to do, in one line."""
    key = "relative_tolerance" if study is None else "time.relative_tolerance"
    said = error_missed(asked, best.reached, key=key)
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


def _limited(asked: float, reached: float, least: float) -> str:
    """Return why steps are no finer than the means of a run; nothing if these are not the limit."""
    if least <= asked:
        return ""
    unit = 10.0 ** math.floor(math.log10(max(reached, least)))
    wider = unit * math.ceil(max(reached, least) / unit)
    return (
        f"{error_missed(asked, reached)}: the means in the equations are accurate to {least:.1e} "
        f"only; ask for {wider:g}"
    )


def missing_warnings(alpha: np.ndarray, result: FlatResult) -> Iterator[str]:
    """Yield a warning about results at times ``alpha`` that are not there."""
    times = alpha[: result.reached][result.missing]
    if times.size > 0:
        where = f"at alpha = {times[0]:.4g}"
        if times.size > 1:
            where = f"at {times.size} times from alpha = {times[0]:.4g} to {times[-1]:.4g}"
        yield (
            f"there is no result {where}, only NaN: iterations of the implicit steps there did not "
            "converge; errors are stated for the other results; ask for other times, or end earlier"
        )


def accuracy_warnings(study: Study, best: MeasuredRun, kept: bool, least: float) -> Iterator[str]:
    """Yield warnings about the accuracy of a run, whose means allow a tolerance ``least``."""
    asked = study.time.relative_tolerance
    if not kept and best.result.cause == "done":
        yield _limited(asked, best.reached, least) or why_missed(asked, best, study)
    if np.any(best.changes > COARSE):
        first, largest = study.alpha[int(np.argmax(best.changes > COARSE))], np.max(best.changes)
        # the percentage of a vanishing error has no meaning
        much = f"up to {100.0 * largest:.3g}%" if largest < 1.0 else "as much as its size or more"
        yield (
            f"generalization_error: from alpha = {first:.4g} on its estimated error is {much}; "
            "a smaller time.relative_tolerance helps"
        )


#: A relative uncertainty of the generalisation error above this causes a warning.
COARSE = 0.01
