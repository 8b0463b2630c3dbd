"""The command ``export``: what was derived, as source in other languages."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from symderiv.cli.options import option
from symderiv.cli.output import Force, Json, emit_json, status, write_text
from symderiv.foundation.languages import LANGUAGES


def export(
    study: Annotated[
        Path | None, typer.Argument(metavar="[STUDY.toml]", help="The study; or give --activation.")
    ] = None,
    to: Annotated[str, option("--to", f"One of {', '.join(LANGUAGES)}.", "LANGUAGE")] = "python",
    activation: Annotated[
        str | None, option("--activation", "A name or an expression in x.", "G")
    ] = None,
    teacher_activation: Annotated[
        str | None, option("--teacher-activation", "Teacher activation.", "G", show_default="G")
    ] = None,
    output: Annotated[
        Path | None,
        option("--output", "File to write.", "FILE", short="-o", show_default="the terminal"),
    ] = None,
    tolerance: Annotated[
        float | None, option("--tolerance", "Of an activation without closed means.", "E")
    ] = None,
    equations: Annotated[
        str | None, option("--equations", "dQ,dR,error,… (latex).", "NAMES")
    ] = None,
    labels: Annotated[str | None, option("--labels", "Of equations (latex).", "PREFIX")] = None,
    numbering: Annotated[str | None, option("--numbering", "(latex)", "all/rates/none")] = None,
    notation: Annotated[
        str | None, option("--notation", "saad-solla, goldt, worschech (latex).", "NAME")
    ] = None,
    integrals: Annotated[str | None, option("--integrals", "(latex)", "folded/written")] = None,
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
        from symderiv.api.deriving import export as exported

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
