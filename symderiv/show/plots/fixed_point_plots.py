"""Fixed points by index and error, with arrows to where their unstable directions lead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from symderiv.show.plots.axes import new_axes
from symderiv.show.plots.plots import _COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["saddle_axes"]


def saddle_axes(
    points: Sequence[Mapping[str, Any]],
    connections: Sequence[Mapping[str, Any]],
    ax: Axes | None = None,
) -> Axes:
    """Return the graph of saddles of which vectors exist: index to the right, error upwards.

    Args:
        points: records of fixed points.
        connections: which leads to which, numbered from 1.
        ax: where to draw; new axes when None.
    """
    axis = new_axes(ax)
    places: dict[int, tuple[float, float]] = {}
    taken: dict[int, int] = {}
    for number, point in enumerate(points, 1):
        if point["physical"]:
            index = int(point["index"])
            taken[index] = taken.get(index, 0) + 1
            # points of one index stand beside each other
            shift = 0.16 * (taken[index] // 2) * (-1) ** taken[index]
            places[number] = (index + shift, float(point["generalization_error"]))
    drawn = {(each["source"], each["target"]) for each in connections}
    for source, target in sorted(drawn, key=str):
        if source in places and target in places and source != target:
            axis.annotate(
                "",
                places[target],
                places[source],
                arrowprops={
                    "arrowstyle": "->",
                    "color": "#888888",
                    "shrinkA": 9,
                    "shrinkB": 9,
                    "connectionstyle": "arc3,rad=0.12",
                },
            )
    for label, certified, colour in (("proved", True, _COLOURS[0]), ("found", False, _COLOURS[1])):
        chosen = [n for n in places if points[n - 1]["certified"] is certified]
        if chosen:
            axis.plot(
                *zip(*(places[n] for n in chosen), strict=True),
                "o",
                color=colour,
                markersize=13,
                label=label,
            )
    for number, place in places.items():
        axis.annotate(str(number), place, ha="center", va="center", color="white", fontsize=8)
    axis.locator_params(axis="x", integer=True)
    axis.set_xlabel("unstable directions")
    axis.set_ylabel("generalisation error")
    axis.margins(0.12)
    axis.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    return axis
