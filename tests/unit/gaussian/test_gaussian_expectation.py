"""Expectations as users ask for them: parameters, domains, numbers, errors, steps."""

import math
import re

import latex2mathml.converter
import pytest
import sympy as sp

from symderiv.foundation.errors import InexactError, InputError, ShapeError, ToleranceError
from symderiv.gaussian import covariance_symbols, expectation, i4
from symderiv.gaussian.forms.evaluate import evaluated, number

x, y, z = FIELDS = sp.symbols("x y z", real=True)
C = covariance_symbols(3)
R = sp.Rational
ID2 = sp.eye(2)


def test_several_fields_in_one_argument_make_one_more_gaussian() -> None:
    q = C[0, 0] - 2 * C[0, 1] + C[1, 1]
    assert expectation(sp.Abs(x - y), FIELDS, C).value == sp.sqrt(2) * sp.sqrt(q) / sp.sqrt(sp.pi)
    assert expectation(sp.exp(x + 2 * y), FIELDS, C).value == sp.exp(
        C[0, 0] / 2 + 2 * C[0, 1] + 2 * C[1, 1]
    )


def test_parameters_of_the_integrand_stay_symbols() -> None:
    a, b = sp.Symbol("a", positive=True), sp.Symbol("b", real=True)
    value = expectation(b * sp.erf(a * x) * y, FIELDS, C).value
    expected = 2 * a * b * C[0, 1] / sp.sqrt(sp.pi) / sp.sqrt(1 + 2 * a**2 * C[0, 0])
    assert sp.simplify(value - expected) == 0


def test_variances_without_assumptions_are_taken_as_positive() -> None:
    q, r, t = sp.symbols("Q R T")
    value = expectation(sp.sign(x) * sp.sign(y), [x, y], sp.Matrix([[q, r], [r, t]])).value
    assert value == 2 / sp.pi * sp.asin(r / (sp.sqrt(q) * sp.sqrt(t)))


def test_covariances_in_roots_of_symbols_are_exact() -> None:
    q, t = sp.symbols("q t", positive=True)
    r = sp.Symbol("r", real=True)
    cov = sp.Matrix([[q, r * sp.sqrt(q * t)], [r * sp.sqrt(q * t), t]])
    assert expectation(sp.sign(x) * sp.sign(y), [x, y], cov).value == 2 / sp.pi * sp.asin(r)


def test_symbolic_fields_that_are_equal_are_recognised() -> None:
    q = sp.Symbol("q", positive=True)
    same = sp.Matrix([[q, q], [q, q]])
    assert expectation(sp.Max(x, 0) * sp.Max(y, 0), [x, y], same).value == q / 2


def test_numbers_come_with_a_measured_error() -> None:
    result = expectation(sp.erf(x) * sp.erf(y), [x, y], sp.Matrix([[1, R(1, 3)], [R(1, 3), 2]]))
    few, many = result.evaluate(12), result.evaluate(60)
    assert abs(sp.Float(few.value, 60) - sp.Float(many.value, 60)) <= sp.Float(few.error_bound)
    assert len(many.value.replace("0.", "").lstrip("0")) == 60
    assert many.certified is False
    assert many.method == "closed-form"


def test_cancellation_does_not_cost_digits() -> None:
    tiny = sp.exp(sp.Integer(10) ** 3 * sp.Rational(1, 10**43)) - 1 - sp.Rational(1, 10**40)
    value = evaluated(tiny, 20, "closed-form").value
    assert abs(sp.Float(value, 20) / sp.Float("5e-81", 20) - 1) < 1e-18


def test_a_hidden_zero_is_reported_as_zero_with_its_bound() -> None:
    hidden = sp.sqrt(2 + sp.sqrt(3)) - (sp.sqrt(6) + sp.sqrt(2)) / 2
    value = evaluated(hidden, 20, "closed-form")
    assert value.value == "0"
    assert sp.Float(value.error_bound) < sp.Float("1e-100")


def test_numbers_need_numbers() -> None:
    with pytest.raises(InputError, match="c11"):
        expectation(x**2, [x], C[:1, :1]).evaluate(10)
    with pytest.raises(InputError, match="digits"):
        expectation(x**2, [x], sp.eye(1)).evaluate(0)
    with pytest.raises(ToleranceError, match="cannot evaluate"):
        number(sp.zoo + sp.Symbol("a") - sp.Symbol("a"), 10)


