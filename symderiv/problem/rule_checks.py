"""Checks of the keys of learning rules that involve several keys or a formula."""

from __future__ import annotations

from collections.abc import Sequence

from symderiv.formula.bounds import measure
from symderiv.formula.definitions import expanded
from symderiv.formula.named_losses import NAMED
from symderiv.formula.reader import read
from symderiv.foundation.errors import FormulaError, InputError
from symderiv.keys.study_tables import Network, Training, late_formula
from symderiv.problem.task_table import Task


def check_rule(network: Network, training: Training, tasks: Sequence[Task]) -> None:
    """Refuse keys of the rule that contradict each other or cannot be read.

    Raises:
        InputError: with the full name of the key.
    """
    if training.loss not in NAMED:
        try:
            _check_formula(training.loss, ("s", "t"), "training.loss")
        except FormulaError as error:
            if not training.loss.replace("-", "_").isidentifier():  # "log-cosh" is a name, too
                raise
            reason = f"{error.reason}; losses with a name: {', '.join(NAMED)}"
            raise FormulaError(reason, argument="training.loss") from None
        if "s" not in training.loss:
            raise InputError(
                f"does not depend on s, the student's output; give one of {', '.join(NAMED)}, or "
                "a formula in s and t",
                argument="training.loss",
            )
    schedule = late_formula(training.schedule)
    if schedule is not None:
        _check_formula(schedule, ("alpha",), "training.schedule")
    tables = {"network": network, "training": training}
    for key, record in training.RECORDS.items():
        table, _, needed = record.only_with.partition(".")
        if needed and not training.at_default(key) and tables[table].at_default(needed):
            reason = (
                f"has no effect without {record.only_with}; set that key too, or remove this one"
            )
            raise InputError(reason, argument=f"training.{key}")
    _check_tasks(tasks, network.teachers)


def _check_formula(text: str, names: tuple[str, ...], argument: str) -> None:
    try:
        measure(expanded(read(text, names)), dict.fromkeys(names))
    except FormulaError as error:
        raise error.renamed(argument) from None


def _check_tasks(tasks: Sequence[Task], M: int) -> None:
    before = 0.0
    for place, task in enumerate(tasks):
        name = f"task[{place}]"
        if task.until is None and place + 1 < len(tasks):
            raise InputError(
                "is missing; only the last task may leave it out", argument=f"{name}.until"
            )
        if task.until is not None:
            if task.until < before:
                raise InputError(
                    f"is {task.until:g}, before the end of the previous task, {before:g}; make "
                    "the ends ascend",
                    argument=f"{name}.until",
                )
            before = task.until
        if (task.teachers is None) == (task.mixture is None):
            raise InputError(
                "needs either teachers or a mixture, not both; a mixture names earlier tasks "
                "by their numbers",
                argument=name,
            )
        if task.teachers is not None:
            if not task.teachers or len(set(task.teachers)) < len(task.teachers):
                raise InputError(
                    "must name at least one teacher, and each teacher once",
                    argument=f"{name}.teachers",
                )
            if max(task.teachers) >= M:
                raise InputError(
                    f"names teacher {max(task.teachers)}, but there are {M} teachers, numbered "
                    "from 0",
                    argument=f"{name}.teachers",
                )
        if task.mixture is not None:
            _check_mixture(task.mixture, tasks, name)


def _check_mixture(mixture: dict[str, float], tasks: Sequence[Task], name: str) -> None:
    for key in mixture:
        if not key.isdecimal() or int(key) >= len(tasks) or tasks[int(key)].teachers is None:
            raise InputError(
                f"{key!r} is not the number of a task with teachers; tasks are numbered from 0",
                argument=f"{name}.mixture",
            )
    if abs(sum(mixture.values()) - 1.0) > 1e-12:
        raise InputError("probabilities must sum to 1", argument=f"{name}.mixture")
