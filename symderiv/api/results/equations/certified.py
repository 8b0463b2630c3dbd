"""Proved enclosures of runs: balls for every order parameter at every time, and for events."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from symderiv.api.arguments.starts import start_of
from symderiv.api.results.answer import Answer, Rows
from symderiv.api.results.equations.departures import ball_arrays, departure_of, shown, told
from symderiv.api.results.rate_function import flow_at, formulas_of
from symderiv.foundation.documents.document import Node, Tabular
from symderiv.foundation.errors import InputError, NotYetError
from symderiv.foundation.outputs import Output
from symderiv.integrate.events.located_events import LocatedEvent, LocatedEvents
from symderiv.integrate.flows.trajectory import PROVED, Trajectory, error_missed

if TYPE_CHECKING:
    from flint import arb

    from symderiv.enclosures.attraction import Attraction
    from symderiv.enclosures.crossings import Crossing
    from symderiv.enclosures.proof_record import Claims
    from symderiv.enclosures.proved_run import EnclosedRun, Progress
    from symderiv.enclosures.proved_step import StateSet
    from symderiv.enclosures.traced_flow import TracedRates
    from symderiv.integrate.events.conditions import Readable
    from symderiv.problem.study import Study
    from symderiv.system.system_following import FollowedSystem
    from symderiv.system.system_trajectory import SystemRun
    from symderiv.system.traced_system import TracedSystem

_LEAST_RADIUS, _MOST_RADIUS = 1e-200, 1e-3
# The largest number of order parameters, which is limited by the derivatives of a step.
_MOST_ORDER_PARAMETERS = 60
# Number of times at which the growth of errors is computed in doubles.
_LOOKED_AT = 200
_MOST_BITS_SHOWN = 120
# A run that ends at an event is proved a little further, by at most this factor.
_BEYOND, _FURTHER = 1e-9, 1.01


class Enclosure(Answer):
    """Balls that contain the exact solution of the exact problem, by proof.

    The exact problem has the shortest decimals of the numbers in the study or system and of the
    order parameters of the start, and output weights that are not trained by their formulas.
    Times are doubles, also those at which rates jump.

    Attributes:
        alpha: times, shape (P,).
        names: the names of the order parameters: ``Q[1,1]``, …, ``R[1,1]``, …,
            ``generalization_error``; of a system those that move, ``w.B[1,1]``, …, and observables.
        middles: decimals of the middles of the balls by name, each a list of P texts.
        radii: their radii by name, each a list of P numbers.
        events: for each condition ``event``, ``verdict`` ("proved", "never",
            "undecided"), ``begin`` and ``end``, decimals between which the first time lies at
            which it holds, and ``reason``, why it is undecided.
        radius: the largest radius of an overlap.
        difference: the largest distance of a value of the run in doubles from the middle of its
            ball, with the radius: a proved bound on the error of that run at these times.
        relative_difference: the same for Q, R and v, relative to max Q, sqrt(max Q max T) and max v
            at each time; this is the ``tolerance_reached`` of the run. Of a system the same for
            overlaps and scalars, relative to the lengths of vectors and to the largest scalar; this
            is the ``error`` of the run.
        limit: the state that the exact solution tends to, if it is proved that it tends to one:
            ``middles`` and ``radii`` by name, ``rate``, at least at which distances shrink per unit
            of α. None if that is not proved, as on a plateau, or before learning rates change.
        departure: where the events ``"plateau-begin"`` and ``"plateau-end"`` were asked for and
            are proved: ``entered`` and ``left``, each two decimals between which the time lies,
            ``length``, a ball, and ``passes``, the fixed point near the slowest state between
            them: ``middles`` and ``radii`` by name, ``index``, its proved number of unstable
            directions, ``eigenvalues`` (doubles) with proved ``eigenvalue_errors``, both pairs of
            real and imaginary part, the time ``alpha`` and ``distance``, a bound on the distance of
            every coordinate of the run from it at that time. ``passes`` is None if no such point is
            proved.
        steps, bits: how many steps were proved, and with how many bits.
    """

    _title = "Enclosure of a run"

    def __init__(self, record: dict[str, Any], proof: dict[str, Any]) -> None:
        super().__init__(record)
        self._proof = proof

    def lower(self, name: str) -> np.ndarray:
        """Return doubles below the exact values, shape (P,).

        Args:
            name: one of :attr:`names`.

        Raises:
            InputError: there is no such order parameter.
        """
        return self._bound(name, -1)

    def upper(self, name: str) -> np.ndarray:
        """Return doubles above the exact values, shape (P,).

        Args:
            name: one of :attr:`names`.

        Raises:
            InputError: there is no such order parameter.
        """
        return self._bound(name, 1)

    def _bound(self, name: str, side: int) -> np.ndarray:
        from flint import arb

        if name not in self._record["middles"]:
            raise InputError(
                f"{name!r} is not enclosed; there are {', '.join(self._record['names'])}",
                argument="name",
            )
        pairs = zip(self._record["middles"][name], self._record["radii"][name], strict=True)
        ends = [arb(middle) + side * arb(radius) for middle, radius in pairs]
        return np.array([np.nextafter(float(end), side * np.inf) for end in ends])

    @property
    def balls(self) -> dict[str, np.ndarray]:
        """Balls in arrays over time: ``balls["R"]`` (P, K, M), ``["Q"]`` (P, K, K), ``["v"]``
        (P, K) where it is trained and ``["generalization_error"]`` (P,), each a
        :class:`symderiv.api.results.equations.departures.Ball`.
        """
        record = self._record
        return ball_arrays(record["names"], record["middles"], record["radii"])

    def certificate(self) -> dict[str, Any]:
        """Return the proof as a JSON object of rational numbers.

        ``python -m symderiv.enclosures.check_enclosures FILE`` checks it with balls alone;
        ``check_departure`` in its place checks what the run passes and tends to.
        """
        return self._proof

    def save(self, path: str | PathLike[str] | Output, *, force: bool = False) -> Enclosure:
        """Write the proof, see :meth:`certificate`, as JSON.

        Raises:
            InputError: the file exists and ``force`` is not given, or cannot be written.
        """
        target = path if isinstance(path, Output) else Output(path, "json", force=force)
        target.write_text(json.dumps(self._proof))
        return self

    def _tables(self) -> Sequence[Node]:
        record = self._record
        rows = [
            [name, record["middles"][name][-1], f"{record['radii'][name][-1]:.1e}"]
            for name in record["names"]
        ]
        end = f"at alpha = {record['alpha'][-1]:g}"
        nodes: list[Node] = [Tabular((end, "middle", "radius"), rows)]
        if record["events"]:
            lines = [
                [each["event"], _decided(each), each["begin"] or "", each["end"] or ""]
                for each in record["events"]
            ]
            nodes.append(Tabular(("event", "", "not before", "not after"), lines))
        return nodes

    def _rows(self) -> Rows:
        record = self._record
        return [
            ("largest radius", f"{record['radius']:.1e}"),
            ("error of the run in doubles", f"at most {record['difference']:.1e}"),
            *(told(record["departure"]) if record["departure"] else ()),
            ("tends to", _tends(record["limit"])),
            ("steps", f"{record['steps']}, proved with {record['bits']} bits"),
        ]


def _decided(event: dict[str, Any]) -> str:
    return f"{event['verdict']}: {event['reason']}" if event["reason"] else str(event["verdict"])


def _tends(limit: dict[str, Any] | None) -> str:
    if limit is None:
        return "not proved"
    name, middle = list(limit["middles"].items())[-1]
    return f"a fixed point with {name} {float(middle):.6g}, proved"


def radius_of(radius: float | None, digits: int | None) -> float:
    """Return the largest radius that balls may have.

    Raises:
        InputError: Radius and digits are both given, or the radius is not between 1e-200 and 1e-3.
    """
    if digits is None:
        size, argument = 1e-12 if radius is None else radius, "radius"
    elif radius is not None:
        raise InputError("is given together with radius; remove one", argument="digits")
    else:
        size, argument = 10.0**-digits, "digits"
    if not _LEAST_RADIUS <= size <= _MOST_RADIUS:
        given = size if digits is None else f"{digits}, a radius of {size:g},"
        raise InputError(
            f"{given} is not between {_LEAST_RADIUS} and {_MOST_RADIUS}", argument=argument
        )
    return size


def traced_system(followed: FollowedSystem) -> TracedSystem:
    """Return the equations of a system in exact numbers.

    Raises:
        NotYetError: The equations cannot be enclosed.
    """
    from symderiv.system.traced_system import TracedSystem

    return TracedSystem.of(followed.run_at({}))


def provable(traced: TracedRates) -> TracedRates:
    """Return equations in exact numbers; refuse those that have no proof.

    Raises:
        InputError: No order parameter moves.
        NotYetError: There are too many order parameters.
    """
    if not traced.moving:
        raise InputError("has nothing to prove: no order parameter moves", argument="certify")
    if len(traced.names) > _MOST_ORDER_PARAMETERS:
        raise NotYetError(
            f"takes at most {_MOST_ORDER_PARAMETERS} order parameters, not {len(traced.names)}; "
            "take fewer eigenvalues",
            argument="certify",
        )
    return traced


def enclosed_run(
    run: Any, traced: TracedRates, readable: Readable, radius: float, progress: Progress | None
) -> Any:
    """Return a run of a study or of a system with its proved enclosure at its times.

    See :func:`_enclosure`.
    """
    enclosure = _enclosure(run, traced, readable, radius, progress)
    pairs = zip(run.events, enclosure.events, strict=True)
    events = LocatedEvents(_proved(*each) for each in pairs)
    attributes = {**run.attributes, **({"events": events.to_text()} if events else {})}
    found: dict[str, Any] = {"enclosure": enclosure, "attributes": attributes}
    bound = enclosure.relative_difference
    if not isinstance(run, Trajectory):
        return replace(run, **found, error=bound, error_method=PROVED)
    asked = run.relative_tolerance
    # what was estimated before is known now
    warnings = tuple(each for each in run.warnings if each != run.failure())
    if bound > asked:
        missed = error_missed(asked, bound, PROVED)
        radii = f"the balls have radii up to {enclosure.radius:.1e}"
        warnings += (f"{missed}; {radii}: ask for a smaller radius if the error is of that size",)
    return replace(
        run,
        **found,
        tolerance_reached=bound,
        tolerance_method=PROVED,
        tolerance_kept=bound <= asked,
        warnings=warnings,
    )


def _enclosure(
    run: Trajectory | SystemRun,
    traced: TracedRates,
    readable: Readable,
    radius: float,
    progress: Progress | None,
) -> Enclosure:
    """Return the proved enclosure of a run at its times, and of its events.

    Args:
        run: The run in doubles.
        traced: The equations in exact numbers.
        readable: The names that conditions of events may contain.
        radius: The largest radius of the balls.
        progress: Called with the time reached.

    Raises:
        NotYetError: A condition contains a function that cannot be enclosed.
        ToleranceError: The radius was not reached.
    """
    from symderiv.enclosures.proof_record import record_of
    from symderiv.enclosures.proved_run import enclosed
    from symderiv.integrate.events.conditions import Condition

    # there is no condition for an end of a plateau that the run in doubles does not show
    gaps = [
        (each, traced.gap(Condition(each.condition, readable)) if each.condition else None)
        for each in run.events
    ]
    times = [float(time) for time in run.alpha]
    if not times or times[-1] <= 0.0:
        raise InputError(f"has no time after 0 to be proved: {run.message}", argument="alpha")
    beyond = [each.time + max(_BEYOND * each.time, 10 * each.error_bound) for each in run.events]
    beyond = [time for time in beyond if times[-1] < time < times[-1] * _FURTHER]
    proved = enclosed(
        traced.stages,
        traced.start,
        times + beyond[:1],
        radius,
        _growth(traced, times[-1]),
        progress,
    )
    record, claims = _record(run, traced, proved, gaps)
    return Enclosure(record, record_of(proved, traced.start, traced.names, claims))


def coq_source(study: Study) -> str:
    """Return a Coq file that bounds the rates, Q, R and the error at the start of a study.

    Raises:
        NotYetError: A mean has no closed form, or one that coq-interval does not bound.
    """
    from symderiv.enclosures.coq_text import coq_text
    from symderiv.enclosures.traced_flow import TracedFlow

    flow = flow_at(study, start_of(study, None))
    try:
        traced = TracedFlow.of(flow, formulas_of(study, flow))
        (observed, names), equations = traced.observables, traced.rates
    except NotYetError as error:
        raise error.renamed("to") from None
    rates = {f"rate_of_{_plain(name)}": n for n, name in enumerate(traced.names)}
    values = {f"value_of_{_plain(name)}": n for n, name in enumerate(names)}
    return coq_text(traced.start, [(equations, rates), (observed, values)])


def _plain(name: str) -> str:
    """Return a name in letters and digits: ``Q[1,2]`` becomes ``Q_1_2``."""
    return name.replace("[", "_").replace(",", "_").replace("]", "")


def _proved(event: LocatedEvent, enclosed: dict[str, Any]) -> dict[str, Any]:
    """Return an event with the proved bounds of its time."""
    ends = {name: enclosed[name] for name in ("verdict", "begin", "end")}
    if enclosed["verdict"] == "never":
        return {**event, **ends, "alpha": None, "error_bound": None, "derivatives": {}}
    if enclosed["begin"] is None:
        return {**event, **ends, "reason": enclosed["reason"]}
    begin, end = float(enclosed["begin"]), float(enclosed["end"])
    # the middle of the bounds, if the time in doubles is outside of them or was not found
    time = event.time if begin <= event.time <= end else (begin + end) / 2
    error = float(np.nextafter(max(end - time, time - begin), np.inf)) + np.spacing(time)
    return {**event, **ends, "alpha": time, "error_bound": error, "error_method": "bound"}


def _no_level(run: Trajectory | SystemRun) -> str:
    """Return why an end of a plateau has no condition."""
    return (
        f"the run in doubles has no such end of a plateau up to alpha = {run.alpha[-1]:g}, so that "
        "no level of the error is known to prove it at; a later end may show one"
    )


def _growth(traced: TracedRates, end: float) -> float:
    """Return the factor by which errors grow, from a run in doubles."""
    from symderiv.enclosures.proved_run import amplification
    from symderiv.enclosures.slopes_in_doubles import slopes_in_doubles

    times = np.linspace(0.0, end, _LOOKED_AT + 1)
    rows = zip([traced.vectors.begin, *traced.rows(times[1:])], times, strict=True)
    states = np.array([traced.values(*each) for each in rows], dtype=np.float64)
    jumps = np.array([stage.begin for stage in traced.stages])
    during = np.searchsorted(jumps, times, side="right") - 1
    slopes = [
        each
        for number, stage in enumerate(traced.stages)
        for each in slopes_in_doubles(stage.rates, states[during == number])
    ]
    return amplification(slopes, times)


def _record(
    run: Trajectory | SystemRun,
    traced: TracedRates,
    proved_run: EnclosedRun,
    gaps: Sequence[tuple[LocatedEvent, Any]],
) -> tuple[dict[str, Any], Claims]:
    from symderiv.enclosures.crossings import Crossing, first_crossing
    from symderiv.enclosures.proof_record import Claims
    from symderiv.precision.balls.working import working_bits

    tape, names = traced.observables
    with working_bits(proved_run.bits):
        regions = [proved_run.region(n) for n in range(len(run.alpha))]
        columns = _observed(tape, regions)
        crossings = [
            Crossing("undecided", reason=_no_level(run))
            if gap is None
            else first_crossing(proved_run, gap)
            for _, gap in gaps
        ]
        events = [
            {
                "event": event.name,
                "verdict": crossing.verdict,
                "begin": _end(crossing, -1),
                "end": _end(crossing, 1),
                "reason": crossing.reason,
            }
            for (event, _), crossing in zip(gaps, crossings, strict=True)
        ]

        def seen(region: StateSet) -> dict[str, Any]:
            (values,) = _observed(tape, [region])
            return {
                "middles": {name: _decimal(x) for name, x in zip(names, values, strict=True)},
                "radii": {name: _radius(x) for name, x in zip(names, values, strict=True)},
            }

        claims = Claims(
            tape,
            departure_of(proved_run, zip(run.events, events, strict=True)),
            _end_of(proved_run),
        )
        record = {
            "alpha": [float(time) for time in run.alpha],
            "names": names,
            "middles": {name: [_decimal(c[n]) for c in columns] for n, name in enumerate(names)},
            "radii": {name: [_radius(c[n]) for c in columns] for n, name in enumerate(names)},
            "events": events,
            "radius": max(float(region.radius) for region in regions),
            **_differences(run, traced, names, columns),
            "departure": claims.departure and shown(claims.departure, seen),
            "limit": claims.limit and _limit(claims.limit, seen),
            "steps": len(proved_run.steps),
            "bits": proved_run.bits,
            "warnings": [],
        }
        return record, claims


def _end_of(proved_run: EnclosedRun) -> Attraction | None:
    """Return the fixed point to which a run tends, or None; rates that jump later lead
    elsewhere.
    """
    from symderiv.enclosures.attraction import attraction

    if proved_run.during[-1] < len(proved_run.stages) - 1:
        return None
    return attraction(proved_run.stages[-1].rates, proved_run.steps[-1].end)


def _observed(tape: Any, regions: Sequence[StateSet]) -> list[list[arb]]:
    from symderiv.enclosures.proved_run import gradient_form

    values = tape.in_balls()
    return [gradient_form(values, region) for region in regions]


def _limit(reached: Attraction, seen: Callable[[StateSet], dict[str, Any]]) -> dict[str, Any]:
    """Return the state that a run approaches and the rate of approach, in plain numbers."""
    return {**seen(reached.point), "rate": float(np.nextafter(float(reached.rate), 0.0))}


def _decimal(ball: arb) -> str:
    """Return the middle of a ball in decimals, with a few digits beyond its radius."""
    size = float(abs(ball.mid()))
    if size == 0.0:
        return "0"
    radius = max(float(ball.rad()), size * 2.0**-_MOST_BITS_SHOWN)
    digits = max(1, math.ceil(math.log10(size / radius)) + 3)
    return ball.mid().str(digits, radius=False)


def _radius(ball: arb) -> float:
    """Return a bound on the distance of the exact value from the decimals shown."""
    from flint import arb

    distance = abs(ball - arb(_decimal(ball))).upper()
    return float(np.nextafter(float(distance), np.inf))


def _end(crossing: Crossing, side: int) -> str | None:
    """Return a decimal number not after (side = -1), or not before (side = 1), a crossing."""
    from flint import arb

    if crossing.begin is None or crossing.end is None:
        return None
    both = crossing.begin.union(crossing.end)
    width = both.rad() + abs(both).upper() * arb(2) ** -_MOST_BITS_SHOWN
    for times in itertools.count():
        shown = _decimal(both + side * times * width)
        if side * (arb(shown) - both) >= 0:
            return "0" if arb(shown) < 0 else shown
    raise AssertionError("decimals come arbitrarily close to every number")


def _differences(
    run: Trajectory | SystemRun,
    traced: TracedRates,
    names: Sequence[str],
    columns: Sequence[Sequence[arb]],
) -> dict[str, float]:
    """Return the largest distances of doubles from exact values, absolute and on their scales."""
    curves, largest, relative = dict(run.columns()), 0.0, 0.0
    for n, column in enumerate(columns):
        balls = dict(zip(names, column, strict=True))
        scales = traced.scales({name: abs(ball).lower() for name, ball in balls.items()})
        for name, ball in balls.items():
            away = _away(float(curves[name][n]), ball)
            largest = max(largest, away)
            if name in scales:
                scale = float(scales[name].lower())
                relative = max(relative, away / scale if scale > 0.0 else away)
    return {
        "difference": largest,
        "relative_difference": float(np.nextafter(relative, np.inf)),
    }


def _away(value: float, ball: arb) -> float:
    from flint import arb

    return float(np.nextafter(float(abs(arb(value) - ball).upper()), np.inf))
