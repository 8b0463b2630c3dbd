"""The functions that a formula may call: number of arguments, value in floats, definition.

Nothing here imports SymPy: ``1/sqrt(M)`` in a study file is computed with :mod:`math` alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

__all__ = ["ALIASES", "CONSTANTS", "FUNCTIONS", "Function"]


@dataclass(frozen=True)
class Function:
    """A function of real numbers.

    ``definition`` is a formula in ``x`` for functions that are only a shorthand; such a function
    is replaced by its definition before anything symbolic is built.
    """

    arguments: int
    numeric: Callable[..., float]
    definition: str | None = None


def _sign(x: float) -> float:
    return float((x > 0) - (x < 0))


def _step(x: float) -> float:
    """The step with the value 1/2 at the jump, as in SymPy."""
    return 0.5 * (1.0 + _sign(x))


def _delta(x: float) -> float:
    if x == 0:
        raise ZeroDivisionError
    return 0.0


def _normal_cdf(x: float) -> float:
    # erfc keeps the relative accuracy of the lower tail
    return 0.5 * math.erfc(-x / math.sqrt(2.0))


def _normal_density(x: float) -> float:
    return math.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi)


def _logistic(x: float) -> float:
    # written so that exp never overflows
    return 1.0 / (1.0 + math.exp(-x)) if x >= 0 else math.exp(x) / (1.0 + math.exp(x))


def _softplus(x: float) -> float:
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))


FUNCTIONS: Final = MappingProxyType(
    {
        "exp": Function(1, math.exp),
        "log": Function(1, math.log),
        "sqrt": Function(1, math.sqrt),
        "sin": Function(1, math.sin),
        "cos": Function(1, math.cos),
        "tanh": Function(1, math.tanh),
        "sinh": Function(1, math.sinh),
        "cosh": Function(1, math.cosh),
        "atan": Function(1, math.atan),
        "erf": Function(1, math.erf),
        "erfc": Function(1, math.erfc),
        "sign": Function(1, _sign),
        "Heaviside": Function(1, _step),
        "DiracDelta": Function(1, _delta),
        "Abs": Function(1, abs),
        "Max": Function(2, max),
        "Min": Function(2, min),
        "Phi": Function(1, _normal_cdf, "(1+erf(x/sqrt(2)))/2"),
        "phi": Function(1, _normal_density, "exp(-x**2/2)/sqrt(2*pi)"),
        "relu": Function(1, lambda x: max(x, 0.0), "x*Heaviside(x)"),
        "gelu": Function(1, lambda x: x * _normal_cdf(x), "x/2*(1+erf(x/sqrt(2)))"),
        "sigmoid": Function(1, _logistic, "1/(1+exp(-x))"),
        "silu": Function(1, lambda x: x * _logistic(x), "x/(1+exp(-x))"),
        "softplus": Function(1, _softplus, "log(1+exp(x))"),
    }
)

#: Other spellings that people use, and the name they stand for.
ALIASES: Final = MappingProxyType(
    {
        "abs": "Abs",
        "max": "Max",
        "min": "Min",
        "ln": "log",
        "sgn": "sign",
        "arctan": "atan",
        "logistic": "sigmoid",
        "swish": "silu",
    }
)

CONSTANTS: Final = MappingProxyType({"pi": math.pi, "E": math.e})
