r"""Laws of examples for inputs of several components with a common eigenbasis.

An example comes from component c with probability p_c and has the eigenvalues ρ_k^c; the teacher
sees the inputs. The order parameters per eigenspace are the means over its coordinates of J J, J B
and B B, which all components share. Each component has its own Q^c, R^c, T^c, hence its own rates,
which are mixed as those of tasks are: dQ_k = Σ_c p_c dQ_k^c.
"""

from __future__ import annotations

from collections.abc import Sequence

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


def with_eigenvalues(
    law: Law,
    eigenvalue: np.ndarray,
    usual: np.ndarray,
    weight: np.ndarray,
    packings: Sequence[Packing],
) -> Law:
    """Return a law for inputs with other eigenvalues, in the same eigenspaces.

    The weight vectors are the same, and so are J·J and J·B in every eigenspace. State and constants
    of plain descent contain r_k = ρ_k J·B and t_k = ρ_k² B·B, which are rescaled.

    Args:
        law: The law for the usual inputs.
        eigenvalue: The eigenvalues of the other inputs, shape (L,), > 0.
        usual, weight: The usual eigenvalues, > 0, and their multiplicities over N, shape (L,).
        packings: The packings of states and of constants.
    """
    constants, scale = law.constants.copy(), np.ones(packings[0].size)
    own = packings[1].views(constants)
    teachers = own["teacher_overlap"] / usual**2
    own["eigenvalue"][...] = eigenvalue
    own["teacher_overlap"][...] = teachers * eigenvalue**2
    own["T"][...] = teachers @ (weight * eigenvalue)
    for name, part in packings[0].views(scale).items():
        if families_of(name)[1:] == ("B",):
            part[...] = eigenvalue / usual
    return law._replace(constants=constants, scale=scale)


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
    laws = []
    for each in data.components:
        eigenvalue = np.where(each.eigenvalue > 0.0, each.eigenvalue, _NO_VARIANCE)
        law = Law(constants, each.probability)
        laws.append(with_eigenvalues(law, eigenvalue, usual, weight, packings))
    return tuple(laws)


def inputs_of_tasks(study: Study, state: State) -> dict[int, np.ndarray]:
    """Return the eigenvalues of tasks that have inputs of their own, by the number of the [[task]].

    Raises:
        InputError: they are not in the eigenspaces of the state; the message starts with the key.
    """
    by_task = {}
    for number, task in enumerate(study.task):
        if task.data is None:
            continue
        require_linear_teacher(state)
        by_task[number] = task_eigenvalues(study, number, state.eigenvalue, state.weight)
    return by_task
