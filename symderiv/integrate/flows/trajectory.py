"""The result of an integration: learning curves."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from symderiv.foundation.documents.document import Part, Tabular
from symderiv.foundation.drawing import drawing
from symderiv.foundation.outputs import Output
from symderiv.foundation.progress import Progress
from symderiv.foundation.showing import Summary, whole_rows
from symderiv.integrate.events.located_events import FollowedResult, LocatedEvent
from symderiv.integrate.flows.compression import Compression
from symderiv.problem.state import State
from symderiv.storage.learning_curves import Curves, lengths
from symderiv.storage.run_files import GIVEN_START, Contents, start_variables, write

REPEATED = (
    "estimate by repetition: difference to the same integration with a ten times larger tolerance, "
    "and three quarters of that to a worse one whose start differs by more than rounding"
)
"""The ``tolerance_method`` of a run that was made again with a smaller tolerance."""

ESTIMATED = (
    "estimate: difference to the same integration with a larger tolerance, from a start that "
    "differs by more than rounding"
)
"""The ``tolerance_method`` of a run that was compared with a less accurate one."""

PROVED = "bound, proved by balls that contain the exact solution at these times"
"""The ``tolerance_method`` of a certified run, whose ``tolerance_reached`` is a bound."""

LOCAL_SUM = "sum of the estimated local errors"
"""The ``tolerance_method`` of a run without a second one; the growth of errors is left out."""


def error_missed(
    asked: float, reached: float, method: str = ESTIMATED, key: str = "time.relative_tolerance"
) -> str:
    """Return in words that an error, proved or estimated, is above the one asked for."""
    known = "proved to be at most" if method == PROVED else "estimated as"
    return f"{key}: {asked:g} was asked for, the error is {known} {reached:.1e}"


# Arrays per eigenvalue of at most this size, in bytes, are written by default.
_AUTOMATIC_BYTES = 64 * 2**20


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class Trajectory(FollowedResult, Curves):
    """Learning curves: the order parameters and the error over time.

    Args:
        alpha: the times, shape (P,); all that were asked for if ``cause`` is "done".
        Q, R, v: the order parameters, shapes (P, K, K), (P, K, M), (P, K).
        T: teacher covariance, shape (M, M).
        teacher_weights: output weights of the teacher, shape (M,).
        generalization_error: E[(student − teacher)²]/2 without noise, shape (P,). Its absolute
            error is that due to Q and R, plus rounding of the order of 1e-16.
        student_overlap, cross_overlap: the overlaps per eigenvalue, shapes
            (P, L, K, K), (P, L, K, M).
        initial, final: the states at alpha = 0 and at ``alpha_end``; of several heads they have the
            output weights of the first one only, ``heads`` has all.
        alpha_end: the time of the last accepted step.
        cause: "done", "not-a-number", "step-underflow", "cone-left", "step-limit", "interrupted".
        message: one line that says how the run ended.
        steps, rejected, rhs_evaluations: numbers of accepted and rejected steps and of right-hand
            sides, in this integration and in those that estimate its error.
        tolerance_reached: an estimate of the largest error of Q, R, v over the times of the result,
            relative to max Q, sqrt(max Q max T) and max v at that time; a proved bound if the run
            was certified. ``tolerance_method`` says which, and how it was found.
        tolerance_kept: False if this is above the tolerance that was asked for.
        error_accuracy: an estimate of the error of the generalisation error, relative to it, at
            most over the times; not a number if there was no second run. Errors of 1e-14 are not
            counted. Late in learning the generalisation error is a small difference of Q, R and T,
            and less accurate; 1 and more means that no digit of it is certain.
        method: "explicit", "implicit", or "explicit to alpha = ..., then implicit".
        output: the file it was written to, if any.
        compression: None if all eigenvalues were kept. Otherwise ``initial``, ``final`` and the
            overlaps per eigenvalue belong to the nodes that replace eigenvalues; Q, R, T and v have
            their usual meaning.
        enclosure: the proved balls of a certified run, see
            :class:`symderiv.api.results.equations.certified.Enclosure`; files of runs do not
            contain them.
    """

    TITLE: ClassVar[str] = "Order parameters of online learning, integrated"
    FACTS: ClassVar[tuple[str, ...]] = (
        *(*Curves.FACTS, "method", "steps", "rejected", "rhs_evaluations", "relative_tolerance"),
        *("tolerance_reached", "tolerance_method", "tolerance_kept", "error_accuracy"),
    )
    #: Fields that are variables of the file.
    ARRAYS: ClassVar = ("alpha", "Q", "R", "T", "v", "teacher_weights", "generalization_error")

    student_overlap: np.ndarray
    cross_overlap: np.ndarray
    initial: State
    final: State
    steps: int
    rejected: int
    rhs_evaluations: int
    relative_tolerance: float
    tolerance_reached: float
    tolerance_method: str
    tolerance_kept: bool
    error_accuracy: float
    method: str = "explicit"
    compression: Compression | None = None
    enclosure: Any = None

    @property
    def succeeded(self) -> bool:
        """True if the run reached its end and kept its tolerance."""
        return self.cause == "done" and self.tolerance_kept

    def extend(self, end: float, *, points: int = 50, progress: Progress = None) -> Trajectory:
        """Integrate the same problem further, from the last time to a later one.

        If learning depends only on the state, the run continues from :attr:`final`. Under learning
        rules that keep more (schedules, tasks, momentum, …) and with compressed eigenvalues it is
        integrated again from the start.

        Args:
            end: the new last time.
            points: times that are added, spaced as those of the problem.
            progress: see :meth:`symderiv.Problem.solve`.

        Returns:
            A run over the times of this one and the added ones, with the same events and without
            derivatives; this run does not change.

        Raises:
            InputError: the end is not later, or a file did not keep the overlaps per eigenvalue.
        """
        longer: Trajectory = drawing("symderiv.api.results.runs.solved").extended(
            self, end, points, progress
        )
        return longer

    def failure(self) -> str | None:
        """Return in one line what was asked for and not reached; None if everything was."""
        if self.cause == "done" and not self.tolerance_kept:
            said = error_missed(
                self.relative_tolerance, self.tolerance_reached, self.tolerance_method
            )
            # the warning has the reason, and says what to do
            return next((line for line in self.warnings if line.startswith(said)), said)
        return super().failure()

    def to_dict(self) -> dict[str, Any]:
        """Return what ``symderiv solve --json`` prints."""
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
            "tolerance_method": self.tolerance_method,
            "compression": str(compressed or "none"),
            "compression_error": None if compressed is None else compressed.error,
            "cause": self.cause,
            "warnings": list(self.warnings),
            "activation": self.student_activation,
            "teacher_activation": self.teacher_activation,
            **({"events": self.events} if self.events else {}),
            **({"certified_error": self.enclosure.difference} if self.enclosure else {}),
        }

    def _summary(self) -> Summary:
        K, M = self.R.shape[-2:]
        error = self.generalization_error
        learns = self.student_activation
        if self.teacher_activation != self.student_activation:
            learns += f" learning {self.teacher_activation}"
        rows: list[tuple[str, object]] = [
            ("activation", learns),
            ("units", f"students K = {K}, teachers M = {M}, eigenvalues L = {self.initial.L}"),
            ("alpha", f"{self.alpha.size} times to {self.alpha_end:.6g}; {self.message}"),
        ]
        if error.size:
            rows.append(("generalization_error", f"{error[0]:.6g} to {error[-1]:.6g}"))
        reached = f"{self.tolerance_reached:.1e} of {self.relative_tolerance:g} asked for"
        rows.append(("tolerance", f"{reached} ({self.tolerance_method})"))
        rows.append(("work", f"{self.steps} steps, {self.wall_seconds:.3g} s, {self.method}"))
        for event in self.events:
            time = event.absence if math.isinf(event.time) else f"from alpha = {event.time:.10g}"
            rows.append((event.name, time))
        if self.enclosure is not None:
            told = f"all errors at most {self.enclosure.difference:.1e} (proved)"
            rows.append(("certified", told))
        rows += whole_rows("by default", self.by_default)
        notes = [f"warning: {warning}" for warning in self.warnings]
        return Summary("Trajectory", rows, notes)

    def _document(self) -> Summary | Part:
        summary, events = super()._document(), self.events
        if not events:
            return summary
        numbers = list(dict.fromkeys(name for each in events for name in each["derivatives"]))
        slopes = (f"derivative by {name}" for name in numbers)
        columns = ("event", "first holds at alpha", "error", *slopes)
        rows = [
            [each.name, _said(each["alpha"], each.absence), _size(each)]
            + [_said(each["derivatives"].get(name), "") for name in numbers]
            for each in events
        ]
        return Part("", [summary, Tabular(columns, rows)])

    def contents(
        self,
        per_mode: bool | None = None,
        attributes: Mapping[str, str | float | int] | None = None,
    ) -> Contents:
        """Return what ``RUN.nc`` holds; see :func:`write_run`."""
        variables = {
            **{name: getattr(self, name) for name in self.ARRAYS},
            "eigenvalue": self.initial.eigenvalue,
            "weight": self.initial.weight,
            "teacher_overlap": self.initial.teacher_overlap,
            **self.further,
        }
        if self.alpha.size and self.alpha[0] > 0.0:
            # else the first rows are the start
            variables |= start_variables(self.initial)
        if per_mode is None:
            per_mode = self.student_overlap.nbytes + self.cross_overlap.nbytes <= _AUTOMATIC_BYTES
        if per_mode:
            variables["student_overlap"] = self.student_overlap
            variables["cross_overlap"] = self.cross_overlap
        facts: dict[str, Any] = {
            **self._common_attributes(),
            **_compression_attributes(self.compression),
            **self.attributes,
            **(attributes or {}),
        }
        start = self.initial
        if start.further:
            facts[GIVEN_START] = " ".join(start.further)
        return Contents(variables, lengths(start.K, start.M, start.L, self.further), facts)


def write_run(
    path: str | Path | Output,
    trajectory: Trajectory,
    *,
    per_mode: bool | None = None,
    attributes: Mapping[str, str | float | int] | None = None,
) -> Path:
    """Write an integration as ``RUN.nc``; return the path.

    Args:
        path: see :func:`~symderiv.storage.run_files.write`, also for the errors raised.
        trajectory: also one that ended early; its cause and time are in the attributes.
        per_mode: also the overlaps per eigenvalue, which makes the file L times larger; None
            writes them when they take at most 64 MB.
        attributes: more attributes of the file.
    """
    return write(path, trajectory.contents(per_mode, attributes))


def _said(number: float | None, missing: str) -> str:
    return missing if number is None else f"{number:.10g}"


def _size(event: LocatedEvent) -> str:
    error = event["error_bound"]
    return "" if error is None else f"{error:.1e} ({event.error_method})"


def _compression_attributes(compression: Compression | None) -> dict[str, Any]:
    if compression is None:
        return {"compression": "none"}
    numbers = {f"compression_{name}": value for name, value in asdict(compression).items()}
    return {"compression": str(compression), **numbers}
