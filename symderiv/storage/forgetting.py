"""Forgetting of earlier tasks, and transfer from earlier tasks to later ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from symderiv.foundation.drawing import drawn
from symderiv.foundation.errors import InputError
from symderiv.foundation.keeping import Kept
from symderiv.foundation.showing import Summary

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes

_MEANINGS = {
    "untaught": "generalisation error at alpha = 0",
    "begun": "generalisation error when the task was first taught",
    "learned": "generalisation error when the task was last taught",
    "final": "generalisation error at the end",
    "forgetting": "error at the end minus the error when last taught",
    "transfer": "error at alpha = 0 minus the error when first taught",
}


@dataclass(frozen=True, repr=False)
class Forgetting(Kept):
    """Errors on tasks before, while and after they were taught.

    Tasks that were taught only in mixtures are left out.

    Attributes:
        tasks: the numbers of the tasks in the study, from 0.
        begun, learned, final: the generalisation error on each task when it was first taught, when
            it was last taught, and at the end; for simulations, means over runs.
        untaught: the generalisation error on each task at alpha = 0.
    """

    tasks: tuple[int, ...]
    untaught: np.ndarray
    begun: np.ndarray
    learned: np.ndarray
    final: np.ndarray

    @property
    def forgetting(self) -> np.ndarray:
        """The error at the end minus the error when the task was last taught."""
        forgotten: np.ndarray = self.final - self.learned
        return forgotten

    @property
    def transfer(self) -> np.ndarray:
        """The error at alpha = 0 minus the error when the task was first taught."""
        gained: np.ndarray = self.untaught - self.begun
        return gained

    def to_xarray(self) -> xarray.Dataset:
        """Return all errors, forgetting and transfer over the tasks, which count from 1."""
        import xarray

        data = {
            name: ("task", getattr(self, name), {"long_name": words, "units": "1"})
            for name, words in _MEANINGS.items()
        }
        return xarray.Dataset(data, {"task": np.array(self.tasks, dtype=np.int64) + 1})

    def plot(
        self, *names: str, label: str | Sequence[str] | None = None, ax: Axes | None = None
    ) -> Axes:
        """Draw numbers of the tasks as bars, one group for each task.

        Args:
            names: some of "untaught", "begun", "learned", "final", "forgetting" and
                "transfer"; the errors when first taught, when last taught and at the end if none is
                given.
            label: what the legend calls them.
            ax: Matplotlib axes to draw into; None makes new ones.

        Raises:
            InputError: there is no such number.
        """
        return drawn("analysis_plots.run_plots.bar_axes", self, names, label, ax)

    def to_dict(self) -> dict[str, Any]:
        """Return the tasks, counted from 1, and what :meth:`to_xarray` has, as lists."""
        record = {name: getattr(self, name).tolist() for name in _MEANINGS}
        return {"tasks": [number + 1 for number in self.tasks], **record}

    def _summary(self) -> Summary:
        rows = [
            (f"task {number + 1}", f"error {last:.4g} when last taught, {end:.4g} at the end")
            for number, last, end in zip(self.tasks, self.learned, self.final, strict=True)
        ]
        return Summary("Forgetting", rows)


def forgetting_of(
    alpha: np.ndarray, errors: np.ndarray | None, tasks: Sequence[Mapping[str, Any]]
) -> Forgetting:
    """Return the forgetting and transfer that follow from the errors on all tasks.

    Args:
        alpha: times, shape (P,); a switch is represented by the last time before it.
        errors: the errors on all tasks, shape (P, tasks).
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
    learnt, rows = [], []
    for place, number in enumerate(numbers):
        begin = tasks[number - 1]["until"] if number else 0.0
        end = min(tasks[number].get("until", alpha[-1]), alpha[-1])
        if end > begin:
            at = [0, *(int(np.flatnonzero(alpha <= time)[-1]) for time in (begin, end)), -1]
            learnt.append(number)
            rows.append(errors[at, place])
    return Forgetting(tuple(learnt), *np.reshape(rows, (len(rows), 4)).T)
