"""A run with all that was asked of it: derivatives, events, an end at an event, a proof."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from symderiv.api.arguments.starts import start_of
from symderiv.api.results.equations.certified import enclosed_trajectory, radius_of
from symderiv.api.results.followed import TWICE, conditions_of, followed, number_of
from symderiv.integrate.events.asked import Event, asked_events
from symderiv.integrate.rules.solving import solve
from symderiv.keys.study_tables import Time

if TYPE_CHECKING:
    import numpy as np

    from symderiv.api.results.rate_function import Start
    from symderiv.api.results.runs.run_asked import RunAsked
    from symderiv.foundation.progress import Tell
    from symderiv.integrate.flows.trajectory import Trajectory
    from symderiv.problem.study import Study


@dataclass(frozen=True)
class WantedRun:
    """The requests for a run beside its order parameters.

    Args:
        sensitivities: Names of numbers by which it is differentiated.
        events: All events, the one at which it ends among them.
        until: The event at which it ends.
        radius: The radius of proved balls; None if the run is not proved.
    """

    sensitivities: tuple[str, ...]
    events: tuple[Event, ...]
    until: Event | None
    radius: float | None

    @classmethod
    def of(cls, asked: RunAsked) -> WantedRun:
        """Return what arguments ask for.

        Raises:
            InputError: One of them is not acceptable.
        """
        every, last = asked_events(asked.events, asked.until)
        size = radius_of(asked.radius, asked.digits)
        return cls(tuple(asked.sensitivities), every, last, size if asked.certify else None)


def solved(
    study: Study,
    initial: Start | None,
    wanted: WantedRun,
    update: Tell,
    notice: Any,
    checkpoint: Any,
) -> tuple[Trajectory, Study]:
    """Return the run of a study, and the study with the times that the run has."""

    def integrated(study: Study, events: Sequence[Event]) -> Trajectory:
        run = _integrated(study, initial, update, notice, checkpoint)
        if not run.alpha.size or not (events or wanted.sensitivities):
            return run
        return followed(run, study, initial, wanted.sensitivities, events)

    # what cannot be read is refused before anything is integrated
    conditions_of(wanted.events, study)
    for name in wanted.sensitivities:
        number_of(study, name.removesuffix(TWICE))
    run = integrated(study, wanted.events)
    if wanted.until is not None and run.alpha.size:
        located = run.events[wanted.until.name]
        if math.isinf(located.time):
            said = f"{located.name} does not happen up to alpha = {run.alpha_end:g}"
            run = replace(run, warnings=(*run.warnings, f"until: {said}; ask for a later end"))
        else:
            study = _ended(study, run.alpha, located.time)
            shorter, events = integrated(study, ()), run.attributes["events"]
            run = replace(shorter, attributes={**shorter.attributes, "events": events})
    if wanted.radius is not None:
        run = enclosed_trajectory(run, study, initial, wanted.radius, update)
    return run, study


def _ended(study: Study, alpha: np.ndarray, end: float) -> Study:
    """Return the study at the times before an end, and there."""
    grid = set(Time.RECORDS["values"].instead_of)
    others = {
        key: value
        for key, value in study.time.model_dump(exclude_unset=True).items()
        if key not in grid
    }
    times = [*(float(time) for time in alpha if time < end), end]
    return study.changed({"time": {**others, "values": times}})


def _integrated(
    study: Study, initial: Start | None, update: Tell, notice: Any, checkpoint: Any
) -> Trajectory:
    """Return the run of a study, to where it was interrupted."""
    last = float(study.alpha[-1]) or 1.0
    run = solve(
        study,
        start=start_of(study, initial),
        progress=lambda reached, steps: update("solving", reached / last),
        notice=notice,
        checkpoint=checkpoint,
    )
    if checkpoint is not None and checkpoint.stopped:
        return replace(run, cause="interrupted")
    return run
