r"""The command ``symderiv check``: is a printed formula the expectation?"""

from __future__ import annotations

import sys
from typing import Annotated, Final

import typer

from symderiv.cli.guard import guarded
from symderiv.cli.options import Activations, OneActivation, option
from symderiv.cli.output import Json, emit_json, status
from symderiv.formula.json_values import load_json

FAILED: Final = 1

_OPTIONS: Final = {
    "what": "EXPR",
    **{
        name: f"--{name}"
        for name in ("formula", "where", "activation", "activations", "covariance")
    },
}


@guarded(_OPTIONS)
def check(
    which: Annotated[
        str,
        typer.Argument(
            metavar="i2|i3|i4|EXPR",
            help="An integral of an activation, or a formula in the fields x1, x2, ... "
            "(also x, y, z, w) whose expectation is meant.",
        ),
    ],
    formula: Annotated[
        str,
        option(
            "--formula",
            "The formula to check, as text or LaTeX, in C_{12} or c12, ...; definitions "
            "may stand before it: 'A=1+C_{11}; ...'.",
            "F",
        ),
    ],
    where: Annotated[
        list[str] | None, option("--where", "A definition used in F; repeatable.", "NAME=F")
    ] = None,
    macro: Annotated[
        list[str] | None,
        option(
            "--macro", r"A LaTeX macro used in F, '\erf=\operatorname{erf}'; repeatable.", "DEF"
        ),
    ] = None,
    activation: OneActivation = None,
    activations: Activations = None,
    covariance: Annotated[
        str | None,
        option(
            "--covariance",
            'JSON array of rows; entries are numbers, "1/3" or symbols. '
            "By default symbols c11, c12, ...",
            "C",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    r"""Decide whether a formula, typed or pasted as LaTeX, equals an expectation.

    The exit code is 0 if it does, and 1 if it does not.

    Both sides are compared at exact random covariances, degenerate ones included. Example:

    symderiv check i2 --activation erf --formula
    '\frac{2}{\pi}\arcsin\frac{C_{12}}{\sqrt{(1+C_{11})(1+C_{22})}}'
    """
    rows = None if covariance is None else load_json(covariance, "--covariance")

    from symderiv.api import questions

    with status("comparing", quiet=as_json):
        found = questions.check(
            which, formula, activation, activations, rows, where or (), macro or ()
        )
    if as_json:
        emit_json(found.to_dict())
    else:
        sys.stdout.write(found.to_text())
    if not found.holds:
        raise typer.Exit(FAILED)
