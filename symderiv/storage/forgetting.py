"""Forgetting of earlier tasks, and transfer from earlier tasks to later ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from symderiv.foundation.errors import InputError


@dataclass(frozen=True)
class Forgetting:
    """Errors of tasks around the times in which they were taught.

    Tasks that were not taught by themselves in the run are not in it.

    Attributes:
        tasks: their numbers in the study.
        begun, learned, final: the generalisation error on each when it was first taught, when it
            was last taught, and at the end; of means over simulated runs.
        untaught: the same at alpha = 0.
    """

    tasks: tuple[int, ...]
    untaught: np.ndarray
    begun: np.ndarray
    learned: np.ndarray
    final: np.ndarray

    @property
    def forgetting(self) -> np.ndarray:
        """The error at the end minus the error when the task was last taught."""
        found: np.ndarray = self.final - self.learned
        return found

    @property
    def transfer(self) -> np.ndarray:
        """The error at alpha = 0 minus the error when the task was first taught."""
        found: np.ndarray = self.untaught - self.begun
        return found


def forgetting_of(
    alpha: np.ndarray, errors: np.ndarray | None, tasks: Sequence[Mapping[str, Any]]
) -> Forgetting:
    """Forgetting from the errors on all tasks.

    Args:
        alpha: times, shape (P,); those nearest to a switch from before stand for it.
        errors: on all tasks, shape (P, tasks).
        tasks: the entries of [[task]].

    Raises:
        InputError: there are no tasks, or alpha = 0 is not among the times.
    """
    if errors is None:
        raise InputError(
            "is missing: forgetting needs a problem with tasks; give tasks", argument="tasks"
        )
    if not alpha.size or alpha[0] != 0.0:
        raise InputError(
            "must contain 0, because errors are compared with the start; add 0 to the times",
            argument="alpha",
        )
    numbers = [number for number, task in enumerate(tasks) if "teachers" in task]
    found, rows = [], []
    for place, number in enumerate(numbers):
        begin = tasks[number - 1]["until"] if number else 0.0
        end = min(tasks[number].get("until", alpha[-1]), alpha[-1])
        if end > begin:
            at = [0, *(int(np.flatnonzero(alpha <= time)[-1]) for time in (begin, end)), -1]
            found.append(number)
            rows.append(errors[at, place])
    return Forgetting(tuple(found), *np.reshape(rows, (len(rows), 4)).T)
