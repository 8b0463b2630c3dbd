"""The commands ``symderiv expect`` and ``symderiv integral``, one by one or in batches.

Both commands turn what was typed into a request (:mod:`symderiv.cli.gaussian_request`) and print
the answer. Lines of a batch never stop one another.
"""

from __future__ import annotations

import functools
import json
import logging
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Final, ParamSpec

import typer

from symderiv.cli.gaussian_input import load_json
from symderiv.cli.gaussian_request import (
    KEYS,
    MAX_DIGITS,
    Answer,
    NumericAnswer,
    Request,
    any_answer,
)
from symderiv.errors import InputError, SymderivError
from symderiv.expressions.reader import quoted

__all__ = ["register"]

P = ParamSpec("P")

MAX_LINE: Final = 1_000_000

# -- output --------------------------------------------------------------------------------


def _print_json(record: Mapping[str, Any]) -> None:
    # one line, ASCII: safe on any terminal and in any pipe
    print(json.dumps(record), flush=True)


def _print_text(result: Answer | NumericAnswer) -> None:
    from rich.console import Console
    from rich.text import Text

    from symderiv.derivation import Derivation, Section, Step

    record = _record(result)
    console = Console(highlight=False, soft_wrap=True)

    def line(label: str, text: str) -> None:
        console.print(Text.assemble((f"{label:<12}", "bold"), text))

    line("formula", record["formula"])
    rows = ", ".join("[" + ", ".join(row) + "]" for row in record["covariance"])
    line("covariance", f"[{rows}]")
    if any(entry != "0" for entry in record.get("mean", ())):
        line("mean", f"[{', '.join(record['mean'])}]")
    if record["expression"] is not None:
        line("closed form" if record["closed_form"] else "expression", record["expression"])
    if record["value"] is not None:
        kind = "certified" if record["certified"] else "estimated"
        line("value", f"{record['value']}  ({kind} error {record['error_bound']})")
    signs = record["sign_factors"]
    line("method", record["method"] + ("" if signs is None else f", sign factors: {signs}"))
    steps = tuple(Step(s["rule"], s["statement"], "", s["latex"]) for s in record["steps"])
    if isinstance(result, Answer):
        steps = tuple(result.expectation.steps)  # with the left sides apart from the right ones
    if not steps:
        return
    section = Section("Steps", "steps", steps, record["latex"])
    derivation = Derivation("Derivation", (section,))
    console.print()
    console.print(Text(derivation.to_text(width=max(console.width, 40)).rstrip("\n")))


def _record(result: Answer | NumericAnswer) -> dict[str, Any]:
    if isinstance(result, Answer):
        return result.to_json()
    from symderiv.cli.output import status

    with status("integrating", quiet=False):
        return result.to_json()


# -- batches -------------------------------------------------------------------------------


def _batch(path: str, defaults: Mapping[str, Any]) -> None:
    """One JSON line per line of the file, in order; ``-`` reads standard input."""
    for line in _lines(path):
        _print_json(_batch_record(line, defaults))


def _lines(path: str) -> Iterator[bytes]:
    if path == "-":
        yield from sys.stdin.buffer
        return
    try:
        with Path(path).open("rb") as file:
            yield from file
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not a path"
        raise InputError(f"--batch {quoted(path)}: {reason}") from None


def _batch_record(line: bytes, defaults: Mapping[str, Any]) -> dict[str, Any]:
    try:
        return any_answer(_batch_request(line, defaults)).to_json()
    except SymderivError as error:
        return {"error": _one_line(error)}
    except Exception as error:
        # whatever a line does, the lines after it are still answered
        return {"error": _internal(error)}


def _batch_request(line: bytes, defaults: Mapping[str, Any]) -> Request:
    if len(line) > MAX_LINE:
        raise InputError(f"the line is longer than {MAX_LINE} bytes")
    try:
        text = line.decode("utf-8").strip()
    except UnicodeDecodeError:
        raise InputError("the line is not UTF-8 text") from None
    if not text:
        raise InputError("the line is empty")
    record = load_json(text, "the line")
    if not isinstance(record, dict):
        raise InputError("the line is not a JSON object")
    # options of the command line stand in for keys that the line does not give
    kind = "expr" if "expr" in record else "integral"
    missing = {key: value for key, value in defaults.items() if key in KEYS[kind]}
    if "activation" in record or "activations" in record:
        missing.pop("activation", None)
        missing.pop("activations", None)
    return Request({**missing, **record}, "")


# -- commands ------------------------------------------------------------------------------


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())


