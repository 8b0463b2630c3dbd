"""Measured curves as points, and what was fitted to them as lines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from symderiv.show.plots.axes import beside, new_axes
from symderiv.show.plots.plots import colour

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def fit_axes(curves: Mapping[str, Mapping[str, list[float]]], ax: Axes | None = None) -> Axes:
    """Return axes with data and fits over α.

    Args:
        curves: the curves by name, each with alpha, data, fit and, where known, standard_error.
        ax: where to draw; new axes when None.
    """
    axis = new_axes(ax)
    for number, (name, curve) in enumerate(curves.items()):
        own = colour(number, len(curves))
        errors = curve.get("standard_error")
        axis.errorbar(curve["alpha"], curve["data"], yerr=errors, fmt="o", ms=3, color=own)
        axis.plot(curve["alpha"], curve["fit"], color=own, label=name)
    axis.set_xlabel("α")
    beside(axis, axis.get_legend_handles_labels()[0])
    return axis
