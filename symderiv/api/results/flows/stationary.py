"""The fixed points of a problem: found, proved where equations are closed, and connected."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.polynomial import chebyshev

from symderiv.analysis.fixed_points.bifurcation_curves import (
    BifurcationCurve,
    Plane,
    bifurcation_curves,
)
from symderiv.analysis.fixed_points.connections import connections
from symderiv.analysis.fixed_points.continuation import FixedPointBranch, followed
from symderiv.analysis.fixed_points.families import Family, families
from symderiv.analysis.fixed_points.search import Found, found_points
from symderiv.analysis.fixed_points.symmetric_flow import differences
from symderiv.analysis.fixed_points.unit_flow import UnitFlow, exchanged
from symderiv.api.arguments.starts import start_of
from symderiv.api.results.answer import Answer
from symderiv.api.results.rate_function import flow_at
from symderiv.compiled_code.machine_code import MachineCode
from symderiv.foundation.documents.document import Node, Part, Summary, Tabular
from symderiv.foundation.drawing import drawing
from symderiv.foundation.errors import InputError, NotYetError, ToleranceError
from symderiv.foundation.packing import families_of
from symderiv.integrate.flows.components import ComponentsFlow
from symderiv.problem.key_names import study_key

if TYPE_CHECKING:
    from flint import arb
    from matplotlib.axes import Axes

    from symderiv.analysis.fixed_points.completeness import ProvedSpace
    from symderiv.analysis.fixed_points.proof import ExactFlow, Proof
    from symderiv.integrate.flows.study_flow import Flow
    from symderiv.problem.state import State
    from symderiv.problem.study import Study

    Start = State | str | PathLike[str] | Mapping[str, Any]

__all__ = [
    "FixedPoints",
    "StationaryFlow",
    "constants_along",
    "fixed_points_of",
    "points_of",
    "value_of",
]

_STEP = 4e-3
_MOST_DIGITS = 1000
_DOUBLE = 15
_LARGE_FLOW = 400
_LARGEST_BOX = 100.0
_VARIES = 2e-3
_RATE, _LEAST_RATE = "training.learning_rate", 1e-4
_DEGREES, _TRIED, _INTERPOLATED = (1, 4, 12, 48), np.array([-0.93, -0.41, 0.17, 0.62, 0.98]), 1e-11


class FixedPoints(Answer):
    """The fixed points that were found, one for all that symmetries take to each other.

    Attributes:
        points: a dictionary for each, those that vectors can have first, by index and error:
            ``Q``, ``R``, ``v`` (and ``b``), ``generalization_error``; ``eigenvalues`` of the
            Jacobian per unit of α, as pairs of real and imaginary part; ``index``, how many
            directions are unstable, and ``neutral``, how many cannot be told from neutral (both
            None, and no eigenvalues, where the rates have no derivatives);
            ``orbit``, how many points the symmetries make of it; ``symmetry``, which units they
            exchange in it; ``physical``, whether vectors with these overlaps exist;
            ``certified``, whether existence, uniqueness nearby and the index are proved; ``error``
            of every order parameter, proved or estimated; ``residual``; ``family``, None for a
            single point, else what is known of the continuum that this point, the most symmetric
            one found, represents: its ``dimension``, how many points of it were ``found``, how many
            neutral directions lead out of it (``undecided``), and the ``least`` and ``largest``
            values of order parameters on it (None without bound).
        connections: dictionaries ``source``, ``target`` (numbers of points from 1, None if none is
            approached), ``rate`` of the direction and ``time`` that it takes per unit of α.
        symmetries: how many exchanges of units leave the flow alone.
        complete: whether it is proved that there are no others in the whole box that was asked for.
        proved_spaces: what is proved of symmetric states, dictionaries ``symmetry`` (what all
            states of the space have), ``dimension``, ``whole`` (whether it is all states),
            ``largest_Q`` (the box: states of vectors with every Q_ii at most this), ``points``
            (numbers of all fixed points in it, from 1), ``boxes`` (how many parts were looked at)
            and ``left`` (of how many parts nothing is proved).
        branches: where a key was followed, dictionaries ``parameter``, ``generalization_error``,
            ``index``, ``physical`` (lists along the curve), ``Q``, ``R`` (with the place on the
            curve first) and ``ends``, why it ends.
        bifurcations: dictionaries ``kind`` ("fold", "pitchfork", "transcritical", "hopf"),
            ``parameter``, ``generalization_error``, ``frequency`` and the ``branch``, from 1.
        curves: where two keys were followed, the curves of these bifurcations in both, dictionaries
            ``kind``, ``parameter`` and ``second`` (both keys along the curve),
            ``generalization_error``, ``frequency``, ``physical``, ``Q``, ``R`` and ``ends``.
    """

    _title = "Fixed points"

    def _summary(self) -> Summary:
        record = self._record
        proved = sum(each["certified"] for each in record["points"])
        rows = [(name, record[name]) for name in ("activation", "students", "teachers")]
        rows += [(name, record[name]) for name in ("learning_rate", "order", "symmetries")]
        points = f"{len(record['points'])} found, {proved} of them proved"
        continua = sum(each["family"] is not None for each in record["points"])
        points += f", {continua} of them families" if continua else ""
        rows.append(("points", points))
        return Summary(self._title, rows, record["warnings"])

    def _document(self) -> Part:
        heads = ("", "error", "index", "orbit", "largest rate", "kind", "symmetry", "leads to")
        rows = [
            [
                str(number),
                f"{float(each['generalization_error']):.8g}",
                _index_text(each),
                str(each["orbit"]),
                _rate_text(each),
                _kind_text(each),
                each["symmetry"],
                self._led_to(number),
            ]
            for number, each in enumerate(self._record["points"], 1)
        ]
        nodes: list[Node] = [self._summary(), Tabular(heads, rows, sides="rrrrrlll")]
        if any(each["family"] for each in self._record["points"]):
            nodes.append(self._families())
        if self._record["proved_spaces"]:
            nodes.append(self._proved())
        if self._record["branches"]:
            nodes += self._followed()
        return Part("", nodes)

    def _families(self) -> Tabular:
        """Return the continua of fixed points, with what varies on them."""
        rows = [
            [
                str(number),
                str(each["family"]["dimension"]),
                str(each["family"]["found"]),
                _stability_text(each),
                _extent_text(each["family"]),
            ]
            for number, each in enumerate(self._record["points"], 1)
            if each["family"]
        ]
        heads = ("", "dimension", "points of it found", "across it", "order parameters on it")
        return Tabular(heads, rows, "Families of fixed points", "rrrll")

    def _proved(self) -> Tabular:
        """Return the spaces in which no fixed point is missing."""
        rows = [
            [
                ("all states; " if each["whole"] else "") + each["symmetry"],
                f"Q_ii ≤ {each['largest_Q']:g}",
                ", ".join(map(str, each["points"])) or "none",
                str(each["boxes"]),
                f"not proved: {each['left']} parts are left" if each["left"] else "proved",
            ]
            for each in self._record["proved_spaces"]
        ]
        heads = ("states with", "box", "fixed points", "parts", "that these are all")
        return Tabular(heads, rows, "Completeness", "lllrl")

    def _followed(self) -> list[Tabular]:
        """Return the branches and what happens on them."""
        branches = [
            [
                str(number),
                f"{each['parameter'][0]:.6g}",
                f"{each['parameter'][-1]:.6g}",
                ", ".join(map(str, sorted(set(each["index"])))),
                " and ".join(each["ends"]),
            ]
            for number, each in enumerate(self._record["branches"], 1)
        ]
        events = [
            [
                str(each["branch"]),
                each["kind"],
                f"{each['parameter']:.8g}",
                f"{each['generalization_error']:.6g}",
            ]
            for each in self._record["bifurcations"]
        ]
        key = self._record["followed"]
        tables = [
            Tabular(("branch", "from", "to", "index", "ends"), branches, key, "rrrll"),
            Tabular(("branch", "kind", key, "error"), events, "Bifurcations", "rlrr"),
        ]
        if self._record["second"]:
            rows = [
                [
                    each["kind"],
                    _from_to(each["parameter"]),
                    _from_to(each["second"]),
                    " and ".join(each["ends"]),
                ]
                for each in self._record["curves"]
            ]
            heads = ("kind", key, self._record["second"], "ends")
            tables.append(Tabular(heads, rows, "Curves of bifurcations", "lrrl"))
        return tables

    def _led_to(self, number: int) -> str:
        ends = {
            "none known" if each["target"] is None else str(each["target"])
            for each in self._record["connections"]
            if each["source"] == number
        }
        return ", ".join(sorted(ends))

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the points by index and error, with arrows to where unstable directions lead; the
        branches if a key was followed; the curves of bifurcations if two were.

        Args:
            ax: Matplotlib axes to draw into; None makes new ones.
        """
        plots, record = drawing("analysis_plots.fixed_point_plots"), self._record
        if record["curves"]:
            keys = record["followed"], record["second"]
            plane: Axes = plots.curve_axes(record["curves"], keys, ax)
            return plane
        axes: Axes = (
            plots.branch_axes(record["branches"], record["bifurcations"], record["followed"], ax)
            if record["branches"]
            else plots.saddle_axes(record["points"], record["connections"], ax)
        )
        return axes


