"""The command ``export``: derived equations as source code in other languages."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from symderiv.cli.called import calling
from symderiv.cli.options import option
from symderiv.cli.output import Json, emit_json, status, write_text
from symderiv.foundation.languages import LANGUAGES


@calling(
    "api/deriving:export",
    "api/deriving:derive",
    "api/problem:Problem.export",
    "api/results/equations/latex_fragments:latex_fragment",
    read={"equations": lambda text: text.split(",")},
)
def export(
    study: Annotated[
        Path | None,
        typer.Argument(metavar="[STUDY.toml]", help="Study file; or give --activation."),
    ] = None,
    to: Annotated[str, option("--to", f"One of {', '.join(LANGUAGES)}.", "LANGUAGE")] = "python",
    output: Annotated[
        Path | None,
        option("--output", "File to write.", "FILE", short="-o", show_default="the terminal"),
    ] = None,
    json_: Json = False,
    **asked: Any,
) -> None:
    """Write the right-hand side and the error of a study as source in another language.

    Example:  symderiv export study.toml --to c -o dynamics.c
    """
    with status(f"Exporting to {to}", quiet=json_):
        from symderiv.api.deriving import export as exported

        source = exported(to, study=study, output=None if str(output) == "-" else output, **asked)
    if json_:
        emit_json(source.to_dict())
    else:
        write_text(source.to_text(), None)
