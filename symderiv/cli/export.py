"""The command ``export``: what was derived, as source in other languages."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from symderiv.cli.output import Force, Json, emit_json, status, write_text

LANGUAGES = "python, c, julia, mathematica, jax, casadi or latex"


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
    equations: Annotated[
        str | None, typer.Option("--equations", metavar="NAMES", help="dQ,dR,error,… (latex).")
    ] = None,
    labels: Annotated[
        str | None, typer.Option("--labels", metavar="PREFIX", help="Of equations (latex).")
    ] = None,
    numbering: Annotated[
        str | None, typer.Option("--numbering", metavar="all/rates/none", help="(latex)")
    ] = None,
    notation: Annotated[
        str | None,
        typer.Option("--notation", metavar="NAME", help="saad-solla, goldt, worschech (latex)."),
    ] = None,
    integrals: Annotated[
        str | None, typer.Option("--integrals", metavar="folded/written", help="(latex)")
    ] = None,
    force: Force = False,
    json_: Json = False,
) -> None:
    """Write the right-hand side and the error of a study as source in another language.

    Example:  symderiv export study.toml --to c -o dynamics.c
    """
    fragment = {
        "equations": None if equations is None else equations.split(","),
        "labels": labels,
        "numbering": numbering,
        "notation": notation,
        "integrals": integrals,
    }
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
            **{name: value for name, value in fragment.items() if value is not None},
        )
    if json_:
        emit_json(found.to_dict())
    else:
        write_text(found.to_text(), None)
