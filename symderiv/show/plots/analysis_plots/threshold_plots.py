"""Means of products of fields given the value of a target."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from symderiv.show.plots.axes import new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def moment_axes(record: Mapping[str, Any], ax: Axes | None = None) -> Axes:
    """Return axes with E[z_i z_j - δ_ij | y] over y: points where y has few values.

    Args:
        record: the record of thresholds.
        ax: where to draw; new axes when None.
    """
    axis = new_axes(ax)
    y, moments = np.array(record["y"]), np.array(record["moments"])
    points = y.size < 20
    places = np.argwhere(np.triu(np.ones(moments.shape[1:])))
    for n, (i, j) in enumerate(places):
        less = " - 1" if i == j else ""
        # entries that are equal stay visible
        style = ("os^v" if points else ("-", "--", ":", "-."))[n % 4]
        axis.plot(y, moments[:, i, j], style, label=f"E[z{i + 1} z{j + 1}{less} | y]")
    axis.axhline(0.0, color="0.7", lw=0.8)
    axis.set_xlabel("y")
    axis.set_ylabel("mean given y")
    axis.legend(frameon=False)
    return axis
