"""Figures of a sweep: curves coloured by a key, small multiples, maps of a number, statuses."""

from __future__ import annotations

import itertools
import json
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from symderiv.foundation.errors import InputError
from symderiv.show.plots import plots
from symderiv.show.plots.axes import beside, draw_cells, draw_shades
from symderiv.show.plots.claims import letter
from symderiv.show.plots.features import Curve, Floats, StudyCase
from symderiv.show.plots.run_quantities import (
    QUANTITIES,
    Quantity,
    measured,
    quantity_of,
    tolerance_of,
)

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Largest numbers; more are thinned out, and the title says so.
_MOST_PANELS, _MOST_CURVES, _MOST_IN_LEGEND, _MOST_POINTS = 12, 60, 7, 100_000
# Values whose ratio exceeds this are shown on a logarithmic axis.
_DECADES = 20.0
_WIDE = 4
# Largest number of characters that fit above a panel.
_TITLE = 24
# The name of the key that enumerates entries of an array.
_ENTRY = "entry"


def sweep_figure(
    data: xarray.Dataset,
    quantity: str = "generalization_error",
    label: str | Sequence[str] | None = None,
    ax: Axes | Sequence[Axes] | None = None,
) -> Figure:
    """Return a figure of many runs, whose kind follows from the quantity and the keys.

    Args:
        data: the dataset, with ``status`` over the keys.
        quantity, label, ax: see :meth:`symderiv.sweeps.many_runs.ManyRuns.plot`.

    Raises:
        InputError: there is no such quantity.
    """
    if not data["status"].dims:
        data = data.expand_dims(run=[1])
    if "generalization_error" not in data and quantity == "generalization_error":
        quantity = observables(data)[0]
    data = ascending(data)
    given = None if ax is None else list(np.ravel(np.asarray(ax, dtype=object)))
    if quantity == "status":
        return status_figure(data, label, given)
    if quantity.partition("[")[0] in over_time(data):
        return curve_figure(data, quantity, label, given)
    return map_figure(data, quantity, label, given)


def over_time(data: xarray.Dataset) -> list[str]:
    """Return the names of the variables over time."""
    time = data["alpha"].dims[-1]
    names = [str(name) for name in data.data_vars if time in data[name].dims]
    return [name for name in names if name not in ("alpha", "student_overlap", "cross_overlap")]


def observables(data: xarray.Dataset) -> list[str]:
    """Return the names of scalar variables over time; of systems the observables.

    Raises:
        InputError: the data have no such variable.
    """
    if "generalization_error" in data:
        return ["generalization_error"]
    if "study" in data.attrs:
        shown = list(json.loads(str(data.attrs["study"]))["system"]["observables"])
    else:
        single = data["status"].ndim + 1
        shown = [name for name in over_time(data) if data[name].ndim == single]
    if not shown:
        raise InputError("nothing was observed that could be drawn", argument="quantity")
    return shown


def curve_name(name: str) -> str:
    """Return the label of a curve on axes."""
    entry = re.fullmatch(r"(\w)\[([\d,]+)\]", name)
    if entry is not None:
        return rf"${entry[1]}_{{{entry[2] if len(entry[2]) > 3 else entry[2].replace(',', '')}}}$"
    return r"$\epsilon_g$" if name == "generalization_error" else name.replace("_", " ")


def ascending(data: xarray.Dataset) -> xarray.Dataset:
    """Return the dataset with the numeric values of every key in ascending order."""
    return data.sortby([name for name in swept(data) if data[name].dtype.kind in "fi"])


def swept(data: xarray.Dataset) -> list[str]:
    """Return the swept dimensions."""
    return [str(name) for name in data["status"].dims]


def name_of(data: xarray.Dataset, dimension: str) -> str:
    """Return the name of a dimension in figures, such as η."""
    return written(plain_name(data, dimension))


def plain_name(data: xarray.Dataset, dimension: str) -> str:
    """Return the name of a dimension in plain text."""
    key = str(data[dimension].attrs.get("key", dimension))
    table, _, rest = key.partition(".")
    return rest if table in ("initial", "inputs") and "." in rest else letter(key)


