"""Optimal controls over time, with the best constant and the steepest descent, and their errors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from symderiv.show.plots.axes import new_axes
from symderiv.show.plots.plots import colour

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LABELS = {"optimal": "optimal", "constant": "best constant", "greedy": "steepest descent"}


def control_axes(record: Mapping[str, Any], ax: Axes | None = None) -> Axes:
    """Return axes with the control over α; new ones have the error in axes above.

    Args:
        record: the record of an optimal control.
        ax: where to draw; new axes when None.
    """
    axis = new_axes(ax)
    runs = {"optimal": record, "constant": record["constant"], "greedy": record["greedy"]}
    above = None
    if ax is None:
        from mpl_toolkits.axes_grid1 import make_axes_locatable  # type: ignore[import-untyped]

        above = make_axes_locatable(axis).append_axes("top", "100%", pad=0.1, sharex=axis)
        above.tick_params(labelbottom=False)
        above.set_yscale("log")
        above.text(0.02, 0.06, "generalisation error", transform=above.transAxes)
    for number, (name, run) in enumerate(runs.items()):
        style = {"color": colour(number, len(runs)), "label": _LABELS[name]}
        axis.stairs(run["values"], record["edges"], baseline=None, **style)
        if above is not None:
            above.plot(run["alpha"], run["errors"], **style)
    axis.set_xlabel("α")
    axis.set_ylabel(record["control"])
    (above or axis).legend(frameon=False)
    return axis
