"""Panels, most of them between kinks: against closed forms, mpmath and other rules."""

from fractions import Fraction
from itertools import pairwise

import mpmath
import pytest
import sympy as sp
from unit.precision.test_quadrature import value_of

from symderiv.foundation.errors import NotYetError, ToleranceError
from symderiv.gaussian import Value, derivative, expectation
from symderiv.precision.balls.enclosure import certified
from symderiv.precision.balls.working import working_bits
from symderiv.precision.quadrature.chosen_rule import Panels, Trapezoid
from symderiv.precision.quadrature.component import FactorComponent
from symderiv.precision.quadrature.pieces import pieces
from symderiv.precision.quadrature.separation import FORM, Fields

pytestmark = pytest.mark.days(6)

X = sp.Symbol("x", real=True)
FIELDS = sp.symbols("x1:5", real=True)
A, B, C, D = FIELDS
R = sp.Rational
SOFT = X / (1 + sp.Abs(X))
SLOPE = 1 / (1 + sp.Abs(X)) ** 2
COVARIANCE = [[1, R(1, 3), R(1, 5)], [R(1, 3), 2, R(-1, 2)], [R(1, 5), R(-1, 2), R(3, 4)]]
MEAN = [R(1, 2), 0, R(-1, 3)]


def agree(a: Value, b: Value) -> None:
    apart = abs(Fraction(a.value) - Fraction(b.value))
    assert apart <= Fraction(a.error_bound) + Fraction(b.error_bound)


@pytest.mark.parametrize(
    ("integrand", "size", "mean"),
    [
        (sp.Heaviside(A - R(1, 2)) * sp.exp(A / 2), 1, [R(1, 3)]),
        (sp.Abs(A) * sp.Max(B, 0), 2, [0, 0]),
        (sp.sign(A) * sp.sign(B + R(1, 2)), 2, [R(1, 2), R(1, 3)]),
        (sp.Abs(A) * sp.erf(B), 2, MEAN[:2]),
        (sp.Heaviside(A) * B**2 * sp.Max(C, 0), 3, [0, 0, 0]),
        (sp.sign(A) * sp.sign(B) * sp.sin(C) * C, 3, [0, 0, 0]),
    ],
    ids=str,
)
def test_panels_reproduce_closed_forms(integrand: sp.Expr, size: int, mean: list[sp.Expr]) -> None:
    block = [row[:size] for row in COVARIANCE[:size]]
    found = value_of(integrand, block, 18, mean)
    exact = expectation(integrand, FIELDS[:size], sp.Matrix(block), sp.Matrix(mean))
    agree(found, certified(exact, 30))


@pytest.mark.parametrize("bits", [53, 106])
def test_one_variable_with_a_kink_agrees_with_mpmath(bits: int) -> None:
    found = value_of(SOFT.subs(X, A) ** 3, [[R(4, 9)]], int(bits * 0.301), [R(1, 3)])
    with mpmath.workprec(2 * bits):
        mean, s = mpmath.mpf(1) / 3, mpmath.mpf(2) / 3
        end = mpmath.sqrt(2 * mpmath.ln(2) * (bits + 40))
        cuts = [-end, -end / 2, -mean / s, end / 2, end]
        reference = mpmath.quad(
            lambda t: ((mean + s * t) / (1 + abs(mean + s * t))) ** 3 * mpmath.npdf(t), cuts
        )
        slack = mpmath.ldexp(1, -bits - 8)
        assert abs(mpmath.mpf(found.value) - reference) <= mpmath.mpf(found.error_bound) + slack


def test_two_variables_with_kinks_agree_with_mpmath() -> None:
    found = value_of(
        SOFT.subs(X, A) * SLOPE.subs(X, B), [[1, R(1, 2)], [R(1, 2), 2]], 15, [R(1, 2), 0]
    )
    with mpmath.workdps(25):
        # Gauss-Legendre in (u, v given u); the kink of v depends on u
        root = mpmath.sqrt(mpmath.mpf(7) / 4)
        rule = [
            (mpmath.mpf(x), mpmath.mpf(w))
            for x, w in mpmath.calculus.quadrature.GaussLegendre(mpmath.mp).calc_nodes(5, 100)
        ]

        def over(f: object, ends: list[mpmath.mpf]) -> mpmath.mpf:
            total = mpmath.mpf(0)
            for a, b in pairwise(ends):
                half, centre = (b - a) / 2, (a + b) / 2
                total += half * mpmath.fsum(w * f(centre + half * x) for x, w in rule)
            return total

        def inner(t: mpmath.mpf) -> mpmath.mpf:
            u, kink = t + mpmath.mpf(1) / 2, -t / 2 / root
            slope = over(
                lambda r: mpmath.npdf(r) / (1 + abs(t / 2 + root * r)) ** 2,
                sorted([mpmath.mpf(-9), kink, mpmath.mpf(9)]),
            )
            return u / (1 + abs(u)) * slope * mpmath.npdf(t)

        reference = over(inner, [mpmath.mpf(-9), mpmath.mpf(-1) / 2, mpmath.mpf(9)])
        assert abs(mpmath.mpf(found.value) - reference) <= mpmath.mpf(found.error_bound) + 1e-14


def test_a_slope_as_derivation_leaves_it_is_bounded_at_its_kink() -> None:
    slope = derivative(SOFT)
    assert slope != SLOPE
    covariance, mean = [[1, R(1, 2)], [R(1, 2), 2]], [R(1, 3), R(1, 4)]
    g = SOFT.subs(X, B)
    raw = value_of(slope.subs(X, A) * g, covariance, 15, mean)
    agree(raw, value_of(SLOPE.subs(X, A) * g, covariance, 15, mean))


