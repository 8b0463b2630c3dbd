"""Expectations by quadrature: against mpmath, identities, and the honesty of their bounds."""

from fractions import Fraction

import mpmath
import pytest
import sympy as sp
from flint import acb, arb

from symderiv.foundation.errors import DivergentError, InputError, NotYetError, ToleranceError
from symderiv.gaussian import Value, expectation
from symderiv.precision.balls.enclosure import certified
from symderiv.precision.quadrature.growth import growth
from symderiv.precision.quadrature.numeric_mean import numeric_mean
from symderiv.precision.quadrature.one_variable import OneVariable, Undefined
from symderiv.precision.quadrature.strip import strips

X = sp.Symbol("x", real=True)
FIELDS = sp.symbols("x1:5", real=True)
A, B, C, D = FIELDS
R = sp.Rational

TANH = sp.tanh(X)
LOGISTIC = 1 / (1 + sp.exp(-X))
SILU = X / (1 + sp.exp(-X))
SOFTPLUS = sp.log(1 + sp.exp(X))
MISH = X * sp.tanh(sp.log(1 + sp.exp(X)))
ATAN = sp.atan(X)
SINC = sp.sin(X) / X
RATIO = sp.sinh(X) / sp.cosh(2 * X)
SMOOTH = [TANH, LOGISTIC, SILU, SOFTPLUS, MISH, ATAN, SINC, RATIO, 1 - TANH**2]


def value_of(
    integrand: sp.Expr,
    covariance: list[list[object]],
    digits: int,
    mean: list[object] | None = None,
) -> Value:
    n = len(covariance)
    matrix = sp.Matrix(n, n, lambda i, j: sp.sympify(covariance[i][j]))
    shifts = None if mean is None else sp.Matrix([sp.sympify(m) for m in mean])
    found = numeric_mean(integrand, FIELDS[:n], matrix, shifts).evaluate(digits).value
    assert found.certified
    return found


def plain(g: sp.Expr) -> object:
    """The function in mpmath's own functions; values at 0 of sin(x)/x by its limit."""
    raw = sp.lambdify(X, g, "mpmath")
    limit = sp.limit(g, X, 0)
    return lambda x: raw(x) if x else mpmath.mpf(int(limit.p)) / int(limit.q)


def mpmath_mean_1d(g: sp.Expr, mean: Fraction, deviation: Fraction, bits: int) -> mpmath.mpf:
    """E[g(mean + deviation t)] by mpmath, nodes that are not those under test and never 0."""
    f = sp.lambdify(X, g, "mpmath")
    with mpmath.workprec(bits + 60):
        m, s = (mpmath.mpf(v.numerator) / v.denominator for v in (mean, deviation))
        # poles are at least pi/4 from the line, so exp(-2 pi (pi/4)/(deviation step)) is left
        step = mpmath.mpf(6) / (bits + 20)
        n = int(mpmath.sqrt(2 * mpmath.ln(2) * (bits + 30)) / step) + 1
        nodes = [(k + mpmath.mpf(1) / 3) * step for k in range(-n, n)]
        return step * mpmath.fsum(f(m + s * t) * mpmath.npdf(t) for t in nodes)


def within(value: Value, reference: mpmath.mpf, bits: int) -> None:
    """The reference, correct to about ``bits`` bits, is within the bound of the value."""
    with mpmath.workprec(2 * bits + 60):
        apart = abs(mpmath.mpf(value.value) - reference)
        assert apart <= mpmath.mpf(value.error_bound) + mpmath.ldexp(1 + abs(reference), -bits - 8)


@pytest.mark.parametrize("g", SMOOTH, ids=str)
@pytest.mark.parametrize("bits", [53, 106])
def test_one_variable_agrees_with_mpmath(g: sp.Expr, bits: int) -> None:
    digits = int(bits * 0.30103)
    found = value_of(g.subs(X, A), [[R(4, 9)]], digits, [R(1, 3)])
    within(found, mpmath_mean_1d(g, Fraction(1, 3), Fraction(2, 3), bits), bits)
    assert Fraction(found.error_bound) <= abs(Fraction(found.value)) / 10 ** (digits - 1)


