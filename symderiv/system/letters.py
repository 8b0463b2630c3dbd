"""Expressions of a system in LaTeX, in the field's letters."""

from __future__ import annotations

import re

import sympy as sp
from sympy.core.function import AppliedUndef
from sympy.printing.latex import LatexPrinter

from symderiv.keys.study_tables import letter_of
from symderiv.statement.field_law import FieldLaw
from symderiv.statement.register import Field, LearningTime, Mean, Overlap, Size
from symderiv.statement.stated_motion import Average
from symderiv.statement.vector_expressions import SlowVector, VectorExpression


class Letters(LatexPrinter):  # type: ignore[misc]
    """Prints fields as h_{w_1}, overlaps as Q_{w_1 w_2}, averages in angle brackets."""

    def __init__(self, law: FieldLaw) -> None:
        super().__init__({"ln_notation": True})
        self.law = law
        self._alone = len(law.statement.inputs) == 1 and len(law.statement.inputs[0].atoms) == 1

    def name(self, text: str) -> str:
        """Return the name of a vector, an input or a scalar with its number as an index.

        Parameters with names of the field, such as ``learning_rate``, have its letters, unless the
        statement gives such a letter to something else.
        """
        head = text.rstrip("0123456789")
        letter, index = letter_of(head)
        if letter and not self.law.symbols.knows(letter.removeprefix("\\")):
            indices = ",".join(filter(None, (index, text[len(head) :])))
            return f"{letter}_{{{indices}}}" if indices else letter
        parts = re.fullmatch(r"([A-Za-z]+)_?(\d*)(.*)", text)
        if not parts or parts[3]:
            return rf"\operatorname{{{text.replace('_', chr(92) + '_')}}}"
        letters = parts[1]
        greek = sp.latex(sp.Symbol(letters))
        head = (
            greek if len(letters) == 1 or greek.startswith("\\") else rf"\operatorname{{{letters}}}"
        )
        return f"{head}_{{{parts[2]}}}" if parts[2] else head

    def _print_Symbol(self, expr: sp.Symbol, style: str = "") -> str:
        meaning = self.law.symbols.meaning.get(expr)
        if isinstance(meaning, Field):
            upper = "" if self._alone else f"^{{{self.name(meaning.input.name)}}}"
            return f"h{upper}_{{{self.name(meaning.vector.name)}}}"
        if isinstance(meaning, Overlap):
            return self.overlap(meaning.first, meaning.second)
        if isinstance(meaning, Size):
            first, second = self.name(meaning.first.name), self.name(meaning.second.name)
            return rf"{first} \cdot {second}"
        if expr in self.law.covariances:
            covariance = self.law.covariances[expr]
            pair = f"{self.name(covariance.first.name)} {self.name(covariance.second.name)}"
            inputs = " ".join(map(self.name, covariance.inputs))
            return f"C^{{{inputs}}}_{{{pair}}}"
        if expr in self.law.jumps:
            return rf"\Theta\left({self.doprint(self.law.jumps[expr])}\right)"
        if isinstance(meaning, LearningTime):
            return r"\alpha"
        if isinstance(meaning, Mean):
            return rf"\left\langle {self.doprint(meaning.expression)} \right\rangle"
        if expr.name.startswith("trace__"):
            names = expr.name.removeprefix("trace__").split("__")
            product = " ".join(rf"\rho_{{{self.name(name)}}}" for name in names)
            return rf"\overline{{{product}}}" if names[1:] else rf"\bar{product}"
        return self.name(expr.name)

    def overlap(self, first: SlowVector, second: SlowVector) -> str:
        """Return the overlap of two vectors."""
        return f"Q_{{{self.name(first.name)} {self.name(second.name)}}}"

    def _print_Function(self, expr: sp.Function, exp: object = None) -> str:
        power = "" if exp is None else f"^{{{exp}}}"
        if isinstance(expr, Average):
            return rf"\left\langle {self.doprint(expr.args[0])} \right\rangle{power}"
        if isinstance(expr, AppliedUndef):
            head, _, number = str(expr.func).partition("_")
            letter = {"mean": "I", "joint": "J"}.get(head, head)
            arguments = ", ".join(self.doprint(a) for a in expr.args)
            return rf"{letter}_{{{number}}}{power}\left({arguments}\right)"
        return str(super()._print_Function(expr, exp))

    def vector(self, vector: VectorExpression) -> str:
        """Return a vector expression."""
        terms = []
        for atom, coefficient in vector.terms.items():
            name = self.name(atom.name)
            over = rf"\frac{{{name}}}{{\sqrt N}}" if isinstance(atom, SlowVector) else name
            factor = self.doprint(coefficient)
            if abs(coefficient) == 1:
                terms.append(over if coefficient == 1 else f"- {over}")
            elif coefficient.is_Add:
                terms.append(rf"\left({factor}\right) {over}")
            else:
                terms.append(f"{factor} {over}")
        return " + ".join(terms).replace("+ - ", "- ") or "0"
