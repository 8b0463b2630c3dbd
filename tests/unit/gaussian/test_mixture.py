"""Mixtures of error functions for tanh: the proved bounds hold and are not empty."""

import math
from itertools import pairwise

import mpmath
import pytest
import sympy as sp
from flint import arb, ctx

from symderiv.foundation.errors import ToleranceError
from symderiv.gaussian import erf_fits
from symderiv.gaussian.erf_mixture import (
    _BITS,
    TanhForm,
    _proved,
    _square_proved,
    mixture,
    slope_square,
    tanh_form,
)

x = sp.Symbol("x", real=True)
HALF = sp.Rational(1, 2)
CASES = {
    "tanh": sp.tanh(x),
    "logistic": 1 / (1 + sp.exp(-x)),
    "scaled": sp.Rational(-3, 2) * sp.tanh(sp.sqrt(2) * x) + x / 3 - 1,
}


@pytest.mark.parametrize(
    ("g", "form"),
    [
        (sp.tanh(x), (1, 1, 0)),
        (1 / (1 + sp.exp(-x)), (HALF, HALF, HALF)),
        (1 / (1 + sp.exp(3 * x)), (-HALF, 3 * HALF, HALF)),
        ((1 - sp.exp(-2 * x)) / (1 + sp.exp(-2 * x)) + x, (1, 1, x)),
        (sp.exp(x) / (1 + sp.exp(x)) - sp.tanh(x / 2), (-HALF, HALF, HALF)),
    ],
)
def test_affine_functions_of_tanh_are_recognised(g: sp.Expr, form: tuple[sp.Expr, ...]) -> None:
    found = tanh_form(g)
    assert (found.height, found.rate, found.rest) == form
    at = {x: sp.Rational(7, 10)}
    assert abs(sp.N(g.subs(at) - found.expression.subs(at), 30)) < 1e-25


@pytest.mark.parametrize(
    "g",
    [sp.tanh(x) ** 2, x * sp.tanh(x), sp.tanh(x + 1), sp.exp(x), x**2 + sp.tanh(x), sp.erf(x), x],
)
def test_other_functions_are_not_taken_for_one(g: sp.Expr) -> None:
    assert tanh_form(g) is None


@pytest.mark.turns(6)
@pytest.mark.parametrize("tolerance", [1e-2, 1e-5, 1e-9])
@pytest.mark.parametrize("name", CASES)
def test_the_proved_bounds_hold_and_are_close_to_the_largest_errors(
    name: str, tolerance: float
) -> None:
    form = tanh_form(CASES[name])
    assert form is not None
    found = mixture(form, tolerance)
    assert max(found.error, found.derivative_error) <= tolerance
    with mpmath.workdps(40):
        height, rate = (mpmath.mpf(str(sp.N(e, 40))) for e in (form.height, form.rate))
        pairs = [
            (mpmath.mpf(w), mpmath.mpf(a)) for w, a in zip(found.weights, found.scales, strict=True)
        ]
        error = slope = mpmath.mpf(0)
        for k in range(300):
            # the last points are in the tail that the proof treats apart
            z = mpmath.mpf(k) / 25 / rate if k < 290 else mpmath.mpf(k) / 10
            value = height * mpmath.tanh(rate * z) - sum(w * mpmath.erf(a * z) for w, a in pairs)
            steep = height * rate / mpmath.cosh(rate * z) ** 2 - sum(
                2 * w * a / mpmath.sqrt(mpmath.pi) * mpmath.exp(-((a * z) ** 2)) for w, a in pairs
            )
            error, slope = max(error, abs(value)), max(slope, abs(steep))
    assert error <= found.error <= 2 * error
    assert slope <= found.derivative_error <= 2 * slope


@pytest.mark.parametrize("tolerance", [1e-2, 1e-5, 1e-10])
@pytest.mark.parametrize("name", ["tanh", "logistic", "steep"])
def test_the_product_of_two_slopes_has_a_sum_of_its_own(name: str, tolerance: float) -> None:
    steep = sp.Rational(-3, 2) * sp.tanh(sp.sqrt(2) * x) - 1
    form = tanh_form({**CASES, "steep": steep}[name])
    assert form is not None
    found = slope_square(form, tolerance)
    with mpmath.workdps(40):
        height, rate = (mpmath.mpf(str(sp.N(e, 40))) for e in (form.height, form.rate))
        assert found.error <= tolerance * abs(height * rate)
        pairs = [
            (mpmath.mpf(w), mpmath.mpf(a)) for w, a in zip(found.weights, found.scales, strict=True)
        ]
        error = mpmath.mpf(0)
        for k in range(400):
            # the last points are in the tail that the proof treats apart
            z = mpmath.mpf(k) / 80 / rate if k < 390 else mpmath.mpf(k) / 15
            slope = height * rate / mpmath.cosh(rate * z) ** 2
            # of the slope of erf(a z), squared
            squares = (w * 4 * a**2 / mpmath.pi * mpmath.exp(-2 * (a * z) ** 2) for w, a in pairs)
            error = max(error, abs(slope**2 - sum(squares)))
    assert error <= found.error <= 2 * error


