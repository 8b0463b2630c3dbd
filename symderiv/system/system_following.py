"""Derivatives of a run of a system with respect to its numbers, and times of events along it."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from symderiv_codegen import Assignment, Program

from symderiv.foundation.errors import InputError, NotYetError
from symderiv.foundation.progress import Tell
from symderiv.integrate.events.asked import Event
from symderiv.integrate.events.conditions import Condition, Readable
from symderiv.integrate.flows.courses import Course, Goal
from symderiv.integrate.flows.event_times import Followed, SeenRun
from symderiv.integrate.flows.sensitivities import Direction, VariedRun, as_argument
from symderiv.system.point_run import PointRun
from symderiv.system.system_runs import Solver
from symderiv.system.system_trajectory import SystemRun
from symderiv.system.varied_system import SystemPoint, VariedSystem


@dataclass(frozen=True)
class VariedSystemRun(VariedRun):
    """A run of a system with derivatives of its state along some directions.

    Attributes:
        observables: The names of the averages whose derivatives are evaluated.
    """

    flow: PointRun
    observables: tuple[str, ...]

    @property
    def point(self) -> SystemPoint:
        """The equations, and where the run begins."""
        return self.flow.point

    def functions(self, moving: tuple[str, ...] | None) -> tuple[Callable[..., None], ...]:
        solver = self.point.solver
        rhs = solver.right_hand_side
        return (rhs,) if moving is None else (rhs, solver.tangent(moving))

    def tangent_program(self, moving: tuple[str, ...]) -> Program:
        return self.point.solver.tangent_program(moving)

    def reverse(self, moving: tuple[str, ...]) -> Callable[..., None]:
        constants = self.course.constants.shapes.keys() & set(moving)
        for observable in self.observables:
            for name in _read(self.point.solver, observable) & constants:
                raise InputError(
                    f"changes {observable} itself, through {name}: values at different times could "
                    "not be compared; take another parameter or another average",
                    argument="control",
                )
        return self.point.solver.reversed(moving)

    def seen(
        self, rows: np.ndarray, alpha: np.ndarray, needs: Container[str] | None = None
    ) -> Iterator[dict[str, Any]]:
        solver, states = self.point.solver, rows[:, : self._size]
        names = [name for name in self.observables if needs is None or name in needs]
        shown = solver.layout.shown(self.point.given)
        values = solver.layout.unpacked(states, self.point.constants, shown)
        values |= solver.observed(states, self.course.held(alpha), alpha, names)
        for n in range(len(states)):
            yield {k: each[n] for k, each in values.items()}

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
            told = (as_argument(values[each]) for values in (here, rates) for each in inputs)
            changed[name] = float(function(*told))
        return changed


def steered(point: SystemPoint, observable: str) -> VariedSystemRun:
    """Return the flow of a system for optimal control, with one of its averages.

    Raises:
        NotYetError: Steps are of order one, or the equations depend on time.
    """
    if not point.solver.closed.autonomous:
        raise NotYetError(
            "steps over batches, and statements in which time occurs, have no controls yet",
            argument="control",
        )
    return VariedSystemRun(PointRun(point, Goal(np.zeros(1))), {}, (observable,))


def _read(solver: Solver, observable: str) -> set[str]:
    """Return the names of all numbers that an average depends on."""
    procedure = solver.closed.program.procedure(f"observe_{observable}")
    assert procedure is not None
    values = (step.value for step in procedure.body if isinstance(step, Assignment))
    return {symbol.name for value in values for symbol in value.free_symbols}


@dataclass(frozen=True)
class FollowedSystem(Followed):
    """A system with its start, along whose runs derivatives and events are followed.

    Attributes:
        of: The equations and the start.
        goal: The times and tolerances of runs.
    """

    of: VariedSystem
    goal: Goal

    def condition(self, event: Event, seen: SeenRun | None = None) -> Condition | None:
        if not event.condition:
            raise InputError(
                "systems have no events at the ends of plateaus; give a condition such as "
                f"{self.readable.example}",
                argument="events",
            )
        return super().condition(event, seen)

    def entry(self, text: str) -> tuple[str, tuple[int, ...]]:
        """Return the name of an observed quantity and its index: ``"w.B[1,2]"`` is w.B at (0, 1).

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
        names = self.of.solver.layout.shown(self.of.initial)
        observed = self._start.observed(self._start.begin)
        return {name: observed[name].shape for name in names}

    @cached_property
    def readable(self) -> Readable:
        """The names that conditions may contain."""
        names, shapes = list(self._shapes), self._shapes
        pattern = "|".join(sorted(map(re.escape, names), key=len, reverse=True))
        entries = re.compile(rf"(?<![\w.])(?:{pattern})(?:\[[^\]]*\])?(?![\w.\[])")
        place = f"[{','.join('1' for _ in shapes[names[0]])}]" if shapes[names[0]] else ""
        return Readable(entries, self.entry, self._averages, f"'{names[0]}{place} < 0.5'")

    @cached_property
    def _averages(self) -> tuple[str, ...]:
        return tuple(self.of.solver.closed.observables)

    @cached_property
    def _start(self) -> VariedRun:
        return self.varied({}, {}, ())

    def run_at(self, numbers: Mapping[str, float], times: np.ndarray | None = None) -> PointRun:
        """Return a run with other numbers, and at other times if these are given."""
        point = self.of.point({self._number(name)[0]: each for name, each in numbers.items()})
        return PointRun(point, self.goal if times is None else self.goal._replace(alpha=times))

    def integrated(self, times: np.ndarray | None, max_steps: int, update: Tell) -> SystemRun:
        """Return the run at given times, or with None at those of the goal."""
        last = float(self.goal.alpha[-1]) or 1.0
        return self.run_at({}, times).solved(
            max_steps, lambda reached, steps: update("solving", reached / last)
        )

    def course(self, numbers: Mapping[str, float]) -> Course:
        return self.run_at(numbers).course

    def varied(
        self,
        numbers: Mapping[str, float],
        directions: Mapping[str, Direction],
        needs: Iterable[str] | None = None,
    ) -> VariedRun:
        asked = self._averages if needs is None else frozenset(needs)
        names = tuple(name for name in self._averages if name in asked)
        return VariedSystemRun(self.run_at(numbers), directions, names)

    def number(self, name: str) -> float:
        return self._number(name)[1]

    def _number(self, name: str) -> tuple[str, float]:
        """Return the key of a number, and its value."""
        try:
            key = self.of.key_of(name)
        except InputError as error:
            raise InputError(f"{name!r} {error.reason}", argument="sensitivities") from None
        table, _, rest = key.partition(".")
        if table == "parameters":
            return key, self.of.point({}).solver.layout.parameter_values(self.of.parameters)[rest]
        if table == "initial":
            value: Any = self.of.initial.get(rest)
        else:
            inputs, _, argument = rest.partition(".")
            models = {each.name: each.model for each in self.of.solver.layout.statement.inputs}
            value = getattr(models[inputs], argument)
        if np.ndim(value) or not isinstance(value, int | float | np.floating):
            raise InputError(f"{name!r} is not one number", argument="sensitivities")
        return key, float(value)
