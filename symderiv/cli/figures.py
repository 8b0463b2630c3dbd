"""What several commands read in the same way: names of figures, lists of times."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path

from symderiv.errors import InputError
from symderiv.outputs import Output

__all__ = ["plot_output", "read_times"]


def plot_output(
    plot: Path | None, *, inputs: Iterable[Path] = (), force: bool = False
) -> Output | None:
    """The output of ``--plot``, refused before anything is computed.

    Raises:
        InputError: nothing may be written there, or its ending is not that of a figure.
    """
    from symderiv.report.files import figure_output

    if plot is None:
        return None
    return figure_output(plot, inputs=inputs, force=force, name="--plot")


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
