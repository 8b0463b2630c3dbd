"""The first times at which conditions hold along a run, with their derivatives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from symderiv.integrate.events.asked import Event
from symderiv.integrate.events.conditions import Condition
from symderiv.integrate.flows.courses import Course
from symderiv.integrate.flows.sensitivities import VariedRun

_LONGER = 5
# how many times between two of a run are looked at for events, and at least of a whole run
_BETWEEN, _LOOKED_AT = 16, 200


def denser(alpha: np.ndarray, course: Course) -> np.ndarray:
    """Return the times of a run with more of them in between, from 0 on; all steps of order one."""
    if course.step:
        return course.step * np.arange(round(alpha[-1] / course.step) + 1)
    cuts = [cut for cut in course.cuts if cut < alpha[-1]]
    ends = np.union1d(alpha, [0.0, *cuts])
    if ends.size == 1:
        return ends
    count = max(_BETWEEN, -(-_LOOKED_AT // (ends.size - 1)))
    parts = np.linspace(0.0, 1.0, count, endpoint=False)
    inside: np.ndarray = (ends[:-1, None] + np.diff(ends)[:, None] * parts).ravel()
    return np.append(inside, ends[-1])


@dataclass(frozen=True)
class SeenRun:
    """A run at many times: rows of states with derivatives, and what is observed there.

    Attributes:
        varied: The run.
        times: Ascending times, the first of which is its begin.
        rows: States with derivatives.
        observed: What is observed at them.
        looser: By what factor the tolerance of its steps is larger.
    """

    varied: VariedRun[Any]
    times: np.ndarray
    rows: np.ndarray
    observed: Sequence[Any]
    looser: float = 1.0

    @classmethod
    def of(cls, varied: VariedRun[Any], times: np.ndarray, looser: float = 1.0) -> SeenRun:
        """Return a run at these times."""
        rows = varied.run(times, looser=looser)
        pairs = zip(rows, times, strict=True)
        return cls(varied, times, rows, [varied.observed(r, float(a)) for r, a in pairs], looser)

    def gap(self, condition: Condition, observed: Any, alpha: float) -> float:
        """Return a number that is positive where a condition holds."""
        return condition.gap(self.varied.named(observed), alpha)

    def change(
        self, condition: Condition, observed: Any, alpha: float, rates: Any, time: float
    ) -> float:
        """Return the change of that number with rates of what it depends on."""
        named = self.varied.named
        return condition.change(named(observed), alpha, named(rates), time)

    def jumps(self, condition: Condition, row: np.ndarray, cut: float) -> bool:
        """Return whether a condition holds right after a jump."""
        after = float(np.nextafter(cut, np.inf))
        return self.gap(condition, self.varied.observed(row, after), after) > 0.0

    def first(self, condition: Condition) -> tuple[np.ndarray, float] | None:
        """Return state and time at which a condition first holds; None if it never does."""
        pairs = zip(self.observed, self.times, strict=True)
        gaps = (self.gap(condition, each, float(time)) for each, time in pairs)
        n = next((n for n, gap in enumerate(gaps) if gap > 0.0), None)
        if n is None or n == 0:
            return None if n is None else (self.rows[0], float(self.times[0]))
        begin, end = (float(time) for time in self.times[n - 1 : n + 1])
        if self.varied.course.step:
            return self.rows[n], end
        if begin in self.varied.course.cuts and self.jumps(condition, self.rows[n - 1], begin):
            return self.rows[n - 1], begin
        return _root(condition, self, self.rows[n - 1], begin, end - begin)


def located(event: Event, condition: Condition | None, seen: SeenRun) -> dict[str, Any]:
    """Return the first time at which an event's condition holds, its error and derivatives.

    Of a run by steps of order one that is the first step at which it holds, which has no
    derivatives.

    Args:
        event: The event.
        condition: Its condition; None if there is no time at which it may hold.
        seen: The run.
    """
    record: dict[str, Any] = {
        "event": event.name,
        "condition": event.condition,
        "alpha": None,
        "error_bound": None,
        "derivatives": {},
    }
    place = None if condition is None else seen.first(condition)
    if condition is None or place is None:
        return record
    record["condition"] = condition.text
    row, alpha = place
    if alpha == seen.times[0]:
        return record | {"alpha": alpha, "error_bound": 0.0}
    varied = seen.varied
    if varied.course.step:
        return record | {"alpha": alpha, "error_bound": 0.0}
    here = varied.observed(row, alpha)
    if alpha in varied.course.cuts and seen.gap(condition, here, alpha) <= 0.0:
        # it holds from the jump on, whose time is fixed
        still = dict.fromkeys(varied.directions, 0.0)
        return record | {"alpha": alpha, "error_bound": 0.0, "derivatives": still}
    speed = seen.change(condition, here, alpha, varied.rates(row, alpha), 1.0)
    changes = varied.derivatives(row, alpha).items() if varied.directions else ()
    slopes = {
        name: -seen.change(condition, here, alpha, each, 0.0) / speed for name, each in changes
    }
    error = _time_error(condition, seen, alpha)
    return record | {"alpha": alpha, "error_bound": error, "derivatives": slopes}


def _time_error(condition: Condition, seen: SeenRun, alpha: float) -> float | None:
    """Return how far a time is from that in a run with ten times the tolerance."""
    last = int(np.searchsorted(seen.times, alpha))
    times = seen.times[max(last - 2, 0) : last + 3]
    other = SeenRun.of(seen.varied.alone(), times, 10.0).first(condition)
    if other is None or other[1] == times[0] != seen.times[0]:
        return None
    return abs(other[1] - alpha) + 1e-15 * alpha


def _root(
    condition: Condition, seen: SeenRun, row: np.ndarray, begin: float, length: float
) -> tuple[np.ndarray, float] | None:
    """Return state and time at which a gap vanishes, between two times of a run.

    Steps from the first time on are others than those of the run: where a condition hardly holds at
    the second time, it may hold only later with them. None is returned if it does not.
    """
    from scipy.optimize import brentq

    varied = seen.varied

    def state(after: float) -> np.ndarray:
        if after <= 0.0:
            return row
        asked = np.array([after])
        there: np.ndarray = varied.run(asked, row, looser=seen.looser, since=begin)[0]
        return there

    def gap(after: float) -> float:
        alpha = begin + after
        return seen.gap(condition, varied.observed(state(after), alpha), alpha)

    for _ in range(_LONGER):
        if gap(length) > 0.0:
            break
        length *= 2.0
    else:
        return None
    after = float(brentq(gap, 0.0, length, xtol=1e-15 * (begin + length), rtol=1e-15))
    return state(after), begin + after
