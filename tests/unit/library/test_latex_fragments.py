"""LaTeX fragments: chosen equations, labels, the letters of papers, integrals written out."""

from __future__ import annotations

import re

import latex2mathml.converter
import pytest

import symderiv as sd
from symderiv.library.latex_fragments import _PAPERS, NOTATIONS

COMMITTEE = sd.Problem(
    "erf", students=2, teachers=3, learning_rate=0.5, student_weights=1, teacher_weights=1
)


def rows(text: str) -> list[str]:
    body = text.removeprefix("\\begin{align}\n").removesuffix("\\end{align}\n")
    return [row.strip() for row in body.split(r"\\")]


@pytest.mark.parametrize("notation", NOTATIONS)
def test_every_row_is_latex_and_every_equation_has_its_label(notation: str) -> None:
    text = COMMITTEE.export("latex", notation=notation, labels="eq").to_source()
    labels = re.findall(r"\\label{eq:(.*?)}", text)
    assert labels == ["dQ", "dR", "error", "A", "B", "Gamma", "I2", "I4", "g"]
    for row in rows(text):
        clean = re.sub(r"\\label{.*?}|\\nonumber|&=?|\\quad", " ", row)
        assert clean.count("{") == clean.count("}")
        assert "<math" in latex2mathml.converter.convert(clean)


def test_no_two_indices_become_one() -> None:
    for notation in _PAPERS.values():
        theirs = [notation.indices.get(index, index) for index in "ijpqnm"]
        assert len(set(theirs)) == 6


def test_letters_of_papers_stand_for_ours() -> None:
    """The gradient B_in, by hand."""
    chosen = {
        notation: rows(COMMITTEE.export("latex", notation=notation, equations=["B"]).to_source())[0]
        for notation in NOTATIONS
    }
    mean = r"\left\langle g'({}) \tilde g'({}) \right\rangle"
    ours = mean.format("x_{i}", "y_{n}")
    assert chosen["symderiv"] == rf"B_{{in}} &= - v_{{i}} \tilde v_{{n}} {ours}"
    assert chosen["saad-solla"] == rf"B_{{in}} &= - {ours}"
    theirs = mean.format(r"\lambda^{k}", r"\nu^{m}")
    assert chosen["goldt"] == rf"B^{{km}} &= - v^{{k}} \tilde v^{{m}} {theirs}"


def test_an_integral_that_is_written_out_is_the_integral() -> None:
    text = COMMITTEE.export("latex", equations=["I2"], integrals="written").to_source()
    formula = rows(text)[0].partition("&=")[2].strip()
    assert sd.check("i2", formula, activation="erf").verdict == "holds"


@pytest.mark.parametrize(
    ("changes", "asked", "argument"),
    [
        ({"student_weights": 0.5}, {"notation": "saad-solla"}, "notation"),
        ({}, {"notation": "landau"}, "notation"),
        ({}, {"equations": ["dX"]}, "equations"),
        ({}, {"integrals": "numerically"}, "integrals"),
        ({"inputs": sd.Spectrum([1.5, 0.5])}, {"notation": "goldt"}, "notation"),
    ],
)
def test_what_cannot_be_said_is_refused(
    changes: dict[str, object], asked: dict[str, object], argument: str
) -> None:
    with pytest.raises(sd.InputError) as caught:
        COMMITTEE.replace(**changes).export("latex", **asked)
    assert caught.value.argument == argument
