"""The first time at which a function of the state becomes positive, proved.

On every step the function is negative all the way, or grows all the way from a negative to a
positive value; pieces of steps are halved until one of both is proved.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from flint import arb, arb_mat

from symderiv.enclosures.proved_run import EnclosedRun, gradient_form
from symderiv.enclosures.proved_step import ProvedStep, StateSet, gradients
from symderiv.precision.balls.operations import Operations
from symderiv.precision.balls.working import working_bits

__all__ = ["Crossing", "first_crossing"]

_HALVINGS = 10
_BISECTIONS = 400


@dataclass(frozen=True)
class Crossing:
    """The first time at which a function becomes positive.

    Attributes:
        verdict: "proved", "never" (proved for the whole run) or "undecided".
        begin, end: The time is between them; exact. None if it is not proved.
    """

    verdict: str
    begin: arb | None = None
    end: arb | None = None


def first_crossing(run: EnclosedRun, rates: Operations, gap: Operations) -> Crossing:
    """Return the first time at which a gap becomes positive.

    Args:
        run: Proved.
        rates: The rates of the state.
        gap: A function of the state.
    """
    with working_bits(run.bits):
        function = _Gap(rates, gap)
        if function.at_start(run.steps[0].begin) > 0:
            return Crossing("proved", arb(0), arb(0))
        for begin, step in zip(run.begins, run.steps, strict=True):
            if function.over(step.rough) < 0:
                continue
            for halvings in range(_HALVINGS):
                verdict, place = function.searched(step, 2**halvings)
                if verdict != "undecided":
                    break
            if verdict == "undecided":
                return Crossing("undecided")
            if verdict == "proved":
                assert place is not None
                return Crossing(
                    "proved", *(begin + each for each in function.narrowed(step, *place))
                )
        return Crossing("never")


class _Gap:
    """A function of the state, with its rate of change in time."""

    def __init__(self, rates: Operations, gap: Operations) -> None:
        self._rates, self._gap = _function(rates), _function(gap)

    def at_start(self, region: StateSet) -> arb:
        return gradient_form(self._gap, region)[0]

    def over(self, box: Sequence[arb]) -> arb:
        """Return the function over a box, by its middle and its gradient where that is better."""
        plain = self._gap(box)[0]
        middle = [x.mid() for x in box]
        moved = gradients(self._gap, box) * arb_mat(
            len(box), 1, [x - y for x, y in zip(box, middle, strict=True)]
        )
        centred = self._gap(middle)[0] + moved.entries()[0]
        return plain.intersection(centred) if plain.overlaps(centred) else plain

    def speed(self, box: Sequence[arb]) -> arb:
        """Return how fast the function grows over a box."""
        slopes = gradients(self._gap, box)
        return (slopes * arb_mat(len(box), 1, self._rates(box))).entries()[0]

    def searched(self, step: ProvedStep, pieces: int) -> tuple[str, tuple[arb, arb] | None]:
        """Return whether a step crosses zero, and the piece of it where it does."""
        ends = [step.time * n / pieces for n in range(pieces + 1)]
        for begin, end in itertools.pairwise(ends):
            box = step.at(begin.union(end))
            if self.over(box) < 0:
                continue
            if not self.speed(box) > 0:
                return "undecided", None
            last = self.over(step.at(end))
            if last > 0:
                return "proved", (begin, end)
            if not last < 0:
                return "undecided", None
        return "never", None

    def narrowed(self, step: ProvedStep, begin: arb, end: arb) -> tuple[arb, arb]:
        """Return times as close as can be told between which the function, which grows, is 0."""
        for _ in range(_BISECTIONS):
            middle = ((begin + end) / 2).mid()
            value = self.over(step.at(middle))
            if value < 0:
                begin = middle
            elif value > 0:
                end = middle
            else:
                break
        return self._one_side(step, begin, middle, -1), self._one_side(step, end, middle, 1)

    def _one_side(self, step: ProvedStep, far: arb, near: arb, sign: int) -> arb:
        """Return a time near another one at which the sign is proved."""
        for _ in range(_BISECTIONS):
            between = ((far + near) / 2).mid()
            if not sign * self.over(step.at(between)) > 0:
                break
            far = between
        return far


def _function(operations: Operations) -> Callable[[Sequence[arb]], list[arb]]:
    constants, values = operations.compiled()
    given = constants()
    return lambda state: values(state, given)
