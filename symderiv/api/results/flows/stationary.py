"""The fixed points of a problem: found, proved if equations are closed, and connected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from symderiv.analysis.fixed_points.bifurcation_curves import (
    BifurcationCurve,
    bifurcation_curves,
)
from symderiv.analysis.fixed_points.continuation import (
    FixedPointBranch,
    OneParameter,
    Parameters,
    followed,
)
from symderiv.analysis.fixed_points.families import Family, families
from symderiv.analysis.fixed_points.search import Found, found_points
from symderiv.analysis.fixed_points.unit_flow import UnitFlow, exchanged
from symderiv.api.arguments.numbers import check_digits, check_starts, ranges_of
from symderiv.api.results.flows.fixed_point_answer import (
    NOT_FOLLOWED,
    UNPROVED,
    FixedPoints,
    connected,
    curve_record,
    followed_record,
    found_record,
    if_closed,
    proved,
)
from symderiv.api.results.flows.stationary_flow import (
    StationaryFlow,
    constants_along,
    overlaps_at,
)
from symderiv.foundation.errors import InputError, NotYetError, ToleranceError
from symderiv.foundation.packing import families_of
from symderiv.problem.key_names import study_key

if TYPE_CHECKING:
    from symderiv.analysis.fixed_points.completeness import ProvedSpace
    from symderiv.analysis.fixed_points.proof import Proof
    from symderiv.api.results.rate_function import Start
    from symderiv.enclosures.traced_flow import TracedFlow
    from symderiv.problem.study import Study

_DOUBLE = 15
_LARGE_FLOW = 400
_LARGEST_BOX = 100.0
_RATE, _LEAST_RATE = "training.learning_rate", 1e-4


_NO_SLOPES = (
    "points without an index: students coincide or lie along a teacher, where the rates of this "
    "activation have no derivatives"
)
_NOT_FOLLOWED = "families are not followed in a key; only single points are"
_IN_SPACES = "that there are no other points is proved among the symmetric states of the table only"


def fixed_points_of(
    study: Study,
    initial: Start | None,
    *,
    digits: int,
    starts: int,
    unconnected: bool,
    complete: float | None,
    follow: Mapping[str, Sequence[float]],
) -> FixedPoints:
    """Return the catalogue of fixed points; see :meth:`symderiv.Problem.fixed_points`."""
    check_digits(digits)
    check_starts(starts)
    if complete is not None and not 0 < complete < _LARGEST_BOX:
        raise InputError(
            f"{complete} is not a largest Q_ii between 0 and {_LARGEST_BOX}", argument="complete"
        )
    along = _ends_of(study, follow)
    stated = StationaryFlow.of(study, initial)
    flow = stated.flow
    numbered, spaces = points_of(stated, starts, complete)
    points, order = [each for each, _ in numbered], [n for _, n in numbered]
    proved = [_space_record(flow, each, complete or 0.0, order) for each in spaces]
    real = [each for each in points if flow.physical(each.values)]
    alone = [each for each in real if not isinstance(each, Family)]
    curves = _followed(stated, alone, along) if along else {}
    traced = if_closed(stated.traced)
    return FixedPoints(
        {
            "activation": study.student_activation,
            "students": study.K,
            "teachers": study.M,
            "learning_rate": study.training.learning_rate,
            "order": study.training.order,
            "symmetries": len(flow.group[0]),
            "points": [_record(stated, traced, each, digits) for each in points],
            "connections": [] if unconnected else connected(flow, real),
            "complete": any(each["whole"] and not each["left"] for each in proved),
            "proved_spaces": proved,
            **NOT_FOLLOWED,
            **curves,
            "warnings": _cautions(proved, real, bool(along)),
        }
    )


def _cautions(
    proved: Sequence[Mapping[str, Any]], points: Sequence[Found], along: bool
) -> list[str]:
    """Return warnings about what is not proved or not followed."""
    whole = any(each["whole"] and not each["left"] for each in proved)
    cautions = [] if whole else [_IN_SPACES if proved else UNPROVED]
    cautions += [_NO_SLOPES] if any(each.slopes is None for each in points) else []
    followed = along and any(isinstance(each, Family) for each in points)
    return cautions + ([_NOT_FOLLOWED] if followed else [])


def _space_record(
    flow: UnitFlow, proved: ProvedSpace, largest: float, order: Sequence[int]
) -> dict[str, Any]:
    states, merged = proved.states, proved.states.one_vector
    *_, students, teachers = flow.group
    joined = [
        " = ".join(str(n + 1) for n in units) if units in merged else _exchangeable(units)
        for units in (*exchanged(students[states.stabiliser]), *merged)
    ]
    by_students = list(dict.fromkeys(joined))
    by_teachers = [_exchangeable(units) for units in exchanged(teachers[states.stabiliser])]
    return {
        "symmetry": f"students {', '.join(by_students)}; teachers {', '.join(by_teachers)}",
        "dimension": states.size,
        "whole": states.size == flow.place.size,
        "largest_Q": largest,
        "points": sorted(order.index(n) + 1 for n in proved.points if n in order),
        "boxes": proved.census.boxes,
        "left": len(proved.census.left),
    }


def _exchangeable(units: Sequence[int]) -> str:
    return " ~ ".join(str(n + 1) for n in units)


def points_of(
    stated: StationaryFlow, starts: int, complete: float | None
) -> tuple[list[tuple[Found, int]], list[ProvedSpace]]:
    """Return the fixed points with indices into the proofs of spaces, and these proofs.

    One point of each family is listed; physical ones come first, by their index. A point that is
    not in the proofs has the index -1.
    """
    flow = stated.flow
    if flow.place.size > _LARGE_FLOW:
        raise InputError(
            f"{flow.place.size} order parameters are too many to look for all fixed points; take "
            "fewer distinct eigenvalues",
            argument="distinct_eigenvalues",
        )
    points = found_points(flow, stated.jacobian, [flow.begin[flow.place]], starts)
    spaces: list[ProvedSpace] = []
    if complete is not None:
        from symderiv.analysis.fixed_points.completeness import proved_spaces

        try:
            points, spaces = proved_spaces(
                flow, stated.in_balls(), stated.jacobian, points, complete
            )
        except NotYetError as error:
            raise error.renamed("complete") from None
    numbers = {id(each.slopes): n for n, each in enumerate(points)}
    listed = families(flow, stated.error_at, points)
    listed.sort(
        key=lambda each: (
            not flow.physical(each.values),
            each.slopes is None,
            each.index,
            round(stated.error_at(each.values), 10),
        )
    )
    return [(each, numbers.get(id(each.slopes), -1)) for each in listed], spaces


class _FollowedKey(NamedTuple):
    """A key that is followed, with its value in the study and its range."""

    key: str
    begin: float
    low: float
    high: float


def _ends_of(study: Study, follow: Mapping[str, Sequence[float]]) -> list[_FollowedKey]:
    """Return the keys that are followed, by full name, with their ranges.

    Raises:
        InputError: the keys are not one or two numbers of the study, each within its range.
    """
    along: list[_FollowedKey] = []
    for name, ends in ranges_of(follow, "follow", 2).items():
        key = study_key(name)
        begin = value_of(study, key)
        if not ends[0] <= begin <= ends[1]:
            raise InputError(
                f"{name}: its ends must enclose {begin:g}, the value of the study",
                argument="follow",
            )
        # rates are divided by the learning rate, which must not be zero
        low = max(ends[0], _LEAST_RATE * ends[1]) if key == _RATE else ends[0]
        if any(each.key == key for each in along):
            raise InputError(f"{key} is followed twice; give another key", argument="follow")
        along.append(_FollowedKey(key, begin, low, ends[1]))
    return along


def _followed(
    stated: StationaryFlow, points: Sequence[Found], along: Sequence[_FollowedKey]
) -> dict[str, Any]:
    """Return the record of branches through points in one key, with their bifurcations.

    With a second key it contains the curves of bifurcations in both.
    """
    key, begin, low, high = along[0]
    at = constants_along(stated, {key: (low, high)})
    problem = OneParameter(stated.flow, at, [(low, high)])
    branches = followed(problem, [each.values for each in points], begin)
    record = followed_record(stated.flow, key, at, branches, stated.measured)
    for each, branch in zip(record["branches"], branches, strict=True):
        each |= overlaps_at(stated, branch.values)
    return record | (_curves(stated, branches, along) if len(along) == 2 else {})


def _curves(
    stated: StationaryFlow, branches: Sequence[FixedPointBranch], along: Sequence[_FollowedKey]
) -> dict[str, Any]:
    """Return the record of curves of bifurcations in two keys."""

    ends = (along[0].low, along[0].high), (along[1].low, along[1].high)
    at = constants_along(stated, {each.key: end for each, end in zip(along, ends, strict=True)})
    plane = Parameters(stated.flow, at, ends)
    curves = bifurcation_curves(plane, branches, along[1].begin)
    return {"second": along[1].key, "curves": [_curve_record(stated, plane, c) for c in curves]}


def _curve_record(
    stated: StationaryFlow, plane: Parameters, curve: BifurcationCurve
) -> dict[str, Any]:
    parameter, second = curve.parameters.T
    constants, units = zip(*(plane.at(*pair) for pair in curve.parameters), strict=True)
    return {
        "kind": curve.kind,
        "parameter": parameter.tolist(),
        "second": second.tolist(),
        "frequency": [f * unit for f, unit in zip(curve.frequency, units, strict=True)],
        **curve_record(stated.flow, curve, constants, stated.measured),
        **overlaps_at(stated, curve.values),
    }


def value_of(study: Study, key: str) -> float:
    """Return the number that a study has for a key.

    Raises:
        InputError: the value of the key is not a number.
    """
    table, _, name = key.partition(".")
    value = study.tables().get(table, {}).get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"{key} = {value!r} is not a number, so it cannot vary", argument="follow")
    return float(value)


def _record(
    stated: StationaryFlow, traced: TracedFlow | None, point: Found, digits: int
) -> dict[str, Any]:
    """Return the record of a fixed point, with a proof if there is one."""
    flow = stated.flow
    proof = None if point.neutral else proved(traced, flow.state(point.values), digits)
    numbers = _in_doubles(stated, point) if proof is None else _in_balls(flow, proof, digits)
    views = flow.packing(0).views(flow.state(point.values))
    others = {name: each.tolist() for name, each in views.items() if not families_of(name)}
    if proof is None and digits > _DOUBLE:
        if point.neutral:
            raise ToleranceError(f"{digits} digits of a degenerate fixed point cannot be computed")
        numbers |= _polished(stated, point, digits)
    if proof is not None and proof.index is not None:
        others |= {"certified": True, "index": proof.index}
    if point.slopes is None:
        others |= {"index": None, "neutral": None}
    if isinstance(point, Family):
        others["family"] = _family_record(stated, point)
    return {**found_record(flow, point), "symmetry": _symmetry(flow, point), **numbers, **others}


def _family_record(stated: StationaryFlow, family: Family) -> dict[str, Any]:
    """Return dimension, number of members and extent of a family."""
    flow = stated.flow

    def named(values: np.ndarray) -> dict[str, np.ndarray]:
        views = flow.packing(0).views(flow.state(values))
        others = {name: each for name, each in views.items() if not families_of(name)}
        return {name: np.array(x) for name, x in (overlaps_at(stated, values) | others).items()}

    def numbers(values: np.ndarray) -> np.ndarray:
        return np.concatenate([each.ravel() for each in named(values).values()])

    nothing = numbers(np.zeros(flow.place.size))
    rows = np.array([numbers(each) - nothing for each in np.eye(flow.place.size)]).T
    # Q_ij and Q_ji are equal, and their extent is computed once
    distinct, place = np.unique(rows, axis=0, return_inverse=True)
    shapes = {name: each.shape for name, each in named(family.values).items()}
    record: dict[str, Any] = {
        "dimension": family.dimension,
        "found": len(family.members),
        "undecided": max(0, family.neutral - family.dimension) if family.eigenvalues.size else None,
    }
    for end, values in zip(("least", "largest"), family.extent(distinct), strict=True):
        flat, at = values[place.ravel()] + nothing, 0
        record[end] = {}
        for name, shape in shapes.items():
            size = int(np.prod(shape))
            record[end][name] = _finite(flat[at : at + size].reshape(shape).tolist())
            at += size
    return record


def _finite(nested: Any) -> Any:
    """Return numbers rounded to the accuracy of an extent, with None for infinite ones."""
    if isinstance(nested, list):
        return [_finite(each) for each in nested]
    return round(nested, 3) + 0.0 if np.isfinite(nested) else None


def _in_balls(flow: UnitFlow, proof: Proof, digits: int) -> dict[str, Any]:
    from symderiv.precision.balls.decimals import Outward
    from symderiv.precision.balls.working import working_bits

    outward = Outward(digits)
    with working_bits(4 * digits + 200):
        number = outward.number
        pairs = [(each.real, each.imag) for each in proof.eigenvalues]
        rates = [[outward.bounded(part) for part in pair] for pair in pairs]
        K, M = flow.sizes["K"], flow.sizes["M"]
        observed = [number(x) for x in proof.observed]
        return {
            "Q": [observed[K * i : K * (i + 1)] for i in range(K)],
            "R": [observed[K * K + M * i : K * K + M * (i + 1)] for i in range(K)],
            "generalization_error": observed[-1],
            "eigenvalues": [[number for number, _ in pair] for pair in rates],
            "eigenvalue_errors": [[bound for _, bound in pair] for pair in rates],
            "error": float(max(x.rad() for x in proof.values)),
        }


def _in_doubles(stated: StationaryFlow, point: Found) -> dict[str, Any]:
    flow = stated.flow
    rates = flow.slope(point.values)
    step = rates if point.slopes is None else np.linalg.lstsq(point.slopes, rates, rcond=1e-12)[0]
    return {
        **overlaps_at(stated, point.values),
        "generalization_error": stated.error_at(point.values),
        "error": float(np.max(np.abs(step)) + 1e-15 * np.max(np.abs(point.values))),
    }


def _polished(stated: StationaryFlow, point: Found, digits: int) -> dict[str, Any]:
    from symderiv.analysis.fixed_points.proof import polished
    from symderiv.precision.balls.contexts import numbers

    traced, places = stated.traced(), stated.places()
    inverse = np.linalg.inv(stated.jacobian(point.values) * stated.flow.unit)
    values = polished(
        lambda mp, each: traced.rates_at(mp, places, each), point.values, inverse, digits
    )
    with numbers(digits + 10, "mpmath") as mp:
        Q, R, error = traced.observed_at(mp, places, values)
        return {
            "Q": [[mp.nstr(x, digits) for x in row] for row in Q],
            "R": [[mp.nstr(x, digits) for x in row] for row in R],
            "generalization_error": mp.nstr(error, digits),
        }


def _symmetry(flow: UnitFlow, point: Found) -> str:
    """Return which units the symmetries of a point exchange; equal vectors are joined by =."""
    *_, students, teachers = flow.group
    Q = flow.packing(0).views(flow.state(point.values))["student_overlap"]
    scale = 1e-6 * np.max(np.abs(Q))

    def joined(units: list[int]) -> str:
        alike = np.max(np.abs(Q[np.ix_(units, units)] - Q[units[0], units[0]])) < scale
        return (" = " if alike else " ~ ").join(str(n + 1) for n in units)

    by_students = [joined(units) for units in exchanged(students[point.stabiliser])]
    by_teachers = [_exchangeable(units) for units in exchanged(teachers[point.stabiliser])]
    return f"students {', '.join(by_students)}; teachers {', '.join(by_teachers)}"
