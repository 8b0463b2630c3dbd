"""The commands ``expect`` and ``integral``, for one question or a batch, and ``check``.

Both call :mod:`symderiv.api.questions`. An error in one line of a batch does not stop the others.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from symderiv.cli.called import calling
from symderiv.cli.output import Json, emit_json, option, status
from symderiv.formula.json_values import load_json
from symderiv.formula.reader import quoted
from symderiv.foundation.errors import InputError
from symderiv.foundation.files import why_unread


def _lines(path: str) -> Iterator[bytes]:
    """Yield the lines of a file; ``-`` is standard input."""
    if path == "-":
        yield from sys.stdin.buffer
        return
    try:
        with Path(path).open("rb") as file:
            yield from file
    except (OSError, ValueError) as error:
        reason = why_unread(Path(path), error)
        raise InputError(f"{quoted(path)}: {reason}", argument="--batch") from None


def _print_json(record: Mapping[str, Any]) -> None:
    # one line in ASCII, which is safe on any terminal and in any pipe
    print(json.dumps(record), flush=True)


def _run(asked: dict[str, Any], batch: str | None, as_json: bool) -> None:
    """Print the answer to the question that options ask; texts of JSON are read."""
    values = {
        key: load_json(value, f"--{key}") if key in ("covariance", "mean") else value
        for key, value in asked.items()
        if value is not None
    }
    if batch is not None:
        from symderiv.api.questions.batch import answers

        # prints one JSON line per line of the file, in order
        for record in answers(_lines(batch), values):
            _print_json(record)
        return
    from symderiv.api.questions.batch import answer

    with status("integrating", quiet=as_json):
        result = answer(values)
    if as_json:
        _print_json(result.to_dict())
    else:
        sys.stdout.write(result.to_text(shutil.get_terminal_size((88, 24)).columns))


_Batch = Annotated[
    str | None,
    option(
        "--batch",
        "JSON lines whose keys are the option names (- for standard input); prints one JSON "
        'line per line, {"error": ...} for a bad one.',
        "FILE",
    ),
]
_Covariance = Annotated[
    str | None,
    option(
        "--covariance",
        'JSON array of rows; entries are numbers, "0.11", "1/3" or symbols "c12".',
        "C",
    ),
]


@calling("api/questions/means:mean", but=("expression",))
def expect(
    expr: Annotated[
        str | None, typer.Argument(metavar="EXPR", help="Formula in x1, x2, ... (also x, y, z, w).")
    ] = None,
    covariance: _Covariance = None,
    mean: Annotated[
        str | None, option("--mean", "JSON array; zero if it is left out.", "MU")
    ] = None,
    as_json: Json = False,
    batch: _Batch = None,
    **asked: Any,
) -> None:
    """Compute the expectation of a product of functions of jointly Gaussian variables.

    Example: symderiv expect "erf(x)*y*Heaviside(z)" --covariance
    '[[1,"1/3",0],["1/3",1,"0.11"],[0,"0.11",1]]' --digits 30
    """
    if (expr is None) == (batch is None):
        raise InputError("give either a formula EXPR or --batch FILE, not both")
    _run({"expr": expr, "covariance": covariance, "mean": mean, **asked}, batch, as_json)


@calling("api/questions/means:integral", placeholders={"activations": "G1,G2,.."})
def integral(
    which: Annotated[
        str | None,
        typer.Argument(
            metavar="{i2,i3,i4}",
            help="I2: mean of g(u) g(v); I3: of g'(u) v g(w); I4: of g'(u) g'(v) g(w) g(z).",
        ),
    ] = None,
    covariance: _Covariance = None,
    as_json: Json = False,
    batch: _Batch = None,
    **asked: Any,
) -> None:
    """Compute the integrals I2, I3, I4 of an activation, in symbols or at a covariance.

    Example: symderiv integral i3 --activation erf --covariance
    '[[1,"1/2","1/4"],["1/2",1,0],["1/4",0,1]]'
    """
    if which is None and batch is None:
        raise InputError("say which integral: i2, i3 or i4 (or --batch FILE)")
    _run({"integral": which, "covariance": covariance, **asked}, batch, as_json)


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
