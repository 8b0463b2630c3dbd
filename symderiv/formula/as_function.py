"""Expressions as functions of numbers: SymPy's ``lambdify`` with functions that it lacks."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

if TYPE_CHECKING:
    import sympy as sp

Numbers = Literal["arrays", "mpmath", "floats", "any"]


def _owens_t(h: Any, a: Any) -> Any:
    # SciPy's functions take a quarter of a second to import, and few expressions have this one
    from scipy.special import owens_t

    return owens_t(h, a)


def _softplus(x: Any) -> Any:
    import mpmath

    return mpmath.log1p(mpmath.exp(x))


#: NumPy's versions of functions by name; at jumps the value is the mean of both sides.
_ARRAYS: Final[Mapping[str, Callable[..., Any]]] = {
    "Heaviside": lambda x, at_zero=0.5: np.heaviside(x, 0.5),
    "SoftPlus": lambda x: np.logaddexp(0.0, x),
    "OwenT": _owens_t,
}
_MPMATH: Final[Mapping[str, Callable[..., Any]]] = {"SoftPlus": _softplus}
_NONE: Final[Mapping[str, Callable[..., Any]]] = MappingProxyType({})


#: Functions that NumPy itself has; SymPy's printer for SciPy writes them in the same way.
_OF_NUMPY: Final = frozenset(
    (
        *("exp", "log", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh"),
        *("asinh", "acosh", "atanh", "Abs", "sign", "Max", "Min", "Piecewise"),
    )
)


def _is_elementary(expressions: Any, given: AbstractSet[str]) -> bool:
    """Return whether all functions are in NumPy or given, so that SciPy need not be imported."""
    import sympy as sp

    each = [expressions] if isinstance(expressions, sp.Basic) else expressions
    if not all(isinstance(one, sp.Basic) for one in each):
        return False
    named = {type(call).__name__ for one in each for call in one.atoms(sp.Function, sp.Max, sp.Min)}
    return named <= _OF_NUMPY | given


def bounded(expression: sp.Expr) -> sp.Expr:
    """Return an expression rewritten so that cosh does not overflow, under sinh or in a logarithm.

    Quadratures reach so far that arguments are thousands, with weights of 1e-18.
    """
    import sympy as sp

    def logarithm(cosh: sp.Expr) -> sp.Expr:
        (u,) = cosh.args
        # log(1 + exp(-40)) is below rounding
        far = sp.Abs(u) - sp.log(2)
        return sp.Piecewise((far, sp.Gt(sp.Abs(u), 20)), (sp.log(cosh), True))

    turned = expression.replace(sp.sinh, lambda u: sp.tanh(u) * sp.cosh(u))
    stable = {e: logarithm(e.args[0]) for e in turned.atoms(sp.log) if e.args[0].func is sp.cosh}
    return turned.xreplace(stable)


def as_function(
    symbols: Any, expressions: Any, numbers: Numbers = "arrays", further: Mapping[str, Any] = _NONE
) -> Callable[..., Any]:
    """Return expressions as one function of the values of symbols.

    Args:
        symbols: A symbol, or several.
        expressions: One, or a list or tuple.
        numbers: The kind of values: NumPy arrays, mpmath numbers, floats, or "any" objects with
            arithmetic operators, for expressions without functions.
        further: Functions by name.
    """
    import sympy as sp

    tables: dict[str, tuple[Mapping[str, Callable[..., Any]], list[Any]]] = {
        "arrays": (_ARRAYS, [np]),  # "numpy" as text would import all of its packages
        "mpmath": (_MPMATH, ["mpmath"]),
        "floats": (_NONE, ["math"]),
        "any": (_NONE, []),
    }
    table, libraries = tables[numbers]
    if numbers == "arrays" and not _is_elementary(expressions, {*table, *further}):
        libraries = ["scipy", "numpy"]
    if numbers == "arrays" and isinstance(expressions, list | sp.Basic):
        alone = isinstance(expressions, sp.Basic)
        turned = [bounded(sp.sympify(each)) for each in ([expressions] if alone else expressions)]
        expressions = turned[0] if alone else turned
    function: Callable[..., Any] = sp.lambdify(
        symbols, expressions, [{**table, **further}, *libraries], cse=True
    )
    return function


def function_text(function: Callable[..., Any]) -> str:
    """Return the source of a function of :func:`as_function`, for storage."""
    return inspect.getsource(function)


def function_written(text: str, further: Mapping[str, Any] = _NONE) -> Callable[..., Any]:
    """Return the function of floats from the text of :func:`function_text`."""
    names = {**vars(math), **further}
    exec(text, names)
    function: Callable[..., Any] = names["_lambdifygenerated"]
    return function
