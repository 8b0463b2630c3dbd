"""Formulas that the engine prints while the manual is built.

* ``{learning-steps} erf 1 2``: sections 1 and 2 of the derivation of the learning dynamics;
* ``{learning-equations} erf`` with any option of ``Problem`` as ``:option: value``;
* ``{gaussian-steps} i3 erf``, or ``{gaussian-steps} erf(x)*y``: the steps to a closed form;
* ``{closed-forms} plateau R Q``: closed forms of the symmetric plateau;
* ``{late-matrices} G H``: matrices of the equations around perfect learning;
* ``{system-equations} adapter B.v u``: of ``examples/systems/adapter.py``, one step, the motion of
  these order parameters, and the means in them (``:NAME: value`` for arguments of ``statement``);
* ``{system-conditions} adapter``: what its limit assumes.
"""

from __future__ import annotations

import html
import re
import runpy
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import sympy as sp
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import symderiv as sd
from symderiv.formula.pasted import build_formula, read_pasted
from symderiv.foundation.documents.written_derivation import Step

_MOMENTS = ("M", "T", "D", "T2", "D2", "eta")
_LETTERS = {
    "eta": r"\eta",
    "T": "T^{(1)}",
    "D": "D^{(1)}",
    "T2": "T^{(2)}",
    "D2": "D^{(2)}",
}
_NAMES = {
    "generalization_error": r"\epsilon_g",
    "unstable_eigenvalue": r"\lambda_\mathrm{esc}",
    "escape_time": r"\tau_\mathrm{esc}",
}


def _formula(text: str, variables: tuple[str, ...]) -> sp.Expr:
    """The expression of an answer's text."""
    return build_formula(read_pasted(text, {v: v for v in variables}).formula, variables)


def _display(latex: str) -> nodes.Node:
    return nodes.math_block(latex, latex, nowrap=False, number=None)


def _sentence(text: str) -> list[nodes.Node]:
    parts = re.split(r"\$([^$]+)\$", text)
    return [
        nodes.math(part, part) if odd % 2 else nodes.Text(html.unescape(part))
        for odd, part in enumerate(parts)
    ]


def _steps(steps: Iterable[Step]) -> list[nodes.Node]:
    found: list[nodes.Node] = []
    for step in steps:
        words = nodes.paragraph()
        words += nodes.strong(step.rule, step.rule.capitalize())
        words += nodes.Text(": ")
        words.extend(_sentence(step.statement))
        found += [words, _display(step.latex)]
    return found


class _Directive(SphinxDirective):
    has_content = True
    required_arguments = 1
    optional_arguments = 0
    final_argument_whitespace = True


class LearningSteps(_Directive):
    def run(self) -> list[nodes.Node]:
        name, *numbers = self.arguments[0].split()
        sections = sd.derive(name).derivation.sections
        return [node for number in numbers for node in _steps(sections[int(number) - 1].steps)]


class LearningEquations(_Directive):
    def run(self) -> list[nodes.Node]:
        options = dict(line.strip(": ").split(": ", 1) for line in self.content)
        values = {k: _value(v) for k, v in options.items()}
        found = sd.Problem(
            self.arguments[0], **{"students": 2, "teachers": 2, "learning_rate": 0.1, **values}
        ).equations
        where = nodes.paragraph("where", "where")
        return [
            *(_display(e.latex) for e in found.equations),
            where,
            *(_display(e.latex) for e in found.definitions),
        ]


def _value(text: str) -> Any:
    if text in ("true", "false"):
        return text == "true"
    if text.startswith("spectrum "):
        return sd.Spectrum(eigenvalues=[float(x) for x in text.split()[1:]], dimension=100)
    try:
        return int(text) if text.isdigit() else float(text)
    except ValueError:
        return text


class GaussianSteps(_Directive):
    def run(self) -> list[nodes.Node]:
        words = self.arguments[0].split()
        if words[0] in ("i2", "i3", "i4"):
            return _steps(sd.integral(words[0], words[1]).steps)
        return _steps(sd.mean(self.arguments[0], covariance=None).steps)


class ClosedForms(_Directive):
    def run(self) -> list[nodes.Node]:
        words = self.arguments[0].split()
        found = sd.plateau(
            units=3, learning_rate="1/10", distinct_eigenvalues=10, exponent=1
        ).closed_forms
        letters = {sp.Symbol(k, real=True): latex for k, latex in _LETTERS.items()}
        return [
            _display(
                f"{_NAMES.get(name, name)} = "
                + sp.latex(_formula(found[name], _MOMENTS), symbol_names=letters)
            )
            for name in words[1:]
        ]


class LateMatrices(_Directive):
    def run(self) -> list[nodes.Node]:
        found = sd.late(units=2, distinct_eigenvalues=1, exponent=1).matrices
        return [_display(_matrix(name, found[name])) for name in self.arguments[0].split()]


def _matrix(name: str, rows: list[list[str]]) -> str:
    entries = [[sp.latex(_formula(entry, ("M",))) for entry in row] for row in rows]
    body = r" \\ ".join(" & ".join(row) for row in entries)
    return rf"{name} = \begin{{pmatrix}} {body} \end{{pmatrix}}"


# What is longer is scrolled further than it is read.
_LONGEST = 2600


def _system(name: str, options: Iterable[str] = ()) -> sd.System:
    """The statement of an example."""
    path = Path(__file__).parents[3] / "examples" / "systems" / f"{name}.py"
    pairs = (line.strip(": ").split(": ", 1) for line in options)
    system: sd.System = runpy.run_path(str(path))["statement"](
        **{key: _value(value) for key, value in pairs}
    )
    return system


class SystemEquations(_Directive):
    def run(self) -> list[nodes.Node]:
        name, *wanted = self.arguments[0].split()
        system = _system(name, self.content)
        sections = {s.title: s.steps for s in system.equations.derivation.sections}
        motion = [step for each in wanted for step in system.equations.motion_of(each)]
        means = sections.get("Their means", ())
        shown = [step for step in means if len(step.latex) <= _LONGEST]
        found = _steps([*sections["One step"], *motion, *shown])
        if len(shown) < len(means):
            rest = "Longer means are left out here; P.equations shows all of them."
            found.append(nodes.paragraph(rest, rest))
        return found


class SystemConditions(_Directive):
    def run(self) -> list[nodes.Node]:
        points = nodes.bullet_list()
        for sentence in _system(self.arguments[0], self.content).conditions:
            item = nodes.list_item()
            item += nodes.paragraph(sentence, sentence)
            points += item
        return [points]


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("learning-steps", LearningSteps)
    app.add_directive("learning-equations", LearningEquations)
    app.add_directive("gaussian-steps", GaussianSteps)
    app.add_directive("closed-forms", ClosedForms)
    app.add_directive("late-matrices", LateMatrices)
    app.add_directive("system-equations", SystemEquations)
    app.add_directive("system-conditions", SystemConditions)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
