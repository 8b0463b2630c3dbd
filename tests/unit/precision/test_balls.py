"""Balls of single functions, at the edges of their domains and far out."""

import mpmath
import pytest
import sympy as sp
from flint import acb, arb
from mpmath import mp

from symderiv.foundation.errors import NotYetError, ToleranceError
from symderiv.gaussian import SignMean4
from symderiv.gaussian.forms.evaluate import number
from symderiv.gaussian.orthant import sign_mean4
from symderiv.gaussian.owen_balls import owen_t
from symderiv.gaussian.terms.roots import OpaqueRoot
from symderiv.numerics.digits.sign_mean4_mpmath import sign_mean4_mpmath
from symderiv.precision.balls.expression_balls import ball, complex_ball
from symderiv.precision.balls.working import working_bits

R = sp.Rational
BITS = (53, 106, 333)


def encloses(found: arb, reference: mpmath.mpf, bits: int, lost: int = 12) -> bool:
    """Does the ball contain the reference (known to many more bits), and is it small?"""
    with working_bits(2 * bits + 60):
        slack = arb((1, -bits - 20)) * (1 + abs(found))
        mantissa = int(mpmath.libmp.to_int(mp.ldexp(reference, bits + 40)._mpf_))
        inside = (found + arb(0, slack.upper())).contains(arb((mantissa, -bits - 40)))
        return bool(inside and found.rad() < arb((1, lost - bits)) * (1 + abs(found)).upper())


@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize(
    "expression",
    [
        sp.asin(R(1, 3)) / sp.pi - sp.sqrt(2) ** 3,
        sp.erf(R(7, 5)) * sp.erfi(R(1, 3)) + sp.erfc(3),
        sp.exp(-R(1, 3)) * sp.cos(2) + sp.sinh(R(1, 2)) * sp.cosh(1) - sp.atan(5),
        sp.re(sp.erf(R(1, 3) + sp.I / 2)) * sp.im(sp.erf(1 - 2 * sp.I / 3)),
        OpaqueRoot(10**31 + 7) / 10**15,
        R(2, 3) ** R(2, 3) + sp.Abs(-sp.pi) + sp.log(3) + sp.acos(R(1, 7)),
    ],
    ids=str,
)
def test_a_ball_contains_the_value_and_is_small(expression: sp.Expr, bits: int) -> None:
    with mp.workprec(bits + 80):
        reference = mp.mpf(number(expression, mp.dps))
        assert encloses(ball(expression, bits), reference, bits)


@pytest.mark.parametrize("sign", [1, -1])
def test_arcsines_at_the_edge_are_exact_first(sign: int) -> None:
    edge = sp.Mul(sp.sqrt(2), sp.sqrt(3), 1 / sp.sqrt(6), sign, evaluate=False)
    found = ball(sp.asin(edge, evaluate=False), 100)
    with working_bits(200):
        assert abs(found - sign * arb.pi() / 2) < arb((1, -90))


def test_an_arcsine_whose_argument_cannot_be_told_from_one_is_cut_at_one() -> None:
    # 1 to 1e-60, but not to 53 bits: the ball reaches as far as the root of its precision
    argument = sp.sqrt(1 - R(1, 10**60))
    found = ball(sp.asin(argument), 53)
    assert found.is_finite()
    with working_bits(200):
        assert found.contains(arb.pi() / 2)
        assert found.rad() < arb((1, -20))


def test_a_root_that_sympy_does_not_simplify_has_all_digits_in_sympy() -> None:
    found = sp.N(OpaqueRoot(sp.Integer(10**30 + 57)), 50)
    # (10**15 + e)**2 = 10**30 + 57
    assert abs((found - 10**15) * 2 * 10**15 - 57) < sp.Float(10) ** -12


def test_a_root_of_something_not_told_from_zero_stays_finite() -> None:
    zero = sp.sqrt(2) * sp.sqrt(3) - OpaqueRoot(6)
    value = complex_ball(sp.sqrt(zero), 100)
    assert isinstance(value, acb)
    assert value.contains(0)
    assert abs(value) < arb((1, -40))


def test_a_complex_number_is_not_taken_for_a_real_one() -> None:
    with pytest.raises(ToleranceError, match="not real"):
        ball(1 + sp.I * sp.pi, 53)


def test_a_function_without_enclosure_is_named() -> None:
    with pytest.raises(NotYetError, match="zeta"):
        ball(sp.zeta(3), 53)


# -- four signs ----------------------------------------------------------------------------


def exchangeable(rho: sp.Expr, pair: sp.Expr | None = None) -> list[sp.Expr]:
    return [rho if pair is None else pair, *[rho] * 5]


