"""The times at which a run changes: tasks that follow each other, schedules of learning rates.

A run is cut at the times at which something jumps. Between two cuts one task, or one mixture of
tasks, is taught, and the rates are constant or a smooth function of α.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import cast

import numpy as np

from symderiv.formula import evaluate_scalar
from symderiv.foundation.errors import FormulaError, InputError
from symderiv.keys.study_tables import LEARNING_RATES, late_formula
from symderiv.problem.study import Study

_LOOKED_AT = 129
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Phase:
    """A piece of a run.

    Attributes:
        begin, end: times α.
        shares: the probability of each task that is taught; empty without tasks.
        rate: the factor of all learning rates, a number or a formula in ``alpha``.
    """

    begin: float
    end: float
    shares: tuple[tuple[int, float], ...]
    rate: float | str


def timetable(study: Study, end: float | None = None) -> tuple[Phase, ...]:
    """Return the phases of a study up to a time, which is its last one by default."""
    end = float(study.alpha[-1]) if end is None else end
    jumps = {0.0, end, *_jumps_of_schedule(study), *_ends_of_tasks(study)}
    cuts = sorted(jump for jump in jumps if 0.0 <= jump <= end)
    if len(cuts) == 1:
        cuts *= 2  # only the start is asked for
    return tuple(
        Phase(begin, until, _shares(study, begin), _rate(study, begin))
        for begin, until in pairwise(cuts)
    )


def refuse_negative_rates(study: Study, times: np.ndarray) -> None:
    """Refuse a schedule that is negative within a run, because steps would then ascend the loss.

    Args:
        study: The study; a formula that has no value at a time is left to the run.
        times: The times at which results are wanted. A formula is looked at there and at equally
            spaced times up to the last of them.

    Raises:
        InputError: The formula is negative; the first time at which it was found so is named.
    """
    schedule = study.training.schedule
    if not isinstance(schedule, str):
        return  # tables are checked where they are read, and powers are positive
    largest = 0.0
    for alpha in np.unique(np.append(times, np.linspace(0.0, times[-1], _LOOKED_AT))).tolist():
        try:
            factor = evaluate_scalar(schedule, {"alpha": alpha})
        except FormulaError:
            continue
        largest = max(largest, abs(factor))
        if factor < -_ROUNDING * largest:
            raise InputError(
                f"is negative at alpha = {alpha:.6g}, where its value is {factor:.6g}; learning "
                "rates must not be negative",
                argument="training.schedule",
            )


def study_at(study: Study, alpha: float) -> Study:
    """Return a study with constant rates, equal to those of a study at a time.

    The schedule is in the learning rates, and the teachers of the task that is taught right after
    ``alpha`` are the only ones with output weights.

    Raises:
        InputError: the time is not valid, or the task is a mixture or has inputs of its own.
    """
    if not 0.0 <= alpha < math.inf:
        raise InputError(f"{alpha} is not a finite time >= 0", argument="alpha")
    changes: dict[str, object] = {}
    if study.training.schedule is not None:
        rate = _rate(study, alpha)
        factor = evaluate_scalar(rate, {"alpha": alpha}) if isinstance(rate, str) else rate
        given = {f"training.{name}": getattr(study.training, name) for name in LEARNING_RATES}
        changes = {key: factor * each for key, each in given.items() if each is not None}
        changes["training.schedule"] = None
    if study.task:
        shares = _shares(study, alpha)
        number = shares[0][0]
        if len(shares) > 1 or study.task[number].data is not None:
            raise InputError(
                "mixes tasks or has a task with inputs of its own at this time, whose rates depend "
                "on more than the state; use solve",
                argument="task",
            )
        weights = task_weights(study, number, study.teacher_weights)
        changes |= {"task": [], "network.teacher_weights": weights.tolist()}
    return study.changed(changes) if changes else study


def numbered_tasks(study: Study) -> tuple[int, ...]:
    """Return the numbers of the entries of [[task]] that have teachers."""
    return tuple(n for n, task in enumerate(study.task) if task.teachers is not None)


def heads(study: Study) -> dict[int, int]:
    """Return the student's head of each task: its own with the number of the task by default.

    ``head = "shared"`` is head 0.
    """
    head_of_task = {}
    for number in numbered_tasks(study):
        given = study.task[number].head
        head_of_task[number] = number if given is None else 0 if given == "shared" else int(given)
    return head_of_task


def task_weights(study: Study, number: int, teacher_weights: np.ndarray) -> np.ndarray:
    """Return the output weights of the teacher in a task: zero for units that are not in it, shape
    (M,).

    Args:
        study, number: the task.
        teacher_weights: the output weights of all units in the state; a state file may bring its
            own.
    """
    teachers = study.task[number].teachers or []
    weights = np.zeros(study.M)
    weights[teachers] = teacher_weights[teachers]
    return weights


def _ends_of_tasks(study: Study) -> Iterator[float]:
    return (task.until for task in study.task if task.until is not None)


def _jumps_of_schedule(study: Study) -> list[float]:
    schedule = study.training.schedule
    if not isinstance(schedule, dict):
        return []
    return cast("list[float]", schedule["times"] if "times" in schedule else [schedule["after"]])


def _shares(study: Study, begin: float) -> tuple[tuple[int, float], ...]:
    """Return the shares of tasks taught right after ``begin``; the last phase has no end."""
    for number, task in enumerate(study.task):
        last = number == len(study.task) - 1
        if last or begin < (math.inf if task.until is None else task.until):
            if task.mixture is None:
                return ((number, 1.0),)
            return tuple((int(each), share) for each, share in task.mixture.items() if share > 0.0)
    return ()


def _rate(study: Study, begin: float) -> float | str:
    schedule = study.training.schedule
    if isinstance(schedule, dict) and "times" in schedule:
        times, rates = cast("list[list[float]]", [schedule["times"], schedule["rates"]])
        return rates[int(np.searchsorted(times, begin, side="right")) - 1]
    late = late_formula(schedule)
    early = isinstance(schedule, dict) and begin < cast("float", schedule["after"])
    return 1.0 if late is None or early else late
