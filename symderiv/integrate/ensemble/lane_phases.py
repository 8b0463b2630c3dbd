"""Runs in phases, integrated together phase by phase."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace

import numpy as np

from symderiv.integrate.ensemble.lane_pieces import LaneStart
from symderiv.integrate.flows.flat_run import FlatResult
from symderiv.integrate.flows.lanes import LaneResults, flat_result, lane_results
from symderiv.integrate.rules.phases import PhasedFlow, PhasePiece

_Pieces = Generator[PhasePiece, FlatResult, FlatResult]


def run_phases(flows: Sequence[PhasedFlow], given: LaneStart) -> LaneResults:
    """Integrate flows whose phases have constant rates, those together whose phases agree.

    Args:
        flows, given: See :func:`~symderiv.integrate.ensemble.lane_run.run_in_lanes`.
    """
    walks: dict[int, tuple[_Pieces, PhasePiece]] = {}
    for number, flow in enumerate(flows):
        pieces = flow.pieces()
        walks[number] = pieces, next(pieces)
    whole: dict[int, FlatResult] = {}
    seconds, ended = 0.0, given.progress
    while walks:
        groups: dict[tuple[int, bytes], list[int]] = {}
        for number, (_, piece) in walks.items():
            groups.setdefault((piece.begin.size, piece.asked.tobytes()), []).append(number)
        for numbers in groups.values():
            results = _integrated(flows, walks, numbers, replace(given, progress=None))
            seconds += results.seconds
            for place, number in enumerate(numbers):
                pieces = walks.pop(number)[0]
                try:
                    piece = pieces.send(flat_result(results, place, int(results.reached[place])))
                    walks[number] = pieces, piece
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
    walks: dict[int, tuple[_Pieces, PhasePiece]],
    numbers: Sequence[int],
    given: LaneStart,
) -> LaneResults:
    """Return one phase of some of the flows."""
    pieces = [walks[number][1] for number in numbers]
    return given.integrate(
        [flows[number] for number in numbers],
        np.array([piece.begin for piece in pieces]),
        np.array([piece.parameters for piece in pieces]),
        np.ascontiguousarray(pieces[0].asked),
    )
