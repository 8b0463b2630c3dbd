"""The symmetric plateau of a problem with biases, in numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from symderiv.analysis.fixed_points.symmetric_flow import symmetric_point
from symderiv.api.arguments.starts import start_of
from symderiv.api.results.answer import Answer
from symderiv.api.results.flows.stationary_flow import unit_flow_of
from symderiv.api.results.rate_function import flow_at
from symderiv.foundation.errors import InputError, ToleranceError
from symderiv.integrate.flows.study_flow import Flow
from symderiv.problem.initial import Initial
from symderiv.problem.study import Study

OF_BIASES = (
    "network.student_biases",
    "network.teacher_biases",
    "network.train_biases",
    "training.bias_learning_rate",
)
"""Keys of a learning rule for which this plateau is computed."""

_SMALL, _LASTING = 1e-3, 3000.0
# A short step of differences, because many flows are not smooth close to Q_ij = Q_ii.
_STEP = 5e-4
# Largest rate at the fixed point: means by quadrature are asymmetric by this much.
_STILL = 1e-8
_KINDS = {
    "symmetric": "symmetric",
    "students": "students",
    "teachers": "teachers",
    "specialisation": "students and teachers",
}
"""Names of directions, with the families whose members they distinguish."""


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
    start = _alike(study, float(moments.get("T1", 1)), float(moments.get("D1", 0)))
    chosen = study.changed({"training.order": "full" if full else "small-learning-rate"})
    return BiasedPlateau(_record(study, flow_at(chosen, start), full))


def _alike(study: Study, diagonal: float, rest: float) -> Initial:
    """Return a start with small equal students, and equal teachers in every eigenspace."""
    data = study.data_model
    assert data is not None
    component = data.single()
    level, K, M = float(component.weight @ component.eigenvalue), study.K, study.M
    off = rest / (M - 1) if M > 1 else 0.0
    small = {
        "Q": _SMALL * (0.5 * np.eye(K) + 0.5),
        "R": np.full((K, M), 0.1 * _SMALL),
        "T": (diagonal - off) * np.eye(M) + off,
    }
    return start_of(study, {name: level * each for name, each in small.items()})


def _record(study: Study, flow: Flow, full: bool) -> dict[str, Any]:
    stated = unit_flow_of(flow, study.training.learning_rate)
    point = symmetric_point(stated, (_LASTING,), _STILL, _STEP)
    if point is None:
        raise ToleranceError(
            "the flow approaches no symmetric fixed point within ηα = "
            f"{_LASTING:g}; take a smaller learning rate"
        )
    values, spectrum, residual = point
    state = stated.state(values)
    views, weight = stated.packing(0).views(state), flow.state.weight
    Q = views["student_overlap"] @ (weight * flow.state.eigenvalue)
    told, none = spectrum.told(residual), np.empty(0)
    eigenvalues = {
        name: told["eigenvalues"].get(kind, none).real.tolist() for name, kind in _KINDS.items()
    }
    names = {kind: name for name, kind in _KINDS.items()}
    return {
        "activation": study.student_activation,
        "units": study.M,
        "learning_rate": study.training.learning_rate,
        "order": "full" if full else "small-learning-rate",
        "Q": float(Q[0, 0]),
        "C": float(Q[0, -1]) if len(Q) > 1 else 0.0,
        "R": float(views["cross_overlap"][0, 0] @ weight),
        "b": float(views["b"][0] if "b" in views else study.student_biases[0]),
        "generalization_error": float(flow.errors_at(state[None], flow.parameters)[0]),
        **told,
        "direction": names[told["direction"]],
        "eigenvalues": eigenvalues,
    }
