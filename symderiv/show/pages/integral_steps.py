"""Gaussian integrals and the steps that lead to them, as sections of a derivation."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from symderiv.foundation.documents.written_derivation import Section, Step

if TYPE_CHECKING:
    from collections.abc import Sequence

    import sympy as sp

    from symderiv.formula import Activation
    from symderiv.gaussian import DerivedExpectation


def integral_sections(student: Activation, teacher: Activation) -> list[Section]:
    """I2, I3, I4 of the pair, the student's slots first, in the symbols c11, c12, ..."""
    from symderiv import gaussian

    g, h = student.expression, teacher.expression
    same = student.text == teacher.text
    wanted: list[tuple[str, str, Sequence[sp.Expr]]] = [
        ("I2", "i2", (g, g)),
        ("I3", "i3", (g, g)),
        ("I4", "i4", (g, g, g, g)),
    ]
    if not same:
        wanted = [
            ("I2, student and student", "i2_student", (g, g)),
            ("I2, student and teacher", "i2_cross", (g, h)),
            ("I2, teacher and teacher", "i2_teacher", (h, h)),
            ("I4, four students", "i4_student", (g, g, g, g)),
            ("I4, one teacher", "i4_cross", (g, g, g, h)),
            ("I4, two teachers", "i4_teacher", (g, g, h, h)),
        ]
    sections = []
    for name, key, activations in wanted:
        derived = getattr(gaussian, key[:2])(*activations, folded=True)
        sections.append(Section(f"Gaussian integral {name}", key, *expectation_steps(derived)))
    return sections


def expectation_steps(found: DerivedExpectation) -> tuple[tuple[Step, ...], str]:
    """Return the steps to an expectation and what they arrive at, as LaTeX to be shown."""
    result = f"{found.statement} = {_latex(found.value)}"
    for symbol, value in found.definitions:
        result += rf" ,\quad {_latex(symbol)} = {_latex(value)}"
    steps = tuple(
        Step(step.rule, step.statement, _readable(step.before), _readable(step.after))
        for step in found.steps
    )
    return steps, _readable(result)


def _latex(value: sp.Expr) -> str:
    import sympy as sp

    text: str = sp.latex(value)
    return text


_CONDITIONAL = re.compile(r"c_\{([s\d ]+) given ([s\d ]+)\}")


def _readable(latex: str) -> str:
    """Conditional covariances ``c_{s3 2 given s1}`` and inverse functions as they are printed."""
    latex = re.sub(r"\\operatorname\{a(sin|cos|tan)\}", r"\\arc\1", latex)
    return _CONDITIONAL.sub(
        lambda match: rf"c_{{{_fields(match[1])} \mid {_fields(match[2])}}}", latex
    )


def _fields(names: str) -> str:
    return re.sub(r"s(\d+)", r"s_{\1}", names)
