"""Targets with finitely many values: their conditional moments in closed form.

Signs of affine functions take patterns. The probability of a pattern and its moments of fields are
sums of means of products of signs, which the Gaussian calculus has.
"""

from __future__ import annotations

import itertools

import sympy as sp

from symderiv.equilibrium.weak_learning.hermite_tensors import hermite_product
from symderiv.equilibrium.weak_learning.stated_target import FewFieldTarget
from symderiv.foundation.errors import SymderivError
from symderiv.gaussian import expectation

__all__ = ["OutputMoments", "finite_moments"]

_MOST_SIGNS = 5

#: By values of y: its probability, and E[∏ He(z); y] by orders.
OutputMoments = dict[sp.Expr, tuple[sp.Expr, list[sp.Expr]]]


def finite_moments(target: FewFieldTarget, orders: list[tuple[int, ...]]) -> OutputMoments | None:
    """Return moments at each value of a target that is a function of signs; None for others."""
    if target.in_signs is None or len(target.in_signs[1]) > _MOST_SIGNS:
        return None
    in_signs, signs_of_fields = target.in_signs
    names = sp.symbols(f"s:{len(signs_of_fields)}")
    asked = [sp.S.One, *(hermite_product(target.fields, each) for each in orders)]
    means = {}
    for chosen in itertools.product((0, 1), repeat=len(signs_of_fields)):
        product = sp.prod(s for s, taken in zip(signs_of_fields, chosen, strict=True) if taken)
        try:
            means[chosen] = [_mean(product * each, target) for each in asked]
        except (SymderivError, NotImplementedError, ValueError, TypeError):
            return None
    moments: OutputMoments = {}
    for signs in itertools.product((1, -1), repeat=len(signs_of_fields)):
        value = sp.nsimplify(in_signs.xreplace(dict(zip(names, signs, strict=True))))
        parts = [_pattern(means, signs, n) for n in range(len(asked))]
        before = moments.get(value, (sp.S.Zero, [sp.S.Zero] * len(orders)))
        sums = [sp.expand(a + b) for a, b in zip(before[1], parts[1:], strict=True)]
        moments[value] = sp.expand(before[0] + parts[0]), sums
    return {y: each for y, each in moments.items() if abs(each[0].evalf(30)) > 1e-25}


def _mean(integrand: sp.Expr, target: FewFieldTarget) -> sp.Expr:
    return expectation(integrand, target.variables, sp.eye(len(target.variables))).unfolded()


def _pattern(
    means: dict[tuple[int, ...], list[sp.Expr]], signs: tuple[int, ...], n: int
) -> sp.Expr:
    total = sp.S.Zero
    for chosen, values in means.items():
        factor = sp.prod(s for s, taken in zip(signs, chosen, strict=True) if taken)
        total += factor * values[n]
    return sp.expand(total / 2 ** len(signs))
