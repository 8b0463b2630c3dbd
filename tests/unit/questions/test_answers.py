"""The results of the questions: what they hold, how they show themselves, what the commands add."""

import json
import pickle
from decimal import Decimal
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
import sympy as sp

import symderiv as sd
from symderiv.foundation.errors import DivergentError, InputError

LAW = [[1, 0.5], [0.5, 2]]

RESULTS = {
    "symbols": lambda: sd.i3("relu"),
    "closed form": lambda: sd.mean("erf(x)*y", LAW, digits=30),
    "with a mean": lambda: sd.mean("x*Heaviside(y)", LAW, mean=["1/3", 1]),
    "rational": lambda: sd.mean("x*y", LAW),
    "quadrature": lambda: sd.i2("tanh", covariance=np.array(LAW)),
    "no closed form in symbols": lambda: sd.i2("tanh"),
    "four signs": lambda: sd.i4("relu"),
    "zero": lambda: sd.mean("tanh(x)", [[2]]),
    "a check": lambda: sd.check("x*y", "c12"),
    "a failed check": lambda: sd.check("i2", "2*asin(c12)/pi", "erf"),
}


@pytest.fixture(params=RESULTS, ids=str)
def result(request: pytest.FixtureRequest) -> Any:
    return RESULTS[request.param]()


def test_a_result_shows_itself_shortly_and_survives_pickling(result: Any) -> None:
    text = repr(result)
    assert len(text.splitlines()) <= 10
    assert len(text) <= 1000
    assert pickle.loads(pickle.dumps(result)).to_dict() == result.to_dict()
    assert json.loads(json.dumps(result.to_dict())) == result.to_dict()
    assert "<table" in result._repr_html_()
    assert result.to_text()


def test_the_number_is_a_decimal_with_its_proved_error() -> None:
    found = sd.mean("erf(x)*y", LAW, digits=25)
    with mpmath.workdps(60):
        exact = 1 / mpmath.sqrt(3 * mpmath.pi)
        low, high = (mpmath.mpf(e.numerator) / e.denominator for e in found.interval)
        assert low <= exact <= high
        off = abs(mpmath.mpf(str(found.value)) - exact)
        assert off <= mpmath.mpf(str(found.error_bound)) < mpmath.mpf("1e-24")
    assert isinstance(found.value, Decimal)
    assert str(found.value) == found.to_dict()["value"]
    assert abs(found.value - float(exact)) < 1e-15
    assert float(found) == float(exact)
    assert found.certified


def test_a_float_is_the_nearest_double_at_any_number_of_digits() -> None:
    with mpmath.workdps(40):
        exact = float(2 / mpmath.pi * mpmath.asin(1 / mpmath.sqrt(24)))
    for digits in (1, 2, 15, 17, 40):
        assert float(sd.i2("erf", covariance=LAW, digits=digits)) == exact
        assert float(sd.mean("x*y", [[1, "1/3"], ["1/3", 1]], digits=digits)) == 1 / 3
    assert float(sd.i2("tanh", covariance=LAW, digits=3)) == 0.1467541154603874


def test_a_number_between_two_doubles_is_rounded_as_its_exact_value() -> None:
    between = Fraction(1) + Fraction(1, 2**53)
    found = sd.mean("x*y", [[2, between], [between, 2]], digits=3)
    assert float(found) == 1.0
    assert found.interval == (between, between)


def test_symbols_leave_the_closed_form_as_the_value() -> None:
    found = sd.i2("erf")
    assert found.value == found.closed_form
    assert found.error_bound is None
    assert found.interval is None
    assert not found.certified
    with pytest.raises(InputError, match="symbols"):
        float(found)
    with pytest.raises(InputError, match="c11, c12, c22"):
        found.evaluate(20)


def test_the_same_question_with_more_digits() -> None:
    few = sd.i2("tanh", covariance=LAW, digits=5)
    many = few.evaluate(25)
    assert abs(many.value - few.value) <= few.error_bound
    assert str(many.value).startswith("0.14675411546038742428759")


def test_what_has_no_answer_is_refused_with_the_reason() -> None:
    with pytest.raises(DivergentError, match=r"Var\(x1\) < 1/2"):
        sd.mean("exp(x**2)", [[1]])
    assert sd.mean("sin(x)/x", [[1]]).certified
    with pytest.raises(DivergentError):
        sd.mean("cos(x)/x", [[1]])


def test_four_signs_are_no_closed_form() -> None:
    found = sd.i4("relu")
    assert found.closed_form is None
    assert found.sign_factors == 4
    assert found.value.has(sp.Function("SignMean4")) or "SignMean4" in str(found.value)


def test_the_ball_library_stands_beside_certified_numbers() -> None:
    found = sd.mean("erf(x)*y", LAW)
    assert "FLINT" in found.to_dict()["arithmetic"]
    assert found.to_dict()["arithmetic"] in found.to_text()
    assert found.to_dict()["arithmetic"] in found.steps[-1].statement
    assert sd.i2("erf").to_dict()["arithmetic"] is None


def test_a_formula_may_be_a_sympy_expression() -> None:
    c11, c12, c22 = sp.symbols("c11 C_12 Q22")
    right = 2 / sp.pi * sp.asin(c12 / sp.sqrt((1 + c11) * (1 + c22)))
    assert sd.check("i2", right, "erf").holds
    assert not sd.check("i2", 1.0000001 * right, "erf").holds
    with pytest.raises(InputError, match="unknown symbol q") as caught:
        sd.check("i2", sp.Symbol("q"), "erf")
    assert caught.value.argument == "formula"


@pytest.mark.parametrize(
    ("what", "activation", "said"),
    [
        ("x2*Max(0, x1)", None, "E[x2*Max(0, x1)] = c12/2"),
        ("i2", "Max(-1,x)", "E[g(u)*g(v)] = c12/2, g(x) = Max(-1,x)"),
        ("x*y", None, "E[x1*x2] = c12/2"),
    ],
)
def test_a_checked_statement_has_its_equals_sign_behind_the_mean(
    what: str, activation: str | None, said: str
) -> None:
    assert sd.check(what, "c12/2", activation).to_dict()["statement_text"] == said
