r"""Variances for which the Gaussian expectation of a function exists.

Growth is read off the expression: every function of the class is, at both ends, exp of a polynomial
times something that grows at most polynomially.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import sympy as sp

_POLYNOMIAL = (sp.Abs, sp.Max, sp.Min)
# If f grows faster than this power, exp(f) has no Gaussian expectation.
_FASTER = 2.5


@dataclass(frozen=True)
class Existence:
    """The variances for which E[g(x)], x ~ N(0, Var), exists.

    Args:
        variance_limit: The expectation exists for variances below this; ``oo`` means for all of
            them, 0 for none.
        reason: One line naming the factor that decides; "" when the limit is infinite.
    """

    variance_limit: sp.Expr
    reason: str


class _TooFastError(Exception):
    """A factor grows faster than every Gaussian decays."""


def existence(g: sp.Expr, variable: sp.Symbol | None = None) -> Existence:
    """Return the variances for which the expectation of ``g`` at one Gaussian variable exists.

    Args:
        g: Function of one variable.
        variable: The variable; by default the only free symbol of ``g``.

    Returns:
        The limit on the variance with the reason. Growth through functions that are not known
        here counts as harmless: the check never refuses what exists.
    """
    names = sorted(g.free_symbols, key=str)
    if variable is None:
        if not names:
            return Existence(sp.oo, "")
        variable = next((s for s in names if s.name == "x"), names[0])
    limit = sp.oo
    reason = ""
    for end in (1, -1):
        try:
            exponents = _exponents(g, variable, end)
        except _TooFastError as error:
            return Existence(
                sp.S.Zero, f"E[{g}] does not exist for any variance: {error} grows too fast"
            )
        for exponent in exponents:
            degree, lead = _leading(exponent, variable, end)
            if degree > 2 and lead.is_positive:
                return Existence(
                    sp.S.Zero,
                    f"E[{g}] does not exist for any variance: exp({exponent}) grows faster than "
                    "every Gaussian decays",
                )
            if degree == 2 and lead.is_positive and (1 / (2 * lead) < limit) is sp.true:
                limit = 1 / (2 * lead)
                reason = f"E[{g}] exists only for Var({variable}) < {limit}"
    return Existence(limit, reason)


def growth_obstacle(factor: sp.Expr, fields: Sequence[sp.Symbol]) -> str | None:
    """Return one line saying why no Gaussian expectation of ``factor`` exists, or None."""
    names = [x for x in fields if factor.has(x)]
    for x in names:
        others = {y: sp.S.Zero for y in names if y != x}
        growth = existence(factor.xreplace(others), x)
        if growth.variance_limit == 0:
            return growth.reason
    return None


def _leading(exponent: sp.Expr, x: sp.Symbol, end: int) -> tuple[int, sp.Expr]:
    """Return the degree of a polynomial exponent and its leading coefficient, signed for an end."""
    poly = sp.Poly(exponent, x)
    degree = poly.degree()
    return degree, poly.LC() * end**degree


def _union(parts: Iterable[set[sp.Expr]]) -> set[sp.Expr]:
    return set().union(*parts)


def _exponents(e: sp.Expr, x: sp.Symbol, end: int) -> set[sp.Expr]:
    """Return polynomials p such that |e| is at most a sum of exp(p) x**k, at one end."""
    if not e.has(x) or e == x:
        return {sp.S.Zero}
    if isinstance(e, sp.Add):
        return _union(_exponents(a, x, end) for a in e.args)
    if isinstance(e, sp.Mul):
        total = {sp.S.Zero}
        for a in e.args:
            total = {sp.expand(p + q) for p in total for q in _exponents(a, x, end)}
        return total
    if isinstance(e, sp.Pow) and e.args[1].is_number and e.args[1].is_positive:
        return {sp.expand(p * e.args[1]) for p in _exponents(e.args[0], x, end)}
    if isinstance(e, sp.exp):
        return _of_exponential(e, x, end)
    if isinstance(e, sp.sinh | sp.cosh):
        p = e.args[0]
        return _union(_exponents(sp.exp(q), x, end) for q in (p, -p))
    if isinstance(e, sp.log):
        return {sp.S.Zero}
    if isinstance(e, _POLYNOMIAL):
        return _union(_exponents(a, x, end) for a in e.args)
    return {sp.S.Zero}


def _of_exponential(e: sp.Expr, x: sp.Symbol, end: int) -> set[sp.Expr]:
    """Return the exponents of an exponential: its polynomial, or {0} for other arguments.

    Of other arguments only the order of growth is measured.

    Raises:
        _TooFastError: It grows faster than any Gaussian decays.
    """
    argument = e.args[0]
    if argument.is_polynomial(x):
        return {sp.expand(argument)}
    if argument.free_symbols == {x} and _order_of_growth(argument, x, end) > _FASTER:
        raise _TooFastError(str(e))
    return {sp.S.Zero}


def _order_of_growth(argument: sp.Expr, x: sp.Symbol, end: int) -> float:
    """Return log2 of argument(2 x)/argument(x) far out, or -oo where that is not positive."""
    near, far = (argument.subs(x, end * place).evalf(15) for place in (20, 40))
    if not (near.is_comparable and far.is_comparable) or far <= 0:
        return -float("inf")
    return float(sp.log(far / near, 2)) if near > 0 else float("inf")
