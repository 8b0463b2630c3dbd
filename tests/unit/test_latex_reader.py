"""Pasted formulas: what is read and how, what is refused, and that nothing else ever happens."""

from __future__ import annotations

import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from symderiv.formula import parse_formula
from symderiv.formula.pasted import build_formula, read_definitions
from symderiv.foundation.errors import FormulaError

NAMES = {
    f"{base}{i}{j}": f"c{min(i, j)}{max(i, j)}"
    for base in ("C", "c", "Q")
    for i in range(1, 5)
    for j in range(1, 5)
} | {"Cuv": "c12", "rho": "rho", "x": "x", "e1": "e1"}
VARIABLES = sorted(set(NAMES.values()))


def read(text: str, *where: str) -> sp.Expr:
    return build_formula(read_definitions(text, NAMES, where)[1], VARIABLES)


def refusal(text: str, *where: str) -> str:
    with pytest.raises(FormulaError) as error:
        read(text, *where)
    message = str(error.value)
    assert "\n" not in message
    return message


def same(text: str, meaning: str) -> bool:
    """Is the formula what the allow-list reader makes of ``meaning``?"""
    inner = {"ASIN": sp.asin, "ACOS": sp.acos}
    expected = parse_formula(meaning, (*VARIABLES, "ASIN", "ACOS"))
    assert not expected.has(*(sp.Symbol(name, real=True) for name in inner))
    return bool(read(text) == expected)


@pytest.mark.parametrize(
    ("latex", "meaning"),
    [
        (r"C_{12}", "c12"),
        (r"C_{21}", "c12"),
        (r"C_{1,2}", "c12"),
        (r"C_{uv}", "c12"),
        (r"Q_{11} Q_{22}", "c11*c22"),
        ("c12^2", "c12**2"),
        (r"C_{12}^2", "c12**2"),
        (r"C^2_{12}", "c12**2"),
        (r"\frac{1}{2}", "1/2"),
        (r"\frac12", "1/2"),
        (r"\dfrac1{C_{11}}\tfrac{C_{12}}3", "c12/(3*c11)"),
        (r"\frac2\pi", "2/pi"),
        (r"\sqrt{C_{11}}", "sqrt(c11)"),
        (r"\sqrt2", "sqrt(2)"),
        (r"\sqrt\rho", "sqrt(rho)"),
        (r"\frac\rho\pi + x^\rho", "rho/pi + x**rho"),
        (r"\sqrt[3]{C_{11}}", "c11**(1/3)"),
        (r"\left(1+C_{11}\right)\left[1+C_{22}\right]", "(1+c11)*(1+c22)"),
        (r"\Big(1+C_{11}\Big)\,\bigl(1+C_{22}\bigr)", "(1+c11)*(1+c22)"),
        (r"\left\{1+\rho\right\}", "1+rho"),
        (r"\left|C_{12}\right|", "Abs(c12)"),
        (r"C_{11}\cdot C_{12}\times 3", "3*c11*c12"),
        (r"2C_{12}C_{13}C_{23}", "2*c12*c13*c23"),
        (r"-C_{12}+C_{13}-2", "-c12+c13-2"),
        (r"C_{12}/2", "c12/2"),
        (r"C_{12}/2\cdot x", "c12/2*x"),
        (r"e^{-C_{11}/2}", "exp(-c11/2)"),
        (r"\mathrm{e}^{x}", "exp(x)"),
        (r"\exp\left(-x\right)", "exp(-x)"),
        (r"\ln(1+C_{11}) + \log{x}", "log(1+c11)+log(x)"),
        (r"\operatorname{erf}\left(\frac{x}{\sqrt{2}}\right)", "erf(x/sqrt(2))"),
        (r"\mathrm{erf}(x)", "erf(x)"),
        (r"\arctan\frac{C_{12}}{C_{11}}", "atan(c12/c11)"),
        (r"\tan^{-1}(x)", "atan(x)"),
        (r"\sin^2(x)+\cos^{2}x", "sin(x)**2+cos(x)**2"),
        (r"\Phi(x)", "Phi(x)"),
        (r"(1+x)^{-\frac12}", "(1+x)**(-1/2)"),
        (r"{C_{12}}^{2}", "c12**2"),
        (r"0.1 x^{1.5}", "x**(3/2)/10"),
        (r"$$x\tag{3},$$", "x"),
        (r"x \quad \! \; + 1.", "x+1"),
    ],
)
def test_latex_means_what_it_looks_like(latex: str, meaning: str) -> None:
    assert same(latex, meaning)


