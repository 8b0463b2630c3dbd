"""Formulas against expectations: right ones hold, each kind of misprint is caught."""

import itertools
from collections.abc import Callable

import pytest
import sympy as sp
from symderiv_ledger import Check, InClosedForm, check_formula
from symderiv_ledger.formulas.check import is_identity
from symderiv_ledger.formulas.evaluated import evaluated, measured
from symderiv_ledger.formulas.points import points

from symderiv.formula import activation
from symderiv.formula.pasted import build_formula, read_definitions
from symderiv.foundation.errors import FormulaError, InputError
from symderiv.gaussian import (
    DerivedExpectation,
    OwenT,
    SignMean4,
    covariance_symbols,
    expectation,
    i2,
    i3,
    i4,
)

pytestmark = pytest.mark.days(6)

SIZES = {"i2": 2, "i3": 3, "i4": 4}


def integral(which: str, name: str) -> Callable[[sp.Matrix], DerivedExpectation]:
    g = activation(name).expression
    if which == "i4":
        return lambda matrix: i4(g, g, g, g, matrix)
    return lambda matrix: {"i2": i2, "i3": i3}[which](g, g, matrix)


def formula(text: str, covariance: sp.Matrix) -> sp.Expr:
    n = covariance.rows
    names = {
        f"{base}{i + 1}{j + 1}": covariance[i, j].name
        for base in "Cc"
        for i in range(n)
        for j in range(n)
    }
    tree = read_definitions(text, names)[1]
    built = build_formula(tree, set(names.values()), {"SignMean4": SignMean4, "OwenT": OwenT})
    return built.xreplace({sp.Symbol(s.name, real=True): s for s in covariance.free_symbols})


def check(which: str, name: str, text: str, *, suggest: bool = False) -> Check:
    covariance = covariance_symbols(SIZES[which])
    truth = integral(which, name)
    sides = InClosedForm(formula(text, covariance), truth, covariance)
    return check_formula(sides, suggest=suggest)


I2 = r"\frac2\pi\arcsin\!\left(\frac{C_{12}}{\sqrt{(1+C_{11})(1+C_{22})}}\right)"
I3 = (
    r"\frac2\pi\frac{1}{\sqrt{(1+C_{11})(1+C_{33})-C_{13}^2}}"
    r"\left(\frac{C_{23}(1+C_{11})-C_{12}C_{13}}{1+C_{11}}\right)"
)
A4 = "A_4=(1+C_{11})(1+C_{22})-C_{12}^2;"
I4 = (
    A4 + r"A_0=A_4C_{34}-C_{23}C_{24}(1+C_{11})-C_{13}C_{14}(1+C_{22})"
    r"+C_{12}C_{13}C_{24}+C_{12}C_{14}C_{23};"
    r"A_1=A_4(1+C_{33})-C_{23}^2(1+C_{11})-C_{13}^2(1+C_{22})+2C_{12}C_{13}C_{23};"
    r"A_2=A_4(1+C_{44})-C_{24}^2(1+C_{11})-C_{14}^2(1+C_{22})+2C_{12}C_{14}C_{24};"
    r"\frac{4}{\pi^2}\frac1{\sqrt{A_4}}\arcsin\!\left(\frac{A_0}{\sqrt{A_1}\sqrt{A_2}}\right)"
)
# Worschech & Rosenow (91) with its A_0, A_1, A_2 as printed
PRINTED = (
    A4 + r"A_0=A_4C_{34}+C_{23}C_{24}(1+C_{11})+C_{13}C_{14}(1+C_{22})+C_{12}^2C_{13}^2C_{24}^2;"
    r"A_1=A_4(1+C_{33})+C_{23}(1+C_{11})-C_{13}(1+C_{22})+2C_{12}C_{13}C_{23};"
    r"A_2=A_4(1+C_{44})-C_{24}(1+C_{11})-C_{14}(1+C_{22})+2C_{12}C_{14}C_{24};"
    r"I_4(C)=\frac{4}{\pi^2}\frac1{\sqrt{A_4}}"
    r"\arcsin\!\left(\frac{A_0}{\sqrt{A_1}\sqrt{A_2}}\right)\tag{91}"
)
RELU_I2 = (
    r"\frac{1}{2\pi}\sqrt{C_{11}C_{22}-C_{12}^2}"
    r"+\frac{C_{12}}{2\pi}\left(\frac\pi2+\arcsin\frac{C_{12}}{\sqrt{C_{11}C_{22}}}\right)"
)
RELU_I3 = (
    r"\frac{C_{12}\sqrt{C_{11}C_{33}-C_{13}^2}}{2\pi C_{11}}"
    r"+\frac{C_{23}}{2\pi}\arccos\left(-\frac{C_{13}}{\sqrt{C_{11}C_{33}}}\right)"
)
TEXT = {
    "i2": "2/pi*asin(c12/sqrt((1+c11)*(1+c22)))",
    "i3": "2/pi*(c23*(1+c11)-c12*c13)/((1+c11)*sqrt((1+c11)*(1+c33)-c13**2))",
    "i4": "A4=(1+c11)*(1+c22)-c12**2;"
    "A0=A4*c34-c23*c24*(1+c11)-c13*c14*(1+c22)+c12*c13*c24+c12*c14*c23;"
    "A1=A4*(1+c33)-c23**2*(1+c11)-c13**2*(1+c22)+2*c12*c13*c23;"
    "A2=A4*(1+c44)-c24**2*(1+c11)-c14**2*(1+c22)+2*c12*c14*c24;"
    "4/(pi**2*sqrt(A4))*asin(A0/sqrt(A1*A2))",
}


