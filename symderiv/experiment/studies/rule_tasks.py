"""The task of each example, and the teachers that it uses.

A study without [[task]] is one task of all teachers. Tasks are those entries that have teachers, in
the order of the file; an entry with a mixture is a phase in which earlier ones are drawn at random.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from symderiv.problem.study import Study
from symderiv.problem.timetable import heads, numbered_tasks, task_weights


@dataclass(frozen=True)
class Tasks:
    """The tasks of a study and when they are taught.

    Args:
        teachers: output weights of the teachers in each task, 0 outside of it, shape (tasks, M).
        head: the student's head of each task, an index, shape (tasks,).
        ends: time α until which each phase lasts, ascending, the last one infinite, (phases,).
        shares: probability of each task in each phase, shape (phases, tasks).
    """

    teachers: np.ndarray
    head: np.ndarray
    ends: np.ndarray
    shares: np.ndarray

    @property
    def count(self) -> int:
        """Number of tasks."""
        return int(self.head.size)

    @property
    def heads(self) -> int:
        """Number of the student's heads."""
        return int(self.head.max()) + 1

    @cached_property
    def cumulative(self) -> np.ndarray:
        """Cumulative sums of ``shares`` over the tasks, the last one exactly 1."""
        sums = np.cumsum(self.shares, axis=1)
        sums[:, -1] = 1.0
        return sums

    def phase_of(self, examples: np.ndarray, dimension: int) -> np.ndarray:
        """Return the phase of each example, given the number of examples learnt before it."""
        last = np.rint(np.minimum(self.ends, 1e15 / dimension) * dimension)
        begun: np.ndarray = np.searchsorted(last, examples, side="right")
        phase: np.ndarray = np.minimum(begun, self.ends.size - 1)
        return phase


def tasks_of(study: Study, weights: np.ndarray) -> Tasks:
    """Return the tasks of a checked study.

    Args:
        study: a study.
        weights: output weights of all teachers, shape (M,); a state file may bring its own.
    """
    if not study.task:
        return Tasks(weights[None], np.zeros(1, np.int64), np.array([np.inf]), np.ones((1, 1)))
    numbers = numbered_tasks(study)
    place = {n: at for at, n in enumerate(numbers)}
    teachers = np.array([task_weights(study, n, weights) for n in numbers])
    # unused heads are dropped
    head = np.unique([*heads(study).values()], return_inverse=True)[1].astype(np.int64)
    ends, shares = [], np.zeros((len(study.task), len(numbers)))
    for phase, task in enumerate(study.task):
        last = phase + 1 == len(study.task)
        ends.append(np.inf if task.until is None or last else task.until)
        if task.mixture is None:
            shares[phase, place[phase]] = 1.0
        else:
            for key, share in task.mixture.items():
                shares[phase, place[int(key)]] = share
    return Tasks(teachers, head, np.array(ends), shares)
