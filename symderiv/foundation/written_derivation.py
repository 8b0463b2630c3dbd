r"""A derivation as data: titled sections of steps, and its text, LaTeX, HTML and JSON renderings.

The base level of the package: the Gaussian calculus and the learning rules write :class:`Step`
objects, everything above shows them. Formulas are LaTeX strings, so nothing here needs SymPy.
"""

from __future__ import annotations

import html
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from symderiv.foundation import mathtext

_PREAMBLE = r"""\documentclass[11pt]{article}
\usepackage[utf8]{inputenc}
\usepackage[T1]{fontenc}
\usepackage[a4paper,margin=25mm]{geometry}
\usepackage{amsmath,amssymb}
\allowdisplaybreaks
\setlength{\parindent}{0pt}
\setlength{\parskip}{6pt}
"""


@dataclass(frozen=True)
class Step:
    """One step of a derivation.

    Args:
        rule: Short name of the rule that was used ("tilt", "Stein", "arcsine", "definition", ...).
        statement: One plain sentence in words; may contain inline ``$...$`` LaTeX.
        before: LaTeX of the expression before the step, without dollars; "" for a definition.
        after: LaTeX of the expression after the step.
    """

    rule: str
    statement: str
    before: str
    after: str

    @property
    def latex(self) -> str:
        """The step as one line, ``before = after``, or ``after`` alone for a definition."""
        return f"{self.before} = {self.after}" if self.before else self.after

    def to_json(self) -> dict[str, str]:
        """The step as a JSON object with the keys ``rule``, ``statement``, ``latex``."""
        return {"rule": self.rule, "statement": self.statement, "latex": self.latex}


@dataclass(frozen=True)
class Section:
    """A titled run of steps; ``key`` names it in JSON, ``result_latex`` is what it arrives at."""

    title: str
    key: str
    steps: tuple[Step, ...]
    result_latex: str = ""

    def to_json(self) -> dict[str, Any]:
        """Title, steps and result as JSON types."""
        return {
            "title": self.title,
            "steps": [step.to_json() for step in self.steps],
            "result": self.result_latex,
        }


@dataclass(frozen=True)
class Derivation:
    """Sections in reading order, under one title."""

    title: str
    sections: tuple[Section, ...]

    def to_text(self, width: int = 88) -> str:
        """The derivation as plain Unicode text for a terminal of ``width`` columns."""
        return "\n".join(_text_lines(self, width)) + "\n"

    def to_latex(self) -> str:
        """A complete LaTeX article that needs only amsmath and amssymb."""
        parts = [
            _PREAMBLE,
            r"\begin{document}",
            rf"\section*{{{mathtext.latex_prose(self.title)}}}",
        ]
        for section in self.sections:
            parts.append(rf"\subsection*{{{mathtext.latex_prose(section.title)}}}")
            for step in section.steps:
                rule, words = mathtext.latex_prose(step.rule), mathtext.latex_prose(step.statement)
                parts.append(rf"\textbf{{{rule}.}} {words}")
                parts.append(mathtext.latex_display(_lines(step)))
            if section.result_latex:
                parts.append(r"\textbf{Result.}")
                parts.append(mathtext.latex_display(mathtext.break_lines(section.result_latex)))
        parts.append(r"\end{document}")
        return "\n".join(parts) + "\n"

    def to_html(self) -> str:
        """An HTML fragment with native MathML and no script; every text is escaped."""
        parts = ['<article class="derivation">', f"<h2>{mathtext.html_prose(self.title)}</h2>"]
        for section in self.sections:
            parts.append(f'<section class="derivation-section" id="{html.escape(section.key)}">')
            parts.append(f"<h3>{mathtext.html_prose(section.title)}</h3>")
            parts.append('<ol class="steps">')
            for step in section.steps:
                rule, words = html.escape(step.rule), mathtext.html_prose(step.statement)
                parts.append(
                    f'<li><p><span class="rule">{rule}</span> {words}</p>'
                    f'<div class="formula">{mathtext.mathml_display(_lines(step))}</div></li>'
                )
            parts.append("</ol>")
            if section.result_latex:
                formula = mathtext.mathml_display(mathtext.break_lines(section.result_latex))
                parts.append(f'<div class="result formula">{formula}</div>')
            parts.append("</section>")
        parts.append("</article>")
        return "\n".join(parts) + "\n"

    def to_json(self) -> dict[str, Any]:
        """``title`` and one entry per section under its key, all of JSON types."""
        return {"title": self.title, **{s.key: s.to_json() for s in self.sections}}


def _lines(step: Step) -> list[str]:
    """The step's formula in lines of readable length; a long left side has a line of its own."""
    wide = mathtext.visible_length(step.before) > 0.3 * mathtext.LINE_LENGTH
    if step.before and wide and mathtext.visible_length(step.latex) > mathtext.LINE_LENGTH:
        return [*mathtext.break_lines(step.before), *mathtext.break_lines(f"= {step.after}")]
    return mathtext.break_lines(step.latex)


def _text_lines(derivation: Derivation, width: int) -> Iterator[str]:
    title = mathtext.text_prose(derivation.title)
    yield title
    yield "=" * min(len(title), width)
    for number, section in enumerate(derivation.sections, start=1):
        heading = f"{number}. {mathtext.text_prose(section.title)}"
        yield from ("", heading, "-" * min(len(heading), width))
        for step in section.steps:
            words = f"[{step.rule}] {mathtext.text_prose(step.statement)}"
            yield from ("", *textwrap.wrap(words, width))
            wide = mathtext.text_length(step.before) > 0.3 * width
            if wide and mathtext.text_length(step.latex) > width - 4:
                yield from _formula(step.before, width)
                yield from _formula(f"= {step.after}", width)
            else:
                yield from _formula(step.latex, width)
        if section.result_latex:
            yield from ("", "Result:", *_formula(section.result_latex, width))


def _formula(latex: str, width: int) -> Iterator[str]:
    """The formula in indented lines; a term that is still too long is wrapped between factors."""
    for index, line in enumerate(mathtext.break_lines(latex, width - 6, mathtext.text_length)):
        indent = "    " if index == 0 else "      "
        yield from textwrap.wrap(
            mathtext.text_formula(line),
            width,
            initial_indent=indent,
            subsequent_indent="        ",
            break_long_words=False,
            break_on_hyphens=False,
        )