@pytest.mark.parametrize(
    ("which", "name", "text"),
    [
        ("i2", "erf", I2),
        ("i3", "erf", I3),
        ("i4", "erf", I4),
        ("i2", "erf", TEXT["i2"]),
        ("i3", "erf", TEXT["i3"]),
        ("i4", "erf", TEXT["i4"]),
        ("i2", "relu", RELU_I2),
        ("i3", "relu", RELU_I3),
        ("i2", "sign", r"1-\frac{2}{\pi}\arccos\frac{C_{12}}{\sqrt{C_{11}}\sqrt{C_{22}}}"),
    ],
)
def test_the_right_formulas_hold(which: str, name: str, text: str) -> None:
    found = check(which, name, text)
    assert found.verdict == "holds"
    assert found.max_relative_error is not None
    assert found.max_relative_error < 1e-25
    assert any(c.point.degenerate for c in found.comparisons)
    assert len(found.comparisons) >= 20
    assert found.evaluated is None  # every value is enclosed


def test_textbook_forms_of_the_error_function_are_identities() -> None:
    for which, text in (("i2", I2), ("i3", I3), ("i4", I4)):
        covariance = covariance_symbols(SIZES[which])
        right = integral(which, "erf")(covariance).value
        assert is_identity(formula(text, covariance), right)
        assert not is_identity(2 * right, right)


@pytest.mark.parametrize("which", ["i2", "i3", "i4"])
def test_the_engines_own_form_pasted_back_as_latex_holds(which: str) -> None:
    right = integral(which, "erf")(covariance_symbols(SIZES[which])).value
    assert check(which, "erf", sp.latex(right)).verdict == "holds"


def test_the_printed_i4_fails_with_both_values() -> None:
    found = check("i4", "erf", PRINTED)
    assert found.verdict == "fails"
    example = found.counterexample
    assert not example.point.degenerate
    # the values shown are those of the two sides at the covariance shown
    truth = integral("i4", "erf")(example.point.covariance).value
    printed = formula(PRINTED, covariance_symbols(4)).xreplace(dict(example.point.values))
    assert abs(sp.N(truth, 30) - sp.Float(example.expectation, 30)) < 1e-28
    assert abs(sp.N(printed, 30) - sp.Float(example.formula, 30)) < 1e-28


