r"""Laws of examples for inputs of several components with a common eigenbasis.

An example comes from component c with probability p_c and has the eigenvalues ρ_k^c; the teacher
sees the inputs. The order parameters per eigenspace are the means over its coordinates of J J, J B
and B B, which all components share. Each component has its own Q^c, R^c, T^c, hence its own rates,
which are mixed as those of tasks are: dQ_k = Σ_c p_c dQ_k^c.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from symderiv.foundation.packing import Packing, families_of
from symderiv.inputs import DataModel
from symderiv.integrate.flows.courses import Law
from symderiv.problem.initial import require_linear_teacher
from symderiv.problem.rule_pairs import task_eigenvalues
from symderiv.problem.state import State
from symderiv.problem.study import Study

# Stands for an eigenvalue of zero, so that J·B can be divided by it; its square does not underflow.
_NO_VARIANCE = 1e-150


@dataclass(frozen=True)
class OtherInputs:
    """Inputs with other eigenvalues than those of a state, in the same eigenspaces.

    The weight vectors are the same, and so are J·J and J·B in every eigenspace. State and constants
    of plain descent contain r_k = ρ_k J·B and t_k = ρ_k² B·B, which are rescaled.

    Attributes:
        usual: eigenvalues ρ of the state, shape (L,), > 0.
        weight: their multiplicities over N, shape (L,).
        eigenvalue: those of these inputs, shape (L,), > 0.
    """

    usual: np.ndarray
    weight: np.ndarray
    eigenvalue: np.ndarray

    @cached_property
    def _ratio(self) -> np.ndarray:
        ratio: np.ndarray = self.eigenvalue / self.usual
        return ratio

    def states(self, states: np.ndarray, packing: Packing, *, back: bool = False) -> np.ndarray:
        """Return flat states (…, n) rescaled from the usual inputs to these, or ``back``."""
        changed = states.copy()
        own = packing.views(changed[..., : packing.size])
        for name in own:
            if families_of(name)[1:] == ("B",):
                own[name][...] *= 1.0 / self._ratio if back else self._ratio
        return changed

    def parameters(self, parameters: np.ndarray, packing: Packing) -> np.ndarray:
        """Return flat constants rescaled from the usual inputs to these."""
        changed = parameters.copy()
        own = packing.views(changed)
        teachers = own["teacher_overlap"] / self.usual**2
        own["eigenvalue"][...] = self.eigenvalue
        own["teacher_overlap"][...] = teachers * self.eigenvalue**2
        own["T"][...] = teachers @ (self.weight * self.eigenvalue)
        return changed

    def law(self, constants: np.ndarray, share: float, packings: Sequence[Packing]) -> Law:
        """Return the law of examples that have these inputs.

        Args:
            constants: The flat constants for the usual inputs.
            share: The probability of an example.
            packings: The packings of states and of constants.
        """
        state, own = packings
        return Law(
            self.parameters(constants, own), share, None, self.states(np.ones(state.size), state)
        )


def laws_of_classes(
    data: DataModel, weight: np.ndarray, constants: np.ndarray, packings: Sequence[Packing]
) -> tuple[Law, ...]:
    """Return the law of the examples of each component of inputs.

    Args:
        data: The inputs.
        weight: The multiplicities of the averaged eigenvalues over N, shape (L,).
        constants: The flat constants for the averaged eigenvalues.
        packings: The packings of states and of constants.
    """
    mean = data.average().eigenvalue
    usual = np.where(mean > 0.0, mean, 1.0)
    return tuple(
        OtherInputs(
            usual, weight, np.where(each.eigenvalue > 0.0, each.eigenvalue, _NO_VARIANCE)
        ).law(constants, each.probability, packings)
        for each in data.components
    )


def inputs_of_tasks(study: Study, state: State) -> dict[int, OtherInputs]:
    """Return the inputs of tasks that have their own, by the number of the [[task]].

    Raises:
        InputError: they are not in the eigenspaces of the state; the message starts with the key.
    """
    by_task = {}
    for number, task in enumerate(study.task):
        if task.data is None:
            continue
        require_linear_teacher(state)
        eigenvalue = task_eigenvalues(study, number, state.eigenvalue, state.weight)
        by_task[number] = OtherInputs(state.eigenvalue, state.weight, eigenvalue)
    return by_task
