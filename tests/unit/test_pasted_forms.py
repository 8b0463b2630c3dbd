r"""Formulas as people paste them from papers, and what they must mean."""

import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import symderiv as sd
from symderiv.formula import parse_formula
from symderiv.formula.pasted import build_formula, read_definitions, read_pasted
from symderiv.foundation.errors import FormulaError

NAMES = {
    f"{base}{i}{j}": f"c{min(i, j)}{max(i, j)}"
    for base in ("C", "c", "Q", "Sigma")
    for i in range(1, 5)
    for j in range(1, 5)
} | {"Cuv": "c12", "rho": "rho", "x": "x", "e1": "e1"}
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
    # one piece of notation each
    (r"C_{21}", "c12"),
    (r"Q_{11} Q_{22}", "c11*c22"),
    ("c12^2", "c12**2"),
    (r"C^2_{12}", "c12**2"),
    (r"\dfrac1{C_{11}}\tfrac{C_{12}}3", "c12/(3*c11)"),
    (r"\frac2\pi", "2/pi"),
    (r"\sqrt{C_{11}}", "sqrt(c11)"),
    (r"\sqrt\rho", "sqrt(rho)"),
    (r"\frac\rho\pi + x^\rho", "rho/pi + x**rho"),
    (r"\sqrt[3]{C_{11}}", "c11**(1/3)"),
    (r"\left\{1+\rho\right\}", "1+rho"),
    (r"C_{11}\cdot C_{12}\times 3", "3*c11*c12"),
    (r"2C_{12}C_{13}C_{23}", "2*c12*c13*c23"),
    (r"C_{12}/2\cdot x", "c12/2*x"),
    (r"\ln(1+C_{11}) + \log{x}", "log(1+c11)+log(x)"),
    (r"\arctan\frac{C_{12}}{C_{11}}", "atan(c12/c11)"),
    (r"\tan^{-1}(x)", "atan(x)"),
    (r"\sin^2(x)+\cos^{2}x", "sin(x)**2+cos(x)**2"),
    (r"\Phi(x)", "Phi(x)"),
    (r"(1+x)^{-\frac12}", "(1+x)**(-1/2)"),
    (r"{C_{12}}^{2}", "c12**2"),
    (r"0.1 x^{1.5}", "x**(3/2)/10"),
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


def meaning(text: str, *macros: str, where: tuple[str, ...] = ()) -> sp.Expr:
    return build_formula(read_pasted(text, NAMES, where, macros).formula, VARIABLES)


def refusal(text: str, *macros: str) -> str:
    with pytest.raises(FormulaError) as error:
        meaning(text, *macros)
    message = str(error.value)
    assert "\n" not in message
    assert len(message) < 400
    return message


def expected(text: str) -> sp.Expr:
    found = parse_formula(text.replace("ASIN", "atan"), VARIABLES)
    return found.replace(sp.atan, sp.asin) if "ASIN" in text else found


@pytest.mark.parametrize(("text", "wanted"), FORMS, ids=lambda v: ascii(str(v)[:40]))
def test_a_pasted_form_means_what_it_must(text: str, wanted: str | None) -> None:
    if wanted is None:
        with pytest.raises(FormulaError):
            meaning(text)
        return
    assert meaning(text) == expected(wanted)


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
        *((text, []) for text in ("__import__('os')", "x.__class__", "lambda: 0", "[x][0]")),
        (r"\a(C_{12})", [r"\a=__import__"]),
    ],
    ids=lambda v: ascii(str(v)[:30]),
)
def test_what_is_no_formula_is_refused_in_one_line(text: str, macros: list[str]) -> None:
    refusal(text, *macros)


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
    assert sp.simplify(meaning(text) - sp.asin(c12 / 2)).rewrite(sp.asin) == 0


def test_definitions_come_in_any_order_and_use_one_another() -> None:
    text = r"A_4=(1+C_{11})A_{0}; A_0=1+C_{22}; I(C)=\frac{1}{\sqrt{A_4}}"
    assert meaning(text) == parse_formula("1/sqrt((1+c11)*(1+c22))", VARIABLES)
    assert meaning("A_0/A4", where=("A_0 = c11", r"A_{4} = C_{22}^2")) == parse_formula(
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


def read_or_refused(text: str) -> bool:
    """Whether a text is read, or refused in one line of ASCII; other errors pass through."""
    try:
        return isinstance(meaning(text), sp.Expr)
    except FormulaError as error:
        message = str(error)
    return message.isascii() and "\n" not in message


PIECES = r"""\frac \sqrt \arcsin \sin^{-1} \left( \right) \left \right { } ( ) [ ] ^ _ _{12} C_{12}
    c12 \pi \cdot + - * / ** , ; = 1 2 12 0 0.5 \exp e^ \operatorname{erf} \mathrm \rho | \log ^{-1}
    & \\ asin( SignMean4( OwenT( x A= A_4 A_4= \, \tag{1} $ . ' % 99999999999 \over exp(
    Heaviside( sqrt("""


@settings(max_examples=400, deadline=None)
@given(
    st.lists(st.sampled_from(PIECES.split()), max_size=25).map(" ".join)
    | st.text(max_size=60)
    | st.text(alphabet="\\{}^_()[]CQ12x=;+-*/ afrcsqt.,|$", max_size=60)
)
def test_any_text_is_read_or_refused_in_one_line(text: str) -> None:
    assert read_or_refused(text)