@pytest.mark.parametrize("integrand", [1 / A, sp.tanh(B) / A, sp.cos(A) / A])
def test_true_poles_are_refused_even_where_the_product_is_odd(integrand: sp.Expr) -> None:
    with pytest.raises(NotYetError):
        value_of(integrand, [[1, R(1, 2)], [R(1, 2), 2]], 10)


def test_singular_covariances_merge_functions() -> None:
    pair = value_of(SOFT.subs(X, A) * SOFT.subs(X, B), [[1, 2], [2, 4]], 18, [R(1, 2), 1])
    single = value_of(SOFT.subs(X, A) * SOFT.subs(X, 2 * A), [[1]], 18, [R(1, 2)])
    agree(pair, single)


def test_nearly_proportional_kinks_are_refused_with_the_reason() -> None:
    near = 1 - R(1, 10**12)
    with pytest.raises(ToleranceError, match="nearly proportional"):
        value_of(SOFT.subs(X, A) * SOFT.subs(X, B), [[1, near], [near, 1]], 10)


@pytest.mark.parametrize("accuracy", [15.0, 25.0])
def test_both_rules_agree_in_three_variables(accuracy: float) -> None:
    functions = [sp.tanh(FORM), 1 - sp.tanh(FORM) ** 2, sp.atan(FORM), FORM]
    extra = [R(1, 4), 0, R(1, 7), 1]
    table = [[*row, c] for row, c in zip(COVARIANCE, extra, strict=False)] + [extra]
    rows = [[sp.sympify(e) for e in row] for row in table]
    component = FactorComponent(functions, Fields(rows, [R(1, 2), sp.S.Zero, sp.S.Zero, R(1, 3)]))
    found = []
    for rule in (Trapezoid(component), Panels(component)):
        value, scale = rule.evaluated(accuracy)
        with working_bits(200):
            assert value.rad() < 2 * float(scale) * 2.718 ** (1 - accuracy)
        found.append(value)
    with working_bits(200):
        for value in found[1:]:
            assert (value - found[0]).contains(0)


@pytest.mark.turns(2)
def test_four_kinked_variables_given_their_common_part() -> None:
    rows = [[R(1, 2) + R(int(i == j), 2) for j in range(4)] for i in range(4)]
    integrand = sp.Mul(*(SLOPE.subs(X, f) for f in FIELDS))
    found = value_of(integrand, rows, 5)
    # given c ~ N(0, 1/2) the four are independent, each N(c, 1/2)
    with mpmath.workdps(15):
        step = mpmath.mpf(1) / 16
        points = [k * step for k in range(-112, 113)]

        def inner(c: mpmath.mpf) -> mpmath.mpf:
            # over |z|: the kink is the end of a midpoint rule, Richardson in its step
            def rule(h: mpmath.mpf) -> mpmath.mpf:
                nodes = [(k + mpmath.mpf(1) / 2) * h for k in range(int(7 / h))]
                return h * mpmath.fsum(
                    (mpmath.exp(-((z - c) ** 2)) + mpmath.exp(-((z + c) ** 2))) / (1 + z) ** 2
                    for z in nodes
                )

            coarse, fine = rule(step), rule(step / 2)
            return (4 * fine - coarse) / 3 / mpmath.sqrt(mpmath.pi)

        reference = (
            4
            * step
            * mpmath.fsum(inner(c) ** 4 * mpmath.exp(-(c**2)) for c in points[::4])
            / mpmath.sqrt(mpmath.pi)
        )
        assert abs(mpmath.mpf(found.value) - reference) < mpmath.mpf(found.error_bound) + 1e-6


# -- the pieces --------------------------------------------------------------------------------


def test_pieces_carry_the_branches() -> None:
    found = pieces(sp.Max(X**2 - 2, X - 1) * sp.Abs(X - 3), X, -5.0, 7.0, 100)
    assert len(found) == 4
    for piece in found:
        middle = float((piece.low + piece.high) / 2)
        assert not piece.expression.has(sp.Abs, sp.Max)
        expected = max(middle**2 - 2, middle - 1) * abs(middle - 3)
        assert abs(float(piece.expression.subs(X, middle)) - expected) < 1e-9


@pytest.mark.parametrize(
    ("g", "kinks"),
    [
        (SOFT, [0.0]),
        (sp.Heaviside(X - R(1, 3)) * sp.sign(X), [0.0, 1 / 3]),
        (sp.Abs(X**2 - 2), [-(2**0.5), 2**0.5]),
        (sp.Abs(sp.tanh(X) - R(1, 2)), [0.5493061443340549]),
        (sp.Max(sp.tanh(X), X / 3), [-2.984704585, 0.0, 2.984704585]),
    ],
    ids=str,
)
def test_kinks_are_found(g: sp.Expr, kinks: list[float]) -> None:
    found = pieces(g, X, -6.0, 7.5, 100)
    places = [float(p.high) for p in found[:-1]]
    assert places == pytest.approx(kinks, abs=1e-8)
    assert all(p.high.rad() < 1e-25 for p in found)


def test_multiple_zeros_are_refused() -> None:
    with pytest.raises(NotYetError, match="isolated"):
        pieces(sp.Max(X, sp.tanh(X)), X, -6.0, 7.5, 100)