def written(name: str) -> str:
    """Return a letter with its index set low: σ_J."""
    return re.sub(r"^(\w)_(\w)$", r"\1$_\2$", name)


def setting(data: xarray.Dataset, places: Mapping[str, int]) -> str:
    """Return the values of some dimensions as text, ``η = 0.1, β = 1``."""
    words = []
    for name, place in places.items():
        value = data[name].values[place]
        if name == _ENTRY:
            words.append(curve_name(str(value)))
        else:
            words.append(f"{name_of(data, name)} = {value_text(value)}")
    return ", ".join(words)


def value_text(value: Any) -> str:
    """Return a swept value in readable form."""
    if isinstance(value, np.generic):
        value = value.item()
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def entries_of(data: xarray.Dataset, name: str) -> xarray.Dataset:
    """Return a curve over keys and time as ``curve``; entries of an array become a key.

    Raises:
        InputError: the array has no such entry.
    """
    base, bracket, asked = name.partition("[")
    time = data["alpha"].dims[-1]
    inner = [n for n in data[base].dims if n not in (*data["status"].dims, time)]
    symmetric = base in ("Q", "W") and not bracket
    by_entry = {}
    for place in np.ndindex(*(data.sizes[axis] for axis in inner)):
        text = ",".join(str(n + 1) for n in place)
        repeated = symmetric and place[0] > place[1]
        if not repeated and (not bracket or text == asked.replace(" ", "").rstrip("]")):
            one = data[base].isel(dict(zip(inner, place, strict=True)), drop=True)
            by_entry[f"{base}[{text}]" if place else base] = one
    if not by_entry or (bracket and not inner):
        shape = tuple(data.sizes[axis] for axis in inner)
        raise InputError(
            f"{name!r} has no place in {base} of shape {shape}; places count from 1",
            argument="quantity",
        )
    import xarray

    shared = data[["status", "alpha"]]
    if len(by_entry) == 1:
        return shared.assign(curve=next(iter(by_entry.values())))
    entries = xarray.DataArray(list(by_entry), dims=[_ENTRY])
    whole = xarray.concat(list(by_entry.values()), entries).rename(None)
    return shared.assign(curve=whole).assign_coords({_ENTRY: list(by_entry)})


def curve_figure(
    data: xarray.Dataset,
    name: str | None = None,
    label: str | Sequence[str] | None = None,
    given: Sequence[Axes] | None = None,
) -> Figure:
    """Return curves over α, of the error by default.

    Values of one key have colours, and the others small multiples.
    """
    name = name or observables(data)[0]
    # the key with most values; numeric keys come before texts
    by = max(swept(data), key=lambda n: (data[n].dtype.kind in "fi", data.sizes[n]))
    shown = _thin(data.sizes[by], _MOST_CURVES)
    data = entries_of(data, name)
    others = [*swept(data), *([_ENTRY] if _ENTRY in data.dims else [])]
    with plots._styled():
        sheet = Sheet.of(data, [each for each in others if each != by], given)
        paint = _Colours(data[by].values[shown])
        drawn = []
        for axis, places in sheet.panels():
            part = data[["curve", "alpha"]].isel(places).load()
            for n, place in enumerate(shown):
                one = part.isel({by: place})
                alpha, values = one["alpha"].values, one["curve"].values
                good = (alpha > 0) & np.isfinite(values)
                good &= (values > 0) | (name != "generalization_error")
                axis.plot(alpha[good], values[good], color=paint.of(n), linewidth=1.3)
                drawn.append(values[good])
        joined = np.concatenate(drawn) if drawn else np.empty(0)
        above = bool(joined.size) and bool(joined.min() > 0)
        decades = above and (name == "generalization_error" or _spans_decades(joined))
        for axis in sheet.axes:
            if joined.size:
                axis.set(xscale="log", yscale="log" if decades else axis.get_yscale())
        sheet.label(r"$\alpha$  (examples per input dimension)", curve_name(name))
        paint.explain(sheet, name_of(data, by), label)
        return sheet.figure


