"""The activations of the campaign, each with a second implementation written by hand in NumPy.

``text`` is what the engine reads; ``value`` and ``slope`` are g and g' as a person would program
them. Nothing here comes from the engine.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import erf, expit, ndtr

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
    kinked: bool
    growing: bool


def _no_slope(x: Array) -> Array:
    raise AssertionError("the slope of a function with a jump was asked for")


_NUMPY = ("exp", "expm1", "sqrt", "sin", "cos", "tanh", "sign", "arctan", "where")
_NAMES = {name: getattr(np, name) for name in _NUMPY}
_NAMES |= {"erf": erf, "expit": expit, "Phi": ndtr, "softplus": lambda x: np.logaddexp(0, x)}
_NAMES |= {"max": np.maximum, "min": np.minimum, "no_slope": _no_slope}
_NAMES |= {"gauss": lambda x: np.exp(-0.5 * x * x) / np.sqrt(2 * np.pi)}

#: Name, kind, text, g, g', and whether it is smooth, kinked or growing.
_TABLE = """\
erf | closed | erf | erf(x/sqrt(2)) | 2*gauss(x) | smooth
linear | closed | linear | x | 1 + 0*x | smooth
relu | closed | relu | max(x, 0) | 1.0*(x > 0) | kinked
quadratic | closed | quadratic | x*x | 2*x | growing
sin | oscillating | sin | sin(x) | cos(x) | smooth
cos2 | oscillating | cos(2*x) | cos(2*x) | -2*sin(2*x) | smooth
bump | closed | x*exp(-x**2) | x*exp(-x*x) | (1 - 2*x*x)*exp(-x*x) | smooth
gauss | exponential | exp(-x**2) | exp(-x*x) | -2*x*exp(-x*x) | smooth
exp4 | exponential | exp(x/4) | exp(x/4) | exp(x/4)/4 | growing
cubic | polynomial | x**3/6+x/2 | x**3/6 + x/2 | (x*x + 1)/2 | growing
leaky | closed | Max(x,x/10) | where(x > 0, x, 0.1*x) | where(x > 0, 1.0, 0.1) | kinked
abs | closed | abs | abs(x) | sign(x) | kinked
tanh | mixture | tanh | tanh(x) | 1 - tanh(x)**2 | smooth
logistic | mixture | logistic | expit(x) | expit(x)*expit(-x) | smooth
gelu | four signs | gelu | x*Phi(x) | Phi(x) + x*gauss(x) | smooth
softplus | quadrature | softplus | softplus(x) | expit(x) | smooth
silu | quadrature | silu | x*expit(x) | expit(x)*(1 + x*expit(-x)) | smooth
softsign | quadrature | x/(1+Abs(x)) | x/(1 + abs(x)) | 1/(1 + abs(x))**2 | kinked
arctan | quadrature | atan(x) | arctan(x) | 1/(1 + x*x) | smooth
elu | quadrature | Max(x,0)+exp(Min(x,0))-1 | max(x, expm1(min(x, 0))) | exp(min(x, 0)) | kinked
sign | sign | sign | sign(x) | no_slope(x) | kinked
step | sign | Heaviside(x) | 1.0*(x > 0) | no_slope(x) | kinked
"""


def _read(row: str) -> Activation:
    name, kind, text, *functions, shape = row.split(" | ")
    value, slope = (eval(f"lambda x: {each}", dict(_NAMES)) for each in functions)
    return Activation(name, kind, text, value, slope, shape == "kinked", shape == "growing")


ACTIVATIONS = {each.name: each for each in map(_read, _TABLE.splitlines())}

STUDENTS = (
    *("erf", "linear", "relu", "quadratic", "sin", "bump", "cubic", "leaky", "abs", "exp4"),
    *("tanh", "logistic", "gelu", "softplus", "softsign", "elu", "sign"),
)
TEACHERS = (
    *("erf", "linear", "relu", "quadratic", "sin", "cos2", "cubic", "gauss", "abs"),
    *("tanh", "logistic", "gelu", "silu", "softsign", "arctan", "sign", "step"),
)

PAIRS = [(student, teacher) for student in STUDENTS for teacher in TEACHERS]
