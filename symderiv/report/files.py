"""Files of a report."""

from __future__ import annotations

from symderiv.files import write_whole

__all__ = ["FIGURE_FORMATS", "write_whole"]

FIGURE_FORMATS = ("svg", "png", "pdf")
"""Endings of figure files."""