def map_figure(
    data: xarray.Dataset,
    quantity: str,
    label: str | Sequence[str] | None = None,
    given: Sequence[Axes] | None = None,
) -> Figure:
    """Return a figure of a number: points over one key, a map over two, several maps over more.

    Raises:
        InputError: there is no such quantity.
    """
    asked = quantity_of(quantity, over_time(data))
    if data["status"].size > _MOST_POINTS:
        raise InputError(
            f"{data['status'].size} points are too many to draw; select some with to_xarray()",
            argument="quantity",
        )
    values = values_of(data, asked)
    words = label if isinstance(label, str) else asked.words
    across = _map_keys(data)
    with plots._styled():
        sheet = Sheet.of(data, [name for name in swept(data) if name not in across], given)
        finite = values[np.isfinite(values)]
        logarithmic = asked.logarithmic and bool(finite.size) and bool(np.all(finite > 0))
        for axis, places in sheet.panels():
            part = values[tuple(places.get(name, slice(None)) for name in swept(data))]
            drawn = _draw(axis, data, across, part, logarithmic, finite)
        if len(across) == 2:
            sheet.figure.colorbar(drawn, ax=sheet.axes, label=words, shrink=0.85)
            sheet.label(name_of(data, across[1]), name_of(data, across[0]))
        else:
            sheet.label(name_of(data, across[0]), words)
        return sheet.figure


def status_figure(
    data: xarray.Dataset,
    label: str | Sequence[str] | None = None,
    given: Sequence[Axes] | None = None,
) -> Figure:
    """Return the phase diagram of a sweep: how each point ended."""
    from matplotlib.colors import BoundaryNorm, ListedColormap
    from matplotlib.patches import Patch

    status = np.array(data["status"].values.tolist())
    kinds = sorted(set(status.ravel().tolist()), key=lambda kind: (kind != "done", kind))
    colours = [_STATUS.get(kind.partition(":")[0], "#999999") for kind in kinds]
    numbers = np.searchsorted(np.sort(kinds), status)
    numbers = np.array([kinds.index(kind) for kind in np.sort(kinds)])[numbers]
    across = _map_keys(data)
    with plots._styled():
        sheet = Sheet.of(data, [name for name in swept(data) if name not in across], given)
        bounds = BoundaryNorm(np.arange(len(kinds) + 1) - 0.5, len(kinds))
        for axis, places in sheet.panels():
            part = numbers[tuple(places.get(name, slice(None)) for name in swept(data))]
            whole = _upright(data, across, part) if len(across) == 2 else part[None]
            x = _place(axis.xaxis, data[across[-1]].values)
            y = _place(axis.yaxis, data[across[0]].values) if len(across) == 2 else np.zeros(1)
            draw_cells(axis, x, y, whole, cmap=ListedColormap(colours), norm=bounds)
            if len(across) == 1:
                axis.set_yticks([])
        below = name_of(data, across[0]) if len(across) == 2 else ""
        sheet.label(name_of(data, across[-1]), below)
        names = [kind or "not computed" for kind in kinds]
        if label is not None:
            names[: len(label)] = [label] if isinstance(label, str) else label
        sheet.explain([Patch(color=c, label=name) for name, c in zip(names, colours, strict=True)])
        return sheet.figure


# Colours of statuses: light for done, strong for runs that diverge.
_STATUS = {
    "done": "#cfe3d4",
    "cone-left": "#D55E00",
    "not-a-number": "#7B3294",
    "step-underflow": "#A6761D",
    "step-limit": "#56B4E9",
    "failed": "#333333",
    "": "#ffffff",
}


def order_figure(data: xarray.Dataset) -> Figure:
    """Return Q, R and output weights v, if trained, of at most four points."""
    size = data["status"].size
    cases = []
    for index in np.unique(np.linspace(0, size - 1, min(4, size)).round().astype(int)):
        at = np.unravel_index(int(index), data["status"].shape)
        places = dict(zip(swept(data), map(int, at), strict=True))
        one = data[["alpha", "generalization_error", "Q", "R", "T", "v"]].isel(places).load()
        there = np.isfinite(one["alpha"].values) & np.isfinite(one["generalization_error"].values)
        students = np.isfinite(one["v"].values).any(axis=0)
        teachers = np.isfinite(np.diag(one["T"].values))
        curve = Curve(
            alpha=one["alpha"].values[there],
            error=one["generalization_error"].values[there],
            Q=one["Q"].values[there][:, students][:, :, students],
            R=one["R"].values[there][:, students][:, :, teachers],
            T=one["T"].values[teachers][:, teachers],
            v=one["v"].values[there][:, students],
        )
        words = setting(data, places)
        label = words if len(words) < _TITLE else words.replace(", ", ",\n")
        cases.append(StudyCase(label, places, curve))
    return plots.overlap_figure(cases)


