"""Runs that keep derivatives by numbers of the problem, and the times of events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from symderiv.foundation.errors import InputError
from symderiv.integrate.events.located_events import LocatedEvents
from symderiv.storage.run_files import BY


class FollowedResult:
    """Base of runs that are differentiated and whose events are located.

    Attributes:
        further: Arrays beside the order parameters, derivatives among them, by name.
        attributes: What files say of the run beside its arrays.
    """

    further: Mapping[str, np.ndarray]
    attributes: Any

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
                f"{key!r} was not followed; this run has {', '.join(known) or 'no derivatives'}",
                argument="parameter",
            )
        return self.further[key]

    @property
    def events(self) -> LocatedEvents:
        """The events that were asked for, by name or in order: ``events["plateau-end"].time``.

        Each has its ``name`` and ``condition``, the first ``time`` at which it holds (infinite if
        it never does), the ``error_bound`` of that time and its ``derivatives``; see
        :class:`symderiv.integrate.events.located_events.LocatedEvent`.
        """
        return LocatedEvents.from_text(str(self.attributes.get("events", "[]")))
