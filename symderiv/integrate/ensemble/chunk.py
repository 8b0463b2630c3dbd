"""Learning curves of many runs at the same times."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from symderiv.foundation.limits import check_memory
from symderiv.integrate.flows.flat_run import REASONS
from symderiv.integrate.flows.lanes import LaneResults
from symderiv.integrate.flows.study_flow import Flow
from symderiv.integrate.flows.trajectory import LOCAL_SUM, Trajectory
from symderiv.integrate.steppers.memory import INTERRUPTED
from symderiv.problem.flat_layout import split_flat, state_size
from symderiv.problem.study import Study

_CURVES = ("Q", "R", "v", "generalization_error")
_NUMBERS = ("alpha_end", "error_sum", "steps", "rhs_evaluations", "wall_seconds")
_MEASURED = ("tolerance_reached", "error_accuracy")


@dataclass(frozen=True, eq=False, kw_only=True)
class Chunk:
    """Curves of n runs at the same A times; rows beyond ``alpha_end`` are not a number.

    The sum of the estimated local errors says how accurate the steps are, not what their errors
    grow to; that is measured where it is asked for. Values are attributes too: ``chunk.Q``.

    Args:
        alpha: shape (A,).
        status: shape (n,): "done", "not-a-number", "step-underflow", "cone-left", "step-limit",
            "interrupted", or "failed: MESSAGE" for one that cannot start.
        alpha_end: time of the last accepted step, shape (n,).
        error_sum: sum of the estimated local errors, relative, shape (n,).
        tolerance_reached: estimate of the largest error, shape (n,), of studies that of Q, R, v as
            :class:`Trajectory` states it; not a number where there was no second run, infinite
            where that has no times in common with the first.
        error_accuracy: estimate of the largest error of the generalisation error, relative to it,
            shape (n,); the same where there is none, and not a number for systems.
        steps, rhs_evaluations: shape (n,).
        wall_seconds: time that each run took on its thread, shape (n,); in lanes its share by
            evaluations.
        values: arrays by name, shapes (n, A, …): of studies Q, R, v, generalization_error and what
            a rule adds, by its name in ``RUN.nc``, and the teacher covariances T, (n, M, M); of
            systems order parameters and observables.
    """

    alpha: np.ndarray
    status: np.ndarray
    alpha_end: np.ndarray
    error_sum: np.ndarray
    tolerance_reached: np.ndarray
    error_accuracy: np.ndarray
    steps: np.ndarray
    rhs_evaluations: np.ndarray
    wall_seconds: np.ndarray
    values: dict[str, np.ndarray]

    def __getattr__(self, name: str) -> np.ndarray:
        try:
            values: np.ndarray = self.__dict__["values"][name]
        except KeyError:
            raise AttributeError(name) from None
        return values

    @classmethod
    def not_begun(cls, alpha: np.ndarray, n: int) -> Self:
        """Return n runs that have not begun."""
        numbers: dict[str, Any] = {
            name: np.full(n, np.nan) for name in ("alpha_end", "error_sum", *_MEASURED)
        }
        numbers |= {name: np.zeros(n, dtype=np.int64) for name in ("steps", "rhs_evaluations")}
        status = np.full(n, REASONS[INTERRUPTED], dtype=object)
        return cls(alpha=alpha, status=status, wall_seconds=np.zeros(n), values={}, **numbers)

    @property
    def interrupted(self) -> bool:
        """True if any run was interrupted, or did not begin."""
        return bool(np.any(self.status == REASONS[INTERRUPTED]))

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        """Return the results of all runs by name; their errors only where they were measured."""
        names = [name for name in _MEASURED if not np.isnan(getattr(self, name)).all()]
        return {**{name: getattr(self, name) for name in (*_NUMBERS, *names)}, **self.values}

    def fail(self, number: int, error: Exception) -> None:
        """Record that a run cannot start, with the error that says why."""
        self.status[number] = f"failed: {error}"

    def put(self, number: int, curves: Mapping[str, np.ndarray]) -> None:
        """Store the curves of one run up to the last time that it reached."""
        for name, curve in curves.items():
            self._room(name, curve.shape[1:])[number, : len(curve)] = curve

    def _room(self, name: str, shape: tuple[int, ...]) -> np.ndarray:
        """Return the values of a name, each of a shape at each time; those not yet known are not a
        number.
        """
        if name not in self.values:
            self.values[name] = np.full((self.status.size, self.alpha.size, *shape), np.nan)
        return self.values[name]

    def end_lanes(self, rows: np.ndarray, found: LaneResults) -> None:
        """Store how runs in lanes ended."""
        ended, evaluations = found.ended, found.ended["evaluations"]
        self.status[rows] = [REASONS[code] for code in ended["code"].tolist()]
        self.alpha_end[rows] = ended["alpha"]
        self.error_sum[rows] = ended["error_sum"]
        self.steps[rows] = ended["accepted"]
        self.rhs_evaluations[rows] = evaluations
        share = evaluations / max(1, int(evaluations.sum()))
        self.wall_seconds[rows] = found.seconds * share

    def put_errors(self, rows: Any, reached: Any, accuracy: Any) -> None:
        """Store the measured errors of a run or of several."""
        self.tolerance_reached[rows], self.error_accuracy[rows] = reached, accuracy

    def add(self, number: int, found: Trajectory, measured: bool) -> None:
        """Store one run of a study, and its errors if it was to be measured."""
        self.T[number] = found.T
        self.put(number, {**{name: getattr(found, name) for name in _CURVES}, **found.further})
        self.status[number] = found.cause
        self.alpha_end[number] = found.alpha_end
        if found.tolerance_method == LOCAL_SUM:
            self.error_sum[number] = found.tolerance_reached
            if measured:
                self.put_errors(number, math.inf, math.inf)
        else:
            self.put_errors(number, found.tolerance_reached, found.error_accuracy)
        self.steps[number] = found.steps
        self.rhs_evaluations[number] = found.rhs_evaluations
        self.wall_seconds[number] = found.wall_seconds

    def add_lanes(self, numbers: Sequence[int], flows: Sequence[Flow], found: LaneResults) -> None:
        """Store runs of studies that were integrated in lanes."""
        rows = np.array(numbers)
        state = flows[0].state
        K, M, L = state.K, state.M, state.L
        students, cross, v = split_flat(found.states[..., : state_size(K, M, L)], K, M, L)
        variance = np.array([flow.state.weight * flow.state.eigenvalue for flow in flows])
        weight = np.array([flow.state.weight for flow in flows])
        self.Q[rows] = np.einsum("nalij,nl->naij", students, variance)
        self.R[rows] = np.einsum("nalim,nl->naim", cross, weight)
        self.v[rows] = v
        self.T[rows] = [flow.state.T for flow in flows]
        self.generalization_error[rows] = found.errors
        for name, values in found.further.items():
            self._room(name, values.shape[2:])[rows] = values
        self.end_lanes(rows, found)


def empty_chunk(points: Sequence[Study]) -> Chunk:
    """Return a chunk without any results yet.

    Raises:
        InputError: it does not fit into memory.
    """
    n, first = len(points), points[0]
    K, M, A = first.K, first.M, first.alpha.size
    check_memory(
        8.0 * n * (A * (K * K + K * M + K + 1) + M * M),
        f"{n} runs with {A} points of {K} students and {M} teachers",
        argument="time.points",
    )

    chunk = Chunk.not_begun(first.alpha.copy(), n)
    names, shapes = (*_CURVES, "T"), ((A, K, K), (A, K, M), (A, K), (A,), (M, M))
    for name, shape in zip(names, shapes, strict=True):
        chunk.values[name] = np.full((n, *shape), np.nan)
    return chunk
