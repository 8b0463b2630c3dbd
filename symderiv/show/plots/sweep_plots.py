"""Figures of a sweep: curves coloured by a key, small multiples, maps of a number, statuses."""

from __future__ import annotations

import itertools
import json
import re
import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from symderiv.foundation.errors import InputError
from symderiv.show.plots import plots
from symderiv.show.plots.claims import letter
from symderiv.show.plots.curves import Curve, Floats, StudyCase
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

__all__ = [
    "ascending",
    "curve_figure",
    "features_of",
    "map_figure",
    "order_figure",
    "status_figure",
    "sweep_figure",
]

# More than these are thinned out, and the title says so.
_MOST_PANELS, _MOST_CURVES, _MOST_IN_LEGEND, _MOST_POINTS = 12, 60, 7, 100_000
# Values that span more than this are on a logarithmic axis.
_DECADES = 20.0
_WIDE = 4
# Characters that fit above a panel.
_TITLE = 24


def sweep_figure(data: xarray.Dataset, quantity: str = "generalization_error") -> Figure:
    """Return a sweep drawn by itself: what over which keys.

    Raises:
        InputError: there is no such quantity.
    """
    data = ascending(data)
    if quantity == "status":
        return status_figure(data)
    if quantity == "generalization_error" or quantity in observables(data):
        return curve_figure(data, None if quantity == "generalization_error" else quantity)
    return map_figure(data, quantity)


def observables(data: xarray.Dataset) -> list[str]:
    """Return the variables that are one number at each time: of systems what was observed, first to
    last.

    Raises:
        InputError: there is none.
    """
    if "generalization_error" in data:
        return ["generalization_error"]
    kept = json.loads(str(data.attrs["study"]))["system"]["observables"]
    if not kept:
        raise InputError("nothing was observed that could be drawn", argument="quantity")
    return list(kept)


def curve_name(name: str) -> str:
    """Return what a curve is called on axes."""
    return r"$\epsilon_g$" if name == "generalization_error" else name.replace("_", " ")


def ascending(data: xarray.Dataset) -> xarray.Dataset:
    """Return the dataset with the numbers of every key in ascending order."""
    return data.sortby([name for name in swept(data) if data[name].dtype.kind in "fi"])


def swept(data: xarray.Dataset) -> list[str]:
    """Return the swept dimensions."""
    return [str(name) for name in data["status"].dims]


def name_of(data: xarray.Dataset, dimension: str) -> str:
    """Return what a dimension is called in figures, η for one."""
    return written(plain_name(data, dimension))


def plain_name(data: xarray.Dataset, dimension: str) -> str:
    """Return the same in text."""
    key = str(data[dimension].attrs.get("key", dimension))
    table, _, rest = key.partition(".")
    return rest if table in ("initial", "inputs") and "." in rest else letter(key)


def written(name: str) -> str:
    """Return a letter with an index as it is set: σ_J."""
    return re.sub(r"^(\w)_(\w)$", r"\1$_\2$", name)


def setting(data: xarray.Dataset, places: Mapping[str, int]) -> str:
    """Return values of some dimensions in words, ``η = 0.1, β = 1``."""
    return ", ".join(
        f"{name_of(data, name)} = {value_text(data[name].values[place])}"
        for name, place in places.items()
    )


def value_text(value: Any) -> str:
    """Return a swept value as it is read."""
    if isinstance(value, np.generic):
        value = value.item()
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def curve_figure(data: xarray.Dataset, name: str | None = None) -> Figure:
    """ε_g(α), or an observable: one key by colour, the others as small multiples."""
    curve = name or observables(data)[0]
    by = _colour_key(data)
    shown = _thin(data.sizes[by], _MOST_CURVES)
    with plots._styled():
        figure, axes, panels = _panels(data, [name for name in swept(data) if name != by])
        paint = _Colours(data[by].values[shown])
        for axis, places in zip(axes, panels, strict=False):
            part = data[[curve, "alpha"]].isel(places).load()
            for n, place in enumerate(shown):
                one = part.isel({by: place})
                alpha, error = one["alpha"].values, one[curve].values
                good = (alpha > 0) & (error > 0)
                axis.plot(alpha[good], error[good], color=paint.of(n), linewidth=1.3)
            if any(np.size(line.get_xdata()) for line in axis.lines):
                axis.set(xscale="log", yscale="log")
            axis.set_title(setting(data, places), fontsize=9)
        _label(figure, r"$\alpha$  (examples per input dimension)", curve_name(curve))
        paint.explain(figure, axes, name_of(data, by))
        return figure


