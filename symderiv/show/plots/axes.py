"""Results drawn into given axes: curves of equations as lines, simulations as points."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from symderiv.foundation.errors import InputError
from symderiv.show.plots.plots import ALPHA, MARKERS, colour, drawn_mean
from symderiv.storage.curve_results import ERROR, CurveResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_STYLES = ("-", "--", ":", "-.")
_MOST_IN_LEGEND = 16
# Values whose ratio exceeds this are shown on a logarithmic axis.
_DECADES = 20.0
_GREY = "#666666"
_SYMMETRIC = re.compile(r"(?:[QW]|(\w+)\.\1)\[(\d+),(\d+)\]")
_ENTRY = re.compile(r"([A-Za-z])\[([\d,]+)\]")


def new_axes(ax: Axes | None) -> Axes:
    """Return the axes to draw into, new ones if none were given."""
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    _, made = plt.subplots(figsize=(6.4, 4.4), layout="constrained")
    return made


def explained(axis: Axes, below: str, left: str = "") -> Axes:
    """Return axes after naming both and adding a legend of their curves."""
    axis.set(xlabel=below, ylabel=left)
    axis.legend(frameon=False)
    return axis


def draw_shades(
    axes: Axes, x: np.ndarray, y: np.ndarray, values: np.ndarray, finite: np.ndarray, log: bool
) -> Any:
    """Draw numbers as shades of cells on grey, and return them for a bar of colours.

    Args:
        axes: where to draw.
        x, y: places of the columns (n,) and rows (m,).
        values: numbers, shape (m, n); those that are not finite stay grey.
        finite: all finite numbers on the same scale, also of other axes.
        log: whether that scale is logarithmic.
    """
    from matplotlib.colors import LogNorm, Normalize

    ends = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    norm = LogNorm(*ends) if log and 0.0 < ends[0] < ends[1] else Normalize(*ends)
    axes.set_facecolor("#bbbbbb")
    whole = np.where(np.isfinite(values), values, np.nan)
    return draw_cells(axes, x, y, whole, cmap="viridis", norm=norm)


def curve_axes(
    result: CurveResult,
    what: Sequence[Any],
    names: Sequence[str] | None,
    label: str | Sequence[str] | None,
    ax: Axes | None,
) -> Axes:
    """Draw the curves that :meth:`symderiv.storage.curve_results.CurveResult.plot` asks for."""
    from matplotlib.axes import Axes

    results = [result]
    asked = [] if names is None else list(names)
    for each in what:
        if isinstance(each, str):
            asked.append(each)
        elif isinstance(each, Axes):
            ax = ax or each
        elif isinstance(each, CurveResult):
            results.append(each)
        else:
            raise InputError(
                f"{type(each).__name__} is neither the name of a quantity nor a result with curves",
                argument="others",
            )
    labels = [label] if isinstance(label, str) else list(label or ())
    axes = new_axes(ax)
    draw_curves(axes, results, asked or list(result.usual()), labels)
    return axes


def draw_curves(
    axes: Axes,
    results: Sequence[CurveResult],
    names: Sequence[str],
    labels: Sequence[str] = (),
    xscale: str = "log",
) -> None:
    """Draw the named curves of all results over α, with a legend.

    With one name each result has its colour; with several names each curve has its colour, and
    results differ in style.
    """
    curves_of = [_curves(each, names) for each in results]
    entries = {name: n for n, name in enumerate(dict.fromkeys(n for one in curves_of for n in one))}
    several = len(entries) > 1
    before = len(axes.lines) // max(1, len(entries))
    total = before + len(results)
    titles = _titles(results, labels, before)
    _scale(axes, [v for one in curves_of for v, _ in one.values()], names)
    for number, (each, curves) in enumerate(zip(results, curves_of, strict=True), before):
        for name, (values, error) in curves.items():
            shade = colour(entries[name], len(entries)) if several else colour(number, total)
            title = None if several else titles[number - before]
            at = each.times()
            good = at > 0 if xscale == "log" and np.any(at > 0) else np.ones(at.size, bool)
            if error is None:
                style = _STYLES[number % len(_STYLES)] if several else "-"
                # a line through a single point would be invisible
                alone = "o" if np.count_nonzero(good) == 1 else ""
                axes.plot(at[good], values[good], alone or style, color=shade, label=title)
            else:
                marker = MARKERS[number % len(MARKERS)]
                drawn_mean(axes, at[good], values[good], error[good], shade, marker, title, xscale)
    if any(np.any(each.times() > 0) for each in results):
        axes.set_xscale(xscale)
    axes.set_xlabel(ALPHA)
    axes.set_ylabel(", ".join(map(_quantity, names)) if len(names) < 4 else "")
    _explain(axes, entries if several else {}, results, titles)


def _curves(result: CurveResult, names: Sequence[str]) -> dict[str, tuple[Any, Any]]:
    """Return values and standard errors (None for equations) by name of curve."""
    curves = {}
    errors = [name for name in names if f"{name.partition('[')[0]}{ERROR}" in result.arrays()]
    own = dict(result.columns([name.replace("[", f"{ERROR}[") if "[" in name else f"{name}{ERROR}"
                               for name in errors]))  # fmt: skip
    for name, values in result.columns(names):
        if name in names or not is_repeated(name):
            field, bracket, place = name.partition("[")
            curves[name] = values, own.get(f"{field}{ERROR}{bracket}{place}")
    return curves


def is_repeated(name: str) -> bool:
    """Return whether an entry of a symmetric matrix, such as Q[2,1], repeats one before it."""
    pair = _SYMMETRIC.fullmatch(name)
    return pair is not None and int(pair[2]) > int(pair[3])


def _titles(results: Sequence[CurveResult], labels: Sequence[str], before: int) -> list[str]:
    """Return the label of each result in the legend."""
    runs: list[Any] = [getattr(each, "runs", None) for each in results]
    numbers = [len(next(iter(n.values()))) if hasattr(n, "values") else n for n in runs]
    lines = sum(n is None for n in numbers) + before
    titles = []
    for place, number in enumerate(numbers):
        if place < len(labels):
            titles.append(labels[place])
        elif number is not None:
            titles.append(f"SGD, {number} run{'' if number == 1 else 's'}, ± standard error")
        else:
            titles.append(f"equations {before + place + 1}" if lines > 1 else "equations")
    return titles


def _scale(axes: Axes, values: Sequence[Any], names: Sequence[str]) -> None:
    """Use a logarithmic axis for the error, and for positive values that span decades."""
    finite = [each[np.isfinite(each)] for each in values]
    joined = np.concatenate(finite) if finite else np.empty(0)
    if not joined.size or joined.min() < 0 or not np.any(joined > 0):
        return
    positive = joined[joined > 0]
    if list(names) == ["generalization_error"] or joined.max() > _DECADES * positive.min():
        axes.set_yscale("log")


def _quantity(name: str) -> str:
    """Return the label of a quantity on an axis."""
    if name == "generalization_error":
        return r"generalisation error $\epsilon_g$"
    return _entry(name) if "[" in name else name.replace("_", " ")


def _entry(name: str) -> str:
    """Return the label of a curve in the legend, with indices of entries set low: Q₁₂."""
    if name == "generalization_error":
        return r"$\epsilon_g$"
    match = _ENTRY.fullmatch(name)
    if match is None:
        return name
    places = match[2].split(",")
    comma = "" if all(len(place) == 1 for place in places) else ","
    return rf"${match[1]}_{{{comma.join(places)}}}$"


def _explain(
    axes: Axes, entries: dict[str, int], results: Sequence[CurveResult], titles: Sequence[str]
) -> None:
    """Add a legend that names curves by colour, and results by style."""
    from matplotlib.lines import Line2D

    handles: list[Any] = [] if entries else list(axes.get_legend_handles_labels()[0])
    if len(entries) <= _MOST_IN_LEGEND:
        handles += [
            Line2D([], [], color=colour(n, len(entries)), label=_entry(name))
            for name, n in entries.items()
        ]
    if entries and len(results) > 1:
        for n, (each, title) in enumerate(zip(results, titles, strict=True)):
            points = hasattr(each, "runs")
            marker = MARKERS[n % len(MARKERS)] if points else ""
            line: Any = "" if points else _STYLES[n % len(_STYLES)]
            handles.append(Line2D([], [], color=_GREY, label=title, marker=marker, linestyle=line))
    if handles:
        beside(axes, handles)


def beside(axes: Axes, handles: Sequence[Any]) -> None:
    """Add a legend to the right of axes, which shrink if their figure has no layout engine."""
    legend = axes.legend(
        handles=list(handles), fontsize=8.5, loc="upper left", bbox_to_anchor=(1.0, 1.0)
    )
    figure: Any = axes.get_figure(root=True)
    if figure is None or figure.get_layout_engine() is not None:
        return
    place, spec = axes.get_position(), axes.get_subplotspec()
    # the right end of the axes' cell, or of the figure if they have no cell
    limit = 1.0 if spec is None else spec.get_position(figure).x1
    excess = legend.get_window_extent().x1 / figure.bbox.width - limit
    if 0.0 < excess < 0.8 * place.width:
        axes.set_position((place.x0, place.y0, place.width - excess, place.height))


def draw_cells(axes: Axes, x: np.ndarray, y: np.ndarray, values: np.ndarray, **options: Any) -> Any:
    """Draw one cell for each value, over places in any order and at any distances.

    Args:
        axes: the axes, with their final scales.
        x, y: places of the columns and rows, shapes (n,) and (m,); the first of equal places
            counts.
        values: shape (m, n).
        options: the options of Matplotlib's ``pcolormesh``.
    """
    across, columns = np.unique(x, return_index=True)
    up, rows = np.unique(y, return_index=True)
    axes.grid(False)
    return axes.pcolormesh(
        cell_edges(across, axes.get_xscale()),
        cell_edges(up, axes.get_yscale()),
        values[np.ix_(rows, columns)],
        **options,
    )


def cell_edges(places: np.ndarray, scale: str) -> np.ndarray:
    """Return the edges of cells around ascending places, shape (n + 1,).

    A single place has a cell that is half as wide as its value, or 1 wide around 0; on a
    logarithmic axis, from 10 % below it to 10 % above.
    """
    marks = np.log(places) if scale == "log" else np.asarray(places, dtype=np.float64)
    if marks.size == 1:
        half = np.log(1.1) if scale == "log" else 0.25 * abs(float(marks[0])) or 0.5
        edges = np.array([marks[0] - half, marks[0] + half])
    else:
        middle = 0.5 * (marks[1:] + marks[:-1])
        ends = 2 * marks[0] - middle[0], 2 * marks[-1] - middle[-1]
        edges = np.concatenate(([ends[0]], middle, [ends[1]]))
    return np.exp(edges) if scale == "log" else edges
