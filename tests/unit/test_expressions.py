"""Formulas: what they mean, exactly, and the activations."""

import math
from fractions import Fraction

import mpmath
import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from support.commands import python

from symderiv import formula
from symderiv.formula import (
    NAMED,
    Activation,
    activation,
    evaluate_scalar,
    parse_formula,
    parse_number,
)
from symderiv.formula.known_functions import ALIASES, FUNCTIONS
from symderiv.formula.reader import Apply, Name, Node, Number, read, to_text
from symderiv.foundation.errors import FormulaError

x, y = sp.symbols("x y", real=True)


@pytest.mark.parametrize(
    ("text", "numerator", "denominator"),
    [
        ("0.1", 1, 10),
        ("1e-3", 1, 1000),
        (".5", 1, 2),
        ("5.", 5, 1),
        ("1.25E2", 125, 1),
        ("-0.11", -11, 100),
        ("1/3", 1, 3),
        ("0.1+0.2", 3, 10),
        ("2", 2, 1),
        ("(1/2)**-2", 4, 1),
        ("0.30000000000000000000000000000000001", 30000000000000000000000000000000001, 10**35),
    ],
)
def test_numbers_are_read_exactly(text: str, numerator: int, denominator: int) -> None:
    value = parse_number(text)
    assert value == sp.Rational(numerator, denominator)
    assert value.is_Rational


@given(st.decimals(allow_nan=False, allow_infinity=False, places=12, min_value=0, max_value=10**9))
@settings(max_examples=100, deadline=None)
def test_every_decimal_is_the_fraction_it_spells(number: object) -> None:
    fraction = Fraction(str(number))
    assert parse_number(str(number)) == sp.Rational(fraction.numerator, fraction.denominator)


def test_irrational_numbers_stay_exact() -> None:
    assert parse_number("sqrt(2)/2") == sp.sqrt(2) / 2
    assert parse_number("pi*E") == sp.pi * sp.E


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x - y - 1", x - y - 1),
        ("x - (y - 1)", x - y + 1),
        ("x/y/2", x / y / 2),
        ("x/(y/2)", 2 * x / y),
        ("-x**2", -(x**2)),
        ("-x**2/2", -(x**2) / 2),
        ("(-x)**2", x**2),
        ("2**-x", 2 ** (-x)),
        ("x**2**3", x**8),
        ("+x--y", x + y),
        ("exp(-x**2/2)*y", y * sp.exp(-(x**2) / 2)),
        ("max(x, 0)", sp.Max(x, 0)),
        ("abs(x)+sgn(y)", sp.Abs(x) + sp.sign(y)),
        ("Phi(x)", (1 + sp.erf(x / sp.sqrt(2))) / 2),
        ("phi(2*y)", sp.exp(-2 * y**2) / sp.sqrt(2 * sp.pi)),
        ("relu(x+y)", (x + y) * sp.Heaviside(x + y)),
        ("x\t+ y", x + y),
        ("  x\n", x),
    ],
)
def test_a_formula_means_what_python_precedence_says(text: str, expected: sp.Expr) -> None:
    assert parse_formula(text, ["x", "y"]) == expected


def test_variables_hide_the_constants() -> None:
    assert parse_formula("E*pi", ["E"]) == sp.Symbol("E", real=True) * sp.pi


def test_powers_of_sums_are_not_expanded() -> None:
    assert parse_formula("(x+y+1)**20", ["x", "y"]).func is sp.Pow


def test_no_float_ever_enters_an_expression() -> None:
    expression = parse_formula("0.1*erf(0.3*x)**2 + exp(-1.5*x**2)/7.25 + x**0.5", ["x"])
    assert not expression.atoms(sp.Float)


@pytest.mark.parametrize("name", sorted(NAMED))
def test_every_named_activation_has_its_canonical_formula(name: str) -> None:
    named = activation(name)
    assert named == Activation(name, NAMED[name])
    assert named.expression.free_symbols == {formula.X}
    by_formula = activation(named.text)
    assert by_formula.name is None
    assert by_formula.text == named.text
    assert by_formula.expression == named.expression


def test_activation_names_of_the_interface_are_there() -> None:
    for name in ("erf", "relu", "linear", "tanh", "gelu", "sign", "sin", "quadratic"):
        assert name in NAMED
    assert activation("ReLU") == activation("relu")


def test_erf_is_scaled_as_a_name_but_not_in_a_formula() -> None:
    assert activation("erf").expression == sp.erf(x / sp.sqrt(2))
    assert activation("erf(x)").expression == sp.erf(x)


@pytest.mark.parametrize(
    ("text", "resolved"),
    [
        ("0.1*x", "1/10*x"),
        ("x/2*( 1 + erf( x / sqrt(2) ) )", NAMED["gelu"]),
        ("gelu(x)", NAMED["gelu"]),
        ("relu(x-1)", "(x-1)*Heaviside(x-1)"),
        ("max(x,0.5)", "Max(x,1/2)"),
        ("-x*2", "-x*2"),
        ("x**(1/2)", "x**(1/2)"),
        ("log(1+exp(x))", NAMED["softplus"]),
    ],
)
def test_an_activation_echoes_the_resolved_formula(text: str, resolved: str) -> None:
    assert activation(text).text == resolved


@pytest.mark.parametrize("text", ["foo", "", "y", "erf(y)", "x x", "sin(x", None, 3])
def test_a_bad_activation_is_refused(text: str) -> None:
    with pytest.raises(FormulaError):
        activation(text)


