"""I2, I3, I4: classical forms, Price derivatives, coincident fields, degenerate covariances."""

import pytest
import sympy as sp

from symderiv.foundation.errors import DivergentError, InputError, ShapeError
from symderiv.gaussian import (
    covariance_symbols,
    i2,
    i3,
    i4,
)
from symderiv.gaussian.distributions import derivative

pytestmark = pytest.mark.days(6)

X = sp.Symbol("x", real=True)
R = sp.Rational
ERF = sp.erf(X / sp.sqrt(2))
RELU = X * sp.Heaviside(X)
GELU = X / 2 * (1 + ERF)
SIGN = sp.sign(X)
ALL = {
    "erf": ERF,
    "relu": RELU,
    "gelu": GELU,
    "sign": SIGN,
    "sin": sp.sin(X),
    "linear": X,
    "cubic": X**3 - X,
    "exp": sp.exp(X / 2),
}
REGULAR = sp.Matrix(
    [
        [2, R(1, 2), -R(1, 3), R(1, 5)],
        [R(1, 2), 1, R(1, 4), R(2, 5)],
        [-R(1, 3), R(1, 4), R(3, 2), -R(3, 4)],
        [R(1, 5), R(2, 5), -R(3, 4), 1],
    ]
)
C = covariance_symbols(4)
c11, c12, c13, c14, c22, c23, c24, c33, c34, c44 = (C[i, j] for i in range(4) for j in range(i, 4))


def at(e: sp.Expr, size: int = 4) -> sp.Expr:
    """A 30-digit number at a fixed rational covariance."""
    exact = [[2, 1, -1, 1], [1, 3, 1, 2], [-1, 1, 3, -2], [1, 2, -2, 4]]
    point = {C[i, j]: R(exact[i][j], 1 if i == j else 2) for i in range(size) for j in range(size)}
    return e.subs(point).evalf(30)


def test_the_sine_kernel_is_tidy() -> None:
    assert i2(ALL["sin"], ALL["sin"]).value == sp.exp(-c11 / 2 - c22 / 2) * sp.sinh(c12)


@pytest.mark.parametrize("name", ["erf", "relu", "gelu", "sin", "cubic", "exp"])
def test_price_derivatives_of_i2_agree_with_differentiation(name: str) -> None:
    g = ALL[name]
    value, slope = i2(g, g).value, derivative(g)
    assert abs(at(sp.diff(value, c12) - i2(slope, slope).value, 2)) < 1e-27
    assert abs(at(sp.diff(value, c11) - i2(derivative(slope) / 2, g).value, 2)) < 1e-27


@pytest.mark.parametrize("name", ["erf", "relu", "gelu", "sign", "sin", "cubic", "exp"])
def test_self_averages_and_their_derivatives(name: str) -> None:
    g = ALL[name]
    own = i2(g, g, fields=(0, 0)).value
    curvature = derivative(derivative(g * g)) / 2
    assert sp.simplify(i2(g, g, sp.Matrix([[c11, c11], [c11, c11]])).value - own) == 0
    assert abs(at(sp.diff(own, c11) - i2(curvature, sp.S.One, fields=(0, 0)).value, 1)) < 1e-27


def test_i4_of_sign_diverges_at_coincident_derivatives() -> None:
    with pytest.raises(DivergentError, match="delta"):
        i4(SIGN, SIGN, SIGN, SIGN, fields=(0, 0, 1, 2))
    value = i4(SIGN, SIGN, SIGN, SIGN, fields=(0, 1, 2, 2)).value
    assert sp.simplify(value - 2 / (sp.pi * sp.sqrt(c11 * c22 - c12**2))) == 0


def test_i4_of_relu_has_fewer_signs_where_fields_coincide() -> None:
    assert i4(RELU, RELU, RELU, RELU).sign_factors == 4
    assert i4(RELU, RELU, RELU, RELU, fields=(0, 0, 1, 2)).sign_factors == 2
    assert i4(RELU, RELU, RELU, RELU, fields=(0, 0, 0, 0)).value == c11 / 2


@pytest.mark.parametrize("name", ALL)
def test_folded_unfolded_and_numeric_results_agree(name: str) -> None:
    g = ALL[name]
    exact = REGULAR
    for integral, size in ((i2, 2), (i3, 3), (i4, 4)):
        functions = [g] * (4 if size == 4 else 2)
        point = {C[i, j]: exact[i, j] for i in range(size) for j in range(size)}
        number = sp.Float(integral(*functions, exact[:size, :size]).evaluate(25).value, 25)
        folded = integral(*functions, folded=True)
        unfolded = integral(*functions)
        assert abs(unfolded.value.subs(point).evalf(30) - number) < 1e-23
        assert abs(folded.unfolded().subs(point).evalf(30) - number) < 1e-23
        values = dict(point)
        for symbol, definition in folded.definitions:
            assert definition.free_symbols <= set(values)
            values[symbol] = definition.xreplace(values)
        assert abs(folded.value.xreplace(values).evalf(30) - number) < 1e-23


def test_folded_results_are_short_and_deterministic() -> None:
    once, again = (i4(ERF, ERF, ERF, ERF, folded=True) for _ in range(2))
    assert once.value == again.value
    assert [str(s) for s, _ in once.definitions] == [str(s) for s, _ in again.definitions]
    assert sp.count_ops(once.value) < 20
    assert len(once.definitions) <= 9


def test_wrong_shapes_and_patterns_are_refused() -> None:
    with pytest.raises(ShapeError):
        i3(ERF, ERF, sp.eye(2))
    with pytest.raises(InputError, match="pattern"):
        i4(ERF, ERF, ERF, ERF, fields=(0, 2, 1))
