"""Means of products of signs: classical forms, and Price's rule as the independent route."""

import pytest
import sympy as sp

from symderiv.foundation.errors import NotYetError
from symderiv.gaussian import OwenT, SignMean4, covariance_symbols, expectation

x, y, z, w = FIELDS = sp.symbols("x y z w", real=True)
C = covariance_symbols(4)
R = sp.Rational


def mean_of(e: sp.Expr, count: int, mean: list[object] | None = None) -> sp.Expr:
    means = None if mean is None else sp.Matrix(mean)
    return expectation(e, FIELDS[:count], C[:count, :count], means).value


def test_one_sign_with_a_mean_is_an_error_function() -> None:
    m = sp.Symbol("m", real=True)
    assert mean_of(sp.sign(x), 1, [m]) == sp.erf(sp.sqrt(2) * m / (2 * sp.sqrt(C[0, 0])))
    assert mean_of(sp.erf(x), 1, [m]) == sp.erf(m / sp.sqrt(1 + 2 * C[0, 0]))


def test_an_oscillation_makes_the_mean_imaginary() -> None:
    expected = sp.exp(-C[0, 0] / 2) * sp.erfi(C[0, 1] / sp.sqrt(1 + 2 * C[1, 1]))
    assert mean_of(sp.sin(x) * sp.erf(y), 2) == expected


@pytest.mark.parametrize("factors", [(sp.sign(x), sp.sign(y)), (sp.erf(x), sp.Heaviside(y))])
def test_two_signs_with_means_obey_price(factors: tuple[sp.Expr, sp.Expr]) -> None:
    means = [R(1, 3), -R(2, 5)]
    value = mean_of(sp.Mul(*factors), 2, means)
    assert value.has(OwenT)
    slope = mean_of(sp.diff(factors[0], x) * sp.diff(factors[1], y), 2, means)
    point = {C[0, 0]: R(3, 2), C[1, 1]: R(4, 5), C[0, 1]: R(1, 7)}
    difference = sp.diff(value, C[0, 1]).subs(point) - slope.subs(point)
    assert abs(difference.evalf(30)) < 1e-25


def test_four_signs_are_one_function_of_six_correlations() -> None:
    result = expectation(sp.Mul(*(sp.sign(f) for f in FIELDS)), FIELDS, C)
    assert isinstance(result.value, SignMean4)
    assert result.sign_factors == 4
    assert result.method == "orthant-integral"


def test_independent_groups_factorise() -> None:
    blocks = sp.diag(
        sp.Matrix([[1, R(1, 2)], [R(1, 2), 1]]), sp.Matrix([[1, R(1, 2)], [R(1, 2), 1]])
    )
    value = expectation(sp.Mul(*(sp.sign(f) for f in FIELDS)), FIELDS, blocks).value
    assert value == R(1, 9)


def test_six_correlated_signs_are_not_guessed() -> None:
    e = sp.erf(x) ** 2 * sp.erf(y) ** 2 * sp.sign(z) * sp.sign(w)
    with pytest.raises(NotYetError, match="s = 6"):
        mean_of(e, 4)
    with pytest.raises(NotYetError, match="s = 3 sign factors with means"):
        mean_of(sp.sign(x) * sp.sign(y) * sp.sign(z), 3, [1, 1, 1])


def test_two_signs_with_one_symbolic_mean_are_right_at_its_zero() -> None:
    """The mean of both sides of a jump is not the value where there is no jump."""
    x, mu = sp.Symbol("x", real=True), sp.Symbol("mu", real=True)
    value = expectation(sp.erf(x) ** 2, [x], sp.eye(1), sp.Matrix([mu])).value
    exact = expectation(sp.erf(x) ** 2, [x], sp.eye(1)).value
    assert abs(sp.N(value.subs(mu, 0) - exact)) < 1e-12
    near = value.subs(mu, sp.Rational(1, 10**8))
    assert abs(sp.N(near - exact)) < 1e-12
