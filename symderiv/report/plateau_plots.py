"""The figure of ``symderiv plateau``: the linearised spectrum, group by group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from symderiv.report.plots import _COLOURS, _new, _styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_KINDS = {"attractive": 0, "neutral": 2, "escaping": 1}


@dataclass(frozen=True)
class SpectrumGroup:
    """A symmetry sector: what it moves, attractive, neutral or escaping, and its rates per α."""

    label: str
    kind: str
    multiplicity: int
    rates: Sequence[float]


def plateau_figure(groups: Sequence[SpectrumGroup]) -> Figure:
    """Rates of all groups on one axis that is linear around 0 and logarithmic beyond.

    Args:
        groups: with at least one rate each; a positive rate leaves the plateau.
    """
    sizes = [abs(rate) for group in groups for rate in group.rates if rate]
    linear = min(sizes, default=1.0)
    with _styled():
        figure, axes = _new(1, 1, (7.2, 0.9 + 0.42 * len(groups)))
        axis = axes[0, 0]
        named = set()
        for row, group in enumerate(groups):
            colour = _COLOURS[_KINDS.get(group.kind, 3)]
            label = None if group.kind in named else group.kind
            named.add(group.kind)
            axis.plot(
                group.rates, [row] * len(group.rates), "|", color=colour, label=label,
                markersize=13, markeredgewidth=1.6,
            )  # fmt: skip
        axis.axvline(0.0, color="#444444", linewidth=0.8, zorder=1)
        axis.set_xscale("symlog", linthresh=linear)
        axis.set_yticks(
            range(len(groups)), [f"{group.label}  × {group.multiplicity}" for group in groups]
        )
        axis.margins(x=0.06)
        axis.set_ylim(len(groups) - 0.4, -0.6)
        axis.set_xlabel(r"rate per unit of $\alpha$ (positive: leaves the plateau)")
        axis.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)
        return figure
