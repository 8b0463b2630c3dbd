"""Activations for doubles: the same function, no overflow, holes filled, kinks where they are."""

import math

import mpmath
import pytest
import sympy as sp

from symderiv.foundation.errors import DivergentError, NotYetError
from symderiv.lowering.means.numeric_activation import (
    Decay,
    Gate,
    NumericActivation,
    Ramp,
    Saturation,
    SoftPlus,
    X,
    for_many,
)
from symderiv.numerics.quadratures import bounded

SAME = {
    "log(1 + exp(x))": sp.log(1 + sp.exp(X)),
    "log(1 + exp(-2*x))": sp.log(1 + sp.exp(-2 * X)) + X,
    "x/(1 + exp(-x))": X / (1 + sp.exp(-X)),
    "exp(x)/(1 + exp(x))": sp.exp(X) / (1 + sp.exp(X)),
    "(1 - exp(-4*x))/(1 + exp(-4*x))": (1 - sp.exp(-4 * X)) / (1 + sp.exp(-4 * X)),
    "exp(x) + exp(-3*x)": sp.exp(X) + sp.exp(-3 * X),
    "exp(-x**2)*x": sp.exp(-(X**2)) * X,
    "exp(x)/(1 + exp(7*x))": sp.exp(X) / (1 + sp.exp(7 * X)),
    "sin(x)/x": sp.sin(X) / X,
    "x/(1 + Abs(x))": X / (1 + sp.Abs(X)),
}


@pytest.mark.parametrize("text", SAME)
def test_derivatives_are_those_of_the_formula(text: str) -> None:
    given = SAME[text]
    found = NumericActivation(given, text)
    exact = sp.lambdify(X, given, "mpmath")
    with mpmath.workdps(50):
        for order in range(3):
            derivative = found.derivative(order, between_kinks=True)
            for place in (
                *(sp.Rational(-7, 5), sp.Rational(1, 8), sp.Rational(26, 100), sp.Integer(3)),
            ):
                value = derivative.subs(X, place).evalf(20)
                expected = mpmath.diff(exact, mpmath.mpf(place.p) / place.q, order)
                assert abs(value - sp.Float(str(expected), 25)) < 1e-15, (order, place)


@pytest.mark.parametrize("text", [text for text in SAME if "/(1 + exp" in text][:3])
def test_logistic_functions_have_no_large_exponentials(text: str) -> None:
    value = NumericActivation(SAME[text], text).derivative(0)
    assert not value.has(sp.exp)
    assert value.has(sp.tanh)


def test_softplus_is_a_function_of_its_own() -> None:
    value = NumericActivation(SAME["log(1 + exp(x))"], "softplus").derivative(0)
    assert value == SoftPlus(X)
    assert SoftPlus(X).is_extended_real
    assert float(SoftPlus(sp.Integer(2)).evalf()) == pytest.approx(2.1269280110429727, rel=1e-14)


def test_a_hole_is_filled_by_the_limit() -> None:
    found = NumericActivation(SAME["sin(x)/x"], "sin(x)/x")
    assert found.holes == [0]
    for order, limit in enumerate((1, 0, -sp.Rational(1, 3))):
        assert found.derivative(order).subs(X, 0) == limit
    assert NumericActivation((sp.exp(X) - 1) / (X - 2) ** 2, "g").holes == [2]
    assert NumericActivation(X / sp.sinh(X), "g").holes == [0]
    assert NumericActivation(X / sp.cosh(X), "g").holes == []


def test_poles_are_no_holes() -> None:
    with pytest.raises(DivergentError, match="not finite at x = 2"):
        NumericActivation(1 / (X - 2), "1/(x-2)").derivative(0)
    with pytest.raises(NotYetError, match="0/0 at 0 and has kinks"):
        NumericActivation(sp.sin(X) / X + sp.Abs(X - 1), "s").derivative(0)


@pytest.mark.parametrize(
    ("g", "kinks", "jumps"),
    [
        (sp.Max(X, X / 10), (0.0,), (0.9,)),
        (sp.Abs(X - 1) + sp.Abs(X + 2) / 2, (-2.0, 1.0), (1.0, 2.0)),
        (X / (1 + sp.Abs(X)), (0.0,), (0.0,)),
        (sp.Max(X, 0, -X - 3), (-3.0, -1.5, 0.0), (1.0, 0.0, 1.0)),
        (sp.Heaviside(X - 1) * (X - 1), (1.0,), (1.0,)),
        (sp.tanh(X), (), ()),
    ],
)
def test_kinks_and_jumps_of_the_slope(
    g: sp.Expr, kinks: tuple[float, ...], jumps: tuple[float, ...]
) -> None:
    found = NumericActivation(g, str(g))
    assert found.kinks == pytest.approx(kinks)
    assert found.jumps_of_slope == pytest.approx(jumps, abs=1e-20)
    assert found.slope_jumps == any(jumps)
    assert not found.jumps
    assert found.jumps_of_value == (0.0,) * len(kinks)


