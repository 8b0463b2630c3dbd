"""Figures of runs and rates: fluctuations, fits, controls, errors on tasks, linear networks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from symderiv.foundation.errors import check_one_of
from symderiv.show.plots.axes import beside, explained, new_axes
from symderiv.show.plots.features import Floats
from symderiv.show.plots.plots import _COLOURS, ALPHA, colour

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from symderiv.storage.forgetting import Forgetting


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
    return explained(axis, ALPHA)


def time_axes(name: str, times: np.ndarray, ax: Axes | None = None) -> Axes:
    """Return axes with the distribution function of times.

    Args:
        name: the name of the event.
        times: ascending times of equal weights; infinite ones mean never.
        ax: where to draw; new axes when None.
    """
    axis = new_axes(ax)
    share = (np.arange(times.size) + 0.5) / times.size
    known = np.isfinite(times)
    axis.step(times[known], share[known], where="mid", color=colour(0, 1), label=name)
    axis.set_ylim(0, 1)
    return explained(axis, ALPHA, "share of runs")


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
    axis.set_xlabel(ALPHA)
    beside(axis, axis.get_legend_handles_labels()[0])
    return axis


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
    axis.set_xlabel(ALPHA)
    axis.set_ylabel(record["control"].replace("_", " "))
    (above or axis).legend(frameon=False)
    return axis


_WORDS = {
    "untaught": "at the start",
    "begun": "when first taught",
    "learned": "when last taught",
    "final": "at the end",
}


def bar_axes(
    forgetting: Forgetting,
    names: Sequence[str],
    label: str | Sequence[str] | None,
    ax: Axes | None,
) -> Axes:
    """Draw what :meth:`symderiv.storage.forgetting.Forgetting.plot` is asked for."""
    data = forgetting.to_xarray()
    for name in names:
        check_one_of("names", name, map(str, data.data_vars))
    asked = list(names) or ["begun", "learned", "final"]
    labels = [label] if isinstance(label, str) else list(label or ())
    axes = new_axes(ax)
    places, width = np.arange(len(forgetting.tasks)), 0.8 / len(asked)
    for n, name in enumerate(asked):
        words = labels[n] if n < len(labels) else _WORDS.get(name, name)
        at = places + (n - 0.5 * (len(asked) - 1)) * width
        axes.bar(at, data[name].values, width, color=colour(n, len(asked)), label=words)
    axes.set_xticks(places, [f"task {number + 1}" for number in forgetting.tasks])
    differences = set(asked) <= {"forgetting", "transfer"}
    axes.set_ylabel("difference of errors" if differences else r"generalisation error $\epsilon_g$")
    if data[asked].to_array().min() < 0:
        axes.axhline(0.0, color="#444444", linewidth=0.8)
    beside(axes, axes.get_legend_handles_labels()[0])
    return axes


def linear_axes(
    alpha: Floats,
    curves: Mapping[str, Floats],
    window: tuple[float, float] | None,
    ax: Axes | None = None,
) -> Axes:
    """Return axes with ε_g(α), one line per curve, and the power law's window shaded.

    Args:
        alpha: ascending times, shape (n,).
        curves: label and values, shape (n,), the exact one first.
        window: the two ends of the window, or None.
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
        ends = max(window[0], left), min(window[1], right)
        axis.axvspan(*ends, color="#999999", alpha=0.15, label="range of the power law")
        axis.set_xlim(left, right)
    axis.set(xlabel=ALPHA, ylabel=r"generalisation error $\epsilon_g$")
    beside(axis, axis.get_legend_handles_labels()[0])
    return axis


_KINDS = {"attractive": 0, "neutral": 2, "escaping": 1}
_NONE, _WIDE = 1e-12, 30.0

#: A symmetry sector: its motion, its kind (attractive, neutral, escaping), multiplicity, rates.
Group = tuple[str, str, int, Sequence[float]]


def spectrum_axes(groups: Sequence[Group], ax: Axes | None = None) -> Axes:
    """Return axes with the rates of all groups, logarithmic if they differ much.

    Args:
        groups: the groups, with at least one rate each; a positive rate leaves the plateau.
        ax: where to draw; new axes when None.
    """
    largest = max((abs(rate) for *_, rates in groups for rate in rates), default=0.0) or 1.0
    # the middle of a ball that contains zero may be any tiny number
    sizes = [abs(rate) for *_, rates in groups for rate in rates if abs(rate) > _NONE * largest]
    axis = new_axes(ax)
    named = set()
    for row, (_, kind, _, rates) in enumerate(groups):
        colour = _COLOURS[_KINDS.get(kind, 3)]
        label = None if kind in named else kind
        named.add(kind)
        axis.plot(
            rates,
            [row] * len(rates),
            "|",
            color=colour,
            label=label,
            markersize=13,
            markeredgewidth=1.6,
        )
    axis.axvline(0.0, color="#444444", linewidth=0.8, zorder=1)
    smallest = min(sizes, default=largest)
    if largest > _WIDE * smallest:
        axis.set_xscale("symlog", linthresh=smallest)
        # powers of ten nearer to zero than this would cover the zero's label
        decades = np.arange(np.floor(np.log10(smallest)) + 1, np.log10(largest) + 1)
        powers = 10.0 ** decades[:: 1 + decades.size // 5]
        axis.set_xticks([*-powers[::-1], 0.0, *powers])
    axis.set_yticks(range(len(groups)), [f"{label}  × {count}" for label, _, count, _ in groups])
    axis.margins(x=0.06)
    axis.set_ylim(len(groups) - 0.4, -0.6)
    axis.set_xlabel(r"rate per unit of $\alpha$ (positive: leaves the plateau)")
    axis.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)
    return axis
