r"""The call ``check``: is a printed formula the expectation that it claims to be?"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import sympy as sp
from symderiv_ledger import (
    ByQuadrature,
    Check,
    FormulaComparison,
    InClosedForm,
    check_formula,
)
from symderiv_ledger.papers.paper_run import arithmetic as arithmetic_of

from symderiv.api.questions.expectation import Question, answered, matrix_text
from symderiv.api.questions.law import LawOfFields, read_expression, read_law
from symderiv.api.questions.means import INTEGRALS, asked_integral, matrix_texts
from symderiv.formula.exact_entries import FIRST_FIELDS, without_floats
from symderiv.formula.pasted import build_formula, read_pasted
from symderiv.foundation.documents.document import Formula, Part
from symderiv.foundation.documents.html_writer import fragment
from symderiv.foundation.errors import (
    DivergentError,
    FormulaError,
    InputError,
    NotYetError,
    ShapeError,
    errors_about,
)
from symderiv.foundation.named_arguments import public
from symderiv.foundation.progress import following
from symderiv.foundation.showing import Shown, Summary
from symderiv.gaussian import (
    DerivedExpectation,
    OwenT,
    SignMean4,
    Value,
    covariance_symbols,
    expectation,
)
from symderiv.precision.balls.decimals import arithmetic

MAX_FIELDS: Final = 9
#: Largest numbers of evaluations at one point, for up to three variables and for more.
MOST_EVALUATIONS: Final = (4e5, 6e6)

_LETTERS: Final = ("u", "v", "w", "z")
#: Letters that papers use for the covariance; C_{12} is its entry, whatever expression that is.
_BASES: Final = ("C", "c", "Q", "Sigma")

_INTEGRAL: Final = re.compile(r"I([234])")
_FIELD = re.compile(r"(?<![\w.])(?:x([1-9][0-9]{0,2})|[xyzw])(?!\w)", re.ASCII)


@dataclass(frozen=True, repr=False)
class FormulaCheck(Shown):
    """The outcome of comparing a printed formula with an expectation.

    Args:
        what: The expectation, as symderiv understood it.
        formula: The formula, as symderiv understood it, with definitions inserted.
        definitions: The definitions that were given with it.
        found: The values of both sides at all points.
        notes: The parts of the pasted text that symderiv did not read.
    """

    what: _What
    formula: sp.Expr
    definitions: dict[str, sp.Expr]
    found: Check
    notes: tuple[str, ...] = ()

    @property
    def verdict(self) -> str:
        """``"holds"`` or ``"fails"``."""
        return self.found.verdict

    @property
    def holds(self) -> bool:
        """True if the formula is right at all points."""
        return self.found.verdict == "holds"

    @property
    def counterexample(self) -> FormulaComparison | None:
        """The first point that contradicts the formula, with both values."""
        return self.found.counterexample

    @property
    def digits(self) -> int | None:
        """The digits to which both sides agree wherever the formula is right.

        None if it was compared with zeros only.
        """
        return self.found.digits

    @property
    def arithmetic(self) -> str:
        """The libraries with which both sides were computed."""
        if self.found.evaluated is None:
            return arithmetic()
        libraries = f"{arithmetic_of('mpmath')} and {arithmetic_of('sympy')}"
        return f"{self.found.evaluated} digits of {libraries}, not enclosed"

    @property
    def correct_form(self) -> sp.Expr | None:
        """The closed form that symderiv derives; None if there is none."""
        return None if self.found.expectation is None else self.found.expectation.value

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object of the command ``check``."""
        outcome, formula, right = self.found, self.formula, self.correct_form
        mean, _, note = self.what.formula.partition("], ")
        mean = f"{mean.removesuffix(']')}]"  # functions of several arguments have commas, too
        return {
            "verdict": outcome.verdict,
            "max_relative_error": outcome.max_relative_error,
            "counterexample": _shown(outcome.counterexample),
            "digits": outcome.digits,
            "method": outcome.method,
            "arithmetic": self.arithmetic,
            "certified": outcome.evaluated is None,
            "correct_form": None if right is None else str(right),
            "correct_form_latex": None if right is None else sp.latex(right),
            "statement": f"{self.what.statement} = {sp.latex(formula)}",
            "statement_text": f"{mean} = {formula}" + (f", {note}" if note else ""),
            "formula": str(formula),
            "formula_latex": sp.latex(formula),
            "definitions": {name: str(value) for name, value in self.definitions.items()},
            "covariance": matrix_texts(self.what.law.covariance),
            "symbolic_identity": outcome.identical,
            "points": [
                {"kind": kind, "holds": good, "total": total}
                for kind, (good, total) in outcome.tally.items()
            ],
            "undefined": [
                {**(_shown(comparison) or {}), "reason": comparison.note}
                for comparison in outcome.undefined_points
            ],
            "skipped": [{"kind": p.kind, "reason": reason} for p, reason in outcome.skipped],
            "suggestion": outcome.suggestion or None,
            "notes": list(self.notes),
        }

    def _summary(self) -> Summary:
        return Summary(f"check: {self.verdict}", self._rows())

    def _document(self) -> Summary:
        return Summary(rows=self._rows())

    def _repr_html_(self) -> str:
        record = self.to_dict()
        said = [Formula(record["statement"])]
        if not self.holds and record["correct_form_latex"] is not None:
            said.append(Formula(record["correct_form_latex"], self.what.statement, "correct form"))
        return fragment(Part(f"check: {self.verdict}", (*said, self._document())), 4)

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.to_dict()['statement']}$ {self.verdict}"

    def _rows(self) -> list[tuple[str, str]]:
        record = self.to_dict()
        rows = [("statement", record["statement_text"])]
        rows += [("  where", f"{name} = {value}") for name, value in record["definitions"].items()]
        rows += [
            ("LaTeX", record["statement"]),
            ("covariance", matrix_text(record["covariance"])),
            ("verdict", record["verdict"]),
        ]
        total = sum(kind["total"] for kind in record["points"])
        good = sum(kind["holds"] for kind in record["points"])
        symbolic = ", and the difference tidies to zero" if record["symbolic_identity"] else ""
        evidence = f"equal at {good} of {total} exact covariances{symbolic}"
        if self.correct_form is None and record["digits"] is not None:
            evidence += f", to {record['digits']} digits"
        rows.append(("evidence", evidence))
        rows.append(("method", f"{record['method']} ({record['arithmetic']})"))
        if record["max_relative_error"] is not None:
            rows.append(("largest error", f"{record['max_relative_error']:.3g} (relative)"))
        rows += _failure(record)
        if record["suggestion"]:
            rows.append(("suggestion", record["suggestion"]))
        rows += [
            ("no value", f"{matrix_text(entry['covariance'])} ({entry['kind']}): {entry['reason']}")
            for entry in record["undefined"]
        ]
        rows += [("note", note) for note in self.notes]
        rows += [("skipped", f"{entry['kind']}: {entry['reason']}") for entry in record["skipped"]]
        return rows


