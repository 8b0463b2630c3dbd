"""Quotients of exponentials in forms that stay finite where an exponential overflows."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import sympy as sp


def with_bounded_quotients(expression: sp.Expr) -> sp.Expr:
    """Return an expression in which exponentials are cancelled against sums of them in a
    denominator.

    exp(2u)/(1 + exp(u))² becomes 1/(1 + exp(-u))²: where exp(u) overflows, the first is not a
    number. The same is done for products of probabilities of a softmax.
    """
    return expression.replace(sp.Mul, _bounded_product)


def _bounded_product(*factors: sp.Expr) -> sp.Expr:
    left = list(factors)
    for factor in factors:
        base, order = factor.as_base_exp()
        terms = _terms_of(base) if order.is_Integer and order < 0 else {}
        if len(terms) < 2:
            continue
        for above in [each for each in left if isinstance(each, sp.exp)]:
            shares = _shares(sp.expand(above.exp), [*terms], -int(order))
            if shares is None:
                continue
            left.remove(above)
            left.remove(base**order)
            order += len(shares)
            left += [base**order, *(1 / _divided(terms, share) for share in shares)]
            if order == 0:
                break
    return sp.Mul(*left)


def _terms_of(total: sp.Expr) -> dict[sp.Expr, sp.Expr]:
    """Return the coefficients of a sum of exponentials by their exponents, 0 for a constant; empty
    if it is not such a sum, or a coefficient is not positive.
    """
    terms = {}
    for term in sp.Add.make_args(total):
        number, rest = term.as_coeff_Mul()
        if not number > 0 or not (rest == 1 or isinstance(rest, sp.exp)):
            return {}
        terms[sp.S.Zero if rest == 1 else sp.expand(rest.exp)] = number
    return terms


def _divided(terms: Mapping[sp.Expr, sp.Expr], share: sp.Expr) -> sp.Expr:
    """Return a sum of exponentials divided by the exponential of ``share``."""
    return sp.Add(*(number * sp.exp(sp.expand(each - share)) for each, number in terms.items()))


def _shares(
    exponent: sp.Expr, exponents: Sequence[sp.Expr], most: int
) -> tuple[sp.Expr, ...] | None:
    """Return at most ``most`` exponents that add up to the given one, or None."""
    moving = [each for each in exponents if each != 0]
    for count in range(1, min(most, 4) + 1):
        for shares in itertools.combinations_with_replacement(moving, count):
            if sp.expand(sp.Add(*shares) - exponent) == 0:
                return shares
    return None
