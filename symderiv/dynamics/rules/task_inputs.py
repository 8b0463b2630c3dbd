"""Curricula: tasks whose inputs have other eigenvalues than the study's, in the same eigenspaces.

Between two tasks the vectors stay what they are, and with them J·J and J·B of every eigenspace.
State and constants of plain descent hold r_k = ρ_k J·B and t_k = ρ_k² B·B: these are rescaled.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from symderiv.dynamics.studies.initial import require_linear_teacher
from symderiv.dynamics.studies.state import State
from symderiv.dynamics.studies.study import Study
from symderiv.errors import InputError
from symderiv.packing import Packing

_NOT_TOGETHER = ("training.input_noise", "training.normalise")


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
        found: np.ndarray = self.eigenvalue / self.usual
        return found

    def states(self, states: np.ndarray, packing: Packing, *, back: bool = False) -> np.ndarray:
        """Flat states (…, n) of the study's inputs as those of the task's, or back."""
        found = states.copy()
        own = packing.views(found[..., : packing.size])
        for name in ("cross_overlap", "momentum_cross"):
            if name in own:
                own[name][...] *= 1.0 / self._ratio if back else self._ratio
        return found

    def parameters(self, parameters: np.ndarray, packing: Packing) -> np.ndarray:
        """The same of flat constants."""
        found = parameters.copy()
        own = packing.views(found)
        teachers = own["teacher_overlap"] / self.usual**2
        own["eigenvalue"][...] = self.eigenvalue
        own["teacher_overlap"][...] = teachers * self.eigenvalue**2
        own["T"][...] = teachers @ (self.weight * self.eigenvalue)
        return found


def inputs_of_tasks(study: Study, state: State) -> dict[int, TaskInputs]:
    """The inputs of those entries of [[task]] that have their own, by the numbers of entries.

    Raises:
        InputError: they are not derived for the study, or not in its eigenspaces; the message
            starts with the key.
    """
    found = {}
    for number, task in enumerate(study.task):
        if task.data is None:
            continue
        key = f"task[{number}].data"
        _check(study, number, key)
        require_linear_teacher(state)
        eigenvalue = _in_eigenspaces(study, state, number, key)
        found[number] = TaskInputs(state.eigenvalue, state.weight, eigenvalue)
    return found


def _check(study: Study, number: int, key: str) -> None:
    """Refuse what is not derived together, by name."""
    for other in _NOT_TOGETHER:
        if other in study.rule_keys:
            raise InputError(f"not derived together with {other}; remove one", argument=key)
    data = study.data_model
    if data is not None and (data.latent is not None or len(data.components) > 1):
        raise InputError(
            "not derived together with inputs of several classes, or that the teacher does not "
            "see itself; remove it",
            argument=key,
        )
    mixtures = [n for n, task in enumerate(study.task) if task.mixture is not None]
    for mixed in mixtures:
        names = study.task[mixed].mixture or {}
        if mixed == number or str(number) in names:
            raise InputError(
                f"not derived together with task[{mixed}].mixture: examples of a phase have one "
                "input model; remove one",
                argument=key,
            )


def _in_eigenspaces(study: Study, state: State, number: int, key: str) -> np.ndarray:
    """The eigenvalues of a task's inputs in the eigenspaces of the study's."""
    given = study.task[number].data
    assert given is not None
    try:
        model = given.built(study.base)
    except InputError as error:
        raise error.renamed(f"{key}.{error.argument}") from None
    component, usual = model.single(), study.data_model
    if model.dimension is not None and usual is not None and model.dimension != usual.dimension:
        raise InputError("differs from that of the study", argument=f"{key}.dimension")
    if np.any(state.eigenvalue <= 0.0) or np.any(component.eigenvalue <= 0.0):
        raise InputError(
            "an eigenvalue is 0: overlaps with teachers cannot be carried over; make it small",
            argument=key,
        )
    if model.name == "isotropic":
        return np.ones_like(state.eigenvalue)
    L = state.eigenvalue.size
    if component.eigenvalue.size != L:
        raise InputError(
            f"{component.eigenvalue.size} eigenvalues, but the study's inputs have {L}: they "
            "belong to its eigenspaces, in its order",
            argument=key,
        )
    if not np.allclose(component.weight, state.weight, rtol=1e-9, atol=0.0):
        raise InputError("the weights are not those of the study's inputs", argument=key)
    return component.eigenvalue
