"""The fixed points of a stated system."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from flint import arb

from symderiv.analysis.fixed_points.continuation import OneParameter, followed
from symderiv.analysis.fixed_points.search import Found, found_points
from symderiv.analysis.fixed_points.symmetric_flow import differences
from symderiv.api.arguments.numbers import check_starts, ranges_of
from symderiv.api.results.answer import Rows
from symderiv.api.results.flows.fixed_point_answer import (
    NOT_FOLLOWED,
    UNPROVED,
    FixedPoints,
    connected,
    followed_record,
    found_record,
    if_closed,
    proved,
)
from symderiv.foundation.errors import InputError, NotYetError
from symderiv.integrate.flows.courses import Goal
from symderiv.precision.balls.eigenvalues import doubles_of
from symderiv.system.point_run import PointRun
from symderiv.system.system_flow import SystemFlow
from symderiv.system.system_runs import Solver
from symderiv.system.traced_system import TracedSystem
from symderiv.system.varied_system import VariedSystem

_STEP, _LARGE_FLOW, _DIGITS = 4e-3, 200, 15


class SystemFixedPoints(FixedPoints):
    """The fixed points of a system that were found; images under symmetries count as one.

    Attributes:
        points: as those of :class:`.FixedPoints`, but with ``state`` (order parameters by name, as
            in states) and ``observables`` in place of Q, R, v and the error; ``symmetry`` says
            which members are alike in it. ``error`` says how far the numbers of ``state`` and
            ``observables`` are from the exact ones at most; it is None where nothing is proved.
            There are no families.
        connections: as those of :class:`.FixedPoints`.
        branches, bifurcations: as those of :class:`.FixedPoints` if a parameter was followed, with
            ``observables`` (lists along branches) in place of errors, Q and R.
        symmetries: how many exchanges and changes of sign leave the flow unchanged.
        jacobian: "generated", or "differences" if a mean has no derivative.
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

    def _rows(self) -> Rows:
        record = self._record
        rows = [(name, record[name]) for name in ("symmetries", "jacobian")]
        proofs = sum(each["certified"] for each in record["points"])
        rows.append(("points", f"{len(record['points'])} found, {proofs} of them proved"))
        return rows


def system_fixed_points(
    solver: Solver,
    initial: Mapping[str, Any],
    starts: int,
    unconnected: bool,
    follow: Mapping[str, Sequence[float]],
    parameters: Mapping[str, Any],
) -> SystemFixedPoints:
    """Return the catalogue of fixed points; see :meth:`symderiv.System.fixed_points`."""
    check_starts(starts)
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
            **NOT_FOLLOWED,
            **(branches[0] if branches else {}),
            "warnings": [UNPROVED],
        }
    )


def points_of_system(flow: SystemFlow, starts: int) -> tuple[list[Found], str]:
    """Return the points that were found, and where the Jacobian comes from.

    Physical points come first, by their index.
    """
    jacobian, kind = _jacobian_of(flow)
    points = found_points(flow, jacobian, [flow.begin[flow.place]], starts)
    points.sort(key=lambda each: (not flow.physical(each.values), each.index, *each.values))
    return points, kind


def _ends_of(
    values: Mapping[str, float], follow: Mapping[str, Sequence[float]]
) -> dict[str, tuple[float, float]]:
    """Return the range of the parameter that is followed, by its name; empty without one.

    Raises:
        InputError: Several parameters are given, or one is unknown or not within its range.
    """
    ranges = ranges_of(follow, "follow", 1)
    for name, ends in ranges.items():
        if name not in values:
            known = ", ".join(values) or "none"
            raise InputError(f"{name!r} is not a parameter; there are {known}", argument="follow")
        if not ends[0] <= values[name] <= ends[1]:
            raise InputError(
                f"{name}: its ends must enclose {values[name]:g}, its value", argument="follow"
            )
    return ranges


def _branches(
    flow: SystemFlow, points: Sequence[Found], name: str, begin: float, ends: tuple[float, float]
) -> dict[str, Any]:
    """Return the record of branches through points in a parameter, with their bifurcations."""
    at = flow.along(name)
    branches = followed(OneParameter(flow, at, [ends]), [each.values for each in points], begin)
    return followed_record(flow, name, at, branches, partial(_observed, flow))


def _observed(flow: SystemFlow, values: np.ndarray, constants: np.ndarray) -> dict[str, Any]:
    """Return the observables at coordinates, by name."""
    observed = flow.solver.observed(flow.state(values)[None], constants)
    return {"observables": {name: float(value[0]) for name, value in observed.items()}}


def _jacobian_of(flow: SystemFlow) -> tuple[Callable[[np.ndarray], np.ndarray], str]:
    """Return the function of the rates' derivatives, and where it comes from."""
    try:
        tangent = flow.solver.tangent(())
    except NotYetError:
        return (lambda values: differences(flow.slope, values, _STEP)), "differences"

    def slopes(values: np.ndarray) -> np.ndarray:
        given = np.concatenate([flow.state(values), flow.constants])
        directions = np.eye(flow.begin.size)[flow.place]
        transposed = np.empty_like(directions)
        for direction, row in zip(directions, transposed, strict=True):
            tangent(0.0, direction, flow.solver.layout.sizes, given, row)
        return transposed[:, flow.place].T / flow.unit

    return slopes, "generated"


def _traced(
    flow: SystemFlow, initial: Mapping[str, Any], parameters: Mapping[str, Any]
) -> TracedSystem:
    """Return the equations in exact numbers.

    Raises:
        NotYetError: A mean has no closed form.
    """
    point = VariedSystem(flow.solver, initial, parameters).point({})
    run = PointRun(replace(point, state=flow.begin), Goal(np.zeros(1)))
    return TracedSystem.of(run)


def _record(
    flow: SystemFlow, traced: TracedSystem | None, point: Found, initial: Mapping[str, Any]
) -> dict[str, Any]:
    layout, state = flow.solver.layout, flow.state(point.values)
    named = layout.unpacked(state, flow.constants, layout.shown(initial))
    observed = _observed(flow, point.values, flow.constants)
    record = {
        "state": {name: np.asarray(value).tolist() for name, value in named.items()},
        **observed,
        "symmetry": flow.alike(point.values),
        "error": None,
        **found_record(flow, point),
    }
    proof = None if point.neutral else proved(traced, state, _DIGITS)
    if proof is None or proof.index is None:
        return record
    numbers = [
        x
        for each in (named, *observed.values())
        for value in each.values()
        for x in np.ravel(value)
    ]
    pairs = zip(numbers, proof.observed, strict=True)
    away = max(float(abs(arb(float(x)) - ball).upper()) for x, ball in pairs)
    error = float(np.nextafter(away, np.inf))
    eigenvalues, errors = doubles_of(proof.eigenvalues)
    return {
        **record,
        "certified": True,
        "index": proof.index,
        "error": error,
        "eigenvalues": eigenvalues,
        "eigenvalue_errors": errors,
    }
