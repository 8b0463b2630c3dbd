"""Bounds of growth: ends of ranges that are exact where a function is monotone, and rates."""

import mpmath
import numpy as np
import pytest
import sympy as sp

from symderiv.formula.walker import value_of
from symderiv.foundation.errors import DivergentError, NotYetError
from symderiv.precision.balls.working import working_bits
from symderiv.precision.quadrature.growth import _Ends, growth

x = sp.Symbol("x", real=True)
INF = sp.oo

# smallest and largest value for x >= 1
RANGES = [
    (x, 1, INF),
    (x**2, 1, INF),
    (-(x**3), -INF, -1),
    (2 * x + 3, 5, INF),
    (5 - x, -INF, 4),
    (x**2 - x, 0, INF),
    (x**2 - 3 * x, -INF, INF),
    (1 / x, 0, 1),
    (-1 / x, -1, 0),
    (1 / (-x - 1), sp.Rational(-1, 2), 0),
    (x**-2, 0, 1),
    ((x + 1) ** -3, sp.Rational(-1, 8), sp.Rational(1, 8)),
    (sp.sqrt(x + 3), 2, INF),
    ((x + 3) ** sp.Rational(-1, 2), 0, sp.Rational(1, 2)),
    (x**4 + sp.exp(-x), 1, INF),
    ((x + sp.exp(-x)) ** 4, 1, INF),
    (sp.tanh(x) ** 2, sp.tanh(1) ** 2, 1),
    (sp.sin(x) ** 2, 0, 1),
    (sp.sin(x) ** 3, -1, 1),
    (sp.tanh(-x) ** 3, -1, -(sp.tanh(1) ** 3)),
    (sp.exp(x), sp.E, INF),
    (sp.exp(-x), 0, sp.exp(-1)),
    (sp.exp(1 / x), 1, sp.E),
    (sp.sinh(1 / x), 0, sp.sinh(1)),
    (sp.cosh(1 / x), (1 + sp.exp(-1)) / 2, (1 + sp.E) / 2),
    (sp.tanh(x), sp.tanh(1), 1),
    (sp.erf(-x), -1, -sp.erf(1)),
    (sp.erfc(x), 0, sp.erfc(1)),
    (sp.erfc(-x), sp.erfc(-1), 2),
    (sp.atan(x), sp.pi / 4, sp.pi / 2),
    (sp.atan(-x), -sp.pi / 2, -sp.pi / 4),
    (sp.tanh(1 / x), 0, sp.tanh(1)),
    (sp.log(x), 0, INF),
    (sp.log(x + 1), sp.log(2), INF),
    (sp.log(2 + sp.tanh(x)), sp.log(2 + sp.tanh(1)), sp.log(3)),
    (sp.Abs(sp.tanh(-x)), sp.tanh(1), 1),
    (sp.Abs(sp.exp(-x) - 2), 2 - sp.exp(-1), 2),
    (sp.Abs(sp.exp(-x) - sp.Rational(1, 8)), 0, sp.exp(-1) - sp.Rational(1, 8)),
    (sp.Abs(x**3 + sp.sin(x)), 0, INF),
    (sp.sign(x), 1, 1),
    (sp.sign(-x), -1, -1),
    (sp.sign(x**2 - 3 * x), -1, 1),
    (sp.Heaviside(x), 1, 1),
    (sp.Heaviside(-x), 0, 0),
    (sp.Heaviside(x**2 - 3 * x), 0, 1),
    (sp.Max(x, 2), 2, INF),
    (sp.Min(x, 2), 1, 2),
    (sp.Min(x**2, 3 * x, sp.tanh(x)), sp.tanh(1), 1),
    (sp.Max(1 / x, sp.exp(-x), -2), 0, 1),
    (sp.sin(x), -1, 1),
    (3 * sp.tanh(x) - 2 * sp.exp(-x), 3 * sp.tanh(1) - 2 * sp.exp(-1), 3),
    (-2 * sp.tanh(x), -2, -2 * sp.tanh(1)),
    ((2 + sp.tanh(x)) * (sp.exp(-x) - 3), -9, (2 + sp.tanh(1)) * (sp.exp(-1) - 3)),
]