def _index_text(point: Mapping[str, Any]) -> str:
    """Return the number of unstable directions, and of those across a family that are neutral."""
    if point["index"] is None:
        return "none"
    unknown = point["family"]["undecided"] if point["family"] else point["neutral"]
    return str(point["index"]) + (f" + {unknown}?" if unknown else "")


def _rate_text(point: Mapping[str, Any]) -> str:
    """Return the largest rate, of a family the largest across it."""
    rates = sorted((float(each[0]) for each in point["eigenvalues"]), key=abs)
    across = rates[point["family"]["dimension"] if point["family"] else 0 :]
    return f"{max(across):.6g}" if across else "none"


def _kind_text(point: Mapping[str, Any]) -> str:
    kind = "proved" if point["certified"] else "found"
    if point["family"]:
        kind = f"family of dimension {point['family']['dimension']}"
    return kind + ("" if point["physical"] else ", no vectors")


def _stability_text(point: Mapping[str, Any]) -> str:
    """Return what directions that leave a family do, at the state that represents it."""
    if point["index"] is None:
        return "no derivatives"
    undecided = point["family"]["undecided"]
    stable = len(point["eigenvalues"]) - point["index"] - point["neutral"]
    said = f"{stable} stable, {point['index']} unstable"
    return said + (f", {undecided} neutral: not decided" if undecided else "")


