"""Every rule on its own, against a route that does not use it."""

from itertools import product

import pytest
import sympy as sp

from symderiv.foundation.errors import DivergentError
from symderiv.gaussian import covariance_symbols, expectation

x, y, z, w = FIELDS = sp.symbols("x y z w", real=True)
C = covariance_symbols(4)
R = sp.Rational


def mean_of(
    e: sp.Expr, count: int = 2, mean: list[object] | None = None, cov: sp.Matrix = C
) -> sp.Expr:
    means = None if mean is None else sp.Matrix(mean)
    return expectation(e, FIELDS[:count], cov[:count, :count], means).value


def test_powers_with_means_come_from_the_moment_generating_function() -> None:
    m, t = sp.symbols("m1:3", real=True), sp.symbols("t1:3")
    exponent = (
        sum(a * b for a, b in zip(t, m, strict=True))
        + sum(C[i, j] * t[i] * t[j] for i, j in product(range(2), repeat=2)) / 2
    )
    expected = sp.diff(sp.exp(exponent), t[0], 3, t[1], 2).subs({t[0]: 0, t[1]: 0})
    assert sp.expand(mean_of(x**3 * y**2, 2, list(m)) - expected) == 0


def test_an_exponential_shifts_the_mean() -> None:
    a, b = sp.symbols("a b", real=True)
    value = mean_of(sp.exp(a * x) * y, 2)
    assert sp.expand(value - a * C[0, 1] * sp.exp(a**2 * C[0, 0] / 2)) == 0
    assert mean_of(sp.cos(b * x), 1) == sp.exp(-(b**2) * C[0, 0] / 2)


def test_a_tilt_is_a_gaussian_integral() -> None:
    a = sp.Symbol("a", positive=True)
    m = sp.Symbol("m", real=True)
    s = C[0, 0]
    value = mean_of(sp.exp(-a * x**2 / 2), 1, [m])
    assert sp.simplify(value - sp.exp(-a * m**2 / (2 * (1 + a * s))) / sp.sqrt(1 + a * s)) == 0
    second = mean_of(sp.exp(-a * x**2 / 2) * x**2, 1)
    assert sp.simplify(second + 2 * sp.diff(mean_of(sp.exp(-a * x**2 / 2), 1), a)) == 0


def test_tilts_by_several_factors_give_the_determinant() -> None:
    value = mean_of(sp.exp(-(x**2) / 2 - y**2 + x * y / 2), 2)
    a = sp.Matrix([[1, -R(1, 2)], [-R(1, 2), 2]])
    determinant = sp.expand((sp.eye(2) + C[:2, :2] * a).det())
    assert sp.expand(1 / value**2 - determinant) == 0


@pytest.mark.parametrize("order", [0, 1, 2, 3, 4])
def test_derivatives_of_delta_are_derivatives_of_the_density(order: int) -> None:
    t, m = sp.symbols("t m", real=True)
    s = C[0, 0]
    density = sp.exp(-((t - m) ** 2) / (2 * s)) / sp.sqrt(2 * sp.pi * s)
    expected = ((-1) ** order * sp.diff(density, t, order)).subs(t, 0)
    assert sp.simplify(mean_of(sp.DiracDelta(x, order), 1, [m]) - expected) == 0


def test_a_delta_function_conditions_the_other_fields() -> None:
    value = mean_of(sp.DiracDelta(x - 1) * y**2, 2)
    density = sp.exp(-1 / (2 * C[0, 0])) / sp.sqrt(2 * sp.pi * C[0, 0])
    mean = C[0, 1] / C[0, 0]
    variance = C[1, 1] - C[0, 1] ** 2 / C[0, 0]
    assert sp.simplify(value / density - mean**2 - variance) == 0


def test_derivatives_of_delta_see_the_other_factors() -> None:
    # E[δ''(x) y²] = -E[δ'(x) C_xy 2y]/C_xx - E[δ(x) y²]/C_xx, by hand: differentiate E[y² | x = t].
    t = sp.Symbol("t", real=True)
    density = sp.exp(-(t**2) / (2 * C[0, 0])) / sp.sqrt(2 * sp.pi * C[0, 0])
    inside = (C[0, 1] * t / C[0, 0]) ** 2 + C[1, 1] - C[0, 1] ** 2 / C[0, 0]
    expected = sp.diff(density * inside, t, 2).subs(t, 0)
    assert sp.simplify(mean_of(sp.DiracDelta(x, 2) * y**2, 2) - expected) == 0


