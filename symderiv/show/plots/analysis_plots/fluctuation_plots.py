"""Order parameters with their spread at finite N, and laws of times."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from symderiv.show.plots.axes import new_axes
from symderiv.show.plots.plots import colour

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def band_axes(
    alpha: np.ndarray,
    curves: Sequence[tuple[str, np.ndarray, np.ndarray]],
    ax: Axes | None = None,
) -> Axes:
    """Return axes with means over α and bands of one standard deviation on either side.

    Args:
        alpha: times.
        curves: names, means and standard deviations.
        ax: where to draw; new axes when None.
    """
    axis = new_axes(ax)
    for number, (name, mean, spread) in enumerate(curves):
        own = colour(number, len(curves))
        axis.plot(alpha, mean, color=own, label=name)
        axis.fill_between(alpha, mean - spread, mean + spread, color=own, alpha=0.25, lw=0)
    axis.set_xlabel("α")
    axis.legend(frameon=False)
    return axis


def time_axes(name: str, times: np.ndarray, ax: Axes | None = None) -> Axes:
    """Return axes with the distribution function of times.

    Args:
        name: the name of the event.
        times: ascending, of equal weights; infinite ones are never.
        ax: where to draw; new axes when None.
    """
    axis = new_axes(ax)
    share = (np.arange(times.size) + 0.5) / times.size
    known = np.isfinite(times)
    axis.step(times[known], share[known], where="mid", color=colour(0, 1), label=name)
    axis.set_xlabel("α")
    axis.set_ylabel("share of runs")
    axis.set_ylim(0, 1)
    axis.legend(frameon=False)
    return axis
