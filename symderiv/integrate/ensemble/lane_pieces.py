"""Flows of one module over one piece of time, integrated together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from symderiv.integrate.flows.lanes import LaneResults, LaneTask, Told, integrate_lanes
from symderiv.integrate.flows.study_flow import Flow

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
    looser: float

    def integrate(
        self, flows: Sequence[Flow], begins: np.ndarray, constants: np.ndarray, asked: np.ndarray
    ) -> LaneResults:
        """Integrate flows from states, shape (n, S), with constants, shape (n, P), over times."""
        task = LaneTask(
            self.right_hand_side,
            begins,
            constants,
            np.array([_tolerances(flow, self.looser) for flow in flows]),
            flows[0].sizes,
            asked,
            self.width,
        )
        return integrate_lanes(
            task, threads=self.threads, max_steps=self.max_steps, progress=self.progress
        )


def step_tolerance(flow: Flow) -> float:
    """Return the relative tolerance of each step: a tenth of what is asked."""
    return max(flow.study.time.relative_tolerance / _TIGHTER, 1e-14)


def _tolerances(flow: Flow, looser: float) -> tuple[float, float, float]:
    """Relative, absolute and of the cone test, as for single runs."""
    asked = flow.study.time
    relative = looser * step_tolerance(flow)
    absolute = asked.absolute_tolerance * relative / asked.relative_tolerance
    return relative, absolute, min(1e-2, 1e-10 + 1e3 * relative)