def test_bad_requests_are_refused() -> None:
    with pytest.raises(InputError, match="also occurs"):
        expectation(x, [x], sp.Matrix([[sp.Symbol("x")]]))
    with pytest.raises(InputError, match="different"):
        expectation(x, [x, x], ID2)
    with pytest.raises(ShapeError):
        expectation(x, [x, y], ID2, sp.Matrix([0]))
    with pytest.raises(InexactError):
        expectation(x, [x], sp.eye(1), sp.Matrix([0.5]))
    with pytest.raises(InputError, match="not known"):
        expectation(sp.exp(sp.Symbol("a") * x**2), [x], C[:1, :1])
    with pytest.raises(InputError, match="SymPy expression"):
        expectation("x**2", [x], sp.eye(1))  # type: ignore[arg-type]
    with pytest.raises(InputError, match="a SymPy matrix"):
        expectation(x, [x], [["1"]])  # type: ignore[arg-type]
    with pytest.raises(InputError, match="degree"):
        expectation(x**1000, [x], sp.eye(1))


def test_a_constant_and_zero_need_no_fields() -> None:
    assert expectation(sp.Integer(3), [x], sp.eye(1)).value == 3
    assert expectation(x - x, [x], sp.eye(1)).value == 0
    assert expectation(sp.Integer(1), [], sp.Matrix(0, 0, [])).value == 1


def test_long_derivations_stay_short_and_every_formula_is_latex() -> None:
    relu = x * sp.Heaviside(x)
    result = i4(relu, relu, relu, relu)
    assert len(result.steps) < 12
    assert any("used" in step.statement for step in result.steps)
    assert {"Stein", "delta", "arcsine", "orthant"} <= {step.rule for step in result.steps}
    for step in result.steps:
        assert "<math" in latex2mathml.converter.convert(step.latex)
        for formula in re.findall(r"\$([^$]*)\$", step.statement):
            assert "<math" in latex2mathml.converter.convert(formula)


def test_folded_means_under_different_exponents_have_different_names() -> None:
    e = (sp.exp(x) + sp.exp(2 * x) + 1) * sp.Max(y, 0) * z
    folded = expectation(e, FIELDS, C, folded=True)
    value = expectation(e, FIELDS, C).value
    point = {C[i, j]: R(i + j + 2, 1 if i == j else 7) for i in range(3) for j in range(3)}
    difference = (folded.unfolded() - value).subs(point)
    assert len(folded.definitions) == len({s.name for s, _ in folded.definitions})
    assert abs(difference.evalf(30)) < 1e-25


def test_odd_oscillating_products_need_no_signs() -> None:
    result = expectation(sp.sin(x) * sp.erf(y) * sp.Heaviside(z), FIELDS, C)
    assert result.value == expectation(sp.sin(x) * sp.erf(y), FIELDS, C).value / 2
    assert result.sign_factors == 1
    assert "Owen's T" not in {step.rule for step in result.steps}


def test_the_error_of_a_number_is_one_unit_of_its_last_digit() -> None:
    value = evaluated(sp.sqrt(2) + sp.pi / 10**30, 12, "closed-form")
    assert value.value == "1.41421356237"
    assert float(value.error_bound) == pytest.approx(1e-11, rel=1e-9)
    value = evaluated(sp.sqrt(2) / 100, 4, "closed-form")
    assert (value.value, float(value.error_bound)) == ("0.01414", pytest.approx(1e-5, rel=1e-9))


def test_thousands_of_digits() -> None:
    digits = 4000
    value = evaluated(sp.sqrt(2), digits, "closed-form").value
    assert int(value.replace(".", "")[:-1]) == math.isqrt(2 * 10 ** (2 * digits - 4))


def test_shifted_variances_are_written_as_such() -> None:
    """det(C + 1/2) is short in c11 + 1/2 and c22 + 1/2, and six terms without them."""
    value = expectation(sp.erf(x) * sp.erf(y) * x * y, [x, y], C[:2, :2]).value
    root = sp.sqrt((2 * C[0, 0] + 1) * (2 * C[1, 1] + 1) - 4 * C[0, 1] ** 2)
    assert value.has(root) or value.has(1 / root)
