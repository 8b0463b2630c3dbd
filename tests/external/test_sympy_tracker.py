"""Gaussian integrals reported in SymPy's issue tracker as failing, hanging or left unevaluated.

Each report is stated as an expectation; the engine must give a closed form, and its value at the
point must equal an integral computed from the density alone. The number in each name is that of the
issue at github.com/sympy/sympy/issues.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
import sympy as sp
from mpmath import mp, mpf
from support.quadrature import RELU, Factor, gaussian_mean, smooth

from symderiv.gaussian import OwenT, expectation

R = sp.Rational
x, y = FIELDS = sp.symbols("x y", real=True)
a, b, c, k, m, n = sp.symbols("a b c k m n", real=True)
s, t = sp.symbols("s t", positive=True)

DIGITS = 22
ALLOWED = (sp.exp, sp.erf, sp.erfc, sp.erfi, sp.sin, sp.cos, sp.asin, sp.log, sp.im, sp.re, OwenT)


@dataclass(frozen=True)
class Report:
    """An expectation of one normal variable x with a point at which to evaluate it."""

    issue: int
    what: str
    integrand: sp.Expr
    variance: sp.Expr
    mean: sp.Expr = sp.S.Zero
    point: dict[sp.Symbol, sp.Expr] = field(default_factory=dict)
    kink: sp.Expr = sp.S.Zero  # where the integrand is not smooth

    @property
    def name(self) -> str:
        return f"{self.issue}: {self.what}"


def phi(z: sp.Expr) -> sp.Expr:
    """The normal distribution function."""
    return (1 + sp.erf(z / sp.sqrt(2))) / 2


REPORTS = [
    Report(19364, "mean of sin", sp.sin(x), R(9), R(2)),
    Report(14573, "mean of sin with symbols", sp.sin(x), s**2, m, {s: R(3, 2), m: R(1, 3)}),
    Report(14573, "mean of cos with symbols", sp.cos(x), s**2, m, {s: R(3, 2), m: R(1, 3)}),
    Report(14573, "second moment of sin", sp.sin(x) ** 2, s**2, m, {s: R(2, 3), m: R(1, 3)}),
    Report(
        15566,
        "first moment above a threshold",
        x * sp.Heaviside(x - a),
        s**2,
        m,
        {a: R(1, 2), s: R(4, 3), m: R(-1, 5)},
        a,
    ),
    Report(20540, "exponential of one of two normals", sp.exp(x), R(1)),
    Report(19846, "shifted cdf times density", phi(x - a), R(1), point={a: R(2, 3)}),
    Report(
        7907,
        "maximum of a constant and a normal",
        sp.Max(c, x),
        R(1, 2),
        point={c: R(-1, 3)},
        kink=c,
    ),
    Report(21041, "sine on the half line", sp.sin(2 * x) * sp.Heaviside(x), R(1, 2)),
    Report(
        21041,
        "sine of symbolic frequency on the half line",
        sp.sin(k * x) * sp.Heaviside(x),
        R(1, 2),
        point={k: R(5, 3)},
    ),
    Report(
        21362,
        "sine times Gaussian below a bound",
        sp.sin(x) * sp.Heaviside(a - x),
        R(1, 2),
        point={a: R(2, 5)},
        kink=a,
    ),
    Report(
        30110,
        "erf times Gaussian below a bound",
        sp.erf(k * x) * sp.Heaviside(a - x),
        R(1, 2),
        point={k: R(3, 2), a: R(2, 5)},
        kink=a,
    ),
    Report(
        13733,
        "integral of a normal tail, a mean of Max",
        sp.Max(x, 0),
        s**2,
        m,
        {s: R(4, 3), m: R(-1, 5)},
    ),
    Report(
        13767,
        "two Gaussians times a plane wave, real part",
        sp.cos(k * x),
        R(1, 4),
        a / 2,
        {k: R(3, 2), a: R(2, 5)},
    ),
]


def by_quadrature(report: Report) -> mpf:
    """The mean from the density, by mpmath's quadrature on both sides of the kink."""
    variance, mean, kink = (
        mpf(sp.sympify(value).subs(report.point).evalf(40))
        for value in (report.variance, report.mean, report.kink)
    )
    function: Callable[[mpf], mpf] = sp.lambdify(x, report.integrand.subs(report.point), "mpmath")
    # Max and Heaviside at the kink itself do not matter: tanh-sinh never evaluates there.
    width = mp.sqrt(variance)
    points = sorted([mean + 14 * width * j / 7 for j in range(-7, 8)] + [kink])
    density = mp.sqrt(2 * mp.pi * variance)
    return mp.quad(
        lambda z: function(z) * mp.exp(-((z - mean) ** 2) / (2 * variance)) / density, points
    )