def _failure(record: dict[str, Any]) -> list[tuple[str, str]]:
    example = record["counterexample"]
    if example is None:
        return []
    kinds = [f"{k['kind']} ({k['holds']} of {k['total']})" for k in record["points"]]
    failure = [
        ("first failure", f"{example['reason']} ({example['kind']})"),
        ("  covariance", matrix_text(example["covariance"])),
        ("  formula", example["formula"]),
        ("  expectation", example["expectation"]),
        ("equal at", ", ".join(kinds)),
    ]
    if record["correct_form"] is not None:
        failure += [
            ("correct form", record["correct_form"]),
            ("  LaTeX", record["correct_form_latex"]),
        ]
    return failure


@public
@following("comparing")
def check(
    what: str,
    formula: Any,
    activation: Any = None,
    activations: Any = None,
    covariance: Any = None,
    where: Sequence[str] = (),
    macros: Sequence[str] = (),
) -> FormulaCheck:
    r"""Decide whether a formula, typed or pasted as LaTeX, is equal to an expectation.

    Both sides are compared at exact random covariances, degenerate ones included.

    Args:
        what: "i2", "i3", "i4", or the function of the fields x1, x2, ... that is averaged.
        formula: Text or LaTeX in C_{12} or c12, ..., as it stands in a paper; definitions may stand
            before it, as in ``A=1+C_{11}; ...``. In Python also a SymPy expression.
        activation, activations: See :func:`integral`.
        covariance: As in :func:`mean`; None is in symbols c11, c12, ...
        where: Definitions ``NAME=FORMULA`` used in the formula.
        macros: LaTeX macros used in it, ``\erf=\operatorname{erf}``; those that the text defines
            with ``\newcommand`` or ``\DeclareMathOperator`` are known without.

    Returns:
        The verdict, with a counterexample if the formula is wrong.

    Raises:
        InputError: An argument cannot be understood, or the expectation does not exist.
        ToleranceError: A side cannot be evaluated.

    Example:
        >>> check("i2", r"\frac{2}{\pi}\arcsin\frac{C_{12}}{\sqrt{(1+C_{11})(1+C_{22})}}",
        ...       activation="erf").verdict
        'holds'
    """
    asked = _read(what, activation, activations, covariance)
    symbolic, reason = _closed(asked)
    names, meaning = asked.names()
    try:
        read = _read_formula(formula, names, meaning, where, macros, asked.which)
    except FormulaError as error:
        raise error.renamed("formula") from None
    matrix = sp.Matrix(asked.law.covariance)

    def at(covariance: sp.Matrix) -> DerivedExpectation:
        if symbolic is not None and covariance == matrix:
            return symbolic
        return asked.expectation(covariance)

    if symbolic is not None:
        verdict = check_formula(InClosedForm(read.expression, at, matrix))
    else:
        try:
            verdict = check_formula(ByQuadrature(read.expression, asked.number, matrix))
        except DivergentError:
            raise reason from None
    return FormulaCheck(asked, read.expression, read.definitions, verdict, read.notes)


