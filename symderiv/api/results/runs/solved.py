"""A run with everything asked of it: derivatives, events, an end at an event, a proof."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from symderiv.api.arguments.starts import start_of
from symderiv.api.results.equations.certified import (
    enclosed_trajectory,
    radius_of,
    traced_study,
)
from symderiv.api.results.followed import FollowedStudy
from symderiv.integrate.flows.event_times import RunWanted
from symderiv.integrate.rules.solving import solve
from symderiv.keys.study_tables import Time

if TYPE_CHECKING:
    import numpy as np

    from symderiv.api.results.rate_function import Start
    from symderiv.api.results.runs.run_asked import RunAsked
    from symderiv.foundation.progress import Tell
    from symderiv.integrate.flows.trajectory import Trajectory
    from symderiv.problem.study import Study


def solved(
    study: Study,
    initial: Start | None,
    asked: RunAsked,
    update: Tell,
    notice: Any,
    checkpoint: Any,
) -> tuple[Trajectory, Study]:
    """Return the run of a study, and the study with the times of this run.

    Raises:
        InputError: A request is not acceptable.
        NotYetError: A proof is asked for, but the equations cannot be enclosed.
    """
    wanted = RunWanted.of(asked.sensitivities, asked.events, asked.until)
    radius = radius_of(asked.radius, asked.digits)
    ended = study

    def run_at(times: np.ndarray | None) -> Trajectory:
        nonlocal ended
        ended = study if times is None else _at(study, times)
        return _integrated(ended, initial, update, notice, checkpoint)

    followed = FollowedStudy(study, initial)
    # equations without a proof are refused before they are solved
    traced = traced_study(study, initial) if asked.certify else None
    run: Trajectory = followed.solved(wanted, run_at)
    if traced is not None:
        run = enclosed_trajectory(run, traced, followed, radius, update)
    return run, ended


def _at(study: Study, times: np.ndarray) -> Study:
    """Return the study with other times."""
    grid = set(Time.RECORDS["values"].instead_of)
    others = {
        key: value
        for key, value in study.time.model_dump(exclude_unset=True).items()
        if key not in grid
    }
    return study.changed({"time": {**others, "values": times.tolist()}})


def _integrated(
    study: Study, initial: Start | None, update: Tell, notice: Any, checkpoint: Any
) -> Trajectory:
    """Return the run of a study, up to an interruption if there was one."""
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
