"""The commands ``symderiv expect`` and ``symderiv integral``, one by one or in batches.

Options of the command line and lines of a batch file become the same :class:`Request`; one function
answers it. Lines of a batch never stop one another.
"""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, ParamSpec

import typer

from symderiv.cli.gaussian_input import load_json, read_covariance, read_integrand, read_mean
from symderiv.errors import InputError, SymderivError
from symderiv.expressions import Activation, activation
from symderiv.expressions.reader import quoted

if TYPE_CHECKING:
    from symderiv.gaussian import Expectation

__all__ = ["register"]

P = ParamSpec("P")

DEFAULT_DIGITS: Final = 15
MAX_DIGITS: Final = 1000
MAX_LINE: Final = 1_000_000

#: Per integral: what it averages, one activation per slot, and the number of fields.
_INTEGRALS: Final = {
    "i2": ("{}(u)*{}(v)", 2, 2),
    "i3": ("{}'(u)*v*{}(w)", 2, 3),
    "i4": ("{}'(u)*{}'(v)*{}(w)*{}(z)", 4, 4),
}

_KEYS: Final = {
    "expr": frozenset({"expr", "covariance", "mean", "digits"}),
    "integral": frozenset({"integral", "activation", "activations", "covariance", "digits"}),
}


@dataclass(frozen=True)
class Request:
    """What is asked for, as read from options or from a JSON line.

    ``prefix`` turns a key into what the user typed: ``"--"`` on the command line, ``""`` in a file.
    """

    values: Mapping[str, Any]
    prefix: str

    def name(self, key: str) -> str:
        """The key as the user knows it; arguments are not options."""
        if self.prefix:
            return {"expr": "EXPR", "integral": "WHICH"}.get(key, self.prefix + key)
        return key

    def text(self, key: str) -> str:
        """A value that must be text."""
        value = self.values[key]
        if not isinstance(value, str):
            raise InputError(f"{self.name(key)} must be text")
        return value

    @property
    def digits(self) -> int:
        """The number of significant digits wanted."""
        value = self.values.get("digits", DEFAULT_DIGITS)
        text = str(value) if isinstance(value, int | str) else ""
        if not (text.isascii() and text.isdigit() and len(text) < 9):
            raise InputError(f"{self.name('digits')} must be a whole number, not {_brief(value)}")
        if not 1 <= int(text) <= MAX_DIGITS:
            raise InputError(f"{self.name('digits')} must be from 1 to {MAX_DIGITS}, not {text}")
        return int(text)


@dataclass(frozen=True)
class Answer:
    """An expectation, how its request was understood, and how many digits are wanted."""

    expectation: Expectation
    echo: Mapping[str, Any]
    digits: int

    def to_json(self) -> dict[str, Any]:
        """The JSON object that the interface promises, preceded by the echo."""
        import sympy as sp

        found = self.expectation
        value = None if found.value.free_symbols else found.evaluate(self.digits)
        closed = found.method == "closed-form"
        return {
            **self.echo,
            "statement": found.statement,
            "closed_form": str(found.value) if closed else None,
            "expression": str(found.value),
            "latex": sp.latex(found.value),
            "value": value.value if value else None,
            "error_bound": value.error_bound if value else None,
            "certified": value.certified if value else False,
            "method": found.method,
            "sign_factors": found.sign_factors,
            "steps": [step.to_json() for step in found.steps],
        }


def answer(request: Request) -> Answer:
    """The answer to a request.

    Raises:
        InputError: The request cannot be understood or the expectation does not exist.
        NotYetError: It has no answer in this version.
    """
    kinds = [kind for kind in _KEYS if kind in request.values]
    if len(kinds) != 1:
        raise InputError("give one of the keys expr and integral")
    (kind,) = kinds
    for key in request.values:
        if key not in _KEYS[kind]:
            allowed = ", ".join(sorted(_KEYS[kind]))
            raise InputError(f"unknown key {quoted(str(key))} beside {kind}; allowed: {allowed}")
    digits = request.digits  # refused before anything is computed
    found, echo = _expect(request) if kind == "expr" else _integral(request)
    return Answer(found, echo, digits)


def _expect(request: Request) -> tuple[Expectation, dict[str, Any]]:
    if "covariance" not in request.values:
        raise InputError(f"{request.name('covariance')} is missing")
    covariance = read_covariance(request.values["covariance"], request.name("covariance"))
    mean = None
    if request.values.get("mean") is not None:
        mean = read_mean(request.values["mean"], request.name("mean"), covariance)
    integrand, fields = read_integrand(
        request.values["expr"], request.name("expr"), covariance.rows
    )

    from symderiv.gaussian import expectation

    found = _named(request, lambda: expectation(integrand, fields, covariance, mean))
    echo = {
        "formula": str(integrand),
        "covariance": _texts(covariance),
        "mean": ["0"] * covariance.rows if mean is None else [str(entry) for entry in mean],
    }
    return found, echo


