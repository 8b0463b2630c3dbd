"""The fixed points of a stated system."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from symderiv.analysis.fixed_points.search import Found, found_points
from symderiv.analysis.fixed_points.symmetric_flow import differences
from symderiv.api.results.answer import Answer
from symderiv.api.results.flows.fixed_point_answer import found_record, told_of_point
from symderiv.api.results.flows.jacobian import system_slopes
from symderiv.foundation.documents.document import Part, Summary, Tabular
from symderiv.foundation.errors import InputError, NotYetError
from symderiv.system.system_flow import SystemFlow
from symderiv.system.system_runs import Solver

_CAUTION = "points are those that were found; that there are no others is not proved"
_STEP, _LARGE_FLOW = 4e-3, 200


class SystemFixedPoints(Answer):
    """The fixed points of a system that were found, one for all that symmetries make of it.

    Attributes:
        points: a dictionary for each, those that vectors can have first, by index: ``state``
            (order parameters by name, as in states), ``observables``; ``eigenvalues`` of the
            Jacobian per unit of α, as pairs of real and imaginary part; ``index``, how many
            directions are unstable, and ``neutral``, how many cannot be told from neutral;
            ``orbit``, how many points the symmetries make of it; ``symmetry``, which members are
            alike in it; ``physical``, whether vectors with these overlaps exist; ``residual``, the
            largest rate that is left.
        symmetries: how many exchanges and changes of sign leave the flow alone.
        jacobian: "generated", or "differences" where a mean has no derivative.
    """

    _title = "Fixed points of a system"

    def _summary(self) -> Summary:
        record = self._record
        rows = [(name, record[name]) for name in ("symmetries", "jacobian")]
        rows.append(("points", f"{len(record['points'])} found"))
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
    points.sort(key=lambda each: (not flow.physical(each.values), each.index, *each.values))
    return SystemFixedPoints(
        {
            "symmetries": len(flow.elements[0]),
            "jacobian": kind,
            "points": [_record(flow, each, initial) for each in points],
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


def _record(flow: SystemFlow, point: Found, initial: Mapping[str, Any]) -> dict[str, Any]:
    layout, state = flow.solver.layout, flow.state(point.values)
    named = layout.unpacked(state, flow.constants, layout.shown(initial))
    observed = flow.solver.observed(state[None], flow.constants)
    return {
        "state": {name: np.asarray(value).tolist() for name, value in named.items()},
        "observables": {name: float(value[0]) for name, value in observed.items()},
        "symmetry": flow.alike(point.values),
        **found_record(flow, point),
    }