@pytest.mark.parametrize(("f", "low", "high"), RANGES, ids=lambda f: str(f))
def test_ends_of_the_range_are_found(f: sp.Expr, low: sp.Expr, high: sp.Expr) -> None:
    with working_bits(64):
        part = value_of(f, _Ends(x, 1), {})
        for found, exact in ((part.low, sp.sympify(low)), (part.high, sp.sympify(high))):
            if exact.is_finite:
                assert float(found) == pytest.approx(float(exact), rel=1e-15, abs=1e-17), part
            else:
                assert not found.is_finite()
    # the range contains all values: at the ends rounding goes outwards
    values = sp.lambdify(x, f, "mpmath")
    with mpmath.workdps(40):
        for at in (1, 1.01, 1.5, 2, 3, 7, 30):
            y = values(mpmath.mpf(at))
            assert float(part.low) - 1e-15 <= y <= float(part.high) + 1e-15


# |f| <= factor x^power exp(rate x), with the numbers that are the least possible where exact
RATES = [
    (x, 1, 1, 1, 0),
    (3 * x**2 - 2 * x + 1, None, 6, 2, 0),
    (sp.exp(2 * x), 1, 1, 0, 2),
    (sp.exp(-3 * x), 1, 1, 0, 3),
    (x * sp.exp(x / 2), 1, 1, 1, sp.Rational(1, 2)),
    (x**2 * sp.cosh(x), 1, (1 + sp.exp(-1)) / 2, 2, 1),
    (sp.sinh(2 * x), 1, (1 + sp.exp(-2)) / 2, 0, 2),
    (sp.tanh(x), 1, 1, 0, 0),
    (2 * x * sp.tanh(x), 1, 2, 1, 0),
    (sp.Abs(x) ** sp.Rational(3, 2), 1, 1, sp.Rational(3, 2), 0),
    (sp.Abs(x) * sp.exp(x), 1, 1, 1, 1),
    (sp.Abs(x * sp.exp(x)), 1, 1, 1, 1),
    (sp.Abs(x**2 + sp.sin(x)), 1, 2, 2, 0),
    (sp.Max(2 * x, x**2), 1, 2, 2, 0),
    (sp.Min(2 * x, sp.exp(x)), 1, 2, 1, 1),
    (sp.sqrt(1 + x**2) * sp.erf(x), 1, sp.sqrt(2), 1, 0),
    (sp.exp(sp.tanh(x)), 1, sp.E, 0, 0),
    (x + sp.exp(x), 1, 2, 1, 1),
    (sp.log(1 + sp.exp(x)), None, None, 1, 0),
]


@pytest.mark.parametrize(("f", "start", "factor", "power", "rate"), RATES, ids=lambda f: str(f))
def test_growth_is_bounded_by_the_least_numbers(f, start, factor, power, rate) -> None:
    found = growth(f, x)
    if start is not None:
        assert found.start == start
    if factor is not None:
        assert float(found.factor) == pytest.approx(float(factor), rel=1e-15)
    assert float(found.power) == pytest.approx(float(power), abs=1e-17)
    assert float(found.rate) == pytest.approx(float(rate), abs=1e-17)
    values = sp.lambdify(x, f, "mpmath")
    alone, extra = found.exponential(0.25)
    with mpmath.workdps(30):
        for at in (1, 1.3, 2, 4, 9, 40, 200):
            size = max(abs(values(mpmath.mpf(s * at * found.start))) for s in (1, -1))
            place = mpmath.mpf(at * found.start)
            power_, rate_ = float(found.power), float(found.rate)
            bound = float(found.factor) * place**power_ * mpmath.exp(rate_ * place)
            assert size <= bound * (1 + 1e-12)
            assert size <= float(alone) * mpmath.exp(float(extra) * place) * (1 + 1e-12)
    if power:
        # x^p exp(-x/4) touches its bound at x = 4 p
        touch = 4 * float(power)
        ratio = touch ** float(power) * np.exp(-touch / 4) * float(found.factor)
        assert float(alone) == pytest.approx(ratio, rel=1e-12)
        assert float(extra) == pytest.approx(float(rate) + 0.25, rel=1e-12)


def test_what_grows_too_fast_is_refused() -> None:
    with pytest.raises(DivergentError):
        growth(sp.exp(x**4), x)
    with pytest.raises(NotYetError, match="no bound of the form"):
        growth(sp.exp(x**2 / 8), x)
    # a pole within reach of 1 moves the start, one on every half line cannot be passed
    assert growth(1 / (x - 3), x).start == 4
    assert growth(sp.log(x**2 - 30), x).start == 8
    with pytest.raises(NotYetError):
        growth(1 / sp.sin(x), x)