@dataclass(frozen=True)
class _Formula:
    """The formula in symbols of the covariance, with its definitions and notes."""

    expression: sp.Expr
    definitions: dict[str, sp.Expr]
    notes: tuple[str, ...]


def _read_formula(
    formula: Any,
    names: dict[str, str],
    meaning: dict[str, sp.Expr],
    where: Sequence[str],
    macros: Sequence[str],
    which: str,
) -> _Formula:
    if isinstance(formula, sp.Expr):
        return _Formula(_from_sympy(formula, names, meaning), {}, ())
    pasted = read_pasted(formula, names, where, macros, which.upper())
    return _Formula(
        _expression(pasted.formula, meaning),
        {name: _expression(d, meaning) for name, d in pasted.definitions.items()},
        (*_left_side(pasted.left, which), *pasted.notes),
    )


def _from_sympy(formula: sp.Expr, names: dict[str, str], meaning: dict[str, sp.Expr]) -> sp.Expr:
    """Return a SymPy expression with its symbols replaced by those of the same names."""
    put_in = {}
    for symbol in formula.free_symbols:
        name = names.get(symbol.name.replace("_", ""))
        if name is None:
            known = ", ".join(sorted(set(names.values())))
            raise FormulaError(f"unknown symbol {symbol.name}; known here: {known}")
        put_in[symbol] = meaning[name]
    if formula.has(sp.nan, sp.zoo, sp.oo, -sp.oo):
        raise FormulaError("the formula is not finite")
    return without_floats(formula).xreplace(put_in)


def _left_side(left: str, which: str) -> tuple[str, ...]:
    """Return a note if the left side of the formula does not name the mean in question."""
    named = _INTEGRAL.match(re.sub(r"[\\{}_ ]|mathcal|mathrm", "", left))
    if not left or (named and f"i{named[1]}" == which):
        return ()
    if named:
        return (f"the left side {left} is not what is asked, {which}; only the right was read",)
    return (f"the left side {' '.join(left.split())} was not read",)


def _closed(asked: _What) -> tuple[DerivedExpectation | None, Exception]:
    """Return the closed form, or None with the reason why there is none."""
    try:
        return asked.expectation(asked.law.covariance), InputError()
    except (NotYetError, DivergentError) as reason:
        return None, reason


