"""Arguments that runs, sweeps and maps of problems and of systems share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from symderiv.foundation.errors import InputError, check_one_of, warn_caller
from symderiv.foundation.outputs import Output, as_output

if TYPE_CHECKING:
    from os import PathLike
    from pathlib import Path

    import numpy as np

    from symderiv.api.results.runs.mapped import Quantity
    from symderiv.enclosures.traced_flow import TracedRates
    from symderiv.foundation.progress import Progress, Tell
    from symderiv.integrate.events.asked import Event
    from symderiv.integrate.flows.event_times import Followed
    from symderiv.problem.study import Study
    from symderiv.storage.checkpoint import Checkpoint
    from symderiv.sweeps.study_map import StudyMap
    from symderiv.sweeps.sweep_result import Sweep
    from symderiv.sweeps.system_grid import SweptSystem


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

    def run(
        self,
        followed: Followed,
        run_at: Callable[[np.ndarray | None], Any],
        traced: Callable[[], TracedRates],
        update: Tell,
    ) -> Any:
        """Return a run with all that is asked for, and write the proof if there is a file for it.

        Args:
            followed: The study or the system.
            run_at: See :meth:`symderiv.integrate.flows.event_times.Followed.solved`.
            traced: A function that returns the equations in exact numbers.
            update: A function that reports the progress of the proof.

        Raises:
            InputError: A request is not acceptable.
            NotYetError: A proof is asked for, but the equations cannot be enclosed.
        """
        from symderiv.api.results.equations.certified import enclosed_run, provable, radius_of
        from symderiv.integrate.flows.event_times import RunWanted

        certify, target = self.certify, None
        if certify is not None and not isinstance(certify, bool):
            target = as_output(certify, "json")
        wanted = RunWanted.of(self.sensitivities, self.events, self.until)
        radius = radius_of(self.radius, self.digits)
        # equations without a proof are refused before they are compiled and solved
        equations = provable(traced()) if certify else None
        run = followed.solved(wanted, run_at)
        if equations is not None:
            run = enclosed_run(run, equations, followed.readable, radius, update)
        if target is not None:
            run.enclosure.save(target)
        return run


@dataclass(frozen=True)
class SweepMade:
    """A way to compute a sweep.

    Args:
        scheduler: the address of a running Dask cluster.
        workers: number of worker processes on this machine; 0 computes in this process, on all
            processors. When left out, 0 for fewer than 50000 points, and otherwise one per
            processor.
        force: replace a sweep of another problem.
        fresh: solve everything again.
        check: "auto" estimates the errors of each run from a second one, with the steps of
            :meth:`symderiv.Problem.solve`; this takes two to three times as long. Points that the
            store has without their errors are solved again. "never" makes no second run.
        progress: see :meth:`symderiv.Problem.solve`.
        notice: a function that is called with a line that says where the sweep runs, and with one
            line for each damaged part.
    """

    scheduler: str | None = None
    workers: int | None = None
    force: bool = False
    fresh: bool = False
    check: Literal["auto", "never"] = "never"
    progress: Progress = None
    notice: Callable[[str], None] | None = None

    def sweep(self, study: Study | SweptSystem, over: Mapping[str, Any], store: Path) -> Sweep:
        """Return the sweep in a store, and warn of runs that failed."""
        from symderiv.problem.study import Study
        from symderiv.sweeps.study_grid import SweptStudy
        from symderiv.sweeps.sweep import run_sweep

        check_one_of("check", self.check, ("auto", "never"))
        swept = (
            SweptStudy(study, {"check": self.check})
            if isinstance(study, Study)
            else study.measured(self.check == "auto")
        )
        if not isinstance(self.scheduler, str | None):
            raise InputError(
                f"must be the address of a Dask scheduler, not {self.scheduler!r}",
                argument="scheduler",
            )
        sweep = run_sweep(
            swept,
            over,
            store,
            where=self.workers if self.scheduler is None else self.scheduler,
            fresh=self.fresh,
            force=self.force,
            progress=self.progress,
            notice=self.notice,
        )
        warn_caller(sweep.failure())
        return sweep


@dataclass(frozen=True)
class MapMade:
    """A way to compute a map.

    Args:
        resolution: the number of cells along a key for which only a range is given: ``coarse``
            times a power of 2, at most 2048.
        coarse: the number of cells along each key that are tried first; a region inside one of
            them may be missed.
        change: the largest difference between the corners of a cell that is not refined, for
            quantities that are numbers. When left out, a twentieth of the range. For quantities
            that span decades it is a difference of decimal logarithms.
        kinds: True if a quantity that is a function returns names of kinds.
        check: the number of random points of the full grid that are solved and compared with the
            map.
        checkpoint: see :meth:`symderiv.Problem.solve`; only for quantities with a name. Runs in the
            checkpoint are not solved again.
        progress: see :meth:`symderiv.Problem.solve`.
    """

    resolution: int = 128
    coarse: int = 8
    change: float | None = None
    kinds: bool | None = None
    check: int = 0
    checkpoint: Checkpoint | None = None
    progress: Progress = None

    def map(
        self,
        study: Study | SweptSystem,
        quantity: Quantity,
        over: Mapping[str, Sequence[Any]],
        **curve: str,
    ) -> StudyMap:
        """Return the map of a quantity; ``curve`` names another curve than the error."""
        from symderiv.api.results.runs.mapped import mapped

        options = {name: value for name, value in vars(self).items() if name != "progress"}
        return mapped(study, quantity, over, self.progress, **options, **curve)
