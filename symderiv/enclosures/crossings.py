"""The first time at which a function of the state becomes positive, proved.

On every step the function is negative throughout, or increases throughout from a negative to a
positive value; pieces of steps are halved until one of both is proved. Along a step the function is
its Taylor series in time, and not a function of boxes: late in learning the error is a small
difference of order parameters, which boxes around each of them cannot resolve.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from flint import arb, arb_mat, arb_series, ctx

from symderiv.enclosures.proved_run import EnclosedRun, gradient_form
from symderiv.enclosures.proved_step import ProvedStep, StateSet, VectorField
from symderiv.precision.balls.krawczyk import gradients
from symderiv.precision.balls.operations import Operations
from symderiv.precision.balls.working import working_bits

_HALVINGS = 10
_BISECTIONS = 400


@dataclass(frozen=True)
class Crossing:
    """The first time at which a function becomes positive.

    Attributes:
        verdict: "proved", "never" (proved for the whole run) or "undecided".
        begin, end: Exact bounds on the time; None if it is not proved.
        reason: Why it is undecided.
    """

    verdict: str
    begin: arb | None = None
    end: arb | None = None
    reason: str = ""


def first_crossing(run: EnclosedRun, gap: Operations) -> Crossing:
    """Return the first time at which a gap becomes positive.

    Args:
        run: A proved run.
        gap: A function of the state; it does not jump where the rates do.
    """
    with working_bits(run.bits):
        functions = [_Gap(stage.rates, gap) for stage in run.stages]
        if functions[0].at_start(run.steps[0].begin) > 0:
            return Crossing("proved", arb(0), arb(0))
        for begin, step, stage in zip(run.begins, run.steps, run.during, strict=True):
            function = functions[stage]
            if function.over(step.rough) < 0:
                continue
            along = function.along(step)
            for halvings in range(_HALVINGS):
                verdict, place = along.searched(2**halvings)
                if verdict != "undecided":
                    break
            if verdict == "undecided":
                return Crossing("undecided", reason=_unknown(begin, begin + step.time))
            if verdict == "proved":
                assert place is not None
                first, last = along.narrowed(*place)
                return Crossing("proved", begin + first, begin + last)
        return Crossing("never")


def _unknown(begin: arb, end: arb) -> str:
    """Return the reason why a step is undecided."""
    return (
        f"the balls leave open whether it holds between alpha = {float(begin):.6g} and "
        f"{float(end):.6g}, as where a curve only touches the level; a smaller radius may tell"
    )


class _Gap:
    """A function of the state along trajectories of given rates."""

    def __init__(self, rates: Operations, gap: Operations) -> None:
        self._field, self._gap = VectorField.of(rates), gap.in_balls()

    def at_start(self, region: StateSet) -> arb:
        return gradient_form(self._gap, region)[0]

    def over(self, box: Sequence[arb]) -> arb:
        """Return the function over a box, by its mean value form where that is sharper."""
        plain: arb = self._gap(box)[0]
        middle = [x.mid() for x in box]
        moved = gradients(self._gap, box) * arb_mat(
            len(box), 1, [x - y for x, y in zip(box, middle, strict=True)]
        )
        centred = self._gap(middle)[0] + moved.entries()[0]
        return plain.intersection(centred) if plain.overlaps(centred) else plain

    def along(self, step: ProvedStep) -> _Along:
        """Return the function on a step, for all trajectories that begin in the step's set."""
        order = len(step.columns)
        known = self._series(step.begin.hull, order - 1)
        return _Along([*known, self._series(step.rough, order)[order]], step.time)

    def _series(self, box: Sequence[arb], order: int) -> list[arb]:
        """Return Taylor coefficients of the function in time, from any state in a box, up to an
        order.
        """
        columns = self._field.taylor(box, lambda n, _: n == order)
        ctx.cap = order + 1
        state = [arb_series(list(column), order + 1) for column in zip(*columns, strict=True)]
        series = arb_series(self._gap(state)[0], order + 1)
        return [series[n] for n in range(order + 1)]


@dataclass(frozen=True)
class _Along:
    """A function on a step as its Taylor polynomial, whose last coefficient is a remainder bound.

    Attributes:
        coefficients: Taylor coefficients; the last one holds throughout the step.
        time: The length of the step.
    """

    coefficients: list[arb]
    time: arb

    def value(self, time: arb) -> arb:
        """Return the function at a time of the step, or at all times of a ball."""
        middle = time.mid()
        centred = _polynomial(self.coefficients, middle) + self.speed(time) * (time - middle)
        plain = _polynomial(self.coefficients, time)
        return plain.intersection(centred) if plain.overlaps(centred) else plain

    def speed(self, time: arb) -> arb:
        """Return the time derivative of the function at a time, or at all times of a ball."""
        return _polynomial([n * x for n, x in enumerate(self.coefficients)][1:], time)

    def searched(self, pieces: int) -> tuple[str, tuple[arb, arb] | None]:
        """Return whether the function crosses zero on the step, and the piece where it does."""
        ends = [self.time * n / pieces for n in range(pieces + 1)]
        for begin, end in itertools.pairwise(ends):
            times = begin.union(end)
            if self.value(times) < 0:
                continue
            if not self.speed(times) > 0:
                return "undecided", None
            last = self.value(end)
            if last > 0:
                return "proved", (begin, end)
            if not last < 0:
                return "undecided", None
        return "never", None

    def narrowed(self, begin: arb, end: arb) -> tuple[arb, arb]:
        """Return sharp bounds on the time at which the function, which increases, is 0."""
        for _ in range(_BISECTIONS):
            middle = ((begin + end) / 2).mid()
            value = self.value(middle)
            if value < 0:
                begin = middle
            elif value > 0:
                end = middle
            else:
                break
        return self._one_side(begin, middle, -1), self._one_side(end, middle, 1)

    def _one_side(self, far: arb, near: arb, sign: int) -> arb:
        """Return a time close to ``near`` at which the function is proved to have the sign."""
        for _ in range(_BISECTIONS):
            between = ((far + near) / 2).mid()
            if not sign * self.value(between) > 0:
                break
            far = between
        return far


def _polynomial(coefficients: Sequence[arb], time: arb) -> arb:
    value = arb(0)
    for each in reversed(coefficients):
        value = each + time * value
    return value
