"""sin next to erf and ReLU: closed forms in kernels, digits kept where fields align."""

import random
from fractions import Fraction
from functools import cache
from types import SimpleNamespace

import mpmath
import pytest
import sympy as sp

import symderiv as sd
from symderiv.checking.recipes import generate
from symderiv.gaussian.functions import OwenT, SignMean2
from symderiv.lowering.means.uncompiled import uncompiled
from symderiv.numerics.digits.waves_mpmath import _tilted_signs_mpmath
from symderiv.numerics.signs.waves import _tilted_signs

pytestmark = pytest.mark.turns(18)


# 2 (1 - rho) of fields that differ by 2^-20 of a third is about 1e-12.
NEAR = Fraction(1, 2**20)
ROWS = ((8, 3, 1, 0, 2), (3, 7, -2, 1, 1), (1, -3, 6, 2, 0), (-2, 2, 1, 7, 3))
# Pair, function, mean, and its fields: rows of the covariance.
ERF, SLOPE = "erf({}/sqrt(2))", "exp(-{0}**2/2)*sqrt(2/pi)"
MEANS = [
    ("erf|sin", "i2_st", ERF.format("x") + "*sin(y)"),
    ("erf|sin", "i4_st", f"{SLOPE.format('x')}*{SLOPE.format('y')}*{ERF.format('z')}*sin(w)"),
    ("sin|erf", "i2_12_st", "cos(x)*" + SLOPE.format("y")),
    ("sin|erf", "i4_tt", f"cos(x)*cos(y)*{ERF.format('z')}*{ERF.format('w')}"),
    ("relu|sin", "i4_tt", "Heaviside(x)*Heaviside(y)*sin(z)*sin(w)"),
    ("sin|sin", "i4", "cos(x)*cos(y)*sin(z)*sin(w)"),
    ("sin|relu", "i2_st", "sin(x)*Max(y,0)"),
    ("sin|relu", "i4_st", "cos(x)*cos(y)*sin(z)*Max(w,0)"),
    ("sin|relu", "i4_tt", "cos(x)*cos(y)*Max(z,0)*Max(w,0)"),
    ("exp(x/4)|sign", "i4_tt", "exp(x/4)*exp(y/4)*sign(z)*sign(w)/16"),
]


@cache
def module(pair: str) -> SimpleNamespace:
    text = generate("pair", *pair.split("|"))
    assert '"quadrature"' not in text
    return uncompiled(text)


def covariance(size: int, near: tuple[int, int] | None, sign: int = 1) -> list[list[Fraction]]:
    """Exact, and exact in floating-point numbers, too."""
    rows = [[Fraction(entry, 8) for entry in row] for row in ROWS[:size]]
    if near is not None:
        first, second = near
        pairs = zip(rows[first], rows[second], strict=True)
        rows[second] = [sign * (a + NEAR * b) for a, b in pairs]
    return [[sum(a * b for a, b in zip(x, y, strict=True)) for y in rows] for x in rows]


@pytest.mark.parametrize("case", MEANS, ids=lambda case: f"{case[0]} {case[1]}")
@pytest.mark.parametrize("aligned", [0, 1, -1])
def test_means_agree_with_certified_ones_also_where_fields_align(
    case: tuple[str, str, str], aligned: int
) -> None:
    pair, name, mean = case
    size = {"i2": 2, "i4": 4}[name[:2]]
    c = covariance(size, (size - 2, size - 1) if aligned else None, aligned)
    expected = sd.mean(mean, [[str(entry) for entry in row] for row in c], digits=17)
    assert expected.certified
    arguments = [float(c[a][b]) for a in range(size) for b in range(a, size)]
    found = getattr(module(pair), name)(*arguments)
    # waves next to two kinks: see docs/notes/conditional-covariances.md
    allowed = 1e-13 + 1e-16 / NEAR if pair == "sin|relu" and aligned else 1e-13
    assert found == pytest.approx(float(expected.value), rel=1e-11, abs=float(allowed))


@pytest.mark.parametrize("scale", [0.1, 1.0, 4.0, 12.0])
def test_signs_at_imaginary_places_neither_overflow_nor_cancel(scale: float) -> None:
    rng = random.Random(3)
    with mpmath.workdps(40):
        for distance in (0.5, 1e-3, 1e-12):
            r = rng.choice((-1, 1)) * (1 - distance)
            h1, k1 = rng.gauss(0, scale), rng.gauss(0, scale)
            h2 = r * h1 + k1 * (distance * (2 - distance)) ** 0.5
            exact_r, a, b = mpmath.mpf(r), mpmath.mpf(h1), mpmath.mpf(h2)
            m = (a * a - 2 * exact_r * a * b + b * b) / (1 - exact_r**2)
            exponent = float(-m / 2)
            exact = _tilted_signs_mpmath(mpmath.mp, mpmath.mpf(exponent), a, b, exact_r)
            found = _tilted_signs(exponent, h1, h2, r)
            # k is known to the digits that 1 - |r| has.
            assert found == pytest.approx(float(exact), abs=1e-14 + 1e-16 * scale / distance**0.5)


def test_the_mean_of_two_signs_is_owens_function() -> None:
    h1, h2, rho = sp.Rational(3, 5), sp.Rational(-7, 10), sp.Rational(1, 3)
    root = sp.sqrt(1 - rho**2)
    owen = sp.sign(h1 * h2) - sum(
        4 * OwenT(sp.I * a, (b - rho * a) / (a * root)) for a, b in ((h1, h2), (h2, h1))
    )
    assert abs(sp.N(SignMean2(h1, h2, rho) - owen, 15)) < 1e-13


def test_a_sine_of_a_small_field_keeps_its_digits() -> None:
    small = 1e-9
    found = module("erf|sin").i2_tt(small, small / 3, small)
    assert found == pytest.approx(small / 3 * (1 - small), rel=1e-15)
