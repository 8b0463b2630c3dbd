"""The command ``export``: what was derived, as source in other languages."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from symderiv.cli.output import Force, Json, emit_json, status, write_text

LANGUAGES = "python, c, julia, mathematica, jax or casadi"


def export(
    study: Annotated[
        Path | None,
        typer.Argument(metavar="[STUDY.toml]", help="The study; or give --activation."),
    ] = None,
    to: Annotated[
        str, typer.Option("--to", metavar="LANGUAGE", help=f"One of {LANGUAGES}.")
    ] = "python",
    activation: Annotated[
        str | None,
        typer.Option("--activation", metavar="G", help="A name or an expression in x."),
    ] = None,
    teacher_activation: Annotated[
        str | None,
        typer.Option(
            "--teacher-activation", metavar="G", help="Teacher activation.", show_default="G"
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="File to write.", show_default="the terminal"
        ),
    ] = None,
    tolerance: Annotated[
        float | None,
        typer.Option("--tolerance", metavar="E", help="Of an activation without closed means."),
    ] = None,
    force: Force = False,
    json_: Json = False,
) -> None:
    """Write the right-hand side and the error of a study as source in another language.

    Example:  symderiv export study.toml --to c -o dynamics.c
    """
    with status(f"Exporting to {to}", quiet=json_):
        from symderiv.library.deriving import export as exported

        found = exported(
            to,
            study=study,
            activation=activation,
            teacher_activation=teacher_activation,
            output=None if output is None or str(output) == "-" else output,
            tolerance=tolerance,
            force=force,
        )
    if json_:
        emit_json(found.to_dict())
    else:
        write_text(found.to_text(), None)
