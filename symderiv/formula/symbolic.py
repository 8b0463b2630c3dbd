"""From the tree of a formula to SymPy. The only module of the room that imports SymPy."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import MappingProxyType
from typing import Any, Final

import sympy as sp

from symderiv.formula.reader import Name, Node, Number, quoted, to_text
from symderiv.foundation.errors import FormulaError

__all__ = ["build"]

_FUNCTIONS: Final[MappingProxyType[str, Callable[..., Any]]] = MappingProxyType(
    {
        "+": sp.Add,
        "*": sp.Mul,
        "**": sp.Pow,
        "negative": lambda a: -a,
        "inverse": lambda a: 1 / a,
        "exp": sp.exp,
        "log": sp.log,
        "sqrt": sp.sqrt,
        "sin": sp.sin,
        "cos": sp.cos,
        "tanh": sp.tanh,
        "sinh": sp.sinh,
        "cosh": sp.cosh,
        "atan": sp.atan,
        "erf": sp.erf,
        "erfc": sp.erfc,
        "sign": sp.sign,
        "Heaviside": sp.Heaviside,
        "DiracDelta": sp.DiracDelta,
        "Abs": sp.Abs,
        "Max": sp.Max,
        "Min": sp.Min,
    }
)

#: Functions that compare: SymPy would expand a product to find out whether the argument is real.
_COMPARING: Final = frozenset({"sign", "Heaviside", "DiracDelta", "Abs", "Max", "Min"})

_UNDEFINED: Final = (sp.zoo, sp.oo, -sp.oo, sp.nan)


def build(node: Node, variables: Iterable[str]) -> sp.Expr:
    """The SymPy expression of a formula without shorthands, its variables real symbols.

    Raises:
        FormulaError: The expression is infinite, undefined or not real wherever it is defined.
    """
    symbols = {name: sp.Symbol(name, real=True) for name in variables}
    constants = {"pi": sp.pi, "E": sp.E}

    def built(node: Node) -> Any:
        if isinstance(node, Number):
            return sp.Rational(node.value.numerator, node.value.denominator)
        if isinstance(node, Name):
            return symbols[node.name] if node.name in symbols else constants[node.name]
        arguments = [built(argument) for argument in node.arguments]
        if node.operation in _COMPARING and not all(a.is_extended_real for a in arguments):
            raise FormulaError(f"the argument of {_shown(node)} must be visibly real")
        value = _FUNCTIONS[node.operation](*arguments)
        if value in _UNDEFINED:
            raise FormulaError(f"{_shown(node)} is not finite: it divides by zero")
        if value.is_number and value.is_extended_real is False:
            raise FormulaError(f"{_shown(node)} is not a real number")
        return value

    try:
        expression = built(node)
        if expression.has(sp.I) or expression.is_extended_real is False:
            raise FormulaError(f"the formula {_shown(node)} is not real")
        if expression.has(*_UNDEFINED):
            raise FormulaError(f"the formula {_shown(node)} is not finite")
    except FormulaError:
        raise
    except (ArithmeticError, ValueError, TypeError, RecursionError, MemoryError) as error:
        # a belt: the bounds should have refused whatever SymPy cannot build
        reason = type(error).__name__
        raise FormulaError(f"SymPy cannot build {_shown(node)} ({reason})") from None
    return expression


def _shown(node: Node) -> str:
    return quoted(to_text(node))
