"""Flows of one module over one piece of time, integrated together."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from symderiv.foundation.limits import check_memory
from symderiv.integrate.flows.courses import Course, Law, PiecewiseRun, Span
from symderiv.integrate.flows.lanes import LaneResults, Told, integrate_lanes
from symderiv.integrate.flows.run_errors import Worse, first_tolerance
from symderiv.integrate.steppers.memory import DONE, INTERRUPTED, Runs, runs_of

# Steps keep a tenth of the tolerance if nothing is measured: their errors add up, and only their
# mean is controlled.
_TIGHTER = 10.0
# What the pieces of a run add up to.
_SUMS = ("accepted", "rejected", "evaluations", "between", "error_sum")


@dataclass(frozen=True)
class LaneStart:
    """Settings with which flows of one module are integrated; see :func:`run_in_lanes`."""

    width: int
    right_hand_side: Callable[..., None]
    threads: int
    max_steps: int
    progress: Told | None
    tolerances: Sequence[float]
    between: Sequence[float] | None = None

    def walked(self, runs: Sequence[PiecewiseRun]) -> LaneResults:
        """Integrate runs with the same times, those together whose courses are alike.

        Each piece must have a single law.

        Raises:
            InputError: the states at all times do not fit into memory.
        """
        courses, asked = [run.course for run in runs], runs[0].goal.alpha
        n, size, words = len(runs), courses[0].begin.size, f"{len(runs)} runs with {asked.size}"
        check_memory(8.0 * n * size * (2 * asked.size + 4), f"{words} points", argument="points")
        whole, seconds, ended = LaneResults.not_begun(n, asked.size, size), 0.0, 0
        whole.last[:] = [course.begin for course in courses]
        each = zip(runs, self.tolerances, strict=True)
        limits = np.array([[*_limits(run, tolerance), math.inf] for run, tolerance in each])
        limits[:, 3] = math.inf if self.between is None else self.between
        for members in alike(courses):
            group = _Together([courses[number] for number in members], members, limits, whole)
            seconds += self._walk(group, asked, ended)
            ended += members.size
            if np.any(whole.ended["code"][members] == INTERRUPTED):
                break
        return replace(whole, seconds=seconds)

    def _walk(self, group: _Together, asked: np.ndarray, ended: int) -> float:
        """Integrate runs that are alike piece by piece; return the seconds that took."""
        spans, progress, seconds = [*group.courses[0].spans(asked)], self.progress, 0.0
        going, filled = np.arange(group.members.size), 0
        for span in spans:
            law, runs = group.begun(span, going)
            told = None
            if progress is not None and span is spans[-1]:
                told = lambda more: progress(ended + more)  # noqa: E731
            seconds += integrate_lanes(
                self.right_hand_side,
                runs,
                width=self.width,
                threads=min(self.threads, -(-going.size // self.width)),
                max_steps=self.max_steps,
                progress=told,
            )
            group.take(span, going, law, runs, filled)
            going, filled = going[runs.ended["code"] == DONE], filled + span.wanted
            if not going.size:
                break
        return seconds


@dataclass(frozen=True)
class _Together:
    """Runs whose courses are alike.

    Attributes:
        courses: Their courses.
        members: Which of all runs they are.
        limits: The tolerances of all runs, see :class:`~symderiv.integrate.steppers.memory.Runs`;
            evaluations between steps are counted off.
        whole: The results of all runs, filled piece by piece.
    """

    courses: Sequence[Course]
    members: np.ndarray
    limits: np.ndarray
    whole: LaneResults

    def begun(self, span: Span, going: np.ndarray) -> tuple[Law, Runs]:
        """Return the law of a piece for the runs that reach it, and how they begin."""
        course, rows = self.courses[0], self.members[going]
        law = Law.together([self.courses[one].pieces[span.number].laws[0] for one in going])
        if course.clock is not None:
            law.constants[:, course.clock] = span.begin * (course.step or 1.0)
        states = np.ascontiguousarray(law.into(self.whole.last[rows, None])[:, 0])
        times = span.stops - span.begin
        return law, runs_of(states, law.constants, self.limits[rows], times, course.sizes)

    def take(self, span: Span, going: np.ndarray, law: Law, runs: Runs, filled: int) -> None:
        """Add a piece that was integrated; ``filled`` are the results in front of it."""
        rows, ended, piece = self.members[going], self.whole.ended, runs.ended
        before, stop = self.whole.last[rows, None], filled + span.wanted
        self.whole.states[rows, filled:stop] = law.back(runs.results, before)[:, : span.wanted]
        self.whole.last[rows] = law.back(runs.last[:, None], before)[:, 0]
        self.limits[rows, 3] -= piece["between"]
        for name in _SUMS:
            ended[name][rows] += piece[name]
        ended["results"][rows] = filled + np.minimum(piece["results"], span.wanted)
        ended["alpha"][rows] = span.begin * (self.courses[0].step or 1.0) + piece["alpha"]
        ended["code"][rows] = piece["code"]


def alike(courses: Sequence[Course]) -> list[np.ndarray]:
    """Return the numbers of courses in groups with the same cuts, of pieces whose laws see the
    same entries of the state, with factors or without.
    """
    groups: dict[Hashable, list[int]] = {}
    for number, course in enumerate(courses):
        laws = [piece.laws[0] for piece in course.pieces]
        seen = [(law.places is None or law.places.tobytes(), law.scale is None) for law in laws]
        groups.setdefault((course.cuts, *seen), []).append(number)
    return [np.array(numbers) for numbers in groups.values()]


def step_tolerance(flow: PiecewiseRun, checked: bool) -> float:
    """Return the relative tolerance of each step: that of a single run if errors are measured, else
    a tenth of the tolerance of the run.
    """
    if checked:
        return first_tolerance(flow, "auto")
    return max(flow.goal.relative_tolerance / _TIGHTER, 1e-14)


def _limits(flow: PiecewiseRun, tolerance: float) -> tuple[float, float, float]:
    """Return relative, absolute and cone tolerances of steps with a relative tolerance."""
    limits = flow.step_limits(tolerance)
    return limits.relative, limits.absolute, limits.cone


def lane_accuracy(
    flows: Sequence[PiecewiseRun],
    found: LaneResults,
    tolerances: Sequence[float],
    again: Callable[..., LaneResults],
) -> tuple[np.ndarray, np.ndarray]:
    """Return the largest error of each run in lanes, and of its generalisation error, estimated
    from a less accurate second run; infinite where the two have no times in common.

    Both have the shape (n,). The second is not a number if nothing is a generalisation error.

    Args:
        flows, found, tolerances: The flows, their integrated runs, and the tolerances of the steps.
        again: The function that integrates other flows of the module, with other tolerances and at
            most so many evaluations ``between`` steps.
    """
    runs = zip(flows, found.runs, tolerances, strict=True)
    worse = [Worse.of(flow, run, tolerance) for flow, run, tolerance in runs]
    larger, between = [each.tolerance for each in worse], [run.between for run in found.runs]
    coarse = again([each.flow for each in worse], tolerances=larger, between=between)
    reached, accuracy = np.empty(len(worse)), np.full(len(worse), np.nan)
    for n, (each, run, other) in enumerate(zip(worse, found.runs, coarse.runs, strict=True)):
        reached[n] = each.error(run, other)
        errors, others = found.errors[n, : run.reached], coarse.errors[n, : other.reached]
        if not np.isnan(errors).all():
            accuracy[n] = each.accuracy(run, other, errors, others)
    unknown = np.isnan(reached)
    reached[unknown] = accuracy[unknown] = math.inf
    return reached, accuracy
