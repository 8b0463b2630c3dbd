"""The fixed points of a stated system."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from flint import arb

from symderiv.analysis.fixed_points.continuation import followed
from symderiv.analysis.fixed_points.search import Found, found_points
from symderiv.analysis.fixed_points.symmetric_flow import differences
from symderiv.api.results.flows.fixed_point_answer import (
    FixedPoints,
    connected,
    found_record,
    if_closed,
    proved,
)
from symderiv.api.results.flows.jacobian import system_slopes
from symderiv.foundation.documents.document import Summary
from symderiv.foundation.errors import InputError, NotYetError
from symderiv.integrate.flows.courses import Goal
from symderiv.system.point_run import PointRun
from symderiv.system.system_flow import SystemFlow
from symderiv.system.system_runs import Solver
from symderiv.system.traced_system import TracedSystem
from symderiv.system.varied_system import VariedSystem

_CAUTION = "points are those that were found; that there are no others is not proved"
_STEP, _LARGE_FLOW, _DIGITS = 4e-3, 200, 15


class SystemFixedPoints(FixedPoints):
    """The fixed points of a system that were found, one for all that symmetries make of it.

    Attributes:
        points: a dictionary for each, those that vectors can have first, by index: ``state``
            (order parameters by name, as in states), ``observables``; ``eigenvalues`` of the
            Jacobian per unit of α, as pairs of real and imaginary part; ``index``, how many
            directions are unstable, and ``neutral``, how many cannot be told from neutral;
            ``orbit``, how many points the symmetries make of it; ``symmetry``, which members are
            alike in it; ``physical``, whether vectors with these overlaps exist; ``residual``, the
            largest rate that is left; ``certified``, whether existence, uniqueness nearby and the
            index are proved, and ``error``, how far the numbers of ``state`` and ``observables``
            are from the exact ones at most, if so, else None.
        connections: dictionaries ``source``, ``target`` (numbers of points from 1, None if none is
            approached), ``rate`` of the direction and ``time`` that it takes per unit of α.
        branches: where a parameter was followed, dictionaries ``parameter``, ``index``,
            ``physical`` (lists along the curve), ``observables`` (lists by name) and ``ends``, why
            it ends.
        bifurcations: dictionaries ``kind`` ("fold", "pitchfork", "transcritical", "hopf"),
            ``parameter``, ``observables``, ``frequency`` and the ``branch``, from 1.
        symmetries: how many exchanges and changes of sign leave the flow alone.
        jacobian: "generated", or "differences" where a mean has no derivative.
    """

    _title = "Fixed points of a system"

    @property
    def _measured(self) -> Sequence[str]:
        return tuple(self._record["points"][0]["observables"]) if self.points else ()

    @property
    def _level(self) -> str:
        if not self._measured:
            raise InputError("the system has nothing to draw; state an average with observe")
        return self._measured[0]

    def _levels(self, point: Mapping[str, Any]) -> list[str]:
        return [f"{value:.8g}" for value in point["observables"].values()]

    def _drawn(self, name: str) -> list[dict[str, Any]]:
        return [
            {**each, "level": next(iter(each["observables"].values()), np.nan)}
            for each in self._record[name]
        ]

    def _summary(self) -> Summary:
        record = self._record
        rows = [(name, record[name]) for name in ("symmetries", "jacobian")]
        proofs = sum(each["certified"] for each in record["points"])
        rows.append(("points", f"{len(record['points'])} found, {proofs} of them proved"))
        return Summary(self._title, rows, record["warnings"])


def system_fixed_points(
    solver: Solver,
    initial: Mapping[str, Any],
    starts: int,
    unconnected: bool,
    follow: Mapping[str, Sequence[float]],
    parameters: Mapping[str, Any],
) -> SystemFixedPoints:
    """Return the catalogue; see :meth:`symderiv.System.fixed_points`."""
    if starts < 1:
        raise InputError(f"{starts} is not positive", argument="starts")
    values = solver.layout.parameter_values(parameters)
    ends = _ends_of(values, follow)
    flow = SystemFlow.of(solver, initial, parameters)
    if flow.place.size > _LARGE_FLOW:
        raise InputError(
            f"{flow.place.size} order parameters are too many to look for all fixed points",
            argument="initial",
        )
    points, kind = points_of_system(flow, starts)
    traced = if_closed(lambda: _traced(flow, initial, parameters))
    real = [each for each in points if flow.physical(each.values)]
    branches = [_branches(flow, real, name, values[name], each) for name, each in ends.items()]
    return SystemFixedPoints(
        {
            "symmetries": len(flow.elements[0]),
            "jacobian": kind,
            "points": [_record(flow, traced, each, initial) for each in points],
            "connections": [] if unconnected else connected(flow, real),
            "proved_spaces": [],
            "followed": None,
            "second": None,
            "branches": [],
            "bifurcations": [],
            "curves": [],
            **(branches[0] if branches else {}),
            "warnings": [_CAUTION],
        }
    )


def points_of_system(flow: SystemFlow, starts: int) -> tuple[list[Found], str]:
    """Return the points that are found, those that vectors can have first, by index; and where
    the Jacobian comes from.
    """
    jacobian, kind = _jacobian_of(flow)
    points = found_points(flow, jacobian, [flow.begin[flow.place]], starts)
    points.sort(key=lambda each: (not flow.physical(each.values), each.index, *each.values))
    return points, kind


def _ends_of(
    values: Mapping[str, float], follow: Mapping[str, Sequence[float]]
) -> dict[str, tuple[float, float]]:
    """Return the parameter that is followed with its ends, if there is one.

    Raises:
        InputError: There are two, or it is no parameter between two ends.
    """
    if len(follow) > 1:
        raise InputError(f"has {len(follow)} parameters; give one", argument="follow")
    for name, ends in follow.items():
        if name not in values:
            known = ", ".join(values) or "none"
            raise InputError(f"{name!r} is not a parameter; there are {known}", argument="follow")
        if len(ends) != 2 or not ends[0] <= values[name] <= ends[1] or ends[0] == ends[1]:
            raise InputError(
                f"{name} must have two ends, with its value {values[name]:g} between them",
                argument="follow",
            )
    return {name: (float(ends[0]), float(ends[1])) for name, ends in follow.items()}


def _branches(
    flow: SystemFlow, points: Sequence[Found], name: str, begin: float, ends: tuple[float, float]
) -> dict[str, Any]:
    """Return the branches through points in a parameter, and their bifurcations."""
    at = flow.along(name)

    def observed(rows: np.ndarray, values: Iterable[float]) -> dict[str, np.ndarray]:
        states = np.array([flow.state(row) for row in rows])
        constants = np.array([at(float(value))[0] for value in values])
        return flow.solver.observed(states, constants)

    branches = followed(flow, at, [each.values for each in points], begin, ends)
    sides = [(each, n) for n, branch in enumerate(branches, 1) for each in branch.bifurcations]
    return {
        "followed": name,
        "branches": [
            {
                "parameter": branch.parameter.tolist(),
                "index": branch.index.tolist(),
                "physical": [
                    flow.physical(row, at(float(value))[0])
                    for row, value in zip(branch.values, branch.parameter, strict=True)
                ],
                "observables": {
                    key: column.tolist()
                    for key, column in observed(branch.values, branch.parameter).items()
                },
                "ends": list(branch.ends),
            }
            for branch in branches
        ],
        "bifurcations": [
            {
                "kind": each.kind,
                "parameter": each.parameter,
                "observables": {
                    key: float(column[0])
                    for key, column in observed(each.values[None], [each.parameter]).items()
                },
                "frequency": each.frequency * flow.unit,
                "branch": number,
            }
            for each, number in sides
        ],
    }


def _jacobian_of(flow: SystemFlow) -> tuple[Callable[[np.ndarray], np.ndarray], str]:
    """Return the derivatives of the rates by coordinates, and where they come from."""
    try:
        slopes = system_slopes(flow.solver, flow.constants)
    except NotYetError:
        return (lambda values: differences(flow.slope, values, _STEP)), "differences"
    inside = np.ix_(flow.place, flow.place)
    return (lambda values: slopes(flow.state(values))[inside] / flow.unit), "generated"


def _traced(
    flow: SystemFlow, initial: Mapping[str, Any], parameters: Mapping[str, Any]
) -> TracedSystem:
    """Return the equations in exact numbers.

    Raises:
        NotYetError: A mean has no closed form.
    """
    point = VariedSystem(flow.solver, initial, parameters).point({})
    run = PointRun(replace(point, state=flow.begin), Goal(np.zeros(1)))
    return TracedSystem.of(run, flow.solver.layout.shown(initial))


def _record(
    flow: SystemFlow, traced: TracedSystem | None, point: Found, initial: Mapping[str, Any]
) -> dict[str, Any]:
    layout, state = flow.solver.layout, flow.state(point.values)
    named = layout.unpacked(state, flow.constants, layout.shown(initial))
    observed = flow.solver.observed(state[None], flow.constants)
    record = {
        "state": {name: np.asarray(value).tolist() for name, value in named.items()},
        "observables": {name: float(value[0]) for name, value in observed.items()},
        "symmetry": flow.alike(point.values),
        "error": None,
        **found_record(flow, point),
    }
    proof = None if point.neutral else proved(traced, state, _DIGITS)
    if proof is None or proof.index is None:
        return record
    numbers = [x for each in (named, observed) for value in each.values() for x in np.ravel(value)]
    pairs = zip(numbers, proof.observed, strict=True)
    away = max(float(abs(arb(float(x)) - ball).upper()) for x, ball in pairs)
    error = float(np.nextafter(away, np.inf))
    return {**record, "certified": True, "index": proof.index, "error": error}
