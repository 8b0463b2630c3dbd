"""Conditions on fields as expressions that are 1 where they hold and 0 elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import sympy as sp

from symderiv.foundation.errors import InputError

_MOST = (sp.Abs, sp.Max, sp.Min)


def indicator(condition: Any) -> sp.Expr:
    """Return the expression that is 1 where a condition holds and 0 elsewhere.

    Args:
        condition: ``sympy.Eq`` of two signs, an inequality, or these joined by And, Or and Not; an
            array of conditions means that all of them hold.

    Raises:
        InputError: The condition is of another kind; an equation of expressions that are not signs
            has probability zero.
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
        return _step(condition.lhs - condition.rhs)
    if isinstance(condition, sp.Lt | sp.Le):
        return _step(condition.rhs - condition.lhs)
    if isinstance(condition, sp.And):
        return sp.Mul(*map(indicator, condition.args))
    if isinstance(condition, sp.Not):
        return 1 - indicator(condition.args[0])
    if isinstance(condition, sp.ITE):
        where, one, other = map(indicator, condition.args)
        return where * one + (1 - where) * other
    if isinstance(condition, sp.Or):
        return 1 - sp.Mul(*(1 - indicator(each) for each in condition.args))
    raise InputError(
        f"{condition} is not a condition on fields; write an equation of signs or an inequality"
    )


def _step(gap: sp.Expr, *_: sp.Expr) -> sp.Expr:
    """Return the step of a gap; that of k - |d| as H(k - d) H(k + d), whose steps are at planes if
    d is a combination of fields, and those of maxima and minima alike.
    """
    for most in sorted(gap.atoms(*_MOST), key=sp.default_sort_key):
        rate = gap.coeff(most)
        if not (rate.is_number and rate.is_real) or (rest := gap - rate * most).has(most):
            continue
        values = (most.args[0], -most.args[0]) if isinstance(most, sp.Abs) else most.args
        gaps = [sp.expand(rest + rate * each) for each in values]
        if rate.is_positive != isinstance(most, sp.Min):
            return 1 - sp.Mul(*(_step(-each) for each in gaps))
        return sp.Mul(*map(_step, gaps))
    return sp.Heaviside(gap)


def without_pieces(expression: sp.Expr) -> sp.Expr:
    """Return an expression with step functions in place of ``Piecewise``, and steps and signs of
    moduli, maxima and minima as products of steps.
    """

    def steps(*pieces: sp.Tuple) -> sp.Expr:
        total, left = sp.S.Zero, sp.S.One
        for value, condition in pieces:
            here = indicator(condition)
            total, left = total + left * here * value, left * (1 - here)
        return total

    expression = expression.replace(sp.Piecewise, steps)
    if any(each.has(*_MOST) for each in expression.atoms(sp.Heaviside, sp.sign)):
        expression = expression.replace(sp.Heaviside, _step)
        expression = expression.replace(
            lambda e: isinstance(e, sp.sign) and e.has(*_MOST), lambda e: 2 * _step(e.args[0]) - 1
        )
    return expression


def after_jumps(expression: sp.Expr, now: sp.Symbol) -> sp.Expr:
    """Return an expression that at the time of a jump has its value after the jump.

    The equations use that value, too. At a jump in a field, which has probability zero, the value
    stays the middle one.

    Args:
        expression: A part of a step.
        now: The symbol of the time.
    """
    if now not in expression.free_symbols:
        return expression

    def step(place: sp.Expr, *_: sp.Expr) -> sp.Expr:
        if not place.has(now):
            return sp.Heaviside(place)
        if place.diff(now).is_negative:
            return 1 - step(-place)
        return sp.Piecewise((1, sp.Ge(place, 0)), (0, True))

    signs = expression.replace(
        lambda e: isinstance(e, sp.sign) and e.has(now), lambda e: 2 * step(e.args[0]) - 1
    )
    return signs.replace(sp.Heaviside, step)


