"""Figures of linear networks and linearisations: error curves, spectra of plateaus."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
        axis.axvspan(max(window[0], left), min(window[1], right), color="#999999", alpha=0.15)
        axis.set_xlim(left, right)
    axis.set(
        xlabel=r"$\alpha$  (examples per input dimension)",
        ylabel=r"generalisation error $\epsilon_g$",
    )
    beside(axis, axis.get_legend_handles_labels()[0])
    return axis


_KINDS = {"attractive": 0, "neutral": 2, "escaping": 1}

#: A symmetry sector: its motion, its kind (attractive, neutral, escaping), multiplicity, rates.
Group = tuple[str, str, int, Sequence[float]]


def spectrum_axes(groups: Sequence[Group], ax: Axes | None = None) -> Axes:
    """Return axes with the rates of all groups, linear around 0 and logarithmic beyond.

    Args:
        groups: the groups, with at least one rate each; a positive rate leaves the plateau.
        ax: where to draw; new axes when None.
    """
    sizes = [abs(rate) for *_, rates in groups for rate in rates if rate]
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
    axis.set_xscale("symlog", linthresh=min(sizes, default=1.0))
    axis.set_yticks(range(len(groups)), [f"{label}  × {count}" for label, _, count, _ in groups])
    axis.margins(x=0.06)
    axis.set_ylim(len(groups) - 0.4, -0.6)
    axis.set_xlabel(r"rate per unit of $\alpha$ (positive: leaves the plateau)")
    axis.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)
    return axis
