"""What a study says as a :class:`symderiv.System`: its rule's statement with its numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symderiv.dynamics.rules.rule_of import rule_of
from symderiv.errors import NotClosed
from symderiv.expressions import activation
from symderiv.learning.rule.learning_problem import LearningProblem
from symderiv.learning.rule.stated_rule import RuleNumbers, exact, state_rule
from symderiv.system.stated_system import System

if TYPE_CHECKING:
    from symderiv.dynamics.studies.study import Study

__all__ = ["system_of"]

#: Keys of studies that are no statement about one fresh example, and why.
_NO_STATEMENT = {
    "schedule": "rates that depend on α are parameters of a run, not of the step",
    "task": "a sequence of tasks is a sequence of statements; state each of them",
}


def system_of(study: Study) -> System:
    """Return what a study says as a statement; names are those of ``state_rule``.

    Raises:
        NotClosed: The rule is no statement about one fresh example.
    """
    training = study.training
    for key, reason in _NO_STATEMENT.items():
        given = study.task if key == "task" else getattr(training, key)
        if given not in (None, [], "constant"):
            raise NotClosed(f"{key}: {reason}", average="", statement=key)
    P = System()
    g, h = activation(study.student_activation), activation(study.teacher_activation)
    problem = LearningProblem(g, h, rule_of(study).rule)
    state_rule(P, problem, _numbers(study), study.data)
    return P


def _numbers(study: Study) -> RuleNumbers:
    """Return the numbers of a study's rule."""
    training, network = study.training, study.network
    eta, eta_b = training.learning_rate, training.bias_learning_rate
    scale = training.evaluation_scale
    return RuleNumbers(
        K=study.K,
        M=study.M,
        teacher_weights=study.teacher_weights,
        teacher_biases=study.teacher_biases,
        student_weights=None if network.train_second_layer else study.student_weights,
        student_biases=None if network.train_biases else study.student_biases,
        learning_rate=exact(eta) / (1 - exact(training.momentum)),
        second_layer_learning_rate=study.second_layer_learning_rate,
        bias_learning_rate=eta if eta_b is None else eta_b,
        weight_decay=training.weight_decay,
        second_layer_weight_decay=study.second_layer_weight_decay,
        label_noise=training.label_noise,
        label_flip=training.label_flip,
        input_noise=training.input_noise,
        update_noise=training.update_noise,
        keep=training.keep,
        evaluation_scale=training.keep if scale is None or training.keep == 1 else scale,
        momentum_rate=training.momentum_rate,
        batch=training.batch or 1,
        batch_ratio=training.batch_ratio,
    )
