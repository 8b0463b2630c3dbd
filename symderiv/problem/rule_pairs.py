"""Keys of a learning rule that cannot be combined, refused when a study is read.

Every combination that is not refused here can be derived: refusals by the names of keys come before
any derivation. SymPy is imported only for losses that are not quadratic.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from symderiv.foundation.errors import InputError
from symderiv.keys.study_tables import InitialState, Network, Time, Training
from symderiv.problem.task_table import Task

if TYPE_CHECKING:
    from symderiv.inputs import DataModel

_APART = {
    f"{table}.{name}": record.apart
    for table, keys in (("network", Network), ("training", Training), ("task", Task))
    for name, record in keys.RECORDS.items()
    if record.apart
}
"""Keys with the keys that they cannot be combined with."""


class Stated(Protocol):
    """The parts of a study that decide which keys can be combined."""

    network: Network
    training: Training
    initial: InitialState
    time: Time
    task: list[Task]

    @property
    def rule_keys(self) -> tuple[str, ...]:
        """The keys that make the rule differ from plain descent."""

    @property
    def data_model(self) -> DataModel | None:
        """The inputs as a data model."""

    @property
    def base(self) -> Path:
        """The folder that files are relative to."""


def check_pairs(study: Stated) -> None:
    """Refuse a study with keys that cannot be combined.

    Raises:
        InputError: two keys cannot be combined; the message has their full names.
        DivergentError: the mean forces of its loss do not exist.
    """
    for key, other in _refused(study):
        raise InputError(f"cannot be combined with {other}; remove one", argument=key)
    _check_inputs(study)
    if study.training.loss != "squared" or study.training.target != "sum":
        _check_loss(study)


def _refused(study: Stated) -> Iterator[tuple[str, str]]:
    """Yield pairs of keys of a study that cannot be combined."""
    training, given = study.training, _given(study)
    for key, others in _APART.items():
        for other in others:
            if key in given and other in given:
                yield given[key], given[other]
    if training.normalise == "gradient":
        mixed = [n for n, task in enumerate(study.task) if task.mixture is not None]
        if mixed:
            yield "training.normalise", f"task[{mixed[0]}].mixture"
        if training.order != "full":
            yield "training.normalise", "training.order"
    heads = {_head(study, number) for number, task in enumerate(study.task) if task.teachers}
    # output weights of idle heads stay constant, but velocities would keep moving them
    trained = study.network.train_second_layer
    if training.momentum_rate is not None and trained and len(heads) > 1:
        several = "network.train_second_layer and several heads of task"
        yield "training.momentum_rate", several
    if study.rule_keys and study.time.method == "implicit":
        yield "time.method", study.rule_keys[0]


def _given(study: Stated) -> dict[str, str]:
    """Return the keys of a study that change how weights move, by key with the name for
    messages.
    """
    keys = {key: key for key in study.rule_keys}
    for name in ("weight_decay", "second_layer_weight_decay"):
        if getattr(study.training, name):
            keys[f"training.{name}"] = f"training.{name}"
    for number, task in enumerate(study.task):
        if task.data is not None:
            keys.setdefault("task.data", f"task[{number}].data")
    return keys


def _head(study: Stated, number: int) -> int:
    """Return the number of the student's head of a task."""
    given = study.task[number].head
    return number if given is None else 0 if given == "shared" else int(given)


def _check_inputs(study: Stated) -> None:
    """Refuse inputs that cannot be combined with a rule, or a task's inputs with the study's."""
    data = study.data_model
    several = data is not None and len(data.components) > 1
    if several and study.rule_keys:
        raise InputError(
            "cannot be combined with inputs of several classes yet; remove the key",
            argument=study.rule_keys[0],
        )
    for number, task in enumerate(study.task):
        if task.data is None:
            continue
        key = f"task[{number}].data"
        if data is not None and data.latent is not None:
            raise InputError(
                "cannot be combined with inputs that the teacher does not see itself yet; "
                "remove it",
                argument=key,
            )
        for mixed, other in enumerate(study.task):
            if other.mixture is not None and (mixed == number or str(number) in other.mixture):
                raise InputError(
                    f"cannot be combined with task[{mixed}].mixture: examples of a phase have "
                    "one input model; remove one",
                    argument=key,
                )
        if data is not None and study.initial.state is None:
            component = data.single()
            task_eigenvalues(study, number, component.eigenvalue, component.weight)


def task_eigenvalues(
    study: Stated, number: int, eigenvalue: np.ndarray, weight: np.ndarray
) -> np.ndarray:
    """Return the eigenvalues of a task's inputs in the eigenspaces of the study's, shape (L,).

    Args:
        study, number: the entry of [[task]], which has inputs of its own.
        eigenvalue, weight: the eigenvalue and weight of the study's inputs, shape (L,).

    Raises:
        InputError: they do not fit these eigenspaces; the message starts with the key.
    """
    key, given = f"task[{number}].data", study.task[number].data
    assert given is not None
    try:
        model = given.built(study.base)
    except InputError as error:
        raise error.renamed(f"{key}.{error.argument}") from None
    component, usual = model.single(), study.data_model
    if model.dimension is not None and usual is not None and model.dimension != usual.dimension:
        raise InputError(
            f"is {model.dimension}, but the study has {usual.dimension} inputs; make them equal",
            argument=f"{key}.dimension",
        )
    if np.any(eigenvalue <= 0.0) or np.any(component.eigenvalue <= 0.0):
        raise InputError(
            "has the eigenvalue 0, at which overlaps with teachers are lost; give a small "
            "positive eigenvalue instead",
            argument=key,
        )
    if model.name == "isotropic":
        return np.ones_like(eigenvalue)
    if component.eigenvalue.size != eigenvalue.size:
        raise InputError(
            f"has {component.eigenvalue.size} eigenvalues, but the study's inputs have "
            f"{eigenvalue.size}; give one for each eigenspace of the study, in its order",
            argument=key,
        )
    if not np.allclose(component.weight, weight, rtol=1e-9, atol=0.0):
        raise InputError(
            "has other weights than the study's inputs; give the same weights in the same order",
            argument=key,
        )
    return component.eigenvalue


def _check_loss(study: Stated) -> None:
    """Refuse means of forces that do not exist, or over more fields than modules integrate over."""
    training = study.training
    try:
        _fields_exist(
            study.network.activation,
            study.network.teacher_activation,
            training.loss,
            training.target,
            study.network.students if training.keep < 1.0 else 0,
        )
    except InputError as error:
        name = None if error.argument is None else f"training.{error.argument}"
        raise error.renamed(name) from None


@lru_cache(maxsize=256)
def _fields_exist(
    student: str,
    teacher: str | None,
    loss_text: str,
    target: str,
    masked: int,
) -> None:
    """Raise the errors of :func:`_check_loss`, remembered by its arguments; return nothing."""
    from symderiv.learning.rule.learning_problem import learning_problem
    from symderiv.learning.rule.learning_rule import LearningRule
    from symderiv.learning.rule.loss import loss
    from symderiv.lowering.means.force_fields import ForceFields, over_fields

    rule = LearningRule(
        loss=loss(loss_text),
        target="sign" if target == "sign" else "sum",
        dropout=masked > 0,
    )
    problem = learning_problem(student, teacher, rule)
    if over_fields(problem):
        ForceFields(problem).check_masks(masked)
