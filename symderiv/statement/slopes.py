"""Derivatives of expressions in fields, as distributions where they have kinks or jumps."""

from __future__ import annotations

from collections.abc import Iterator

import sympy as sp

ROUGH = (sp.Heaviside, sp.sign, sp.Abs, sp.Max, sp.Min)
"""Functions with kinks and jumps."""


def gaps_of(rough: sp.Expr) -> list[sp.Expr]:
    """Return the expressions at whose zeros one of these functions is not smooth."""
    if isinstance(rough, sp.Max | sp.Min):
        return [a - b for n, a in enumerate(rough.args) for b in rough.args[:n]]
    return [rough.args[0]]


def slope(expression: sp.Expr, symbol: sp.Symbol) -> sp.Expr:
    """Return the derivative by a symbol, without delta functions whose factors vanish there.

    (x H(x))' is H(x), and no x δ(x) is left of it: delta functions stay only where a force jumps.
    """
    if not any(e.has(symbol) for e in expression.atoms(*ROUGH)):
        return sp.diff(expression, symbol)
    expression = _idempotent(expression)
    derivative = sp.diff(expression, symbol)
    if not derivative.has(sp.DiracDelta):
        return derivative
    return sp.Add(*(term for term in _terms(derivative) if not _vanishes(term, symbol)))


def _terms(expression: sp.Expr) -> Iterator[sp.Expr]:
    """Return the terms of a sum, with factors written out that have delta functions in them."""
    for term in sp.Add.make_args(expression):
        inside = next(
            (f for f in sp.Mul.make_args(term) if f.is_Add and f.has(sp.DiracDelta)), None
        )
        if inside is None:
            yield term
        else:
            rest = term / inside
            for part in inside.args:
                yield from _terms(part * rest)


def _idempotent(expression: sp.Expr) -> sp.Expr:
    """Return the expression with H(x)^n = H(x), products written out where that needs it."""
    steps = expression.atoms(sp.Heaviside)
    if any(sum(f.has(step) for f in sp.Mul.make_args(expression)) > 1 for step in steps):
        expression = sp.expand_mul(expression)
    return expression.replace(
        lambda e: e.is_Pow and isinstance(e.base, sp.Heaviside) and e.exp.is_positive,
        lambda e: e.base,
    )


def _vanishes(term: sp.Expr, symbol: sp.Symbol) -> bool:
    """Return whether what a delta function multiplies is zero where the delta function is not."""
    for factor in sp.Mul.make_args(term):
        if isinstance(factor, sp.DiracDelta) and len(factor.args) == 1:
            argument = sp.expand(factor.args[0])
            rate = sp.diff(argument, symbol)
            if rate != 0 and not rate.has(symbol):
                place = symbol - argument / rate
                if sp.expand((term / factor).subs(symbol, sp.expand(place))) == 0:
                    return True
    return False
