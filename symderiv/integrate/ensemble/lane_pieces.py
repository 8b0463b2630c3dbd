"""Flows of one module over one piece of time, integrated together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from symderiv.integrate.flows.courses import PiecewiseRun
from symderiv.integrate.flows.lanes import (
    LaneResults,
    LaneTask,
    Told,
    flat_result,
    integrate_lanes,
)
from symderiv.integrate.flows.run_errors import Worse

# Errors of steps add up, and the largest is above the mean that is controlled.
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

    def integrate(
        self,
        flows: Sequence[PiecewiseRun],
        begins: np.ndarray,
        constants: np.ndarray,
        asked: np.ndarray,
    ) -> LaneResults:
        """Integrate flows from states, shape (n, S), with constants, shape (n, P), over times."""
        task = LaneTask(
            self.right_hand_side,
            begins,
            constants,
            np.array([_tolerances(flow, self.looser) for flow in flows]),
            flows[0].course.sizes,
            asked,
            self.width,
        )
        return integrate_lanes(
            task, threads=self.threads, max_steps=self.max_steps, progress=self.progress
        )


def step_tolerance(flow: PiecewiseRun) -> float:
    """Return the relative tolerance of each step: a tenth of what is asked."""
    return max(flow.goal.relative_tolerance / _TIGHTER, 1e-14)


def _tolerances(flow: PiecewiseRun, looser: float) -> tuple[float, float, float]:
    """Relative, absolute and of the cone test, as for single runs."""
    asked = flow.goal
    relative = looser * step_tolerance(flow)
    absolute = asked.absolute_tolerance * relative / asked.relative_tolerance
    return relative, absolute, min(1e-2, 1e-10 + 1e3 * relative)


def lane_accuracy(
    flows: Sequence[PiecewiseRun],
    found: LaneResults,
    again: Callable[..., LaneResults],
) -> np.ndarray:
    """Return the largest errors of runs in lanes, from ones that are much worse, shape (n,).

    Args:
        flows, found: What was integrated, and the runs.
        again: Integrates others of their kind, with tolerances that are ``looser`` times larger.
    """
    runs = [flat_result(found, place, int(reached)) for place, reached in enumerate(found.reached)]
    pairs = zip(flows, runs, strict=True)
    worse = [Worse.of(flow, run, step_tolerance(flow)) for flow, run in pairs]
    looser = min(each.tolerance / step_tolerance(each.flow) for each in worse)
    coarse = again([each.flow for each in worse], looser=looser)
    others = [flat_result(coarse, place, int(count)) for place, count in enumerate(coarse.reached)]
    return np.array([each.error(*pair) for each, *pair in zip(worse, runs, others, strict=True)])
