"""Studies along whose runs derivatives by numbers and events are followed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np

from symderiv.api.arguments.starts import start_of
from symderiv.api.results.rate_function import flow_at, formulas_of
from symderiv.foundation.drawing import drawing
from symderiv.foundation.errors import InputError, NotYetError
from symderiv.integrate.events.asked import PLATEAU, Event
from symderiv.integrate.events.conditions import Condition, Readable
from symderiv.integrate.flows.event_times import Followed, SeenRun
from symderiv.integrate.flows.second_derivatives import TWICE, Bend, TwiceVariedFlow
from symderiv.integrate.flows.sensitivities import (
    Direction,
    VariedFlow,
    VariedRun,
    differences_by,
)
from symderiv.integrate.rules.solving import flow_of
from symderiv.problem.initial import check_equations
from symderiv.problem.key_names import STATED, by_key

if TYPE_CHECKING:
    from symderiv.api.results.rate_function import Start
    from symderiv.enclosures.traced_flow import TracedFlow
    from symderiv.integrate.flows.courses import Course
    from symderiv.integrate.flows.study_flow import Flow
    from symderiv.problem.study import Study

_FIRST_STEP, _SECOND_STEP = 2e-3, 1e-2
_CENTRAL_TWICE = {0: -49 / 18} | {
    sign * n: weight for n, weight in enumerate((3 / 2, -3 / 20, 1 / 90), 1) for sign in (1, -1)
}
_FORWARD_TWICE = dict(
    enumerate((469 / 90, -223 / 10, 879 / 20, -949 / 18, 41, -201 / 10, 1019 / 180, -7 / 10))
)
_ENTRY = re.compile(r"\b([QRv])\[\s*(\d+)\s*(?:,\s*(\d+)\s*)?\]")


@dataclass(frozen=True)
class FollowedStudy(Followed):
    """A study with its start, along whose runs derivatives and events are followed.

    Attributes:
        study: The study.
        initial: The initial state of runs, as it was given.
    """

    study: Study
    initial: Start | None

    @property
    def readable(self) -> Readable:
        return readable(self.study.K, self.study.M)

    def number(self, name: str) -> float:
        return number_of(self.study, name)

    @cached_property
    def flow(self) -> Flow:
        """The flow of the study with its own numbers."""
        return self._flow({})

    def _flow(self, numbers: Mapping[str, float]) -> Flow:
        study = with_numbers(self.study, numbers) if numbers else self.study
        start = start_of(study, self.initial)
        check_equations(start)
        return flow_of(study, start)(start.state)

    def course(self, numbers: Mapping[str, float]) -> Course:
        return self._flow(numbers).course

    def varied(
        self,
        numbers: Mapping[str, float],
        directions: Mapping[str, Direction],
        needs: Iterable[str] | None = None,
    ) -> VariedRun:
        return VariedFlow(self._flow(numbers) if numbers else self.flow, directions)

    def traced(self) -> TracedFlow:
        """Return the equations in exact numbers.

        Raises:
            InputError: The rates depend on more than the state.
            NotYetError: The equations cannot be enclosed.
        """
        from symderiv.enclosures.traced_flow import TracedFlow

        start = start_of(self.study, self.initial)
        flow = flow_at(self.study, start, changing="training.schedule")
        return TracedFlow.of(flow, formulas_of(self.study, flow))

    def direction(self, name: str, numbers: Mapping[str, float] | None = None) -> Direction:
        along = super().direction(name, numbers)
        if not (np.any(along.state) or np.any(along.parameters)):
            raise InputError(
                f"{name!r} does not change this run; leave it out", argument="sensitivities"
            )
        return along

    def directions(self, sensitivities: Iterable[str]) -> dict[str, Direction]:
        return super().directions(dict.fromkeys(name.removesuffix(TWICE) for name in sensitivities))

    def differentiated(self, sensitivities: Sequence[str]) -> VariedRun:
        directions = self.directions(sensitivities)
        twice = [name for name in directions if name + TWICE in sensitivities]
        if twice and not self.flow.course.plain:
            raise NotYetError(
                "second derivatives are not known for problems that change in time; leave them out",
                argument="sensitivities",
            )
        if not twice:
            return self.varied({}, directions)
        bends = {name: self._bend(name) for name in twice}
        return TwiceVariedFlow(self.flow, directions, bends)

    def _bend(self, name: str) -> Bend:
        """Return the second derivatives of start and constants by a number."""
        value = self.number(name)
        size, weights = abs(value) or 1.0, (_CENTRAL_TWICE, _FORWARD_TWICE)

        def course_of(number: float) -> Course:
            return self.course({name: number})

        parts = differences_by(course_of, value, name, _SECOND_STEP * size, weights, 2)
        return Bend(*parts, _FIRST_STEP * size)

    def condition(self, event: Event, seen: SeenRun | None = None) -> Condition | None:
        if event.condition:
            return super().condition(event, seen)
        if seen is None:
            return None
        errors = np.array([each["generalization_error"] for each in seen.observed])
        tolerance = self.study.time.relative_tolerance
        height = drawing("run_quantities").Features(seen.times, errors, tolerance).height
        if not np.isfinite(height):
            return None
        level = PLATEAU[event.name] * float(height)
        return Condition(f"generalization_error < {level!r}", self.readable)


def with_numbers(study: Study, numbers: Mapping[str, float]) -> Study:
    """Return the study with other values of some numbers, by names of a problem's arguments."""
    return study.changed(by_key(numbers))


def number_of(study: Study, name: str) -> float:
    """Return a number of a study, by the name of a problem's argument.

    Raises:
        InputError: the name is not that of a number.
    """
    for holder in (*(getattr(study, table) for table in STATED), study.data):
        value = getattr(holder, name, None)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return float(value)
    raise InputError(
        f"{name!r} is not a number of the problem; name one that was given, such as "
        "learning_rate, label_noise, weight_decay, student_std or exponent",
        argument="sensitivities",
    )


def entry_of(name: str, K: int, M: int) -> tuple[str, tuple[int, ...]]:
    """Return the array and the index of an observable: ``"Q[1,2]"`` is Q at (0, 1).

    Raises:
        InputError: there is no such order parameter.
    """
    if name == "generalization_error":
        return name, ()
    parts = _ENTRY.fullmatch(name)
    if parts is not None:
        place = tuple(int(each) - 1 for each in parts.groups()[1:] if each is not None)
        shape = {"Q": (K, K), "R": (K, M), "v": (K,)}[parts[1]]
        inside = (0 <= n < size for n, size in zip(place, shape, strict=False))
        if len(place) == len(shape) and all(inside):
            return parts[1], place
    raise InputError(
        f"{name!r} is not an order parameter; there are generalization_error and Q[i,j], R[i,n] "
        "and v[i], counted from 1",
        argument="curves",
    )


def readable(K: int, M: int) -> Readable:
    """Return the names that conditions on a study may contain."""
    example = "'generalization_error < 1e-3' or 'R[1,1] > 0.9*R[1,2]'"
    entry = partial(entry_of, K=K, M=M)
    measured = "generalization_error, Q[1,1]"
    return Readable(_ENTRY, entry, ("generalization_error",), example, measured)
