r"""Formulas as people paste them from papers, and what they must mean."""

from __future__ import annotations

import pytest
import sympy as sp

import symderiv as sd
from symderiv.formula import parse_formula
from symderiv.formula.pasted import build_formula, read_pasted
from symderiv.foundation.errors import FormulaError

NAMES = {
    f"{base}{i}{j}": f"c{min(i, j)}{max(i, j)}"
    for base in ("C", "c", "Q", "Sigma")
    for i in range(1, 5)
    for j in range(1, 5)
} | {"Cuv": "c12", "Cuu": "c11", "Cvv": "c22", "rho": "rho"}
VARIABLES = sorted(set(NAMES.values()))

I2 = "2/pi*ASIN(c12/sqrt((1+c11)*(1+c22)))"
I3 = "2/pi*(c23*(1+c11)-c12*c13)/((1+c11)*sqrt((1+c11)*(1+c33)-c13**2))"
BODY = r"\frac{2}{\pi}\arcsin\left(\frac{C_{12}}{\sqrt{(1+C_{11})(1+C_{22})}}\right)"
ROOT = r"\sqrt{(1+C_{11})(1+C_{33})-C_{13}^2}"

FORMS = [
    # displays
    (rf"${BODY}$", I2),
    (rf"$$ {BODY} $$", I2),
    (rf"\[ {BODY} \]", I2),
    (rf"\[{BODY}\]", I2),
    (rf"\({BODY}\)", I2),
    (rf"\begin{{equation}}{BODY}\end{{equation}}", I2),
    (rf"\begin{{equation*}} I_2 = {BODY}. \end{{equation*}}", I2),
    (rf"\begin{{equation}}\label{{eq:i2}} I_2={BODY},\end{{equation}}", I2),
    (rf"\begin{{align}} I_2 &= {BODY} \,. \end{{align}}", I2),
    (rf"\begin{{align}} I_2 &= {BODY} \nonumber\\ \end{{align}}", I2),
    (rf"\begin{{align*}} I_{{2}} &\equiv {BODY} \tag{{3}} \end{{align*}}", I2),
    (rf"\begin{{eqnarray}} I_2 & = & {BODY} \end{{eqnarray}}", I2),
    (rf"\begin{{gather}} I_2 = {BODY} \notag \end{{gather}}", I2),
    (rf"\begin{{equation}}\begin{{split}} I_2 &= {BODY}\end{{split}}\end{{equation}}", I2),
    (rf"\begin{{equation}}\begin{{aligned}}[t] I_2 &= {BODY}\end{{aligned}}\end{{equation}}", I2),
    (rf"\begin{{alignat}}{{2}} I_2 &= {BODY}\end{{alignat}}", I2),
    (rf"\begin{{subequations}}\begin{{align}} I_2 ={BODY}\end{{align}}\end{{subequations}}", I2),
    ("\\begin{equation} % the first integral\n  I_2 = " + BODY + " % done\n\\end{equation}", I2),
    # rows
    (r"\begin{multline} C_{11} C_{22} \\ + 2 C_{12}^2 \end{multline}", "c11*c22+2*c12**2"),
    (r"\begin{split} x_4 &= C_{11} C_{22} \\ &\quad + 2 C_{12}^2, \end{split}", "c11*c22+2*c12**2"),
    (
        r"\begin{align} F &= C_{11} C_{22} \nonumber \\[2pt] &\qquad - C_{12}^2 \end{align}",
        "c11*c22-c12**2",
    ),
    (r"\begin{align} F &= C_{11} C_{22} - \\ &\quad C_{12}^2 \end{align}", "c11*c22-c12**2"),
    (
        r"\begin{aligned} F =& \Bigl( C_{11} \\ & + C_{22} \Bigr) C_{12} \end{aligned}",
        "(c11+c22)*c12",
    ),
    (r"\begin{align} A &= 1+C_{11}, \\ B &= 1+C_{22}, \\ F &= A B \end{align}", "(1+c11)*(1+c22)"),
    (r"\begin{align} I_2 &= \frac{C_{12}}{A}, \\ A &= 1+C_{11}. \end{align}", "c12/(1+c11)"),
    (r"I_2 = \frac{C_{12}}{A}, \qquad A = 1+C_{11}", "c12/(1+c11)"),
    (r"I_2 = \frac{C_{12}}{A} \quad\text{with}\quad A = 1+C_{11}", "c12/(1+c11)"),
    (r"I_2 = \frac{C_{12}}{A},\ \text{ where } A = 1+C_{11}", "c12/(1+c11)"),
    (
        r"I_2 = \frac{C_{12}}{AB},\quad A = 1+C_{11},\quad\text{and}\quad B=1+C_{22}",
        None,
    ),  # AB is one name in TeX's letters: refused, not guessed
    (
        r"I_2 = \frac{C_{12}}{A B},\quad A = 1+C_{11},\quad\text{and}\quad B=1+C_{22}",
        "c12/((1+c11)*(1+c22))",
    ),
    (r"I_2 = \frac{1}{2} C_{12} + \frac12 C_{12} = C_{12}", "c12"),
    # spacing, punctuation
    (r"I_2 = C_{12} \qquad (3)", "c12"),  # the number of the equation is no factor
    (r"C_{12} \quad C_{11}", None),
    (r"C_{12} + \quad C_{11}", "c12+c11"),
    (r"C_{12} \quad - C_{11}", "c12-c11"),
    (r"C_{12} \eqno(3)", "c12"),
    (r"C_{12}\,C_{11}\;C_{22}\!", "c12*c11*c22"),
    (r"C_{12}\:C_{11}\ C_{22}\enspace", "c12*c11*c22"),
    (r"C_{12}\quad\,.", "c12"),
    (r"C_{12}\;,", "c12"),
    (r"C_{12}~.", "c12"),
    (r"C_{12}\text{ .}", "c12"),
    (r"C_{12}\hspace{1cm}+C_{11}", "c12+c11"),
    (r"{}C_{12}", None),
    (r"C_{12} \phantom{x} + 1", "c12+1"),
    (r"\displaystyle \frac{C_{12}}{2}", "c12/2"),
    # brackets
    (r"\left(C_{11}+1\right)\bigl[C_{22}+1\bigr]", "(c11+1)*(c22+1)"),
    (r"\Biggl\{ C_{11}+1 \Biggr\}", "c11+1"),
    (r"\big(C_{11}+1\big) C_{12}", "(c11+1)*c12"),
    (r"\left. C_{11}+1 \right.", "c11+1"),
    (r"\left[C_{11}+\left(1+C_{22}\right)\right]", "c11+1+c22"),
    (r"|C_{12}|", None),  # where it closes is not said
    (r"\left|C_{12}\right|", "Abs(c12)"),
    (r"\lvert C_{12} \rvert", "Abs(c12)"),
    # fractions, roots, powers
    (r"\dfrac{1}{2}C_{12}", "c12/2"),
    (r"\tfrac12 C_{12}", "c12/2"),
    (r"\frac1{2}C_{12}", "c12/2"),
    (r"\nicefrac{1}{2} C_{12}", "c12/2"),
    (r"{2 \over \pi} C_{12}", "2*c12/pi"),
    (r"\sqrt2 C_{12}", "sqrt(2)*c12"),
    (r"\sqrt{1+C_{11}}^{-1}", "1/sqrt(1+c11)"),
    (r"(1+C_{11})^{-1/2}", "(1+c11)**(-1/2)"),
    (r"(1+C_{11})^{-\frac{1}{2}}", "(1+c11)**(-1/2)"),
    (r"(1+C_{11})^\frac32", "(1+c11)**(3/2)"),
    (r"C_{12}^{\,2}", "c12**2"),
    # names
    (r"C_12", "c12"),
    (r"C_{1 2}", "c12"),
    (r"C_{1,2}", "c12"),
    (r"C_{uv}", "c12"),
    (r"C_uv", "c12"),
    (r"\mathrm{C}_{12}", "c12"),
    (r"\mathbf{C}_{12}", "c12"),
    (r"\Sigma_{12}", "c12"),
    (r"{C}_{12}", None),
    # functions
    (r"\operatorname{erf}(C_{12})", "erf(c12)"),
    (r"\mathrm{erf}\left(C_{12}\right)", "erf(c12)"),
    (r"\text{erf}(C_{12})", "erf(c12)"),
    (r"\operatorname{arcsin}(C_{12})", "ASIN(c12)"),
    (r"\sin^{-1}\!\left(C_{12}\right)", "ASIN(c12)"),
    (r"\mathrm{arcsin}\,C_{12}", "ASIN(c12)"),
    (r"\mathop{\mathrm{erf}} (C_{12})", "erf(c12)"),
    (r"\mathop{\rm erf}\nolimits (C_{12})", "erf(c12)"),
    (r"{\rm erf}(C_{12})", "erf(c12)"),
    (r"e^{-C_{12}}", "exp(-c12)"),
    (r"\mathrm{e}^{-C_{12}/2}", "exp(-c12/2)"),
    (r"\exp\!\left[-\frac{C_{12}}{2}\right]", "exp(-c12/2)"),
    (r"\ln(1+C_{11})", "log(1+c11)"),
    # macros in the text
    (r"\newcommand{\erf}{\operatorname{erf}} \erf(C_{12})", "erf(c12)"),
    (r"\newcommand\half{\tfrac12} \half C_{12}", "c12/2"),
    (r"\DeclareMathOperator{\erf}{erf} \erf(C_{12})", "erf(c12)"),
    (r"\DeclareMathOperator*{\asn}{arcsin} \asn(C_{12})", "ASIN(c12)"),
    (r"\def\p{\left(}\def\q{\right)} \p C_{11}+1\q C_{12}", "(c11+1)*c12"),
    (r"\newcommand{\cov}[2]{C_{#1#2}} \cov{1}{2}+\cov12", "2*c12"),
    (r"\newcommand{\a}{\b}\newcommand{\b}{C_{12}} \a", "c12"),
    # whole formulas
    (
        r"I_3 = \frac{2}{\pi} \frac{1}{"
        + ROOT
        + r"} \frac{C_{23}(1+C_{11}) - C_{12} C_{13}}{1+C_{11}}\,.",
        I3,
    ),
    (
        r"\begin{align}I_3 &\equiv \langle g'(u)\, v\, g(w)\rangle \nonumber \\ &= \frac{2}{\pi}"
        r"\frac{C_{23}(1+C_{11})-C_{12}C_{13}}{(1+C_{11})\sqrt{\Lambda_3}},\\ \Lambda_3 &= "
        r"(1+C_{11})(1+C_{33})-C_{13}^2 .\end{align}",
        I3,
    ),
]


