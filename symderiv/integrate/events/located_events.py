"""Located events of a run by name, and the base of runs that keep events and derivatives."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from os import PathLike
from typing import Any

import numpy as np

from symderiv.foundation.errors import InputError
from symderiv.foundation.outputs import Output
from symderiv.storage.run_files import BY


class LocatedEvent(dict[str, Any]):
    """The first time at which a condition holds along a run.

    It is also a dictionary with the keys ``event``, ``condition``, ``alpha``, ``error_bound``,
    ``error_method`` and ``derivatives``; events of certified runs have ``begin``, ``end`` and
    ``verdict`` too, and ``reason`` where that is "undecided".
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
    def absence(self) -> str:
        """Why there is no time: "never", or "undecided" if a proved run cannot tell."""
        return "undecided" if self.get("verdict") == "undecided" else "never"

    @property
    def error_bound(self) -> float:
        """The error of the time: a bound only where :attr:`error_method` says so, which takes
        ``certify=True``. Otherwise it is an estimate from a second run with ten times the tolerance
        and a changed start, infinite where that does not meet the condition.
        """
        return math.inf if self["error_bound"] is None else float(self["error_bound"])

    @property
    def error_method(self) -> str:
        """The kind of the error of the time: "estimate", or "bound" if it is proved."""
        return str(self["error_method"])

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
        """Return the events that are stored in a run's file as this text."""
        # files of earlier versions name an event by its condition and have no error bound
        earlier = {"error_bound": None, "error_method": "estimate"}
        return cls({"condition": each["event"]} | earlier | each for each in json.loads(text))

    def to_text(self) -> str:
        """Return the text by which a run's file stores the events."""
        return json.dumps(self)

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, str):
            return super().__getitem__(key)
        for each in self:
            if key in (each.name, each.condition):
                return each
        names = ", ".join(repr(each.name) for each in self) or "none"
        raise InputError(
            f"{key!r} is not an event of this run; its events: {names}", argument="event"
        )


class FollowedResult:
    """Base of runs that may have derivatives, located events and a proof.

    Attributes:
        further: Arrays beside the order parameters, derivatives among them, by name.
        attributes: The attributes of the run's file.
        enclosure: The proved balls of a run that was certified, see
            :class:`symderiv.api.results.equations.certified.Enclosure`; files of runs do not keep
            them.
    """

    further: Mapping[str, np.ndarray]
    attributes: Any
    enclosure: Any

    def sensitivity(self, name: str, parameter: str) -> np.ndarray:
        """Return the derivative of an array over time by a number of the problem.

        Args:
            name: an array of the run, such as ``"Q"`` or ``"generalization_error"``, and
                ``"w.B"`` or an observable of a stated system.
            parameter: one of the ``sensitivities`` that were asked of ``solve``; second
                derivatives have names that end with ``_twice``.

        Returns:
            An array of the shape of ``name``.

        Raises:
            InputError: the run was made without this derivative.
        """
        key = f"{name}{BY}{parameter}"
        if key not in self.further:
            known = [each for each in self.further if BY in each]
            raise InputError(
                f"{key!r} was not asked for; this run has {', '.join(known) or 'no derivatives'}",
                argument="parameter",
            )
        return self.further[key]

    @property
    def events(self) -> LocatedEvents:
        """The events that were asked for, by name or in order: ``events["plateau-end"].time``.

        Each has its ``name`` and ``condition``, the first ``time`` at which it holds (infinite if
        it never does), its ``error_bound`` with ``error_method``, and its ``derivatives``; see
        :class:`symderiv.integrate.events.located_events.LocatedEvent`.
        """
        return LocatedEvents.from_text(str(self.attributes.get("events", "[]")))

    @property
    def enclosures(self) -> dict[str, np.ndarray]:
        """Balls that contain the exact order parameters of a certified run, as arrays over time.

        ``enclosures["R"]`` has the shape (P, K, M), ``["Q"]`` (P, K, K), ``["v"]`` (P, K) where it
        is trained, ``["generalization_error"]`` (P,); those of a system have the names and shapes
        of the run. Each ball has the decimals ``mid`` and ``rad``, and ``contains("0.25")``.

        Raises:
            InputError: the run was not certified.
        """
        balls: dict[str, np.ndarray] = self._certified().balls
        return balls

    def certificate(self, path: str | PathLike[str] | Output | None = None) -> dict[str, Any]:
        """Return the proof of a certified run as a JSON object of rational numbers.

        ``python -m symderiv.enclosures.check_enclosures FILE`` checks the file with balls alone;
        ``check_departure`` in its place checks what the run passes and tends to.

        Args:
            path: also write it there.

        Raises:
            InputError: the run was not certified, or the file exists or cannot be written.
        """
        enclosure = self._certified()
        if path is not None:
            enclosure.save(path)
        proof: dict[str, Any] = enclosure.certificate()
        return proof

    def _certified(self) -> Any:
        if self.enclosure is None:
            raise InputError(
                "this run was not certified; solve it with certify=True", argument="certify"
            )
        return self.enclosure
