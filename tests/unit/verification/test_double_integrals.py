"""Integrals of statements in doubles, against closed forms and mpmath."""

import math

import pytest
from symderiv_ledger.claims.statement import parse_statement
from symderiv_ledger.rules.arithmetic import OutOfRangeError, evaluate

from symderiv.foundation.errors import FormulaError
from symderiv.precision.balls.contexts import numbers


def _value(text: str, backend: str = "float64", **values: object) -> float:
    tree = parse_statement(f"0 == {text}").sides[1]
    with numbers(16, backend) as context:
        return float(evaluate(tree, values, context))


@pytest.mark.parametrize("deviation", [0.02, 0.7, 15.0])
def test_moments_of_half_a_gaussian(deviation: float) -> None:
    found = _value("Integral(x**3*exp(-x**2/(2*d**2)), (x, 0, oo))", d=deviation)
    assert found == pytest.approx(2 * deviation**4, rel=1e-12)


def test_a_quadrant_at_once_and_one_integral_after_the_other() -> None:
    density = "exp(-(x**2 - 2*r*x*y + y**2)/(2*(1 - r**2)))/(2*pi*sqrt(1 - r**2))"
    correlation = -0.6
    exact = 0.25 + math.asin(correlation) / (2 * math.pi)
    at_once = _value(f"Integral({density}, (x, 0, oo), (y, 0, oo))", r=correlation)
    nested = _value(f"Integral(Integral({density}, (y, 0, oo)), (x, 0, oo))", r=correlation)
    assert at_once == pytest.approx(exact, rel=1e-12)
    assert nested == pytest.approx(exact, rel=1e-12)


def test_the_same_as_mpmath_on_a_finite_range() -> None:
    text = "Integral(erf(2*x)*sqrt(1 + x), (x, 1/3, 2))"
    assert _value(text) == pytest.approx(_value(text, "mpmath"), rel=1e-13)


def test_ranges_without_a_rule_are_refused() -> None:
    with pytest.raises(FormulaError, match="finite number upwards"):
        _value("Integral(exp(-x**2), (x, -oo, oo))")


def test_matrices_that_do_not_fit_have_no_product() -> None:
    with numbers(20, "mpmath") as context:
        values = {"U": context.matrix([[1, 2, 3], [4, 5, 6]])}
        tree = parse_statement("0 == U@U").sides[1]
        with pytest.raises(OutOfRangeError, match="2 x 3 and 2 x 3"):
            evaluate(tree, values, context)
        tree = parse_statement("0 == det(U@transpose(U))").sides[1]
        assert evaluate(tree, values, context) == pytest.approx(54)