def meaning(text: str, *macros: str) -> sp.Expr:
    return build_formula(read_pasted(text, NAMES, (), macros).formula, VARIABLES)


def expected(text: str) -> sp.Expr:
    found = parse_formula(text.replace("ASIN", "atan"), VARIABLES)
    return found.replace(sp.atan, sp.asin) if "ASIN" in text else found


def test_the_table_is_long_enough() -> None:
    assert sum(form[1] is not None for form in FORMS) >= 60


@pytest.mark.parametrize(("text", "wanted"), FORMS, ids=lambda v: ascii(str(v)[:40]))
def test_a_pasted_form_means_what_it_must(text: str, wanted: str | None) -> None:
    if wanted is None:
        with pytest.raises(FormulaError):
            meaning(text)
        return
    assert sp.simplify(meaning(text) - expected(wanted)) == 0


@pytest.mark.parametrize(
    "macro",
    [
        r"\erf=\operatorname{erf}",
        r"\erf = \mathrm{erf}",
        r"\newcommand{\erf}{\operatorname{erf}}",
        r"\DeclareMathOperator{\erf}{erf}",
        r"\def\erf{\mathrm{erf}}",
    ],
)
def test_macros_are_given_beside_the_formula(macro: str) -> None:
    assert meaning(r"\erf(C_{12})", macro) == expected("erf(c12)")


