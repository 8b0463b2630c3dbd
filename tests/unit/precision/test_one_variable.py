"""Functions of one variable on balls: every kind of node, points and ranges."""

import mpmath
import pytest
import sympy as sp
from flint import acb, arb

from symderiv.precision.balls.working import working_bits
from symderiv.precision.quadrature.one_variable import OneVariable, Undefined

x = sp.Symbol("x", real=True)
KINDS = [
    x + 2,
    x * sp.exp(x) * sp.sin(x),
    x + sp.exp(x) + sp.sin(x) + 1,
    (x + 3) ** (x / 2),
    (2 + x) ** sp.sqrt(2),
    3**x,
    (x + 2) ** 5,
    (x + 2) ** -3,
    (x + 4) ** sp.Rational(3, 2),
    (x + 4) ** sp.Rational(-1, 2),
    (x + 4) ** sp.Rational(2, 3),
    sp.log(x + 5),
    sp.atan(x),
    sp.tanh(x) + sp.cosh(x) * sp.sinh(x),
    sp.erf(x) - sp.erfc(x / 2),
    sp.Abs(x - 1),
    sp.sign(x) * sp.Heaviside(x - 2, sp.S.Half),
    sp.Max(x, 1 - x, sp.exp(x) / 9),
    sp.Min(x, 1 - x, sp.exp(x) / 9),
    sp.cos(sp.pi * x / 3),
]


@pytest.mark.parametrize("e", KINDS, ids=str)
def test_points_and_ranges_are_enclosed_closely(e: sp.Expr) -> None:
    values = sp.lambdify(x, e, "mpmath")
    with working_bits(160), mpmath.workdps(60):
        on_real = OneVariable(e, x).on_real(160)
        for at in ("-1.75", "-0.5", "0.3", "1.625", "2.5"):
            exact = values(mpmath.mpf(at))
            found = arb(on_real(arb(at)))
            assert abs(found - arb(mpmath.nstr(exact, 50))) < arb("1e-40"), at
        for low, high in ((-1.5, -1.25), (0.375, 0.625), (0.875, 1.125), (2.0, 2.25)):
            inside = [
                values(mpmath.mpf(low) + (high - low) * k / mpmath.mpf(40)) for k in range(41)
            ]
            found = arb(on_real(arb((low + high) / 2, (high - low) / 2)))
            # the range is contained, and not stretched to several times itself
            assert float(found.lower()) <= float(min(inside)) + 1e-15
            assert float(found.upper()) >= float(max(inside)) - 1e-15
            width = float(max(inside) - min(inside))
            assert 2 * float(found.rad()) <= 4 * width + 0.6


def test_a_power_with_its_base_across_the_cut_is_refused_where_it_has_to_be_analytic() -> None:
    with working_bits(64):
        power = OneVariable((1 - x) ** (x / 2), x).on_complex(64)
        with pytest.raises(Undefined):
            power(acb(arb(3, 0.5), arb(0, 0.5)))
        # log x is negative there, x is not
        general = OneVariable(sp.log(x) ** (x / 2), x).on_complex(64)
        with pytest.raises(Undefined):
            general(acb(arb(0.5, 0.1), arb(0, 0.1)))
        found = power(acb(arb(-3), arb(0.5)))
        assert abs(complex(found) - (4 - 0.5j) ** (-1.5 + 0.25j)) < 1e-15
