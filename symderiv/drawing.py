"""The one way from results down here to the room that draws, taken when something is drawn."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["drawing"]


def drawing(module: str) -> Any:
    """A module of the report room, such as ``"axes"``; imports Matplotlib when it first draws."""
    return import_module(f"symderiv.report.{module}")