def _integral(request: Request) -> tuple[Expectation, dict[str, Any]]:
    which = request.text("integral").lower()
    if which not in _INTEGRALS:
        raise InputError(
            f"{request.name('integral')} must be one of {', '.join(_INTEGRALS)}, "
            f"not {quoted(which)}"
        )
    pattern, slots, size = _INTEGRALS[which]
    given, same = _activations(request, slots)

    from symderiv import gaussian

    if request.values.get("covariance") is None:
        covariance = gaussian.covariance_symbols(size)
    else:
        covariance = read_covariance(request.values["covariance"], request.name("covariance"), size)
    functions = [g.expression for g in given]
    integral = {"i2": gaussian.i2, "i3": gaussian.i3, "i4": gaussian.i4}[which]
    found = _named(request, lambda: integral(*functions, covariance))
    letters = ["g"] if same else [f"g{i + 1}" for i in range(slots)]
    definitions = [f"{letter}(x) = {g.text}" for letter, g in zip(letters, given, strict=False)]
    formula = pattern.format(*(letters * slots)[:slots])
    echo = {
        "formula": f"E[{formula}], {', '.join(definitions)}",
        "integral": which,
        "activations": [g.text for g in given],
        "covariance": _texts(covariance),
    }
    return found, echo


def _activations(request: Request, slots: int) -> tuple[list[Activation], bool]:
    """The activation of each slot, and whether one was given for all of them."""
    one = request.values.get("activation") is not None
    if one == (request.values.get("activations") is not None):
        raise InputError(
            f"give one of {request.name('activation')} and {request.name('activations')}"
        )
    if one:
        texts, name = [request.text("activation")] * slots, request.name("activation")
    else:
        name = request.name("activations")
        value = request.values["activations"]
        texts = _split(value) if isinstance(value, str) else value
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise InputError(f"{name} must be a list of activations")
        if len(texts) != slots:
            raise InputError(f"{name} must have {slots} entries, one per slot, not {len(texts)}")
    try:
        return [activation(text) for text in texts], one
    except InputError as error:
        raise type(error)(f"{name}: {error}") from None


def _split(text: str) -> list[str]:
    """The parts between commas outside brackets: ``Max(x,0),x`` has two."""
    parts, depth = [""], 0
    for character in text:
        depth += (character == "(") - (character == ")")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return parts


def _named(request: Request, compute: Callable[[], Expectation]) -> Expectation:
    """The result of ``compute``; its complaints about the covariance name what the user typed."""
    try:
        return compute()
    except InputError as error:
        message = str(error)
        for key in ("covariance", "mean"):
            if message.startswith(f"the {key} "):
                message = request.name(key) + message.removeprefix(f"the {key}")
        raise type(error)(message) from None


def _texts(matrix: Any) -> list[list[str]]:
    return [[str(matrix[i, j]) for j in range(matrix.cols)] for i in range(matrix.rows)]


def _brief(value: Any) -> str:
    return quoted(str(value))


# -- output --------------------------------------------------------------------------------


def _print_json(record: Mapping[str, Any]) -> None:
    # one line, ASCII: safe on any terminal and in any pipe
    print(json.dumps(record), flush=True)


def _print_text(result: Answer) -> None:
    from rich.console import Console
    from rich.text import Text

    from symderiv.derivation import Derivation, Section

    record, found = result.to_json(), result.expectation
    console = Console(highlight=False, soft_wrap=True)

    def line(label: str, text: str) -> None:
        console.print(Text.assemble((f"{label:<12}", "bold"), text))

    line("formula", record["formula"])
    rows = ", ".join("[" + ", ".join(row) + "]" for row in record["covariance"])
    line("covariance", f"[{rows}]")
    if any(entry != "0" for entry in record.get("mean", ())):
        line("mean", f"[{', '.join(record['mean'])}]")
    line("closed form" if record["closed_form"] else "expression", record["expression"])
    if record["value"] is not None:
        kind = "certified" if record["certified"] else "estimated"
        line("value", f"{record['value']}  ({kind} error {record['error_bound']})")
    line("method", f"{found.method}, sign factors: {found.sign_factors}")
    if not found.steps:
        return
    section = Section("Steps", "steps", tuple(found.steps), record["latex"])
    derivation = Derivation("Derivation", (section,))
    console.print()
    console.print(Text(derivation.to_text(width=max(console.width, 40)).rstrip("\n")))


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
        return answer(_batch_request(line, defaults)).to_json()
    except SymderivError as error:
        return {"error": _one_line(error)}
    except Exception as error:
        # whatever a line does, the lines after it are still answered
        return {"error": f"internal error: {type(error).__name__}: {_one_line(error)}"[:300]}


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
    missing = {key: value for key, value in defaults.items() if key in _KEYS[kind]}
    if "activation" in record or "activations" in record:
        missing.pop("activation", None)
        missing.pop("activations", None)
    return Request({**missing, **record}, "")


# -- commands ------------------------------------------------------------------------------


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())


def _reporting(command: Callable[P, None]) -> Callable[P, None]:
    """Turn our errors into one line on standard error and the exit code."""

    @functools.wraps(command)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            command(*args, **kwargs)
        except SymderivError as error:
            typer.echo(f"error: {_one_line(error)}", err=True)
            raise typer.Exit(2 if isinstance(error, InputError) else 1) from None
        except (RecursionError, MemoryError) as error:
            message = f"error: the expression is too complicated ({type(error).__name__})"
            typer.echo(message, err=True)
            raise typer.Exit(1) from None

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
    result = answer(Request(values, "--"))
    if as_json:
        _print_json(result.to_json())
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


@_reporting
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


@_reporting
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