#: Increasing functions: a difference of two values has the sign of that of the arguments.
_INCREASING = (sp.erf, sp.tanh, sp.exp, sp.atan, sp.asinh, sp.sinh)


def _straightened(expression: sp.Expr, is_random: Callable[[sp.Expr], object]) -> sp.Expr:
    """Return an expression in which kinks at f(u) = f(v), where f increases, are kinks at u = v."""
    places: dict[sp.Expr, sp.Expr] = {}
    for rough in expression.atoms(sp.Heaviside, sp.sign, sp.Abs, sp.Max, sp.Min):
        most = isinstance(rough, sp.Max | sp.Min)
        if most and len(rough.args) != 2:
            continue
        gap = sp.expand(rough.args[0] - rough.args[1] if most else rough.args[0])
        terms = [term.as_coeff_Mul() for term in sp.Add.make_args(gap)]
        if len(terms) != 2 or not is_random(gap):
            continue
        (rate, first), (other, second) = terms
        if rate + other != 0 or first.func != second.func or first.func not in _INCREASING:
            continue
        straight = sp.sign(rate) * (first.args[0] - second.args[0])
        if isinstance(rough, sp.Heaviside | sp.sign):
            places[rough] = rough.func(straight)
        elif isinstance(rough, sp.Abs):
            places[rough] = gap * sp.sign(straight)
        else:
            own = rough.args[1] if isinstance(rough, sp.Max) else rough.args[0]
            side = gap if isinstance(rough, sp.Max) else -gap
            places[rough] = own + side * sp.Heaviside(straight)
    return expression.xreplace(places)


def kinks_as_steps(expression: sp.Expr, is_random: Callable[[sp.Expr], object]) -> sp.Expr:
    """Return an expression in which kinks of random numbers inside of other kinks are written by
    steps.

    The outer kink is then at the zero of an affine function on each side of a step.
    """
    expression = _straightened(expression, is_random)

    def steps(inner: sp.Expr) -> sp.Expr:
        if isinstance(inner, sp.Abs):
            return inner.args[0] * (2 * sp.Heaviside(inner.args[0]) - 1)
        first, *others = inner.args
        other = steps(inner.func(*others)) if len(others) > 1 else others[0]
        if isinstance(inner, sp.Min):
            return first - (first - other) * sp.Heaviside(first - other)
        return other + (first - other) * sp.Heaviside(first - other)

    bent = (sp.Abs, sp.Max, sp.Min)
    for outer in expression.atoms(*bent, sp.sign, sp.Heaviside):
        inside = set().union(*(argument.atoms(*bent) for argument in outer.args))
        places = {each: steps(each) for each in inside if is_random(each)}
        if places:
            arguments = (argument.xreplace(places) for argument in outer.args)
            return kinks_as_steps(expression.xreplace({outer: outer.func(*arguments)}), is_random)
    return expression


def unnested(expression: sp.Expr, is_random: Callable[[sp.Expr], object]) -> sp.Expr:
    """Return a sum in which no sign or step of random numbers is inside of another function.

    f(sign(u), v) is f(1, v) where u is positive and f(-1, v) where it is negative, so that only
    functions of affine combinations remain if f(1, v), f(-1, v) and u are such functions.
    """
    total = sp.S.Zero
    for term in sp.Add.make_args(expression):
        inner = sorted(
            (
                jump
                for function in term.atoms(sp.Function, sp.Pow)
                if not (function.is_Pow and function.exp.is_Integer and function.exp > 0)
                for argument in function.args
                for jump in argument.atoms(sp.sign, sp.Heaviside)
                if is_random(jump)
            ),
            key=lambda jump: (sp.count_ops(jump), str(jump)),
        )
        if not inner:
            total += term
            continue
        place, low = inner[0].args[0], -1 if isinstance(inner[0], sp.sign) else 0
        for side, value in ((place, 1), (-place, low)):
            here = term.xreplace({inner[0]: sp.Integer(value)})
            total += sp.Heaviside(side) * unnested(here, is_random)
    return total
