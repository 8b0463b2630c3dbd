"""SymPy expressions of formula trees. No other module of this room imports SymPy."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any, Final, cast

import sympy as sp

from symderiv.formula.reader import Apply, Name, Node, Number, quoted, to_text
from symderiv.formula.walker import Meaning, constant, value_of
from symderiv.foundation.errors import FormulaError

_OPERATIONS: Final[Mapping[str, Callable[..., Any]]] = {
    "+": sp.Add,
    "*": sp.Mul,
    "**": sp.Pow,
    "negative": lambda a: -a,
    "inverse": lambda a: 1 / a,
}

#: Functions that compare; for them SymPy would expand a product to see whether it is real.
_COMPARING: Final = frozenset({"sign", "Heaviside", "DiracDelta", "Abs", "Max", "Min"})

_UNDEFINED: Final = (sp.zoo, sp.oo, -sp.oo, sp.nan)


def build(
    node: Node, variables: Iterable[str], functions: Mapping[str, Any] = MappingProxyType({})
) -> sp.Expr:
    """Return the SymPy expression of a formula without shorthands, its variables real symbols.

    Args:
        node: The formula.
        variables: The names in it.
        functions: Classes of functions that are not SymPy's.

    Raises:
        FormulaError: The expression is infinite, undefined or not real wherever it is defined.
    """
    try:
        expression = value_of(node, _SymPyExpressions(tuple(variables), functions), {})
        if expression.has(sp.I) or expression.is_extended_real is False:
            raise FormulaError(f"the formula {_shown(node)} is not real")
        if expression.has(*_UNDEFINED):
            raise FormulaError(f"the formula {_shown(node)} is not finite")
    except FormulaError:
        raise
    except (ArithmeticError, ValueError, TypeError, RecursionError, MemoryError) as error:
        # a second safeguard: the bounds should have refused whatever SymPy cannot build
        reason = type(error).__name__
        raise FormulaError(f"SymPy cannot build {_shown(node)} ({reason})") from None
    return cast("sp.Expr", expression)


@dataclass(frozen=True)
class _SymPyExpressions:
    """The domain of SymPy expressions, in which formulas are evaluated."""

    variables: tuple[str, ...]
    functions: Mapping[str, Any]

    def meaning(self, node: Node) -> Meaning:
        """Return the function that makes a node's expression from its arguments, and these."""
        if isinstance(node, Number):
            return constant(sp.Rational(node.value.numerator, node.value.denominator))
        if isinstance(node, Name):
            named = sp.Symbol(node.name, real=True) if node.name in self.variables else None
            return constant(named or getattr(sp, node.name))
        return partial(self._made, node), node.arguments

    def _made(self, node: Apply, *arguments: Any) -> Any:
        if node.operation in _COMPARING and not all(a.is_extended_real for a in arguments):
            raise FormulaError(f"the argument of {_shown(node)} must be visibly real")
        own = _OPERATIONS.get(node.operation) or self.functions.get(node.operation)
        value = (own or getattr(sp, node.operation))(*arguments)
        if value in _UNDEFINED:
            raise FormulaError(f"{_shown(node)} is not finite: it divides by zero")
        if value.is_number and value.is_extended_real is False:
            raise FormulaError(f"{_shown(node)} is not a real number")
        return value


def _shown(node: Node) -> str:
    return quoted(to_text(node))
