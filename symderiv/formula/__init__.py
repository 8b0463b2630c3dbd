"""Formulas from users: read over the syntax tree with an allow-list, never evaluated as Python.

A formula is a line of ASCII with numbers, the given variables, ``pi``, ``E``, ``+ - * / **``,
brackets and calls of the functions in :mod:`symderiv.formula.known_functions`. Decimals are
exact: ``0.1`` is 1/10. Length, nesting, digits, exponents and the size of everything that SymPy
would compute on its own are bounded (:mod:`symderiv.formula.bounds`), so that any text is read
or refused within a fraction of a second. Every refusal is a
:class:`~symderiv.foundation.errors.FormulaError` whose message is one line.

Importing this package does not import SymPy; building an expression does.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from symderiv.formula.activations import NAMED, Activation, activation
from symderiv.formula.bounds import measure
from symderiv.formula.definitions import expanded
from symderiv.formula.reader import quoted, read
from symderiv.foundation.errors import FormulaError

if TYPE_CHECKING:
    import sympy as sp

    X: sp.Symbol

__all__ = [
    "NAMED",
    "Activation",
    "activation",
    "evaluate_scalar",
    "parse_formula",
    "parse_number",
    "parse_rational",
]


def parse_formula(text: str, variables: Iterable[str]) -> sp.Expr:
    """Return the SymPy expression that a formula means, exact, in ``Symbol(name, real=True)``.

    Shorthands are written out (``Phi`` through erf, ``phi`` through exp, ``relu`` through
    Heaviside, ...); products and powers of sums are not expanded.

    Args:
        text: The formula, at most 2000 characters.
        variables: The names that may occur beside ``pi`` and ``E``.

    Raises:
        FormulaError: The text is not an acceptable formula; one line that names the reason.
    """
    variables = tuple(variables)
    tree = expanded(read(text, variables))
    measure(tree, dict.fromkeys(variables))

    from symderiv.formula.symbolic import build

    return build(tree, variables)


def parse_number(text: str) -> sp.Expr:
    """Return the exact number that a text means: ``"0.11"`` is 11/100, ``"sqrt(2)/2"`` stays exact.

    Raises:
        FormulaError: The text is not a finite real number.
    """
    return parse_formula(text, ())


def parse_rational(text: str) -> Fraction | None:
    """Return the rational that a text means, or None if it means another number.

    SymPy is imported only for texts with functions or roots.

    Raises:
        FormulaError: The text is not a finite real number.
    """
    value = measure(expanded(read(text, ())), {}).value
    if isinstance(value, Fraction):
        return value
    number = parse_number(text)
    return Fraction(int(number.p), int(number.q)) if number.is_Rational else None


def evaluate_scalar(text: str, names: Mapping[str, float]) -> float:
    """Return the value of a formula such as ``"1/sqrt(M)"`` in double precision, without SymPy.

    Args:
        text: The formula, at most 2000 characters.
        names: The values of the names that may occur, finite; integers are used exactly.

    Returns:
        A finite number. Rational arithmetic is exact and rounded once at the end; functions and
        irrational powers are those of :mod:`math`.

    Raises:
        FormulaError: The text is not an acceptable formula or its value is not a finite real
            number.
    """
    values: dict[str, Fraction | float | None] = {}
    for name, value in names.items():
        if not math.isfinite(value):
            raise FormulaError(f"{name} = {value} is not a finite number")
        values[name] = Fraction(value) if isinstance(value, int) else float(value)
    result = measure(read(text, tuple(values)), values).value
    assert result is not None  # every name has a value
    try:
        return float(result)
    except OverflowError:
        raise FormulaError(f"the value of {quoted(text)} is too large") from None


def __getattr__(name: str) -> Any:
    if name == "X":
        # the symbol of all activations, made on first use so that SymPy is not imported before
        import sympy

        return sympy.Symbol("x", real=True)
    raise AttributeError(f"module 'symderiv.formula' has no attribute {name!r}")
