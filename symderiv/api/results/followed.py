"""Quantities that are followed along a run: derivatives by numbers of the problem, and events."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from symderiv.api.arguments.events import PLATEAU, Event
from symderiv.api.arguments.starts import start_of
from symderiv.api.results.rate_function import flow_at
from symderiv.foundation.drawing import drawing
from symderiv.foundation.errors import FormulaError, InputError
from symderiv.integrate.flows.located_events import LocatedEvents
from symderiv.integrate.flows.second_derivatives import Bend, TwiceVariedFlow
from symderiv.integrate.flows.sensitivities import Direction, Observed, VariedFlow
from symderiv.problem.key_names import STATED, by_key

if TYPE_CHECKING:
    import sympy as sp

    from symderiv.api.results.rate_function import Start
    from symderiv.integrate.flows.trajectory import Trajectory
    from symderiv.problem.study import Study

__all__ = [
    "TWICE",
    "Condition",
    "conditions_of",
    "direction",
    "entry_of",
    "followed",
    "number_of",
    "with_numbers",
]

_LONGER = 5
_FIELDS = Observed._fields
# differences of this size, relative: those of order six leave nothing but rounding
_STEP = 2e-3
_CENTRAL = {1: 45 / 60, -1: -45 / 60, 2: -9 / 60, -2: 9 / 60, 3: 1 / 60, -3: -1 / 60}
_FORWARD = dict(enumerate((-147 / 60, 360 / 60, -450 / 60, 400 / 60, -225 / 60, 72 / 60, -10 / 60)))
# second derivatives by numbers that end with this
TWICE = "_twice"
_SECOND_STEP = 1e-2
_CENTRAL_TWICE = {0: -49 / 18} | {
    sign * n: weight for n, weight in enumerate((3 / 2, -3 / 20, 1 / 90), 1) for sign in (1, -1)
}
_FORWARD_TWICE = dict(
    enumerate((469 / 90, -223 / 10, 879 / 20, -949 / 18, 41, -201 / 10, 1019 / 180, -7 / 10))
)
# how many times between two of a run are looked at for events, and at least of a whole run
_BETWEEN, _LOOKED_AT = 16, 200
_ENTRY = re.compile(r"\b([QRv])\[\s*(\d+)\s*(?:,\s*(\d+)\s*)?\]")
_CONDITION = re.compile(r"^([^<>=]+)(<|>)=?([^<>=]+)$")


def followed(
    run: Trajectory,
    study: Study,
    initial: Start | None,
    sensitivities: Sequence[str],
    events: Sequence[Event],
) -> Trajectory:
    """Return a run with its derivatives and the times of events; see
    :meth:`symderiv.Problem.solve`.
    """
    flow = flow_at(study, start_of(study, initial))
    numbers = dict.fromkeys(name.removesuffix(TWICE) for name in sensitivities)
    directions = {name: direction(study, initial, name) for name in numbers}
    bends = {name: _bend(study, initial, name) for name in numbers if name + TWICE in sensitivities}
    varied = VariedFlow(flow, directions)
    further, attributes = dict(run.further), dict(run.attributes)
    if directions:
        twice = TwiceVariedFlow(flow, directions, bends) if bends else None
        rows = (twice or varied).run(run.alpha)
        derivatives = [(twice or varied).derivatives(row) for row in rows]
        seconds = [twice.second_derivatives(row) for row in rows] if twice else []
        asked = dict.fromkeys(sensitivities)
        for name in asked:
            of = seconds if name.endswith(TWICE) else derivatives
            for field in _FIELDS:
                values = [getattr(each[name.removesuffix(TWICE)], field) for each in of]
                further[f"{field}_by_{name}"] = np.array(values)
    if events:
        seen = _Seen.of(varied, _denser(run.alpha))
        located = LocatedEvents(_located(each, seen) for each in events)
        attributes["events"] = located.to_text()
    return replace(run, further=further, attributes=attributes)


def direction(study: Study, initial: Start | None, name: str) -> Direction:
    """Return how the start and the constants of a study change with one of its numbers.

    Raises:
        InputError: it is not a number, or changes nothing.
    """
    value = number_of(study, name)
    step = _STEP * (abs(value) or 1.0)
    change = _difference(study, initial, name, step, (_CENTRAL, _FORWARD)) / step
    # what differences leave of numbers that stand still
    begin = _packed(study, initial, name, value)
    change[np.abs(change) < 1e-13 * np.abs(begin) / step] = 0.0
    if not np.any(change):
        raise InputError(f"{name!r} does not change this run", argument="sensitivities")
    size = flow_at(study, start_of(study, initial)).begin.size
    return Direction(change[:size], change[size:])


def _bend(study: Study, initial: Start | None, name: str) -> Bend:
    """Return the second derivatives of the start and the constants of a study by a number."""
    value = number_of(study, name)
    step = _SECOND_STEP * (abs(value) or 1.0)
    change = _difference(study, initial, name, step, (_CENTRAL_TWICE, _FORWARD_TWICE)) / step**2
    begin = _packed(study, initial, name, value)
    change[np.abs(change) < 1e-13 * np.abs(begin) / step**2] = 0.0
    size = flow_at(study, start_of(study, initial)).begin.size
    return Bend(change[:size], change[size:], _STEP * (abs(value) or 1.0))


def _packed(study: Study, initial: Start | None, name: str, number: float) -> np.ndarray:
    """Return the flat start and constants of a study with another number."""
    there = with_numbers(study, {name: number})
    flow = flow_at(there, start_of(there, initial))
    return np.concatenate([flow.begin, flow.parameters])


def _difference(
    study: Study,
    initial: Start | None,
    name: str,
    step: float,
    weights: tuple[Mapping[int, float], Mapping[int, float]],
) -> np.ndarray:
    """Return a difference of start and constants: central, or forward at an edge of a number."""
    value = number_of(study, name)

    def difference(each: Mapping[int, float]) -> np.ndarray:
        terms = [
            weight * _packed(study, initial, name, value + n * step) for n, weight in each.items()
        ]
        total: np.ndarray = np.sum(terms, axis=0)
        return total

    try:
        return difference(weights[0])
    except InputError:  # the number is at the edge of where it may be
        return difference(weights[1])


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


def _denser(alpha: np.ndarray) -> np.ndarray:
    """Return the times of a run with more of them in between, from 0 on."""
    ends = alpha if alpha[0] == 0.0 else np.concatenate([[0.0], alpha])
    count = max(_BETWEEN, -(-_LOOKED_AT // (ends.size - 1)))
    parts = np.linspace(0.0, 1.0, count, endpoint=False)
    inside: np.ndarray = (ends[:-1, None] + np.diff(ends)[:, None] * parts).ravel()
    return np.append(inside, ends[-1])


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
    return [Condition(each.condition, study.K, study.M) for each in events if each.condition]


class Condition:
    """A condition on order parameters, typed by a user: a gap that becomes positive."""

    def __init__(self, text: str, K: int, M: int) -> None:
        from symderiv.formula import parse_formula

        self.text = text
        parts = _CONDITION.match(text)
        if parts is None:
            raise InputError(
                f"{text!r} is not a condition such as 'generalization_error < 1e-3' or "
                "'R[1,1] > 0.9*R[1,2]'",
                argument="events",
            )
        left, sign, right = parts.groups()
        gap = f"({right}) - ({left})" if sign == "<" else f"({left}) - ({right})"
        self._places: dict[str, tuple[str, tuple[int, ...]]] = {}
        plain = _ENTRY.sub(lambda found: self._entry(found, K, M), gap)
        variables = (*self._places, "generalization_error", "alpha")
        try:
            self._gap = parse_formula(plain, variables)
        except FormulaError as error:
            raise InputError(f"{text!r}: {error}", argument="events") from None
        used = {str(each) for each in self._gap.free_symbols}
        self._names = [name for name in variables if name in used]

    def _entry(self, found: re.Match[str], K: int, M: int) -> str:
        try:
            name, place = entry_of(found[0], K, M)
        except InputError as error:
            raise error.renamed("events") from None
        label = "_".join([name, *(str(n + 1) for n in place)])
        self._places[label] = name, place
        return label

    def _numbers(self, observed: Observed, alpha: float) -> list[float]:
        numbers = []
        for name in self._names:
            if name == "alpha":
                numbers.append(alpha)
            elif name in self._places:
                field, place = self._places[name]
                numbers.append(float(getattr(observed, field)[place]))
            else:
                numbers.append(float(getattr(observed, name)))
        return numbers

    @property
    def needs_error(self) -> bool:
        """True if the condition contains the generalisation error."""
        return "generalization_error" in self._names

    def gap(self, observed: Observed, alpha: float) -> float:
        """Return a number that is positive where the condition holds."""
        return float(self._value(*self._numbers(observed, alpha))[0])

    @cached_property
    def _value(self) -> Callable[..., Any]:
        return self._function([self._gap])

    @cached_property
    def _slopes(self) -> Callable[..., Any]:
        return self._function([self._gap.diff(self._symbol(name)) for name in self._names])

    def named_gap(self) -> sp.Expr:
        """Return the gap as an expression in ``Q[1,1]`` and so on.

        Raises:
            InputError: It depends on alpha or on output weights.
        """
        import sympy as sp

        names = {
            label: f"{field}[{','.join(str(n + 1) for n in place)}]"
            for label, (field, place) in self._places.items()
        }
        by_symbol = {}
        for symbol in self._gap.free_symbols:
            name = names.get(str(symbol), str(symbol))
            if name == "alpha" or name.startswith("v["):
                raise InputError(f"{self.text!r}: {name} has no enclosure", argument="events")
            by_symbol[symbol] = sp.Symbol(name)
        return self._gap.xreplace(by_symbol)

    def change(self, observed: Observed, alpha: float, rates: Observed, time: float) -> float:
        """Return the change of the gap with rates of what it depends on."""
        slopes = self._slopes(*self._numbers(observed, alpha))
        return float(np.dot(slopes, self._numbers(rates, time)))

    def _symbol(self, name: str) -> sp.Symbol:
        return next(each for each in self._gap.free_symbols if str(each) == name)

    def _function(self, expressions: list[sp.Expr]) -> Callable[..., Any]:
        from symderiv.formula.as_function import as_function

        return as_function([self._symbol(name) for name in self._names], expressions, "floats")


@dataclass(frozen=True)
class _Seen:
    """A run at many times: rows of states with derivatives, and what is observed there."""

    varied: VariedFlow
    times: np.ndarray
    rows: np.ndarray
    observed: Sequence[Observed]
    looser: float = 1.0

    @classmethod
    def of(cls, varied: VariedFlow, times: np.ndarray, looser: float = 1.0) -> _Seen:
        rows = varied.run(times, looser=looser)
        return cls(varied, times, rows, [varied.observed(row) for row in rows], looser)

    def condition(self, event: Event) -> Condition | None:
        """Return the condition of an event; None for an end of a plateau that is not there."""
        text = event.condition
        if not text:
            errors = np.array([each.generalization_error for each in self.observed])
            tolerance = self.varied.flow.study.time.relative_tolerance
            height = drawing("run_quantities").Features(self.times, errors, tolerance).height
            if not np.isfinite(height):
                return None
            text = f"generalization_error < {PLATEAU[event.name] * float(height)!r}"
        state = self.varied.flow.state
        return Condition(text, state.K, state.M)

    def first(self, condition: Condition) -> tuple[np.ndarray, float] | None:
        """Return state and time at which a condition first holds; None if it never does."""
        pairs = zip(self.observed, self.times, strict=True)
        gaps = (condition.gap(each, float(time)) for each, time in pairs)
        n = next((n for n, gap in enumerate(gaps) if gap > 0.0), None)
        if n is None or n == 0:
            return None if n is None else (self.rows[0], float(self.times[0]))
        begin, end = (float(time) for time in self.times[n - 1 : n + 1])
        return _root(condition, self, self.rows[n - 1], begin, end - begin)


def _located(event: Event, seen: _Seen) -> dict[str, Any]:
    """Return the first time at which an event's condition holds, its error and derivatives."""
    record: dict[str, Any] = {
        "event": event.name,
        "condition": event.condition,
        "alpha": None,
        "error_bound": None,
        "derivatives": {},
    }
    condition = seen.condition(event)
    place = None if condition is None else seen.first(condition)
    if condition is None or place is None:
        return record
    record["condition"] = condition.text
    row, alpha = place
    if alpha == seen.times[0]:
        return record | {"alpha": alpha, "error_bound": 0.0}
    varied = seen.varied
    here = varied.observed(row)
    speed = condition.change(here, alpha, varied.rates(row), 1.0)
    changes = varied.derivatives(row).items() if varied.directions else ()
    slopes = {name: -condition.change(here, alpha, each, 0.0) / speed for name, each in changes}
    error = _time_error(condition, seen, alpha)
    return record | {"alpha": alpha, "error_bound": error, "derivatives": slopes}


def _time_error(condition: Condition, seen: _Seen, alpha: float) -> float | None:
    """Return how far a time is from that in a run with ten times the tolerance."""
    last = int(np.searchsorted(seen.times, alpha))
    times = seen.times[max(last - 2, 0) : last + 3]
    other = _Seen.of(VariedFlow(seen.varied.flow, {}), times, 10.0).first(condition)
    if other is None or other[1] == times[0] != seen.times[0]:
        return None
    return abs(other[1] - alpha) + 1e-15 * alpha


def _root(
    condition: Condition, seen: _Seen, row: np.ndarray, begin: float, length: float
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
        there: np.ndarray = varied.run(np.array([after]), row, looser=seen.looser)[0]
        return there

    def gap(after: float) -> float:
        return condition.gap(varied.observed(state(after)), begin + after)

    for _ in range(_LONGER):
        if gap(length) > 0.0:
            break
        length *= 2.0
    else:
        return None
    after = float(brentq(gap, 0.0, length, xtol=1e-15 * (begin + length), rtol=1e-15))
    return state(after), begin + after
