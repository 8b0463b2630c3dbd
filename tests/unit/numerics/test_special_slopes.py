"""Derivatives of special functions against differences of integrals that define them."""

from collections.abc import Callable

import mpmath
import pytest
import sympy as sp

from symderiv.numerics.special_slopes import DERIVATIVES

mp = mpmath.mp.clone()
mp.dps = 40


def owen_t(h: mpmath.mpf, a: mpmath.mpf) -> mpmath.mpf:
    """T(h, a) by Owen's integral."""
    inside = mp.quad(lambda x: mp.exp(-(h**2) * (1 + x**2) / 2) / (1 + x**2), [0, a])
    return inside / (2 * mp.pi)


def shifted_signs(h: mpmath.mpf, k: mpmath.mpf, r: mpmath.mpf) -> mpmath.mpf:
    """E[sign(u + h) sign(v + k)] with unit variances and correlation r, over u."""

    def integrand(u: mpmath.mpf) -> mpmath.mpf:
        inner = mp.erf((k + r * u) / mp.sqrt(2 * (1 - r**2)))
        return mp.sign(u + h) * inner * mp.npdf(u)

    return mp.quad(integrand, [-14, -6, -h, 3, 14])


def dawson(x: mpmath.mpf) -> mpmath.mpf:
    """Dawson's integral by its definition."""
    return mp.quad(lambda t: mp.exp(t**2 - x**2), [0, x])


def tilted_signs(e: mpmath.mpf, h: mpmath.mpf, k: mpmath.mpf, r: mpmath.mpf) -> mpmath.mpf:
    """e^E E[sign(u + ih) sign(v + ik)]: the density of u along the line of u + ih."""
    rest = mp.sqrt(2 * (1 - r**2))

    def integrand(t: mpmath.mpf) -> mpmath.mpf:
        # u + ih = t runs along the real line, where its sign jumps at t = 0
        u = t - 1j * h
        return mp.sign(t) * mp.erf((1j * k + r * u) / rest) * mp.npdf(u)

    return mp.re(mp.exp(e) * mp.quad(integrand, [-14, -6, 0, 3, 14]))


FUNCTIONS: dict[str, tuple[Callable[..., mpmath.mpf], tuple[str, ...]]] = {
    "Dawson": (dawson, ("0.7",)),
    "ExpDifference": (lambda x, y: mp.exp(x) - mp.exp(y), ("0.3", "-0.7")),
    "OwenT": (owen_t, ("0.8", "-1.4")),
    "ShiftedSigns": (shifted_signs, ("0.6", "-0.9", "0.35")),
    "TiltedSigns": (tilted_signs, ("-0.4", "0.6", "-0.9", "0.35")),
}


WAVES = {"Dawson": dawson, "TiltedSigns": tilted_signs}


@pytest.mark.days(2)
@pytest.mark.parametrize("name", DERIVATIVES)
def test_derivatives_are_those_of_the_defining_integral(name: str) -> None:
    function, texts = FUNCTIONS[name]
    point = [mp.mpf(text) for text in texts]
    symbols = sp.symbols(f"x:{len(point)}", real=True)
    slopes = DERIVATIVES[name](*symbols)
    step = mp.mpf(10) ** -10
    for place, slope in enumerate(slopes):
        found = sp.lambdify(symbols, slope, [WAVES, "mpmath"])(*point)
        ends = [
            function(*(x + sign * step * (n == place) for n, x in enumerate(point)))
            for sign in (1, -1)
        ]
        assert abs(found - (ends[0] - ends[1]) / (2 * step)) < mp.mpf(10) ** -15
        assert abs(found) > 0.01
