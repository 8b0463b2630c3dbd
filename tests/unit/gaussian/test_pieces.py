"""Rough functions of rough functions: the same values, derivatives without products of deltas."""

import numpy as np
import pytest
import sympy as sp

from symderiv.formula import activation
from symderiv.gaussian import derivative
from symderiv.gaussian.distributions import reduced

X = sp.Symbol("x", real=True)
NUMPY = [{"Heaviside": lambda z, *_: np.heaviside(z, 0.5)}, "numpy"]
CASES = {
    "Max(-1,Min(1,x))": sp.Heaviside(X + 1) - sp.Heaviside(X - 1),
    "Min(Max(0,x),6)": sp.Heaviside(X) - sp.Heaviside(X - 6),
    "Max(x/10,Min(x,1))": (
        1 + 9 * sp.Heaviside(X) - 10 * sp.Heaviside(X - 1) + sp.Heaviside(X - 10)
    )
    / 10,
    "Abs(Max(x,0)-1)": 2 * sp.Heaviside(X - 1) - sp.Heaviside(X),
    "Heaviside(Abs(x)-1)": sp.DiracDelta(X - 1) - sp.DiracDelta(X + 1),
    "Max(Abs(x),x**2)": None,
    "Max(Min(x**2-2,3),-1)": None,
    "Max(-1,Min(1,x))*tanh(x)": None,
}


@pytest.mark.parametrize("text", CASES)
def test_they_are_sums_of_steps_with_the_same_values(text: str) -> None:
    g = activation(text).expression
    steps = reduced(g, X)
    assert not steps.has(sp.Max, sp.Min, sp.Abs)
    assert all(step.args[0].is_polynomial(X) for step in steps.atoms(sp.Heaviside))
    places = np.linspace(-7.03, 11.02, 1237)
    with np.errstate(all="raise"):
        found, expected = (sp.lambdify(X, e, NUMPY)(places) for e in (steps, g))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
    slope = CASES[text]
    if slope is not None:
        assert sp.expand(derivative(g) - slope) == 0


def test_what_changes_at_no_root_of_a_polynomial_stays() -> None:
    g = sp.Max(0, sp.Min(1, sp.exp(X) - 2))
    found = reduced(g, X)
    values = [sp.lambdify(X, e, NUMPY)(np.linspace(-2.03, 3, 50)) for e in (found, g)]
    np.testing.assert_allclose(*values, atol=1e-12)
