"""Printed scalar functions have the value of the expression, in both dialects."""

import math

import mpmath
import pytest
import sympy as sp
from symderiv_codegen import PrinterError, print_latex, print_mpmath, print_numba
from symderiv_codegen.passes.scalars import _shared_roots
from unit.codegen.support import as_multiprecision, as_plain_python, one_function, text_of

x, y, z = sp.symbols("x y z", real=True)
d = sp.Symbol("determinant", positive=True)
DELTA = (1 + x) * (1 + z) - y**2

EXPRESSIONS = [
    x + y - z,
    -x - y,
    x - (y - z),
    2 * x / 3 - y / 7 + sp.Rational(1, 3),
    x / (y * z),
    x / y / z**2,
    -(x + y) * (x - z) / (2 * y),
    x**2 + y**3 - z**4 + (x + y) ** 2,
    sp.sqrt(x) + 1 / sp.sqrt(x) + x ** sp.Rational(3, 2) - y * x ** sp.Rational(-3, 2),
    x**y + y ** sp.Rational(1, 3) + 2**-x,
    2 / sp.pi * sp.asin(y / sp.sqrt((1 + x) * (1 + z))),
    -y / (sp.pi * (1 + x) * sp.sqrt(DELTA)) + y**2 / DELTA ** sp.Rational(3, 2),
    sp.exp(-(x**2) / 2) / sp.sqrt(2 * sp.pi) + sp.E * x,
    sp.erf(x / sp.sqrt(2)) - sp.erfc(y) * sp.tanh(z),
    sp.atan(x) + sp.atan2(y, x) + sp.acos(y / 3) + sp.sinh(z) - sp.cosh(z) + sp.log(1 + x),
    sp.Piecewise((x, x > y), (y**2, x > z), (z, True)) * 2 - 1,
    sp.Piecewise((1, (x > y) & (y > z)), (2, sp.Or(x < z, y < z)), (3, True)),
    sp.Abs(x - y) + sp.Max(x, y, z) - sp.Min(x, 2 * y),
    x * sp.Heaviside(x - 1) + sp.sign(y - 1),
    sp.sqrt(1 + sp.sqrt(1 + sp.sqrt(x))),
    sp.cos(x) * sp.sin(y) / sp.tan(z),
    -sp.Rational(3, 8) * x * sp.sqrt(2) / sp.pi**2,
    sp.sqrt(3) / 2 - 1 / sp.sqrt(2) + sp.pi,
    sp.Integer(0),
    sp.Rational(-7, 3),
    1 / (x + y) ** 2 + 1 / (x + y),
    (x + y) ** -3 * sp.exp(x + y),
]
POINTS = [(0.7, 0.3, 1.9), (1.3, 0.9, 0.4), (2.5, 0.1, 0.8)]


@pytest.mark.parametrize("number", range(len(EXPRESSIONS)), ids=lambda n: f"e{n}")
def test_printed_text_has_the_value_of_the_expression(number: int) -> None:
    expression = EXPRESSIONS[number]
    program = one_function(expression, x, y, z)
    double = as_plain_python(print_numba(program))["f"]
    multi = as_multiprecision(print_mpmath(program))["f"]
    with mpmath.workdps(40):
        for point in POINTS:
            values = dict(zip((x, y, z), map(sp.Rational, point), strict=True))
            exact = mpmath.mpf(str(expression.subs(values).evalf(45)))
            assert double(*point) == pytest.approx(float(exact), rel=1e-13, abs=1e-14)
            ours = multi(mpmath.mp, *(mpmath.mpf(value) for value in point))
            assert abs(ours - exact) <= mpmath.mpf(10) ** -37 * (1 + abs(exact))


@pytest.mark.parametrize(
    ("expression", "node"),
    [
        (sp.zeta(x), "zeta"),
        (sp.besselj(1, x), "besselj"),
        (sp.DiracDelta(x), "DiracDelta"),
        (sp.Integral(sp.exp(x * y), (y, 0, 1)), "Integral"),
        (sp.Derivative(sp.exp(x), x), "Derivative"),
        (x + sp.I, "ImaginaryUnit"),
        (sp.oo + x, "Infinity"),
        (sp.Piecewise((x, x > 0)), "no last case"),
    ],
    ids=str,
)
def test_a_node_without_a_rule_is_named_together_with_its_printer(
    expression: sp.Expr, node: str
) -> None:
    function = one_function(expression, x, y)
    with pytest.raises(PrinterError, match=f"numba printer.*{node}"):
        print_numba(function)
    with pytest.raises(PrinterError, match=f"mpmath printer.*{node}"):
        print_mpmath(function)


def test_the_latex_printer_names_a_function_it_does_not_know() -> None:
    with pytest.raises(PrinterError, match="LaTeX printer does not know besselj"):
        print_latex(one_function(sp.besselj(1, x), x))


def test_guarded_functions_are_right_at_the_edge_and_keep_nan() -> None:
    arcsine = 2 / sp.pi * sp.asin(y / sp.sqrt(x * z)) + sp.sqrt(x * z - y**2)
    program = one_function(arcsine, x, y, z, guarded=True)
    double = as_plain_python(print_numba(program))["f"]
    multi = as_multiprecision(print_mpmath(program))["f"]
    edge = 1.0 + 2.0**-52
    cases = [((1.0, edge, 1.0), 1.0), ((1.0, -edge, 1.0), -1.0), ((0.0, 0.0, 2.0), 0.0)]
    for point, expected in cases:
        assert double(*point) == pytest.approx(expected, abs=1e-15)
        assert multi(mpmath.mp, *map(mpmath.mpf, point)) == pytest.approx(expected, abs=1e-15)
    assert math.isnan(double(math.nan, 0.5, 1.0))
    assert double(1.0, 0.5, 1.0) == pytest.approx(1 / 3 + math.sqrt(0.75), rel=1e-15)


@pytest.mark.parametrize(
    ("expression", "printed"),
    [
        (-x * y, "-x * y"),
        (-x * y * z / 3, "-x * y * z / 3.0"),
        (-(x**2), "-x * x"),
        (z - x * y, "z - x * y"),
        (-sp.sqrt(2) * x, "-math.sqrt(2.0) * x"),
        (-sp.Add(x, y, evaluate=False) * z, "z * (-x - y)"),
    ],
    ids=str,
)
def test_brackets_stand_only_where_they_are_needed(expression: sp.Expr, printed: str) -> None:
    assert text_of(one_function(expression, x, y, z), "f").endswith(f"return {printed}")


def test_roots_and_inverse_roots_of_one_quantity_are_taken_once() -> None:
    text = text_of(one_function(EXPRESSIONS[11], x, y, z), "f")
    assert text.count("math.sqrt(") == 1


def test_definitions_keep_their_names_and_their_order() -> None:
    program = one_function(
        y / sp.sqrt(d) + x * d, x, y, z, definitions=((d, DELTA),), guarded=False
    )
    text = text_of(program, "f")
    assert text == (
        "def f(x, y, z):\n"
        "    determinant = (x + 1.0) * (z + 1.0) - y * y\n"
        "    return determinant * x + y / math.sqrt(determinant)"
    )


def test_shared_roots_are_known_to_be_positive() -> None:
    """So that powers of the symbol in the place of a root combine as those of the root do."""
    _, roots = _shared_roots([x ** sp.Rational(3, 2) + y, 1 / sp.sqrt(x)])
    assert list(roots.values()) == [sp.sqrt(x)]
    (root,) = roots
    assert root.is_positive
    assert sp.sqrt(root**2) == root
