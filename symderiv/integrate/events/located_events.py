"""First times of events along a run, by their names."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from typing import Any

from symderiv.foundation.errors import InputError


class LocatedEvent(dict[str, Any]):
    """The first time at which a condition holds along a run.

    It is also a dictionary with the keys ``event``, ``condition``, ``alpha``, ``error_bound`` and
    ``derivatives``; events of certified runs have ``begin``, ``end`` and ``verdict`` too.
    """

    @property
    def name(self) -> str:
        """The name of the event."""
        return str(self["event"])

    @property
    def condition(self) -> str:
        """The condition on order parameters, with numbers."""
        return str(self["condition"])

    @property
    def time(self) -> float:
        """The first time α at which the condition holds; infinite if it does not hold up to the end
        of the run.
        """
        return math.inf if self["alpha"] is None else float(self["alpha"])

    @property
    def error_bound(self) -> float:
        """The error of the time: proved if the run is certified; otherwise the distance, the
        largest found, from the time in a run with ten times the tolerance. Infinite where that run
        does not meet the condition.
        """
        return math.inf if self["error_bound"] is None else float(self["error_bound"])

    @property
    def derivatives(self) -> dict[str, float]:
        """Derivatives of the time by the numbers that ``sensitivities`` names."""
        return dict(self["derivatives"])


class LocatedEvents(list[LocatedEvent]):
    """Events along a run: ``events[0]``, or ``events["plateau-end"]`` by name or condition."""

    def __init__(self, events: Iterable[dict[str, Any]] = ()) -> None:
        super().__init__(LocatedEvent(each) for each in events)

    @classmethod
    def from_text(cls, text: str) -> LocatedEvents:
        """Return the events that the file of a run holds."""
        # files of earlier versions name an event by its condition and have no error bound
        return cls(
            {"condition": each["event"], "error_bound": None} | each for each in json.loads(text)
        )

    def to_text(self) -> str:
        """Return what the file of a run holds."""
        return json.dumps(self)

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, str):
            return super().__getitem__(key)
        for each in self:
            if key in (each.name, each.condition):
                return each
        names = ", ".join(repr(each.name) for each in self) or "none"
        raise InputError(f"{key!r} was not asked for, but {names}", argument="event")