def trapezoid_2d(
    g: sp.Expr, h: sp.Expr, covariance: list[list[sp.Rational]], mean: list[sp.Rational], bits: int
) -> mpmath.mpf:
    """E[g(u) h(v)] by mpmath on a grid of (u, v) themselves, weighted with their density.

    Another grid than the one under test, with a step a third of what converges.
    """
    f1, f2 = plain(g), plain(h)
    with mpmath.workprec(bits + 60):
        c = mpmath.matrix([[mpmath.mpf(int(e.p)) / int(e.q) for e in row] for row in covariance])
        m = [mpmath.mpf(int(e.p)) / int(e.q) for e in mean]
        p = c**-1
        axes = []
        for k in range(2):
            step = mpmath.mpf(5) / bits
            reach = mpmath.sqrt(2 * mpmath.ln(2) * (bits + 20) * c[k, k]) + 1
            n = int(reach / step) + 1
            axes.append([j * step for j in range(-n, n + 1)])
        left = [f1(m[0] + u) * mpmath.exp(-p[0, 0] * u * u / 2) for u in axes[0]]
        right = [f2(m[1] + v) * mpmath.exp(-p[1, 1] * v * v / 2) for v in axes[1]]
        total = mpmath.mpf(0)
        dv = axes[1][1] - axes[1][0]
        for u, value in zip(axes[0], left, strict=True):
            # exp(-p u v) along the row is a geometric sequence
            ratio = mpmath.exp(-p[0, 1] * u * dv)
            kernel = mpmath.exp(-p[0, 1] * u * axes[1][0])
            inner = mpmath.mpf(0)
            for term in right:
                inner += term * kernel
                kernel *= ratio
            total += value * inner
        area = (axes[0][1] - axes[0][0]) * dv
        return total * area / (2 * mpmath.pi * mpmath.sqrt(mpmath.det(c)))


@pytest.mark.turns(6)
@pytest.mark.parametrize(
    ("g", "h", "covariance", "mean", "bits"),
    [
        (TANH, TANH, [[1, R(1, 2)], [R(1, 2), 2]], [0, 0], 106),
        (MISH, LOGISTIC, [[1, R(-1, 3)], [R(-1, 3), R(1, 2)]], [R(1, 2), R(-1, 4)], 53),
        (SINC, SOFTPLUS, [[R(3, 2), R(1, 2)], [R(1, 2), 1]], [0, 1], 53),
        (ATAN, SILU, [[R(1, 2), R(1, 4)], [R(1, 4), 1]], [R(1, 3), 0], 53),
    ],
    ids=["tanh", "mish-logistic", "sinc-softplus", "atan-silu"],
)
def test_two_variables_agree_with_mpmath(
    g: sp.Expr, h: sp.Expr, covariance: list[list[sp.Rational]], mean: list[sp.Rational], bits: int
) -> None:
    covariance = [[sp.Rational(e) for e in row] for row in covariance]
    mean = [sp.Rational(e) for e in mean]
    digits = int(bits * 0.30103)
    found = value_of(g.subs(X, A) * h.subs(X, B), covariance, digits, mean)
    within(found, trapezoid_2d(g, h, covariance, mean, bits), bits)


@pytest.mark.parametrize(
    "integrand",
    [
        sp.erf(A) * sp.erf(B),
        sp.erf(A) * sp.erf(2 * B) * C**2,
        sp.cos(A) * sp.exp(B / 2),
        sp.exp(-(A**2)) * sp.sin(B - 2 * A) * C,
        (A + 2 * B) ** 2 * sp.erf(C / 3),
    ],
)
def test_the_rule_reproduces_closed_forms(integrand: sp.Expr) -> None:
    covariance = [[1, R(1, 3), R(1, 5)], [R(1, 3), 2, R(-1, 2)], [R(1, 5), R(-1, 2), R(3, 4)]]
    mean = [R(1, 2), 0, R(-1, 3)]
    found = value_of(integrand, covariance, 18, mean)
    exact = certified(
        expectation(integrand, FIELDS[:3], sp.Matrix(covariance), sp.Matrix(mean)), 30
    )
    assert abs(Fraction(found.value) - Fraction(exact.value)) <= Fraction(found.error_bound) + (
        Fraction(exact.error_bound)
    )


