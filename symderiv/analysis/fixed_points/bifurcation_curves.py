r"""Curves of bifurcations in two parameters.

Unknown are coordinates with the symmetry of the bifurcation and both parameters; besides the rates
the real part :math:`\lambda` of an eigenvalue of the whole Jacobian J vanishes, of which the
derivatives are those of :math:`w^T J v/(w^T v)` with its eigenvectors. Where a branch of less
symmetry leaves, these equations are regular, and so they are at folds and at Hopf points.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eig

from symderiv.analysis.fixed_points.arclength import CurveEquations, Floats, StepPace
from symderiv.analysis.fixed_points.continuation import SLOPE_STEP, FixedPointBranch
from symderiv.analysis.fixed_points.exchanged_flow import kept_projector
from symderiv.analysis.fixed_points.symmetric_flow import differences
from symderiv.analysis.fixed_points.unit_flow import UnitFlow

_PACE, _STEPS = StepPace(1 / 64, 1e-4, 1 / 24, 0.9, (1.5, 1.0)), 300
_SAME, _ROUND, _SYMMETRIC = 2e-3, 8, 1e-4


@dataclass(frozen=True)
class BifurcationCurve:
    """A curve of bifurcations of one kind.

    Attributes:
        kind: As that of :class:`~symderiv.analysis.fixed_points.continuation.Bifurcation`.
        parameters: Both parameters along the curve, shape (p, 2).
        values: Coordinates of the fixed points, shape (p, n).
        frequency: Frequencies of Hopf points, per unit of the flow, else 0; shape (p,).
        ends: Why the curve ends at its first and its last point: "range", "closed", or
            "lost" where no bifurcation with the same symmetry was found further on.
    """

    kind: str
    parameters: Floats
    values: Floats
    frequency: Floats
    ends: tuple[str, str]


@dataclass(frozen=True)
class Plane:
    """A flow with two parameters.

    Attributes:
        flow: The flow at one value of both.
        at: The packed constants at values of both, and the learning rate.
        ends: Least and largest value of each.
    """

    flow: UnitFlow
    at: Callable[[float, float], tuple[Floats, float]]
    ends: tuple[tuple[float, float], tuple[float, float]]

    def values(self, levels: Floats) -> Floats:
        """Return the parameters at levels between 0 and 1."""
        low, high = np.array(self.ends).T
        return np.asarray(low + (high - low) * levels)


@dataclass(frozen=True)
class _Singular(CurveEquations):
    """Bifurcations by coordinates in a frame, shape (n, m), and the levels of both parameters."""

    plane: Plane
    frame: Floats

    _rounds, _small, _flat = 20, 1e-9, 1e-8

    def whole(self, u: Floats) -> Floats:
        """Return all coordinates, and both levels behind them."""
        return np.append(self.frame @ u[:-2], u[-2:])

    def rates(self, whole: Floats) -> Floats:
        constants, unit = self.plane.at(*map(float, self.plane.values(whole[-2:])))
        flow = self.plane.flow
        return flow.slope(whole[:-2], constants) * (flow.unit / unit)

    def crossing(self, slopes: Floats) -> tuple[complex, Any, Any]:
        """Return the eigenvalue that is nearest to the imaginary axis, and its eigenvectors, whose
        product is one.
        """
        rates, left, right = eig(slopes[:, :-2], left=True)
        n = int(np.argmin(np.abs(rates.real)))
        own = left[:, n].conj()
        return complex(rates[n]), own / (own @ right[:, n]), right[:, n]

    def equations(self, u: Floats) -> tuple[Floats, Floats]:
        whole, size = self.whole(u), self.frame.shape[1]
        slopes = differences(self.rates, whole, SLOPE_STEP)
        if not np.all(np.isfinite(slopes)):
            return np.full(size + 1, np.nan), np.full((size + 1, size + 2), np.nan)
        rate, left, right = self.crossing(slopes)
        axes = np.array([right.real, right.imag])

        def turned(at: Floats) -> Floats:
            """Return the real part of w^T J v."""
            here = self.whole(at)
            along = differences(
                lambda e: self.rates(np.append(here[:-2] + e @ axes, here[-2:])),
                np.zeros(2),
                SLOPE_STEP,
            )
            return np.array([(left @ (along[:, 0] + 1j * along[:, 1])).real])

        inside = np.hstack([slopes[:, :-2] @ self.frame, slopes[:, -2:]])
        missing = np.append(self.frame.T @ self.rates(whole), rate.real)
        return missing, np.vstack([self.frame.T @ inside, differences(turned, u, SLOPE_STEP)])

    def settled(self, u: Floats, size: float) -> bool:
        # where branches of one symmetry cross, steps shrink by half
        return size < 1e-5 * self.size(u) and bool(np.max(np.abs(self.equations(u)[0])) < 1e-6)

    def frequency(self, u: Floats) -> float:
        slopes = differences(self.rates, self.whole(u), SLOPE_STEP)
        return abs(self.crossing(slopes)[0].imag)


def bifurcation_curves(
    plane: Plane, branches: Sequence[FixedPointBranch], second: float
) -> list[BifurcationCurve]:
    """Return the curves through the bifurcations on branches in the first parameter.

    Args:
        plane: The flow.
        branches: Branches in the first parameter.
        second: The value of the second one there.
    """
    low, high = np.array(plane.ends).T
    curves: list[BifurcationCurve] = []
    for each in (each for branch in branches for each in branch.bifurcations):
        kept = kept_projector(plane.flow, each.values, _SYMMETRIC)
        sizes, vectors = np.linalg.eigh((kept + kept.T) / 2)
        problem = _Singular(plane, vectors[:, sizes > 0.5])
        levels = (np.array([each.parameter, second]) - low) / (high - low)
        near = np.append(problem.frame.T @ each.values, levels)
        start = problem.corrected(near, np.eye(near.size)[-1])
        if start is None or any(_contains(plane, curve, problem, start) for curve in curves):
            continue
        before, first = _walked(problem, start, -1.0)
        after, last = ([], first) if first == "closed" else _walked(problem, start, 1.0)
        points = [*before[::-1], start, *after]
        curves.append(
            BifurcationCurve(
                each.kind,
                np.array([plane.values(u[-2:]) for u in points]),
                np.array([problem.frame @ u[:-2] for u in points]),
                np.array([problem.frequency(u) if each.kind == "hopf" else 0.0 for u in points]),
                (first, last),
            )
        )
    return curves


def _walked(problem: _Singular, start: Floats, sign: float) -> tuple[list[Floats], str]:
    """Return what follows on a curve, and why it ends."""
    unit = np.eye(start.size)
    points = [start]
    begun = problem.tangent(start, sign * unit[-1])
    for reached, bent, step in problem.steps(start, begun, _PACE):
        beyond = np.maximum(reached[-2:] - 1.0, -reached[-2:])
        if np.max(beyond) > 0.0:
            across = unit[-2 + int(np.argmax(beyond))]
            bound = float(np.clip(across @ reached, 0.0, 1.0))
            last = problem.corrected((points[-1] + reached) / 2, across, bound)
            return [*points[1:], *([] if last is None else [last])], "range"
        points.append(reached)
        if len(points) > _ROUND and np.linalg.norm(reached - start) < step and bent @ begun > 0.5:
            return [*points[1:], start], "closed"
        if len(points) >= _STEPS:
            break
    return points[1:], "lost"


def _contains(plane: Plane, curve: BifurcationCurve, problem: _Singular, point: Floats) -> bool:
    """Return whether a curve goes through a point or one of its images."""
    low, high = np.array(plane.ends).T
    levels = (curve.parameters - low) / (high - low)
    near = np.flatnonzero(np.max(np.abs(levels - point[-2:]), axis=1) < _SAME)
    values = problem.frame @ point[:-2]
    return any(plane.flow.same(curve.values[n], values, 1e-2) for n in near)
