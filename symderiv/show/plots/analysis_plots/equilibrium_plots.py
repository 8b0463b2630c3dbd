"""Branches of equilibrium states over α, and moments of fields given an output."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from symderiv.show.plots.axes import explained, new_axes
from symderiv.show.plots.plots import colour

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_FEW = 24
_WORDS = {"generalization_error": "generalisation error", "free_energy": "free energy"}


def branch_axes(record: Mapping[str, Any], quantity: str, ax: Axes | None = None) -> Axes:
    """Return axes with a quantity of all branches over α, and lines at transitions.

    Args:
        record: the record of an equilibrium.
        quantity: the key of a branch.
        ax: where to draw; new axes when None.
    """
    axis = new_axes(ax)
    shown = [each for each in record["branches"] if len(each["alpha"]) > 1]
    for number, branch in enumerate(shown):
        alpha, stable = np.array(branch["alpha"]), np.array(branch["stable"])
        values = np.array(branch[quantity]).reshape(alpha.size, -1)
        own = colour(number, len(shown))
        for column in values.T:
            axis.plot(alpha, column, color=own, lw=0.8, ls=":")
            # a few states are shown as points: straight lines between them mean nothing
            mark = "o" if alpha.size <= _FEW else ""
            axis.plot(alpha, np.where(stable, column, np.nan), mark + "-", color=own, lw=1.6, ms=4)
    styles = {"continuous": "-", "first-order": "--", "spinodal": ":"}
    for kind, style in styles.items():
        places = [each["alpha"] for each in record["transitions"] if each["kind"] == kind]
        for n, place in enumerate(places):
            label = kind if n == 0 else None
            axis.axvline(place, color="0.6", lw=0.8, ls=style, label=label)
    axis.set_xlabel("α")
    axis.set_ylabel(_WORDS.get(quantity, quantity))
    if record["transitions"]:
        axis.legend(frameon=False)
    return axis


def possible_axes(record: Mapping[str, Any], quantity: str, ax: Axes | None = None) -> Axes:
    """Return axes with a quantity of Bayes-optimal states over α; informed states are dashed.

    Args:
        record: the record of Bayes-optimal learning.
        quantity: "error", "overlap" or "free_entropy".
        ax: where to draw; new axes when None.
    """
    axis = new_axes(ax)
    alpha = np.array(record["alpha"])
    kinds = [("uninformed", record, "-"), ("informed", record["informed"], "--")]
    if np.allclose(record["overlap"], record["informed"]["overlap"], atol=1e-6):
        kinds = [("Bayes-optimal", record, "-")]
    for name, states, style in kinds:
        values = np.array(states[quantity], dtype=float)
        if quantity == "overlap":
            values = values[:, *np.triu_indices(values.shape[1])]
        columns = values.reshape(alpha.size, -1)
        # NaN makes a gap where a branch ends
        ends = [each["alpha"] for each in record["transitions"] if each["branch"] == name]
        order = np.argsort([*alpha, *ends])
        columns = np.vstack([columns, np.full((len(ends), columns.shape[1]), np.nan)])[order]
        for n, column in enumerate(columns.T):
            label = name if n == 0 else None
            own = colour(n, columns.shape[1])
            place = np.array([*alpha, *ends])[order]
            axis.plot(
                place,
                column,
                style,
                color=colour(1, 3) if ax and len(kinds) == 1 else own,
                label=label,
            )
    for each in record["transitions"]:
        axis.axvline(each["alpha"], color="0.6", lw=0.8, ls=":")
    return explained(axis, "α", {"free_entropy": "free entropy"}.get(quantity, quantity))


def risk_axes(record: Mapping[str, Any], quantity: str, ax: Axes | None = None) -> Axes:
    """Return axes with a quantity of minima of the risk over α.

    Args:
        record: the record of minima.
        quantity: the key of an array.
        ax: where to draw; new axes when None.
    """
    axis = new_axes(ax)
    own = colour(0 if ax is None else 2, 3)
    axis.plot(record["alpha"], record[quantity], color=own, label=f"{record['loss']} loss")
    return explained(axis, "α", quantity.replace("_", " "))


def specialisation_axes(record: Mapping[str, Any], ax: Axes | None = None) -> Axes:
    """Return axes with transitions over K; infinitely many units stand at the right.

    Args:
        record: the record of a specialisation.
        ax: where to draw; new axes when None.
    """
    axis = new_axes(ax)
    units = np.array(record["units"])
    finite = np.isfinite(units)
    last = units[finite].max(initial=2.0)
    place = np.where(finite, units, 1.4 * last)
    low, middle, high = (
        np.array(record[name]) for name in ("specialised_from", "alpha_per_unit", "equal_until")
    )
    most = 1.3 * middle.max()
    axis.fill_between(place, low, np.minimum(high, most), color=colour(0, 3), alpha=0.15, lw=0)
    axis.plot(place, np.where(high < most, high, np.nan), ":", color="0.3", label="equal until")
    axis.plot(place, middle, "-o", color=colour(0, 3), ms=4, label="transition")
    axis.plot(place, low, "--", color="0.3", label="specialised from")
    axis.set_xscale("log")
    ticks = [*units[finite], *place[~finite]]
    axis.set_xticks(ticks, [f"{each:g}" for each in units[finite]] + ["∞"] * int((~finite).sum()))
    axis.minorticks_off()
    axis.set_ylim(0.9 * low.min(), min(most, 1.1 * high.max()))
    return explained(axis, "K", "α/K")


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
        # different styles keep equal entries visible
        style = ("os^v" if points else ("-", "--", ":", "-."))[n % 4]
        axis.plot(y, moments[:, i, j], style, label=f"E[z{i + 1} z{j + 1}{less} | y]")
    axis.axhline(0.0, color="0.7", lw=0.8)
    return explained(axis, "y", "mean given y")
