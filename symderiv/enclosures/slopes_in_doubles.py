"""Derivatives of a list of operations at many states at once, in doubles.

Forward differentiation: a number is an array of its values at all states, with its derivatives by
all components of the state.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special

from symderiv.precision.balls.operations import Operations

_DERIVATIVES: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "sqrt": (np.sqrt, lambda x: 0.5 / np.sqrt(x)),
    "asin": (np.arcsin, lambda x: 1.0 / np.sqrt(1.0 - x * x)),
    "acos": (np.arccos, lambda x: -1.0 / np.sqrt(1.0 - x * x)),
    "atan": (np.arctan, lambda x: 1.0 / (1.0 + x * x)),
    "exp": (np.exp, np.exp),
    "sin": (np.sin, np.cos),
    "cos": (np.cos, lambda x: -np.sin(x)),
    "log": (np.log, lambda x: 1.0 / x),
    "erf": (special.erf, lambda x: 2.0 / math.sqrt(math.pi) * np.exp(-x * x)),
}


class _Varied:
    """Values, shape (P,), with their derivatives, shape (n, P)."""

    # makes NumPy leave operations between arrays and this class to the class
    __array_ufunc__ = None

    def __init__(self, value: Any, slope: Any) -> None:
        self.value, self.slope = value, slope

    def __neg__(self) -> _Varied:
        return _Varied(-self.value, -self.slope)

    def __add__(self, other: Any) -> _Varied:
        value, slope = _parts(other)
        return _Varied(self.value + value, self.slope + slope)

    def __sub__(self, other: Any) -> _Varied:
        value, slope = _parts(other)
        return _Varied(self.value - value, self.slope - slope)

    def __mul__(self, other: Any) -> _Varied:
        value, slope = _parts(other)
        return _Varied(self.value * value, self.slope * value + self.value * slope)

    def __truediv__(self, other: Any) -> _Varied:
        value, slope = _parts(other)
        quotient = self.value / value
        return _Varied(quotient, (self.slope - quotient * slope) / value)

    __radd__, __rmul__ = __add__, __mul__

    def __rsub__(self, other: Any) -> _Varied:
        return (-self).__add__(other)

    def __rtruediv__(self, other: Any) -> _Varied:
        quotient = other / self.value
        return _Varied(quotient, -quotient / self.value * self.slope)

    def __getattr__(self, name: str) -> Callable[[], _Varied]:
        function, derivative = _DERIVATIVES[name]
        return lambda: _Varied(function(self.value), derivative(self.value) * self.slope)


def _parts(number: Any) -> tuple[Any, Any]:
    return (number.value, number.slope) if isinstance(number, _Varied) else (number, 0.0)


def slopes_in_doubles(operations: Operations, states: np.ndarray) -> np.ndarray:
    """Return the derivatives of the results by the state, a row for each result.

    Args:
        operations: The list of operations.
        states: The states, shape (P, n).

    Returns:
        Shape (P, results, n); NaN where a derivative is infinite.
    """
    count, size = states.shape
    constants, results = operations.compiled()
    state = [_Varied(states[:, n], np.eye(size)[:, n, None]) for n in range(size)]
    with np.errstate(all="ignore"):
        outputs = results(state, [float(each) for each in constants()])
        columns = [np.broadcast_to(_parts(each)[1], (size, count)) for each in outputs]
    slopes = np.moveaxis(np.array(columns), 2, 0)
    return np.where(np.isfinite(slopes), slopes, np.nan)
