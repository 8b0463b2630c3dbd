"""The one way from results to rooms above them that draw, solve or open, taken when they do."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["drawing"]


def drawing(module: str) -> Any:
    """Return a module that draws, such as ``"axes"``, or, named in full, one beside the engine."""
    return import_module(
        module if module.startswith("symderiv") else f"symderiv.show.plots.{module}"
    )
