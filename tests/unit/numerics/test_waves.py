"""Functions of waves as they are pasted into modules: Dawson's integral, signs, differences."""

import mpmath
import numpy as np
import pytest
from scipy.special import dawsn

from symderiv.numerics.digits.waves_mpmath import (
    _dawson_mpmath,
    _exp_difference_mpmath,
    _tilted_signs_mpmath,
)
from symderiv.numerics.signs.shifted_signs import _mean_sign, _shifted_signs
from symderiv.numerics.signs.waves import _dawson, _exp_difference, _tilted_signs

mp = mpmath.mp


def test_dawsons_integral_has_all_digits_everywhere() -> None:
    places = np.r_[0.0, 1e-30, 0.199, 0.201, np.linspace(-9, 9, 97), 30.3, 400.0, 2e7, 1e150]
    for x in places:
        assert _dawson(x) == pytest.approx(dawsn(x), rel=5e-15)
    with mpmath.workdps(30):
        for x in (mp.mpf(1) / 3, mp.mpf(-5) / 2):
            integral = mp.quad(lambda t: mp.exp(t * t), [0, x]) * mp.exp(-x * x)
            assert abs(_dawson_mpmath(mp, x) - integral) < mp.mpf(10) ** -28


def signs(h1: float, h2: float, r: float) -> mpmath.mpf:
    """erf(i h1/√2) erf(i h2/√2) where independent; the slope in r is four times the density."""
    with mpmath.workdps(25):

        def density(rho: mpmath.mpf) -> mpmath.mpf:
            square = (h1 * h1 - 2 * rho * h1 * h2 + h2 * h2) / (1 - rho * rho)
            return mp.exp(square / 2) / (2 * mp.pi * mp.sqrt(1 - rho * rho))

        root = mp.sqrt(2)
        start = -mp.erfi(h1 / root) * mp.erfi(h2 / root)
        return start + 4 * mp.quad(density, mp.linspace(0, mp.mpf(r), 5))


@pytest.mark.parametrize("r", [-0.75, 0.0, 0.5])
@pytest.mark.parametrize(("h1", "h2"), [(0.0, 0.0), (1.5, 0.25), (-0.5, 1.25), (4.0, -3.5)])
def test_two_signs_at_imaginary_places(h1: float, h2: float, r: float) -> None:
    expected = signs(h1, h2, r)
    # the exponent that waves bring along: minus half of the quadratic form
    exponent = -(h1 * h1 - 2 * r * h1 * h2 + h2 * h2) / (1 - r * r) / 2
    scaled = expected * mp.exp(exponent)
    assert _tilted_signs(exponent, h1, h2, r) == pytest.approx(float(scaled), rel=1e-12, abs=1e-15)
    with mpmath.workdps(25):
        found = _tilted_signs_mpmath(mp, mp.mpf(exponent), mp.mpf(h1), mp.mpf(h2), mp.mpf(r))
        assert abs(found - expected * mp.exp(mp.mpf(exponent))) < mp.mpf(10) ** -18


def test_a_field_and_itself_are_one_whatever_the_rounding_of_their_correlation() -> None:
    """Half of all variances give r = 1 - 1e-16, whose arcsine is 1.5e-8 off."""
    for variance in np.random.default_rng(3).uniform(0.1, 3.0, 50):
        r = variance / (np.sqrt(variance) * np.sqrt(variance))
        for sign in (1.0, -1.0):
            waves = _tilted_signs(-0.3, 0.7, sign * 0.7, sign * r)
            assert waves == pytest.approx(sign * np.exp(-0.3), rel=1e-15)
            # sgn(x + h) sgn(-x + k) differs from -1 between -h and k
            between = abs(_mean_sign(0.4) - sign * _mean_sign(sign * 0.4))
            shifted = _shifted_signs(0.4, sign * 0.4, sign * r)
            assert shifted == pytest.approx(sign * (1.0 - between), rel=1e-15)


def test_differences_of_exponentials_keep_their_digits() -> None:
    for first, second in ((0.5, 0.5 + 1e-9), (2.0, -3.0), (-700.0, 1.0), (1e-12, 0.0), (3.0, 3.0)):
        with mpmath.workdps(40):
            expected = mp.exp(mp.mpf(first)) - mp.exp(mp.mpf(second))
            found = _exp_difference_mpmath(mp, mp.mpf(first), mp.mpf(second))
            assert found == pytest.approx(expected, rel=1e-30)
        assert _exp_difference(first, second) == pytest.approx(float(expected), rel=3e-16 * 4)
    assert _exp_difference(-2000.0, -1000.0) == 0.0
    assert np.isfinite(_exp_difference(-2000.0, 700.0))
