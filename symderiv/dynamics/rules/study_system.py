"""What a study says as a :class:`symderiv.System`: its rule's statement with its numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from symderiv.dynamics.rules.rule_of import rule_of
from symderiv.errors import NotClosed
from symderiv.expressions import activation
from symderiv.learning.rule.learning_problem import LearningProblem
from symderiv.learning.rule.stated_rule import RuleNumbers, exact, state_rule
from symderiv.statement.language import Language
from symderiv.system.stated_system import System

if TYPE_CHECKING:
    from symderiv.dynamics.studies.study import Study

__all__ = ["numbers_of", "problem_of", "stated_in", "system_of"]

AnySystem = TypeVar("AnySystem", bound=System)

#: Keys of studies that are no statement about one fresh example, and why.
_NO_STATEMENT = {
    "batch_ratio": "steps of cN examples move weights by amounts of order one, not 1/N",
    "momentum_rate": "velocities of rate 1/N are not derived from statements yet",
    "schedule": "rates that depend on α are parameters of a run, not of the step",
    "task": "a sequence of tasks is a sequence of statements; state each of them",
}


def system_of(study: Study) -> System:
    """Return what a study says as a statement; see :func:`stated_in`."""
    return stated_in(System(study.training.order), study)


def stated_in(P: AnySystem, study: Study) -> AnySystem:
    """State in an empty system what a study says; names are those of ``state_rule``.

    Raises:
        NotClosed: The rule is no statement about one fresh example.
    """
    training = study.training
    for key, reason in _NO_STATEMENT.items():
        given = study.task if key == "task" else getattr(training, key)
        if given not in (None, [], "constant"):
            raise NotClosed(f"{key}: {reason}", average="", statement=key)
    if training.normalise == "gradient":
        raise NotClosed(
            "a step divided by its root mean square contains an average in its rate",
            average="E[Σ F_i²]",
            statement='normalise = "gradient"',
        )
    state_rule(P, problem_of(study), numbers_of(study, P), study.data)
    return P


def problem_of(study: Study) -> LearningProblem:
    """Return the activations and the rule of a study."""
    g, h = activation(study.student_activation), activation(study.teacher_activation)
    return LearningProblem(g, h, rule_of(study).rule)


def numbers_of(study: Study, P: Language, weights_move: bool = False) -> RuleNumbers:
    """Return the numbers of a study's rule.

    They are parameters of the statement, so that other values need no new derivation, unless a
    function without closed mean may contain them: quadrature takes numbers only.

    Args:
        study: What is stated.
        P: Where parameters are declared.
        weights_move: State output weights as slow scalars, also where their rate is zero.
    """
    training, network = study.training, study.network
    moving = weights_move or network.train_second_layer
    linear = training.loss == "squared" and training.target == "sum"

    def rate(name: str, value: float) -> Any:
        return P.parameter(name, exact(value)) if value else 0

    def size(name: str, value: float) -> Any:
        return rate(name, value) if linear else value

    def weights(name: str, values: np.ndarray) -> np.ndarray:
        named = [size(f"{name}{n + 1}", value) for n, value in enumerate(values)]
        return np.array([exact(each) for each in named], dtype=object)

    # a velocity that remembers β of itself adds every step up 1/(1 - β) times
    memory = 1 / (1 - exact(training.momentum))
    eta, eta_b = rate("learning_rate", training.learning_rate), training.bias_learning_rate
    scale = training.evaluation_scale
    eta_v = rate("second_layer_learning_rate", study.second_layer_learning_rate)
    return RuleNumbers(
        K=study.K,
        M=study.M,
        teacher_weights=weights("c", study.teacher_weights),
        teacher_biases=study.teacher_biases,
        student_weights=None if moving else weights("v", study.student_weights),
        student_biases=None if network.train_biases else study.student_biases,
        learning_rate=eta * memory,
        second_layer_learning_rate=eta_v * memory,
        bias_learning_rate=memory * (eta if eta_b is None else rate("bias_learning_rate", eta_b)),
        weight_decay=rate("weight_decay", training.weight_decay),
        second_layer_weight_decay=rate(
            "second_layer_weight_decay", study.second_layer_weight_decay
        ),
        label_noise=size("label_noise", training.label_noise),
        label_flip=training.label_flip,
        input_noise=rate("input_noise", training.input_noise),
        update_noise=rate("update_noise", training.update_noise) * memory,
        keep=training.keep,
        evaluation_scale=training.keep if scale is None or training.keep == 1 else scale,
        momentum_rate=training.momentum_rate,
        batch=training.batch or 1,
        batch_ratio=training.batch_ratio,
        sobolev_weight=rate("sobolev_weight", training.sobolev_weight),
        consistency_weight=rate("consistency_weight", training.consistency_weight),
        averaging_rate=rate("averaging_rate", training.averaging_rate or 0.0),
    )
