"""The answer to a question about a Gaussian expectation, and how it is found.

:func:`answered` returns a closed form by rules if there is one, else a number by quadrature with a
proved error bound, else a refusal with the reason; notebooks and commands use it alike.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import sympy as sp

from symderiv.api.questions.law import LawOfFields
from symderiv.foundation.documents import mathtext
from symderiv.foundation.documents.document import Markup, Part
from symderiv.foundation.documents.text_writer import text
from symderiv.foundation.documents.written_derivation import Derivation, Section, Step
from symderiv.foundation.errors import (
    DivergentError,
    InputError,
    NotYetError,
    SymderivError,
    ToleranceError,
)
from symderiv.foundation.showing import Shown, Summary
from symderiv.gaussian import Value, expectation
from symderiv.precision.balls.decimals import Digits, arithmetic, nearest_float
from symderiv.precision.balls.enclosure import certified
from symderiv.precision.quadrature.numeric_mean import NumericMean, numeric_mean

#: Additional digits tried until it is known which double is the nearest one.
_MORE_DIGITS = (8, 16, 32)


@dataclass(frozen=True)
class Question:
    """A question: the averaged function, the law of its fields, and its form.

    Args:
        integrand: The function of the fields.
        fields: All fields.
        law: The law of the fields.
        digits: Significant digits wanted.
        echo: The question as it was understood, for JSON.
        evaluations: The largest number of evaluations of functions by quadrature; None is its own
            limit.
    """

    integrand: sp.Expr
    fields: tuple[sp.Symbol, ...]
    law: LawOfFields
    digits: int
    echo: Mapping[str, Any]
    evaluations: float | None = None


@dataclass(frozen=True, repr=False)
class Expectation(Shown):
    """A Gaussian expectation: its closed form if it has one, its number, and the derivation.

    ``float(result)`` is the double nearest to the exact value if that can be proved.

    Args:
        question: The question.
        statement: LaTeX of E[...].
        expression: The closed form, or the form with four-sign integrals ``SignMean4``; None if the
            number comes from quadrature.
        number: The number with its error; None if symbols remain.
        method: The method by which the answer was found.
        sign_factors: Largest number of sign factors that remain after all reductions; None for
            quadrature.
        steps: The derivation.
    """

    question: Question
    statement: str
    expression: sp.Expr | None
    number: Value | None
    method: str
    sign_factors: int | None
    steps: tuple[Step, ...]

    # -- what was found ------------------------------------------------------------------------

    @property
    def value(self) -> Any:
        """The number as a decimal with the digits that were asked for (:class:`Digits`). If symbols
        are left, this is the closed form, or None if there is none.
        """
        return self.expression if self.number is None else Digits(self.number.value)

    @property
    def error_bound(self) -> Digits | None:
        """A bound on the distance of ``value`` from the exact number, including the rounding of
        digits.

        Proved if ``certified``, else estimated; None while symbols are left.
        """
        return None if self.number is None else Digits(self.number.error_bound)

    @property
    def certified(self) -> bool:
        """True if the error bound is proved."""
        return self.number is not None and self.number.certified

    @property
    def closed_form(self) -> sp.Expr | None:
        """The closed form in SymPy, in the symbols that were given; None if there is none."""
        if self.expression is None or self._orthants:
            return None
        return self.expression

    @property
    def interval(self) -> tuple[Fraction, Fraction] | None:
        """Exact ends of an interval that contains the exact number; None if it is not certified.

        It lies within ``value`` ± ``error_bound`` and is usually much narrower.
        """
        return None if self.number is None else self.number.interval

    def evaluate(self, digits: int) -> Expectation:
        """Return the same expectation with another number of digits.

        Raises:
            InputError: Symbols are left.
            ToleranceError: The digits were not reached.
        """
        if self.number is None:
            names = ", ".join(sorted(s.name for s in _symbols(self.question)))
            raise InputError(f"give numbers for {names} to evaluate this")
        return answered(replace(self.question, digits=digits))

    def __float__(self) -> float:
        """Return the nearest double.

        This is proved if the value is certified: if the digits do not decide, more are computed. If
        these do not decide either (the exact value lies between two doubles, or cannot be
        distinguished from zero), or if the value is estimated, this is the double nearest to the
        known number.

        Raises:
            InputError: Symbols are left.
            ToleranceError: It is beyond the largest double.
        """
        if self.number is None:
            raise InputError(
                "the covariance or mean still contains symbols, so there is no number; "
                "give values for them"
            )
        interval = self.number.interval
        if interval is None or self.number.value == "0":
            nearest = float(self.value)
        else:
            nearest = self._nearest(interval)
        if math.isinf(nearest):
            raise ToleranceError(f"{self.number.value} is beyond the largest double")
        return nearest

    def _nearest(self, interval: tuple[Fraction, Fraction]) -> float:
        for more in _MORE_DIGITS:
            nearest = nearest_float(interval)
            if nearest is not None:
                return nearest
            try:
                better = self.evaluate(max(self.question.digits, 17) + more)
            except SymderivError:
                break
            interval = better.interval or interval
        nearest = nearest_float(interval)
        return float((interval[0] + interval[1]) / 2) if nearest is None else nearest

    # -- showing -------------------------------------------------------------------------------

    @property
    def latex(self) -> str:
        """Return LaTeX of the closed form, or of the statement and its value."""
        if self.expression is not None:
            return str(sp.latex(self.expression))
        number = self.number
        return self.statement + (rf" \approx {_latex(number.value)}" if number else "")

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object of the commands ``expect`` and ``integral``."""
        number, closed = self.number, self.closed_form
        return {
            **self.question.echo,
            "statement": self.statement,
            "closed_form": None if closed is None else str(closed),
            "expression": None if self.expression is None else str(self.expression),
            "latex": self.latex,
            "value": number.value if number else None,
            "error_bound": number.error_bound if number else None,
            "certified": self.certified,
            "arithmetic": arithmetic() if self.certified else None,
            "method": self.method,
            "sign_factors": self.sign_factors,
            "steps": [step.to_json() for step in self.steps],
        }

    def _summary(self) -> Summary:
        return Summary(_title(self.question), self._rows())

    def _rows(self) -> list[tuple[str, object]]:
        echo, number = self.question.echo, self.number
        rows: list[tuple[str, object]] = []
        if self.expression is not None:
            label = "expression" if self._orthants else "closed form"
            markup = mathtext.mathml(self.latex)
            rows.append((label, Markup(str(self.expression), markup)))
        if number is not None:
            kind = "certified" if number.certified else "estimated"
            rows.append(("value", f"{number.value}  ({kind} error {number.error_bound})"))
        signs = "" if self.sign_factors is None else f", sign factors: {self.sign_factors}"
        rows.append(("method", self.method + signs))
        rows.append(("covariance", matrix_text(echo["covariance"])))
        if any(entry != "0" for entry in echo.get("mean", ())):
            rows.append(("mean", f"[{', '.join(echo['mean'])}]"))
        if self.certified:
            rows.append(("arithmetic", arithmetic()))
        return rows

    def _document(self) -> Part:
        rows = (("formula", self.question.echo["formula"]), *self._rows())
        if not self.steps:
            return Part("", (Summary(rows=rows),))
        section = Section("Steps", "steps", self.steps, self.latex)
        derivation = Derivation("Derivation", (section,)).document
        return Part("", (Summary(rows=rows), derivation))

    def to_text(self, width: int = 88) -> str:
        """Return everything in words, with the derivation, for a terminal of this width."""
        return text(self._document(), max(width, 40))

    def _repr_latex_(self) -> str:
        if self.expression is None:
            return f"${self.latex}$"
        approximate = "" if self.number is None else rf" \approx {_latex(self.number.value)}"
        return f"${self.statement} = {self.latex}{approximate}$"

    @property
    def _orthants(self) -> bool:
        return bool(self.sign_factors) and not self.method.startswith("closed-form")