def map_figure(data: xarray.Dataset, quantity: str) -> Figure:
    """Return a number per point: over one key as points, over two as a map, over more as several
    maps.

    Raises:
        InputError: there is no such quantity.
    """
    asked = quantity_of(quantity)
    if data["status"].size > _MOST_POINTS:
        raise InputError(
            f"{data['status'].size} points are too many to draw; select some with to_xarray()",
            argument="quantity",
        )
    values = values_of(data, asked)
    across = _map_keys(data)
    with plots._styled():
        figure, axes, panels = _panels(data, [name for name in swept(data) if name not in across])
        finite = values[np.isfinite(values)]
        logarithmic = asked.logarithmic and bool(finite.size) and bool(np.all(finite > 0))
        for axis, places in zip(axes, panels, strict=False):
            part = values[tuple(places.get(name, slice(None)) for name in swept(data))]
            drawn = _draw(axis, data, across, part, logarithmic, finite)
            axis.set_title(setting(data, places), fontsize=9)
        if len(across) == 2:
            figure.colorbar(drawn, ax=axes, label=asked.words, shrink=0.85)
            _label(figure, name_of(data, across[1]), name_of(data, across[0]))
        else:
            _label(figure, name_of(data, across[0]), asked.words)
        return figure


def status_figure(data: xarray.Dataset) -> Figure:
    """Return how each point ended: the phase diagram of the sweep."""
    from matplotlib.colors import BoundaryNorm, ListedColormap
    from matplotlib.patches import Patch

    status = np.array(data["status"].values.tolist())
    kinds = sorted(set(status.ravel().tolist()), key=lambda kind: (kind != "done", kind))
    colours = [_STATUS.get(kind, "#999999") for kind in kinds]
    numbers = np.searchsorted(np.sort(kinds), status)
    numbers = np.array([kinds.index(kind) for kind in np.sort(kinds)])[numbers]
    across = _map_keys(data)
    with plots._styled():
        figure, axes, panels = _panels(data, [name for name in swept(data) if name not in across])
        bounds = BoundaryNorm(np.arange(len(kinds) + 1) - 0.5, len(kinds))
        for axis, places in zip(axes, panels, strict=False):
            part = numbers[tuple(places.get(name, slice(None)) for name in swept(data))]
            whole = _upright(data, across, part) if len(across) == 2 else part[None]
            x = _place(axis.xaxis, data[across[-1]].values)
            y = _place(axis.yaxis, data[across[0]].values) if len(across) == 2 else np.zeros(1)
            edges = _edges(x, axis.get_xscale()), _edges(y, axis.get_yscale())
            axis.pcolormesh(*edges, whole, cmap=ListedColormap(colours), norm=bounds)
            axis.grid(False)
            if len(across) == 1:
                axis.set_yticks([])
            axis.set_title(setting(data, places), fontsize=9)
        below = name_of(data, across[0]) if len(across) == 2 else ""
        _label(figure, name_of(data, across[-1]), below)
        handles = [
            Patch(color=colour, label=kind or "not computed")
            for kind, colour in zip(kinds, colours, strict=True)
        ]
        figure.legend(handles=handles, loc="outside right upper")
        return figure


# Ends of integrations; done is quiet, what diverges is not.
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
    """Q, R and, where they are trained, the output weights v of at most four points."""
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
    """Return the number of every point, in the shape of the grid."""
    alpha, error = data["alpha"], data[observables(data)[0]]
    time = str(error.dims[-1])
    errors = error.values.reshape(-1, data.sizes[time])
    times = alpha.broadcast_like(error).transpose(*error.dims).values.reshape(errors.shape)
    tolerance = tolerance_of(str(data.attrs["study"]))
    found = [measured(quantity, a, e, tolerance) for a, e in zip(times, errors, strict=True)]
    return np.array(found).reshape(data["status"].shape)


def features_of(data: xarray.Dataset) -> xarray.Dataset:
    """Return every number of every point, over the swept keys."""
    import xarray

    over = data["status"].dims
    found = {
        name: (over, values_of(data, one), {"long_name": one.words})
        for name, one in QUANTITIES.items()
    }
    return xarray.Dataset(found, {name: data[name] for name in over})


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

        # without its lightest end, which paper does not show
        shades = matplotlib.colormaps["viridis"](np.linspace(0.0, 0.88, 256))
        self._map = ScalarMappable(norm, ListedColormap(shades))

    def of(self, place: int) -> Any:
        if self._scaled:
            return self._map.to_rgba(self._values[place : place + 1].astype(float))[0]
        return plots.colour(place, self._values.size)

    def explain(self, figure: Figure, axes: Sequence[Axes], name: str) -> None:
        """Add a colour bar, or a legend where values are few or texts."""
        if self._scaled:
            figure.colorbar(self._map, ax=list(axes), label=name, shrink=0.85)
            return
        from matplotlib.lines import Line2D

        handles = []
        for place, value in enumerate(self._values[: 2 * _MOST_CURVES]):
            line = Line2D([], [], color=self.of(place), label=f"{name} = {value_text(value)}")
            handles.append(line)
        figure.legend(handles=handles, loc="outside right upper")


