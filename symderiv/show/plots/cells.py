"""Cells of maps, whose edges lie half way between neighbours on the scale of the axis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