def test_an_unknown_activation_is_told_the_known_ones() -> None:
    with pytest.raises(FormulaError, match=r"unknown activation 'foo'.*relu"):
        activation("foo")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1/sqrt(M)", 1 / math.sqrt(2)),
        ("0.1+0.2", 0.3),
        ("K/(K+M)", 0.6),
        ("Phi(-10)", 7.619853024160527e-24),
        ("sigmoid(-1000)+softplus(1000)", 1000.0),
        ("max(K, M)-abs(-1)", 2.0),
        ("Heaviside(0)", 0.5),
        ("exp(1)/E", 1.0),
        ("M**-0.5", 1 / math.sqrt(2)),
        ("relu(K)*gelu(0)+silu(0)", 0.0),
    ],
)
def test_scalars_are_evaluated_in_floats(text: str, value: float) -> None:
    assert evaluate_scalar(text, {"K": 3, "M": 2}) == pytest.approx(value, rel=1e-14, abs=0)


@pytest.mark.parametrize(
    "text",
    ["1/(K-3)", "sqrt(1-K)", "log(0)", "exp(K**9)", "L", "10**400", "K**K**K**K", "(-K)**0.5"],
)
def test_a_scalar_without_a_finite_real_value_is_refused(text: str) -> None:
    with pytest.raises(FormulaError):
        evaluate_scalar(text, {"K": 3, "M": 2})


def test_a_scalar_of_names_that_are_not_finite_is_refused() -> None:
    with pytest.raises(FormulaError, match="K = nan"):
        evaluate_scalar("K", {"K": math.nan})


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_the_float_value_of_each_function_is_that_of_the_symbolic_one(name: str) -> None:
    """Two routes: :mod:`math` on the one hand, SymPy and mpmath on the other."""
    for point in ("3/10", "7/5", "-9/8"):
        if name in ("log", "sqrt") and point.startswith("-"):
            continue
        arguments = ",".join([point, "1/4"][: FUNCTIONS[name].arguments])
        exact = parse_number(f"{name}({arguments})")
        expected = float(mpmath.mpf(sp.N(exact, 30)))
        assert evaluate_scalar(f"{name}({arguments})", {}) == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("alias", sorted(ALIASES))
def test_an_alias_is_its_function(alias: str) -> None:
    arguments = "(x,y)" if FUNCTIONS[ALIASES[alias]].arguments == 2 else "(x)"
    by_alias = parse_formula(alias + arguments, ["x", "y"])
    assert by_alias == parse_formula(ALIASES[alias] + arguments, ["x", "y"])


def _trees() -> st.SearchStrategy[Node]:
    numbers = st.builds(Number, st.fractions(min_value=0, max_value=50, max_denominator=50))
    leaves = st.one_of(numbers, st.sampled_from([Name("x"), Name("y"), Name("pi")]))

    def grown(children: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
        return st.one_of(
            st.builds(
                Apply,
                st.sampled_from(["+", "*"]),
                st.lists(children, min_size=2, max_size=3).map(tuple),
            ),
            st.builds(Apply, st.just("**"), st.tuples(children, st.integers(0, 3).map(_number))),
            st.builds(
                Apply, st.sampled_from(["negative", "sin", "erf", "exp"]), st.tuples(children)
            ),
            st.builds(_quotient, children, children),
        )

    return st.recursive(leaves, grown, max_leaves=8)


def _number(value: int) -> Node:
    return Number(Fraction(value))


def _quotient(left: Node, right: Node) -> Node:
    return Apply("*", (left, Apply("inverse", (right,))))


@given(_trees())
@settings(max_examples=150, deadline=None)
def test_reading_the_text_of_a_tree_gives_the_same_text_and_meaning(tree: Node) -> None:
    text = to_text(tree)
    again = to_text(read(text, ("x", "y")))
    # brackets around a leading sign may move once, never the meaning
    assert to_text(read(again, ("x", "y"))) == again
    points = {"x": 0.37, "y": -1.21}
    try:
        value = evaluate_scalar(text, points)
    except FormulaError:
        return
    assert evaluate_scalar(again, points) == pytest.approx(value, rel=1e-12)
    assert _direct(tree, points) == pytest.approx(value, rel=1e-9, abs=1e-9)


def _direct(node: Node, points: dict[str, float]) -> float:
    """Evaluation of a tree that shares nothing with the reader or the printer."""
    if isinstance(node, Number):
        return float(node.value)
    if isinstance(node, Name):
        return points.get(node.name, math.pi)
    values = [_direct(argument, points) for argument in node.arguments]
    match node.operation:
        case "+":
            return math.fsum(values)
        case "*":
            return math.prod(values)
        case "**":
            return math.pow(*values)
        case "negative":
            return -values[0]
        case "inverse":
            return 1 / values[0]
        case name:
            return float(getattr(math, name)(values[0]))


def test_reading_activations_and_scalars_does_not_import_sympy() -> None:
    code = (
        "import sys, symderiv.formula as e; e.activation('gelu'); e.activation('x**2+erf(x)');"
        "e.evaluate_scalar('1/sqrt(M)', {'M': 2}); print('sympy' in sys.modules)"
    )
    assert python(code).stdout.strip() == "False"


def test_the_package_has_no_other_late_names() -> None:
    with pytest.raises(AttributeError, match="nothing"):
        _ = formula.nothing
