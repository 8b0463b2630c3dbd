r"""The Hermite model: σ replaced by a polynomial and independent noise.

.. math:: \hat\sigma(x) = \sum_{j=0}^{\ell} \frac{h_j}{j!} H_j(x/b) + h^* z ,\quad
          h_j = E[\sigma(bz)H_j(z)] ,\quad
          (h^*)^2 = E[\sigma(bz)^2] - \sum_{j\le\ell} \frac{h_j^2}{j!} .

All means are enclosed by the engine: with y = b z, b^j h_j = E[σ(y) b^j H_j(y/b)] is the mean of σ
times a polynomial with coefficients in b², under variance b².
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import sympy as sp
from flint import arb, fmpq

from symderiv.formula import activation
from symderiv.foundation.errors import DivergentError, NotYetError, SymderivError, ToleranceError
from symderiv.gaussian import Value, expectation
from symderiv.precision.balls.decimals import written, zero
from symderiv.precision.balls.enclosure import certified
from symderiv.precision.balls.working import working_bits
from symderiv.precision.quadrature.numeric_mean import numeric_mean

if TYPE_CHECKING:
    Array = np.ndarray

__all__ = ["HermiteModel", "hermite_model"]

_DIGITS: Final = 18
_BITS: Final = 200
# A remainder counts as zero if its square is enclosed around 0 by less than this times E σ².
_NOTHING: Final = 1e-15


@dataclass(frozen=True)
class HermiteModel:
    """The coefficients of σ̂.

    Args:
        scale: b.
        coefficients: h_0, …, h_ℓ, each with a bound of its error, proved where ``certified``.
        second_moment: E σ(bz)².
        remainder: h*.
    """

    scale: float
    coefficients: tuple[Value, ...]
    second_moment: Value
    remainder: Value

    @property
    def certified(self) -> bool:
        """True if all bounds are proved."""
        return all(v.certified for v in (*self.coefficients, self.second_moment))

    def features(self, fields: Array, random: np.random.Generator) -> Array:
        """Return σ̂ of fields x = f̂·x of any shape, with fresh noise for each."""
        series = [float(v.value) / math.factorial(j) for j, v in enumerate(self.coefficients)]
        features: Array = np.polynomial.hermite_e.hermeval(fields / self.scale, series)
        remainder = float(self.remainder.value)
        if remainder:
            features += remainder * random.standard_normal(fields.shape)
        return features


@lru_cache(maxsize=64)
def hermite_model(text: str, squared_scale: Fraction, degree: int) -> HermiteModel:
    """Return the model of an activation.

    Args:
        text: The activation, a name or a formula.
        squared_scale: b² > 0.
        degree: ℓ ≥ 0.

    Raises:
        InputError: A mean does not exist.
        NotYetError: A mean cannot be computed in this version.
        ToleranceError: The digits were not reached.
    """
    g = activation(text).expression
    x = sp.Symbol("x", real=True)
    variance = sp.Rational(squared_scale.numerator, squared_scale.denominator)
    # the integrands are g times b^j H_j(x/b), polynomials in x and b²
    root = sp.sqrt(variance)
    scaled = [
        _mean(g * sp.expand(root**j * sp.hermite_prob(j, x / root)), x, variance)
        for j in range(degree + 1)
    ]
    second = _mean(g**2, x, variance)
    with working_bits(_BITS):
        b = arb(fmpq(variance.p, variance.q)).sqrt()
        balls = [_ball(value) / b**j for j, value in enumerate(scaled)]
        square = _ball(second)
        left = square - sum((h * h / math.factorial(j) for j, h in enumerate(balls)), arb(0))
        coefficients = tuple(_shown(h, value) for h, value in zip(balls, scaled, strict=True))
        if left.contains(0) and left.abs_upper() < _NOTHING * square:
            remainder = zero(left.abs_upper().sqrt(), second.method)
        else:
            remainder = _shown(left.sqrt(), second)
    return HermiteModel(math.sqrt(squared_scale), coefficients, second, remainder)


def _mean(integrand: sp.Expr, x: sp.Symbol, variance: sp.Rational) -> Value:
    covariance = sp.Matrix([[variance]])
    try:
        return certified(expectation(integrand, [x], covariance), _DIGITS)
    except (NotYetError, DivergentError) as reason:
        asked = numeric_mean(integrand, [x], covariance, None, str(reason))
        try:
            return asked.evaluate(_DIGITS).value
        except SymderivError:
            # the rules look at factors one by one: a mean that they call divergent may exist
            if isinstance(reason, DivergentError):
                raise reason.renamed("activation") from None
            raise


def _ball(value: Value) -> Any:
    """Return a ball that contains the exact value."""
    if value.interval is not None:
        low, high = value.interval
    else:
        middle, error = Fraction(value.value), Fraction(value.error_bound)
        low, high = middle - error, middle + error
    ends = [arb(fmpq(end.numerator, end.denominator)) for end in (low, high)]
    return ends[0].union(ends[1])


def _shown(ball: Any, source: Value) -> Value:
    if not ball.is_finite():
        raise ToleranceError(f"a coefficient was not enclosed ({source.method})")
    if ball == 0:
        return Value("0", "0", source.certified, source.method, (Fraction(0), Fraction(0)))
    if ball.contains(0) and ball.abs_upper() < _NOTHING:
        return zero(ball.abs_upper(), source.method)
    shown = written(ball, None, _DIGITS, source.method)
    return (
        shown if source.certified else Value(shown.value, shown.error_bound, False, source.method)
    )
