"""What several commands read in the same way: names of figures, lists of times."""

from __future__ import annotations

import math
from pathlib import Path

from symderiv.cli.output import check_directory
from symderiv.errors import InputError

__all__ = ["check_plot", "read_times"]


def check_plot(plot: Path) -> None:
    """Refuse a figure that could not be written, before anything is computed.

    Raises:
        InputError: its folder does not exist, or its ending is not that of a figure.
    """
    from symderiv.report.files import FIGURE_FORMATS

    check_directory(plot)
    if plot.suffix.lower().removeprefix(".") not in FIGURE_FORMATS:
        endings = ", .".join(FIGURE_FORMATS)
        raise InputError(f"--plot {plot.name!r}: the name must end in .{endings}")


def read_times(text: str) -> list[float]:
    """The times of ``--alpha``.

    Raises:
        InputError: not finite numbers >= 0 separated by commas.
    """
    try:
        times = [float(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"--alpha {text!r}: must be numbers separated by commas") from None
    for time in times:
        if not (math.isfinite(time) and time >= 0.0):
            raise InputError(f"--alpha: {time!r} is not a finite number >= 0")
    return times