def test_parity_is_found_piece_by_piece() -> None:
    hard = sp.Max(-1, sp.Min(1, X))
    for odd in (sp.tanh(X), hard, sp.Abs(X + 1) - sp.Abs(X - 1), sp.sign(X) * X**2):
        assert NumericActivation(odd, "odd").parity == -1
        assert NumericActivation(odd * X, "even").parity == 1
    # 7/10, where numbers are compared first, is on the part that agrees
    for neither in (hard + sp.Max(X - 2, 0), sp.Abs(X) + sp.Heaviside(X - 3), sp.exp(X)):
        assert NumericActivation(neither, "neither").parity == 0


def test_what_jumps_has_no_derivative() -> None:
    found = NumericActivation(sp.sign(X - 1) + sp.Max(X, 0), "sign(x-1)+Max(x,0)")
    assert found.jumps
    assert found.kinks == (0.0, 1.0)
    assert found.jumps_of_value == pytest.approx((0.0, 2.0))
    assert found.derivative(1, between_kinks=True).subs(X, sp.Rational(1, 2)) == 1
    with pytest.raises(NotYetError, match="is not a function"):
        found.derivative(1)
    with pytest.raises(NotYetError, match="neither at zeros of a polynomial nor where one erf"):
        _ = NumericActivation(sp.Abs(sp.sin(X)), "Abs(sin(x))").kinks


def test_exponentials_are_decays_where_a_step_leaves_them_below_one() -> None:
    step, back = sp.Heaviside(X), sp.Heaviside(-X)
    elu = X * step + (sp.exp(X) - 1) * back / 3
    given = for_many(elu + sp.exp(-2 * X) * step + sp.exp(X) * step + sp.exp(-X))
    assert given.atoms(sp.exp) == {sp.exp(X), sp.exp(-X)}  # which grow on their side
    assert len(given.atoms(Decay)) == 2
    plain = given.replace(Decay, sp.exp)
    for place in (-700, -3, sp.Rational(-1, 5), 0, 2, 300):
        expected = elu + sp.exp(-2 * X) * step + sp.exp(X) * step + sp.exp(-X)
        assert sp.N(plain.subs(X, place) - expected.subs(X, place), 20) == 0


def test_exponentials_that_cancel_on_one_side_of_a_kink_are_on_the_other_only() -> None:
    formula = sp.Max(X, 0) + sp.Min(sp.exp(X) - 1, 0)
    found = NumericActivation(formula, "elu as it is typed")
    for order, there, far in ((0, math.exp(-1.5) - 1, 800.0), (1, math.exp(-1.5), 1.0)):
        value = sp.lambdify(X, found.derivative(order), "math")
        assert value(-1.5) == pytest.approx(there, rel=1e-15)
        # exp(800) - exp(800) is not a number
        assert not found.derivative(order).xreplace({sp.Heaviside(-X): sp.S.Zero}).has(sp.exp)
        assert float(found.derivative(order).subs(X, 800)) == far


def test_long_quotients_are_the_nearest_doubles() -> None:
    given = for_many(sp.Rational(1234567891, 987654321) * X + X**2 / 3)
    assert given.coeff(X, 1).q & (given.coeff(X, 1).q - 1) == 0
    assert float(given.coeff(X, 1)) == 1234567891 / 987654321
    assert given.coeff(X, 2) == sp.Rational(1, 3)


def test_tangents_and_softplus_are_functions_of_many_numbers() -> None:
    mish = X * sp.tanh(SoftPlus(X))
    given = for_many(mish + sp.tanh(X / 2) ** 2 + SoftPlus(2 * X))
    assert not given.has(sp.tanh, SoftPlus)
    assert given == X * Gate(X) + Saturation(X / 2) ** 2 + Ramp(2 * X)


@pytest.mark.parametrize("place", [-60.0, -3.0, -0.02, -1e-9, 0.0, 5e-3, 0.7, 4.0, 45.0])
def test_bounded_functions_of_many_numbers_are_those_of_the_library(place: float) -> None:
    softplus = max(place, 0.0) + math.log1p(math.exp(-abs(place)))
    assert bounded._saturation(place) == pytest.approx(math.tanh(place), rel=1e-14, abs=0)
    assert bounded._ramp(place) == pytest.approx(softplus, rel=1e-15, abs=1e-15)
    assert bounded._gate(place) == pytest.approx(math.tanh(softplus), rel=1e-15, abs=1e-15)


@pytest.mark.parametrize("order", [1, 2])
def test_derivatives_of_functions_of_the_modulus_have_one_denominator(order: int) -> None:
    activation = NumericActivation(SAME["x/(1 + Abs(x))"], "x/(1+Abs(x))")
    assert sp.count_ops(activation.derivative(order, between_kinks=True)) < 8