def _colour_key(data: xarray.Dataset) -> str:
    """Return the key with most values, numbers before texts."""
    return max(swept(data), key=lambda n: (data[n].dtype.kind in "fi", data.sizes[n]))


def _map_keys(data: xarray.Dataset) -> list[str]:
    """Return the two keys of a map, the one with most values to the right; one if there is one."""
    names = sorted(swept(data), key=lambda name: data.sizes[name])
    return [name for name in names if data.sizes[name] > 1][-2:] or names[-1:]


def _panels(
    data: xarray.Dataset, others: list[str]
) -> tuple[Figure, list[Axes], list[dict[str, int]]]:
    """Return a figure with a panel for each combination of the other keys, thinned out if too
    many.
    """
    counts = [data.sizes[name] for name in others]
    whole = list(itertools.product(*map(range, counts)))
    chosen = [whole[n] for n in _thin(len(whole), _MOST_PANELS)]
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
    panels = [dict(zip(others, places, strict=True)) for places in chosen]
    return figure, flat[: len(chosen)], panels


def _draw(
    axis: Axes,
    data: xarray.Dataset,
    across: list[str],
    values: Floats,
    logarithmic: bool,
    finite: Floats,
) -> Any:
    """Return a map over two keys, or points over one."""
    from matplotlib.colors import LogNorm, Normalize

    if len(across) == 1:
        x = _place(axis.xaxis, data[across[0]].values)
        axis.plot(x, values, "o-", color=plots.colour(0, 1), markersize=4, linewidth=1.2)
        if logarithmic:
            axis.set_yscale("log")
        return None
    values = _upright(data, across, values)
    ends = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    norm = LogNorm(*ends) if logarithmic and ends[0] < ends[1] else Normalize(*ends)
    x = _edges(_place(axis.xaxis, data[across[1]].values), axis.get_xscale())
    y = _edges(_place(axis.yaxis, data[across[0]].values), axis.get_yscale())
    axis.grid(False)
    axis.set_facecolor("#bbbbbb")
    whole = np.where(np.isfinite(values), values, np.nan)
    return axis.pcolormesh(x, y, whole, cmap="viridis", norm=norm)


def _upright(data: xarray.Dataset, across: list[str], values: np.ndarray) -> np.ndarray:
    """Return values in the order of the sweep with the key of the upward axis first."""
    first, second = (swept(data).index(name) for name in across)
    return values if first < second else values.T


def _place(axis: Any, values: np.ndarray) -> Floats:
    """Return where values stand on an axis, which is made logarithmic, or labelled, as they need
    it.
    """
    if values.dtype.kind not in "fi":
        axis.set_ticks(range(values.size), [value_text(value) for value in values])
        return np.arange(values.size, dtype=np.float64)
    if _spans_decades(values):
        axis._set_axes_scale("log")
    elif values.size <= _MOST_IN_LEGEND:
        # few values are named, and nothing between them
        axis.set_ticks(values, [value_text(value) for value in values])
    return values.astype(np.float64)


def _spans_decades(values: np.ndarray) -> bool:
    return bool(values.min() > 0) and float(values.max()) > _DECADES * float(values.min())


def _edges(centres: Floats, scale: str) -> Floats:
    """Return the edges of the cells of a map: half way between neighbours."""
    places = np.log(centres) if scale == "log" else centres
    if places.size == 1:
        half = 0.5 if scale != "log" else 0.1
        found = np.array([places[0] - half, places[0] + half])
    else:
        order = np.argsort(places)
        if (order != np.arange(places.size)).any():
            raise InputError("values are not ascending; sort the dataset before", argument="data")
        middle = 0.5 * (places[1:] + places[:-1])
        first, last = 2 * places[0] - middle[0], 2 * places[-1] - middle[-1]
        found = np.concatenate(([first], middle, [last]))
    return np.exp(found) if scale == "log" else found


def _label(figure: Figure, below: str, left: str) -> None:
    figure.supxlabel(below, fontsize=10)
    figure.supylabel(left, fontsize=10)


def _thin(count: int, most: int) -> list[int]:
    """Return at most so many numbers below ``count``, evenly spread, with both ends."""
    return sorted({round(place) for place in np.linspace(0, count - 1, min(count, most))})
