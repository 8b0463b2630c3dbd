"""Activations: a name or a formula in ``x``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from symderiv.formula.bounds import measure
from symderiv.formula.definitions import expanded
from symderiv.formula.known_functions import FUNCTIONS
from symderiv.formula.reader import quoted, read, to_text
from symderiv.foundation.errors import FormulaError, InputError
from symderiv.foundation.named_arguments import public
from symderiv.foundation.nearest import did_you_mean

if TYPE_CHECKING:
    import sympy as sp


def _defined(function: str) -> str:
    definition = FUNCTIONS[function].definition
    assert definition is not None
    return definition


#: The activations with a name, and their formulas in the form in which outputs echo them.
NAMED: Final = MappingProxyType(
    {
        "erf": "erf(x/sqrt(2))",
        "relu": _defined("relu"),
        "leaky_relu": _defined("leaky_relu"),
        "hard_tanh": _defined("hard_tanh"),
        "linear": "x",
        "identity": "x",
        "quadratic": "x**2",
        "cubic": "x**3",
        "sign": "sign(x)",
        "step": "Heaviside(x)",
        "abs": "Abs(x)",
        "sin": "sin(x)",
        "cos": "cos(x)",
        "tanh": "tanh(x)",
        "gelu": _defined("gelu"),
        "sigmoid": _defined("sigmoid"),
        "logistic": _defined("sigmoid"),
        "silu": _defined("silu"),
        "swish": _defined("silu"),
        "softplus": _defined("softplus"),
        "mish": _defined("mish"),
        "elu": _defined("elu"),
        "selu": _defined("selu"),
        "softsign": _defined("softsign"),
        "arctan": "atan(x)",
        "atan": "atan(x)",
    }
)


@dataclass(frozen=True)
class Activation:
    """An activation g(x), usable without SymPy until its expression is asked for.

    Attributes:
        name: A key of :data:`NAMED`, or None if it was given by a formula.
        text: The formula in ``x`` as it was understood, shorthands written out, decimals as
            fractions; :func:`activation` reads it back to the same function.
    """

    name: str | None
    text: str

    @cached_property
    def expression(self) -> sp.Expr:
        """Return the formula in SymPy, in ``Symbol("x", real=True)``.

        Raises:
            FormulaError: The formula is infinite or not real.
        """
        from symderiv.formula import parse_formula

        return parse_formula(self.text, ("x",))

    def __call__(self, value: Any) -> Any:
        """Return g of a number or a SymPy expression, or of each entry of an array of them.

        Raises:
            InputError: The value is none of these.
        """
        import numpy as np
        import sympy as sp

        if isinstance(value, np.ndarray | list | tuple):
            array = np.asarray(value, dtype=object)
            result = np.empty(array.shape, dtype=object)
            for place in np.ndindex(array.shape):
                result[place] = self(array[place])
            return result
        try:
            at = sp.sympify(value, strict=True)  # a text would be evaluated
        except sp.SympifyError:
            at = None
        if not isinstance(at, sp.Expr):
            raise InputError(
                "an activation takes a number, a SymPy expression or an array of these, not "
                + " ".join(repr(value)[:60].split())
            )
        return self.expression.subs(sp.Symbol("x", real=True), at)


@public
def activation(text: str) -> Activation:
    """Return the activation that a user means by a name or by a formula in ``x``.

    ``erf`` alone is the network's erf(x/sqrt(2)); in a formula, ``erf(x)`` is the error function.
    Names may be written in capitals (``ReLU``). A formula that equals a named activation has the
    name None; compare ``expression`` to find out.

    Args:
        text: A name of :data:`NAMED`, or a formula in ``x``.

    Raises:
        FormulaError: Neither a name of :data:`NAMED` nor an acceptable formula.
    """
    if not isinstance(text, str):
        raise FormulaError(f"an activation must be text, not {type(text).__name__}")
    name = text.strip().lower()
    if name in NAMED:
        return Activation(name, NAMED[name])
    if name != "x" and re.fullmatch(r"[a-z_][a-z0-9_]*", name):
        known = ", ".join(NAMED)
        raise FormulaError(
            f"unknown activation {quoted(text.strip())}; write a formula in x, or one of {known}"
            + did_you_mean(name, NAMED)
        )
    tree = expanded(read(text, ("x",)))
    measure(tree, {"x": None})
    return Activation(None, to_text(tree))
