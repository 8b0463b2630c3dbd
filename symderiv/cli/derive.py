"""The commands that end in formulas or code: ``derive`` and ``generate``."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

from symderiv.cli.options import option
from symderiv.cli.output import (
    Force,
    Json,
    emit_json,
    shown,
    status,
    tell_written,
    text_output,
    write_text,
    written,
)
from symderiv.cli.rule_options import RuleOf, with_rule
from symderiv.foundation.errors import InputError, ToleranceError

WORDS = "Student activation: a name or an expression in x."
STUDENT = option("--activation", WORDS, "G")
TEACHER = option("--teacher-activation", "Teacher activation.", "G", show_default="the student's")
TOLERANCE = option(
    "--tolerance",
    "Bound on the error of an activation without closed Gaussian means.",
    "E",
    show_default="1e-8 for tanh, 1e-6 by quadrature, 1e-4 with kinks",
)


class Format(StrEnum):
    """How a derivation is written."""

    text = "text"
    latex = "latex"
    html = "html"
    json = "json"


_ENDINGS = {Format.text: "txt", Format.latex: "tex", Format.html: "html", Format.json: "json"}


@with_rule
def derive(
    activation: Annotated[str | None, STUDENT] = None,
    teacher_activation: Annotated[str | None, TEACHER] = None,
    format: Annotated[Format, option("--format", "How the derivation is written.")] = Format.text,
    output: Annotated[
        Path | None,
        option("--output", "File to write.", "FILE", short="-o", show_default="the terminal"),
    ] = None,
    tolerance: Annotated[float | None, TOLERANCE] = None,
    study: RuleOf = None,
    force: Force = False,
    json_: Json = False,
    **rule: Any,
) -> None:
    """Derive the order-parameter equations of an activation, step by step, from the SGD update.

    Example:  symderiv derive --activation erf --format html --output erf.html
    """
    format = Format.json if json_ else format
    file = text_output(output, _ENDINGS[format], force=force)
    with status("Deriving the order-parameter equations", quiet=json_):
        import symderiv

        found = symderiv.derive(
            activation,
            teacher_activation,
            tolerance=tolerance,
            study=study,
            **rule,
        )
    if format is Format.json:
        emit_json(found.to_dict(), file)
    elif format is Format.latex:
        write_text(found.to_latex(), file)
    else:
        write_text(found.to_html() if format is Format.html else found.to_text(), file)
    if json_ and file is not None:
        emit_json(written(output=file))
    else:
        tell_written(file)


@with_rule
def generate(
    activation: Annotated[str | None, STUDENT] = None,
    name: Annotated[str | None, option("--name", "Name of the module, NAME.py.", "NAME")] = None,
    teacher_activation: Annotated[str | None, TEACHER] = None,
    tolerance: Annotated[float | None, TOLERANCE] = None,
    output: Annotated[
        Path, option("--output", "Directory to write to; - for screen.", "DIR", short="-o")
    ] = Path(),
    study: RuleOf = None,
    force: Force = False,
    checked_in: Annotated[
        bool, option("--checked-in", "Rewrite the modules of symderiv_kernels instead.")
    ] = False,
    check: Annotated[
        bool, option("--check", "With --checked-in: write nothing, fail if a module differs.")
    ] = False,
    json_: Json = False,
    **rule: Any,
) -> None:
    """Write a standalone solver module (NumPy and Numba only) for an activation.

    Example:  symderiv generate --activation "x/2*(1+erf(x/sqrt(2)))" --name my_gelu
    """
    if checked_in:
        if activation or name:
            raise InputError("takes neither --activation nor --name", argument="checked_in")
        _checked_in(check=check, as_json=json_)
        return
    if check:
        raise InputError("needs --checked-in", argument="check")
    if not name:
        raise InputError("is missing", argument="name")
    to_screen = str(output) == "-"
    if to_screen and json_:
        raise InputError("-: standard output is taken by --json; name a folder", argument="output")
    with status(f"Generating {name}.py", quiet=json_):
        import symderiv

        found = symderiv.generate(
            activation,
            name or "",
            teacher_activation=teacher_activation,
            tolerance=tolerance,
            output=None if to_screen else output,
            force=force,
            study=study,
            **rule,
        )
    if to_screen:
        write_text(found.to_source(), None)
    else:
        shown(found, json_)


def _checked_in(*, check: bool, as_json: bool) -> None:
    from symderiv.api.results.derived import checked_in

    with status("Deriving the checked-in modules", quiet=as_json):
        found = checked_in(check=check)
    shown(found, as_json)
    if check and found.differing:
        raise ToleranceError(
            f"the checked-in modules {', '.join(found.differing)} differ from what the derivation "
            "gives; run: symderiv generate --checked-in"
        )
