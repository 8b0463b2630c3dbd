"""Curricula: tasks whose inputs have other eigenvalues than the study's."""

from __future__ import annotations

from symderiv.integrate.flows.components import OtherInputs
from symderiv.problem.initial import require_linear_teacher
from symderiv.problem.rule_pairs import task_eigenvalues
from symderiv.problem.state import State
from symderiv.problem.study import Study


def inputs_of_tasks(study: Study, state: State) -> dict[int, OtherInputs]:
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
        by_task[number] = OtherInputs(state.eigenvalue, state.weight, eigenvalue)
    return by_task
