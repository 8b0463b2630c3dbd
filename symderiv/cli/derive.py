"""The commands that return formulas or code: ``derive``, ``generate`` and ``export``."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from symderiv.cli.called import calling
from symderiv.cli.output import (
    Force,
    Json,
    emit_json,
    option,
    shown,
    status,
    tell_written,
    text_output,
    write_text,
    written,
)
from symderiv.foundation.errors import InputError
from symderiv.foundation.languages import LANGUAGES


class Format(StrEnum):
    """Formats of a written derivation."""

    text = "text"
    latex = "latex"
    html = "html"
    json = "json"


_ENDINGS = {Format.text: "txt", Format.latex: "tex", Format.html: "html", Format.json: "json"}
_FORMATS = {ending: format for format, ending in _ENDINGS.items()}


_Output = Annotated[
    Path | None,
    option("--output", "File to write.", "FILE", short="-o", show_default="the terminal"),
]


@calling("api/deriving:derive")
def derive(
    format: Annotated[
        Format | None,
        option(
            "--format",
            "Format of the derivation.",
            show_default="by the ending of --output, otherwise text",
        ),
    ] = None,
    output: _Output = None,
    force: Force = False,
    json_: Json = False,
    **asked: Any,
) -> None:
    """Derive the order-parameter equations of an activation, step by step, from the SGD update.

    Example:  symderiv derive --activation erf --format html --output erf.html
    """
    ending = "" if output is None else output.suffix[1:]
    format = Format.json if json_ else Format(format or _FORMATS.get(ending, Format.text))
    file = text_output(output, _ENDINGS[format], force=force)
    with status("Deriving the order-parameter equations", quiet=json_):
        import symderiv

        derivation = symderiv.derive(**asked)
    if format is Format.json:
        emit_json(derivation.to_dict(), file)
    elif format is Format.latex:
        write_text(derivation.to_latex(), file)
    else:
        write_text(derivation.to_html() if format is Format.html else derivation.to_text(), file)
    if json_ and file is not None:
        emit_json(written(output=file))
    else:
        tell_written(file)


@calling("api/deriving:generate", "api/deriving:derive", placeholders={"name": "NAME"})
def generate(
    output: Annotated[
        Path, option("--output", "Directory to write to; - for the screen.", "DIR", short="-o")
    ] = Path(),
    checked_in: Annotated[
        bool, option("--checked-in", "Rewrite the modules of symderiv_kernels instead.")
    ] = False,
    check: Annotated[
        bool, option("--check", "With --checked-in: write nothing, fail if a module differs.")
    ] = False,
    json_: Json = False,
    **asked: Any,
) -> None:
    """Write a standalone solver module (NumPy and Numba only) for an activation.

    Example:  symderiv generate --activation "x/2*(1+erf(x/sqrt(2)))" --name my_gelu
    """
    if checked_in and (asked["activation"] or asked["name"]):
        raise InputError("takes neither --activation nor --name", argument="checked_in")
    if check and not checked_in:
        raise InputError("needs --checked-in", argument="check")
    if checked_in:
        from symderiv.api.deriving import checked_in as compare

        with status("Deriving the checked-in modules", quiet=json_):
            compared = compare(check=check)
        shown(compared, json_)
        return
    to_screen = str(output) == "-"
    if to_screen and json_:
        raise InputError("-: standard output is used by --json; name a folder", argument="output")
    with status(f"Generating {asked['name'] or 'a module'}", quiet=json_):
        import symderiv

        module = symderiv.generate(**asked, output=None if to_screen else output)
    if to_screen:
        write_text(module.to_source(), None)
    else:
        shown(module, json_)


@calling(
    "api/deriving:export",
    "api/deriving:derive",
    "api/problem:Problem.export",
    "api/results/equations/exports:latex_fragment",
    read={"equations": lambda text: text.split(",")},
)
def export(
    study: Annotated[
        Path | None,
        typer.Argument(metavar="[STUDY.toml]", help="Study file; or give --activation."),
    ] = None,
    to: Annotated[str, option("--to", f"One of {', '.join(LANGUAGES)}.", "LANGUAGE")] = "python",
    output: _Output = None,
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
