"""Derivations as text, LaTeX, HTML and JSON."""

import json
from xml.etree import ElementTree

import pytest

from symderiv.foundation.documents.written_derivation import Derivation, Section, Step

STEP = Step("tilt", "The factor $e^{-u^2/2}$ changes C & nothing else.", r"I_2", r"\frac{a}{b}")
DEFINITION = Step("definition", "A name.", "", r"x_i = \sqrt{c_{11}}")
DERIVATION = Derivation(
    "Averages <of> erf_x",
    (Section("First part", "first", (STEP, DEFINITION), r"\frac{2}{\pi} \arcsin(x)"),),
)


def test_a_step_joins_before_and_after_and_a_definition_stands_alone() -> None:
    assert STEP.latex == r"I_2 = \frac{a}{b}"
    assert DEFINITION.latex == r"x_i = \sqrt{c_{11}}"


def test_text_shows_rules_statements_and_formulas_in_unicode() -> None:
    text = DERIVATION.to_text()
    assert "[tilt] The factor e^{-u²/2} changes C & nothing else." in text
    assert "I₂ = a/b" in text
    assert "xᵢ = √c₁₁" in text
    assert "\\" not in text


def test_text_keeps_to_the_asked_width() -> None:
    long = " + ".join(rf"\frac{{a_{{{k}}}}}{{b_{{{k}}} + c}}" for k in range(30))
    wide = Derivation("t", (Section("s", "s", (Step("r", "word " * 40, "x", long),)),))
    assert max(map(len, wide.to_text(width=60).splitlines())) <= 60


def test_latex_is_a_complete_document_with_escaped_words() -> None:
    latex = DERIVATION.to_latex()
    assert latex.startswith(r"\documentclass")
    assert latex.rstrip().endswith(r"\end{document}")
    assert r"C \& nothing" in latex
    assert r"\textless{}of\textgreater{} erf\_x" in latex
    assert latex.count(r"\[") == latex.count(r"\]") == 3


def test_html_is_well_formed_has_mathml_and_no_script() -> None:
    html = DERIVATION.to_html()
    root = ElementTree.fromstring(html)
    tags = {element.tag.rpartition("}")[2] for element in root.iter()}
    assert {"math", "mfrac", "msqrt"} <= tags
    assert "script" not in tags
    assert "&lt;of&gt;" in html


@pytest.mark.parametrize(
    "hostile",
    [r"\text{<script>alert(1)</script>}", r"<img src=x onerror=alert(1)>", r"\frac{<b>}{&lt;}"],
)
def test_html_escapes_what_formulas_and_words_contain(hostile: str) -> None:
    step = Step(hostile, hostile, "", hostile)
    html = Derivation(hostile, (Section(hostile, '"><b>', (step,), hostile),)).to_html()
    root = ElementTree.fromstring(html)
    tags = {element.tag.rpartition("}")[2] for element in root.iter()}
    assert not tags & {"script", "img", "b"}


def test_json_has_the_sections_as_keys() -> None:
    data = json.loads(json.dumps(DERIVATION.to_json()))
    assert set(data) == {"title", "first"}
    assert data["first"]["steps"][0] == {
        "rule": "tilt",
        "statement": STEP.statement,
        "latex": STEP.latex,
    }