@pytest.mark.parametrize(
    "text",
    [
        r"\arcsin\left(\frac{C_{12}}{2}\right)",
        r"\arcsin\frac{C_{12}}{2}",
        r"\sin^{-1}\left(\tfrac{1}{2}C_{12}\right)",
        r"\operatorname{asin}{\left(\frac{c_{12}}{2} \right)}",
        r"\frac\pi2-\arccos(C_{12}/2)",
        r"\frac{\pi}{2}-\cos^{-1}(C_{12}/2)",
        "asin(c12/2)",
        "arcsin(C_21/2)",
        "pi/2 - acos(C12/2)",
    ],
)
def test_inverse_sines_are_read_in_every_spelling(text: str) -> None:
    c12 = sp.Symbol("c12", real=True)
    assert sp.simplify(read(text) - sp.asin(c12 / 2)).rewrite(sp.asin) == 0


def test_definitions_come_in_any_order_and_use_one_another() -> None:
    text = r"A_4=(1+C_{11})A_{0}; A_0=1+C_{22}; I(C)=\frac{1}{\sqrt{A_4}}"
    assert read(text) == parse_formula("1/sqrt((1+c11)*(1+c22))", VARIABLES)
    assert read("A_0/A4", "A_0 = c11", r"A_{4} = C_{22}^2") == parse_formula(
        "c11/c22**2", VARIABLES
    )


@pytest.mark.parametrize(
    "text",
    [
        r"\frac{1}{\sqrt{A_4 A_0}},\quad A_4=1+C_{11}, A_0=1+C_{22}",
        r"\frac{1}{\sqrt\Lambda}, \quad \Lambda = \rho(1+C_{11}), \rho=1+C_{22}",
        r"I(x,y)=\frac{1}{\sqrt{\Lambda_{4}\rho}},\; \Lambda_4=1+C_{11},~\rho = 1 + C_{22}",
        "1/sqrt(a*b), a=1+c11, b=1+c22",
    ],
)
def test_definitions_may_stand_behind_commas(text: str) -> None:
    names = {name: mean for name, mean in NAMES.items() if name != "rho"}
    found = build_formula(read_definitions(text, names)[1], VARIABLES)
    assert found == parse_formula("1/sqrt((1+c11)*(1+c22))", VARIABLES)


