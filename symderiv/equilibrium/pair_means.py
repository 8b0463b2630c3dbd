"""Means of products of two activations with their derivatives by the covariance.

By Price's theorem ∂E[g(u)h(v)]/∂c₁₂ = E[g'h'] and ∂/∂c₁₁ = E[g''h]/2. Closed forms are derived by
the Gaussian calculus and differentiated symbolically. Without a closed form, these means of
derivatives are sums over panels between kinks (:mod:`symderiv.equilibrium.kinked_means`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import sympy as sp

from symderiv.equilibrium.kinked_means import field_mean, pair_means, pieces_of
from symderiv.formula.as_function import as_function
from symderiv.foundation.errors import InputError, NotYetError
from symderiv.gaussian.student_integrals import i2
from symderiv.gaussian.terms.covariance import covariance_symbols
from symderiv.statement.slopes import ROUGH

# Orders of derivatives by a = c₁₁, c = c₁₂, b = c₂₂, in the order of results.
_ORDERS = ((0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1))
_SECOND = ((2, 0, 0), (1, 1, 0), (1, 0, 1), (0, 2, 0), (0, 1, 1), (0, 0, 2))


@dataclass(frozen=True)
class PairMean:
    """The mean of g(u) h(v) as a function of covariances (a, c, b), arrays of one shape.

    Attributes:
        closed: Whether it comes from a closed form.
        values: The function from (a, c, b) to the mean, its 3 first and its 6 second derivatives
            (aa, ac, ab, cc, cb, bb), shape (10, …).
    """

    closed: bool
    values: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]

    def __call__(
        self, a: np.ndarray, c: np.ndarray, b: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the mean (…), its gradient (3, …) and its second derivatives (3, 3, …)."""
        values = self.values(a, c, b)
        aa, ac, ab, cc, cb, bb = values[4:]
        return values[0], values[1:4], np.array([[aa, ac, ab], [ac, cc, cb], [ab, cb, bb]])


@lru_cache(maxsize=64)
def pair_mean(g: sp.Expr, h: sp.Expr) -> PairMean:
    """Return the mean of a product of functions of two fields.

    Raises:
        NotYetError: There is no closed form, and a kink is not at a root of a polynomial.
    """
    symbols, value = _symbols(), closed_mean(g, h)
    expressions = []
    if value is not None and not _cancels(value, g, h):
        expressions = [_derivative(value, symbols, orders) for orders in (*_ORDERS, *_SECOND)]
    # cases of the closed form meet where a derivative would contain a delta function
    if not expressions or any(each.has(sp.DiracDelta) for each in expressions):
        return PairMean(False, _summed(g, h))
    function = as_function(symbols, expressions)

    def values(a: np.ndarray, c: np.ndarray, b: np.ndarray) -> np.ndarray:
        shape = np.broadcast_shapes(np.shape(a), np.shape(c), np.shape(b))
        return np.array([np.broadcast_to(each, shape) for each in function(a, c, b)])

    return PairMean(True, values)


@lru_cache(maxsize=64)
def square_mean(g: sp.Expr) -> Callable[[np.ndarray], np.ndarray]:
    """Return E[g(u)²] with its first and second derivative by the variance, shape (3, …).

    Raises:
        NotYetError: There is no closed form, and a kink is not at a root of a polynomial.
    """
    variance, value = _symbols()[0], closed_mean(g, g, (0, 0))
    if value is None or _cancels(value, g):
        return _by_pieces(g)
    function = as_function([variance], [sp.diff(value, variance, n) for n in range(3)])

    def closed(a: np.ndarray) -> np.ndarray:
        return np.array([np.broadcast_to(each, np.shape(a)) for each in function(a)])

    return closed


def closed_mean(g: sp.Expr, h: sp.Expr, fields: tuple[int, int] = (0, 1)) -> sp.Expr | None:
    """Return the mean of a product of functions of two fields, or of one; None without a closed
    form.
    """
    try:
        return i2(g, h, fields=fields).unfolded()
    except (InputError, NotYetError, NotImplementedError, ValueError):
        return None


def _symbols() -> tuple[sp.Symbol, ...]:
    covariance = covariance_symbols(2)
    return covariance[0, 0], covariance[0, 1], covariance[1, 1]


def _derivative(value: sp.Expr, symbols: Sequence[sp.Symbol], orders: Sequence[int]) -> sp.Expr:
    for symbol, order in zip(symbols, orders, strict=True):
        value = sp.diff(value, symbol, order)
    return value


def _is_rough(g: sp.Expr) -> bool:
    return bool(g.has(*ROUGH, sp.Piecewise))


def _cancels(closed: sp.Expr, *functions: sp.Expr) -> bool:
    """Return whether large exponentials of variances cancel against small factors: e²ᶜ
    erfc(√(2c)).
    """
    return bool(closed.has(sp.exp)) and any(_is_rough(each) for each in functions)


def _by_pieces(g: sp.Expr) -> Callable[[np.ndarray], np.ndarray]:
    square = pieces_of(g * g)

    @lru_cache(maxsize=256)
    def at(a: float) -> list[float]:
        return [field_mean(square, 2 * n, a) / 2.0**n for n in range(3)]

    def values(a: np.ndarray) -> np.ndarray:
        return np.reshape(np.transpose([at(float(one)) for one in np.ravel(a)]), (3, *np.shape(a)))

    return values


def _summed(g: sp.Expr, h: sp.Expr) -> Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]:
    left, right = pieces_of(g), pieces_of(h)
    orders = [(2 * i + j, 2 * k + j) for i, j, k in (*_ORDERS, *_SECOND)]
    halves = np.array([2.0 ** (i + k) for i, _, k in (*_ORDERS, *_SECOND)])

    @lru_cache(maxsize=256)
    def at(a: float, c: float, b: float) -> np.ndarray:
        # a minimiser asks for value, gradient and Hessian separately
        return np.asarray(pair_means(left, right, a, c, b, orders) / halves)

    def values(a: np.ndarray, c: np.ndarray, b: np.ndarray) -> np.ndarray:
        a, c, b = np.broadcast_arrays(a, c, b)
        given = np.reshape([a, c, b], (3, -1)).T
        # equal units have equal covariances
        different, places = np.unique(given, axis=0, return_inverse=True)
        means = np.array([at(*row) for row in different.tolist()])
        return np.asarray(means[places.ravel()].T.reshape(-1, *a.shape))

    return values