def answered(question: Question) -> Expectation:
    """Return the answer to a question, in closed form or else as a number.

    Raises:
        InputError: The covariance belongs to no Gaussian law, or the expectation does not exist.
        NotYetError: There is no answer in this version.
        ToleranceError: The digits were not reached.
    """
    law = question.law
    try:
        derived = expectation(question.integrand, question.fields, law.covariance, law.mean)
    except (NotYetError, DivergentError) as reason:
        return _by_quadrature(question, reason)
    value = None if derived.value.free_symbols else certified(derived, question.digits)
    return Expectation(
        question,
        derived.statement,
        derived.value.xreplace(dict(law.given)),
        value,
        value.method if value else derived.method,
        derived.sign_factors,
        (*derived.steps, *_enclosure(derived.statement, value)),
    )


def _by_quadrature(question: Question, reason: NotYetError | DivergentError) -> Expectation:
    law = question.law
    asked = numeric_mean(question.integrand, question.fields, law.covariance, law.mean, str(reason))
    if isinstance(reason, DivergentError):
        # The rules treat factors one by one and see 1/x in sin(x)/x, which would diverge. A bound
        # of the whole function decides whether the mean exists.
        if asked.symbols:
            raise reason
        try:
            asked.evaluate(1, question.evaluations)
        except SymderivError:
            raise reason from None
    if asked.symbols:
        names = ", ".join(asked.symbols)
        method = f"no closed form; with numbers for {names} it is computed by quadrature"
        return Expectation(question, asked.statement, None, None, method, None, asked.steps)
    return _evaluated(question, asked)


def _evaluated(question: Question, asked: NumericMean) -> Expectation:
    done = asked.evaluate(question.digits, question.evaluations)
    steps = (*done.steps, *_enclosure(asked.statement, done.value))
    return Expectation(question, asked.statement, None, done.value, done.value.method, None, steps)


def _enclosure(statement: str, number: Value | None) -> tuple[Step, ...]:
    """Return the last step of a certified number, which states its error bound."""
    if number is None or not number.certified:
        return ()
    if number.error_bound == "0":
        return ()
    return (
        Step(
            "enclosure",
            "All numbers are balls that contain the exact values, every operation rounds outwards "
            f"({arithmetic()}); the bound includes the rounding to the digits shown.",
            "",
            rf"\left|{statement} - {_latex(number.value)}\right| \le {_latex(number.error_bound)}",
        ),
    )


def _latex(number: str) -> str:
    """Return a decimal number in LaTeX, with its power of ten."""
    mantissa, _, power = number.partition("e")
    return rf"{mantissa} \cdot 10^{{{int(power)}}}" if power else mantissa


def _symbols(question: Question) -> set[sp.Symbol]:
    symbols: set[sp.Symbol] = set(question.law.covariance.free_symbols)
    if question.law.mean is not None:
        symbols |= question.law.mean.free_symbols
    return symbols


def _title(question: Question) -> str:
    formula = str(question.echo["formula"])
    return formula if "integral" in question.echo else f"E[{formula}]"


def matrix_text(rows: list[list[str]]) -> str:
    """Return a matrix of texts on one line."""
    return "[" + ", ".join("[" + ", ".join(row) + "]" for row in rows) + "]"
