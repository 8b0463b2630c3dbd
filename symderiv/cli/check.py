r"""The command ``symderiv check``: is a printed formula the expectation that it claims to be?"""

from __future__ import annotations

import sys
from typing import Annotated, Any, Final

import typer

from symderiv.cli.called import calling
from symderiv.cli.output import Json, emit_json, option, status
from symderiv.formula.json_values import load_json

FAILED: Final = 1


@calling(
    "api/questions/formula:check",
    "api/questions/means:integral",
    but=("what", "macros"),
    placeholders={"formula": "F", "where": "NAME=F", "activations": "G1,G2,.."},
)
def check(
    which: Annotated[
        str,
        typer.Argument(
            metavar="i2|i3|i4|EXPR",
            help="An integral of an activation, or a formula in the fields x1, x2, ... "
            "(also x, y, z, w) whose expectation is meant.",
        ),
    ],
    macro: Annotated[
        list[str] | None,
        option(
            "--macro", r"A LaTeX macro used in F, '\erf=\operatorname{erf}'; repeatable.", "DEF"
        ),
    ] = None,
    covariance: Annotated[
        str | None,
        option(
            "--covariance",
            'JSON array of rows; entries are numbers, "1/3" or symbols. '
            "By default symbols c11, c12, ...",
            "C",
        ),
    ] = None,
    json_: Json = False,
    **asked: Any,
) -> None:
    r"""Decide whether a formula, typed or pasted as LaTeX, equals an expectation.

    The exit code is 0 if it does, and 1 if it does not.

    Both sides are compared at exact random covariances, degenerate ones included. Example:

    symderiv check i2 --activation erf --formula
    '\frac{2}{\pi}\arcsin\frac{C_{12}}{\sqrt{(1+C_{11})(1+C_{22})}}'
    """
    rows = None if covariance is None else load_json(covariance, "--covariance")

    from symderiv.api import questions

    asked["where"] = asked["where"] or ()
    with status("comparing", quiet=json_):
        answer = questions.check(which, **asked, covariance=rows, macros=macro or ())
    if json_:
        emit_json(answer.to_dict())
    else:
        sys.stdout.write(answer.to_text())
    if not answer.holds:
        raise typer.Exit(FAILED)
