"""Conditions on fields as expressions that are 1 where they hold and 0 elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy as sp

from symderiv.errors import InputError

__all__ = ["indicator", "without_pieces"]


def indicator(condition: Any) -> sp.Expr:
    """Return the expression that is 1 where a condition holds and 0 elsewhere.

    Args:
        condition: ``sympy.Eq`` of two signs, an inequality, or these joined by And, Or and Not; an
            array of conditions means that all of them hold.

    Raises:
        InputError: A condition of another kind; an equation of expressions that are no signs has
            probability zero.
    """
    if isinstance(condition, np.ndarray):
        return sp.Mul(*(indicator(each) for each in condition.ravel()))
    if condition in (True, False, sp.true, sp.false):
        return sp.Integer(bool(condition))
    if isinstance(condition, sp.Eq):
        left, right = condition.args
        if not all(isinstance(side, sp.sign) or abs(side) == 1 for side in (left, right)):
            raise InputError(
                f"{condition} holds with probability 0 or 1: compare signs, or use inequalities"
            )
        return (1 + left * right) / 2
    if isinstance(condition, sp.Ne):
        return 1 - indicator(sp.Eq(*condition.args))
    if isinstance(condition, sp.Gt | sp.Ge):
        return sp.Heaviside(condition.lhs - condition.rhs)
    if isinstance(condition, sp.Lt | sp.Le):
        return sp.Heaviside(condition.rhs - condition.lhs)
    if isinstance(condition, sp.And):
        return sp.Mul(*map(indicator, condition.args))
    if isinstance(condition, sp.Not):
        return 1 - indicator(condition.args[0])
    if isinstance(condition, sp.Or):
        return 1 - sp.Mul(*(1 - indicator(each) for each in condition.args))
    raise InputError(
        f"{condition} is no condition on fields: write an equation of signs or an inequality"
    )


def without_pieces(expression: sp.Expr) -> sp.Expr:
    """Return an expression with steps in the place of ``Piecewise``."""

    def steps(*pieces: sp.Tuple) -> sp.Expr:
        total, left = sp.S.Zero, sp.S.One
        for value, condition in pieces:
            here = indicator(condition)
            total, left = total + left * here * value, left * (1 - here)
        return total

    return expression.replace(sp.Piecewise, steps)