def values_of(data: xarray.Dataset, quantity: Quantity) -> Floats:
    """Return a number of every point, in the shape of the grid."""
    alpha, error = data["alpha"], data[observables(data)[0]]
    time = str(error.dims[-1])
    errors = error.values.reshape(-1, data.sizes[time])
    times = alpha.broadcast_like(error).transpose(*error.dims).values.reshape(errors.shape)
    tolerance = tolerance_of(str(data.attrs["study"])) if "study" in data.attrs else 0.0
    values = [measured(quantity, a, e, tolerance) for a, e in zip(times, errors, strict=True)]
    return np.array(values).reshape(data["status"].shape)


def features_of(data: xarray.Dataset) -> xarray.Dataset:
    """Return all features of every point, over the swept keys."""
    import xarray

    over = data["status"].dims
    features = {
        name: (over, values_of(data, one), {"long_name": one.words})
        for name, one in QUANTITIES.items()
    }
    return xarray.Dataset(features, {name: data[name] for name in over})


class _Colours:
    """Colours of the values of a key."""

    def __init__(self, values: np.ndarray) -> None:
        self._values = values
        self._scaled = values.dtype.kind in "fi" and values.size > _MOST_IN_LEGEND
        if not self._scaled:
            return
        from matplotlib.cm import ScalarMappable
        from matplotlib.colors import ListedColormap, LogNorm, Normalize

        ends = float(values.min()), float(values.max())
        norm = LogNorm(*ends) if _spans_decades(values) else Normalize(*ends)
        import matplotlib

        # without the lightest colours, which are invisible on paper
        shades = matplotlib.colormaps["viridis"](np.linspace(0.0, 0.88, 256))
        self._map = ScalarMappable(norm, ListedColormap(shades))

    def of(self, place: int) -> Any:
        if self._scaled:
            return self._map.to_rgba(self._values[place : place + 1].astype(float))[0]
        return plots.colour(place, self._values.size)

    def explain(self, sheet: Sheet, name: str, label: str | Sequence[str] | None) -> None:
        """Add a colour bar, or a legend if values are few or texts."""
        name = label if isinstance(label, str) else name
        if self._scaled:
            sheet.figure.colorbar(self._map, ax=sheet.axes, label=name, shrink=0.85)
            return
        from matplotlib.lines import Line2D

        own = [] if label is None or isinstance(label, str) else list(label)
        values = self._values[: 2 * _MOST_CURVES]
        names = [*own, *(f"{name} = {value_text(value)}" for value in values[len(own) :])]
        sheet.explain(
            [Line2D([], [], color=self.of(n), label=text) for n, text in enumerate(names)]
        )


def _map_keys(data: xarray.Dataset) -> list[str]:
    """Return the two keys of a map, that with more values to the right; or the only key."""
    names = sorted(swept(data), key=lambda name: data.sizes[name])
    return [name for name in names if data.sizes[name] > 1][-2:] or names[-1:]


