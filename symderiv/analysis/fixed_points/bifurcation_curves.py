"""Curves of bifurcations in two parameters.

They are followed like branches, with the equations of :class:`.SingularPoints`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from symderiv.analysis.fixed_points.arclength import CurveEquations, StepPace
from symderiv.analysis.fixed_points.continuation import (
    FixedPointBranch,
    Parameters,
    SingularPoints,
    frame_of,
)
from symderiv.analysis.fixed_points.newton_steps import Floats

_PACE, _STEPS = StepPace(1 / 64, 1e-4, 1 / 24, 0.9, (1.5, 1.0)), 300
_SAME, _ROUND = 2e-3, 8


@dataclass(frozen=True)
class BifurcationCurve:
    """A curve of bifurcations of one kind.

    Attributes:
        kind: The kind, as in :class:`~symderiv.analysis.fixed_points.continuation.Bifurcation`.
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
class _Singular(CurveEquations):
    """The equations of bifurcation points in two parameters."""

    plane: Parameters
    points: SingularPoints

    _rounds, _small, _flat = 20, 1e-9, 1e-8

    @classmethod
    def at(cls, plane: Parameters, values: Floats) -> _Singular:
        """Return the equations of bifurcations with the symmetry of a fixed point."""
        return cls(plane, SingularPoints(plane.rates, frame_of(plane.flow, values)))

    def equations(self, u: Floats) -> tuple[Floats, Floats]:
        return self.points.equations(u)

    def settled(self, u: Floats, size: float) -> bool:
        # where branches of one symmetry cross, Newton's method converges linearly: steps halve
        return size < 1e-5 * self.size(u) and bool(np.max(np.abs(self.equations(u)[0])) < 1e-6)

    def frequency(self, u: Floats) -> float:
        slopes = self.points.slopes(self.points.whole(u))
        return abs(self.points.crossing(slopes)[0].imag)


def bifurcation_curves(
    plane: Parameters, branches: Sequence[FixedPointBranch], second: float
) -> list[BifurcationCurve]:
    """Return the curves through the bifurcations on branches in the first parameter.

    Args:
        plane: The flow with both parameters.
        branches: Branches in the first parameter.
        second: The value of the second parameter on these branches.
    """
    curves: list[BifurcationCurve] = []
    for each in (each for branch in branches for each in branch.bifurcations):
        problem = _Singular.at(plane, each.values)
        levels = plane.levels(np.array([each.parameter, second]))
        near = problem.points.inside(np.append(each.values, levels))
        start = problem.corrected(near, np.eye(near.size)[-1])
        if start is None or any(_contains(curve, problem, start) for curve in curves):
            continue
        before, first = _walked(problem, start, -1.0)
        after, last = ([], first) if first == "closed" else _walked(problem, start, 1.0)
        points = [*before[::-1], start, *after]
        curves.append(
            BifurcationCurve(
                each.kind,
                np.array([plane.values(u[-2:]) for u in points]),
                np.array([problem.points.whole(u)[:-2] for u in points]),
                np.array([problem.frequency(u) if each.kind == "hopf" else 0.0 for u in points]),
                (first, last),
            )
        )
    return curves


def _walked(problem: _Singular, start: Floats, sign: float) -> tuple[list[Floats], str]:
    """Return the points that follow ``start`` on a curve, and why the curve ends."""
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


def _contains(curve: BifurcationCurve, problem: _Singular, point: Floats) -> bool:
    """Return whether a curve goes through a point or one of its images."""
    plane = problem.plane
    levels = plane.levels(curve.parameters)
    near = np.flatnonzero(np.max(np.abs(levels - point[-2:]), axis=1) < _SAME)
    values = problem.points.whole(point)[:-2]
    return any(plane.flow.same(curve.values[n], values, 1e-2) for n in near)