def _extent_text(family: Mapping[str, Any]) -> str:
    """Return what varies on a family, those of one range together."""
    ranges: dict[str, list[str]] = {}
    for name, least in family["least"].items():
        low, high = np.array(least, dtype=float), np.array(family["largest"][name], dtype=float)
        for place, (a, b) in zip(
            np.ndindex(low.shape), zip(low.flat, high.flat, strict=True), strict=True
        ):
            if (name == "Q" and place[0] > place[1]) or b - a < _VARIES:
                continue
            label = f"{name}_{''.join(str(n + 1) for n in place)}"
            ranges.setdefault(_range_text(float(a), float(b)), []).append(label)
    return "; ".join(f"{', '.join(names)} {ends}" for ends, names in ranges.items())


def _range_text(low: float, high: float) -> str:
    """Return a range, an end of which may be not a number: none."""
    if np.isnan(low) or np.isnan(high):
        return (
            "any" if low != low and high != high else f"≤ {high:g}" if low != low else f"≥ {low:g}"
        )
    return f"{low:g} to {high:g}"


def _from_to(values: Sequence[float]) -> str:
    return f"{values[0]:.6g} to {values[-1]:.6g}"


_CAUTION = "points are those that were found; that there are no others is not proved"
_NO_SLOPES = (
    "points without an index: students coincide or lie along a teacher, where the rates of this "
    "activation have no derivatives"
)
_NOT_FOLLOWED = "families are not followed in a key; only single points are"
_IN_SPACES = "that there are no other points is proved among the symmetric states of the table only"


