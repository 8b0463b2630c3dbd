"""Hermite coefficients of fields: closed forms, quadrature and mpmath."""

import math

import mpmath
import numpy as np
import pytest
from symderiv_models.one_step.field_moments import field_moments

A = np.array([[0.3, -1.7, 2.4], [0.0, 1.1, -3.0]])
S = np.array([[0.9], [1.4]])


@pytest.mark.parametrize("text", ["relu", "erf", "x*Heaviside(x)/(1+0.1*x**2)*0 + abs(x - 1)"])
def test_closed_forms_and_integrals_between_kinks_agree(text: str) -> None:
    closed = field_moments(text, 5)(A, S)
    integrated = field_moments(text, 5, closed=False)(A, S)
    assert field_moments(text, 5).method == "closed form"
    assert closed.error == 0.0
    assert integrated.error < 1e-9
    for p in range(6):
        scale = math.sqrt(math.factorial(p))
        np.testing.assert_allclose(
            closed.coefficients[p], integrated.coefficients[p], atol=3e-9 * scale
        )
    np.testing.assert_allclose(closed.second, integrated.second, rtol=3e-9)


@pytest.mark.parametrize(
    ("text", "function", "kink"),
    [
        ("tanh", mpmath.tanh, None),
        ("sigmoid", lambda x: 1 / (1 + mpmath.exp(-x)), None),
        ("Heaviside(x - 0.2)*tanh(x - 0.2)", lambda x: mpmath.tanh(x - 0.2) * (x > 0.2), 0.2),
    ],
)
def test_integrated_coefficients_against_mpmath(
    text: str, function: object, kink: float | None
) -> None:
    assert callable(function)
    found = field_moments(text, 4)(A, S)
    assert field_moments(text, 4).method == "quadrature"
    for place in ((0, 1), (1, 1)):
        a, s = A[place], S[place[0], 0]
        ends = [-10, 10]
        if kink is not None:
            ends.insert(1, (kink - a) / s)
        for p in (0, 1, 4):
            exact = mpmath.quad(
                lambda z, a=a, s=s, p=p: (
                    function(a + s * z)
                    * mpmath.hermite(p, z / mpmath.sqrt(2))
                    / mpmath.mpf(2) ** (p / 2)
                    * mpmath.npdf(z)
                ),
                ends,
            )
            assert found.coefficients[(p, *place)] == pytest.approx(float(exact), abs=2e-8)


@pytest.mark.turns(6)
def test_what_the_orders_beyond_hold_is_the_rest_of_the_variance() -> None:
    few, many = field_moments("erf", 3)(A, S), field_moments("erf", 25)(A, S)
    tail = sum(many.coefficients[p] ** 2 / math.factorial(p) for p in range(4, 26))
    np.testing.assert_allclose(few.remainder(), tail, rtol=0.02, atol=1e-9)
