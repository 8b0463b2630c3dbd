"""Trajectories of committees K = M in doubles: of the ansatz R, S, Q, C, and of single units.

The rates are the engine's, the same as in
:mod:`symderiv_papers.references.homogeneous`; the integrator is
SciPy's explicit Runge-Kutta method of order 8 at tolerances near the resolution of doubles.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from symderiv.precision.balls.contexts import numbers
from symderiv_papers.references.homogeneous import Committee, Flow

__all__ = [
    "Students",
    "ansatz_trajectory",
    "plateau_end",
    "random_students",
]

Floats = np.ndarray[Any, np.dtype[np.float64]]

RELATIVE_TOLERANCE: Final = 1e-12


def ansatz_trajectory(committee: Committee, state: Sequence[Any], times: Sequence[float]) -> Floats:
    """R^(l), S^(l), Q^(l), C^(l) at the given times, shape (times, 4L).

    Args:
        committee: The problem.
        state: At time 0, in the order of :meth:`Committee.plateau`.
        times: Ascending, from 0.
    """
    with numbers(16, "float64") as context:
        flow = Flow(committee, context)

        def rates(_: float, y: Floats) -> Floats:
            return np.array(flow(y.tolist()))

        found: Floats = _integrated(rates, np.array([float(x) for x in state]), times).y.T
        return found


@dataclass(frozen=True)
class Students:
    """Moments of single students.

    Args:
        student: Q^(l)_ij, shape (L, K, K).
        cross: R^(l)_in, shape (L, K, M).
    """

    student: Floats
    cross: Floats


def random_students(committee: Committee, dimension: float, std: float, seed: int) -> Students:
    """Return moments of weights drawn from N(0, std²), up to terms smaller by 1/dimension.

    In each eigenspace the students' overlaps with orthogonal teachers are Gaussian of variance
    std²/(weight × dimension), and their own covariance is Gaussian around std². The same seed gives
    the same Gaussians in any dimension.
    """
    rng = np.random.default_rng(seed)
    M, L = committee.units, committee.modes
    cross_normal = rng.normal(size=(L, M, M))
    raw = rng.normal(size=(L, M, M))
    student_normal = (raw + raw.transpose(0, 2, 1)) / math.sqrt(2.0)
    rho, weight, teacher = (
        np.array([float(x) for x in values])
        for values in (committee.eigenvalue, committee.weight, committee.diagonal)
    )
    size = 1.0 / np.sqrt(weight * dimension)[:, None, None]
    cross = std * size * np.sqrt(teacher)[:, None, None] * cross_normal
    student = std**2 * (np.eye(M) + size * student_normal)
    powers = weight * rho ** np.arange(L)[:, None]
    return Students(
        np.einsum("lk,kij->lij", powers, student), np.einsum("lk,kij->lij", powers, cross)
    )


def plateau_end(
    committee: Committee, start: Students, passed: Callable[[Floats, Floats], float], end: float
) -> tuple[float, Callable[[float], Students]]:
    """Return the time at which a function of Q^(1) and R^(1) changes its sign, and the way there.

    Raises:
        AssertionError: It does not until ``end``.
    """
    shape = start.student.shape
    half = start.student.size

    def parts(y: Floats) -> Students:
        return Students(y[:half].reshape(shape), y[half:].reshape(shape))

    with numbers(16, "float64") as context:
        flow = Flow(committee, context)

        def rates(_: float, y: Floats) -> Floats:
            state = parts(y)
            found = flow.of_units(state.student.tolist(), state.cross.tolist())
            return np.concatenate([np.ravel(found.dQ), np.ravel(found.dR)])

        def event(_: float, y: Floats) -> float:
            state = parts(y)
            return passed(state.student[1], state.cross[1])

        event.terminal = True  # type: ignore[attr-defined]
        first = np.concatenate([start.student.ravel(), start.cross.ravel()])
        found = _integrated(rates, first, (0.0, end), event=event, rtol=1e-9)
        assert found.t_events[0].size, "the plateau did not end"
        return float(found.t_events[0][0]), lambda time: parts(found.sol(time))


def _integrated(
    rates: Any, start: Floats, times: Sequence[float], event: Any = None,
    rtol: float = RELATIVE_TOLERANCE,
) -> Any:  # fmt: skip
    from scipy.integrate import solve_ivp

    found = solve_ivp(
        rates, (0.0, float(times[-1]) or 1.0), start, method="DOP853", rtol=rtol,
        atol=rtol * 1e-6, events=event, dense_output=event is not None,
        t_eval=None if event is not None else times,
    )  # fmt: skip
    assert found.success, found.message
    return found