@dataclass(frozen=True)
class StationaryFlow:
    """A study as the flow whose fixed points are looked for, in doubles and in formulas."""

    study: Study
    start: Start | None
    own: Flow
    flow: UnitFlow

    @classmethod
    def of(cls, study: Study, initial: Start | None) -> StationaryFlow:
        """Return the flow of a study, from a start that has its teachers and inputs.

        Raises:
            InputError: the rates depend on more than the state, or on several classes of inputs.
        """
        own = flow_at(study, start_of(study, initial))
        if isinstance(own, ComponentsFlow):
            raise InputError("must be inputs of one class here", argument="inputs")
        return cls(study, initial, own, unit_flow_of(own, study.training.learning_rate))

    def jacobian(self, values: np.ndarray) -> np.ndarray:
        """Return the derivatives of the rates by all coordinates."""
        return differences(self.flow.slope, values, _STEP)

    def error_at(self, values: np.ndarray, constants: np.ndarray | None = None) -> float:
        """Return the generalisation error at coordinates."""
        sizes = self.flow.sizes
        Q, R = np.empty((sizes["K"], sizes["K"])), np.empty((sizes["K"], sizes["M"]))
        state = np.ascontiguousarray(self.flow.state(values))
        module = self.own.kernel.module
        used = self.flow.constants if constants is None else constants
        return float(module.flat_observables(state, self.own.sizes, used, Q, R))

    def exact(self) -> ExactFlow:
        """Return the same flow with its numbers as formulas, for proofs.

        Raises:
            NotYetError: its equations have no closed form.
        """
        from symderiv.analysis.fixed_points.proof import ExactFlow, spectral_module

        if self.study.rule_keys:
            raise NotYetError("only plain descent of the squared loss has proofs")
        study, exact = self.study, {}
        for which, vector, name, key in (
            (0, "state", "v", "student_weights"),
            (1, "parameters", "v_teacher", "teacher_weights"),
        ):
            given = getattr(study.network, key)
            if isinstance(given, str):
                place = self.flow.packing(which).slices[name]
                value = partial(_ball_of, given, study.K, study.M)
                exact[vector] = dict.fromkeys(range(place.start, place.stop), value)
        module = spectral_module(study.student_activation, study.network.teacher_activation)
        return ExactFlow(self.flow, module, exact)


def unit_flow_of(own: Flow, learning_rate: float) -> UnitFlow:
    """Return a flow of a study as one whose fixed points are looked for."""
    right_hand_side = own.kernel.right_hand_side_for(own.state.K, own.state.M)
    at, used, change = (np.array(each) for each in (own.begin, own.parameters, own.begin))
    # rates are asked for many thousand times, so that arguments are looked at once
    arguments = 0.0, at, own.sizes, used, change
    call = (
        right_hand_side.bound(*arguments)
        if isinstance(right_hand_side, MachineCode)
        else partial(right_hand_side, *arguments)
    )

    def rates(state: np.ndarray, constants: np.ndarray) -> np.ndarray:
        at[:], used[:] = state, constants
        call()
        return change.copy()

    sizes = {"K": own.state.K, "M": own.state.M, "L": own.state.L}
    layout = own.layout["state"], own.layout["parameters"]
    return UnitFlow(rates, layout, sizes, own.begin.copy(), own.parameters.copy(), learning_rate)


def _ball_of(formula: str, K: int, M: int) -> arb:
    """Return an output weight that is a formula in K and M, at the working precision."""
    from flint import ctx

    return _ball_at(formula, K, M, ctx.prec)


@lru_cache(maxsize=64)
def _ball_at(formula: str, K: int, M: int, bits: int) -> arb:
    from symderiv.formula import parse_formula
    from symderiv.precision.balls.expression_balls import ball_at

    tree = parse_formula(formula, ("K", "M"))
    values = {each: {"K": K, "M": M}[each.name] for each in tree.free_symbols}
    return ball_at(tree.subs(values), {}, bits)


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
    """Return the catalogue; see :meth:`symderiv.Problem.fixed_points`."""
    if not 1 <= digits <= _MOST_DIGITS:
        raise InputError(f"{digits} is not between 1 and {_MOST_DIGITS}", argument="digits")
    if starts < 1:
        raise InputError(f"{starts} is not positive", argument="starts")
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
    edges = connections(flow, real) if not unconnected else []
    return FixedPoints(
        {
            "activation": study.student_activation,
            "students": study.K,
            "teachers": study.M,
            "learning_rate": study.training.learning_rate,
            "order": study.training.order,
            "symmetries": len(flow.group[0]),
            "points": _records(stated, points, digits),
            "connections": [
                {
                    "source": each.source + 1,
                    "target": None if each.target is None else each.target + 1,
                    "rate": each.rate,
                    "time": each.time,
                }
                for each in edges
            ],
            "complete": any(each["whole"] and not each["left"] for each in proved),
            "proved_spaces": proved,
            "followed": None,
            "second": None,
            "branches": [],
            "bifurcations": [],
            "curves": [],
            **curves,
            "warnings": _cautions(proved, real, bool(along)),
        }
    )