def _internal(error: Exception) -> str:
    return f"internal error: {type(error).__name__}: {_one_line(error)}"[:300]


def _guarded(command: Callable[P, None]) -> Callable[P, None]:
    """Turn a failure nobody foresaw into one of our errors: people get one line, not a traceback.

    Our own errors, and those of files and pipes, are reported by :func:`symderiv.cli.main`.
    """

    @functools.wraps(command)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            command(*args, **kwargs)
        except (SymderivError, OSError, typer.Exit):
            raise
        except Exception as error:
            # a defect of ours, or an expression too deep for SymPy
            logging.getLogger(__name__).debug("internal error", exc_info=True)
            raise SymderivError(_internal(error)) from error

    return wrapped


def _options(**texts: str | int | None) -> dict[str, Any]:
    """The options that were given; those that are JSON are read."""
    values: dict[str, Any] = {}
    for key, text in texts.items():
        if text is None:
            continue
        is_json = key in ("covariance", "mean")
        values[key] = load_json(str(text), f"--{key}") if is_json else text
    return values


def _run(values: dict[str, Any], *, batch: str | None, as_json: bool) -> None:
    if batch is not None:
        if "expr" in values:
            raise InputError("give EXPR or --batch, not both")
        _batch(batch, values)
        return
    result = any_answer(Request(values, "--"))
    if as_json:
        _print_json(_record(result))
    else:
        _print_text(result)


_Digits = Annotated[
    str | None,
    typer.Option("--digits", metavar="N", help=f"Significant digits, 1 to {MAX_DIGITS} (15)."),
]
_Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
_Batch = Annotated[
    str | None,
    typer.Option(
        "--batch",
        metavar="FILE",
        help="JSON lines whose keys are the option names (- for standard input); prints one JSON "
        'line per line, {"error": ...} for a bad one.',
    ),
]
_Covariance = Annotated[
    str | None,
    typer.Option(
        "--covariance",
        metavar="C",
        help='JSON array of rows; entries are numbers, "0.11", "1/3" or symbols "c12".',
    ),
]


@_guarded
def expect(
    expr: Annotated[
        str | None,
        typer.Argument(metavar="EXPR", help="Formula in x1, x2, ... (also x, y, z, w)."),
    ] = None,
    covariance: _Covariance = None,
    mean: Annotated[
        str | None,
        typer.Option("--mean", metavar="MU", help="JSON array; zero if it is left out."),
    ] = None,
    digits: _Digits = None,
    as_json: _Json = False,
    batch: _Batch = None,
) -> None:
    """Expectation of a product of one-variable functions of jointly Gaussian variables.

    Example: symderiv expect "erf(x)*y*Heaviside(z)" --covariance
    '[[1,"1/3",0],["1/3",1,"0.11"],[0,"0.11",1]]' --digits 30
    """
    values = _options(expr=expr, covariance=covariance, mean=mean, digits=digits)
    if expr is None and batch is None:
        raise InputError("give a formula EXPR or --batch FILE")
    _run(values, batch=batch, as_json=as_json)


@_guarded
def integral(
    which: Annotated[
        str | None,
        typer.Argument(
            metavar="{i2,i3,i4}",
            help="I2: mean of g(u) g(v); I3: of g'(u) v g(w); I4: of g'(u) g'(v) g(w) g(z).",
        ),
    ] = None,
    activation: Annotated[
        str | None,
        typer.Option(
            "--activation", metavar="G", help="A name (erf, relu, ...) or a formula in x."
        ),
    ] = None,
    activations: Annotated[
        str | None,
        typer.Option("--activations", metavar="G1,G2,..", help="One activation per slot."),
    ] = None,
    covariance: _Covariance = None,
    digits: _Digits = None,
    as_json: _Json = False,
    batch: _Batch = None,
) -> None:
    """The student-teacher integrals I2, I3, I4 of an activation, in symbols or at a covariance.

    Example: symderiv integral i3 --activation erf --covariance
    '[[1,"1/2","1/4"],["1/2",1,0],["1/4",0,1]]'
    """
    values = _options(
        integral=which,
        activation=activation,
        activations=activations,
        covariance=covariance,
        digits=digits,
    )
    if which is None and batch is None:
        raise InputError("say which integral: i2, i3 or i4 (or --batch FILE)")
    _run(values, batch=batch, as_json=as_json)


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    # a formula may begin with a minus sign; it is not an option then
    settings = {"ignore_unknown_options": True}
    app.command("expect", context_settings=settings)(expect)
    app.command("integral", context_settings=settings)(integral)