@pytest.mark.parametrize(
    ("text", "piece"),
    [
        (r"2|C_{12}|", r"'|' at position 2: write \left| ... \right| or abs(...)"),
        ("x, c12, A=1", "not allowed"),
        (r"C_{12}/2 C_{11}", r"'C' at position 10: is it below the division line"),
        (r"\sin(x)^2", r"'^' at position 8"),
        (r"\arcsin x C_{12}", r"'C' at position 11: does it belong to the argument"),
        (r"C_56^2", r"'56' at position 3: write braces"),
        (r"x^12", r"'12' at position 3: write braces"),
        (r"Q_{12}^{(2)}", r"'(' at position 9: a superscript in brackets is a label"),
        (r"\frac{a&b}{2}", r"'&' at position 8"),
        (r"x \\ y", "there are two formulas"),
        (r"\left(x", r"the end at position 8: '\\right' is missing"),
        (r"\left(x\right]", r"']' at position 14"),
        (r"(x^{2}", r"the end at position 7: ')' is missing for '(' at position 1"),
        (r"\foo{x}", r"'\\foo' at position 1: this command is not read"),
        (r"\frac{1}{C_{15}}", r"unknown name 'C_{15}'"),
        (r"\int x", r"'\\int' at position 1"),
        (r"x^{2}^{3}", r"two powers in a row"),
        (r"\tan(x)", r"this function is not read"),
        (r"\log^{-1}(x)", r"an inverse function or 1 over it"),
        (r"x^{}", r"'}' at position 4"),
        (r"\sqrt[1]{x}", r"the order of a root"),
        (r"\sqrt\rho_1", r"'\\sqrt' needs its argument in braces"),
        (r"x \cdot -\rho", r"'-' at position 9: a sign after an operator needs brackets"),
        ("asin(2)", "not a finite real number"),
        ("asin(c11", "a bracket is not closed"),
        ("asin(c11, c12)", "asin takes 1 argument, not 2"),
        ("c12 asin(c12)", "an operator is missing"),
        ("d12 + 1", "unknown name 'd12'"),
        ("_call0 + asin(x)", "names begin with a letter"),
        ("A=B+1; B=A; A", "refers to itself"),
        ("A=1; A=2; A", "defined twice"),
        ("C_{12}=1; x", "already has a meaning"),
        ("x; \\rho", "there are two formulas"),
        ("", "empty"),
        ("x" * 3000, "longer than 2000"),
        ("x;" * 5000, "over 8000"),
        (r"9^{9^{9^9}}", "9"),
        ("{" * 30 + "x" + "}" * 30, "nested deeper"),
        (r"\sin" * 60 + "x", "nested deeper"),
        ("asin(" * 30 + "x" + ")" * 30, "nested deeper"),
        ("1/(asin(x)-asin(x))", "it divides by zero"),
    ],
)
def test_refusals_name_the_token_and_the_position(text: str, piece: str) -> None:
    assert piece in refusal(text)


def test_definitions_cannot_double_a_formula_without_end() -> None:
    doubling = "A0=x;" + "".join(f"A{k}=A{k - 1}*A{k - 1};" for k in range(1, 60)) + "A59"
    assert "pieces" in refusal(doubling)
    chain = "B0=x;" + "".join(f"B{k}=1+sin(B{k - 1});" for k in range(1, 200)) + "B199"
    assert "nested deeper" in refusal(chain)


def test_nothing_is_evaluated_as_python() -> None:
    for text in ("__import__('os')", "x.__class__", r"\input{secret}", "lambda: 0", "[x][0]"):
        refusal(text)


def read_or_refused(text: str) -> bool:
    """Whether a text is read, or refused in one line of ASCII; other errors pass through."""
    try:
        return isinstance(read(text), sp.Expr)
    except FormulaError as error:
        message = str(error)
    return message.isascii() and "\n" not in message


PIECES = r"""\frac \sqrt \arcsin \sin^{-1} \left( \right) \left \right { } ( ) [ ] ^ _ _{12} C_{12}
    c12 \pi \cdot + - * / ** , ; = 1 2 12 0 0.5 \exp e^ \operatorname{erf} \mathrm \rho | \log ^{-1}
    & \\ asin( SignMean4( OwenT( x A= A_4 A_4= \, \tag{1} $ . ' % 99999999999 \over exp(
    Heaviside( sqrt("""


@settings(max_examples=250, deadline=None)
@given(st.lists(st.sampled_from(PIECES.split()), max_size=25).map(" ".join))
def test_fragments_in_any_order_are_read_or_refused_in_one_line(text: str) -> None:
    assert read_or_refused(text)


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=60) | st.text(alphabet="\\{}^_()[]CQ12x=;+-*/ afrcsqt.,|$", max_size=60))
def test_any_text_is_read_or_refused_in_one_line(text: str) -> None:
    assert read_or_refused(text)
