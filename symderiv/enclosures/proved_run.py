"""Proved runs: a sequence of sets of states, each of which contains the image of the one before.

Steps and precision are planned: the amplification of errors by a plateau is known from a run in
doubles, so that the error of each step can be small enough for the radius that is wanted at the
end.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from flint import arb, arb_mat, fmpq
from scipy.linalg import expm

from symderiv.enclosures.proved_step import (
    ProvedStep,
    StateSet,
    VectorField,
    short,
    stepped,
)
from symderiv.foundation.errors import ToleranceError
from symderiv.precision.balls.krawczyk import gradients
from symderiv.precision.balls.operations import Operations
from symderiv.precision.balls.working import working_bits

Progress = Callable[[str, float], None]

_SPARE_BITS = 24
# At this precision, sums of times, which are doubles, are exact.
_LEAST_BITS = 128
# The cheapest number of terms of the Taylor series for each decimal digit of the tolerance.
_TERMS_A_DIGIT = 0.78
_GROWTH, _SHRINKING = 1.3, 0.5
_ROUNDS = 4


class Stage(NamedTuple):
    """The rates of the state from a time on, until they jump.

    Attributes:
        begin: The time, exactly this double.
        rates: The list of operations of the rates.
    """

    begin: float
    rates: Operations


@dataclass(frozen=True)
class EnclosedRun:
    """A proved run.

    Attributes:
        stages: The rates, which may jump; the first ones are those at the start.
        steps: The steps from the start to the end.
        begins: Times at which they begin, exact.
        during: The index of the stage of each step.
        at: The index of the step that ends at each requested time; -1 for the start.
        bits: Working precision.
        tolerance: The tolerance on the remainder of each step.
    """

    stages: Sequence[Stage]
    steps: list[ProvedStep]
    begins: list[arb]
    during: list[int]
    at: list[int]
    bits: int
    tolerance: arb

    def region(self, place: int) -> StateSet:
        """Return the set of states at a requested time, given by its index."""
        step = self.at[place]
        return self.steps[0].begin if step < 0 else self.steps[step].end


def exactly(value: Fraction) -> arb:
    """Return a ball around a fraction, at the present precision."""
    return arb(fmpq(value.numerator, value.denominator))


def amplification(slopes: Sequence[np.ndarray], times: np.ndarray) -> float:
    """Return the largest factor by which an error at any time of a run grows until any later time.

    Args:
        slopes: Jacobians of the rates at the times, each n × n.
        times: Ascending, as many.
    """
    steps = [
        expm((one + other) / 2 * (end - begin))
        for one, other, begin, end in zip(slopes, slopes[1:], times, times[1:], strict=False)
    ]
    largest, products = 1.0, np.empty((0, *slopes[0].shape))
    for step in steps:
        products = step @ np.concatenate([products, np.eye(step.shape[0])[None]])
        largest = max(largest, float(np.max(np.sum(np.abs(products), axis=2))))
    return largest


def enclosed(
    stages: Sequence[Stage],
    start: Sequence[Fraction],
    times: Sequence[float],
    radius: float,
    growth: float,
    progress: Progress | None = None,
) -> EnclosedRun:
    """Return a proved run.

    Args:
        stages: The rates, from 0 on. Where they jump a step ends, and the next one begins with
            the set of states in which it ends.
        start: Exact numbers.
        times: Ascending, from 0 on, at which steps end; exactly these doubles.
        radius: The largest radius allowed for the balls of all coordinates at all times.
        growth: The factor by which errors grow, see :func:`amplification`; a guess that is too
            small costs a second run.
        progress: Called with a message and the fraction of time reached.

    Raises:
        ToleranceError: The radius was not reached, or a step could not be proved.
    """
    span = float(times[-1])
    tolerance = radius / (20.0 * growth * (40.0 * span + 10.0))
    for _ in range(_ROUNDS):
        bits = max(_LEAST_BITS, math.ceil(-math.log2(tolerance)) + _SPARE_BITS)
        with working_bits(bits):
            run = _followed(stages, start, times, tolerance, bits, progress)
            reached = max(float(run.region(n).radius) for n in range(len(times)))
        if reached <= radius:
            return run
        tolerance *= min(0.1, 0.1 * radius / reached)
    raise ToleranceError(
        f"the radii of the balls stay at {reached:.1e}, above {radius:.1e}; ask for an earlier "
        "end, or a larger radius"
    )


def _followed(
    stages: Sequence[Stage],
    start: Sequence[Fraction],
    times: Sequence[float],
    tolerance: float,
    bits: int,
    progress: Progress | None,
) -> EnclosedRun:
    region, now = StateSet.around([exactly(each) for each in start]), arb(0)
    steps: list[ProvedStep] = []
    begins: list[arb] = []
    during: list[int] = []
    at: list[int] = []
    jumps, stage, field = [arb(each.begin) for each in stages], -1, None
    terms, longest = _TERMS_A_DIGIT * -math.log10(tolerance), arb("0.125")
    error = arb(tolerance)
    for time in times:
        end = arb(time)
        while now < end:
            if field is None or (stage + 1 < len(stages) and not now < jumps[stage + 1]):
                stage += 1
                field = VectorField.of(stages[stage].rates)
                continue
            left = min([end, *jumps[stage + 1 : stage + 2]]) - now
            try:
                step = stepped(field, region, left if left <= longest else short(longest), error)
            except ToleranceError as failed:
                raise ToleranceError(
                    f"proved up to alpha = {float(now):.4g} only, because {failed.reason}; ask for "
                    "an earlier end"
                ) from failed
            begins.append(now)
            steps.append(step)
            during.append(stage)
            region, now = step.end, now + step.time
            if step.time < left:
                scale = min(_GROWTH, max(_SHRINKING, terms / len(step.columns)))
                longest = step.time * arb(scale)
            if progress is not None:
                progress(f"proved to alpha = {float(now):.4g}", float(now) / float(times[-1]))
        at.append(len(steps) - 1)
    return EnclosedRun(stages, steps, begins, during, at, bits, error)


def gradient_form(values: Callable[[Sequence[arb]], list[arb]], region: StateSet) -> list[arb]:
    """Return functions over a set of states by their mean value form at the centre.

    Args:
        values: The values of the functions over balls or power series of balls.
        region: The set.
    """
    hull = region.hull
    middle = values(region.centre)
    slopes = gradients(values, hull) * region.axes
    moved = (slopes * arb_mat(len(hull), 1, region.box)).entries()
    return [one + other for one, other in zip(middle, moved, strict=True)]
