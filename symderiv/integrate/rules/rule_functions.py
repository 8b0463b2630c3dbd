"""Formulas of a learning rule as functions of arrays: activations, losses, schedules.

Logistic functions are written so that no intermediate number overflows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np
import sympy as sp
from scipy.special import expit

from symderiv.formula import activation, parse_formula
from symderiv.formula.as_function import as_function
from symderiv.learning.rule.learning_problem import OUTPUT, TARGET
from symderiv.learning.rule.loss import loss
from symderiv.statement.bounded_quotients import with_bounded_quotients

Values = Callable[..., np.ndarray]

_X = sp.Symbol("x", real=True)
_ALPHA = sp.Symbol("alpha", real=True)

# printed by these names, under which the array functions are found
_EXPIT, _LOG_ADD_EXP = map(sp.Function, ("_expit", "_log_add_exp"))
_ARRAY_FUNCTIONS = {"_expit": expit, "_log_add_exp": np.logaddexp}


@lru_cache(maxsize=64)
def activation_function(text: str) -> Values:
    """Return g as a function of arrays, from an activation's name or formula."""
    return array_function(activation(text).expression, (_X,))


@lru_cache(maxsize=64)
def loss_function(text: str) -> Values:
    """Return ℓ(s, t) as a function of arrays of one shape, from a loss's name or formula."""
    return array_function(loss(text).expression, (OUTPUT, TARGET))


@lru_cache(maxsize=64)
def function_of_alpha(text: str) -> Values:
    """Return a formula in ``alpha`` as a function of arrays."""
    return array_function(parse_formula(text, ("alpha",)), (_ALPHA,))


def schedule_of(given: str | Mapping[str, Any] | None) -> Values:
    """Return the factor of the learning rates as a function of an array of times α."""
    if given is None:
        return np.ones_like
    if isinstance(given, str):
        return function_of_alpha(given)
    if "times" in given:
        times, rates = np.array(given["times"]), np.array(given["rates"])
        return lambda alpha: rates[np.searchsorted(times, alpha, side="right") - 1]
    power, after = given["power"], given["after"]
    assert isinstance(power, float)
    assert isinstance(after, float)
    return lambda alpha: np.maximum(1.0, alpha / after) ** -power


def array_function(expression: sp.Expr, variables: tuple[sp.Symbol, ...]) -> Values:
    """Return an expression as a function of arrays of one shape; the result has this shape."""
    printed = _without_overflow(expression)
    if printed.is_number:
        constant = float(printed)
        return lambda first, *others: np.full(np.shape(first), constant)
    return as_function(variables, printed, further=_ARRAY_FUNCTIONS)


def _without_overflow(expression: sp.Expr) -> sp.Expr:
    """Write log(1 + exp(u)) and powers of 1/(1 + exp(u)) by functions without overflow."""

    def exponent(sum_: sp.Expr) -> sp.Expr | None:
        """Return u if the expression is 1 + exp(u), else None."""
        if isinstance(sum_, sp.Add) and len(sum_.args) == 2 and sum_.args[0] == 1:
            part = sum_.args[1]
            if isinstance(part, sp.exp):
                return part.args[0]
        return None

    def logarithm(argument: sp.Expr) -> sp.Expr:
        u = exponent(argument)
        return sp.log(argument) if u is None else _LOG_ADD_EXP(sp.S.Zero, u)

    def power(base: sp.Expr, order: sp.Expr) -> sp.Expr:
        u = exponent(base)
        if u is None or not (order.is_Integer and order < 0):
            return sp.Pow(base, order)
        return _EXPIT(-u) ** (-order)

    # exp(u)/(1 + exp(u)) is rewritten first, before its exp(u) is left alone and overflows
    bounded = with_bounded_quotients(expression)
    safe: sp.Expr = bounded.replace(sp.log, logarithm).replace(sp.Pow, power)
    return safe
