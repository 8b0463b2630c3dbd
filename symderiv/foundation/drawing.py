"""Imports, made when they are needed, of the rooms above that draw, solve or open results."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def drawing(module: str) -> Any:
    """Return a module of ``show/plots`` such as ``"axes"``, or any module by its full name."""
    return import_module(
        module if module.startswith("symderiv") else f"symderiv.show.plots.{module}"
    )


def drawn(function: str, *arguments: Any) -> Axes:
    """Return the result of a function of such a module, named as ``"axes.curve_axes"``."""
    module, _, name = function.rpartition(".")
    axes: Axes = getattr(drawing(module), name)(*arguments)
    return axes