@pytest.mark.parametrize(
    ("text", "macros"),
    [
        (r"\a", [r"\a=\a"]),
        (r"\a", [r"\a=\b\b", r"\b=\a\a"]),
        (r"\a", [r"\a=" + r"\b" * 50, r"\b=" + r"\c" * 50, r"\c=" + "x" * 50]),
        (r"\a", ["a=b"]),
        (r"\a", [r"\a"]),
        (r"\a", [r"\a="]),
        (r"\newcommand{\a}{C_{12} \a", []),
        (r"\newcommand{\a}[2]{#1#2} \a", []),
        (r"\newcommand", []),
        (r"\begin{pmatrix} C_{11} & C_{12} \\ C_{12} & C_{22} \end{pmatrix}", []),
        (r"\begin{cases} 1 & x>0 \\ 0 & x<0 \end{cases}", []),
        (r"\input{secret}", []),
        (r"\write18{ls} C_{12}", []),
        (r"C_{12} \approx C_{11}", []),
        (r"C_{12} \text{ if } C_{11}", []),
        (r"\int C_{12}", []),
        (r"C_{12} \\ C_{11}", []),
        (r"F = C_{11} \\ (C_{22}+1)", []),
        (r"\frac{C_{12}&}{2}", []),
        ("__import__('os')", []),
        (r"\a(C_{12})", [r"\a=__import__"]),
    ],
    ids=lambda v: ascii(str(v)[:30]),
)
def test_what_is_no_formula_is_refused_in_one_line(text: str, macros: list[str]) -> None:
    with pytest.raises(FormulaError) as caught:
        meaning(text, *macros)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


