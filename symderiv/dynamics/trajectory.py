"""The result of an integration."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from symderiv.drawing import drawing
from symderiv.dynamics.compression import Compression
from symderiv.dynamics.state import State
from symderiv.outputs import Output
from symderiv.showing import Shown, Summary

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes


@dataclass(frozen=True, repr=False, eq=False)
class Trajectory(Shown):
    """Learning curves: the order parameters and the error over time.

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
        output: the file it was written to, if any.
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
    output: str | None = None

    @property
    def succeeded(self) -> bool:
        """The end was reached and the tolerance was kept."""
        return self.cause == "done" and self.tolerance_kept

    def failure(self) -> str | None:
        """What was asked for and not reached, in one line; None if nothing."""
        if self.cause != "done":
            return f"{self.message}; what was computed before is kept"
        if not self.tolerance_kept:
            return (
                f"time.relative_tolerance: {self.relative_tolerance:g} was asked for, "
                f"{self.tolerance_reached:.1e} was reached"
            )
        return None

    def to_dict(self) -> dict[str, Any]:
        """What ``symderiv solve --json`` prints."""
        error = self.generalization_error
        compressed = self.compression
        return {
            "output": self.output,
            "alpha_end": float(self.alpha_end),
            "generalization_error_end": float(error[-1]) if error.size else None,
            "method": self.method,
            "steps": self.steps,
            "rhs_evaluations": self.rhs_evaluations,
            "wall_seconds": self.wall_seconds,
            "tolerance_reached": self.tolerance_reached,
            "compression": str(compressed or "none"),
            "compression_error": None if compressed is None else compressed.error,
            "cause": self.cause,
            "warnings": list(self.warnings),
            "activation": self.student_activation,
            "teacher_activation": self.teacher_activation,
        }

    def _summary(self) -> Summary:
        K, M = self.R.shape[-2:]
        error = self.generalization_error
        learns = self.student_activation
        if self.teacher_activation != self.student_activation:
            learns += f" learning {self.teacher_activation}"
        rows: list[tuple[str, object]] = [
            ("activation", learns),
            ("units", f"K = {K} students, M = {M} teachers, {self.initial.L} eigenvalues"),
            ("alpha", f"{self.alpha.size} times to {self.alpha_end:.6g}; {self.message}"),
        ]
        if error.size:
            rows.append(("generalization_error", f"{error[0]:.6g} to {error[-1]:.6g}"))
        reached = f"{self.tolerance_reached:.1e} of {self.relative_tolerance:g} asked for"
        rows.append(("tolerance", f"{reached} ({self.tolerance_method})"))
        rows.append(("work", f"{self.steps} steps, {self.wall_seconds:.3g} s, {self.method}"))
        notes = [f"warning: {warning}" for warning in self.warnings]
        return Summary("Trajectory", rows, notes)

    def to_text(self) -> str:
        """What ``symderiv solve`` prints."""
        return rows_of(self.to_dict())

    def plot(self, *others: Any, ax: Axes | None = None) -> Axes:
        """Draw ε_g(α); ``others`` are further trajectories, and simulations as points.

        Args:
            others: :class:`Trajectory` as lines, :class:`Simulation` as means with standard errors.
            ax: Matplotlib axes to draw into; None makes new ones.

        Returns:
            The axes.
        """
        axes: Axes = drawing("axes").error_axes([self, *others], ax)
        return axes

    def to_xarray(self) -> xarray.Dataset:
        """Q, R, T, v, ε_g and the eigenvalues with named dimensions, units and meanings."""
        from symderiv.dynamics.output import run_dataset

        return run_dataset(self)

    def save(self, path: str | PathLike[str] | Output, *, force: bool = False) -> Trajectory:
        """Write ``RUN.nc``, whole or not at all; :func:`symderiv.open` reads it.

        Args:
            path: the file; its folder is made if needed.
            force: replace a file also if symderiv did not write it.

        Returns:
            The same trajectory, which knows where it was written.
        """
        from symderiv.dynamics.output import write_run

        target = path if isinstance(path, Output) else Output(path, "nc", force=force)
        return replace(self, output=str(write_run(target, self)))


def rows_of(found: dict[str, Any]) -> str:
    """A result's JSON object as aligned lines; warnings one by one."""
    width = max(len(name) for name in found)
    lines = []
    for name, value in found.items():
        if name == "warnings":
            lines += [f"{'warning':<{width}}  {warning}" for warning in value]
        else:
            shown = f"{value:.6g}" if isinstance(value, float) else str(value)
            lines.append(f"{name.replace('_', ' '):<{width}}  {shown}")
    return "\n".join(lines) + "\n"
