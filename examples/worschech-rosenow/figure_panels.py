"""Figures made of panels: lines, horizontal and vertical marks, a shaded window."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from symderiv.show.plots.plots import _new, _styled, colour

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Scale = Literal["linear", "log"]
_MOST_COLUMNS = 3

# Inches: between axes and legend, where ticks and a label stand; a line of the legend; a handle; a
# letter of its font.
_BELOW, _LINE, _HANDLE, _LETTER = 0.52, 0.17, 0.42, 0.068
_MARKUP = str.maketrans("", "", "${}_^\\")


@dataclass(frozen=True)
class Line:
    """One line of a panel.

    Attributes:
        x, y: points, shape (n,).
        label: for the legend; empty leaves it out.
        style: the style of matplotlib, e.g. "-", "--", "o".
        colour: number of the colour; None takes the next one.
    """

    x: Any
    y: Any
    label: str = ""
    style: str = "-"
    colour: int | None = None


@dataclass(frozen=True)
class Panel:
    """One pair of axes.

    Attributes:
        lines: drawn in order.
        title, xlabel, ylabel: texts, mathematics between dollar signs.
        xscale, yscale: the scales of the axes.
        levels: heights of dashed horizontal lines with the number of their colour.
        times: places of dotted vertical lines with the number of their colour.
        window: an interval of x to shade.
        xlim, ylim: limits of the axes.
        names: what lines in grey of a given style mean, shown below the legend.
    """

    lines: Sequence[Line]
    title: str = ""
    xlabel: str = r"$\alpha$"
    ylabel: str = r"$\epsilon_g$"
    xscale: Scale = "linear"
    yscale: Scale = "linear"
    levels: Sequence[tuple[float, int]] = ()
    times: Sequence[tuple[float, int]] = ()
    window: tuple[float, float] | None = None
    xlim: tuple[float, float] | None = None
    ylim: tuple[float, float] | None = None
    names: Sequence[tuple[str, str]] = ()


def panel_figure(panels: Sequence[Panel]) -> Figure:
    """Return the panels side by side, at most three in a row."""
    with _styled():
        columns = min(len(panels), _MOST_COLUMNS)
        rows = -(-len(panels) // columns)
        # the page shows every figure at one width: narrower panels keep letters readable
        width, height = {1: (7.4, 3.5), 2: (4.1, 3.2), 3: (3.0, 2.8)}[columns]
        # each panel is as high as the highest with its legend below
        lines = max(-(-_entries(panel) // _columns(panel, width)) for panel in panels)
        height += _LINE * lines + (_LINE if lines else 0.0)
        figure, axes = _new(rows, columns, (width * columns, height * rows))
        for axis, panel in zip(axes.ravel(), panels, strict=False):
            _draw(axis, panel, _columns(panel, width))
        for axis in axes.ravel()[len(panels) :]:
            axis.set_visible(False)
        return figure


def _labels(panel: Panel) -> list[str]:
    """Return the words of a panel's legend, without the commands of their mathematics."""
    words = [line.label for line in panel.lines if line.label] + [said for _, said in panel.names]
    return [re.sub(r"\\[a-zA-Z]+", "x", each).translate(_MARKUP) for each in words]


def _entries(panel: Panel) -> int:
    return len(_labels(panel))


def _columns(panel: Panel, width: float) -> int:
    """Return how many entries of the legend stand side by side in so many inches."""
    longest = max(map(len, _labels(panel)), default=0)
    return max(1, min(4, int(width / (_HANDLE + _LETTER * longest))))


def _draw(axis: Axes, panel: Panel, columns: int) -> None:
    numbers = [line.colour for line in panel.lines if line.colour is not None]
    shades = max(7, len(panel.lines) - len(numbers), *(number + 1 for number in numbers))
    free = 0
    for line in panel.lines:
        number, free = (free, free + 1) if line.colour is None else (line.colour, free)
        x, y = np.asarray(line.x, dtype=np.float64), np.asarray(line.y, dtype=np.float64)
        good = np.isfinite(y)
        if panel.xscale == "log":
            good &= x > 0
        if panel.yscale == "log":
            good &= y > 0
        axis.plot(
            x[good],
            y[good],
            line.style,
            color=colour(number, shades),
            label=line.label or None,
            linewidth=1.4,
            markersize=3.5,
        )
    for height, number in panel.levels:
        axis.axhline(height, linestyle="--", linewidth=1.0, color=colour(number, shades))
    for place, number in panel.times:
        axis.axvline(place, linestyle=":", linewidth=1.3, color=colour(number, shades))
    if panel.lines:
        axis.set(xscale=panel.xscale, yscale=panel.yscale)
    if panel.window is not None:
        left, right = axis.get_xlim()
        low, high = max(panel.window[0], left), min(panel.window[1], right)
        if low < high:
            axis.axvspan(low, high, color="#999999", alpha=0.15, linewidth=0)
        axis.set_xlim(left, right)
    if panel.xlim is not None:
        axis.set_xlim(*panel.xlim)
    if panel.ylim is not None:
        axis.set_ylim(*panel.ylim)
    axis.set_title(panel.title, fontsize=11)
    axis.set_xlabel(panel.xlabel, fontsize=12)
    axis.set_ylabel(panel.ylabel, fontsize=12)
    _draw_legend(axis, panel, columns)


def _draw_legend(axis: Axes, panel: Panel, columns: int) -> None:
    """Put the names of lines, and what styles mean, below a panel."""
    from matplotlib.transforms import ScaledTranslation

    handles: list[Any] = list(axis.get_legend_handles_labels()[0])
    handles += [
        axis.plot([], [], style, color="#666666", linewidth=1.3, label=words)[0]
        for style, words in panel.names
    ]
    if handles:
        figure: Any = axis.get_figure(root=True)
        below = ScaledTranslation(0.0, -_BELOW, figure.dpi_scale_trans)
        axis.legend(
            handles=handles,
            fontsize=8.5,
            handlelength=1.6,
            ncols=columns,
            columnspacing=1.0,
            frameon=False,
            loc="upper center",
            bbox_to_anchor=(0.5, 0.0),
            bbox_transform=axis.transAxes + below,
            borderaxespad=0.0,
        )