def test_a_left_side_that_names_what_is_asked_is_used_and_others_are_said() -> None:
    right = sd.check("i2", rf"I_2 = {BODY}", "erf")
    assert right.holds
    assert right.notes == ()
    other = sd.check("i2", rf"I_3 = {BODY}", "erf")
    assert other.holds
    assert "not what is asked" in other.notes[0]
    assert "note" in other.to_text()
    mean = sd.check("i2", rf"\langle g(u) g(v)\rangle = {BODY}", "erf")
    assert "was not read" in mean.notes[0]
    chain = sd.check("x*y", "F = 2 C_{12} - C_{12} = C_{12}")
    assert chain.to_dict()["notes"] == [
        "the left side F was not read",
        "not read: 2 C_{12} - C_{12}",
    ]


def test_of_several_equations_the_one_that_is_asked_is_read() -> None:
    three = r"\begin{align} \mathcal{I}_2 &= C_{12}, \\ I_3 &= C_{23}, \\ I_4 &= C_{34} \end{align}"
    for which in ("i2", "i3", "i4"):
        found = sd.check(which, three, "linear")
        assert found.holds, which
        assert len(found.notes) == 2  # the two that were not asked
    two = r"I_3 = C_{23}, \qquad I_2 = C_{12}"
    assert sd.check("i3", two, "linear").holds
    assert sd.check("i3", two, "linear").notes == ("not used: I2",)


def test_macros_go_through_the_check() -> None:
    found = sd.check(
        "i2",
        r"\h \as\frac{C_{12}}{\sqrt{(1+C_{11})(1+C_{22})}}",
        "erf",
        macros=[r"\as=\arcsin", r"\newcommand{\h}{\frac2\pi}"],
    )
    assert found.holds
