"""The fixed points of a problem as a result: text, page and figure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from symderiv.api.results.answer import Answer, Rows
from symderiv.foundation.documents.document import Node, Paragraph, Tabular
from symderiv.foundation.drawing import drawn
from symderiv.foundation.errors import NotYetError, ToleranceError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from symderiv.analysis.fixed_points.bifurcation_curves import BifurcationCurve
    from symderiv.analysis.fixed_points.continuation import FixedPointBranch
    from symderiv.analysis.fixed_points.exchanged_flow import ExchangedFlow
    from symderiv.analysis.fixed_points.proof import Proof
    from symderiv.analysis.fixed_points.search import Found
    from symderiv.enclosures.traced_flow import TracedRates

AnyTraced = TypeVar("AnyTraced", bound="TracedRates")
#: A function from the coordinates of a point and the constants there to measured values by name.
Measured = Callable[[np.ndarray, np.ndarray], dict[str, Any]]

NOT_FOLLOWED: dict[str, Any] = {
    "followed": None,
    "second": None,
    "branches": [],
    "bifurcations": [],
    "curves": [],
}
"""The entries of a catalogue for branches if no key was followed."""
UNPROVED = "points are those that were found; that there are no others is not proved"

_VARIES = 2e-3


class FixedPoints(Answer):
    """The fixed points that were found; images under symmetries count as one.

    Attributes:
        points: a dictionary for each, those that vectors can have first, by index and error: ``Q``,
            ``R``, ``v`` (and ``b``), ``generalization_error``; ``eigenvalues`` of the Jacobian per
            unit of α, as pairs of real and imaginary part, and ``eigenvalue_errors``, proved bounds
            on the errors of both, None where nothing is proved; ``index``, how many directions are
            unstable, and ``neutral``, how many cannot be distinguished from neutral (both None, and
            no eigenvalues, where the rates have no derivatives); ``orbit``, the number of its
            images under symmetries; ``symmetry``, which units they exchange in it; ``physical``,
            whether vectors with these overlaps exist; ``certified``, whether existence, uniqueness
            nearby and the index are proved; ``error`` of every order parameter, proved or
            estimated; ``residual``; ``family``, None for a single point, else what is known of the
            continuum that this point, the most symmetric one found, represents: its ``dimension``,
            how many points of it were ``found``, how many neutral directions lead out of it
            (``undecided``), and the ``least`` and ``largest`` values of order parameters on it
            (None without bound).
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
    _warned = "{}"

    @property
    def _level(self) -> str:
        """The name of the vertical axis."""
        return "generalisation error"

    @property
    def _measured(self) -> Sequence[str]:
        """The heads of the columns that :meth:`_levels` fills."""
        return ("error",)

    def _levels(self, point: Mapping[str, Any]) -> list[str]:
        """Return the measured values at a point as texts, one for each column."""
        return [f"{float(point['generalization_error']):.8g}"]

    def _drawn(self, name: str) -> list[dict[str, Any]]:
        """Return points, branches or bifurcations with the ``level`` at which they are drawn."""
        return [{**each, "level": each["generalization_error"]} for each in self._record[name]]

    def _rows(self) -> Rows:
        record = self._record
        proved = sum(each["certified"] for each in record["points"])
        rows = [(name, record[name]) for name in ("activation", "students", "teachers")]
        rows += [(name, record[name]) for name in ("learning_rate", "order", "symmetries")]
        points = f"{len(record['points'])} found, {proved} of them proved"
        continua = sum(each["family"] is not None for each in record["points"])
        points += f", {continua} of them families" if continua else ""
        rows.append(("points", points))
        return rows

    def _tables(self) -> Sequence[Node]:
        told = "index", "orbit", "largest rate", "kind", "symmetry", "leads to"
        heads = ("", *self._measured, *told)
        rows = [
            [
                str(number),
                *self._levels(each),
                *told_of_point(each),
                self._led_to(number),
            ]
            for number, each in enumerate(self._record["points"], 1)
        ]
        sides = "r" * (len(heads) - 3) + "lll"
        nodes: list[Node] = [Tabular(heads, rows, sides=sides)]
        if any(each["family"] for each in self._record["points"]):
            nodes.append(self._families())
        if self._record["proved_spaces"]:
            nodes.append(self._proved())
        if self._record["branches"]:
            nodes += self._followed()
        return nodes

    def _families(self) -> Tabular:
        """Return the table of families, with the ranges of order parameters on them."""
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
        """Return the table of spaces, with what is proved about their fixed points."""
        rows = [
            [
                "all states" if each["whole"] else each["symmetry"],
                f"Q_ii ≤ {each['largest_Q']:g}",
                ", ".join(map(str, each["points"])) or "none",
                str(each["boxes"]),
                f"not proved: {each['left']} parts are left" if each["left"] else "proved",
            ]
            for each in self._record["proved_spaces"]
        ]
        heads = ("states", "box", "fixed points", "parts", "that these are all")
        return Tabular(heads, rows, "Completeness", "lllrl")

    def _followed(self) -> list[Node]:
        """Return the tables of branches, bifurcations and curves."""
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
            [str(each["branch"]), each["kind"], f"{each['parameter']:.8g}", f"{each['level']:.6g}"]
            for each in self._drawn("bifurcations")
        ]
        key = self._record["followed"]
        heads = "branch", "kind", key, *self._measured[:1]
        tables: list[Node] = [
            Tabular(("branch", "from", "to", "index", "ends"), branches, key, "rrrll"),
            Tabular(heads, events, "Bifurcations", "rlrr")
            if events
            else Paragraph("No bifurcation was found on these branches."),
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
            curves = ("kind", key, self._record["second"], "ends")
            tables.append(Tabular(curves, rows, "Curves of bifurcations", "lrrl"))
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
        plots, record = "analysis_plots.fixed_point_plots", self._record
        key = record["followed"]
        if record["curves"]:
            keys = key, record["second"]
            return drawn(f"{plots}.curve_axes", record["curves"], keys, ax)
        if record["branches"]:
            pair = self._drawn("branches"), self._drawn("bifurcations")
            return drawn(f"{plots}.branch_axes", *pair, (key, self._level), ax)
        points = self._drawn("points")
        return drawn(f"{plots}.saddle_axes", points, record["connections"], self._level, ax)


def found_record(flow: ExchangedFlow, point: Found) -> dict[str, Any]:
    """Return the part of a fixed point's record that flows of studies and systems share."""
    return {
        "index": point.index,
        "neutral": point.neutral,
        "orbit": point.orbit,
        "physical": flow.physical(point.values),
        "residual": point.residual * flow.unit,
        "family": None,
        "certified": False,
        "eigenvalues": [[each.real, each.imag] for each in point.eigenvalues.tolist()],
        "eigenvalue_errors": None,
    }


def followed_record(
    flow: ExchangedFlow,
    name: str,
    at: Callable[[float], tuple[np.ndarray, float]],
    branches: Sequence[FixedPointBranch],
    measured: Measured,
) -> dict[str, Any]:
    """Return the record of branches in a parameter and of their bifurcations.

    Args:
        flow: The flow at one value of the parameter.
        name: The name of the parameter.
        at: A function from the parameter to the constants and the unit of rates.
        branches: The branches that were followed.
        measured: A function from coordinates and constants to the measured values by name.
    """
    sides = [(each, n) for n, branch in enumerate(branches, 1) for each in branch.bifurcations]
    return {
        "followed": name,
        "branches": [
            {
                "parameter": branch.parameter.tolist(),
                "index": branch.index.tolist(),
                **curve_record(flow, branch, [at(float(x))[0] for x in branch.parameter], measured),
            }
            for branch in branches
        ],
        "bifurcations": [
            {
                "kind": each.kind,
                "parameter": each.parameter,
                **measured(each.values, at(each.parameter)[0]),
                "frequency": each.frequency * at(each.parameter)[1],
                "branch": number,
            }
            for each, number in sides
        ],
    }


def curve_record(
    flow: ExchangedFlow,
    curve: BifurcationCurve | FixedPointBranch,
    constants: Sequence[np.ndarray],
    measured: Measured,
) -> dict[str, Any]:
    """Return the measured values along a curve, and why it ends."""
    points = list(zip(curve.values, constants, strict=True))
    return {
        **_listed([measured(*each) for each in points]),
        "physical": [flow.physical(*each) for each in points],
        "ends": list(curve.ends),
    }


def _listed(records: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return records with the same keys as one record of lists."""
    columns = {name: [each[name] for each in records] for name in records[0]}
    return {k: _listed(v) if isinstance(v[0], dict) else v for k, v in columns.items()}


def connected(flow: ExchangedFlow, points: Sequence[Found]) -> list[dict[str, Any]]:
    """Return the connections of fixed points, whose numbers count from 1."""
    from symderiv.analysis.fixed_points.connections import connections

    return [
        {
            "source": each.source + 1,
            "target": None if each.target is None else each.target + 1,
            "rate": each.rate,
            "time": each.time,
        }
        for each in connections(flow, points)
    ]


def proved(traced: TracedRates | None, state: np.ndarray, digits: int) -> Proof | None:
    """Return the proof of a fixed point, or None if there is none.

    Args:
        traced: The equations in exact numbers, or None if they are not known.
        state: The packed state of the fixed point.
        digits: The number of digits of the proof.
    """
    from symderiv.analysis.fixed_points.proof import proved_point

    if traced is None:
        return None
    try:
        return proved_point(traced.rates, traced.observables[0], traced.values(state), digits)
    except ToleranceError:
        return None


def if_closed(traced: Callable[[], AnyTraced]) -> AnyTraced | None:
    """Return equations in exact numbers, or None if a mean has no closed form."""
    try:
        equations = traced()
        _ = equations.rates  # raises it
    except NotYetError:
        return None
    return equations


def told_of_point(point: Mapping[str, Any]) -> list[str]:
    """Return index, orbit, largest rate, kind and symmetry of a point."""
    texts = _index_text(point), str(point["orbit"]), _rate_text(point), _kind_text(point)
    return [*texts, point["symmetry"]]


def _index_text(point: Mapping[str, Any]) -> str:
    """Return the numbers of unstable directions, and of undecided neutral ones across a family."""
    if point["index"] is None:
        return "none"
    unknown = point["family"]["undecided"] if point["family"] else point["neutral"]
    return str(point["index"]) + (f" + {unknown}?" if unknown else "")


def _rate_text(point: Mapping[str, Any]) -> str:
    """Return the largest rate as text, with its proved error; for a family the largest across it.

    Proved eigenvalues are in the order of their real parts.
    """
    if point["eigenvalue_errors"]:
        from flint import arb

        from symderiv.precision.balls.decimals import upwards

        (rate, _), (bound, _) = point["eigenvalues"][0], point["eigenvalue_errors"][0]
        return f"{rate} ± {upwards(arb(bound))}"
    rates = sorted((float(each[0]) for each in point["eigenvalues"]), key=abs)
    across = rates[point["family"]["dimension"] if point["family"] else 0 :]
    return f"{max(across):.6g}" if across else "none"


def _kind_text(point: Mapping[str, Any]) -> str:
    kind = "proved" if point["certified"] else "found"
    if point["family"]:
        kind = f"family of dimension {point['family']['dimension']}"
    return kind + ("" if point["physical"] else ", no vectors")


def _stability_text(point: Mapping[str, Any]) -> str:
    """Return the stability of directions across a family, at the point that represents it."""
    if point["index"] is None:
        return "no derivatives"
    undecided = point["family"]["undecided"]
    stable = len(point["eigenvalues"]) - point["index"] - point["neutral"]
    said = f"{stable} stable, {point['index']} unstable"
    return said + (f", {undecided} neutral: not decided" if undecided else "")


def _extent_text(family: Mapping[str, Any]) -> str:
    """Return the ranges of order parameters that vary on a family, equal ranges together."""
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
    """Return a range as text; an end that is NaN means that there is no bound."""
    if np.isnan(low) or np.isnan(high):
        return (
            "any" if low != low and high != high else f"≤ {high:g}" if low != low else f"≥ {low:g}"
        )
    return f"{low:g} to {high:g}"


def _from_to(values: Sequence[float]) -> str:
    return f"{values[0]:.6g} to {values[-1]:.6g}"
