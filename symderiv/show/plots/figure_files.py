"""The figure files of a report."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from symderiv.foundation.errors import InputError
from symderiv.foundation.files import write_whole
from symderiv.foundation.outputs import Output

__all__ = ["FIGURE_FORMATS", "figure_output", "write_whole"]

FIGURE_FORMATS = ("svg", "png", "pdf")
"""The allowed endings of figure files."""


def figure_output(
    path: Path, *, inputs: Iterable[Path] = (), force: bool = False, name: str = "figure"
) -> Output:
    """Return the output of a figure, whose ending determines its format.

    Args:
        path: The file.
        inputs, force: See :class:`~symderiv.foundation.outputs.Output`.
        name: The name of the figure in messages.

    Raises:
        InputError: The ending is not one of :data:`FIGURE_FORMATS`, or nothing may be written
            there.
    """
    kind = path.suffix.lower().removeprefix(".")
    if kind not in FIGURE_FORMATS:
        raise InputError(
            f"{name} {path.name!r}: the name must end in .{', .'.join(FIGURE_FORMATS)}"
        )
    return Output(path, kind, inputs=inputs, force=force)
