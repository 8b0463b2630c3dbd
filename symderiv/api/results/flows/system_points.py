"""The fixed points of a stated system."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from flint import arb

from symderiv.analysis.fixed_points.search import Found, found_points
from symderiv.analysis.fixed_points.symmetric_flow import differences
from symderiv.api.results.answer import Answer
from symderiv.api.results.flows.fixed_point_answer import (
    found_record,
    if_closed,
    proved,
    told_of_point,
)
from symderiv.api.results.flows.jacobian import system_slopes
from symderiv.foundation.documents.document import Part, Summary, Tabular
from symderiv.foundation.errors import InputError, NotYetError
from symderiv.integrate.flows.courses import Goal
from symderiv.system.point_run import PointRun
from symderiv.system.system_flow import SystemFlow
from symderiv.system.system_runs import Solver
from symderiv.system.traced_system import TracedSystem
from symderiv.system.varied_system import VariedSystem

_CAUTION = "points are those that were found; that there are no others is not proved"
_STEP, _LARGE_FLOW, _DIGITS = 4e-3, 200, 15


class SystemFixedPoints(Answer):
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
        symmetries: how many exchanges and changes of sign leave the flow alone.
        jacobian: "generated", or "differences" where a mean has no derivative.
    """

    _title = "Fixed points of a system"

    def _summary(self) -> Summary:
        record = self._record
        rows = [(name, record[name]) for name in ("symmetries", "jacobian")]
        proofs = sum(each["certified"] for each in record["points"])
        rows.append(("points", f"{len(record['points'])} found, {proofs} of them proved"))
        return Summary(self._title, rows, record["warnings"])

    def _document(self) -> Part:
        observables = list(self._record["points"][0]["observables"]) if self.points else []
        heads = ("", *observables, "index", "orbit", "largest rate", "kind", "alike")
        rows = [
            [
                str(number),
                *(f"{each['observables'][name]:.8g}" for name in observables),
                *told_of_point(each),
            ]
            for number, each in enumerate(self._record["points"], 1)
        ]
        sides = "r" + "r" * len(observables) + "rrrll"
        return Part("", [self._summary(), Tabular(heads, rows, sides=sides)])


def system_fixed_points(
    solver: Solver, initial: Mapping[str, Any], starts: int, parameters: Mapping[str, Any]
) -> SystemFixedPoints:
    """Return the catalogue; see :meth:`symderiv.System.fixed_points`."""
    if starts < 1:
        raise InputError(f"{starts} is not positive", argument="starts")
    flow = SystemFlow.of(solver, initial, parameters)
    if flow.place.size > _LARGE_FLOW:
        raise InputError(
            f"{flow.place.size} order parameters are too many to look for all fixed points",
            argument="initial",
        )
    jacobian, kind = _jacobian_of(flow)
    points = found_points(flow, jacobian, [flow.begin[flow.place]], starts)
    traced = if_closed(lambda: _traced(flow, initial, parameters))
    points.sort(key=lambda each: (not flow.physical(each.values), each.index, *each.values))
    return SystemFixedPoints(
        {
            "symmetries": len(flow.elements[0]),
            "jacobian": kind,
            "points": [_record(flow, traced, each, initial) for each in points],
            "warnings": [_CAUTION],
        }
    )


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
