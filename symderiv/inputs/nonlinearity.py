"""Gaussian means of a nonlinearity f of u ~ N(0, 1): E f, E u f, E f²."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from symderiv.foundation.errors import InputError, NotYetError

#: Bound on normal numbers: beyond it their density is below 1e-320.
_FAR = 38.0
#: Largest accepted relative error of a coefficient without a closed form.
_ACCURACY = 1e-11


@dataclass(frozen=True)
class Nonlinearity:
    """A function and its Gaussian coefficients.

    Args:
        text: The formula in ``x``.
        a, b, c: E f(u), E u f(u), E f(u)² for u ~ N(0, 1); doubles, accurate to 1e-11.
        closed_forms: The three in closed form, as text; empty where there is none.
        function: f on arrays.
    """

    text: str
    a: float
    b: float
    c: float
    closed_forms: tuple[str, ...]
    function: Callable[[np.ndarray], np.ndarray]

    @property
    def rest(self) -> float:
        """c - a² - b², the variance that is not linear in u; never negative."""
        # rounding must not be taken for a variance
        rest = self.c - self.a**2 - self.b**2
        return rest if rest > 1e-13 * self.c else 0.0


@lru_cache(maxsize=32)
def nonlinearity(text: str) -> Nonlinearity:
    """Return the coefficients of a named or written-out function, closed forms where they exist.

    Args:
        text: A name (``sign``, ``erf``, ``relu``, …) or a formula in ``x``, as an activation.

    Raises:
        InputError: The formula is not acceptable, or f is constant or not square integrable.
    """
    from symderiv.formula import activation

    try:
        f = activation(text)
        expression = f.expression
        values, closed = _coefficients(expression)
    except InputError as error:
        raise error.renamed("nonlinearity") from None
    a, b, c = values
    if not c - a * a > 1e-13 * c:
        raise InputError(
            f"{text} is constant, so the inputs would be constant too; give a "
            "function that depends on x",
            argument="nonlinearity",
        )
    return Nonlinearity(f.text, a, b, c, closed, _function(expression))


def _coefficients(f: Any) -> tuple[tuple[float, float, float], tuple[str, ...]]:
    import sympy as sp

    from symderiv.gaussian import expectation

    x = sp.Symbol("x", real=True)
    try:
        means = [expectation(g, [x], sp.eye(1)).value for g in (f, x * f, f**2)]
    except NotYetError:
        return _integrated(f), ()
    a, b, c = (float(sp.N(value, 20)) for value in means)
    return (a, b, c), tuple(str(value) for value in means)


def _integrated(f: Any) -> tuple[float, float, float]:
    """Return E f, E u f and E f² by quadrature between the kinks."""
    import sympy as sp
    from scipy.integrate import quad

    from symderiv.lowering.means.numeric_activation import NumericActivation

    numeric = NumericActivation(f, str(f))
    function = _function(f)
    places = [-_FAR, *(p for p in numeric.kinks if -_FAR < p < _FAR), 0.0, _FAR]
    values = []
    for power, factor in ((1, 0), (1, 1), (2, 0)):

        def integrand(u: float, power: int = power, factor: int = factor) -> float:
            density = np.exp(-0.5 * u * u) / np.sqrt(2.0 * np.pi)
            return float(density * function(np.array([u]))[0] ** power * u**factor)

        total, error = 0.0, 0.0
        ends = sorted(set(places))
        for low, high in itertools.pairwise(ends):
            pieces = np.linspace(low, high, 9)
            for left, right in itertools.pairwise(pieces):
                value, wrong = quad(integrand, left, right, epsabs=1e-16, epsrel=1e-13, limit=200)
                total += value
                error += wrong
        if not error <= _ACCURACY * max(abs(total), 1e-3):
            raise InputError(
                f"the Gaussian means of {sp.sstr(f)} are known only to within {error:.1g}"
            )
        values.append(total)
    return values[0], values[1], values[2]


def _function(f: Any) -> Callable[[np.ndarray], np.ndarray]:
    """Return f as a function on arrays."""
    from symderiv.lowering.means.numeric_activation import NumericActivation

    return on_arrays(NumericActivation(f, str(f)).derivative(0))


def on_arrays(stable: Any) -> Callable[[np.ndarray], np.ndarray]:
    """Return a function of ``x`` on arrays of doubles.

    Args:
        stable: The stable form of ``NumericActivation``; its text has passed the allow-list before.
    """
    import sympy as sp

    from symderiv.formula.as_function import as_function

    made = as_function(sp.Symbol("x", real=True), stable)

    def of_arrays(u: np.ndarray) -> np.ndarray:
        values = np.asarray(made(u), dtype=np.float64)
        return values if values.shape == u.shape else np.broadcast_to(values, u.shape)

    return of_arrays
