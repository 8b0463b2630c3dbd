"""The learning rule of a study, and the numbers that its solver module takes for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from symderiv.keys.study_tables import STATED_KEYS
from symderiv.learning.rule.learning_rule import LearningRule
from symderiv.learning.rule.loss import loss
from symderiv.problem.study import Study

if TYPE_CHECKING:
    from symderiv_codegen import Array


@dataclass(frozen=True)
class StudyRule:
    """A learning rule with its numbers.

    Attributes:
        rule: The rule that the module is derived for.
        parameters: Parameters of the module beyond those of plain descent, by name.
        state: Fields of the module's state beyond those of plain descent, at alpha = 0, by name.
    """

    rule: LearningRule
    parameters: Mapping[str, float | np.ndarray] = field(default_factory=dict)
    state: Mapping[str, np.ndarray] = field(default_factory=dict)


def rule_of(study: Study) -> StudyRule:
    """Return the rule of a study; unsupported combinations were refused when it was read."""
    training = study.training
    trained, stated = study.network.train_biases, study.stated
    rule = LearningRule(
        loss=loss(training.loss),
        target=training.target,
        flips=training.label_flip > 0.0,
        dropout=training.keep < 1.0,
        input_noise=training.input_noise > 0.0,
        update_noise=training.update_noise > 0.0,
        biases=trained or bool(np.any(study.student_biases) or np.any(study.teacher_biases)),
        trained_biases=trained,
        momentum=training.momentum_rate is not None,
        batches=training.batch_ratio is not None,
        normalise=training.normalise,
        stated=tuple(
            name
            for key, others in STATED_KEYS.items()
            if f"training.{key}" in stated
            for name in (key, *others)
        ),
    )
    names = [*_SIZES, *rule.stated, *(("batch_ratio",) if rule.batches else ())]
    sizes: dict[str, float | np.ndarray] = {name: training.size(name) for name in names}
    sizes |= {"student_biases": study.student_biases, "teacher_biases": study.teacher_biases}
    state = {"b": study.student_biases} if trained else {}
    return StudyRule(rule, sizes, {**state, **_no_velocities(rule)})


def added_arrays(study: Study) -> tuple[Array, ...]:
    """Return the arrays that a study's rule adds to the state of plain descent."""
    from symderiv.lowering.solver_arrays import STATE, arrays_of

    return tuple(arrays_of(rule_of(study).rule).state.fields[len(STATE.fields) :])


def _no_velocities(rule: LearningRule) -> dict[str, np.ndarray]:
    """Return the velocities at alpha = 0 and their overlaps, which are zero."""
    names = (*_OVERLAPS, "v_velocity", *(("b_velocity",) if rule.trained_biases else ()))
    return {name: np.zeros(()) for name in names if rule.momentum}


_SIZES = (
    *("label_flip", "keep", "input_noise", "update_noise", "momentum_rate"),
    *("evaluation_scale", "bias_learning_rate"),
)
_OVERLAPS = ("momentum_overlap", "momentum_square", "momentum_cross")
