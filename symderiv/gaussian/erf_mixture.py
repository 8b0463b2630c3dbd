r"""tanh as a sum of error functions, with errors proved by ball arithmetic.

tanh is a normal-scale mixture: :math:`\mathrm{sech}^2\sqrt t` is completely monotone in t, so

.. math:: \tanh' x = \int_0^\infty e^{-s x^2} d\nu(s), \qquad
   \tanh x = \int_0^\infty \sqrt{\pi/4s}\;\mathrm{erf}(\sqrt s\, x)\, d\nu(s)

with a positive measure ν that falls off exponentially at both ends. A few nodes are therefore
enough; the ones here minimise the mean square of the error of tanh' (the largest error is then
about 15 % above the smallest possible one). Means of products of tanh become sums over closed forms
of erf. sech⁴ is such a mixture, too, and the product of two slopes at one field has one of its own,
as long as that of one slope: a sum over pairs of terms would be many times as long. The bounds are
proved for the numbers as they are printed, rounded to doubles.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import flint
import sympy as sp
from flint import arb, arb_series

from symderiv.foundation.errors import ToleranceError
from symderiv.gaussian.erf_fits import MOST_TERMS, RANGE, SQUARE, fits

_BITS = 200
X = sp.Symbol("x", real=True)


@dataclass(frozen=True)
class TanhForm:
    """A function of the form ``height * tanh(rate * x) + rest``; rest is affine in x."""

    height: sp.Expr
    rate: sp.Expr
    rest: sp.Expr

    @property
    def expression(self) -> sp.Expr:
        """Return the function of x."""
        return self.height * sp.tanh(self.rate * X) + self.rest


@dataclass(frozen=True)
class SlopeSquare:
    """A sum Σ_k weights[k] (d/dx erf(scales[k] x))² that approximates (height·rate·sech²(rate·x))².

    Attributes:
        weights, scales: Doubles, scales ascending.
        error: Proved bound on the largest difference for exactly these numbers.
    """

    weights: tuple[float, ...]
    scales: tuple[float, ...]
    error: float

    @property
    def terms(self) -> int:
        """Return the number of squares."""
        return len(self.weights)


@dataclass(frozen=True)
class ErfMixture:
    """A sum Σ_k weights[k] erf(scales[k] x) that approximates height·tanh(rate·x).

    Attributes:
        form: The function that is approximated; its affine rest is kept exactly.
        weights, scales: Doubles, scales ascending.
        error: Proved bound on sup |g - g_n| for exactly these numbers.
        derivative_error: Proved bound on sup |g' - g_n'|.
    """

    form: TanhForm
    weights: tuple[float, ...]
    scales: tuple[float, ...]
    error: float
    derivative_error: float

    @property
    def terms(self) -> int:
        """Return the number of error functions."""
        return len(self.weights)


def tanh_form(g: sp.Expr) -> TanhForm | None:
    """Return the function as a multiple of tanh plus an affine function, or None if it is neither.

    Exponentials count: 1/(1 + exp(-x)) is 1/2 + tanh(x/2)/2.

    Args:
        g: A function of ``Symbol("x", real=True)``.
    """
    exponentials = g.replace(
        lambda e: isinstance(e, sp.sinh | sp.cosh), lambda e: e.rewrite(sp.exp)
    )
    rates = {e: e.args[0] / X for e in exponentials.atoms(sp.exp)}
    rates |= {e: 2 * e.args[0] / X for e in exponentials.atoms(sp.tanh)}
    if not rates or any(rate.has(X) or not rate.is_real for rate in rates.values()):
        return None
    tau = sp.Dummy("tau")
    for base in sorted({abs(rate) for rate in rates.values()}, key=sp.default_sort_key):
        powers = {e: sp.nsimplify(rate / base) for e, rate in rates.items()}
        if not all(power.is_Integer and abs(power) <= 4 for power in powers.values()):
            continue
        replaced = {}
        for e, power in powers.items():
            grown = ((1 + tau) / (1 - tau)) ** power
            replaced[e] = grown if isinstance(e, sp.exp) else (grown - 1) / (grown + 1)
        rational = sp.cancel(sp.together(exponentials.xreplace(replaced)))
        if not rational.is_polynomial(tau, X):
            continue
        poly = sp.Poly(rational, tau)
        if poly.degree() != 1:
            continue
        height, rest = poly.coeff_monomial(tau), poly.coeff_monomial(1)
        if height.has(X) or sp.Poly(rest, X).degree() > 1:
            continue
        return TanhForm(height, base / 2, rest)
    return None


@lru_cache(maxsize=8)
def mixture(form: TanhForm, tolerance: float) -> ErfMixture:
    """Return the shortest mixture with proved errors of function and derivative below a tolerance.

    Args:
        form: What is approximated.
        tolerance: Bound on sup |g - g_n| and on sup |g' - g_n'|, absolute.

    Raises:
        ToleranceError: The tolerance is out of reach; the message says what can be had.
    """
    with flint.ctx.workprec(_BITS):
        height, rate = _ball(form.height), _ball(form.rate)
        size = max(abs(height), abs(height * rate))
        wanted = tolerance / float(size.mid())
        best = float("inf")
        # fits with slightly larger errors are tried: the function's error may differ from theirs
        for fit in fits(1.2 * wanted):
            pairs = sorted((float(rate.mid()) * a, float(height.mid()) * w) for a, w in fit)
            scales = tuple(a for a, _ in pairs)
            weights = tuple(w for _, w in pairs)
            error, derivative_error = _proved(height, rate, weights, scales)
            best = min(best, max(error, derivative_error))
            if best <= tolerance:
                return ErfMixture(form, weights, scales, error, derivative_error)
    raise ToleranceError(
        f"tolerance {tolerance:g}: the best mixture of {MOST_TERMS} error functions for "
        f"{form.height * sp.tanh(form.rate * X)} has the error {best:.1e}; ask for that or more"
    )


@lru_cache(maxsize=8)
def slope_square(form: TanhForm, tolerance: float) -> SlopeSquare | None:
    """Return the shortest sum whose error is proved to be below a tolerance.

    None if no sum has such an error, or if the slope of the affine part is not zero.

    Args:
        form: The tanh whose squared slope is approximated.
        tolerance: The error of the squared slope may be this times the largest slope.
    """
    if form.rest.diff(X) != 0:
        return None
    with flint.ctx.workprec(_BITS):
        rate, steep = _ball(form.rate), abs(_ball(form.height * form.rate))
        wanted = tolerance / float(steep.mid())
        for fit in fits(wanted, SQUARE):
            pairs = sorted(
                (float(rate.mid()) * a, float((_ball(form.height) ** 2).mid()) * w) for a, w in fit
            )
            scales, weights = (tuple(each[n] for each in pairs) for n in range(2))
            error = _square_proved(steep, rate, weights, scales)
            if error <= tolerance * float(steep.mid()):
                return SlopeSquare(weights, scales, error)
    return None


def _ball(number: sp.Expr) -> Any:
    """Return an exact number as a ball, by way of rationals around its decimal expansion."""
    digits = sp.N(number, 70)
    shown = arb(str(digits))
    return shown if number.is_Rational is False else arb(int(number.p)) / arb(int(number.q))


# The proof: Taylor polynomials with remainders in balls on [0, end], monotone bounds beyond.

_ORDER = 16
_CELLS_PER_UNIT = 12
_PIECES = 8


_Taylor = Callable[[Any], list[Any]]
"""Return the Taylor coefficients of a difference at a place."""


def _proved(
    height: Any, rate: Any, weights: tuple[float, ...], scales: tuple[float, ...]
) -> tuple[float, float]:
    """Return upper bounds on the errors of the function and of its derivative, for all real x."""
    terms = [(arb(w), arb(a)) for w, a in zip(weights, scales, strict=True)]
    error, slope, end = _over_cells(lambda place: _difference(height, rate, terms, place), rate)
    # Beyond the cells, bound the distances of all terms from their limits; both functions are
    # odd, so that positive x suffice.
    beyond = abs(height - sum((w for w, _ in terms), arb(0)))
    beyond += abs(height) * 2 * (-2 * rate * end).exp()
    beyond += sum((abs(w) * (a * end).erfc() for w, a in terms), arb(0))
    flat = abs(height) * rate / (rate * end).cosh() ** 2
    flat += sum((abs(w) * _slope(a) * (-((a * end) ** 2)).exp() for w, a in terms), arb(0))
    return _rounded_up(error.max(beyond)), _rounded_up(slope.max(flat))


def _square_proved(
    steep: Any, rate: Any, weights: tuple[float, ...], scales: tuple[float, ...]
) -> float:
    """Return an upper bound on the error of the square of a slope, which is ``steep`` at 0."""
    terms = [(arb(w), arb(a)) for w, a in zip(weights, scales, strict=True)]

    def taylor(place: Any) -> list[Any]:
        def series(x: Any) -> Any:
            # e^(-2|y|): sech^4 y is a rational function of it
            small = (-2 * rate * x).exp()
            total = steep**2 * (4 * small / (1 + small) ** 2) ** 2
            for w, a in terms:
                total -= w * _slope(a) ** 2 * (-2 * a**2 * x * x).exp()
            return total

        return _coefficients(series, place)

    error, _, end = _over_cells(taylor, rate)
    # beyond the cells both even functions decrease
    beyond = steep**2 / (rate * end).cosh() ** 4
    beyond += sum((abs(w) * _slope(a) ** 2 * (-2 * (a * end) ** 2).exp() for w, a in terms), arb(0))
    return _rounded_up(error.max(beyond))


def _over_cells(taylor: _Taylor, rate: Any) -> tuple[Any, Any, Any]:
    """Return bounds on a difference and its derivative from 0 to the end of the cells, and this
    end.
    """
    cells = RANGE * _CELLS_PER_UNIT
    width = arb(RANGE) / cells / arb(float(rate.mid())).mid()
    error = slope = arb(0)
    for cell in range(cells):
        middle = width * (2 * cell + 1) / 2
        bounds = _cell(taylor, middle.mid(), (width / 2).upper() * arb("1.0000001"))
        error, slope = error.max(bounds[0]), slope.max(bounds[1])
    return error, slope, width * cells


def _slope(scale: Any) -> Any:
    """Return the derivative of erf(scale x) at 0."""
    return 2 * scale / arb.pi().sqrt()


def _cell(taylor: _Taylor, middle: Any, half: Any) -> tuple[Any, Any]:
    """Return bounds on a difference and its derivative on [middle - half, middle + half]."""
    coefficients = taylor(middle)
    # The coefficient of the remainder, at a ball that holds every intermediate point.
    last = taylor(arb(middle, half))[_ORDER]
    value = arb(0)
    slope = arb(0)
    for piece in range(_PIECES):
        at = half * (2 * piece + 1 - _PIECES) / _PIECES
        t = arb(at.mid(), (half / _PIECES).upper() * arb("1.0000001"))
        first, second = last, _ORDER * last
        for k in range(_ORDER - 1, -1, -1):
            first = first * t + coefficients[k]
            if k:
                second = second * t + k * coefficients[k]
        value, slope = value.max(abs(first)), slope.max(abs(second))
    return value.upper(), slope.upper()


def _difference(height: Any, rate: Any, terms: list[Any], place: Any) -> list[Any]:
    """Return Taylor coefficients of height tanh(rate x) - Σ w erf(a x) at a place."""

    def series(x: Any) -> Any:
        total = height - 2 * height / ((2 * rate * x).exp() + 1)
        for w, a in terms:
            total -= w * (a * x).erf()
        return total

    return _coefficients(series, place)


def _coefficients(series: Callable[[Any], Any], place: Any) -> list[Any]:
    """Return the Taylor coefficients at a place of a function that accepts power series."""
    before = flint.ctx.cap
    try:
        flint.ctx.cap = _ORDER + 1
        total = series(arb_series([place, 1]))
        return [total[k] for k in range(_ORDER + 1)]
    finally:
        flint.ctx.cap = before


def _rounded_up(bound: Any) -> float:
    """Return a bound rounded up to two significant digits."""
    upper = float(bound.upper()) * (1 + 1e-12)
    digits = f"{upper:.1e}"
    if float(digits) < upper:
        mantissa, exponent = digits.split("e")
        digits = f"{float(mantissa) + 0.1:.1f}e{exponent}"
    return float(digits)
