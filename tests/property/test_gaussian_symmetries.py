"""Properties every Gaussian expectation has, over random exact covariances and integrands."""

import pytest
import sympy as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from symderiv.gaussian import expectation, i2, i4

pytestmark = pytest.mark.turns(3)

X = sp.Symbol("x", real=True)
FIELDS = sp.symbols("x1:4", real=True)
ERF = sp.erf(X / sp.sqrt(2))
RELU = X * sp.Heaviside(X)
FACTORS = [
    *(X, X**2, X**3 - 1, ERF, sp.erf(2 * X), sp.sign(X), RELU, sp.Abs(X), sp.sin(X)),
    *(X * sp.cos(2 * X), sp.exp(X / 2), sp.exp(-(X**2)), X * sp.exp(-(X**2) / 2 + X / 3)),
    X * (1 + ERF) / 2,
]
SETTINGS = settings(
    max_examples=25,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)

loadings = st.lists(st.integers(-3, 3), min_size=9, max_size=9)
factors = st.lists(st.sampled_from(range(len(FACTORS))), min_size=3, max_size=3)


def covariance(entries: list[int], size: int = 3) -> sp.Matrix:
    """A random Gram matrix over nine; often singular, sometimes zero."""
    a = sp.Matrix(size, len(entries) // size, entries)
    return a * a.T / 9


def integrand(chosen: list[int], fields: tuple[sp.Symbol, ...] = FIELDS) -> sp.Expr:
    return sp.Mul(*(FACTORS[k].subs(X, f) for k, f in zip(chosen, fields, strict=True)))


def number(e: sp.Expr, cov: sp.Matrix) -> sp.Float:
    return sp.Float(expectation(e, FIELDS, cov).evaluate(25).value, 25)


def close(a: sp.Expr, b: sp.Expr) -> bool:
    return bool(abs(a - b) <= sp.Float("1e-22") * (1 + abs(a)))


@SETTINGS
@given(loadings, factors, st.permutations(range(3)))
def test_the_order_of_fields_does_not_matter(
    entries: list[int], chosen: list[int], order: list[int]
) -> None:
    cov = covariance(entries)
    e = integrand(chosen)
    moved = expectation(e, [FIELDS[k] for k in order], cov.extract(order, order))
    assert close(number(e, cov), sp.Float(moved.evaluate(25).value, 25))


@SETTINGS
@given(loadings, factors)
def test_reflecting_all_fields_changes_nothing(entries: list[int], chosen: list[int]) -> None:
    cov = covariance(entries)
    e = integrand(chosen)
    assert close(number(e, cov), number(e.subs({f: -f for f in FIELDS}), cov))


@SETTINGS
@given(loadings, factors, factors)
def test_expectations_are_linear(entries: list[int], one: list[int], other: list[int]) -> None:
    cov = covariance(entries)
    first, second = integrand(one), integrand(other)
    total = number(2 * first - second / 3, cov)
    assert close(total, 2 * number(first, cov) - number(second, cov) / 3)


@SETTINGS
@given(loadings, st.integers(0, len(FACTORS) - 1), st.integers(0, len(FACTORS) - 1))
def test_schwarz_bounds_the_second_moment(entries: list[int], i: int, j: int) -> None:
    cov = covariance(entries)
    f, g = FACTORS[i].subs(X, FIELDS[0]), FACTORS[j].subs(X, FIELDS[1])
    mixed, one, two = number(f * g, cov), number(f * f, cov), number(g * g, cov)
    assert one >= 0
    assert two >= 0
    assert mixed**2 <= one * two * (1 + sp.Float("1e-20")) + sp.Float("1e-20")


@SETTINGS
@given(loadings, factors)
def test_a_linear_change_of_fields_moves_into_the_covariance(
    entries: list[int], chosen: list[int]
) -> None:
    """E[F(A z)] under C equals E[F(z)] under A C Aᵀ, also for arguments of several fields."""
    if any(FACTORS[k].has(sp.sin, sp.cos) for k in chosen):
        chosen = [k % 4 for k in chosen]
    cov = covariance(entries)
    a = sp.Matrix([[1, 1, 0], [0, 2, 0], [0, -1, 1]])
    mixed = tuple((a * sp.Matrix(FIELDS))[i] for i in range(3))
    e = integrand(chosen).subs(dict(zip(FIELDS, mixed, strict=True)), simultaneous=True)
    assert close(number(e, cov), number(integrand(chosen), a * cov * a.T))


@SETTINGS
@given(loadings, factors, st.lists(st.integers(-2, 2), min_size=3, max_size=3))
def test_a_mean_is_a_shift_of_the_integrand(
    entries: list[int], chosen: list[int], shift: list[int]
) -> None:
    chosen = [k % 3 for k in chosen[:2]] + chosen[2:]
    cov = covariance(entries)
    mean = sp.Matrix(shift) / 2
    e = integrand(chosen)
    with_mean = expectation(e, FIELDS, cov, mean).evaluate(25).value
    shifted = e.subs({f: f + m for f, m in zip(FIELDS, mean, strict=True)}, simultaneous=True)
    assert close(sp.Float(with_mean, 25), number(shifted, cov))


@SETTINGS
@given(st.lists(st.integers(-3, 3), min_size=4, max_size=4), st.integers(1, 5))
def test_relu_is_homogeneous_and_i4_symmetric(entries: list[int], scale: int) -> None:
    a = sp.Matrix(2, 2, entries)
    cov = a * a.T / 4
    one, scaled = i2(RELU, RELU, cov).value, i2(RELU, RELU, scale * cov).value
    assert close(scaled.evalf(30), scale * one.evalf(30))
    four = sp.kronecker_product(sp.ones(2, 2), cov) + sp.eye(4) / 3
    swap = [0, 1, 3, 2]
    forward = i4(RELU, RELU, RELU, RELU, four).value.evalf(30)
    backward = i4(RELU, RELU, RELU, RELU, four.extract(swap, swap)).value.evalf(30)
    assert close(forward, backward)
