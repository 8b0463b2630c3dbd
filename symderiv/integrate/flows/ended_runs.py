"""Endings of the runs of an ensemble."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from symderiv.integrate.flows.flat_run import REASONS
from symderiv.integrate.flows.lanes import LaneResults

INTERRUPTED = "interrupted"


@dataclass(frozen=True, eq=False, kw_only=True)
class EndedRuns:
    """Endings and costs of n runs.

    The sum of the estimated local errors says how accurate the steps are, not what their errors
    grow to; that is measured where it is asked for.

    Args:
        status: shape (n,): "done", "not-a-number", "step-underflow", "cone-left", "step-limit",
            "interrupted", or "failed: MESSAGE" for one that cannot start.
        alpha_end: time of the last accepted step, shape (n,).
        error_sum: sum of the estimated local errors, relative, shape (n,).
        tolerance_reached: largest error, shape (n,); not a number where it was not measured.
        steps, rhs_evaluations: shape (n,).
        wall_seconds: time that each run took on its thread, shape (n,); in lanes its share by
            evaluations.
    """

    status: np.ndarray
    alpha_end: np.ndarray
    error_sum: np.ndarray
    tolerance_reached: np.ndarray
    steps: np.ndarray
    rhs_evaluations: np.ndarray
    wall_seconds: np.ndarray

    @staticmethod
    def not_begun(n: int) -> dict[str, Any]:
        """Return the fields of runs that have not begun."""
        return {
            "status": np.full(n, INTERRUPTED, dtype=object),
            **{
                name: np.full(n, np.nan) for name in ("alpha_end", "error_sum", "tolerance_reached")
            },
            **{name: np.zeros(n, dtype=np.int64) for name in ("steps", "rhs_evaluations")},
            "wall_seconds": np.zeros(n),
        }

    @property
    def interrupted(self) -> bool:
        """True if any run was interrupted, or did not begin."""
        return bool(np.any(self.status == INTERRUPTED))

    def fail(self, number: int, error: Exception) -> None:
        """Note that a run cannot start."""
        self.status[number] = f"failed: {error}"

    def end_lanes(self, rows: np.ndarray, found: LaneResults) -> None:
        """Note how runs in lanes ended."""
        self.status[rows] = [REASONS[code] for code in found.codes]
        for name in ("alpha_end", "error_sum", "steps"):
            getattr(self, name)[rows] = getattr(found, name)
        self.rhs_evaluations[rows] = found.evaluations
        share = found.evaluations / max(1, int(found.evaluations.sum()))
        self.wall_seconds[rows] = found.seconds * share
