"""The result of an integration."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from symderiv.dynamics.compression import Compression
from symderiv.dynamics.state import State


@dataclass(frozen=True)
class Trajectory:
    """Learning curves of a study.

    Args:
        alpha: times reached, ascending, shape (P,); all those asked for when ``cause`` is "done".
        Q, R, v: shapes (P, K, K), (P, K, M), (P, K).
        T: teacher covariance, shape (M, M).
        teacher_weights: shape (M,).
        generalization_error: shape (P,); absolute error of the order of 1e-16 beside that of Q, R.
        student_overlap, cross_overlap: per eigenvalue, shapes (P, L, K, K), (P, L, K, M).
        initial, final: the states at alpha = 0 and at ``alpha_end``.
        alpha_end: the time of the last accepted step.
        cause: "done", "not-a-number", "step-underflow", "cone-left", "step-limit", "interrupted".
        message: one line that says how the run ended.
        steps, rejected, rhs_evaluations: of all integrations made, the error check included.
        tolerance_reached: largest error of Q, R, v over the times of the result, relative to
            max Q, sqrt(max Q max T) and max v at that time, as ``tolerance_method`` measures it.
        tolerance_kept: not measured to be above the tolerance asked for.
        error_accuracy: largest relative change of the generalisation error in the same comparison;
            not a number when the integration was not repeated. Late in learning the error is a
            small difference of Q, R and T, and less accurate than they are.
        method: "explicit", "implicit", or "explicit to alpha = ..., then implicit".
        compression: None when all eigenvalues were kept. Otherwise ``initial``, ``final`` and the
            overlaps per eigenvalue are those of its nodes; Q, R, T and v are as ever.
    """

    alpha: np.ndarray
    Q: np.ndarray
    R: np.ndarray
    T: np.ndarray
    v: np.ndarray
    teacher_weights: np.ndarray
    generalization_error: np.ndarray
    student_overlap: np.ndarray
    cross_overlap: np.ndarray
    initial: State
    final: State
    alpha_end: float
    cause: str
    message: str
    steps: int
    rejected: int
    rhs_evaluations: int
    wall_seconds: float
    relative_tolerance: float
    tolerance_reached: float
    tolerance_method: str
    tolerance_kept: bool
    error_accuracy: float
    method: str = "explicit"
    compression: Compression | None = None
    warnings: tuple[str, ...] = ()
    study_text: str = ""
    student_activation: str = ""
    teacher_activation: str = ""
    kernel_sha256: str = ""
    kernel_name: str = ""
    attributes: dict[str, str | float] = field(default_factory=dict)

    @property
    def succeeded(self) -> bool:
        """The end was reached and the tolerance was kept."""
        return self.cause == "done" and self.tolerance_kept
