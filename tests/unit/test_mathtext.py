"""LaTeX formulas in a terminal, in MathML, and broken into lines."""

import re
from xml.etree import ElementTree

import pytest

from symderiv.foundation.documents import mathparse, mathtext

NAMESPACE = "{http://www.w3.org/1998/Math/MathML}"


@pytest.mark.parametrize(
    ("latex", "text"),
    [
        (
            r"\frac{2}{\pi} \arcsin{\left(\frac{c_{12}}{\sqrt{c_{11} + 1}} \right)}",
            "2/π arcsin(c₁₂/√(c₁₁ + 1))",
        ),
        (
            r"\frac{d R_{in}}{d \alpha} = - \eta \sum_{j=1}^{K} A_{ij}",
            "dRᵢₙ/dα = - η Σ_{j = 1}^K Aᵢⱼ",
        ),
        (r"\frac{a + b}{c}", "(a + b)/c"),
        (r"\sqrt[3]{x} \tilde{g}(y_n)", "∛x g̃(yₙ)"),
        (r"\left\langle \delta^{2} \right\rangle \leq 1", "⟨δ²⟩ ≤ 1"),
        (r"\mathrm{sgn}(x) \operatorname{erf}^{2}{\left(x \right)}", "sgn(x) erf²(x)"),
        (r"x^{\prime}, g'(x)", "x′, g′(x)"),
        ("", ""),
    ],
)
def test_formulas_read_well_in_a_terminal(latex: str, text: str) -> None:
    assert mathtext.text_formula(latex) == text


def _tree(latex: str) -> ElementTree.Element:
    return ElementTree.fromstring(mathtext.mathml(latex))


def _texts(latex: str, tag: str) -> list[str]:
    return [element.text or "" for element in _tree(latex).iter(f"{NAMESPACE}{tag}")]


def test_operator_names_are_identifiers_so_that_no_relation_space_surrounds_them() -> None:
    assert "erf" in _texts(r"\operatorname{erf}{\left(x \right)}", "mi")
    assert "sgn" in _texts(r"\mathrm{sgn}(x)", "mi")


def test_angle_brackets_are_operators() -> None:
    for opened, closed in ((r"\langle", r"\rangle"), (r"\Bigl\langle", r"\Bigr\rangle")):
        angles = f"{opened} x {closed}"
        assert {"⟨", "⟩"} <= set(_texts(angles, "mo"))
    assert {"{", "}"} <= set(_texts(r"\Bigl\{ x \Bigr\}", "mo"))


def test_upright_letters_keep_their_shape() -> None:
    (d,) = (e for e in _tree(r"\mathrm{d} x").iter(f"{NAMESPACE}mi") if e.text == "d")
    assert d.get("mathvariant") == "normal"


def test_bold_letters_become_characters_of_their_own() -> None:
    assert _texts(r"\boldsymbol{\xi}", "mi") == ["𝝃"]


@pytest.mark.parametrize("name", ["aligned", "align", "cases", "matrix", "pmatrix"])
def test_tables_have_cells_and_no_stray_separators(name: str) -> None:
    latex = rf"\begin{{{name}}} a & b \\ c & d \end{{{name}}}"
    assert len(list(_tree(latex).iter(f"{NAMESPACE}mtd"))) == 4
    assert "&" not in mathtext.mathml(latex).replace("&amp;", "&")


def test_a_sign_after_a_relation_is_a_prefix() -> None:
    minus = next(e for e in _tree("x = - y").iter(f"{NAMESPACE}mo") if e.text == "−")
    assert minus.get("form") == "prefix"


@pytest.mark.parametrize("latex", [r"\frac{a}{", r"\middle| x", r"}{", r"\left( x"])
def test_a_formula_beyond_the_converter_is_shown_as_it_is(latex: str) -> None:
    shown = mathtext.mathml(latex)
    assert shown.startswith(("<code>", "<math"))


LONG = " + ".join(rf"a_{{{k}}} \sqrt{{b_{{{k}}} + 1}}" for k in range(40))


@pytest.mark.parametrize(
    "latex",
    [
        f"x = {LONG}",
        rf"\left({LONG}\right) \arcsin{{\left(x \right)}}",
        rf"\frac{{{LONG}}}{{c + 1}}",
        rf"\frac{{\pi {{\left({LONG}\right)}}}}{{c + 1}} + 3",
    ],
)
def test_long_formulas_break_into_lines_that_are_each_complete(latex: str) -> None:
    lines = mathtext.break_lines(latex)
    assert len(lines) > 1
    for line in lines:
        assert mathtext.visible_length(line) <= mathtext.LINE_LENGTH
        assert line.count("{") == line.count("}")
        assert line.count(r"\left") == line.count(r"\right")
    joined = "".join(lines)
    assert set(re.findall(r"a_\{\d+\}", joined)) == {f"a_{{{k}}}" for k in range(40)}


def test_short_formulas_and_tables_are_not_broken() -> None:
    table = r"\begin{matrix}" + LONG + r"\end{matrix}"
    assert mathtext.break_lines("a + b") == ["a + b"]
    assert mathtext.break_lines(table) == [table]


def test_several_equations_break_between_them_first() -> None:
    latex = rf"A = {'x ' * 45},\quad B = {'y ' * 45}"
    assert [line[0] for line in mathtext.break_lines(latex)] == ["A", "B"]


def test_a_unary_sign_does_not_start_a_term() -> None:
    assert mathparse.top_level_terms("x = - a + b") == ["x", "= - a", "+ b"]


def test_a_fraction_of_one_average_keeps_its_braces_where_brackets_are_opened() -> None:
    half = r"\frac{\left\langle a^{2} \right\rangle}{2} \sqrt{\left(b + c\right)}"
    whole = rf"x = y \left({' + '.join([half] * 12)}\right)"
    lines = mathtext.break_lines(whole)
    assert len(lines) > 1
    text = " ".join(map(mathtext.text_formula, lines))
    assert text == mathtext.text_formula(whole)
    assert text.count("(⟨a²⟩)/2 √((b + c))") == 12


def test_words_stand_apart_from_the_factors_beside_them() -> None:
    space = '<mspace width="0.167em" />'
    assert mathtext.mathml(r"\eta \operatorname{gain} h").count(space) == 2
    assert space not in mathtext.mathml(r"\operatorname{erf}{\left(x \right)}")