def assert_closed(value: sp.Expr) -> None:
    """Only elementary functions, erf of any argument, and Owen's T."""
    assert not value.has(sp.Integral, sp.Sum, sp.Piecewise, sp.nan, sp.zoo, sp.oo)
    assert {type(f) for f in value.atoms(sp.Function)} <= set(ALLOWED)


@pytest.mark.parametrize("report", REPORTS, ids=lambda report: report.name)
def test_a_reported_integral_comes_out_closed_and_right(report: Report) -> None:
    found = expectation(
        report.integrand, [x], sp.Matrix([[report.variance]]), sp.Matrix([report.mean])
    )
    assert found.method == "closed-form"
    assert_closed(found.value)
    assert found.value.free_symbols <= set(report.point)
    with mp.workdps(35):
        expected = by_quadrature(report)
        # evalf leaves an imaginary part of the size of its rounding on im(erf(...)).
        value = mpf(sp.re(found.value.subs(report.point).evalf(30)))
        assert abs(value - expected) < mpf(10) ** -DIGITS * max(1, abs(expected))


def check_two(
    integrand: sp.Expr,
    covariance: list[list[sp.Expr]],
    mean: list[sp.Expr],
    point: dict[sp.Symbol, sp.Expr],
    expected: mpf,
) -> None:
    """Closed form of two fields against a number."""
    found = expectation(integrand, FIELDS, sp.Matrix(covariance), sp.Matrix(mean))
    assert found.method == "closed-form"
    assert_closed(found.value)
    with mp.workdps(35):
        value = mpf(found.value.subs(point).evalf(30))
        assert abs(value - expected) < mpf(10) ** -DIGITS * max(1, abs(expected))


def test_issue_15486_cosine_of_two_variables_times_a_gaussian() -> None:
    # exp(-x²(1 + n²) - y²(1 + m²)) cos(m x - n y) over the plane, as an expectation.
    point = {m: R(4, 3), n: R(1, 2)}
    covariance = [[1 / (2 * (1 + n**2)), sp.S.Zero], [sp.S.Zero, 1 / (2 * (1 + m**2))]]
    at = [[entry.subs(point) for entry in row] for row in covariance]
    with mp.workdps(40):
        frequencies = (mpf(4) / 3, mpf(1) / 2)
        cosines = [smooth(lambda z, w=w: mp.cos(w * z), 0) for w in frequencies]
        sines = [smooth(lambda z, w=w: mp.sin(w * z), 0) for w in frequencies]
        expected = gaussian_mean(cosines, at, digits=24) + gaussian_mean(sines, at, digits=24)
    check_two(sp.cos(m * x - n * y), covariance, [0, 0], point, expected)


def test_issue_19671_one_normal_above_another() -> None:
    # P(x1 > x2) with symbolic means and deviations; the difference is one normal variable.
    point = {m: R(1, 3), n: R(3, 4), s: R(4, 3), t: R(1, 2)}
    covariance = [[s**2, sp.S.Zero], [sp.S.Zero, t**2]]
    with mp.workdps(40):
        step = Factor((None, lambda z: mpf(1)), (mpf(0),))
        difference = gaussian_mean([step], [[R(73, 36)]], [R(1, 3) - R(3, 4)], digits=25)
    check_two(sp.Heaviside(x - y), covariance, [m, n], point, difference)


@pytest.mark.parametrize("correlation", [R(1, 10), R(1, 2)])
def test_issue_20540_exponential_and_maximum_of_correlated_normals(correlation: sp.Expr) -> None:
    # Reported for exp and Max of one component; here also the product of both components.
    covariance = [[R(1), correlation], [correlation, R(1)]]
    with mp.workdps(40):
        expected = gaussian_mean([smooth(mp.exp, 0), RELU], covariance, digits=25)
    check_two(sp.exp(x) * sp.Max(y, 0), covariance, [0, 0], {}, expected)


def test_issue_21057_singular_covariances_have_expectations() -> None:
    zero = expectation(sp.exp(x) + sp.Max(y, 0) + 3, FIELDS, sp.zeros(2, 2))
    assert zero.value == 4
    # y = 2 x: one variable is left.
    found = expectation(sp.exp(x) * sp.Max(y, 0), FIELDS, sp.Matrix([[1, 2], [2, 4]]))
    with mp.workdps(40):
        product = Factor((None, lambda z: 2 * z * mp.exp(z)), (mpf(0),))
        expected = gaussian_mean([product], [[1]], digits=25)
        assert abs(mpf(found.value.evalf(30)) - expected) < mpf(10) ** -DIGITS
