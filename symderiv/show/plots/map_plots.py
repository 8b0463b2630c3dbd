"""Figures of maps over two keys: values, boundaries, and the places of runs."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from symderiv.show.plots.axes import beside, draw_cells, draw_shades, new_axes
from symderiv.show.plots.claims import letter
from symderiv.show.plots.sweep_plots import written

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from symderiv.sweeps.study_map import StudyMap

# Whole numbers whose ratio exceeds this are shown on a logarithmic axis.
_DECADES = 20.0
_LIGHT = ("#dce9f5", "#fbe3d6", "#dff0e6", "#eadff2", "#f2ead9", "#e3f1fa", "#e6e6e6")


def map_axes(
    chart: StudyMap,
    ax: Axes | None,
    runs: bool = True,
    label: str | None = None,
    levels: Sequence[float] = (),
) -> Axes:
    """Draw a map into axes: kinds as areas, numbers as shades, boundaries, and runs as dots."""
    axes = new_axes(ax)
    first, second = chart.places
    axes.set(xscale=_scale(second), yscale=_scale(first))
    shown = chart.filled()
    words = chart.quantity.words if label is None else label
    if chart.kinds:
        _areas(axes, chart, shown)
    else:
        finite = shown[np.isfinite(shown)]
        mesh = draw_shades(axes, second, first, shown, finite, chart.quantity.logarithmic)
        axes.figure.colorbar(mesh, ax=axes, label=words)
    lines = [chart.boundaries()] if chart.kinds else [chart.boundaries(at) for at in levels]
    for line in itertools.chain.from_iterable(lines):
        axes.plot(line[:, 1], line[:, 0], color="#222222", linewidth=1.3)
    if runs:
        i, j = np.nonzero(chart.tree.known)
        axes.plot(second[j], first[i], ".", color="#333333", markersize=1.2, alpha=0.6)
    axes.set(
        xlabel=written(letter(chart.keys[1])),
        ylabel=written(letter(chart.keys[0])),
        xlim=(second[0], second[-1]),
        ylim=(first[0], first[-1]),
    )
    said = f"{chart.runs} runs, {chart.full_grid} on the full grid"
    axes.set_title(f"{words}: {said}", fontsize=9)
    return axes


def _areas(axes: Axes, chart: StudyMap, shown: np.ndarray) -> None:
    from matplotlib.colors import BoundaryNorm, ListedColormap
    from matplotlib.patches import Patch

    first, second = chart.places
    count = len(chart.kinds)
    colours = [_LIGHT[n % len(_LIGHT)] for n in range(count)]
    norm = BoundaryNorm(np.arange(count + 1) - 0.5, count)
    draw_cells(axes, second, first, shown, cmap=ListedColormap(colours), norm=norm)
    handles: list[Any] = [
        Patch(facecolor=colour, edgecolor="#888888", label=kind)
        for kind, colour in zip(chart.kinds, colours, strict=True)
    ]
    beside(axes, handles)


def _scale(places: np.ndarray) -> str:
    """Return "log" if places are spaced by ratios rather than by differences, else "linear"."""
    values = places.astype(float)
    if places.dtype.kind in "iu" and values[-1] <= _DECADES * values[0]:
        return "linear"
    if values[0] <= 0.0 or values[-1] <= 2.0 * values[0]:
        return "linear"
    middle = values[len(values) // 2]
    even, geometric = 0.5 * (values[0] + values[-1]), float(np.sqrt(values[0] * values[-1]))
    return "log" if abs(middle - geometric) < abs(middle - even) else "linear"
