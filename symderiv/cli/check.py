r"""The command ``symderiv check``: is a printed formula the expectation?"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from symderiv.cli.gaussian_input import FIRST_FIELDS, load_json, read_covariance
from symderiv.cli.gaussian_request import Request, answer
from symderiv.cli.output import Json, emit_json, status
from symderiv.errors import FormulaError, InputError, ShapeError, SymderivError
from symderiv.expressions.pasted import build_formula, read_definitions

if TYPE_CHECKING:
    import sympy as sp

    from symderiv.gaussian import Expectation
    from symderiv.verification import Check, Comparison

__all__ = ["register"]

FAILED: Final = 1
MAX_FIELDS: Final = 9

#: Number of fields of each integral, named u, v, w, z.
_SIZES: Final = {"i2": 2, "i3": 3, "i4": 4}
_LETTERS: Final = ("u", "v", "w", "z")
#: Letters that papers use for the covariance; C_{12} is its entry whatever that entry is.
_BASES: Final = ("C", "c", "Q", "Sigma")

_FIELD = re.compile(r"(?<![\w.])(?:x([1-9][0-9]{0,2})|[xyzw])(?!\w)", re.ASCII)


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
        typer.Option(
            "--formula",
            metavar="F",
            help="The formula to check, as text or LaTeX, in C_{12} or c12, ...; definitions "
            "may stand before it: 'A=1+C_{11}; ...'.",
        ),
    ],
    where: Annotated[
        list[str] | None,
        typer.Option("--where", metavar="NAME=F", help="A definition used in F; repeatable."),
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
    covariance: Annotated[
        str | None,
        typer.Option(
            "--covariance",
            metavar="C",
            help='JSON array of rows; entries are numbers, "1/3" or symbols. '
            "Left out: symbols c11, c12, ...",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    r"""Is a formula (text or pasted LaTeX) equal to an expectation? Exit code 0 yes, 1 no.

    Both sides are compared at exact random covariances, degenerate ones included. Example:

    symderiv check i2 --activation erf --formula
    '\frac{2}{\pi}\arcsin\frac{C_{12}}{\sqrt{(1+C_{11})(1+C_{22})}}'
    """
    try:
        task = _Task.read(which, activation, activations, covariance)
        pasted = _Pasted(task, formula, tuple(where or ()))
        from symderiv.verification import check_formula

        with status("comparing", quiet=as_json):
            found = check_formula(pasted.expression, task.expectation, task.covariance)
    except (SymderivError, OSError):
        raise
    except Exception as error:
        # a defect of ours, or an expression too deep for SymPy: one line, not a traceback
        logging.getLogger(__name__).debug("internal error", exc_info=True)
        message = f"internal error: {type(error).__name__}: {' '.join(str(error).split())}"
        raise SymderivError(message[:300]) from error
    record = _record(task, pasted, found)
    if as_json:
        emit_json(record)
    else:
        _print_text(record)
    if found.verdict != "holds":
        raise typer.Exit(FAILED)


class _Task:
    """What is averaged: the expectation at any covariance, and how it was understood."""

    def __init__(self, values: dict[str, Any], rows: Any, letters: tuple[str, ...]) -> None:
        self.values = values
        self.letters = letters
        self.covariance = read_covariance(rows, "--covariance")
        if self.covariance.rows > MAX_FIELDS:
            raise ShapeError(f"--covariance has more than {MAX_FIELDS} rows")
        # whatever is wrong with the request is said before the formula is read
        self.answer = answer(Request({**values, "covariance": rows}, "--"))

    @classmethod
    def read(
        cls, which: str, activation: str | None, activations: str | None, covariance: str | None
    ) -> _Task:
        rows = None if covariance is None else load_json(covariance, "--covariance")
        kind = which.strip().lower()
        if kind in _SIZES:
            given = {"activation": activation, "activations": activations}
            values = {key: value for key, value in given.items() if value is not None}
            rows = _symbols(_SIZES[kind]) if rows is None else rows
            return cls({"integral": kind, **values}, rows, _LETTERS)
        if activation is not None or activations is not None:
            raise InputError("--activation goes with i2, i3 or i4, not with a formula EXPR")
        if rows is None:
            numbers = [
                int(m.group(1)) if m.group(1) else FIRST_FIELDS.index(m.group()) + 1
                for m in _FIELD.finditer(which[:3000])
            ]
            if max(numbers, default=1) > MAX_FIELDS:
                raise ShapeError(f"EXPR has more than {MAX_FIELDS} fields")
            rows = _symbols(max(numbers, default=1))
        return cls({"expr": which}, rows, FIRST_FIELDS)

    def expectation(self, covariance: sp.Matrix) -> Expectation:
        if covariance == self.covariance:
            return self.answer.expectation
        rows = [[str(e) for e in covariance.row(i)] for i in range(covariance.rows)]
        return answer(Request({**self.values, "covariance": rows}, "--")).expectation

    def names(self) -> tuple[dict[str, str], dict[str, sp.Expr]]:
        """Names that a formula may use, and what the variables behind them are."""
        matrix, n = self.covariance, self.covariance.rows
        symbols = sorted(matrix.free_symbols, key=lambda s: s.name)
        names = {symbol.name.replace("_", ""): symbol.name for symbol in symbols}
        meaning: dict[str, sp.Expr] = {symbol.name: symbol for symbol in symbols}
        for i in range(n):
            for j in range(n):
                entry = matrix[i, j]
                variable = entry.name if entry.is_Symbol else f"C{min(i, j) + 1}{max(i, j) + 1}"
                if variable in meaning and meaning[variable] != entry:
                    continue  # the user's symbol of that name is meant
                meaning[variable] = entry
                for base in _BASES:
                    names.setdefault(f"{base}{i + 1}{j + 1}", variable)
                    if n <= len(self.letters):
                        names.setdefault(f"{base}{self.letters[i]}{self.letters[j]}", variable)
        return names, meaning


def _symbols(size: int) -> list[list[str]]:
    count = range(1, size + 1)
    return [[f"c{min(i, j)}{max(i, j)}" for j in count] for i in count]


class _Pasted:
    """The formula as it was understood."""

    def __init__(self, task: _Task, text: str, where: tuple[str, ...]) -> None:
        names, meaning = task.names()
        try:
            definitions, tree = read_definitions(text, names, where)
            self.expression = _expression(tree, meaning)
            self.definitions = {
                name: _expression(definition, meaning) for name, definition in definitions.items()
            }
        except FormulaError as error:
            raise FormulaError(f"--formula: {error}") from None


def _expression(tree: Any, meaning: dict[str, sp.Expr]) -> sp.Expr:
    import sympy as sp

    from symderiv.gaussian import OwenT, SignMean4

    functions: dict[str, Callable[..., Any]] = {"SignMean4": SignMean4, "OwenT": OwenT}
    built = build_formula(tree, meaning, functions)
    return built.xreplace({sp.Symbol(name, real=True): value for name, value in meaning.items()})


def _record(task: _Task, pasted: _Pasted, found: Check) -> dict[str, Any]:
    """The JSON object that the interface promises, and what a reader needs to repeat it."""
    import sympy as sp

    echo, right = task.answer.echo, found.expectation
    formula = pasted.expression
    mean, _, note = echo["formula"].partition(", ") if "integral" in echo else ("", "", "")
    mean = mean or f"E[{echo['formula']}]"
    return {
        "verdict": found.verdict,
        "max_relative_error": found.max_relative_error,
        "counterexample": _shown(found.counterexample),
        "correct_form": str(right.value),
        "correct_form_latex": sp.latex(right.value),
        "statement": f"{right.statement} = {sp.latex(formula)}",
        "statement_text": f"{mean} = {formula}" + (f", {note}" if note else ""),
        "formula": str(formula),
        "formula_latex": sp.latex(formula),
        "definitions": {name: str(value) for name, value in pasted.definitions.items()},
        "covariance": echo["covariance"],
        "symbolic_identity": found.identical,
        "points": [
            {"kind": kind, "holds": good, "total": total}
            for kind, (good, total) in found.tally.items()
        ],
        "undefined": [
            {**(_shown(comparison) or {}), "reason": comparison.note}
            for comparison in found.undefined_points
        ],
        "skipped": [{"kind": p.kind, "reason": reason} for p, reason in found.skipped],
        "suggestion": found.suggestion or None,
    }


def _shown(comparison: Comparison | None) -> dict[str, Any] | None:
    if comparison is None:
        return None
    matrix = comparison.point.covariance
    return {
        "kind": comparison.point.kind,
        "covariance": [[str(e) for e in matrix.row(i)] for i in range(matrix.rows)],
        "formula": comparison.formula,
        "expectation": comparison.expectation,
        "relative_error": comparison.relative_error,
        "reason": comparison.reason,
    }


def _print_text(record: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, soft_wrap=True)

    def line(label: str, text: str, style: str = "") -> None:
        console.print(Text.assemble((f"{label:<14}", "bold"), (text, style)))

    line("statement", record["statement_text"])
    for name, value in record["definitions"].items():
        line("  where", f"{name} = {value}")
    line("LaTeX", record["statement"])
    line("covariance", _rows(record["covariance"]))
    line("verdict", record["verdict"], "green" if record["verdict"] == "holds" else "red")
    total = sum(kind["total"] for kind in record["points"])
    good = sum(kind["holds"] for kind in record["points"])
    symbolic = ", and the difference tidies to zero" if record["symbolic_identity"] else ""
    line("evidence", f"equal at {good} of {total} exact covariances{symbolic}")
    if record["max_relative_error"] is not None:
        line("largest error", f"{record['max_relative_error']:.3g} (relative)")
    example = record["counterexample"]
    if example is not None:
        line("first failure", f"{example['reason']} ({example['kind']})")
        line("  covariance", _rows(example["covariance"]))
        line("  formula", example["formula"])
        line("  expectation", example["expectation"])
        kinds = [f"{k['kind']} ({k['holds']} of {k['total']})" for k in record["points"]]
        line("equal at", ", ".join(kinds))
        line("correct form", record["correct_form"])
        line("  LaTeX", record["correct_form_latex"])
    if record["suggestion"]:
        line("suggestion", record["suggestion"])
    for entry in record["undefined"]:
        line("no value", f"{_rows(entry['covariance'])} ({entry['kind']}): {entry['reason']}")
    for entry in record["skipped"]:
        line("skipped", f"{entry['kind']}: {entry['reason']}")


def _rows(rows: list[list[str]]) -> str:
    return "[" + ", ".join("[" + ", ".join(row) + "]" for row in rows) + "]"


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    # a formula may begin with a minus sign; it is not an option then
    app.command("check", context_settings={"ignore_unknown_options": True})(check)
