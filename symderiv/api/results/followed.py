"""Quantities that are followed along a run: derivatives by numbers of the problem, and events."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from symderiv.api.arguments.starts import start_of
from symderiv.foundation.drawing import drawing
from symderiv.foundation.errors import InputError, NotYetError
from symderiv.integrate.events.asked import PLATEAU, Event
from symderiv.integrate.events.conditions import Condition, Readable
from symderiv.integrate.events.located_events import LocatedEvents
from symderiv.integrate.flows.event_times import SeenRun, denser, located
from symderiv.integrate.flows.second_derivatives import Bend, TwiceVariedFlow
from symderiv.integrate.flows.sensitivities import (
    Direction,
    Observed,
    VariedFlow,
    difference_of,
    direction_by,
    packed_by,
)
from symderiv.integrate.rules.solving import flow_of
from symderiv.problem.initial import check_equations
from symderiv.problem.key_names import STATED, by_key

if TYPE_CHECKING:
    from symderiv.api.results.rate_function import Start
    from symderiv.integrate.flows.courses import Course
    from symderiv.integrate.flows.study_flow import Flow
    from symderiv.integrate.flows.trajectory import Trajectory
    from symderiv.problem.study import Study

_FIELDS = Observed._fields
# second derivatives by numbers that end with this
TWICE = "_twice"
_FIRST_STEP, _SECOND_STEP = 2e-3, 1e-2
_CENTRAL_TWICE = {0: -49 / 18} | {
    sign * n: weight for n, weight in enumerate((3 / 2, -3 / 20, 1 / 90), 1) for sign in (1, -1)
}
_FORWARD_TWICE = dict(
    enumerate((469 / 90, -223 / 10, 879 / 20, -949 / 18, 41, -201 / 10, 1019 / 180, -7 / 10))
)
_ENTRY = re.compile(r"\b([QRv])\[\s*(\d+)\s*(?:,\s*(\d+)\s*)?\]")


def followed(
    run: Trajectory,
    study: Study,
    initial: Start | None,
    sensitivities: Sequence[str],
    events: Sequence[Event],
) -> Trajectory:
    """Return a run with derivatives and times of events; see :meth:`symderiv.Problem.solve`."""
    flow = flow_followed(study, initial)
    numbers = dict.fromkeys(name.removesuffix(TWICE) for name in sensitivities)
    directions = {name: direction(study, initial, name) for name in numbers}
    if numbers.keys() != set(sensitivities) and not flow.course.plain:
        raise NotYetError(
            "second derivatives are not known of what changes in time; leave them out",
            argument="sensitivities",
        )
    bends = {name: _bend(study, initial, name) for name in numbers if name + TWICE in sensitivities}
    varied = VariedFlow(flow, directions)
    further, attributes = dict(run.further), dict(run.attributes)
    if directions:
        twice = TwiceVariedFlow(flow, directions, bends) if bends else None
        rows = (twice or varied).run(run.alpha)
        pairs = zip(rows, flow.course.seen(run.alpha), strict=True)
        derivatives = [(twice or varied).derivatives(row, float(time)) for row, time in pairs]
        seconds = [twice.second_derivatives(row) for row in rows] if twice else []
        asked = dict.fromkeys(sensitivities)
        for name in asked:
            of = seconds if name.endswith(TWICE) else derivatives
            for field in _FIELDS:
                values = [getattr(each[name.removesuffix(TWICE)], field) for each in of]
                further[f"{field}_by_{name}"] = np.array(values)
    if events:
        seen = SeenRun.of(varied, denser(run.alpha, flow.course))
        located_events = (located(each, _condition(each, seen, study), seen) for each in events)
        attributes["events"] = LocatedEvents(located_events).to_text()
    return replace(run, further=further, attributes=attributes)


def direction(study: Study, initial: Start | None, name: str) -> Direction:
    """Return how the start and the constants of a study change with one of its numbers.

    Raises:
        InputError: it is not a number, or changes nothing.
    """
    along = direction_by(partial(_course, study, initial, name), number_of(study, name), name)
    if not (np.any(along.state) or np.any(along.parameters)):
        raise InputError(f"{name!r} does not change this run", argument="sensitivities")
    return along


def _bend(study: Study, initial: Start | None, name: str) -> Bend:
    """Return the second derivatives of the start and the constants of a study by a number."""
    value = number_of(study, name)
    packed = packed_by(partial(_course, study, initial, name), value, name)
    step = _SECOND_STEP * (abs(value) or 1.0)
    change = difference_of(packed, value, step, (_CENTRAL_TWICE, _FORWARD_TWICE)) / step**2
    begin = packed(value)
    change[np.abs(change) < 1e-13 * np.abs(np.concatenate(begin)) / step**2] = 0.0
    state, parameters = np.split(change, [begin[0].size])
    return Bend(state, parameters, _FIRST_STEP * (abs(value) or 1.0))


def _course(study: Study, initial: Start | None, name: str, number: float) -> Course:
    """Return the course of a study with another number."""
    return flow_followed(with_numbers(study, {name: number}), initial).course


def flow_followed(study: Study, initial: Start | None) -> Flow:
    start = start_of(study, initial)
    check_equations(start)
    return flow_of(study, start)(start.state)


def with_numbers(study: Study, numbers: Mapping[str, float]) -> Study:
    """Return the study with other numbers, by the names of the arguments of a problem."""
    return study.changed(by_key(numbers))


def number_of(study: Study, name: str) -> float:
    """Return a number that a study states, by the name of the argument of a problem.

    Raises:
        InputError: it is none.
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
    """Return what is observed, and the place in it: ``"Q[1,2]"`` is Q at (0, 1).

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


def conditions_of(events: Iterable[Event], study: Study) -> list[Condition]:
    """Return the conditions of those events that have one before a run is known.

    Raises:
        InputError: a condition cannot be read, or names an order parameter that does not exist.
    """
    names = readable(study.K, study.M)
    return [Condition(each.condition, names) for each in events if each.condition]


def readable(K: int, M: int) -> Readable:
    """Return the names that conditions on a study may contain."""
    example = "'generalization_error < 1e-3' or 'R[1,1] > 0.9*R[1,2]'"
    entry = partial(entry_of, K=K, M=M)
    return Readable(_ENTRY, entry, ("generalization_error",), example)


def _condition(event: Event, seen: SeenRun, study: Study) -> Condition | None:
    """Return the condition of an event; None for an end of a plateau that is not there."""
    text = event.condition
    if not text:
        errors = np.array([each.generalization_error for each in seen.observed])
        tolerance = study.time.relative_tolerance
        height = drawing("run_quantities").Features(seen.times, errors, tolerance).height
        if not np.isfinite(height):
            return None
        text = f"generalization_error < {PLATEAU[event.name] * float(height)!r}"
    return Condition(text, readable(study.K, study.M))
