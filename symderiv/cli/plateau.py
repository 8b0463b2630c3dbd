"""The command ``symderiv plateau``: symmetric fixed point, its stability, its escape."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from symderiv.cli.figures import PlotOption, plot_output
from symderiv.cli.options import ACTIVATION, EIGENVALUES, EXPONENT, LEARNING_RATE, UNITS, option
from symderiv.cli.output import Force, Json, shown, status


def _moment(name: str, words: str) -> Any:
    return typer.Option(f"--{name}", metavar="X", help=words, show_default=False)


def plateau(
    units: Annotated[int, UNITS],
    activation: Annotated[str, ACTIVATION] = "erf",
    learning_rate: Annotated[str, LEARNING_RATE] = "1",
    T1: Annotated[str | None, _moment("T1", "Diagonal of T, order 1.")] = None,
    D1: Annotated[
        str | None, _moment("D1", "Sum of the off-diagonal entries of a row of T, order 1.")
    ] = None,
    T2: Annotated[str | None, _moment("T2", "Diagonal of the moment of order 2.")] = None,
    D2: Annotated[str | None, _moment("D2", "Off-diagonal row sum of order 2.")] = None,
    distinct_eigenvalues: Annotated[int | None, EIGENVALUES] = None,
    exponent: Annotated[str | None, EXPONENT] = None,
    digits: Annotated[int, option("--digits", "Significant digits, all proved.", "N")] = 15,
    full: Annotated[
        bool,
        option("--full", "Also the plateau of the flow with the terms of order η² (full_flow)."),
    ] = False,
    plot: PlotOption = None,
    force: Force = False,
    json_: Json = False,
) -> None:
    """Symmetric plateau of M students and M teachers: height, linearisation, escape.

    Output weights are 1/√M. The flow is that of first order in η; every number is certified. A
    learning rate above 1 is refused where the full flow has no stationary plateau.

    Example:  symderiv plateau --units 4 --learning-rate 0.1 --distinct-eigenvalues 10 --exponent 1
    """
    figure = plot_output(plot, force=force)
    with status("Deriving the plateau", quiet=json_):
        import symderiv

        found = symderiv.plateau(
            units=units,
            activation=activation,
            learning_rate=learning_rate,
            T1=T1,
            D1=D1,
            T2=T2,
            D2=D2,
            distinct_eigenvalues=distinct_eigenvalues,
            exponent=exponent,
            digits=digits,
            full=full,
        )
    shown(found, json_, plot=figure)