@pytest.mark.turns(6)
@pytest.mark.parametrize("bits", BITS[:2])
@pytest.mark.parametrize(
    "r",
    [
        [R(3, 10), R(1, 5), R(1, 10), R(1, 4), R(2, 5), R(3, 20)],
        exchangeable(R(1, 3)),
        exchangeable(1 - R(1, 10**6), 1 - R(1, 10**7)),
        exchangeable(1 - R(1, 10**12), 1 - R(1, 10**13)),
        [1 - R(1, 10**12), R(1, 3), R(1, 3), R(1, 3), R(1, 3), 1 - R(2, 10**12)],
        [-R(1, 3)] * 6,  # rank three: a tetrahedron
        [R(3, 5), R(4, 5), -R(7, 25), R(24, 25), R(3, 5), R(44, 125)],  # rank two: in a plane
    ],
    ids=str,
)
def test_four_signs_are_enclosed_also_where_fields_align(r: list[sp.Expr], bits: int) -> None:
    # the function of generated modules: another rule on another path
    with mp.workprec(3 * bits + 200):
        exact = [mp.mpf(each.p) / each.q for each in r]
    with mp.workprec(bits + 60):
        reference = sign_mean4_mpmath(mp, *exact)
        assert encloses(ball(SignMean4(*r), bits), reference, bits)


def test_few_nodes_are_covered_by_the_proved_bound() -> None:
    # few bits ask for few nodes, so that the bound and not the rounding makes the radius
    for r in (
        [R(3, 10), R(1, 5), R(1, 10), R(1, 4), R(2, 5), R(3, 20)],
        exchangeable(1 - R(1, 99)),
    ):
        fine = ball(SignMean4(*r), 200)
        with working_bits(200):
            balls = [arb(value.p) / value.q for value in r]
            for bits in range(1, 30):
                assert sign_mean4(balls, bits).contains(fine)


def test_wide_correlations_are_refused_and_never_give_infinite_balls() -> None:
    with pytest.raises(ToleranceError):
        sign_mean4([arb(0, 1)] * 6, 53)
    with pytest.raises(ToleranceError):
        sign_mean4([arb("nan")] * 6, 53)
    with pytest.raises(ToleranceError):
        sign_mean4([arb(-0.5)] * 6, 53)  # not a correlation matrix


# -- Owen's T ------------------------------------------------------------------------------


@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize(
    ("h", "a"),
    [
        *((R(1, 2), R(1, 3)), (R(3), R(10**6)), (R(12), R(1, 5)), (R(1, 10**9), R(7))),
        *((sp.I / 2, R(3, 2)), (R(1, 3) + sp.I / 4, R(-2))),
    ],
    ids=str,
)
def test_owens_function_is_enclosed(h: sp.Expr, a: sp.Expr, bits: int) -> None:
    with mp.workprec(bits + 80):
        square = (h**2).evalf(mp.dps).as_real_imag()
        h2 = mp.mpc(*(mp.mpf(part._to_mpmath(mp.prec)) for part in square))
        end = mp.mpf(a.p) / a.q
        # the definition, by mpmath's quadrature in the angle
        cuts = [mp.atan(end * k / 10**j) for j in (7, 4, 2, 1) for k in (1, 3)] + [mp.atan(end)]
        reference = mp.quad(
            lambda t: mp.exp(-h2 * (1 + mp.tan(t) ** 2) / 2) / (2 * mp.pi), [0, *cuts]
        )
        with working_bits(bits):
            found = acb(owen_t(complex_ball(h, bits), arb(a.p) / a.q, bits))
        assert encloses(found.real, reference.real, bits)
        assert encloses(found.imag, reference.imag, bits)


def test_the_radius_of_the_slope_is_part_of_owens_function() -> None:
    a = arb(2) / 3 + arb(0, 1e-9)
    found = owen_t(arb(1), a, 53)
    assert found.rad() > 1e-11
    for end in (a.lower(), a.upper()):
        assert found.overlaps(owen_t(arb(1), end, 53))
    assert not owen_t(arb("nan"), a, 53).is_finite()
    assert not owen_t(arb(1), arb("inf"), 53).is_finite()


def test_the_mean_of_four_signs_keeps_the_digits_of_correlations_that_are_balls() -> None:
    with working_bits(300):
        middles = [arb(1) / n for n in (3, 5, 7, 4, 6, 9)]
        radius = arb(2) ** -90
        found = sign_mean4([each + arb(0, radius) for each in middles], 80)
        for shift in (-radius / 2, radius / 2):
            assert found.contains(sign_mean4([each + shift for each in middles], 140))
    assert found.rad() < 2.0**-75
