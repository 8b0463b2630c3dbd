"""The true errors of runs in lanes beside those that they state.

The reference of closed means is :mod:`stated_errors.long_double`. Sums over many error functions,
biases and dropout take minutes there, and velocities have no layout in it: their reference is
SciPy's order 8 with the engine's right-hand side, at a tolerance of 1e-13.
"""

import time
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from support.campaign import Kept

from stated_errors.campaign import Reference, StatedErrors, Verdict, judged
from stated_errors.drawing import Drawn
from stated_errors.lane_families import MEMBERS, family
from stated_errors.long_double import NoReferenceError, long_results
from symderiv.integrate.ensemble import Chunk, chunks, integrate_chunk, lane_run
from symderiv.integrate.flows.flat_run import FlatProblem, FlatResult
from symderiv.integrate.flows.study_flow import Flow
from symderiv.integrate.steppers.memory import DONE

#: Activations that are sums of many error functions, or contain a Gaussian.
_SUMS = ("tanh", "gelu")
#: Keys whose rules take minutes in long doubles, or are not written for them.
_DEAR = {"network.student_biases", "training.keep", "training.momentum_rate"}
#: The smallest relative tolerance of SciPy's steps, and an absolute one: velocities begin at zero.
_LEAST, _ABSOLUTE = 1e-13, 1e-24


def campaign(numbers: Iterable[int], seed: int, results: Path | None) -> Iterator[Verdict]:
    """The verdicts of all runs of families; those in a file of results are taken from it."""
    kept = Kept(results, Verdict, seed=seed)
    for number in numbers:
        made = cache(lambda number=number: tried(family(number, seed)))
        for n in range(MEMBERS):
            yield kept.of(number * MEMBERS + n, lambda n=n, made=made: made()[n])


def tried(runs: list[Drawn]) -> list[Verdict]:
    """Run a family in lanes, and its reference."""
    begun = time.process_time()
    found, evaluations = in_lanes(runs)
    ran = (time.process_time() - begun) / len(runs)
    # lanes share threads: what one run takes more, another takes less
    cost = float(evaluations[1].sum() / evaluations[0].sum())
    asked = runs[0].study.time.relative_tolerance
    said = [StatedErrors.of_chunk(found, number, asked) for number in range(len(runs))]
    return [
        judged(drawn, own, cost, ran, _reference(drawn))
        for drawn, own in zip(runs, said, strict=True)
    ]


def in_lanes(runs: list[Drawn]) -> tuple[Chunk, list[np.ndarray]]:
    """All runs, eight at a time, and the right-hand sides that they and the worse runs took."""
    evaluations: list[np.ndarray] = []
    together = lane_run.run_in_lanes

    def counting(*given: Any, **options: Any) -> Any:
        assert options["width"] == 8
        found = together(*given, **options)
        evaluations.append(found.ended["evaluations"].copy())
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lane_run, "LEAST_RUNS", 1)
        patch.setattr(chunks, "run_in_lanes", counting)
        studies, starts = [each.study for each in runs], [each.start for each in runs]
        found = integrate_chunk(studies, starts=starts, threads=1, check="auto")
    return found, evaluations


def _reference(drawn: Drawn) -> Reference:
    network, keys = drawn.study.network, {*drawn.study.rule_keys}
    sums = {network.activation, network.teacher_activation} & {*_SUMS}
    return double_results if sums or keys & _DEAR else long_results


def double_results(flow: Flow, tolerance: float) -> np.ndarray:
    """The states of a flow at all times of its study, by SciPy, piece by piece.

    Raises:
        NoReferenceError: The solution cannot be followed.
    """
    walk = flow.course.walk(flow.goal.alpha, flow.right_hand_side)
    piece, _ = next(walk)
    while True:
        rows = _piece(piece, max(tolerance * 1e3, _LEAST))
        result = FlatResult(rows, len(rows), float(piece.asked[-1]), rows[-1], DONE, 0, 0, 0, 0.0)
        try:
            piece, _ = walk.send(result)
        except StopIteration as end:
            whole: np.ndarray = end.value.results
            return whole


def _piece(piece: FlatProblem, tolerance: float) -> np.ndarray:
    def rates(alpha: float, y: np.ndarray) -> np.ndarray:
        slope = np.empty_like(y)
        piece.rhs(alpha, np.ascontiguousarray(y), piece.sizes, piece.parameters, slope)
        return slope

    rows, state, now = [], piece.state.copy(), 0.0
    for target in piece.asked:
        # to each time by its own steps: nothing is interpolated
        if target > now:
            how = {"method": "DOP853", "rtol": tolerance, "atol": _ABSOLUTE}
            moved = solve_ivp(rates, (now, target), state, **how)
            if not moved.success or not np.isfinite(moved.y[:, -1]).all():
                raise NoReferenceError(moved.message)
            state, now = moved.y[:, -1].copy(), float(target)
        rows.append(state)
    return np.array(rows)