def test_nearly_singular_and_singular_covariances() -> None:
    near = 1 - R(1, 10**9)
    g = TANH.subs(X, A) * TANH.subs(X, B)
    close = value_of(g, [[1, near], [near, 1]], 20)
    equal = value_of(g, [[1, 1], [1, 1]], 20)
    same = value_of(TANH.subs(X, A) ** 2, [[1]], 20)
    assert equal.value == same.value
    slope = value_of(sp.diff(TANH, X).subs(X, A) ** 2, [[1]], 20)
    # to first order in 1 - rho, with a second derivative below 1
    expected = Fraction(equal.value) - Fraction(1, 10**9) * Fraction(slope.value)
    assert abs(Fraction(close.value) - expected) < Fraction(2, 10**18)
    opposite = value_of(g, [[1, -2], [-2, 4]], 20)
    product = value_of(-TANH.subs(X, A) * sp.tanh(2 * A), [[1]], 20)
    assert opposite.value == product.value


def test_degenerate_cases_are_exact_reductions() -> None:
    assert value_of(sp.tanh(A), [[2]], 20) == Value("0", "0", True, "parity")
    certain = value_of(sp.tanh(A), [[0]], 20, [R(1, 2)])
    with mpmath.workdps(40):
        assert abs(mpmath.mpf(certain.value) - mpmath.tanh(0.5)) <= mpmath.mpf(certain.error_bound)
    # independent groups factorise: E[tanh(x1)²] E[tanh(x2)²]
    square = value_of(sp.tanh(A) ** 2, [[1]], 25)
    both = value_of(sp.tanh(A) ** 2 * sp.tanh(B) ** 2, [[1, 0], [0, 1]], 20)
    assert abs(Fraction(square.value) ** 2 - Fraction(both.value)) <= 2 * Fraction(both.error_bound)
    # a function of x1 + 2 x2 is a function of one variable of variance 1 + 2 + 8
    joint = value_of(sp.tanh(A + 2 * B) ** 2, [[1, R(1, 2)], [R(1, 2), 2]], 20)
    single = value_of(sp.tanh(A) ** 2, [[11]], 20)
    assert joint.value == single.value


@pytest.mark.turns(6)
def test_four_variables() -> None:
    # independent pairs: the expectation factorises
    pair = [[1, R(1, 2)], [R(1, 2), 2]]
    g = TANH.subs(X, A) * TANH.subs(X, B)
    two = Fraction(value_of(g, pair, 16).value)
    blocks = [[1, R(1, 2), 0, 0], [R(1, 2), 2, 0, 0], [0, 0, 1, R(1, 2)], [0, 0, R(1, 2), 2]]
    four = value_of(g * TANH.subs(X, C) * TANH.subs(X, D), blocks, 12)
    assert abs(two**2 - Fraction(four.value)) <= 2 * Fraction(four.error_bound)
    connected = [[R(1, 2) + R(int(i == j), 2) for j in range(4)] for i in range(4)]
    full = value_of(sp.Mul(*(sp.tanh(f) for f in FIELDS)), connected, 7)
    # given the common part c ~ N(0, 1/2) the four are independent: E_c[m(c)^4]
    with mpmath.workdps(20):
        root = mpmath.sqrt(0.5)

        def inner(c: mpmath.mpf) -> mpmath.mpf:
            steps = mpmath.arange(-9, 9.01, 0.125)
            return mpmath.fsum(mpmath.tanh(c + root * t) * mpmath.npdf(t) for t in steps) / 8

        steps = mpmath.arange(-9, 9.01, 0.125)
        reference = mpmath.fsum(inner(root * t) ** 4 * mpmath.npdf(t) for t in steps) / 8
        assert abs(mpmath.mpf(full.value) - reference) <= mpmath.mpf(full.error_bound) + 1e-12


