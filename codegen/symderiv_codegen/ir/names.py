"""Descriptive names for temporaries, the same in every run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import sympy as sp

from symderiv_codegen.ir.walk import array_name

LONGEST = 36
WORDS = {0: "zero", 1: "one", 2: "two", 3: "three", 4: "four"}


class NamePool:
    """The register of names of one function; it provides names that are not in use.

    If a name is taken, the suffix ``_2`` is added. All passes take their names from it.
    """

    def __init__(self, in_use: Iterable[str]) -> None:
        self._in_use = set(in_use)

    def __contains__(self, name: str) -> bool:
        return name in self._in_use

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._in_use))

    def take(self, wish: str) -> str:
        """Return ``wish`` or, if it is taken, ``wish_2``, ``wish_3`` and so on."""
        name, count = wish, 1
        while name in self._in_use:
            count += 1
            name = f"{wish}_{count}"
        self._in_use.add(name)
        return name

    def symbol_for(self, expression: sp.Expr) -> sp.Symbol:
        """Return a real symbol named after the expression it stands for."""
        return sp.Symbol(self.take(describe(expression)), real=True)


def describe(expression: sp.Expr) -> str:
    """Return a name that spells the expression, e.g. ``one_plus_c11``, or its kind if that is too
    long.
    """
    spelled = _spell(expression)
    return spelled if spelled and len(spelled) <= LONGEST else _kind(expression)


def _spell(expression: sp.Basic) -> str:
    """Return the expression in words, or an empty string if it has no short spelling."""
    if isinstance(expression, sp.Symbol):
        return str(expression)
    if isinstance(expression, sp.Integer) and int(expression) in WORDS:
        return WORDS[int(expression)]
    if isinstance(expression, sp.Indexed):
        indices = [str(index) for index in expression.indices]
        short = all(index.isalnum() for index in indices)
        return f"{array_name(expression)}_{''.join(indices)}" if short else ""
    if isinstance(expression, sp.Pow):
        base = _spell(expression.base)
        shapes = {
            sp.Integer(2): f"{base}_squared",
            sp.Integer(-1): f"inverse_{base}",
            sp.Rational(1, 2): f"root_{base}",
            sp.Rational(-1, 2): f"inverse_root_{base}",
        }
        return shapes.get(expression.exp, "") if base else ""
    if isinstance(expression, sp.Add) and len(expression.args) == 2:
        # Numbers first: "one_plus_c11" reads better than "c11_plus_one".
        first, second = sorted(expression.as_ordered_terms(), key=lambda term: not term.is_number)
        if second.could_extract_minus_sign():
            return _joined((first, -second), "_minus_")
        return _joined((first, second), "_plus_")
    if isinstance(expression, sp.Mul) and len(expression.args) <= 3:
        return _joined(expression.as_ordered_factors(), "_")
    if isinstance(expression, sp.Function) and len(expression.args) <= 2:
        return _joined((sp.Symbol(expression.func.__name__.lower()), *expression.args), "_")
    return ""


def _joined(parts: Iterable[sp.Basic], glue: str) -> str:
    spelled = [_spell(part) for part in parts]
    return glue.join(spelled) if all(spelled) else ""


def _kind(expression: sp.Expr) -> str:
    if isinstance(expression, sp.Indexed):
        return f"{array_name(expression)}_element"
    if isinstance(expression, sp.Add):
        return "total"
    if isinstance(expression, sp.Mul):
        return "quotient" if sp.denom(expression) != 1 else "product"
    if isinstance(expression, sp.Pow):
        if expression.exp == sp.Rational(1, 2):
            return "root"
        if expression.exp == sp.Rational(-1, 2):
            return "inverse_root"
        return "inverse" if expression.exp == -1 else "power"
    return f"{expression.func.__name__.lower()}_value"
