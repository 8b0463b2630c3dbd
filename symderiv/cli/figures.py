"""Options that several commands read in the same way: names of figures, lists of times."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

from symderiv.cli.options import option
from symderiv.foundation.errors import InputError
from symderiv.foundation.outputs import Output

PlotOption = Annotated[
    Path | None, option("--plot", "Also draw a figure (.svg, .png or .pdf).", "FIG")
]


def plot_output(
    plot: Path | None, *, inputs: Iterable[Path] = (), force: bool = False
) -> Output | None:
    """Return the output of ``--plot``; refuse an invalid one before anything is computed.

    Raises:
        InputError: nothing may be written there, or its ending is not that of a figure.
    """
    from symderiv.show.plots.figure_files import figure_output

    if plot is None:
        return None
    return figure_output(plot, inputs=inputs, force=force, name="--plot")


def read_times(text: str) -> list[float]:
    """Return the numbers in the text of ``--alpha``.

    Raises:
        InputError: the text is not numbers separated by commas.
    """
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"{text!r}: must be numbers separated by commas", argument="alpha") from (
            None
        )
