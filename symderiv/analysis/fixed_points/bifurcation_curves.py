"""Curves of bifurcations in two parameters.

They are followed like branches, with the equations of :class:`.SingularPoints`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from symderiv.analysis.fixed_points.arclength import StepPace
from symderiv.analysis.fixed_points.continuation import (
    FixedPointBranch,
    Parameters,
    SingularPoints,
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
        problem = SingularPoints.at(plane, each.values)
        levels = plane.levels(np.array([each.parameter, second]))
        near = problem.inside(np.append(each.values, levels))
        start = problem.corrected(near, np.eye(near.size)[-1])
        if start is None or any(_contains(curve, problem, start) for curve in curves):
            continue
        before, first = _walked(problem, start, -1.0)
        after, last = ([], first) if first == "closed" else _walked(problem, start, 1.0)
        points = [*before[::-1], start, *after]
        whole = np.array([problem.whole(u) for u in points])
        rates = [problem.crossing(plane.slopes(u))[0] for u in whole] if each.kind == "hopf" else []
        curves.append(
            BifurcationCurve(
                each.kind,
                plane.values(whole[:, -2:]),
                whole[:, :-2],
                np.abs(np.imag(rates or np.zeros(len(points)))),
                (first, last),
            )
        )
    return curves


def _walked(problem: SingularPoints, start: Floats, sign: float) -> tuple[list[Floats], str]:
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


def _contains(curve: BifurcationCurve, problem: SingularPoints, point: Floats) -> bool:
    """Return whether a curve goes through a point or one of its images."""
    plane = problem.plane
    levels = plane.levels(curve.parameters)
    near = np.flatnonzero(np.max(np.abs(levels - point[-2:]), axis=1) < _SAME)
    values = problem.whole(point)[:-2]
    return any(plane.flow.same(curve.values[n], values, 1e-2) for n in near)
