"""Error curves of linearised and linear networks: the exact one and its approximations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from symderiv.show.plots.axes import beside, new_axes
from symderiv.show.plots.curves import Floats
from symderiv.show.plots.plots import _COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def linear_axes(
    alpha: Floats,
    curves: Mapping[str, Floats],
    window: tuple[float, float] | None,
    ax: Axes | None = None,
) -> Axes:
    """ε_g(α) on logarithmic axes, one line per curve, the window of the power law shaded.

    Args:
        alpha: ascending times, shape (n,).
        curves: label and values, shape (n,), the exact one first.
        window: both ends, or None.
        ax: where to draw; new axes when None.
    """
    axis = new_axes(ax)
    styles = ("-", "--", ":", "-.")
    lowest = np.inf
    for index, (label, values) in enumerate(curves.items()):
        good = (alpha > 0) & (values > 0)
        colour, style = _COLOURS[index % len(_COLOURS)], styles[index % len(styles)]
        axis.plot(alpha[good], values[good], style, color=colour, label=label)
        if np.any(good):
            lowest = min(lowest, float(np.min(values[good])))
    if axis.lines and np.isfinite(lowest):
        axis.set(xscale="log", yscale="log")
    if window is not None:
        left, right = axis.get_xlim()
        axis.axvspan(max(window[0], left), min(window[1], right), color="#999999", alpha=0.15)
        axis.set_xlim(left, right)
    axis.set(
        xlabel=r"$\alpha$  (examples per input dimension)",
        ylabel=r"generalisation error $\epsilon_g$",
    )
    beside(axis, axis.get_legend_handles_labels()[0])
    return axis
