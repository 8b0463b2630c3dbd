"""Learning curves of many runs at the same times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from symderiv.foundation.limits import check_memory
from symderiv.integrate.flows.lanes import EndedRuns, LaneResults, flat_result
from symderiv.integrate.flows.study_flow import Flow
from symderiv.integrate.flows.trajectory import LOCAL_SUM, Trajectory
from symderiv.problem.flat_layout import split_flat, state_size
from symderiv.problem.study import Study


@dataclass(frozen=True, eq=False, kw_only=True)
class Chunk(EndedRuns):
    """Learning curves of n runs at the same A times; rows beyond ``alpha_end`` are not a number.

    The largest error is that of Q, R, v as :class:`Trajectory` states it.

    Args:
        alpha: shape (A,).
        Q, R, v: shapes (n, A, K, K), (n, A, K, M), (n, A, K).
        T: teacher covariances, shape (n, M, M).
        generalization_error: shape (n, A).
        further: what the learning rule adds, by its name in ``RUN.nc``, shapes (n, A, …).
    """

    alpha: np.ndarray
    Q: np.ndarray
    R: np.ndarray
    v: np.ndarray
    T: np.ndarray
    generalization_error: np.ndarray
    further: dict[str, np.ndarray] = field(default_factory=dict)

    def add(self, number: int, found: Trajectory) -> None:
        """Take over one run."""
        reached = found.alpha.size
        self.T[number] = found.T
        for name in ("Q", "R", "v", "generalization_error"):
            getattr(self, name)[number, :reached] = getattr(found, name)
        self._add_further(number, reached, found.further)
        self.status[number] = found.cause
        self.alpha_end[number] = found.alpha_end
        measured = found.tolerance_method != LOCAL_SUM
        (self.tolerance_reached if measured else self.error_sum)[number] = found.tolerance_reached
        self.steps[number] = found.steps
        self.rhs_evaluations[number] = found.rhs_evaluations
        self.wall_seconds[number] = found.wall_seconds

    def add_lanes(self, numbers: Sequence[int], flows: Sequence[Flow], found: LaneResults) -> None:
        """Take over runs in lanes."""
        rows = np.array(numbers)
        state = flows[0].state
        K, M, L = state.K, state.M, state.L
        missing = np.arange(self.alpha.size) >= found.reached[:, None]
        flat = found.states
        flat[missing] = np.nan
        students, cross, v = split_flat(flat[..., : state_size(K, M, L)], K, M, L)
        variance = np.array([flow.state.weight * flow.state.eigenvalue for flow in flows])
        weight = np.array([flow.state.weight for flow in flows])
        self.Q[rows] = np.einsum("nalij,nl->naij", students, variance)
        self.R[rows] = np.einsum("nalim,nl->naim", cross, weight)
        self.v[rows] = v
        self.T[rows] = [flow.state.T for flow in flows]
        self.generalization_error[rows] = found.errors
        self.end_lanes(rows, found)
        for place, (number, flow) in enumerate(zip(numbers, flows, strict=True)):
            if flow.study.rule_keys:
                reached = int(found.reached[place])
                run = flat_result(found, place, reached)
                self._add_further(number, reached, flow.further(run))

    def _add_further(self, number: int, reached: int, further: Mapping[str, np.ndarray]) -> None:
        for name, values in further.items():
            if name not in self.further:
                shape = (*self.generalization_error.shape, *values.shape[1:])
                self.further[name] = np.full(shape, np.nan)
            self.further[name][number, :reached] = values


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

    def missing(*shape: int) -> np.ndarray:
        return np.full((n, *shape), np.nan)

    return Chunk(
        alpha=first.alpha.copy(),
        Q=missing(A, K, K),
        R=missing(A, K, M),
        v=missing(A, K),
        T=missing(M, M),
        generalization_error=missing(A),
        **Chunk.not_begun(n),
    )
