"""Figures of runs of systems: curves of equations as lines, simulations as points."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symderiv.show.plots import plots
from symderiv.show.plots.axes import draw_curves
from symderiv.system.system_sgd import SystemSimulation
from symderiv.system.system_trajectory import SystemRun

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def curves_figure(run: SystemRun, simulation: SystemSimulation | None, name: str) -> Figure:
    """Draw one order parameter or observable over log α and over α."""
    results = [run] if simulation is None else [run, simulation]
    with plots._styled():
        figure, axes = plots._new(1, 2, (8.6, 3.6))
        for axis, scale in zip(axes[0], ("log", "linear"), strict=True):
            draw_curves(axis, results, [name], xscale=scale)
        # the legend of the right one says the same
        axes[0, 0].get_legend().remove()
        return figure
