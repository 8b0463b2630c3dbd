r"""A derivation as data: titled sections of steps, and the document that writers show.

The base level of the package: the Gaussian calculus and the learning rules write :class:`Step`
objects, everything above shows them. Formulas are LaTeX strings, so nothing here needs SymPy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from symderiv.foundation.documents.document import Formula, Listing, Paragraph, Part


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
        """Return the step as one line, ``before = after``, or ``after`` alone for a definition."""
        return f"{self.before} = {self.after}" if self.before else self.after

    def to_json(self) -> dict[str, str]:
        """Return the step as a JSON object with the keys ``rule``, ``statement``, ``latex``."""
        return {"rule": self.rule, "statement": self.statement, "latex": self.latex}


@dataclass(frozen=True)
class Section:
    """A titled run of steps; ``key`` is its name in JSON, ``result_latex`` its final formula."""

    title: str
    key: str
    steps: tuple[Step, ...]
    result_latex: str = ""

    @property
    def document(self) -> Part:
        """Return the section as a document: its steps, each a sentence and a formula, and the
        result.
        """
        steps = [
            (Paragraph(step.statement, step.rule), Formula(step.after, step.before))
            for step in self.steps
        ]
        result = (Formula(self.result_latex, label="Result"),) if self.result_latex else ()
        return Part(self.title, (Listing(steps), *result), self.key)

    def to_json(self) -> dict[str, Any]:
        """Return title, steps and result as JSON types."""
        return {
            "title": self.title,
            "steps": [step.to_json() for step in self.steps],
            "result": self.result_latex,
        }


@dataclass(frozen=True)
class Derivation:
    """A derivation: sections in reading order, under one title."""

    title: str
    sections: tuple[Section, ...]

    @property
    def document(self) -> Part:
        """Return the derivation as a document."""
        return Part(self.title, tuple(section.document for section in self.sections))

    def to_text(self, width: int = 88) -> str:
        """Return the derivation as plain Unicode text for a terminal of ``width`` columns."""
        from symderiv.foundation.documents.text_writer import text

        return text(self.document, width)

    def to_latex(self) -> str:
        """Return a complete LaTeX article that needs only amsmath and amssymb."""
        from symderiv.foundation.documents.latex_writer import article

        return article(self.document)

    def to_html(self) -> str:
        """Return an HTML fragment with native MathML and no script; every text is escaped."""
        from symderiv.foundation.documents.html_writer import fragment

        return fragment(self.document)

    def to_json(self) -> dict[str, Any]:
        """Return ``title`` and one entry per section under its key, all of JSON types."""
        return {"title": self.title, **{s.key: s.to_json() for s in self.sections}}
