"""Derivatives along a run by numbers of its problem, and first times at which conditions hold."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from symderiv.foundation.errors import errors_about
from symderiv.integrate.events.asked import Event, asked_events
from symderiv.integrate.events.conditions import Condition, Readable
from symderiv.integrate.events.located_events import LocatedEvents
from symderiv.integrate.flows.courses import Course
from symderiv.integrate.flows.flat_run import FlatResult
from symderiv.integrate.flows.run_errors import EXPLICIT, NOT_SHOWN, TIMES, WORSE_START
from symderiv.integrate.flows.sensitivities import Direction, VariedRun, direction_by
from symderiv.storage.run_files import BY

_LONGER = 5
# number of times per interval of a run at which events are looked for, and least number in all
_BETWEEN, _LOOKED_AT = 16, 200
# directions in which a state is moved to see by how much a gap changes
_PROBES = 4


def denser(alpha: np.ndarray, course: Course) -> np.ndarray:
    """Return the times at which events are looked for: finer ones from 0 on, or every step."""
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
    """A run at many times: states with derivatives, and the observables there.

    Attributes:
        varied: The run.
        times: Ascending times, beginning with the start of the run.
        rows: States with the derivatives behind them.
        observed: The observables at the states.
        looser: The factor by which the tolerance of its steps is larger than usual.
    """

    varied: VariedRun
    times: np.ndarray
    rows: np.ndarray
    observed: Sequence[Any]
    looser: float = 1.0

    @classmethod
    def of(cls, varied: VariedRun, times: np.ndarray, looser: float = 1.0) -> SeenRun:
        """Integrate a run to given times."""
        rows = varied.run(times, looser=looser)
        return cls(varied, times, rows, [*varied.seen(rows, times)], looser)

    def jumps(self, condition: Condition, row: np.ndarray, cut: float) -> bool:
        """Return whether a condition holds right after a jump."""
        after = float(np.nextafter(cut, np.inf))
        return condition.gap(self.varied.observed(row, after), after) > 0.0

    def first(self, condition: Condition) -> tuple[np.ndarray, float] | None:
        """Return state and time at which a condition first holds; None if it never does."""
        pairs = zip(self.observed, self.times, strict=True)
        gaps = (condition.gap(each, float(time)) for each, time in pairs)
        n = next((n for n, gap in enumerate(gaps) if gap > 0.0), None)
        if n is None or n == 0:
            return None if n is None else (self.rows[0], float(self.times[0]))
        begin, end = (float(time) for time in self.times[n - 1 : n + 1])
        if self.varied.course.step:
            return self.rows[n], end
        if begin in self.varied.course.cuts and self.jumps(condition, self.rows[n - 1], begin):
            return self.rows[n - 1], begin
        return _root(condition, self, self.rows[n - 1], begin, end - begin)


class RunWanted(NamedTuple):
    """The request for a run: its derivatives, its events and where it ends.

    Attributes:
        sensitivities: Names of numbers by which the run is differentiated.
        events: All events, the one at which it ends among them.
        until: The event at which the run ends; None for its last time.
    """

    sensitivities: tuple[str, ...]
    events: tuple[Event, ...]
    until: Event | None

    @classmethod
    def of(
        cls,
        sensitivities: Sequence[str],
        events: Sequence[str | Event] | str | Event,
        until: str | Event | None,
    ) -> RunWanted:
        """Return the request that these arguments make.

        Raises:
            InputError: One of them is not an event.
        """
        return cls(tuple(sensitivities), *asked_events(events, until))


class Followed(ABC):
    """Base of studies and systems along whose runs derivatives and events are followed."""

    @property
    @abstractmethod
    def readable(self) -> Readable:
        """The names that conditions on its runs may contain."""

    @abstractmethod
    def number(self, name: str) -> float:
        """Return the value of a number of the problem.

        Raises:
            InputError: The problem has no such number.
        """

    @abstractmethod
    def course(self, numbers: Mapping[str, float]) -> Course:
        """Return the course of a run with other values of some numbers."""

    @abstractmethod
    def varied(
        self,
        numbers: Mapping[str, float],
        directions: Mapping[str, Direction],
        needs: Iterable[str] | None = None,
    ) -> VariedRun:
        """Return the run with other values of some numbers, to be differentiated along directions.

        Args:
            numbers, directions: The values and the directions by name.
            needs: The averages that are evaluated; all when left out.
        """

    def condition(self, event: Event, seen: SeenRun | None = None) -> Condition | None:
        """Return the condition of an event; None if it needs a run, or has none in this run.

        Raises:
            InputError: The condition cannot be read, or contains unknown names.
        """
        del seen
        return Condition(event.condition, self.readable)

    def conditions(self, events: Iterable[Event]) -> list[Condition]:
        """Return the conditions of those events whose condition does not depend on the run."""
        conditions = (self.condition(each) for each in events)
        return [each for each in conditions if each is not None]

    def direction(self, name: str, numbers: Mapping[str, float] | None = None) -> Direction:
        """Return the derivatives of start and constants by a number, at given values of numbers."""
        others = numbers or {}
        value = others[name] if name in others else self.number(name)
        return direction_by(lambda number: self.course({**others, name: number}), value, name)

    def along(self, numbers: Mapping[str, float]) -> VariedRun:
        """Return the run with other values of some numbers, to be differentiated by them."""
        return self.varied(numbers, {name: self.direction(name, numbers) for name in numbers})

    def directions(self, sensitivities: Iterable[str]) -> dict[str, Direction]:
        """Return the derivatives of start and constants by each number."""
        return {name: self.direction(name) for name in sensitivities}

    def differentiated(self, sensitivities: Sequence[str]) -> VariedRun:
        """Return the run to be differentiated by the numbers asked for."""
        return self.varied({}, self.directions(sensitivities))

    def solved(self, wanted: RunWanted, run_at: Callable[[np.ndarray | None], Any]) -> Any:
        """Return a run with the events and derivatives that were asked for.

        Args:
            wanted: The events and derivatives asked for, and the event that ends the run.
            run_at: The function that integrates, at given times or with None at those of the
                problem.

        Raises:
            InputError: A name is not a number of the problem, or a condition cannot be read.
            NotYetError: A number changes the time of a jump.
        """
        # invalid conditions and sensitivities are refused before anything is integrated
        for event in wanted.events:
            with errors_about("until" if event == wanted.until else "events"):
                self.condition(event)
        directions = self.directions(wanted.sensitivities)
        run = run_at(None)
        if not run.alpha.size or not (directions or wanted.events):
            return run
        if wanted.events:
            events = self._located(run.alpha, directions, wanted.events)
            run = self._ended(run, wanted.until, events, run_at)
            run = replace(run, attributes={**run.attributes, "events": events.to_text()})
        if directions:
            varied = self.differentiated(wanted.sensitivities)
            times = map(float, varied.course.seen(run.alpha))
            pairs = zip(varied.run(run.alpha), times, strict=True)
            changes = [varied.derivatives(*pair) for pair in pairs]
            further = {
                f"{field}{BY}{name}": np.array([each[name][field] for each in changes])
                for name in dict.fromkeys(wanted.sensitivities)
                for field in changes[0][name]
            }
            run = replace(run, further={**run.further, **further})
        return run

    def _located(
        self, alpha: np.ndarray, directions: Mapping[str, Direction], events: Sequence[Event]
    ) -> LocatedEvents:
        needs = frozenset().union(*(each.needs for each in self.conditions(events)))
        varied = self.varied({}, directions, needs)
        seen = SeenRun.of(varied, denser(alpha, varied.course))
        return LocatedEvents(located(each, self.condition(each, seen), seen) for each in events)

    def _ended(
        self,
        run: Any,
        until: Event | None,
        events: LocatedEvents,
        run_at: Callable[[np.ndarray | None], Any],
    ) -> Any:
        """Return the run cut at the event ``until``, or with a warning if that does not happen."""
        if until is None:
            return run
        last = events[until.name]
        if math.isinf(last.time):
            said = f"{last.name} does not happen up to alpha = {run.alpha[-1]:g}"
            message = f"until: {said}; ask for a later end"
            return replace(run, warnings=(*run.warnings, message))
        return run_at(np.append(run.alpha[run.alpha < last.time], last.time))


def located(event: Event, condition: Condition | None, seen: SeenRun) -> dict[str, Any]:
    """Return the first time at which an event's condition holds, its error and derivatives.

    In a run by steps of order one, this is the first step at which it holds, without derivatives.

    Args:
        event: The event.
        condition: The condition of the event; None if it has none in this run.
        seen: The run.
    """
    record: dict[str, Any] = {
        "event": event.name,
        "condition": event.condition,
        "alpha": None,
        "error_bound": None,
        "error_method": "estimate",
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
    if alpha in varied.course.cuts and condition.gap(here, alpha) <= 0.0:
        # the condition holds from a jump on, whose time is fixed
        still = dict.fromkeys(varied.directions, 0.0)
        return record | {"alpha": alpha, "error_bound": 0.0, "derivatives": still}
    speed = condition.change(here, alpha, varied.rates(row, alpha), 1.0)
    changes = varied.derivatives(row, alpha).items() if varied.directions else ()
    slopes = {name: -condition.change(here, alpha, each, 0.0) / speed for name, each in changes}
    error = _time_error(condition, seen, row, alpha, speed)
    return record | {"alpha": alpha, "error_bound": error, "derivatives": slopes}


def _time_error(
    condition: Condition, seen: SeenRun, row: np.ndarray, alpha: float, speed: float
) -> float | None:
    """Return an estimate of the error of an event's time, from a worse run.

    That run has larger steps and a changed start, and its difference counts by as much as for the
    error of a run (:mod:`symderiv.integrate.flows.run_errors`). Two runs may cross at this time, so
    that the change of the gap by a part of the tolerance is added.

    Args:
        condition: The condition of the event.
        seen: The run.
        row, alpha: The state at the event, and its time.
        speed: The rate of the gap there.

    Returns:
        The estimate, or None if the worse run does not meet the condition nearby.
    """
    varied, last = seen.varied.without_directions(), int(np.searchsorted(seen.times, alpha))
    times, rows = seen.times[max(last - 2, 0) : last + 3], seen.rows[:, : varied.begin.size]
    run = FlatResult.of_rows(rows, float(seen.times[-1]))
    worse = replace(varied, flow=varied.flow.shaken(run, WORSE_START, 0))
    other = SeenRun.of(worse, times, TIMES).first(condition)
    if other is None or other[1] == times[0] != seen.times[0]:
        return None
    here, own = varied.observed(row, alpha), NOT_SHOWN * varied.tolerance
    changes = (varied.changes(row, each, alpha) for each in varied.around(row, _PROBES))
    moved = max(abs(condition.change(here, alpha, each, 0.0)) for each in changes)
    return EXPLICIT * abs(other[1] - alpha) + own * moved / abs(speed) + 1e-15 * alpha


def _root(
    condition: Condition, seen: SeenRun, row: np.ndarray, begin: float, length: float
) -> tuple[np.ndarray, float] | None:
    """Return state and time at which a gap vanishes, between two times of a run.

    The integration from the first time takes other steps than the run did, so that a condition that
    barely holds at the second time may hold only later: the interval is doubled a few times, and
    None is returned if that does not help.
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
        return condition.gap(varied.observed(state(after), alpha), alpha)

    for _ in range(_LONGER):
        if gap(length) > 0.0:
            break
        length *= 2.0
    else:
        return None
    after = float(brentq(gap, 0.0, length, xtol=1e-15 * (begin + length), rtol=1e-15))
    return state(after), begin + after
