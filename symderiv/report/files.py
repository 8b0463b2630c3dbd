"""Files of a report."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from symderiv.errors import InputError
from symderiv.files import write_whole
from symderiv.outputs import Output

__all__ = ["FIGURE_FORMATS", "figure_output", "write_whole"]

FIGURE_FORMATS = ("svg", "png", "pdf")
"""Endings of figure files."""


def figure_output(path: Path, *, inputs: Iterable[Path] = (), force: bool = False) -> Output:
    """The output of a figure, whose ending says its format.

    Raises:
        InputError: The ending is not one of :data:`FIGURE_FORMATS`, or nothing may be written
            there.
    """
    kind = path.suffix.lower().removeprefix(".")
    if kind not in FIGURE_FORMATS:
        raise InputError(
            f"figure {path.name!r}: the name must end in .{', .'.join(FIGURE_FORMATS)}"
        )
    return Output(path, kind, inputs=inputs, force=force)
