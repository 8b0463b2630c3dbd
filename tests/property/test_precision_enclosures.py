"""The ball of an expectation contains what mpmath finds, over random exact covariances."""

import mpmath
import pytest
import sympy as sp
from flint import arb, fmpz
from hypothesis import given, settings
from hypothesis import strategies as st
from property.test_gaussian_symmetries import ERF, FIELDS, RELU, SETTINGS, X, covariance, loadings

from symderiv.foundation.errors import NotYetError
from symderiv.gaussian import expectation, i4
from symderiv.gaussian.forms.evaluate import number
from symderiv.precision.balls.enclosure import certified
from symderiv.precision.balls.expression_balls import ball
from symderiv.precision.balls.working import working_bits

pytestmark = pytest.mark.turns(3)

GELU = X * (1 + ERF) / 2
FACTORS = [
    *(X, X**3 - 1, ERF, sp.erf(2 * X), sp.sign(X), RELU, GELU, sp.sin(X), X * sp.cos(2 * X)),
    *(sp.exp(X / 2), X * sp.exp(-(X**2) / 2 + X / 3)),
]
BITS = (53, 106, 333)

factors = st.lists(st.sampled_from(range(len(FACTORS))), min_size=3, max_size=3)
means = st.lists(st.integers(-4, 4), min_size=3, max_size=3)


def assert_encloses(value: sp.Expr, bits: int) -> None:
    """The ball contains mpmath's value, computed with twice the digits, and is small."""
    found = ball(value, bits)
    reference = number(value, int(bits / 1.5) + 30)
    sign, mantissa, exponent, _ = reference._mpf_
    point = fmpz(int(-mantissa if sign else mantissa))
    with working_bits(3 * bits + 200):
        # mpmath is right up to its last digits, which are far below the ball's radius
        slack = arb((1, -bits - 40)) * (1 + abs(found).upper())
        assert found.is_finite()
        assert (found + arb(0, slack.upper())).contains(arb((point, int(exponent)))), value
        # sums of large terms that cancel lose bits; none of these loses more than thirty
        assert found.rad() < arb((1, 30 - bits)) * (1 + abs(found).upper()), value


@SETTINGS
@given(loadings, factors, means, st.booleans())
def test_the_ball_contains_the_mpmath_value_and_is_small(
    entries: list[int], chosen: list[int], shifts: list[int], centred: bool
) -> None:
    integrand = sp.Mul(*(FACTORS[k].subs(X, f) for k, f in zip(chosen, FIELDS, strict=True)))
    mean = None if centred else sp.Matrix(shifts) / 3
    try:
        value = expectation(integrand, FIELDS, covariance(entries), mean).value
    except NotYetError:
        return
    for bits in BITS:
        assert_encloses(value, bits)


@settings(SETTINGS, max_examples=8)
@given(st.lists(st.integers(-3, 3), min_size=16, max_size=16), st.sampled_from([ERF, RELU, GELU]))
def test_i4_is_enclosed_over_random_covariances(entries: list[int], g: sp.Expr) -> None:
    value = i4(g, g, g, g, covariance(entries, 4) + sp.eye(4) / 50).value
    for bits in BITS:
        assert_encloses(value, bits)


@SETTINGS
@given(loadings, factors, st.integers(1, 60))
def test_more_digits_stay_within_the_bound_of_fewer(
    entries: list[int], chosen: list[int], digits: int
) -> None:
    integrand = sp.Mul(*(FACTORS[k].subs(X, f) for k, f in zip(chosen, FIELDS, strict=True)))
    found = expectation(integrand, FIELDS, covariance(entries))
    few, many = certified(found, digits), certified(found, digits + 12)
    assert few.certified
    assert many.certified
    with mpmath.workdps(digits + 40):
        apart = abs(mpmath.mpf(few.value) - mpmath.mpf(many.value))
        assert apart <= mpmath.mpf(few.error_bound) + mpmath.mpf(many.error_bound)
        if few.value != "0":
            size = abs(mpmath.mpf(few.value))
            assert mpmath.mpf(few.error_bound) <= size * mpmath.mpf(10) ** (1 - digits)
