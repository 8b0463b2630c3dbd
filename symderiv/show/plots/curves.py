"""The curves of one study in a report: those of the equations and simulated points."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Curve:
    """The solution of the order-parameter equations at n ascending times.

    Args:
        alpha: Times, shape (n,), examples per input dimension.
        error: Generalisation error, shape (n,).
        Q: Student covariance, shape (n, K, K).
        R: Student-teacher covariance, shape (n, K, M).
        T: Teacher covariance, shape (M, M).
        v: Output weights of the student, shape (n, K).
        numbers: The rows of the table of numbers (steps, seconds, tolerance, ...).
        complete: False if the integration ended before the last asked time.
        end_reason: Why the integration ended.
        warnings: Remarks on the validity of the result, one sentence each.
    """

    alpha: Floats
    error: Floats
    Q: Floats
    R: Floats
    T: Floats
    numbers: Mapping[str, float | int | str] = field(default_factory=dict)
    complete: bool = True
    end_reason: str = ""
    warnings: tuple[str, ...] = ()
    v: Floats | None = None

    @property
    def trained_weights(self) -> Floats | None:
        """The output weights, if they change by more than rounding of interpolation."""
        if self.v is None or not self.v.size:
            return None
        moves = np.abs(self.v - self.v[0]).max() > 1e-9 * np.abs(self.v).max()
        return self.v if moves else None


@dataclass(frozen=True)
class SimulatedPoints:
    """Means over runs of the simulation with standard errors, in the shapes of ``Curve``.

    ``error_se`` is NaN for a single run, which has no standard error.
    """

    alpha: Floats
    error: Floats
    error_se: Floats
    Q: Floats
    Q_se: Floats
    R: Floats
    R_se: Floats
    runs: int
    numbers: Mapping[str, float | int | str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    v: Floats | None = None
    v_se: Floats | None = None


@dataclass(frozen=True)
class StudyCase:
    """One study of a sweep, with its label, swept values, results and files."""

    label: str
    settings: Mapping[str, object]
    curve: Curve
    points: SimulatedPoints | None = None
    files: tuple[str, ...] = ()
