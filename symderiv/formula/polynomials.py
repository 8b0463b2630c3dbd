"""Expressions as polynomials of some symbols, with coefficients left as they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce

import sympy as sp

Monomial = tuple[int, ...]


def coefficients(
    expression: sp.Expr, symbols: Sequence[sp.Symbol]
) -> dict[Monomial, sp.Expr] | None:
    """Return the coefficients by powers of the symbols, or None if it is not a polynomial of them.

    Only factors that contain the symbols are multiplied out.
    """
    names: dict[sp.Expr, sp.Symbol] = {}
    by_powers = _read(expression, tuple(symbols), names)
    if by_powers is None:
        return None
    meaning = {name: value for value, name in names.items()}
    written = {powers: _written(value, meaning) for powers, value in by_powers.items()}
    return {powers: value for powers, value in written.items() if value != 0}


def _written(value: sp.Expr, meaning: Mapping[sp.Symbol, sp.Expr]) -> sp.Expr:
    """Return a coefficient with the names of sums replaced by the sums."""
    while value.free_symbols & meaning.keys():
        value = value.xreplace(dict(meaning))
    return value


def _read(
    expression: sp.Expr, symbols: tuple[sp.Symbol, ...], names: dict[sp.Expr, sp.Symbol]
) -> dict[Monomial, sp.Expr] | None:
    if not expression.free_symbols & set(symbols):
        return {(0,) * len(symbols): expression}
    if expression in symbols:
        return {tuple(int(s == expression) for s in symbols): sp.S.One}
    if expression.is_Pow and expression.exp.is_Integer and expression.exp > 0:
        parts = [_read(expression.base, symbols, names)] * int(expression.exp)
    elif isinstance(expression, sp.Add | sp.Mul):
        parts = [_read(each, symbols, names) for each in expression.args]
    else:
        return None
    if any(part is None for part in parts):
        return None
    known = [part for part in parts if part is not None]
    if isinstance(expression, sp.Add):
        return reduce(_sum, known)
    return reduce(lambda one, other: _product(one, other, names), known)


def _sum(one: dict[Monomial, sp.Expr], other: dict[Monomial, sp.Expr]) -> dict[Monomial, sp.Expr]:
    total = dict(one)
    for powers, value in other.items():
        total[powers] = total.get(powers, sp.S.Zero) + value
    return total


def _product(
    one: dict[Monomial, sp.Expr], other: dict[Monomial, sp.Expr], names: dict[sp.Expr, sp.Symbol]
) -> dict[Monomial, sp.Expr]:
    """Return a product; sums among the coefficients get names, so that they stay factored."""
    total: dict[Monomial, sp.Expr] = {}
    for first, value in one.items():
        for second, factor in other.items():
            powers = tuple(m + n for m, n in zip(first, second, strict=True))
            term = _named(value, names) * _named(factor, names)
            total[powers] = total.get(powers, sp.S.Zero) + term
    return total


def _named(value: sp.Expr, names: dict[sp.Expr, sp.Symbol]) -> sp.Expr:
    if not isinstance(value, sp.Add):
        return value
    return names.setdefault(value, sp.Symbol(f"coefficient__{len(names)}", real=True))
