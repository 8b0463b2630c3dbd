"""Fixed points by index and error, with arrows to where their unstable directions lead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from symderiv.show.plots.axes import new_axes
from symderiv.show.plots.plots import colour

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def saddle_axes(
    points: Sequence[Mapping[str, Any]],
    connections: Sequence[Mapping[str, Any]],
    level: str,
    ax: Axes | None = None,
) -> Axes:
    """Return axes with physical fixed points by index (right) and error (upwards), and arrows.

    Args:
        points: records of fixed points, with their ``level``.
        connections: records of connections between points, numbered from 1.
        level: the label of the level's axis.
        ax: where to draw; new axes when None.
    """
    axis = new_axes(ax)
    places: dict[int, tuple[float, float]] = {}
    taken: dict[int, int] = {}
    for number, point in enumerate(points, 1):
        if point["physical"]:
            # points without an index stand to the left
            index = -1 if point["index"] is None else int(point["index"])
            taken[index] = taken.get(index, 0) + 1
            # points with one index stand beside each other
            shift = 0.16 * (taken[index] // 2) * (-1) ** taken[index]
            places[number] = (index + shift, float(point["level"]))
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
    kinds = {n: _kind(points[n - 1]) for n in places}
    for label, mark, tone in (("proved", "o", 0), ("found", "o", 1), ("family", "s", 1)):
        chosen = [n for n in places if kinds[n] == label]
        if chosen:
            axis.plot(
                *zip(*(places[n] for n in chosen), strict=True),
                mark,
                color=colour(tone, 2),
                markersize=13,
                label=label,
            )
    for number, place in places.items():
        axis.annotate(str(number), place, ha="center", va="center", color="white", fontsize=8)
    axis.locator_params(axis="x", integer=True)
    without = any(point["physical"] and point["index"] is None for point in points)
    axis.set_xlabel("unstable directions" + (" (-1: rates have no derivatives)" if without else ""))
    axis.set_ylabel(level)
    axis.margins(0.12)
    axis.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)
    return axis


def _kind(point: Mapping[str, Any]) -> str:
    return "family" if point["family"] else "proved" if point["certified"] else "found"


_MARKS = {"fold": "s", "pitchfork": "P", "transcritical": "X", "hopf": "D", "branch point": "o"}
_LINES = {"stable": "-", "unstable": "--", "no vectors": ":"}


def branch_axes(
    branches: Sequence[Mapping[str, Any]],
    bifurcations: Sequence[Mapping[str, Any]],
    names: tuple[str, str],
    ax: Axes | None = None,
) -> Axes:
    """Return numbered branches of fixed points; lines say where they are stable and have vectors.

    Args:
        branches: curves of fixed points, with their ``level``.
        bifurcations: the bifurcations marked on the curves.
        names: the labels of the followed key and of the level.
        ax: where to draw; new axes when None.
    """
    axis = new_axes(ax)
    drawn = set()
    for number, branch in enumerate(branches):
        index, physical = np.array(branch["index"]), np.array(branch["physical"])
        kinds = np.where(physical, np.where(index == 0, 0, 1), 2)
        parameter = np.array(branch["parameter"])
        error = np.array(branch["level"])
        tone = colour(number, len(branches))
        cuts = [0, *(np.flatnonzero(np.diff(kinds)) + 1), kinds.size]
        for begin, end in pairwise(cuts):
            piece = slice(max(begin - 1, 0), end)
            drawn.add(line := list(_LINES.values())[kinds[end - 1]])
            axis.plot(parameter[piece], error[piece], line, color=tone)
        axis.annotate(
            str(number + 1),
            (float(parameter[-1]), float(error[-1])),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            color=tone,
            fontsize=9,
        )
    for words, line in _LINES.items():
        if line in drawn:
            axis.plot([], [], line, color="#666666", label=words)
    for kind, mark in _MARKS.items():
        chosen = [each for each in bifurcations if each["kind"] == kind]
        if chosen:
            axis.plot(
                [each["parameter"] for each in chosen],
                [each["level"] for each in chosen],
                mark,
                color="#222222",
                markersize=7,
                label=kind,
            )
    axis.set_xlabel(names[0].rpartition(".")[2].replace("_", " "))
    axis.set_ylabel(names[1])
    axis.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=4)
    return axis


def curve_axes(
    curves: Sequence[Mapping[str, Any]], keys: tuple[str, str], ax: Axes | None = None
) -> Axes:
    """Return curves of bifurcations in two keys: dotted where no vectors have such overlaps.

    Args:
        curves: curves with their kind.
        keys: the keys, to the right and upwards.
        ax: where to draw; new axes when None.
    """
    axis = new_axes(ax)
    kinds = [kind for kind in _MARKS if any(each["kind"] == kind for each in curves)]
    for number, kind in enumerate(kinds):
        label: str | None = kind
        for each in curves:
            if each["kind"] == kind:
                line = "-" if all(each["physical"]) else ":"
                tone = colour(number, len(kinds))
                axis.plot(each["parameter"], each["second"], line, color=tone, label=label)
                label = None
    words = [key.partition(".")[2].replace("_", " ") for key in keys]
    axis.set(xlabel=words[0], ylabel=words[1])
    axis.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=4)
    return axis
