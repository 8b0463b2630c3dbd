"""The commands with which one starts: ``init``, ``cite``, ``schema``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from symderiv.cli.output import (
    Force,
    Json,
    emit_json,
    option,
    tell_written,
    text_output,
    write_text,
    written,
)
from symderiv.foundation.errors import InputError

Output = Annotated[
    Path | None, option("--output", "To write.", "FILE", short="-o", show_default="the terminal")
]


def init(
    output: Annotated[Path, typer.Argument(metavar="STUDY.toml", help="To write.")] = Path(
        "study.toml"
    ),
    template: Annotated[
        str | None, option("--template", "Use a template and ask nothing; see --list.", "NAME")
    ] = None,
    list_: Annotated[bool, option("--list", "Print the templates and write nothing.")] = False,
    force: Annotated[bool, option("--force", "Replace an existing file.")] = False,
    json_: Json = False,
) -> None:
    """Write a commented study file, by a few questions or from a template.

    Example:  symderiv init study.toml --template power-law
    """
    from symderiv.api.starting import study_from_template, templates

    if list_:
        known = templates()
        width = max(map(len, known))
        lines = "".join(f"{name:<{width}}  {words}\n" for name, words in known.items())
        emit_json(dict(known)) if json_ else write_text(lines, None)
        return
    asked = template is None
    if asked and not sys.stdin.isatty():
        raise InputError(f"is missing; give one of {', '.join(templates())}", argument="template")
    text = study_from_template(
        template,
        output,
        ask=(lambda words, given: str(typer.prompt(words, default=given, err=True)))
        if asked
        else None,
        force=force,
    )
    if json_:
        emit_json(text.to_dict())
    else:
        write_text(f"wrote {output}; next: symderiv study {output}\n", None)


def cite(
    study: Annotated[
        Path,
        typer.Argument(
            metavar="STUDY.toml/PAPER", help="The study, or a paper as `symderiv verify` names it."
        ),
    ],
    equation: Annotated[
        str | None, option("--equation", "Equation of the paper, or name of a claim.", "NAME")
    ] = None,
    output: Output = None,
    force: Force = False,
    json_: Json = False,
) -> None:
    """Print the BibTeX entries of the sources of a study, or of claims of a paper.

    Example:  symderiv cite study.toml -o run.bib
    """
    from symderiv.api.results.equations.citations import cited

    citation = cited(study, equation)
    file = text_output(output, "bib", force=force, inputs=citation.files)
    if file is not None or not json_:
        write_text(citation.to_bibtex(), file)
    if json_:
        emit_json(citation.to_dict() | written(output=file))
    else:
        tell_written(file)


def schema(output: Output = None, force: Force = False) -> None:
    """Print the JSON schema of study files, for editors that complete and check them.

    Example:  symderiv schema -o study.schema.json
    """
    from symderiv.api.starting import study_schema

    file = text_output(output, "json", force=force)
    emit_json(study_schema(), file)
    tell_written(file)