def test_what_cannot_be_reached_is_an_error_with_what_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("symderiv.precision.quadrature.numeric_mean.MAX_EVALUATIONS", 3e3)
    with pytest.raises(
        ToleranceError,
        match=r"40 digits were asked for, but .* reached \d+, with the error bound \d",
    ):
        value_of(TANH.subs(X, A) * TANH.subs(X, B), [[1, R(1, 2)], [R(1, 2), 2]], 40)


def test_symbols_leave_the_steps_but_no_number() -> None:
    c = sp.Symbol("c12", real=True)
    found = numeric_mean(sp.tanh(A) * sp.tanh(B), FIELDS[:2], sp.Matrix([[1, c], [c, 2]]))
    assert found.symbols == ("c12",)
    with pytest.raises(InputError, match="c12"):
        found.evaluate(10)


def test_functions_of_several_fields_are_refused() -> None:
    with pytest.raises(NotYetError, match="several fields"):
        numeric_mean(sp.tanh(A * B), FIELDS[:2], sp.eye(2))


# -- the parts ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("g", "width"),
    [
        *((TANH, sp.pi / 2), (LOGISTIC, sp.pi), (SOFTPLUS, sp.pi), (SILU, sp.pi), (ATAN, 1)),
        *((RATIO, sp.pi / 4), (X / sp.tanh(X), sp.pi / 2), (1 / sp.sqrt(1 + X**2), 1)),
    ],
    ids=str,
)
def test_strips_end_just_before_the_nearest_singularity(g: sp.Expr, width: sp.Expr) -> None:
    found = strips(g, X, 10.0, 20.0, 0.25)
    assert found[0].width < float(width)
    assert found[0].width > 0.9 * float(width)
    value = sp.lambdify(X, g, "mpmath")
    for strip in found:
        for x in (-19.3, -3.0, -0.4, 0.01, 0.7, 5.0, 18.9):
            z = mpmath.mpc(x, strip.width * 0.999)
            bound = float(strip.factor) * float(mpmath.exp(float(strip.rate) * abs(x)))
            assert abs(value(z)) <= bound


def test_a_kink_has_no_strip() -> None:
    with pytest.raises(NotYetError, match="no strip"):
        strips(X / (1 + sp.Abs(X)), X, 6.0, 20.0, 0.25)


@pytest.mark.parametrize(
    ("g", "error", "named"),
    [
        (sp.exp(X**2 / 4), NotYetError, "no bound"),
        (sp.exp(X**4), DivergentError, "does not exist for any variance"),
    ],
)
def test_growth_beyond_exponentials_is_refused(
    g: sp.Expr, error: type[Exception], named: str
) -> None:
    with pytest.raises(error, match=named):
        growth(g, X)
    # also where the product would vanish by reflection if its expectation existed
    with pytest.raises(error, match=named):
        value_of(g.subs(X, A) * sp.tanh(A), [[1]], 10)


def test_removable_singularities_are_enclosed() -> None:
    f = OneVariable(sp.diff(SINC, X, 2), X).on_complex(64)
    around = f(acb(arb(0, 1e-3), arb(0, 1e-3)))
    assert around.real.contains(arb(-1) / 3)
    assert around.real.rad() < 0.01
    assert OneVariable(SINC, X).on_real(64)(arb(0)).contains(1)
    with pytest.raises(Undefined):
        OneVariable(sp.cos(X) / X, X).on_complex(64)(acb(arb(0, 1e-3), 0))


@pytest.mark.parametrize(
    ("g", "z"),
    [
        (sp.log(X), acb(-1, arb(0, 0.1))),
        (sp.sqrt(X), acb(arb(0, 1), 1e-3)),
        (sp.atan(X), acb(arb(0, 0.1), 2)),
        (sp.Abs(X), acb(arb(0, 0.1), 1)),
        (sp.Max(X, 0), acb(arb(0, 0.1), 1)),
        (1 / X, acb(arb(0, 0.1), 0)),
    ],
    ids=str,
)
def test_cuts_kinks_and_poles_are_not_analytic(g: sp.Expr, z: acb) -> None:
    if g == sp.sqrt(X):
        z = acb(arb(-1, 1), arb(0, 0.1))
    with pytest.raises(Undefined):
        OneVariable(g, X).on_complex(64)(z)
