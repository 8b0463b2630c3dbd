"""For which variances expectations exist."""

import pytest
import sympy as sp

from symderiv.foundation.errors import DivergentError
from symderiv.gaussian import covariance_symbols, existence, expectation

x, y = sp.symbols("x y", real=True)
R = sp.Rational


@pytest.mark.parametrize(
    ("g", "limit"),
    [
        (sp.exp(x**2), R(1, 2)),
        (x**2 * sp.exp(x**2 / 3 + x), R(3, 2)),
        (sp.cosh(x**2 / 6), 3),
        (sp.exp(x**2) * sp.exp(-3 * x**2), sp.oo),
        (sp.exp(x**3), 0),
        (sp.exp(-(x**3)), 0),
        (sp.exp(x**2 - x**4), sp.oo),
        (sp.exp(sp.exp(x)), 0),
        (sp.exp(-sp.exp(x)), sp.oo),
        (sp.log(1 + sp.exp(x)), sp.oo),
        (sp.tanh(x), sp.oo),
        (sp.exp(sp.Abs(x)), sp.oo),
        (sp.exp(sp.Abs(x) ** 3), 0),
        (sp.Abs(sp.exp(x**2) - 1), R(1, 2)),
        (sp.Max(sp.exp(2 * x**2), x), R(1, 4)),
        (sp.Integer(2), sp.oo),
    ],
)
def test_the_limit_on_the_variance(g: sp.Expr, limit: sp.Expr) -> None:
    found = existence(g)
    assert found.variance_limit == limit
    assert bool(found.reason) == (limit != sp.oo)


def test_a_growing_factor_is_refused_for_symbols_with_its_condition() -> None:
    with pytest.raises(DivergentError, match=r"only for Var\(x\) < 1/2"):
        expectation(sp.exp(x**2) * y, [x, y], covariance_symbols(2))


def test_a_growing_factor_is_computed_below_its_limit_only() -> None:
    below = sp.Matrix([[R(1, 4), 0], [0, 1]])
    assert expectation(sp.exp(x**2) * y**2, [x, y], below).value == sp.sqrt(2)
    with pytest.raises(DivergentError, match="here it is 1/2"):
        expectation(sp.exp(x**2), [x], sp.Matrix([[R(1, 2)]]))


def test_a_decaying_factor_widens_the_range() -> None:
    joint = sp.Matrix([[1, R(9, 10)], [R(9, 10), 1]])
    value = expectation(sp.exp(x**2 / 2 - 2 * y**2), [x, y], joint).value
    assert sp.simplify(value - 1 / sp.sqrt(4 * R(81, 100))) == 0
    with pytest.raises(DivergentError, match="other Gaussian factors"):
        expectation(sp.exp(x**2 / 2 - y**2), [x, y], sp.Matrix([[2, 0], [0, 1]]))


def test_growth_in_two_fields_together_is_seen() -> None:
    with pytest.raises(DivergentError):
        expectation(sp.exp(x * y), [x, y], sp.Matrix([[1, 0], [0, 1]]))
    value = expectation(sp.exp(x * y / 2), [x, y], sp.Matrix([[1, 0], [0, 1]])).value
    assert value == 2 / sp.sqrt(3)
