"""The linearised spectrum of a plateau, group by group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from symderiv.show.plots.axes import new_axes
from symderiv.show.plots.plots import _COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_KINDS = {"attractive": 0, "neutral": 2, "escaping": 1}

#: A symmetry sector: what it moves, attractive, neutral or escaping, its multiplicity, its rates.
Group = tuple[str, str, int, Sequence[float]]


def spectrum_axes(groups: Sequence[Group], ax: Axes | None = None) -> Axes:
    """Return rates of all groups on one axis that is linear around 0 and logarithmic beyond.

    Args:
        groups: with at least one rate each; a positive rate leaves the plateau.
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
