"""Errors of tasks around the times in which they were taught, as bars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from symderiv.foundation.errors import InputError
from symderiv.foundation.nearest import did_you_mean
from symderiv.show.plots.axes import beside, new_axes
from symderiv.show.plots.plots import colour

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from symderiv.storage.forgetting import Forgetting

_WORDS = {
    "untaught": "at the start",
    "begun": "when first taught",
    "learned": "when last taught",
    "final": "at the end",
}


def bar_axes(
    found: Forgetting,
    names: Sequence[str],
    label: str | Sequence[str] | None,
    ax: Axes | None,
) -> Axes:
    """Draw what :meth:`symderiv.storage.forgetting.Forgetting.plot` is asked for."""
    data = found.to_xarray()
    for name in names:
        if name not in data.data_vars:
            known = [str(each) for each in data.data_vars]
            raise InputError(
                f"{name!r} is not one of {', '.join(known)}{did_you_mean(name, known)}",
                argument="names",
            )
    asked = list(names) or ["begun", "learned", "final"]
    labels = [label] if isinstance(label, str) else list(label or ())
    axes = new_axes(ax)
    places, width = np.arange(len(found.tasks)), 0.8 / len(asked)
    for n, name in enumerate(asked):
        words = labels[n] if n < len(labels) else _WORDS.get(name, name)
        at = places + (n - 0.5 * (len(asked) - 1)) * width
        axes.bar(at, data[name].values, width, color=colour(n, len(asked)), label=words)
    axes.set_xticks(places, [f"task {number + 1}" for number in found.tasks])
    differences = set(asked) <= {"forgetting", "transfer"}
    axes.set_ylabel("difference of errors" if differences else r"generalisation error $\epsilon_g$")
    if data[asked].to_array().min() < 0:
        axes.axhline(0.0, color="#444444", linewidth=0.8)
    beside(axes, axes.get_legend_handles_labels()[0])
    return axes