def _cautions(
    proved: Sequence[Mapping[str, Any]], points: Sequence[Found], along: bool
) -> list[str]:
    """Return what is not proved or not said."""
    whole = any(each["whole"] and not each["left"] for each in proved)
    cautions = [] if whole else [_IN_SPACES if proved else _CAUTION]
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
    """Return the points that are found, one of each family: physical ones first, by their index;
    each with its number in the proofs of spaces, which follow.
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
            points, spaces = proved_spaces(stated.exact(), stated.jacobian, points, complete)
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


class _Along(NamedTuple):
    """A key that is followed, its value in the study and its ends."""

    key: str
    begin: float
    low: float
    high: float


def _ends_of(study: Study, follow: Mapping[str, Sequence[float]]) -> list[_Along]:
    """Return the keys that are followed, in full, with their ends.

    Raises:
        InputError: they are not one or two numbers of the study, each between two ends.
    """
    if len(follow) > 2:
        raise InputError(f"has {len(follow)} keys; give one key or two", argument="follow")
    along: list[_Along] = []
    for name, ends in follow.items():
        if len(ends) != 2 or not ends[0] < ends[1]:
            raise InputError(f"{name} must have two ends, the smaller one first", argument="follow")
        key = study_key(name)
        begin = value_of(study, key)
        if not ends[0] <= begin <= ends[1]:
            raise InputError(
                f"{name}: its ends must enclose {begin:g}, the value of the study",
                argument="follow",
            )
        # rates per unit of a learning rate have no value where it is zero
        low = max(ends[0], _LEAST_RATE * ends[1]) if key == _RATE else ends[0]
        if any(each.key == key for each in along):
            raise InputError(f"{key} is followed twice; give another key", argument="follow")
        along.append(_Along(key, begin, float(low), float(ends[1])))
    return along


def _followed(
    stated: StationaryFlow, points: Sequence[Found], along: Sequence[_Along]
) -> dict[str, Any]:
    """Return the branches through points in one key, and their bifurcations; with a second key
    their curves in both.
    """
    key, begin, low, high = along[0]
    at = constants_along(stated, key, low, high)
    branches = followed(stated.flow, at, [each.values for each in points], begin, (low, high))
    sides = [
        (each, number) for number, branch in enumerate(branches, 1) for each in branch.bifurcations
    ]
    record = {
        "followed": key,
        "branches": [_branch_record(stated, at, branch) for branch in branches],
        "bifurcations": [
            {
                "kind": each.kind,
                "parameter": each.parameter,
                "generalization_error": stated.error_at(each.values, at(each.parameter)[0]),
                "frequency": each.frequency * at(each.parameter)[1],
                "branch": number,
            }
            for each, number in sides
        ],
    }
    return record | (_curves(stated, branches, along) if len(along) == 2 else {})


def _curves(
    stated: StationaryFlow, branches: Sequence[FixedPointBranch], along: Sequence[_Along]
) -> dict[str, Any]:
    """Return the curves of bifurcations in two keys."""

    @lru_cache(maxsize=512)
    def constants(which: int, fixed: float) -> Callable[[float], tuple[np.ndarray, float]]:
        moving, still = along[which], along[1 - which]
        there = replace(stated, study=stated.study.changed({still.key: fixed}))
        return constants_along(there, moving.key, moving.low, moving.high)

    first, second = ((each.low, each.high) for each in along)
    plane = Plane(stated.flow, constants, (first, second))
    curves = bifurcation_curves(plane, branches, along[1].begin)
    return {"second": along[1].key, "curves": [_curve_record(stated, plane, c) for c in curves]}


def _curve_record(stated: StationaryFlow, plane: Plane, curve: BifurcationCurve) -> dict[str, Any]:
    parameter, second = curve.parameters.T
    given = [plane.along(0, q)(p) for p, q in curve.parameters]
    return {
        "kind": curve.kind,
        "parameter": parameter.tolist(),
        "second": second.tolist(),
        "generalization_error": [
            stated.error_at(values, constants)
            for values, (constants, _) in zip(curve.values, given, strict=True)
        ],
        "frequency": [f * unit for f, (_, unit) in zip(curve.frequency, given, strict=True)],
        "physical": [
            stated.flow.physical(values, constants)
            for values, (constants, _) in zip(curve.values, given, strict=True)
        ],
        **_overlaps(stated, curve.values),
        "ends": list(curve.ends),
    }


def value_of(study: Study, key: str) -> float:
    """Return the number that a study has for a key.

    Raises:
        InputError: it is no number.
    """
    table, _, name = key.partition(".")
    value = study.tables().get(table, {}).get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"{key} = {value!r} is not a number, so it cannot vary", argument="follow")
    return float(value)


def _branch_record(
    stated: StationaryFlow,
    at: Callable[[float], tuple[np.ndarray, float]],
    branch: FixedPointBranch,
) -> dict[str, Any]:
    flow = stated.flow
    return {
        "parameter": branch.parameter.tolist(),
        "generalization_error": [
            stated.error_at(values, at(value)[0])
            for values, value in zip(branch.values, branch.parameter, strict=True)
        ],
        "index": branch.index.tolist(),
        "physical": [
            flow.physical(values, at(value)[0])
            for values, value in zip(branch.values, branch.parameter, strict=True)
        ],
        **_overlaps(stated, branch.values),
        "ends": list(branch.ends),
    }


def _overlaps(stated: StationaryFlow, values: np.ndarray) -> dict[str, Any]:
    """Return Q and R at coordinates, or along many of them."""
    state, flow = stated.own.state, stated.flow
    views = flow.packing(0).views(np.array([flow.state(each) for each in np.atleast_2d(values)]))
    Q = views["student_overlap"] @ (state.weight * state.eigenvalue)
    R = views["cross_overlap"] @ state.weight
    only = values.ndim == 1
    return {"Q": (Q[0] if only else Q).tolist(), "R": (R[0] if only else R).tolist()}


def constants_along(
    stated: StationaryFlow, key: str, low: float, high: float
) -> Callable[[float], tuple[np.ndarray, float]]:
    """Return the constants of a run, and its learning rate, as functions of a key's value.

    They are polynomials through Chebyshev's points between the ends, exact for what is linear.

    Raises:
        InputError: polynomials of degree 48 do not give them to 1e-11, or what does not move has
            other values.
    """
    flow = stated.flow
    still = np.setdiff1d(np.arange(flow.begin.size), [*flow.place, *flow.mirror[flow.place]])

    def packed(value: float) -> np.ndarray:
        there = StationaryFlow.of(stated.study.changed({key: value}), stated.start).flow
        if there.begin.shape != flow.begin.shape or not np.allclose(
            there.begin[still], flow.begin[still]
        ):
            raise InputError(f"{key} changes the start; it cannot be followed", argument="follow")
        return np.append(there.constants, there.unit)

    middle, half = (low + high) / 2, (high - low) / 2
    tried = np.array([packed(middle + half * x) for x in _TRIED])
    for degree in _DEGREES:
        nodes = chebyshev.chebpts1(degree + 1)
        given = np.array([packed(middle + half * x) for x in nodes])
        polynomials = chebyshev.chebfit(nodes, given, degree)
        apart = np.abs(chebyshev.chebval(_TRIED, polynomials).T - tried)
        if np.all(apart <= _INTERPOLATED * (1e-3 + np.max(np.abs(tried), axis=0))):
            break
    else:
        raise InputError(
            f"{key} does not enter the equations smoothly; it cannot be followed",
            argument="follow",
        )

    # differences ask for all coordinates at one value
    @lru_cache(maxsize=8)
    def at(value: float) -> tuple[np.ndarray, float]:
        whole = np.asarray(chebyshev.chebval((value - middle) / half, polynomials))
        return whole[:-1].copy(), float(whole[-1])

    return at


def _records(stated: StationaryFlow, found: Sequence[Found], digits: int) -> list[dict[str, Any]]:
    try:
        exact = stated.exact()
    except NotYetError:
        exact = None
        if digits > _DOUBLE:
            raise
    return [_record(stated, exact, each, digits) for each in found]


def _record(
    stated: StationaryFlow, exact: ExactFlow | None, point: Found, digits: int
) -> dict[str, Any]:
    """Return what is known of a point, proved where it can be."""
    flow, proof = stated.flow, None
    if exact is not None and not point.neutral:
        try:
            proof = exact.proof(list(point.values), digits)
        except (ToleranceError, NotYetError):
            proof = None
    numbers = _in_doubles(stated, point) if proof is None else _in_balls(proof, digits)
    views = flow.packing(0).views(flow.state(point.values))
    others = {name: each.tolist() for name, each in views.items() if not families_of(name)}
    if proof is None and digits > _DOUBLE:
        if exact is None or point.neutral:
            raise ToleranceError(f"{digits} digits of a degenerate fixed point cannot be computed")
        numbers |= _polished(exact, stated, point, digits)
    smooth = point.slopes is not None
    return {
        **numbers,
        **others,
        "index": (point.index if proof is None or proof.index is None else proof.index)
        if smooth
        else None,
        "neutral": point.neutral if smooth else None,
        "orbit": point.orbit,
        "symmetry": _symmetry(flow, point),
        "physical": flow.physical(point.values),
        "certified": proof is not None and proof.index is not None,
        "residual": point.residual * flow.unit,
        "family": _family_record(stated, point) if isinstance(point, Family) else None,
    }


def _family_record(stated: StationaryFlow, family: Family) -> dict[str, Any]:
    """Return the size and the extent of a family."""
    flow = stated.flow

    def named(values: np.ndarray) -> dict[str, np.ndarray]:
        views = flow.packing(0).views(flow.state(values))
        others = {name: each for name, each in views.items() if not families_of(name)}
        return {name: np.array(x) for name, x in (_overlaps(stated, values) | others).items()}

    def numbers(values: np.ndarray) -> np.ndarray:
        return np.concatenate([each.ravel() for each in named(values).values()])

    nothing = numbers(np.zeros(flow.place.size))
    rows = np.array([numbers(each) - nothing for each in np.eye(flow.place.size)]).T
    # Q_ij and Q_ji are one
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
    """Return numbers rounded to what is known of an extent, None for infinite ones."""
    if isinstance(nested, list):
        return [_finite(each) for each in nested]
    return round(nested, 3) + 0.0 if np.isfinite(nested) else None


def _in_balls(proof: Proof, digits: int) -> dict[str, Any]:
    from symderiv.precision.balls.decimals import Outward
    from symderiv.precision.balls.working import working_bits

    outward = Outward(digits)
    with working_bits(4 * digits + 200):
        number = outward.number
        eigenvalues = [[number(each.real), number(each.imag)] for each in proof.eigenvalues]
        return {
            "Q": [[number(x) for x in row] for row in proof.Q],
            "R": [[number(x) for x in row] for row in proof.R],
            "generalization_error": number(proof.generalization_error),
            "eigenvalues": eigenvalues,
            "error": float(max(x.rad() for x in proof.values)),
        }


def _in_doubles(stated: StationaryFlow, point: Found) -> dict[str, Any]:
    flow = stated.flow
    rates = flow.slope(point.values)
    step = rates if point.slopes is None else np.linalg.lstsq(point.slopes, rates, rcond=1e-12)[0]
    return {
        **_overlaps(stated, point.values),
        "generalization_error": stated.error_at(point.values),
        "eigenvalues": [[each.real, each.imag] for each in point.eigenvalues.tolist()],
        "error": float(np.max(np.abs(step)) + 1e-15 * np.max(np.abs(point.values))),
    }


def _polished(
    exact: ExactFlow, stated: StationaryFlow, point: Found, digits: int
) -> dict[str, Any]:
    from symderiv.precision.balls.contexts import numbers

    inverse = np.linalg.inv(stated.jacobian(point.values))
    polished = exact.polished(point.values, inverse, digits)
    with numbers(digits + 10, "mpmath") as mp:
        Q, R, error = exact.observables(mp, polished)
        return {
            "Q": [[mp.nstr(x, digits) for x in row] for row in Q],
            "R": [[mp.nstr(x, digits) for x in row] for row in R],
            "generalization_error": mp.nstr(error, digits),
        }


def _symmetry(flow: UnitFlow, point: Found) -> str:
    """Return which units the symmetries that keep a point exchange, those of one vector with =."""
    *_, students, teachers = flow.group
    Q = flow.packing(0).views(flow.state(point.values))["student_overlap"]
    scale = 1e-6 * np.max(np.abs(Q))

    def joined(units: list[int]) -> str:
        alike = np.max(np.abs(Q[np.ix_(units, units)] - Q[units[0], units[0]])) < scale
        return (" = " if alike else " ~ ").join(str(n + 1) for n in units)

    by_students = [joined(units) for units in exchanged(students[point.stabiliser])]
    by_teachers = [
        " ~ ".join(str(n + 1) for n in units) for units in exchanged(teachers[point.stabiliser])
    ]
    return f"students {', '.join(by_students)}; teachers {', '.join(by_teachers)}"
