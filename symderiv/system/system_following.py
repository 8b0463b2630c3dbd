"""Derivatives of a run of a system by its numbers, and the times of events along it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from symderiv.foundation.errors import InputError, warn_caller
from symderiv.integrate.events.asked import Event, asked_events
from symderiv.integrate.events.conditions import Condition, Readable
from symderiv.integrate.events.located_events import LocatedEvents
from symderiv.integrate.flows.courses import Course, Goal
from symderiv.integrate.flows.event_times import SeenRun, denser, located
from symderiv.integrate.flows.flat_run import Progress
from symderiv.integrate.flows.sensitivities import Direction, VariedRun, direction_by
from symderiv.storage.run_files import BY
from symderiv.system.point_run import PointRun
from symderiv.system.system_trajectory import SystemRun
from symderiv.system.varied_system import SystemPoint, VariedSystem


@dataclass(frozen=True)
class VariedSystemRun(VariedRun[dict[str, Any]]):
    """A run of a system, and what its state changes by along some directions.

    Attributes:
        flow: The run.
        directions: The directions by their names.
        observables: The names of the averages that are evaluated.
    """

    flow: PointRun
    directions: Mapping[str, Direction]
    observables: tuple[str, ...]

    @property
    def point(self) -> SystemPoint:
        """The equations, and where the run begins."""
        return self.flow.point

    def functions(self, moving: tuple[str, ...] | None) -> tuple[Callable[..., None], ...]:
        solver = self.point.solver
        rhs = solver.right_hand_side
        return (rhs,) if moving is None else (rhs, solver.tangent(moving))

    def named(self, observed: dict[str, Any]) -> Mapping[str, Any]:
        return observed

    def alone(self) -> VariedSystemRun:
        return replace(self, directions={})

    def observed(self, row: np.ndarray, alpha: float = 0.0) -> dict[str, Any]:
        """Return order parameters and averages at a state, by name."""
        solver, state, time = self.point.solver, row[: self._size], np.array([alpha])
        held = self.course.held(time)[0]
        averages = solver.observed(state[None], held, time, self.observables)
        values = solver.layout.unpacked(state, held, solver.layout.shown(self.point.given))
        return values | {name: float(each[0]) for name, each in averages.items()}

    def changes(
        self, row: np.ndarray, along: Direction, alpha: float = 0.0, time: float = 0.0
    ) -> dict[str, Any]:
        """Return the rates of order parameters and averages along a direction, by name."""
        solver, course = self.point.solver, self.course
        own = course.held(np.array([alpha]))[0]
        turned = self._by_law(along)[course.number_at(alpha)]
        shown = solver.layout.shown(self.point.given)
        changed: dict[str, Any] = solver.layout.unpacked(along.state, turned, shown)
        here, rates = (
            {**course.state.views(s), **course.constants.views(p), "alpha": a}
            for s, p, a in ((row[: self._size], own, alpha), (along.state, turned, time))
        )
        for name in self.observables:
            function, inputs = solver.observable_tangent(name)
            told = (_told(values[each]) for values in (here, rates) for each in inputs)
            changed[name] = float(function(*told))
        return changed


def _told(value: Any) -> Any:
    return np.ascontiguousarray(value) if np.ndim(value) else float(value)


@dataclass(frozen=True)
class FollowedSystem:
    """The requests for a run of a system beside its order parameters.

    Attributes:
        varied: Its equations and its start.
        goal: What is asked of the run.
        sensitivities: Names of numbers by which it is differentiated.
        events: All events, the one at which it ends among them.
        until: The event at which it ends.
    """

    varied: VariedSystem
    goal: Goal
    sensitivities: tuple[str, ...]
    events: tuple[Event, ...]
    until: Event | None

    @classmethod
    def of(
        cls,
        varied: VariedSystem,
        goal: Goal,
        sensitivities: Sequence[str],
        events: Sequence[str | Event] | str | Event,
        until: str | Event | None,
    ) -> FollowedSystem:
        """Return what arguments ask for.

        Raises:
            InputError: A name is no number of the system, or a condition cannot be read.
            NotYetError: A number changes when something jumps.
        """
        every, last = asked_events(events, until)
        asked = cls(varied, goal, tuple(sensitivities), every, last)
        if asked.sensitivities or asked.events:
            asked._check()
        return asked

    def _check(self) -> None:
        """Refuse what cannot be followed, before anything is integrated."""
        if any(not each.condition for each in self.events):
            raise InputError(
                "ends of plateaus are not known of systems; give a condition such as "
                f"{self._readable.example}",
                argument="events",
            )
        for each in self.events:
            self._condition(each)
        for name in self.sensitivities:
            self._direction(name)

    @property
    def conditions(self) -> list[Condition]:
        """The conditions of the events."""
        return [self._condition(each) for each in self.events]

    def _condition(self, event: Event) -> Condition:
        return Condition(event.condition, self._readable)

    def entry(self, text: str) -> tuple[str, tuple[int, ...]]:
        """Return what is observed, and the place in it: ``"w.B[1,2]"`` is w.B at (0, 1).

        Raises:
            InputError: There is no such order parameter or average.
        """
        name, _, index = text.partition("[")
        if name in self._averages and not index:
            return name, ()
        there = self._shapes
        if name not in there:
            raise InputError(
                f"{text!r} is no order parameter or observable; there are "
                + ", ".join([*self._averages, *there]),
                argument="curves",
            )
        place = tuple(int(each) - 1 for each in re.findall(r"-?\d+", index))
        inside = all(0 <= n < size for n, size in zip(place, there[name], strict=False))
        if len(place) == len(there[name]) and inside:
            return name, place
        raise InputError(
            f"{text!r} has no place in {name} of shape {there[name]}; places count from 1",
            argument="curves",
        )

    @cached_property
    def _shapes(self) -> dict[str, tuple[int, ...]]:
        """The shapes of the order parameters, by name."""
        names = self.varied.solver.layout.shown(self.varied.initial)
        observed = self._start.observed(self._start.begin)
        return {name: observed[name].shape for name in names}

    @cached_property
    def _readable(self) -> Readable:
        """The names that conditions may contain."""
        names, shapes = list(self._shapes), self._shapes
        pattern = "|".join(sorted(map(re.escape, names), key=len, reverse=True))
        entries = re.compile(rf"(?<![\w.])(?:{pattern})(?:\[[^\]]*\])?(?![\w.\[])")
        place = f"[{','.join('1' for _ in shapes[names[0]])}]" if shapes[names[0]] else ""
        return Readable(entries, self.entry, self._averages, f"'{names[0]}{place} < 0.5'")

    @cached_property
    def _averages(self) -> tuple[str, ...]:
        return tuple(self.varied.solver.closed.observables)

    @cached_property
    def _start(self) -> VariedSystemRun:
        return self._run({}, ())

    def _run(self, directions: Mapping[str, Direction], needed: Any) -> VariedSystemRun:
        return self._run_at({}, directions, needed)

    def _run_at(
        self, values: Mapping[str, float], directions: Mapping[str, Direction], needed: Any
    ) -> VariedSystemRun:
        names = tuple(name for name in self._averages if name in needed)
        return VariedSystemRun(PointRun(self.varied.point(values), self.goal), directions, names)

    def number(self, name: str) -> float:
        """Return the value of a number by which runs are differentiated.

        Raises:
            InputError: It is none.
        """
        return self._number(name)[1]

    def along(self, numbers: Mapping[str, float]) -> VariedSystemRun:
        """Return the run with other numbers, and its derivatives by them."""
        keys = {self._number(name)[0]: value for name, value in numbers.items()}
        directions = {
            name: self._direction_at(keys, name, key, value)
            for (name, value), key in zip(numbers.items(), keys, strict=True)
        }
        return self._run_at(keys, directions, self._averages)

    def _number(self, name: str) -> tuple[str, float]:
        """Return the key of a number, and its value."""
        try:
            key = self.varied.key_of(name)
        except InputError as error:
            raise InputError(f"{name!r} {error.reason}", argument="sensitivities") from None
        table, _, rest = key.partition(".")
        if table == "parameters":
            return key, self.varied.point({}).solver.layout.parameter_values(
                self.varied.parameters
            )[rest]
        if table == "initial":
            value: Any = self.varied.initial.get(rest)
        else:
            inputs, _, argument = rest.partition(".")
            models = {each.name: each.model for each in self.varied.solver.layout.statement.inputs}
            value = getattr(models[inputs], argument)
        if np.ndim(value) or not isinstance(value, int | float | np.floating):
            raise InputError(f"{name!r} is not one number", argument="sensitivities")
        return key, float(value)

    def _direction(self, name: str) -> Direction:
        return self._direction_at({}, name, *self._number(name))

    def _direction_at(
        self, values: Mapping[str, float], name: str, key: str, value: float
    ) -> Direction:
        """Return how start and constants change with a number, where others have these values."""

        def course_of(number: float) -> Course:
            point = self.varied.point({**values, key: number})
            return point.solver.course(point)

        return direction_by(course_of, value, name)

    def solved(self, max_steps: int, progress: Progress) -> SystemRun:
        """Integrate, and return the run with what was asked for.

        Args:
            max_steps: Steps after which a run is given up.
            progress: Called with the time and the number of steps.
        """

        def at(times: np.ndarray) -> SystemRun:
            goal = self.goal._replace(alpha=times)
            return PointRun(self.varied.point({}), goal).solved(max_steps, progress)

        run = at(self.goal.alpha)
        if not run.alpha.size or not (self.sensitivities or self.events):
            return run
        directions = {name: self._direction(name) for name in self.sensitivities}
        if self.events:
            conditions = self.conditions
            needed = frozenset().union(*(each.needs for each in conditions))
            varied = self._run(directions, needed)
            seen = SeenRun.of(varied, denser(run.alpha, varied.course))
            pairs = zip(self.events, conditions, strict=True)
            events = LocatedEvents(located(event, each, seen) for event, each in pairs)
            run = self._ended(run, events, at)
            run = replace(run, attributes={"events": events.to_text()})
        if directions:
            varied = self._run(directions, self._averages)
            rows = zip(varied.run(run.alpha), run.alpha, strict=True)
            changes = [varied.derivatives(row, float(alpha)) for row, alpha in rows]
            further = {
                f"{field}{BY}{name}": np.array([each[name][field] for each in changes])
                for name in directions
                for field in run.values
            }
            run = replace(run, further=further)
        return run

    def _ended(
        self, run: SystemRun, found: LocatedEvents, shorter: Callable[[np.ndarray], SystemRun]
    ) -> SystemRun:
        """Return the run up to the event at which it ends."""
        if self.until is None:
            return run
        last = found[self.until.name]
        if math.isinf(last.time):
            warn_caller(
                f"until: {last.name} does not happen up to alpha = {run.alpha[-1]:g}; "
                "ask for a later end"
            )
            return run
        return shorter(np.append(run.alpha[run.alpha < last.time], last.time))