@dataclass(frozen=True)
class Sheet:
    """Panels of a figure, either its own or axes that the caller gave.

    Args:
        figure: the figure of the axes.
        axes: the axes of each panel.
        places: the positions of the panels along the other keys.
        data: the runs.
        own: True if the figure was made for the panels.
    """

    figure: Figure
    axes: list[Axes]
    places: list[dict[str, int]]
    data: xarray.Dataset
    own: bool

    @classmethod
    def of(cls, data: xarray.Dataset, others: list[str], given: Sequence[Axes] | None) -> Sheet:
        """Return panels for the combinations of the other keys, thinned out if too many.

        Raises:
            InputError: fewer axes are given than there are panels.
        """
        whole = list(itertools.product(*(range(data.sizes[name]) for name in others)))
        chosen = [whole[n] for n in _thin(len(whole), _MOST_PANELS)]
        places = [dict(zip(others, each, strict=True)) for each in chosen]
        if given is not None:
            if len(given) < len(chosen):
                names = ", ".join(name_of(data, name) for name in others)
                raise InputError(
                    f"{len(given)} given, and {names} needs {len(chosen)}; give a list of them, "
                    "or select values with to_xarray().sel",
                    argument="ax",
                )
            figure: Any = given[0].get_figure()
            return cls(figure, list(given[: len(chosen)]), places, data, own=False)
        columns = min(_WIDE, len(chosen))
        rows = -(-len(chosen) // columns)
        size = (6.8, 4.4) if len(chosen) == 1 else (2.5 * columns + 1.0, 2.3 * rows + 0.8)
        figure, axes = plots._new(rows, columns, size, sharex=True, sharey=True)
        flat = list(axes.ravel())
        for unused in flat[len(chosen) :]:
            unused.set_visible(False)
        if len(chosen) < len(whole):
            names = ", ".join(name_of(data, name) for name in others)
            text = f"{len(chosen)} of {len(whole)} values of {names}"
            figure.suptitle(textwrap.fill(text, 80), fontsize=9)
        return cls(figure, flat[: len(chosen)], places, data, own=True)

    def panels(self) -> Iterator[tuple[Axes, dict[str, int]]]:
        """Yield axes with the positions that they show, and set these as titles."""
        for axis, places in zip(self.axes, self.places, strict=True):
            yield axis, places
            if places:
                axis.set_title(setting(self.data, places), fontsize=9)

    def label(self, below: str, left: str) -> None:
        """Label the axes, once in a figure of its own, else each of them."""
        if self.own:
            self.figure.supxlabel(below, fontsize=10)
            self.figure.supylabel(left, fontsize=10)
            return
        for axis in self.axes:
            axis.set(xlabel=below, ylabel=left)

    def explain(self, handles: list[Any]) -> None:
        """Add a legend beside the panels."""
        if self.own:
            self.figure.legend(handles=handles, loc="outside right upper")
        else:
            beside(self.axes[-1], handles)


def _draw(
    axis: Axes,
    data: xarray.Dataset,
    across: list[str],
    values: Floats,
    logarithmic: bool,
    finite: Floats,
) -> Any:
    """Draw a map over two keys and return it, or points over one key."""
    if len(across) == 1:
        x = _place(axis.xaxis, data[across[0]].values)
        axis.plot(x, values, "o-", color=plots.colour(0, 1), markersize=4, linewidth=1.2)
        if logarithmic:
            axis.set_yscale("log")
        return None
    x = _place(axis.xaxis, data[across[1]].values)
    y = _place(axis.yaxis, data[across[0]].values)
    return draw_shades(axis, x, y, _upright(data, across, values), finite, logarithmic)


def _upright(data: xarray.Dataset, across: list[str], values: np.ndarray) -> np.ndarray:
    """Return values in the order of the sweep, with the upward key first."""
    first, second = (swept(data).index(name) for name in across)
    return values if first < second else values.T


def _place(axis: Any, values: np.ndarray) -> Floats:
    """Return the places of values on an axis; set its scale or its labels."""
    if values.dtype.kind not in "fi":
        axis.set_ticks(range(values.size), [value_text(value) for value in values])
        return np.arange(values.size, dtype=np.float64)
    if _spans_decades(values):
        axis._set_axes_scale("log")
    elif values.size <= _MOST_IN_LEGEND:
        # few values are labelled, without ticks between them
        axis.set_ticks(values, [value_text(value) for value in values])
    return values.astype(np.float64)


def _spans_decades(values: np.ndarray) -> bool:
    return bool(values.min() > 0) and float(values.max()) > _DECADES * float(values.min())


def _thin(count: int, most: int) -> list[int]:
    """Return at most ``most`` indices below ``count``, evenly spread, with both ends."""
    return sorted({round(place) for place in np.linspace(0, count - 1, min(count, most))})
