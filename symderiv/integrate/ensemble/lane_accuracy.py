"""Growth of errors of runs in lanes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from symderiv.integrate.ensemble.lane_pieces import step_tolerance
from symderiv.integrate.ensemble.lane_run import run_in_lanes
from symderiv.integrate.flows.lanes import LaneResults, flat_result
from symderiv.integrate.flows.run_errors import Worse
from symderiv.integrate.flows.study_flow import Flow


def lane_accuracy(
    flows: Sequence[Flow], found: LaneResults, threads: int, max_steps: int, width: int
) -> np.ndarray:
    """Return the largest errors of Q, R and v, from runs in lanes that are much worse, shape (n,).

    Args:
        flows, found: What was integrated, and the runs.
        threads, max_steps, width: See :func:`~symderiv.integrate.ensemble.lane_run.run_in_lanes`.
    """
    runs = [flat_result(found, place, int(reached)) for place, reached in enumerate(found.reached)]
    worse = [
        Worse.of(flow, run, step_tolerance(flow)) for flow, run in zip(flows, runs, strict=True)
    ]
    looser = min(each.tolerance / step_tolerance(each.flow) for each in worse)
    coarse = run_in_lanes(
        [each.flow for each in worse],
        threads=threads,
        max_steps=max_steps,
        looser=looser,
        width=width,
    )
    others = [flat_result(coarse, place, int(count)) for place, count in enumerate(coarse.reached)]
    return np.array([each.error(*pair) for each, *pair in zip(worse, runs, others, strict=True)])