@pytest.mark.parametrize(
    ("which", "name", "text", "old", "new"),
    [
        ("i2", "erf", I2, r"\frac2\pi", r"\frac4\pi"),
        ("i2", "erf", I2, r"\frac2\pi", r"-\frac2\pi"),
        ("i2", "erf", I2, "1+C_{22}", "1-C_{22}"),
        ("i2", "erf", I2, "1+C_{22}", "1+C_{11}"),
        ("i2", "erf", I2, "1+C_{22}", "2+C_{22}"),
        ("i2", "erf", I2, "{(1+C_{11})(1+C_{22})}", "{4}"),  # right for unit variances only
        ("i2", "erf", I2, r"\arcsin", r"\arctan"),
        ("i3", "erf", I3, "C_{13}^2", "C_{13}"),
        ("i3", "erf", I3, "C_{23}(1+C_{11})-", "C_{23}(1+C_{11})+"),
        ("i3", "erf", I3, "-C_{12}C_{13}", "-C_{12}C_{23}"),
        ("i3", "erf", I3, "{1+C_{11}}", "{1+C_{33}}"),
        ("i3", "erf", I3, r"\sqrt{", "{"),
        ("i4", "erf", I4, "-C_{23}^2", "+C_{23}^2"),
        ("i4", "erf", I4, "C_{14}^2", "C_{14}"),
        ("i4", "erf", I4, "+C_{12}C_{14}C_{23}", "+C_{12}C_{14}C_{24}"),
        ("i4", "erf", I4, "{4}", "{2}"),
        ("i2", "relu", RELU_I2, r"\frac\pi2+", ""),
        ("i2", "relu", RELU_I2, "-C_{12}^2", "+C_{12}^2"),
        ("i3", "relu", RELU_I3, "-C_{13}^2", "-C_{12}^2"),
        ("i3", "relu", RELU_I3, r"2\pi C_{11}", r"2\pi C_{33}"),
        ("i3", "relu", RELU_I3, r"(-\frac", r"(\frac"),
    ],
)
def test_a_misprint_fails(which: str, name: str, text: str, old: str, new: str) -> None:
    assert old in text
    found = check(which, name, text.replace(old, new, 1))
    assert found.verdict == "fails"
    assert found.counterexample is not None
    assert found.evaluated is None


@pytest.mark.parametrize(("factor", "verdict"), [("1+10**-26", "holds"), ("1+10**-24", "fails")])
def test_the_tolerance_decides(factor: str, verdict: str) -> None:
    found = check("i3", "erf", f"({TEXT['i3'].replace(';', ')*(')})*({factor})")
    assert (found.verdict, found.evaluated) == (verdict, None)


def test_numbers_are_enclosed_where_all_functions_have_balls() -> None:
    x = sp.Rational(7, 3)
    cancelling = sp.sqrt(10**40 + 1) - sp.sqrt(10**40)
    for exact in (
        *(sp.asin(x), sp.erf(x) * sp.log(-x), sp.asinh(x) ** x),
        *(sp.gamma(1 / x), cancelling, sp.Integer(0)),
    ):
        found = evaluated(exact, 40)
        assert found is not None
        assert found.enclosed
        assert abs(found.value - measured(exact, 40)) <= 1e-34 * abs(found.value)
    bessel = evaluated(sp.besselj(1, x), 40)
    assert not bessel.enclosed
    assert evaluated(sp.zoo, 40) is None


def test_zero_over_zero_is_decided_by_the_limit() -> None:
    right = check("i2", "relu", RELU_I2)
    assert right.verdict == "holds"
    corners = {c.point.kind for c in right.undefined_points}
    assert corners == {"variance of field 1 zero", "variance of field 2 zero"}
    # with C_12 below the line it has no value without correlation, but the right limit
    divided = r"C_{12}\left(\frac14+\frac1{2\pi}\arcsin\frac{C_{12}}{\sqrt{C_{11}C_{22}}}"
    divided += r"+\frac{\sqrt{C_{11}C_{22}-C_{12}^2}}{2\pi C_{12}}\right)"
    singular = check("i2", "relu", divided)
    assert singular.verdict == "holds"
    assert "diagonal" in {c.point.kind for c in singular.undefined_points}
    wrong = check("i2", "relu", RELU_I2 + r"+\frac{C_{12}^2}{C_{12}^2+(C_{11}-C_{22})^2}-1")
    assert wrong.verdict == "fails"


