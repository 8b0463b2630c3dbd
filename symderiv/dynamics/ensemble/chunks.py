"""Studies that share a solver module and their output times, integrated together."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from symderiv.dynamics.rules.whichever import rule_of_study, solve
from symderiv.dynamics.storage.study_kernel import activation_tolerance
from symderiv.dynamics.studies.study import Study
from symderiv.errors import InputError, SymderivError
from symderiv.limits import check_memory

#: Called with the number of runs that have ended and the number of all.
ChunkProgress = Callable[[int, int], None]


@dataclass(frozen=True)
class Chunk:
    """Learning curves of n runs at the same A times; rows beyond ``alpha_end`` are not a number.

    Q, R and v are as accurate as the sum of the estimated local errors says: no run is repeated
    to measure its error.

    Args:
        alpha: shape (A,).
        Q, R, v: shapes (n, A, K, K), (n, A, K, M), (n, A, K).
        T: teacher covariances, shape (n, M, M).
        generalization_error: shape (n, A).
        status: shape (n,): "done", "not-a-number", "step-underflow", "cone-left", "step-limit",
            "interrupted", or "failed: MESSAGE" for a study that cannot start.
        alpha_end: time of the last accepted step, shape (n,).
        error_sum: sum of the estimated local errors, relative, shape (n,).
        steps, rhs_evaluations: shape (n,).
        wall_seconds: time that each run took on its thread, shape (n,); of runs in lanes its share.
        further: what the learning rule adds, by its name in ``RUN.nc``, shapes (n, A, …).
    """

    alpha: np.ndarray
    Q: np.ndarray
    R: np.ndarray
    v: np.ndarray
    T: np.ndarray
    generalization_error: np.ndarray
    status: np.ndarray
    alpha_end: np.ndarray
    error_sum: np.ndarray
    steps: np.ndarray
    rhs_evaluations: np.ndarray
    wall_seconds: np.ndarray
    further: dict[str, np.ndarray]


def group_points(points: Iterable[Study]) -> list[list[int]]:
    """The numbers of the points, in groups that :func:`integrate_chunk` takes together.

    Groups come in the order of their first points, points in theirs.
    """
    groups: dict[Hashable, list[int]] = {}
    for number, study in enumerate(points):
        groups.setdefault(_shared(study), []).append(number)
    return list(groups.values())


def _shared(study: Study) -> Hashable:
    """What the studies of a chunk have in common."""
    try:
        rule: Hashable = rule_of_study(study) if study.rule_keys else None
    except InputError as error:
        rule = str(error)
    return (
        study.K,
        study.M,
        study.student_activation,
        study.teacher_activation,
        study.alpha.tobytes(),
        activation_tolerance(study.time.relative_tolerance),
        study.rule_keys,
        rule,
    )


def integrate_chunk(
    points: Sequence[Study],
    *,
    threads: int | None = None,
    progress: ChunkProgress | None = None,
) -> Chunk:
    """Integrate studies that :func:`group_points` puts into one group.

    A run that fails or escapes says so in its status and stops no other.

    Args:
        points: at least one.
        threads: one per processor when left out.
        progress: called with the number of runs that have ended and the number of all.

    Raises:
        InputError: the results do not fit into memory.
    """
    chunk = _empty(points)
    for number, study in enumerate(points):
        started = time.perf_counter()
        try:
            found = solve(study, check="never")
        except SymderivError as error:
            chunk.status[number] = f"failed: {error}"
            chunk.alpha_end[number] = np.nan
            continue
        reached = found.alpha.size
        chunk.T[number] = found.T
        for name in ("Q", "R", "v", "generalization_error"):
            getattr(chunk, name)[number, :reached] = getattr(found, name)
        for name, values in found.further.items():
            if name not in chunk.further:
                shape = (len(points), chunk.alpha.size, *values.shape[1:])
                chunk.further[name] = np.full(shape, np.nan)
            chunk.further[name][number, :reached] = values
        chunk.status[number] = found.cause
        chunk.alpha_end[number] = found.alpha_end
        chunk.error_sum[number] = found.tolerance_reached
        chunk.steps[number] = found.steps
        chunk.rhs_evaluations[number] = found.rhs_evaluations
        chunk.wall_seconds[number] = time.perf_counter() - started
        if progress is not None:
            progress(number + 1, len(points))
    return chunk


def _empty(points: Sequence[Study]) -> Chunk:
    """A chunk without any results yet."""
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
        status=np.full(n, "interrupted", dtype=object),
        alpha_end=np.zeros(n),
        error_sum=np.zeros(n),
        steps=np.zeros(n, dtype=np.int64),
        rhs_evaluations=np.zeros(n, dtype=np.int64),
        wall_seconds=np.zeros(n),
        further={},
    )
