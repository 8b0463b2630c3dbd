"""The arguments by which more is asked of a run than its order parameters."""

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
    """The requests for a run.

    Args:
        sensitivities: names of numbers by which order parameters, the generalisation error and what
            a system observes are differentiated at all times. Of a problem these are its
            arguments, as ``learning_rate``, ``label_noise`` or ``exponent``, and
            ``learning_rate_twice`` for second derivatives; of a system parameters (``eta``),
            initial values that are one number (``initial.u``) and arguments of models
            (``inputs.x.exponent``). See :meth:`Trajectory.sensitivity`.
        events: conditions on order parameters, as ``"generalization_error < 1e-3"``,
            ``"R[1,1] > 2*R[1,2]"``, or ``"error < 1e-3"`` of what a system observes, or events
            made by :func:`symderiv.event`: the first time at which each of them holds is located,
            and differentiated by what ``sensitivities`` names; see :attr:`Trajectory.events`. Of
            steps over batches of a system it is the first step after which it holds, without
            derivatives.
        until: an event at which the run ends. Its time is the last of the run; a run on which
            it does not happen goes on to its end, with a warning.
        certify: also prove the run, if all means are closed: ``enclosures["R"]`` and those of the
            other arrays are balls that contain the exact order parameters and errors at all times,
            and the times of events are enclosed; see :attr:`Trajectory.enclosures` and
            :class:`symderiv.api.results.equations.certified.Enclosure`. A file instead of True:
            also write the proof there, see :meth:`Trajectory.certificate`.
        radius: the largest radius of these balls, between 1e-200 and 1e-3; 1e-12 when left out.
        digits: number of decimal places that the balls fix, instead of ``radius``, which is
            then 10^-digits.
    """

    sensitivities: Sequence[str] = ()
    events: Sequence[str | Event] = ()
    until: str | Event | None = None
    certify: bool | str | PathLike[str] | Output | None = False
    radius: float | None = None
    digits: int | None = None

    def target(self) -> Output | None:
        """Return the file of the proof, if there is to be one.

        Raises:
            InputError: It cannot be written.
        """
        certify = self.certify
        return None if certify is None or isinstance(certify, bool) else as_output(certify, "json")