@pytest.mark.parametrize("text", ["exp(exp(exp(c11)))", "c11**(c22**2)", "sin(exp(10000*c11))"])
def test_towers_of_exponentials_are_refused_at_once(text: str) -> None:
    with pytest.raises(FormulaError, match="exponent"):
        check("i2", "erf", text)


def test_exponentials_of_covariances_are_no_towers() -> None:
    assert check("i2", "erf", TEXT["i2"] + "+exp(-1/c11)").verdict == "fails"
    vanishing = check("i2", "erf", TEXT["i2"] + "+c12*exp(-10**9-1/c11)*exp(exp(c22/10**9))")
    assert vanishing.verdict == "holds"  # to the digits compared
    x = sp.Symbol("x", real=True)
    variance = covariance_symbols(1)
    right = formula(r"e^{C_{11}/2}", variance)
    sides = InClosedForm(right, lambda m: expectation(sp.exp(x), [x], m), variance)
    assert check_formula(sides).verdict == "holds"


def test_a_pole_on_the_edge_of_the_cone_fails() -> None:
    found = check("i2", "erf", I2 + r"+\frac{10^{-31}C_{12}^2}{C_{11}C_{22}-C_{12}^2}")
    assert found.verdict == "fails"
    assert found.counterexample.point.degenerate
    assert "limit" in found.counterexample.reason


def test_suggestions_repair_single_misprints() -> None:
    assert "2 times" in check("i2", "erf", "2*" + TEXT["i2"], suggest=True).suggestion
    assert "sign" in check("i3", "erf", "-" + TEXT["i3"], suggest=True).suggestion
    flipped = TEXT["i3"].replace("-c12*c13", "+c12*c13")
    assert "flipped" in check("i3", "erf", flipped, suggest=True).suggestion
    unsquared = TEXT["i3"].replace("c13**2", "c13")
    assert "c13**2" in check("i3", "erf", unsquared, suggest=True).suggestion
    index = TEXT["i3"].replace("-c12*c13", "-c12*c23")
    assert "c13 for c23" in check("i3", "erf", index, suggest=True).suggestion
    assert check("i2", "erf", TEXT["i2"], suggest=True).suggestion == ""


def test_points_lie_in_the_cone_and_reach_its_edge() -> None:
    for n in (1, 2, 3, 4):
        found = points(covariance_symbols(n))
        for point in found:
            eigenvalues_positive = all(point.covariance[:k, :k].det() > 0 for k in range(1, n + 1))
            assert eigenvalues_positive != point.degenerate, point.kind
            assert all(
                point.covariance.extract(list(s), list(s)).det() >= 0
                for k in range(1, n + 1)
                for s in itertools.combinations(range(n), k)
            )
        assert sum(point.degenerate for point in found) >= n
        assert found == points(covariance_symbols(n))
        assert found != points(covariance_symbols(n), seed=1)


def test_covariances_with_a_structure_are_sampled_inside_the_cone() -> None:
    r, q = sp.Symbol("r", real=True), sp.Symbol("q", positive=True)
    found = points(sp.Matrix([[q, r], [r, 1]]))
    assert all(point.values[r] ** 2 <= point.values[q] for point in found)
    assert any(point.degenerate for point in found)
    assert sum(not point.degenerate for point in found) >= 8
    with pytest.raises(InputError):
        points(sp.Matrix([[-1, r], [r, 1]]))


def test_a_symbol_that_the_covariance_has_not_is_refused() -> None:
    with pytest.raises(InputError, match="the formula contains t"):
        InClosedForm(sp.Symbol("t"), integral("i2", "erf"), covariance_symbols(2))
