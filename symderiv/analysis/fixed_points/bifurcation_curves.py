r"""Curves of bifurcations in two parameters.

A step moves one of the two parameters, the one that changes more along the curve. At its new value
the branch of fixed points through the bifurcation is met on either side of where it is foreseen,
and the place between at which a rate crosses zero is found in the other parameter, as on a branch
in one parameter. So a curve is followed where it turns back in either of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from symderiv.analysis.fixed_points.continuation import FixedPointBranch, OneParameter, located
from symderiv.analysis.fixed_points.unit_flow import UnitFlow

Floats = npt.NDArray[np.float64]

_FIRST, _LEAST, _MOST, _STEPS = 1 / 64, 1e-3, 1 / 24, 200
_SIDES = (2e-2, 5e-3, 8e-2)
_FAR, _STILL = (4.0, 0.5), 1e-5
"""How far from where it is foreseen a bifurcation may be, in steps: the first one and others; which
rates and which ones that are nearest to zero count as zero.
"""
_SAME, _ROUND = 2e-3, 8


@dataclass(frozen=True)
class BifurcationCurve:
    """A curve of bifurcations of one kind.

    Attributes:
        kind: As that of :class:`~symderiv.analysis.fixed_points.continuation.Bifurcation`.
        parameters: Both parameters along the curve, shape (p, 2).
        values: Coordinates of the fixed points, shape (p, n).
        frequency: Frequencies of Hopf points, per unit of the flow, else 0; shape (p,).
        ends: Why the curve ends at its first and its last point: "range", "closed", or
            "lost" where no bifurcation with the same change of the index was found further on.
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
        along: For the parameter that varies (0 or 1) and the value of the other one: the packed
            constants at a value, and the learning rate.
        ends: Least and largest value of each.
    """

    flow: UnitFlow
    along: Callable[[int, float], Callable[[float], tuple[Floats, float]]]
    ends: tuple[tuple[float, float], tuple[float, float]]

    def values(self, levels: Floats) -> Floats:
        """Return the parameters at levels between 0 and 1."""
        low, high = np.array(self.ends).T
        return np.asarray(low + (high - low) * levels)

    def varied(self, which: int, levels: Floats) -> OneParameter:
        """Return the flow in one parameter, the other one fixed."""
        fixed = float(self.values(levels)[1 - which])
        return OneParameter(self.flow, self.along(which, fixed), *self.ends[which])


@dataclass(frozen=True)
class _CurvePoint:
    """A bifurcation on a curve.

    Attributes:
        levels: Both parameters, between 0 and 1.
        values: Coordinates.
        which: In which parameter it was found.
        tangent: The direction of the branch there: of coordinates and this parameter.
        before: A point of the branch before it.
        jump: How much the number of unstable directions changes, without its sign.
    """

    levels: Floats
    values: Floats
    which: int
    tangent: Floats
    before: Floats
    jump: int


def bifurcation_curves(
    plane: Plane, branches: Sequence[FixedPointBranch], second: float
) -> list[BifurcationCurve]:
    """Return the curves through the bifurcations on branches in the first parameter.

    Args:
        plane: The flow.
        branches: Branches in the first parameter.
        second: The value of the second one there.
    """
    low, high = plane.ends[1]
    level = (second - low) / (high - low)
    curves: list[BifurcationCurve] = []
    for branch in branches:
        for each in branch.bifurcations:
            start = _begun(plane, branch, each.parameter, each.values, level)
            if start is None or any(_contains(plane, curve, start) for curve in curves):
                continue
            before, first = _walked(plane, start, -1.0)
            after, last = ([], first) if first == "closed" else _walked(plane, start, 1.0)
            places = [*before[::-1], start, *after]
            curves.append(
                BifurcationCurve(
                    each.kind,
                    np.array([plane.values(place.levels) for place in places]),
                    np.array([place.values for place in places]),
                    np.array([_frequency(plane, each.kind, place) for place in places]),
                    (first, last),
                )
            )
    return curves


def _begun(
    plane: Plane, branch: FixedPointBranch, parameter: float, values: Floats, level: float
) -> _CurvePoint | None:
    """Return a bifurcation of a branch as a place of a curve; None if the branch only passes it."""
    here = np.flatnonzero((branch.parameter == parameter) & np.all(branch.values == values, axis=1))
    if not here.size or not 0 < here[0] < branch.parameter.size - 1:
        return None
    n = int(here[0])
    low, high = plane.ends[0]
    levels = (branch.parameter - low) / (high - low)
    points = np.column_stack([branch.values, levels])[n - 1 : n + 2]
    across = points[2] - points[0]
    problem = plane.varied(0, np.array([levels[n], level]))
    jump = abs(problem.unstable(points[2]) - problem.unstable(points[0]))
    tangent = across / np.linalg.norm(across)
    return _CurvePoint(np.array([levels[n], level]), values, 0, tangent, points[0], jump)


def _walked(plane: Plane, start: _CurvePoint, sign: float) -> tuple[list[_CurvePoint], str]:
    """Return what follows on a curve, and why it ends."""
    places, step, direction = [start], _FIRST, np.array([0.0, sign])
    while len(places) < _STEPS:
        here = places[-1]
        taken = step
        ahead = here.levels + step * direction
        beyond = np.max(np.maximum(ahead - 1.0, -ahead))
        moved = int(np.argmax(np.abs(direction)))
        if not 0.0 <= ahead[moved] <= 1.0:
            bound = float(np.clip(ahead[moved], 0.0, 1.0))
            taken = (bound - here.levels[moved]) / direction[moved]
            if taken < 1e-9:
                return places[1:], "range"
            ahead = here.levels + taken * direction
            ahead[moved] = bound
        place = _next(plane, places, ahead, 1 - moved)
        far = _FAR[len(places) > 1] * taken + 1e-4
        if place is None or np.max(np.abs(place.levels - ahead)) > far:
            step *= 0.5
            if step < _LEAST:
                return places[1:], "range" if beyond > 0.0 else "lost"
            continue
        if not 0.0 <= place.levels[1 - moved] <= 1.0:
            return places[1:], "range"
        places.append(place)
        change = place.levels - here.levels
        if len(places) > _ROUND and np.linalg.norm(place.levels - start.levels) < step:
            return [*places[1:], start], "closed"
        direction, step = change / np.linalg.norm(change), min(1.5 * step, _MOST)
    return places[1:], "lost"


def _next(plane: Plane, places: list[_CurvePoint], ahead: Floats, which: int) -> _CurvePoint | None:
    """Return the bifurcation near foreseen parameters, found in one of them."""
    here, problem = places[-1], plane.varied(which, ahead)
    values, tangent = here.values, here.tangent
    if len(places) > 1 and len(places[-2].values) == len(values):
        before = places[-2]
        length = np.linalg.norm(here.levels - before.levels)
        values = values + (values - before.values) * np.linalg.norm(ahead - here.levels) / length
    if which != here.which:
        near = np.append(here.before[:-1], here.levels[which])
        tangent = problem.tangent(near)
    centre = np.append(values, ahead[which])
    for away in _SIDES:
        sides = [
            problem.corrected(centre + side * tangent, tangent, float(tangent @ centre) + side)
            for side in (-away, away)
        ]
        low, high = sides
        if low is None or high is None or np.max(np.abs(high - low)) > 10 * away:
            continue
        index = problem.unstable(low)
        if abs(problem.unstable(high) - index) != here.jump:
            continue
        u = located(problem, index, (low, high), tangent)
        # two sides on two branches have no bifurcation between them
        growth = [abs(problem.nearest(each)) for each in (low, u, high)]
        if growth[1] > _STILL * max(growth) or np.max(np.abs(problem.rates(u))) > _STILL:
            continue
        levels = ahead.copy()
        levels[which] = u[-1]
        across = (high - low) / np.linalg.norm(high - low)
        return _CurvePoint(levels, u[:-1], which, across, low, here.jump)
    return None


def _frequency(plane: Plane, kind: str, place: _CurvePoint) -> float:
    if kind != "hopf":
        return 0.0
    problem = plane.varied(place.which, place.levels)
    slopes = problem.slopes(np.append(place.values, place.levels[place.which]))
    rates = np.linalg.eigvals(slopes[:, :-1])
    return abs(float(rates[np.argmin(np.abs(rates.real))].imag))


def _contains(plane: Plane, curve: BifurcationCurve, place: _CurvePoint) -> bool:
    """Return whether a curve goes through a place or one of its images."""
    low, high = np.array(plane.ends).T
    levels = (curve.parameters - low) / (high - low)
    near = np.flatnonzero(np.max(np.abs(levels - place.levels), axis=1) < _SAME)
    return any(plane.flow.same(curve.values[n], place.values, 1e-2) for n in near)
