"""Flows of one module over one piece of time, integrated together."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from symderiv.integrate.flows.courses import PiecewiseRun, Walk
from symderiv.integrate.flows.flat_run import FlatProblem, FlatResult
from symderiv.integrate.flows.lanes import LaneResults, Told, integrate_lanes
from symderiv.integrate.flows.run_errors import Worse

# Steps keep a tenth of the tolerance: their errors add up, and only their mean is controlled.
_TIGHTER = 10.0


@dataclass(frozen=True)
class LaneStart:
    """Settings with which flows of one module are integrated; see :func:`run_in_lanes`."""

    width: int
    right_hand_side: Callable[..., None]
    threads: int
    max_steps: int
    progress: Told | None
    looser: float = 1.0
    between: Sequence[float] | None = None

    def integrate(
        self,
        runs: Sequence[PiecewiseRun],
        problems: Sequence[FlatProblem],
        between: Sequence[float],
    ) -> LaneResults:
        """Integrate one piece of each run; states have one size, and times are the same."""
        return integrate_lanes(
            self.right_hand_side,
            problems,
            np.column_stack([[_tolerances(run, self.looser) for run in runs], between]),
            width=self.width,
            threads=self.threads,
            max_steps=self.max_steps,
            progress=self.progress,
        )

    def walked(self, runs: Sequence[PiecewiseRun]) -> LaneResults:
        """Integrate runs piece by piece, those together whose next pieces have the same times.

        Each piece must have a single law.
        """
        walks: dict[int, tuple[Walk, FlatProblem]] = {}
        for number, run in enumerate(runs):
            course = replace(run.course, modes=lambda *_: None)  # steps are explicit
            walking = course.walk(run.goal.alpha, self.right_hand_side)
            walks[number] = walking, next(walking)[0]
        whole: dict[int, FlatResult] = {}
        seconds, ended = 0.0, self.progress
        left = list(self.between or [math.inf] * len(runs))
        while walks:
            groups: dict[tuple[int, bytes], list[int]] = {}
            for number, (_, piece) in walks.items():
                groups.setdefault((piece.state.size, piece.asked.tobytes()), []).append(number)
            alone = len(groups) == 1 and len(runs[0].course.pieces) == 1
            for numbers in groups.values():
                start = self if alone else replace(self, progress=None)
                ended_together = start.integrate(
                    [runs[number] for number in numbers],
                    [walks[number][1] for number in numbers],
                    [left[number] for number in numbers],
                )
                if alone:
                    return ended_together
                seconds += ended_together.seconds
                for place, number in enumerate(numbers):
                    walking = walks.pop(number)[0]
                    left[number] -= ended_together.runs[place].between
                    try:
                        walks[number] = walking, walking.send(ended_together.runs[place])[0]
                    except StopIteration as end:
                        whole[number] = end.value
                if ended is not None:
                    ended(len(whole))
        results = [whole[number] for number in range(len(runs))]
        return LaneResults.of(results, runs[0].goal.alpha.size, seconds)


def step_tolerance(flow: PiecewiseRun) -> float:
    """Return the relative tolerance of each step: a tenth of the tolerance of the run."""
    return max(flow.goal.relative_tolerance / _TIGHTER, 1e-14)


def _tolerances(flow: PiecewiseRun, looser: float) -> tuple[float, float, float]:
    """Return relative, absolute and cone tolerances of a run, ``looser`` times the usual ones."""
    asked = flow.goal
    relative = looser * step_tolerance(flow)
    absolute = asked.absolute_tolerance * relative / asked.relative_tolerance
    return relative, absolute, min(1e-2, 1e-10 + 1e3 * relative)


def lane_accuracy(
    flows: Sequence[PiecewiseRun],
    found: LaneResults,
    again: Callable[..., LaneResults],
) -> np.ndarray:
    """Return the largest error of each run in lanes, estimated from a less accurate second run.

    Shape (n,).

    Args:
        flows, found: The flows, and their integrated runs.
        again: The function that integrates other flows of the module, with tolerances that are
            ``looser`` times larger and at most so many evaluations ``between`` steps.
    """
    pairs = zip(flows, found.runs, strict=True)
    worse = [Worse.of(flow, run, step_tolerance(flow)) for flow, run in pairs]
    looser = min(each.tolerance / step_tolerance(each.flow) for each in worse)
    between = [run.between for run in found.runs]
    coarse = again([each.flow for each in worse], looser=looser, between=between)
    both = zip(worse, found.runs, coarse.runs, strict=True)
    return np.array([each.error(*pair) for each, *pair in both])
