"""Curricula: tasks whose inputs have other eigenvalues than the study's, in the same eigenspaces.

Between two tasks the vectors stay what they are, and with them J·J and J·B of every eigenspace.
State and constants of plain descent hold r_k = ρ_k J·B and t_k = ρ_k² B·B: these are rescaled.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from symderiv.foundation.packing import Packing, families_of
from symderiv.problem.initial import require_linear_teacher
from symderiv.problem.rule_pairs import task_eigenvalues
from symderiv.problem.state import State
from symderiv.problem.study import Study


@dataclass(frozen=True)
class TaskInputs:
    """The inputs of a task.

    Attributes:
        usual: eigenvalues ρ of the study's inputs, shape (L,), > 0.
        weight: their multiplicities over N, shape (L,).
        eigenvalue: those of the task's, in the same eigenspaces, shape (L,), > 0.
    """

    usual: np.ndarray
    weight: np.ndarray
    eigenvalue: np.ndarray

    @cached_property
    def _ratio(self) -> np.ndarray:
        ratio: np.ndarray = self.eigenvalue / self.usual
        return ratio

    def states(self, states: np.ndarray, packing: Packing, *, back: bool = False) -> np.ndarray:
        """Flat states (…, n) of the study's inputs as those of the task's, or back."""
        changed = states.copy()
        own = packing.views(changed[..., : packing.size])
        for name in own:
            if families_of(name)[1:] == ("B",):
                own[name][...] *= 1.0 / self._ratio if back else self._ratio
        return changed

    def parameters(self, parameters: np.ndarray, packing: Packing) -> np.ndarray:
        """Return the same of flat constants."""
        changed = parameters.copy()
        own = packing.views(changed)
        teachers = own["teacher_overlap"] / self.usual**2
        own["eigenvalue"][...] = self.eigenvalue
        own["teacher_overlap"][...] = teachers * self.eigenvalue**2
        own["T"][...] = teachers @ (self.weight * self.eigenvalue)
        return changed


def inputs_of_tasks(study: Study, state: State) -> dict[int, TaskInputs]:
    """Return the inputs of those entries of [[task]] that have their own, by the numbers of
    entries.

    Raises:
        InputError: they are not in the eigenspaces of the state; the message starts with the key.
    """
    by_task = {}
    for number, task in enumerate(study.task):
        if task.data is None:
            continue
        require_linear_teacher(state)
        eigenvalue = task_eigenvalues(study, number, state.eigenvalue, state.weight)
        by_task[number] = TaskInputs(state.eigenvalue, state.weight, eigenvalue)
    return by_task
