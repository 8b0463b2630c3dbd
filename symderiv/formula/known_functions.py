"""The functions of expressions: what each is in every arithmetic, and how it is written.

Nothing here imports SymPy: ``1/sqrt(M)`` in a study file is computed with :mod:`math` alone. What
SymPy knows of a function by its name (derivatives, LaTeX, arrays) is not repeated here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final


@dataclass(frozen=True)
class Function:
    """A function of real numbers, by SymPy's name.

    Attributes:
        arguments: The number of arguments.
        numeric: The function of floats.
        definition: A formula in ``x`` for functions that are only a shorthand; such a function is
            replaced by its definition before anything symbolic is built.
        read: Whether formulas of users may call it.
        spelled: Other spellings that people use.
        latex: The words by which LaTeX calls it.
        ball: The name of the method of real and complex balls that computes it.
        cut: Whether it has a branch cut, or is otherwise finite where it is not analytic.
    """

    arguments: int
    numeric: Callable[..., float]
    definition: str | None = None
    read: bool = True
    spelled: tuple[str, ...] = ()
    latex: tuple[str, ...] = ()
    ball: str = ""
    cut: bool = False


def _sign(x: float) -> float:
    return float((x > 0) - (x < 0))


def _step(x: float) -> float:
    """Return the step with the value 1/2 at the jump, as in SymPy."""
    return 0.5 * (1.0 + _sign(x))


def _delta(x: float) -> float:
    if x == 0:
        raise ZeroDivisionError
    return 0.0


def _erfi(x: float) -> float:
    from scipy.special import erfi

    return float(erfi(x))


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


def _mish(x: float) -> float:
    return x * math.tanh(_softplus(x))


def _elu(x: float) -> float:
    return x if x >= 0 else math.expm1(x)


def _selu(x: float) -> float:
    return 1.0507009873554805 * (x if x >= 0 else 1.6732632423543772 * math.expm1(x))


# λ and α of Klambauer, Unterthiner, Mayr and Hochreiter (2017), at which SELU of a standard normal
# has mean 0 and variance 1; as fractions that are right to the digits of a double
_SELU_SCALE, _SELU_SLOPE = "2101401974710961/2000000000000000", "4183158105885943/2500000000000000"

KNOWN: Final = MappingProxyType(
    {
        "exp": Function(1, math.exp, latex=("exp",), ball="exp"),
        "log": Function(1, math.log, spelled=("ln",), latex=("log", "ln"), ball="log", cut=True),
        "sqrt": Function(1, math.sqrt, ball="sqrt", cut=True),
        "sin": Function(1, math.sin, latex=("sin",), ball="sin"),
        "cos": Function(1, math.cos, latex=("cos",), ball="cos"),
        "tanh": Function(1, math.tanh, latex=("tanh",), ball="tanh"),
        "sinh": Function(1, math.sinh, latex=("sinh",), ball="sinh"),
        "cosh": Function(1, math.cosh, latex=("cosh",), ball="cosh"),
        "atan": Function(
            1, math.atan, spelled=("arctan",), latex=("atan", "arctan"), ball="atan", cut=True
        ),
        "erf": Function(1, math.erf, latex=("erf",), ball="erf"),
        "erfc": Function(1, math.erfc, latex=("erfc",), ball="erfc"),
        "sign": Function(1, _sign, spelled=("sgn",), latex=("sign", "sgn"), ball="sgn", cut=True),
        "Heaviside": Function(1, _step, latex=("Heaviside",)),
        "DiracDelta": Function(1, _delta),
        "Abs": Function(1, abs, spelled=("abs",)),
        "Max": Function(2, max, spelled=("max",)),
        "Min": Function(2, min, spelled=("min",)),
        "Phi": Function(1, _normal_cdf, "(1+erf(x/sqrt(2)))/2", latex=("Phi",)),
        "phi": Function(1, _normal_density, "exp(-x**2/2)/sqrt(2*pi)"),
        "relu": Function(1, lambda x: max(x, 0.0), "x*Heaviside(x)"),
        "leaky_relu": Function(1, lambda x: max(x, 0.01 * x), "x*Heaviside(x)+x/100*Heaviside(-x)"),
        "hard_tanh": Function(
            1, lambda x: min(max(x, -1.0), 1.0), "Max(-1,Min(1,x))", spelled=("hardtanh",)
        ),
        "gelu": Function(1, lambda x: x * _normal_cdf(x), "x/2*(1+erf(x/sqrt(2)))"),
        "sigmoid": Function(1, _logistic, "1/(1+exp(-x))", spelled=("logistic",)),
        "silu": Function(1, lambda x: x * _logistic(x), "x/(1+exp(-x))", spelled=("swish",)),
        "softplus": Function(1, _softplus, "log(1+exp(x))"),
        "mish": Function(1, _mish, "x*tanh(log(1+exp(x)))"),
        "softsign": Function(1, lambda x: x / (1.0 + abs(x)), "x/(1+Abs(x))"),
        "elu": Function(1, _elu, "x*Heaviside(x)+(exp(x)-1)*Heaviside(-x)"),
        "selu": Function(
            1,
            _selu,
            f"{_SELU_SCALE}*(x*Heaviside(x)+{_SELU_SLOPE}*(exp(x)-1)*Heaviside(-x))",
        ),
        # functions of closed forms and of claims, which formulas of users may not call
        "asin": Function(1, math.asin, read=False, latex=("asin", "arcsin"), ball="asin", cut=True),
        "acos": Function(1, math.acos, read=False, latex=("acos", "arccos"), ball="acos", cut=True),
        "erfi": Function(1, _erfi, read=False, ball="erfi"),
        "tan": Function(1, math.tan, read=False, ball="tan"),
        "asinh": Function(1, math.asinh, read=False, ball="asinh", cut=True),
        "acosh": Function(1, math.acosh, read=False, ball="acosh", cut=True),
        "atanh": Function(1, math.atanh, read=False, ball="atanh", cut=True),
        "gamma": Function(1, math.gamma, read=False, ball="gamma"),
    }
)

#: The functions that formulas of users may call.
FUNCTIONS: Final = MappingProxyType({name: each for name, each in KNOWN.items() if each.read})

#: Other spellings that people use, and the name they stand for.
ALIASES: Final = MappingProxyType(
    {word: name for name, function in FUNCTIONS.items() for word in function.spelled}
)

#: Words of LaTeX, and the functions they stand for.
IN_LATEX: Final = MappingProxyType(
    {word: name for name, function in KNOWN.items() for word in function.latex}
)

CONSTANTS: Final = MappingProxyType({"pi": math.pi, "E": math.e})
