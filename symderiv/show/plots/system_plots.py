"""Figures of runs of systems: curves of equations as lines, simulations as points."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from symderiv.foundation.errors import InputError
from symderiv.show.plots import plots
from symderiv.show.plots.axes import new_axes
from symderiv.system.system_sgd import SystemSimulation
from symderiv.system.system_trajectory import SystemRun

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["curves_figure", "run_axes"]

_MOST_IN_LEGEND = 12
_DECADES = 20.0


def run_axes(results: Sequence[Any], names: Iterable[str] | None, ax: Axes | None) -> Axes:
    """Curves of runs and simulations of systems.

    Raises:
        InputError: Something is neither, or has no such curve.
    """
    for each in results:
        if not isinstance(each, SystemRun | SystemSimulation):
            raise InputError(
                f"{type(each).__name__} is neither a run nor a simulation of a system",
                argument="others",
            )
    first = results[0]
    chosen = list(names) if names is not None else list(first.observables or first.values)
    axes = new_axes(ax)
    _draw(axes, results, chosen)
    return axes


def curves_figure(run: SystemRun, simulation: SystemSimulation | None, name: str) -> Figure:
    """Return one order parameter or observable over log α and over α."""
    results = [run] if simulation is None else [run, simulation]
    with plots._styled():
        figure, axes = plots._new(1, 2, (8.6, 3.6))
        _draw(axes[0, 0], results, [name], ("log", None))
        _draw(axes[0, 1], results, [name], ("linear", None))
        for other in axes[0, 1:]:
            if other.get_legend() is not None:
                other.get_legend().remove()
        return figure


def _draw(
    axes: Axes,
    results: Sequence[Any],
    names: Sequence[str],
    scales: tuple[str, str | None] = ("log", None),
) -> None:
    """Draw the curves; those above zero that span decades on a logarithmic axis."""
    runs = [each for each in results if isinstance(each, SystemRun)]
    colours = {label: n for n, (label, _) in enumerate(runs[0].columns(names))}
    values = [v for run in runs for _, v in run.columns(names)]
    for number, run in enumerate(runs):
        for label, curve in run.columns(names):
            shown = label if number == 0 and len(colours) <= _MOST_IN_LEGEND else None
            colour = plots.colour(colours.get(label, 0), len(colours))
            good = run.alpha > 0 if scales[0] == "log" else np.ones(run.alpha.size, bool)
            style = ("-", "--", ":", "-.")[number % 4]
            axes.plot(run.alpha[good], curve[good], style, color=colour, label=shown)
    for each in results:
        if isinstance(each, SystemSimulation):
            _points(axes, each, names, colours, scales[0])
    finite = np.concatenate([v[np.isfinite(v)] for v in values]) if values else np.empty(0)
    if finite.size and finite.min() > 0 and finite.max() > _DECADES * finite.min():
        axes.set_yscale("log")
    if scales[0] == "log" and any(np.any(run.alpha > 0) for run in runs):
        axes.set_xscale("log")
    axes.set_xlabel(r"$\alpha$")
    axes.set_ylabel(names[0].replace("_", " ") if len(names) == 1 else "")
    if len(colours) > 1 and len(colours) <= _MOST_IN_LEGEND:
        axes.legend(fontsize=8)


def _points(
    axes: Axes,
    simulation: SystemSimulation,
    names: Sequence[str],
    colours: dict[str, int],
    scale: str,
) -> None:
    """Draw the means of a simulation with standard errors."""
    good = simulation.alpha > 0
    for name in names:
        if name not in simulation.mean:
            raise InputError(f"the simulation has no {name!r}", argument="names")
        mean, error = simulation.mean[name], simulation.standard_error[name]
        for place in np.ndindex(mean.shape[1:]):
            index = f"[{','.join(str(n + 1) for n in place)}]" if place else ""
            at = (good, *place)
            colour = plots.colour(colours.get(f"{name}{index}", 0), max(1, len(colours)))
            plots.drawn_mean(
                axes, simulation.alpha[good], mean[at], np.nan_to_num(error[at]), colour,
                plots.MARKERS[0], None, scale,
            )  # fmt: skip
