"""Runs in phases, integrated together phase by phase."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from symderiv.integrate.ensemble.lane_pieces import LaneStart
from symderiv.integrate.flows.courses import Walk
from symderiv.integrate.flows.flat_run import FlatProblem, FlatResult
from symderiv.integrate.flows.lanes import LaneResults, flat_result, lane_results
from symderiv.integrate.rules.phases import PhasedFlow


def run_phases(flows: Sequence[PhasedFlow], given: LaneStart) -> LaneResults:
    """Integrate flows whose phases have constant rates, those together whose phases agree.

    Args:
        flows, given: See :func:`~symderiv.integrate.ensemble.lane_run.run_in_lanes`.
    """
    walks: dict[int, tuple[Walk, FlatProblem]] = {}
    for number, flow in enumerate(flows):
        walk = flow.course.walk(flow.goal.alpha, given.right_hand_side)
        walks[number] = walk, next(walk)[0]
    whole: dict[int, FlatResult] = {}
    seconds, ended = 0.0, given.progress
    while walks:
        groups: dict[tuple[int, bytes], list[int]] = {}
        for number, (_, piece) in walks.items():
            groups.setdefault((piece.state.size, piece.asked.tobytes()), []).append(number)
        for numbers in groups.values():
            results = _integrated(flows, walks, numbers, replace(given, progress=None))
            seconds += results.seconds
            for place, number in enumerate(numbers):
                walk = walks.pop(number)[0]
                try:
                    sent = flat_result(results, place, int(results.reached[place]))
                    walks[number] = walk, walk.send(sent)[0]
                except StopIteration as end:
                    whole[number] = end.value
            if ended is not None:
                ended(len(whole))
    runs = [whole[number] for number in range(len(flows))]
    errors = np.full((len(runs), flows[0].study.alpha.size), np.nan)
    for flow, run, row in zip(flows, runs, errors, strict=True):
        if run.reached:
            row[: run.reached] = flow.errors(run)
    return lane_results(runs, errors, seconds)


def _integrated(
    flows: Sequence[PhasedFlow],
    walks: dict[int, tuple[Walk, FlatProblem]],
    numbers: Sequence[int],
    given: LaneStart,
) -> LaneResults:
    """Return one phase of some of the flows."""
    pieces = [walks[number][1] for number in numbers]
    return given.integrate(
        [flows[number] for number in numbers],
        np.array([piece.state for piece in pieces]),
        np.array([piece.parameters for piece in pieces]),
        np.ascontiguousarray(pieces[0].asked),
    )
