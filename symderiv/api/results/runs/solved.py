"""A run with everything asked of it: derivatives, events, an end at an event, a proof."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from symderiv.api.arguments.argument_names import timed
from symderiv.api.arguments.starts import start_of
from symderiv.api.results.followed import FollowedStudy
from symderiv.foundation.errors import InputError, check_whole
from symderiv.integrate.events.asked import PLATEAU, Event
from symderiv.integrate.rules.solving import solve
from symderiv.keys.study_tables import MOST_POINTS

if TYPE_CHECKING:
    from symderiv.api.results.rate_function import Start
    from symderiv.api.results.runs.grids import RunAsked
    from symderiv.foundation.progress import Progress, Tell
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
    ended = study

    def run_at(times: np.ndarray | None) -> Trajectory:
        nonlocal ended
        ended = study if times is None else timed(study, {"alpha": times})
        return _integrated(ended, initial, update, notice, checkpoint)

    followed = FollowedStudy(study, initial)
    run: Trajectory = asked.run(followed, run_at, followed.traced, update)
    return run, ended


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


_OVER_TIME = ("Q", "R", "v", "generalization_error", "student_overlap", "cross_overlap")
_SUMS = ("steps", "rejected", "rhs_evaluations", "wall_seconds")


def extended(run: Trajectory, end: float, points: int, progress: Progress) -> Trajectory:
    """Return the run with times up to a later end; see :meth:`Trajectory.extend`."""
    check_whole("points", points, 1, MOST_POINTS)
    reached, end = float(run.alpha[-1]), float(end)
    if not end > reached:
        raise InputError(
            f"{end:g} is not later than {reached:g}, the end of the run", argument="end"
        )
    problem = run.problem
    spread = np.geomspace if problem.time.spacing == "log" and reached > 0.0 else np.linspace
    added = spread(reached, end, points + 1)[1:]
    times = np.concatenate([run.alpha, added])
    # the times of the extended run
    whole = problem.timed(alpha=times.tolist())
    events = [
        each.name if each.name in PLATEAU else Event(each.name, each.condition)
        for each in run.events
    ]
    again_from_start = bool(
        run.compression is not None or run.further or events or problem.has_rule
    )
    begins = run.initial if again_from_start else run.final
    if not np.isfinite(begins.student_overlap).all():
        raise InputError(
            "the file of this run did not keep the overlaps per eigenvalue; solve it again",
            argument="end",
        )
    if again_from_start:
        again: Trajectory = whole.solve(initial=run.initial, events=events, progress=progress)
        return again
    later: Trajectory = problem.solve(
        alpha=(added - reached).tolist(), initial=run.final, progress=progress
    )
    joined: dict[str, Any] = {
        name: np.concatenate([getattr(run, name), getattr(later, name)]) for name in _OVER_TIME
    }
    sums: dict[str, Any] = {name: getattr(run, name) + getattr(later, name) for name in _SUMS}
    return replace(
        later,
        **joined,
        **sums,
        alpha=np.concatenate([run.alpha, later.alpha + reached]),
        alpha_end=later.alpha_end + reached,
        initial=run.initial,
        tolerance_reached=max(run.tolerance_reached, later.tolerance_reached),
        tolerance_kept=run.tolerance_kept and later.tolerance_kept,
        warnings=tuple(dict.fromkeys((*run.warnings, *later.warnings))),
        by_default=run.by_default,
        study_text=whole.study_text,
        origin=whole,
        output=None,
    )
