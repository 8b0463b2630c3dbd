"""The symmetric plateau of a problem with biases, in numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from symderiv.analysis.plateau.numeric_plateau import numeric_plateau
from symderiv.api.results.answer import Answer
from symderiv.api.results.flows.stationary_flow import unit_flow_of
from symderiv.foundation.errors import InputError
from symderiv.integrate.rules.phases import rule_flow
from symderiv.integrate.rules.rule_run import RuleFlow
from symderiv.problem.initial import Initial
from symderiv.problem.state import State
from symderiv.problem.study import Study

OF_BIASES = (
    "network.student_biases",
    "network.teacher_biases",
    "network.train_biases",
    "training.bias_learning_rate",
)
"""Keys of a rule that this plateau knows."""

_SMALL = 1e-3


class BiasedPlateau(Answer):
    """The state in which all students are alike, including their biases, and the escape from it.

    Attributes:
        Q, C, R: Q_ii, Q_ij, R_in; b: the students' bias; generalization_error: the height.
        unstable_eigenvalue: largest rate of all directions, per unit α; direction: what grows:
            "specialisation", "students", "teachers" or "symmetric"; escape_time: its inverse, or
            None.
        eigenvalues: real parts of the Jacobian's, by these kinds; eigenvalue_error: largest
            difference found when its steps are doubled.
        residual: largest rate that is left at the fixed point.
    """

    _title = "Symmetric plateau with biases"
    _first = (
        *("activation", "units", "learning_rate", "order", "R", "Q", "C", "b"),
        *("generalization_error", "unstable_eigenvalue", "direction", "escape_time"),
    )


def biased_plateau_of(study: Study, full: bool, moments: Mapping[str, Any]) -> BiasedPlateau:
    """Return the plateau of a study with biases.

    Args:
        study: K = M, all students alike, all teachers alike.
        full: with the terms of order η².
        moments: T1 and D1: diagonal of T and sum of the rest of a row; 1 and 0 when left out.

    Raises:
        InputError: the study is not of this kind; with the argument's name.
        ToleranceError: no symmetric fixed point is approached.
    """
    for key in study.rule_keys:
        if key not in OF_BIASES:
            raise InputError(
                "cannot be combined with the analysis of plateaus yet; remove the key", argument=key
            )
    for name in moments:
        if name not in ("T1", "D1"):
            raise InputError("is not one of T1, D1, which plateaus with biases take", argument=name)
    for name in ("student_biases", "teacher_biases"):
        if np.ptp(getattr(study, name)) != 0.0:
            raise InputError("must be equal here", argument=name)
    state = _alike(study, float(moments.get("T1", 1)), float(moments.get("D1", 0)))
    chosen = study.changed({"training.order": "full" if full else "small-learning-rate"})
    flow = rule_flow(chosen, Initial(state, None, None))(state)
    return BiasedPlateau(_record(study, flow, full))


def _alike(study: Study, diagonal: float, rest: float) -> State:
    """Small students that are alike; teachers whose vectors are alike in every eigenspace."""
    data = study.data_model
    assert data is not None
    component = data.single()
    eigenvalue, weight = component.eigenvalue, component.weight
    K, M, L = study.K, study.M, eigenvalue.size
    off = rest / (M - 1) if M > 1 else 0.0
    teachers = (diagonal - off) * np.eye(M) + off
    level = float(weight @ eigenvalue)
    return State(
        eigenvalue=eigenvalue,
        weight=weight,
        student_overlap=np.tile(_SMALL * (0.5 * np.eye(K) + 0.5), (L, 1, 1)),
        # of students and teachers with φ, which has the eigenvalue in it
        cross_overlap=0.1 * _SMALL * eigenvalue[:, None, None] * np.ones((K, M)),
        teacher_overlap=eigenvalue[:, None, None] ** 2 * teachers,
        teacher_covariance=level * teachers,
        student_weights=study.student_weights,
        teacher_weights=study.teacher_weights,
    )


def _record(study: Study, flow: RuleFlow, full: bool) -> dict[str, Any]:
    stated = unit_flow_of(flow, study.training.learning_rate)
    state, spectrum, residual = numeric_plateau(stated)
    views, weight = stated.packing(0).views(state), flow.state.weight
    Q = views["student_overlap"] @ (weight * flow.state.eigenvalue)
    told = spectrum.told(residual)
    return {
        "activation": study.student_activation,
        "units": study.M,
        "learning_rate": study.training.learning_rate,
        "order": "full" if full else "small-learning-rate",
        "Q": float(Q[0, 0]),
        "C": float(Q[0, -1]) if len(Q) > 1 else 0.0,
        "R": float(views["cross_overlap"][0, 0] @ weight),
        "b": float(views["b"][0] if "b" in views else study.student_biases[0]),
        "generalization_error": flow.error_at(state, flow.parameters),
        **told,
        "eigenvalues": {kind: each.real.tolist() for kind, each in told["eigenvalues"].items()},
    }
