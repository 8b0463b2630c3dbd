"""The arguments that ask more of a run than its order parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from symderiv.foundation.outputs import Output, as_output

if TYPE_CHECKING:
    from os import PathLike

    from symderiv.integrate.events.asked import Event


@dataclass(frozen=True)
class RunAsked:
    """The additional requests for a run.

    Args:
        sensitivities: names of numbers. Order parameters, the generalisation error and observables
            are differentiated with respect to them at all times. For a problem these are its
            arguments, such as ``learning_rate``, ``label_noise`` or ``exponent``, and
            ``learning_rate_twice`` for the second derivative. For a system they are parameters
            (``eta``), initial values that are one number (``initial.u``) and arguments of input
            models (``inputs.x.exponent``). See :meth:`Trajectory.sensitivity`.
        events: conditions on order parameters and observables, such as
            ``"generalization_error < 1e-3"`` or ``"R[1,1] > 2*R[1,2]"``, or events made by
            :func:`symderiv.event`. The first time at which each of them holds is located, and
            differentiated with respect to ``sensitivities``; see :attr:`Trajectory.events`. For
            steps over batches it is the first step after which the condition holds, without
            derivatives.
        until: an event at which the run ends. If it does not happen, the run goes on to its end,
            with a warning.
        certify: True also proves the run, if all means have closed forms. ``enclosures["R"]`` and
            the other enclosures are then balls that contain the exact order parameters and errors
            at all times, and the times of events are enclosed; see :attr:`Trajectory.enclosures`
            and :class:`symderiv.api.results.equations.certified.Enclosure`. The name of a file also
            writes the proof there, see :meth:`Trajectory.certificate`.
        radius: the largest radius of these balls, between 1e-200 and 1e-3; 1e-12 when left out.
        digits: the number of decimal places that the balls fix; the radius is then 10^-digits.
    """

    sensitivities: Sequence[str] = ()
    events: Sequence[str | Event] | str | Event = ()
    until: str | Event | None = None
    certify: bool | str | PathLike[str] | Output | None = False
    radius: float | None = None
    digits: int | None = None

    def target(self) -> Output | None:
        """Return the file for the proof, if there is to be one.

        Raises:
            InputError: It cannot be written.
        """
        certify = self.certify
        return None if certify is None or isinstance(certify, bool) else as_output(certify, "json")
