"""The one way from results to rooms above them that draw, solve or open, taken when they do."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def drawing(module: str) -> Any:
    """Return a module that draws, such as ``"axes"``, or, named in full, one beside the engine."""
    return import_module(
        module if module.startswith("symderiv") else f"symderiv.show.plots.{module}"
    )


def drawn(function: str, *arguments: Any) -> Axes:
    """Return what a function of such a module draws, such as ``"axes.curve_axes"``."""
    module, _, name = function.rpartition(".")
    axes: Axes = getattr(drawing(module), name)(*arguments)
    return axes
