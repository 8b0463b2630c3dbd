"""Runs that several figures share: studies, drawn teachers, order parameters of any order."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import sympy as sp

from symderiv.analysis.plateau.plateau_report import PlateauReport, plateau_report
from symderiv.analysis.plateau.teacher import teacher_of_moments
from symderiv.formula import activation
from symderiv.integrate.flows.trajectory import Trajectory
from symderiv.integrate.rules.solving import solve
from symderiv.problem.state import State
from symderiv.problem.study import Study, study_from_mapping


def study(
    *,
    M: int,
    L: int,
    N: int,
    beta: float,
    eta: float,
    student_std: float,
    end: float,
    points: int = 400,
    order: str = "small-learning-rate",
    seed: int = 0,
    spacing: str = "linear",
    gram: bool = False,
    tolerance: float = 1e-9,
) -> Study:
    """K = M erf units with output weights 1/√M on a power law of L distinct eigenvalues."""
    return study_from_mapping(
        {
            "network": {"activation": "erf", "students": M, "teachers": M},
            "data": {
                "model": "power-law",
                "dimension": N,
                "distinct_eigenvalues": L,
                "exponent": float(beta),
            },
            "training": {"learning_rate": float(eta), "order": order},
            "initial": {"student_std": float(student_std), "seed": seed},
            "simulation": {"method": "gram" if gram else "auto"},
            "time": {
                "end": float(end),
                "points": points,
                "spacing": spacing,
                "relative_tolerance": tolerance,
            },
        }
    )


def divisible(N: int, L: int) -> int:
    """The largest multiple of L up to N."""
    return N // L * L


def dimension_line(N: int, L: int) -> str:
    """N of the paper, and what it becomes."""
    used = divisible(N, L)
    return f"N = {N}" if used == N else f"N = {N} → {used} (a multiple of L = {L})"


def run(*args: object, **keys: object) -> Trajectory:
    """The equations of :func:`study`, integrated."""
    return solve(study(*args, **keys))  # type: ignore[arg-type]


@dataclass(frozen=True)
class Teacher:
    """Moments T_nm^(l) of a drawn teacher.

    Attributes:
        moments: T^(l) as matrices by order, for l = 0 …
    """

    state: State

    def moment(self, order: int) -> np.ndarray:
        """T^(l), shape (M, M)."""
        state = self.state
        return np.einsum(
            "k,kij->ij", state.weight * state.eigenvalue ** (order - 2.0), state.teacher_overlap
        )

    def diagonal(self, order: int) -> float:
        """The mean diagonal entry of T^(l)."""
        return float(np.mean(np.diag(self.moment(order))))

    def row_sum(self, order: int) -> float:
        """D^(l): the mean sum of a row without its diagonal entry."""
        T = self.moment(order)
        return float(np.mean(T.sum(axis=1) - np.diag(T)))

    def averaged(self) -> tuple[float, float, float, float]:
        """T1, D1, T2, D2 of the homogeneous teacher with the same averages."""
        return self.diagonal(1), self.row_sum(1), self.diagonal(2), self.row_sum(2)


@lru_cache(maxsize=64)
def plateau_of(units: int, moments: tuple[float, float, float, float], eta: float) -> PlateauReport:
    """The engine's plateau of a homogeneous teacher: what ``symderiv plateau`` prints."""
    exact = [sp.Rational(value) for value in moments]
    return plateau_report(
        activation("erf"), teacher_of_moments(units, *exact), sp.Rational(str(eta)), 15
    )


def escape_time(units: int, moments: tuple[float, float, float, float], eta: float) -> float:
    """τ_esc of the engine."""
    time = plateau_of(units, moments, eta).numbers.escape_time
    assert time is not None
    return float(time)


def student_moment(found: Trajectory, order: int) -> np.ndarray:
    """Q^(l)(α), shape (P, K, K)."""
    state = found.initial
    return np.einsum(
        "k,pkij->pij", state.weight * state.eigenvalue ** float(order), found.student_overlap
    )


def cross_moment(found: Trajectory, order: int) -> np.ndarray:
    """R^(l)(α), shape (P, K, M)."""
    state = found.initial
    return np.einsum(
        "k,pkij->pij", state.weight * state.eigenvalue ** (order - 1.0), found.cross_overlap
    )


def flattest(found: Trajectory) -> int:
    """Index of the slowest relative change of ε_g in the first nine tenths of the run, after α = 1
    part in fifty of the run."""
    alpha, error = found.alpha, found.generalization_error
    rate = np.abs(np.gradient(np.log(error), alpha))
    first = int(np.searchsorted(alpha, alpha[-1] / 50.0))
    last = int(np.searchsorted(alpha, 0.9 * alpha[-1]))
    return first + int(np.argmin(rate[first:last]))


def left_at(found: Trajectory, height: float) -> float | None:
    """The time at which the first R_in reaches e times a height, None if it does not."""
    largest = found.R.reshape(found.R.shape[0], -1).max(axis=1)
    above = np.flatnonzero(largest >= np.e * height)
    if not above.size or above[0] == 0:
        return None
    i = int(above[0])
    return float(np.interp(np.e * height, largest[i - 1 : i + 1], found.alpha[i - 1 : i + 1]))


def spread(found: Trajectory) -> np.ndarray:
    """How far students differ in their overlaps with one teacher: √ mean var_i R_in, shape (P,)."""
    return np.sqrt(np.mean(np.var(found.R, axis=1, ddof=1), axis=1))


def growth_rate(found: Trajectory, height: float) -> float:
    """The rate of the spread per unit α while it is small: between 1 and 10 % of R*."""
    size = spread(found)
    last = int(np.argmax(size > 0.1 * height)) if np.any(size > 0.1 * height) else size.size
    small = np.flatnonzero(size[:last] < 0.03 * height)
    first = int(small[-1]) if small.size else 0
    if last - first < 3:
        return float("nan")
    slope = np.polyfit(found.alpha[first:last], np.log(size[first:last]), 1)[0]
    return float(slope)
