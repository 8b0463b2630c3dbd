"""Errors of the network and of its equivalents, as points with standard errors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from symderiv.show.plots.axes import beside, new_axes
from symderiv.show.plots.plots import MARKERS, colour
from symderiv_models.one_step_text import MODEL_NAMES

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def models_axes(record: Mapping[str, Any], ax: Axes | None) -> Axes:
    """Draw test and training error of each model as points."""
    axis = new_axes(ax)
    names = list(record["errors"])
    for index, (key, label) in enumerate(
        (("errors", "fresh examples"), ("training_errors", "examples of ridge"))
    ):
        errors = [record[key][name] for name in names]
        axis.errorbar(
            [place + 0.1 * index for place in range(len(names))],
            [each["mean"] for each in errors],
            yerr=[each["standard_error"] or 0.0 for each in errors],
            fmt=MARKERS[index],
            color=colour(index, 2),
            capsize=3,
            label=label,
        )
    axis.set_xticks(range(len(names)), [MODEL_NAMES[name].replace(" ", "\n") for name in names])
    axis.set(ylabel=r"$\mathrm{E}(y-\hat y)^2$", xlim=(-0.5, len(names) - 0.4))
    axis.set_ylim(bottom=0.0)
    beside(axis, axis.get_legend_handles_labels()[0])
    return axis