@dataclass(frozen=True)
class _What:
    """The averaged function and its law, as the question was understood."""

    integrand: sp.Expr
    fields: tuple[sp.Symbol, ...]
    law: LawOfFields
    letters: tuple[str, ...]
    formula: str
    which: str = ""

    @property
    def statement(self) -> str:
        """The expectation E[...] in LaTeX."""
        return rf"\mathbb{{E}}\left[{sp.latex(self.integrand)}\right]"

    def number(self, covariance: sp.Matrix, digits: int) -> Value:
        """Return the expectation for a covariance of numbers."""
        law = LawOfFields(sp.ImmutableMatrix(covariance), None, {})
        most = MOST_EVALUATIONS[covariance.rows > 3]
        mean = answered(Question(self.integrand, self.fields, law, digits, {}, most)).number
        assert mean is not None
        return mean

    def expectation(self, covariance: sp.MatrixBase) -> DerivedExpectation:
        return expectation(self.integrand, self.fields, sp.Matrix(covariance))

    def names(self) -> tuple[dict[str, str], dict[str, sp.Expr]]:
        """Return names that a formula may use, with the variables that they denote."""
        matrix, n = self.law.covariance, self.law.covariance.rows
        symbols = sorted(matrix.free_symbols, key=lambda s: str(s.name))
        names = {symbol.name.replace("_", ""): symbol.name for symbol in symbols}
        meaning: dict[str, sp.Expr] = {symbol.name: symbol for symbol in symbols}
        for i in range(n):
            for j in range(n):
                entry = matrix[i, j]
                variable = entry.name if entry.is_Symbol else f"C{min(i, j) + 1}{max(i, j) + 1}"
                if variable in meaning and meaning[variable] != entry:
                    continue  # this name means the user's symbol
                meaning[variable] = entry
                for base in _BASES:
                    names.setdefault(f"{base}{i + 1}{j + 1}", variable)
                    if n <= len(self.letters):
                        names.setdefault(f"{base}{self.letters[i]}{self.letters[j]}", variable)
        return names, meaning


def _read(what: Any, activation: Any, activations: Any, covariance: Any) -> _What:
    if isinstance(what, str) and what.strip().lower() in INTEGRALS:
        kind = what.strip().lower()
        asked = asked_integral(kind, activation, activations, covariance)
        text = asked.echo["formula"]
        return _What(asked.integrand, asked.fields, asked.law, _LETTERS, text, kind)
    if activation is not None or activations is not None:
        raise InputError(
            "is allowed with i2, i3 or i4, not with a formula",
            argument="activation" if activations is None else "activations",
        )
    if covariance is None:
        size = _size(str(what))
        law = LawOfFields(sp.ImmutableMatrix(covariance_symbols(size)), None, {})
    else:
        law = read_law(covariance)
        if law.covariance.rows > MAX_FIELDS:
            raise ShapeError(f"has more than {MAX_FIELDS} rows", argument="covariance")
    with errors_about("what"):
        function, fields = read_expression(what, law.covariance.rows)
    return _What(function, fields, law, FIRST_FIELDS, f"E[{function}]")


def _size(text: str) -> int:
    """Return the largest number of a field in a formula, which is the number of fields."""
    numbers = [
        int(m.group(1)) if m.group(1) else FIRST_FIELDS.index(m.group()) + 1
        for m in _FIELD.finditer(text[:3000])
    ]
    if max(numbers, default=1) > MAX_FIELDS:
        raise ShapeError(f"has more than {MAX_FIELDS} fields", argument="what")
    return max(numbers, default=1)


def _expression(tree: Any, meaning: dict[str, sp.Expr]) -> sp.Expr:
    functions: dict[str, Callable[..., Any]] = {"SignMean4": SignMean4, "OwenT": OwenT}
    built = build_formula(tree, meaning, functions)
    return built.xreplace({sp.Symbol(name, real=True): value for name, value in meaning.items()})


def _shown(comparison: FormulaComparison | None) -> dict[str, Any] | None:
    if comparison is None:
        return None
    return {
        "kind": comparison.point.kind,
        "covariance": matrix_texts(comparison.point.covariance),
        "formula": comparison.formula,
        "expectation": comparison.expectation,
        "relative_error": comparison.relative_error,
        "reason": comparison.reason,
    }
