"""Results drawn into given axes: curves of equations as lines, simulations as points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from symderiv.experiment.studies.simulation import Simulation
from symderiv.foundation.errors import InputError
from symderiv.integrate.flows.trajectory import Trajectory
from symderiv.show.plots.plots import MARKERS, colour, drawn_mean

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["error_axes", "new_axes"]


def new_axes(ax: Axes | None) -> Axes:
    """Return the axes to draw into, new ones if none were given."""
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    _, made = plt.subplots(figsize=(6.4, 4.4), layout="constrained")
    return made


def error_axes(results: Sequence[Any], ax: Axes | None) -> Axes:
    """ε_g(α) of trajectories and simulations, on logarithmic axes.

    Raises:
        InputError: something is neither.
    """
    from matplotlib.axes import Axes

    if ax is None:
        given = [each for each in results if isinstance(each, Axes)]
        ax = given[0] if given else None
    results = [each for each in results if not isinstance(each, Axes)]
    for each in results:
        if not isinstance(each, Trajectory | Simulation):
            raise InputError(
                f"{type(each).__name__} is neither a Trajectory nor a Simulation", argument="others"
            )
    axes = new_axes(ax)
    lines = [each for each in results if isinstance(each, Trajectory)]
    points = [each for each in results if isinstance(each, Simulation)]
    many = len(lines) > 1
    for index, line in enumerate(lines):
        good = (line.alpha > 0) & (line.generalization_error > 0)
        label = f"equations {index + 1}" if many else "equations"
        axes.plot(
            line.alpha[good],
            line.generalization_error[good],
            color=colour(index, len(lines)),
            label=label,
        )
    for index, each in enumerate(points):
        runs = f"{each.runs} run{'' if each.runs == 1 else 's'}"
        alpha = each.examples / each.dimension
        good = alpha > 0
        drawn_mean(
            axes,
            alpha[good],
            each.mean("generalization_error")[good],
            each.standard_error("generalization_error")[good],
            colour(index, max(len(lines), len(points))),
            MARKERS[index % len(MARKERS)],
            f"SGD, {runs}, ± standard error",
        )
    drawable = any(np.any(each.alpha > 0) for each in results)
    if drawable:
        axes.set(xscale="log", yscale="log")
    axes.set_xlabel(r"$\alpha$  (examples per input dimension)")
    axes.set_ylabel(r"generalisation error $\epsilon_g$")
    axes.legend()
    return axes