def test_powers_and_signs_at_a_delta_function() -> None:
    delta = mean_of(sp.DiracDelta(x), 1)
    assert mean_of(x * sp.DiracDelta(x), 1) == 0
    assert mean_of(x * sp.DiracDelta(x, 1), 1) == -delta
    assert mean_of(sp.sign(x) * sp.DiracDelta(x), 1) == 0
    assert mean_of(sp.Heaviside(x) * sp.DiracDelta(x), 1) == delta / 2


@pytest.mark.parametrize(
    "e",
    [
        sp.DiracDelta(x) ** 2,
        sp.DiracDelta(x) * sp.DiracDelta(3 * x),
        sp.DiracDelta(x, 1) * sp.sign(x),
    ],
)
def test_products_that_do_not_exist_are_refused(e: sp.Expr) -> None:
    with pytest.raises(DivergentError, match="delta"):
        mean_of(e, 1)


def test_delta_functions_of_fields_without_variance() -> None:
    zero = sp.zeros(1, 1)
    assert mean_of(sp.DiracDelta(x), 1, [1], zero) == 0
    with pytest.raises(DivergentError, match="certainly zero"):
        mean_of(sp.DiracDelta(x), 1, None, zero)


def test_a_limit_that_depends_on_the_direction_is_refused() -> None:
    same = sp.ones(3, 3)
    with pytest.raises(DivergentError, match="how the fields align"):
        mean_of(sp.DiracDelta(x) * sp.sign(y) * sp.sign(z), 3, None, same)
    assert mean_of(sp.DiracDelta(x) * sp.sign(y), 2, None, same) == 0


def test_collinear_signs_merge_for_proportional_fields() -> None:
    line = sp.Matrix([[1, -2, 3], [-2, 4, -6], [3, -6, 9]])
    assert mean_of(sp.sign(x) * sp.sign(y), 2, None, line) == -1
    assert mean_of(sp.sign(x) * sp.sign(y) * sp.sign(z) * z, 3, None, line) == -3 * sp.sqrt(
        2 / sp.pi
    )


@pytest.mark.parametrize("slope", [3, -3])
def test_signs_under_a_growing_exponential_keep_their_orientation(slope: int) -> None:
    """exp(x²/4) makes the variance 2 out of 1 and the mean of 1 sqrt(2): one Gaussian integral."""
    line = sp.Matrix([[1, slope], [slope, slope**2]])
    grown = sp.exp(x**2 / 4)
    assert mean_of(grown * sp.sign(x) * sp.sign(y), 2, None, line) == sp.sign(slope) * sp.sqrt(2)
    certain = sp.diag(1, 0)
    assert mean_of(grown * sp.sign(y), 2, [0, slope], certain) == sp.sign(slope) * sp.sqrt(2)
    above = mean_of(grown * sp.Heaviside(x - 1) * sp.Heaviside(x + 2), 1, None, sp.eye(1))
    between = mean_of(grown * sp.Heaviside(2 - x) * sp.Heaviside(x + 1), 1, None, sp.eye(1))
    cdf = sp.functions.special.error_functions.erf
    assert sp.simplify(above - sp.sqrt(2) * (1 - cdf(R(1, 2))) / 2) == 0
    assert sp.simplify(between - sp.sqrt(2) * (cdf(1) + cdf(R(1, 2))) / 2) == 0


def test_thresholds_on_one_field_are_intervals() -> None:
    q = C[0, 0]
    inside = mean_of(sp.Heaviside(x + 1) * sp.Heaviside(2 - x), 1)
    expected = (sp.erf(1 / sp.sqrt(2 * q)) + sp.erf(2 / sp.sqrt(2 * q))) / 2
    assert sp.simplify(inside - expected) == 0
    assert (
        sp.expand(
            mean_of(sp.Heaviside(x - 1) * sp.Heaviside(x - 3), 1) - mean_of(sp.Heaviside(x - 3), 1)
        )
        == 0
    )


@pytest.mark.parametrize("orders", [(1, 1), (2, 1), (1, 3)])
def test_derivatives_of_two_deltas_are_those_of_the_joint_density(orders: tuple[int, int]) -> None:
    at = sp.symbols("t1:3", real=True)
    mean = sp.Matrix([R(1, 3), -R(1, 2)])
    cov = sp.Matrix([[2, R(1, 2)], [R(1, 2), 1]])
    away = sp.Matrix(at) - mean
    density = sp.exp(-(away.T * cov.inv() * away)[0] / 2) / (2 * sp.pi * sp.sqrt(cov.det()))
    slope = sp.diff(density, at[0], orders[0], at[1], orders[1]).subs(dict.fromkeys(at, 0))
    e = sp.DiracDelta(x, orders[0]) * sp.DiracDelta(y, orders[1])
    found = mean_of(e, 2, list(mean), cov)
    assert sp.simplify(found / ((-1) ** sum(orders) * slope)) == 1