def test_one_sum_stands_for_slopes_without_a_rest_alone() -> None:
    form = tanh_form(CASES["scaled"])
    assert form is not None
    assert slope_square(form, 1e-4) is None
    assert slope_square(TanhForm(sp.Integer(1), sp.Integer(1), sp.Integer(2)), 1e-15) is None


def test_more_terms_are_used_only_where_fewer_do_not_do() -> None:
    form = TanhForm(sp.Integer(1), sp.Integer(1), sp.Integer(0))
    terms = [mixture(form, 10.0**-k).terms for k in (1, 2, 4, 6, 8, 9)]
    assert terms == [1, 2, 4, 6, 9, 10]
    assert all(a > 0 for a in mixture(form, 1e-9).weights)
    squares = [slope_square(form, 10.0**-k) for k in (1, 2, 4, 6, 8, 10)]
    assert [each.terms for each in squares if each] == [1, 2, 3, 5, 7, 10]


def test_what_is_out_of_reach_is_refused_with_the_best_bound() -> None:
    with pytest.raises(ToleranceError, match=r"tolerance 1e-13: .* has the error 1\.6e-12"):
        mixture(TanhForm(sp.Integer(1), sp.Integer(1), sp.Integer(0)), 1e-13)


def test_the_error_of_the_slope_counts_as_that_of_the_function() -> None:
    form = TanhForm(sp.Integer(1), sp.Integer(3), sp.Integer(0))
    first = mixture(form, 1e-1)
    tolerance = 0.92 * max(first.error, first.derivative_error)
    found = mixture(form, tolerance)
    assert max(found.error, found.derivative_error) <= tolerance


def test_the_proof_leaves_no_place_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cells from 0 to where the tails begin; there each term counts in full, with its own bound."""
    cells: list[tuple[float, float]] = []

    def noted(taylor: object, middle: arb, half: arb) -> tuple:
        cells.append((float(middle) - float(half), float(middle) + float(half)))
        return arb(0), arb(0)

    monkeypatch.setattr("symderiv.gaussian.erf_mixture._cell", noted)
    scale = 0.2
    with ctx.workprec(_BITS):
        error, slope = _proved(arb(0), arb(2), (1.0, -1.0), (scale, scale))
    assert cells[0][0] <= 0
    assert all(a[1] >= b[0] for a, b in pairwise(cells))
    end = cells[-1][1]
    rest = 2 * math.erfc(scale * end)
    steep = 4 * scale / math.sqrt(math.pi) * math.exp(-((scale * end) ** 2))
    assert rest * 0.999 <= error <= 1.1 * rest
    assert steep * 0.999 <= slope <= 1.1 * steep
    cells.clear()
    with ctx.workprec(_BITS):
        square = _square_proved(arb(0), arb(2), (1.0, -1.0), (scale, scale))
    assert cells[0][0] <= 0
    assert all(a[1] >= b[0] for a, b in pairwise(cells))
    rest = 2 * (2 * scale / math.sqrt(math.pi) * math.exp(-((scale * end) ** 2))) ** 2
    assert rest * 0.999 <= square <= 1.1 * rest


@pytest.mark.parametrize("of", [erf_fits.SLOPE, erf_fits.SQUARE])
@pytest.mark.parametrize("terms", [1, 2, 4])
def test_the_fits_that_are_kept_are_those_that_are_made(terms: int, of: str) -> None:
    """And no other number of error functions close by is better."""
    kept, fit = erf_fits._shipped()[of][terms - 1], erf_fits.fitted(terms, of)
    assert kept.largest == pytest.approx(fit.largest, rel=1e-9)
    assert kept.terms == [pytest.approx(each, rel=1e-12) for each in fit.terms]
    grid = [erf_fits.RANGE * j / 160 for j in range(161)]
    power = 1 if of == erf_fits.SLOPE else 2

    def squares(scales: list[float]) -> float:
        slopes = [
            sum(
                w * (2 * a / math.pi**0.5 * math.exp(-((a * t) ** 2))) ** power
                for a, (_, w) in pairs
            )
            for pairs in [list(zip(scales, kept.terms, strict=True))]
            for t in grid
        ]
        exact = [math.cosh(t) ** (-2 * power) for t in grid]
        return sum((e - s) ** 2 for e, s in zip(exact, slopes, strict=True))

    scales = [a for a, _ in kept.terms]
    least = squares(scales)
    for k in range(terms):
        for factor in (0.99, 1.01):
            assert squares([a * factor if n == k else a for n, a in enumerate(scales)]) > least
