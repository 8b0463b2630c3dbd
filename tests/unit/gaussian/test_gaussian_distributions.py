"""Derivatives of activations as distributions."""

import pytest
import sympy as sp

from symderiv.foundation.errors import InputError
from symderiv.gaussian import derivative, expectation

x = sp.Symbol("x", real=True)
H, D = sp.Heaviside, sp.DiracDelta


@pytest.mark.parametrize(
    ("g", "first", "second"),
    [
        (x * H(x), H(x), D(x)),
        (sp.Max(x, 0), H(x), D(x)),
        (sp.sign(x), 2 * D(x), 2 * D(x, 1)),
        (sp.Abs(x), sp.sign(x), 2 * D(x)),
        (x**2 * H(x), 2 * x * H(x), 2 * H(x)),
        (sp.Max(x, 0) ** 2, 2 * x * H(x), 2 * H(x)),
        (H(x - 1) * x, H(x - 1) + D(x - 1), D(x - 1) + D(x - 1, 1)),
        (sp.Min(x, 1), 1 - H(x - 1), -D(x - 1)),
        (sp.sign(2 - 3 * x), -2 * D(x - sp.Rational(2, 3)), -2 * D(x - sp.Rational(2, 3), 1)),
        (sp.erf(x), 2 * sp.exp(-(x**2)) / sp.sqrt(sp.pi), None),
        (sp.tanh(x), 1 - sp.tanh(x) ** 2, None),
        (sp.Integer(3), 0, 0),
    ],
)
def test_derivatives_carry_no_spurious_delta(
    g: sp.Expr, first: sp.Expr, second: sp.Expr | None
) -> None:
    assert sp.expand(derivative(g) - first) == 0
    if second is not None:
        assert sp.expand(derivative(derivative(g)) - second) == 0


def test_a_hinge_of_three_lines_has_a_delta_at_every_bend() -> None:
    second = derivative(derivative(sp.Max(0, x, 2 * x - 1)))
    assert sp.expand(second - D(x) - D(x - 1)) == 0


@pytest.mark.parametrize("g", [x * H(x), sp.Abs(x) ** 3, H(x - 1) * x**2, sp.sign(x) * x**2])
def test_stein_holds_for_the_derivative(g: sp.Expr) -> None:
    variance = sp.Matrix([[sp.Symbol("q", positive=True)]])
    left = expectation(x * g, [x], variance).value
    right = variance[0] * expectation(derivative(g), [x], variance).value
    assert sp.simplify(left - right) == 0


def test_two_unknown_symbols_are_refused() -> None:
    a, b = sp.symbols("a b")
    with pytest.raises(InputError, match="called x"):
        derivative(a * b)
