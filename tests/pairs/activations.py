"""The activations of the campaign, each with a second implementation written by hand in NumPy.

``text`` is what the engine reads; ``value`` and ``slope`` are g and g' as a person would program
them. Nothing here comes from the engine.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import erf as error_function
from scipy.special import expit, ndtr

Array = NDArray[np.float64]
Function = Callable[[Array], Array]


@dataclass(frozen=True)
class Activation:
    """One activation.

    Attributes:
        name: In tables.
        kind: Which route of the engine it exercises as a student.
        text: For the engine.
        value, slope: g and g'; the slope of a function with a jump is never used.
        kinked: Whether g or g' is not smooth at 0, the only place where any of these is not.
        growing: Whether it grows faster than linearly; its noise term then has heavy tails.
    """

    name: str
    kind: str
    text: str
    value: Function
    slope: Function
    kinked: bool = False
    growing: bool = False


def _gauss(x: Array) -> Array:
    return np.exp(-0.5 * x * x) / np.sqrt(2 * np.pi)


def _no_slope(x: Array) -> Array:
    raise AssertionError("the slope of a function with a jump was asked for")


def _step(x: Array) -> Array:
    return np.where(x > 0, 1.0, 0.0)


_ALL = (
    Activation(
        "erf",
        "closed",
        "erf",
        lambda x: error_function(x / np.sqrt(2)),
        lambda x: 2 * _gauss(x),
    ),
    Activation("linear", "closed", "linear", lambda x: x, np.ones_like),
    Activation("relu", "closed", "relu", lambda x: np.maximum(x, 0), _step, kinked=True),
    Activation("quadratic", "closed", "quadratic", np.square, lambda x: 2 * x, growing=True),
    Activation("sin", "oscillating", "sin", np.sin, np.cos),
    Activation(
        "cos2", "oscillating", "cos(2*x)", lambda x: np.cos(2 * x), lambda x: -2 * np.sin(2 * x)
    ),
    Activation(
        "bump",
        "closed",
        "x*exp(-x**2)",
        lambda x: x * np.exp(-x * x),
        lambda x: (1 - 2 * x * x) * np.exp(-x * x),
    ),
    Activation(
        "gauss",
        "exponential",
        "exp(-x**2)",
        lambda x: np.exp(-x * x),
        lambda x: -2 * x * np.exp(-x * x),
    ),
    Activation(
        "exp4",
        "exponential",
        "exp(x/4)",
        lambda x: np.exp(x / 4),
        lambda x: np.exp(x / 4) / 4,
        growing=True,
    ),
    Activation(
        "cubic",
        "polynomial",
        "x**3/6+x/2",
        lambda x: x**3 / 6 + x / 2,
        lambda x: (x * x + 1) / 2,
        growing=True,
    ),
    Activation(
        "leaky",
        "closed",
        "Max(x,x/10)",
        lambda x: np.where(x > 0, x, 0.1 * x),
        lambda x: np.where(x > 0, 1.0, 0.1),
        kinked=True,
    ),
    Activation("abs", "closed", "abs", np.abs, np.sign, kinked=True),
    Activation("tanh", "mixture", "tanh", np.tanh, lambda x: 1 - np.tanh(x) ** 2),
    Activation("logistic", "mixture", "logistic", expit, lambda x: expit(x) * expit(-x)),
    Activation(
        "gelu", "four signs", "gelu", lambda x: x * ndtr(x), lambda x: ndtr(x) + x * _gauss(x)
    ),
    Activation("softplus", "quadrature", "softplus", lambda x: np.logaddexp(0, x), expit),
    Activation(
        "silu",
        "quadrature",
        "silu",
        lambda x: x * expit(x),
        lambda x: expit(x) * (1 + x * expit(-x)),
    ),
    Activation(
        "softsign",
        "quadrature",
        "x/(1+Abs(x))",
        lambda x: x / (1 + np.abs(x)),
        lambda x: 1 / (1 + np.abs(x)) ** 2,
        kinked=True,
    ),
    Activation("arctan", "quadrature", "atan(x)", np.arctan, lambda x: 1 / (1 + x * x)),
    Activation(
        "elu",
        "quadrature",
        "Max(x,0)+exp(Min(x,0))-1",
        lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))),
        lambda x: np.exp(np.minimum(x, 0)),
        kinked=True,
    ),
    Activation("sign", "sign", "sign", np.sign, _no_slope, kinked=True),
    Activation("step", "sign", "Heaviside(x)", _step, _no_slope, kinked=True),
)

ACTIVATIONS = {each.name: each for each in _ALL}

STUDENTS = (
    *("erf", "linear", "relu", "quadratic", "sin", "bump", "cubic", "leaky", "abs", "exp4"),
    *("tanh", "logistic", "gelu", "softplus", "softsign", "elu", "sign"),
)
TEACHERS = (
    *("erf", "linear", "relu", "quadratic", "sin", "cos2", "cubic", "gauss", "abs"),
    *("tanh", "logistic", "gelu", "silu", "softsign", "arctan", "sign", "step"),
)

PAIRS = [(student, teacher) for student in STUDENTS for teacher in TEACHERS]
