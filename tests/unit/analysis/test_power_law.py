"""The integral approximation against the sum and against quadrature; the window."""

import math

import mpmath
import numpy as np
import pytest

from symderiv.analysis.linear.error_curve import eigendirections, small_learning_rate
from symderiv.analysis.linear.power_law import PowerLawSum, integral_approximation, window
from symderiv.foundation.errors import InputError
from symderiv.inputs.spectra import power_law

ALPHA = np.array([0.0, 1e-6, 0.01, 0.3, 2.0, 30.0, 900.0])


def law_of(L: int, exponent: float, trainable: int | None = None) -> PowerLawSum:
    largest = power_law(L, exponent).single().eigenvalue[0]
    return PowerLawSum(L, exponent, float(largest), trainable or L)


@pytest.mark.parametrize("exponent", [0.05, 0.25, 1.5])
@pytest.mark.parametrize(("L", "trainable"), [(1, 1), (40, 13), (500, 200), (500, 500)])
def test_the_integral_and_its_error(exponent: float, L: int, trainable: int) -> None:
    component = power_law(L, exponent).single()
    directions = eigendirections(component.eigenvalue, component.weight, trainable)
    exact = small_learning_rate(directions, 0.3, ALPHA, 1.4)
    law = law_of(L, exponent, trainable)
    found = integral_approximation(law, 0.3, ALPHA, 1.4)
    assert np.all(np.abs(exact - found.value) <= found.error_bound * (1.0 + 1e-12) + 1e-16)
    # later than the first decay the estimate is much better than the bound
    if L == 500:
        late = ALPHA * law.decay_per_alpha(0.3) > 30.0
        corrected = found.value + found.error_estimate
        assert np.all(np.abs(exact - corrected)[late] <= 1e-2 * found.error_bound[late])
    # the bound is the largest summand, and the variation of what is frozen
    u = np.geomspace(trainable ** -(1.0 + exponent), 1.0, 2000)
    rate = law.decay_per_alpha(0.3) * ALPHA[:, None]
    largest = np.max(u * np.exp(-np.minimum(rate, 1e9) * u), axis=1)
    frozen = trainable ** -(1.0 + exponent) - L ** -(1.0 + exponent)
    bound = 0.5 * 1.4 * law.largest / L * (largest + frozen)
    np.testing.assert_allclose(found.error_bound, bound, rtol=1e-4, atol=1e-300)
    mp = mpmath.MPContext()
    mp.dps = 30
    beta, n = mp.mpf(exponent), law.trainable
    for alpha, value in zip(ALPHA, found.value, strict=True):
        z = 2 * mp.mpf(0.3) * mp.mpf(law.largest) * mp.mpf(float(alpha))
        # the quadrature's error is absolute: the largest value of the exponential is taken out
        least = z * mp.mpf(n) ** -(1 + beta)
        total = mp.exp(-least) * mp.quad(
            lambda x, z=z, least=least: x ** -(1 + beta) * mp.exp(least - z * x ** -(1 + beta)),
            [mp.mpf(n) ** (mp.mpf(part) / 8) for part in range(9)],
        )
        total += mp.quad(lambda x: x ** -(1 + beta), [mp.mpf(n), mp.sqrt(mp.mpf(n) * L), mp.mpf(L)])
        expected = 0.5 * 1.4 * law.largest / L * float(total)
        assert value == pytest.approx(expected, rel=1e-8, abs=1e-300)


@pytest.mark.parametrize("exponent", [0.05, 0.25, 1.5])
def test_the_estimate_is_the_sum_up_to_third_derivatives(exponent: float) -> None:
    """Of Euler and Maclaurin: the next term is f'''/720, at the end where f is larger."""
    beta = 1.0 + exponent
    third = beta * (beta + 1.0) * (beta + 2.0) / 720.0
    for L, trainable, alpha, first in ((300, 300, 0.0, 1), (300, 3, 1e9, 3), (300, 3, 0.0, 1)):
        component = power_law(L, exponent).single()
        directions = eigendirections(component.eigenvalue, component.weight, trainable)
        law = law_of(L, exponent, trainable)
        exact = float(small_learning_rate(directions, 0.3, np.array([alpha]))[0])
        found = integral_approximation(law, 0.3, np.array([alpha]))
        left = exact - float((found.value + found.error_estimate)[0])
        unit = 0.5 * law.largest / L * third * float(first) ** -(beta + 3.0)
        assert abs(left) < 1.5 * unit


def test_inside_the_window_the_error_is_a_power_law() -> None:
    L, exponent, eta = 4000, 1.0, 0.1
    law = law_of(L, exponent)
    lower, upper = window(law, eta)
    component = power_law(L, exponent).single()
    directions = eigendirections(component.eigenvalue, component.weight)
    inside = np.geomspace(10.0 * lower, upper / 1000.0, 7)
    error = small_learning_rate(directions, eta, inside)
    slopes = np.diff(np.log(error)) / np.diff(np.log(inside))
    np.testing.assert_allclose(slopes, -exponent / (1.0 + exponent), atol=0.02)
    outside = np.array([0.01 * lower, 0.1 * lower, 3.0 * upper, 6.0 * upper])
    error = small_learning_rate(directions, eta, outside)
    slopes = np.diff(np.log(error)) / np.diff(np.log(outside))
    assert slopes[0] > -0.1
    assert slopes[2] < -1.5


def test_the_upper_end_is_where_the_first_correction_equals_the_leading_term() -> None:
    law = law_of(100, 0.6)
    lower, upper = window(law, 0.2)
    s = 0.6 / 1.6
    z = 2.0 * 0.2 * law.largest * upper / 100.0**1.6
    assert z**s / s == pytest.approx(math.gamma(s), rel=1e-12)
    assert 2.0 * 0.2 * law.largest * lower == pytest.approx(1.0, rel=1e-15)


@pytest.mark.parametrize("exponent", [0.0, -0.5, math.nan, math.inf])
def test_exponents_that_are_no_power_law(exponent: float) -> None:
    with pytest.raises(InputError, match="exponent"):
        PowerLawSum(4, exponent, 1.0, 4)
