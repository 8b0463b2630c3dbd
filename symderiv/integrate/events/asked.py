"""Events that a caller asks for: conditions on order parameters, and ends of plateaus."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from symderiv.foundation.errors import InputError, errors_about
from symderiv.foundation.named_arguments import public

#: The error at the beginning and at the end of a plateau, in units of its height.
PLATEAU = {"plateau-begin": 1.1, "plateau-end": 0.5}


@dataclass(frozen=True)
class Event:
    """An event along a run, made by :func:`symderiv.event`.

    Args:
        name: the name under which a run has it: ``run.events[name]``.
        condition: the condition on order parameters; empty for an end of the plateau, whose
            condition follows from the height of the plateau.
    """

    name: str
    condition: str


@public
def event(what: str, *, below: float | None = None, above: float | None = None) -> Event:
    """Return an event, for the ``until`` and ``events`` of :meth:`symderiv.Problem.solve`.

    Args:
        what: an order parameter such as ``"R[1,1]"``, ``"generalization_error"`` or an expression
            in these, with one of ``below`` and ``above``; or a whole condition such as
            ``"R[1,1] > 2*R[1,2]"``; or ``"plateau-begin"`` or ``"plateau-end"``, where the error
            falls below 1.1 times and half the height of its plateau, see
            :attr:`symderiv.Trajectory.features`.
        below: the event is that the quantity is below this number.
        above: the event is that the quantity is above this number.

    Raises:
        InputError: there is no level, or there are two.

    Example:
        >>> import symderiv as sd
        >>> problem = sd.Problem("erf", students=1, teachers=1, learning_rate=1.0)
        >>> run = problem.solve(end=100, until=sd.event("generalization_error", below=1e-3))
        >>> bool(run.alpha[-1] == run.events["generalization_error"].time)
        True
    """
    if not isinstance(what, str) or not what.strip():
        raise InputError(
            f'{what!r} is not a condition such as "R[1,1] > 0.5", or the name of a quantity',
            argument="what",
        )
    whole = what in PLATEAU or "<" in what or ">" in what
    levels = [(sign, at) for sign, at in (("<", below), (">", above)) if at is not None]
    if whole and levels:
        raise InputError(
            f"{what!r} is a complete condition; leave out below and above", argument="what"
        )
    if whole:
        return Event(what, "" if what in PLATEAU else what)
    if len(levels) != 1:
        raise InputError(
            f"{what!r} is a quantity; give one of below=… and above=…, or name plateau-begin or "
            "plateau-end",
            argument="what",
        )
    ((sign, level),) = levels
    try:
        number = float(level)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        side = "below" if sign == "<" else "above"
        raise InputError(f"{level!r} is not a finite number", argument=side)
    return Event(what, f"{what} {sign} {number!r}")


def as_event(value: str | Event) -> Event:
    """Return a given event, or the event that a text states."""
    return value if isinstance(value, Event) else event(value)


def events_of(values: Sequence[str | Event] | str | Event) -> list[Event]:
    """Return the given events without repetitions.

    Raises:
        InputError: one of them is not an event; it names ``events``.
    """
    given = [values] if isinstance(values, str | Event) else values
    if not isinstance(given, Iterable) or isinstance(given, Mapping):
        raise InputError(
            f'must be a list, not {given!r}; give conditions such as ["R[1,1] > 0.5"]',
            argument="events",
        )
    with errors_about("events"):
        return list(dict.fromkeys(as_event(each) for each in given))


def asked_events(
    events: Sequence[str | Event] | str | Event, until: str | Event | None
) -> tuple[tuple[Event, ...], Event | None]:
    """Return all events of a run without repetitions, and the event that ends the run.

    Raises:
        InputError: one of them is not an event.
    """
    with errors_about("until"):
        last = None if until is None else as_event(until)
    return tuple(events_of([*events_of(events), *([] if last is None else [last])])), last
