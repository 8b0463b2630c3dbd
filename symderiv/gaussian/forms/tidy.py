r"""Last touches on a sum of closed forms: pairs of exponentials become hyperbolic functions."""

from __future__ import annotations

import sympy as sp


def tidied(value: sp.Expr, folded: bool) -> sp.Expr:
    """Return the value with c e^{p+q} ± c e^{p-q} as 2c e^p cosh q or 2c e^p sinh q.

    Folded values keep the exponentials: in generated code e^p sinh q overflows where e^{p+q}
    does not.
    """
    if folded or not value.has(sp.exp) or value.is_number:
        return value
    by_coefficient: dict[sp.Expr, list[tuple[sp.Expr, int]]] = {}
    rest = []
    for term in sp.Add.make_args(value):
        coefficient, exponent = _split(term)
        if exponent is None:
            rest.append(term)
            continue
        number, body = coefficient.as_coeff_Mul()
        key = abs(number) * body
        by_coefficient.setdefault(key, []).append((exponent, 1 if number > 0 else -1))
    for key, items in by_coefficient.items():
        rest += _paired(key, items)
    return sp.Add(*rest)


def _split(term: sp.Expr) -> tuple[sp.Expr, sp.Expr | None]:
    """Return a term as coefficient and exponent; common factors of sums go into the coefficient."""
    exponent = None
    factors = []
    for factor in sp.Mul.make_args(term):
        if isinstance(factor, sp.exp):
            exponent = sp.expand(factor.args[0])
        else:
            factors.append(factor)
    coefficient = sp.Mul(*factors)
    if exponent is not None and coefficient.has(sp.Add):
        coefficient = sp.Mul(*(sp.factor_terms(f) for f in factors))
    return coefficient, exponent


def _paired(key: sp.Expr, items: list[tuple[sp.Expr, int]]) -> list[sp.Expr]:
    """Return exponentials with one coefficient, joined in pairs to hyperbolic functions."""
    joined = []
    left = list(items)
    while left:
        exponent, sign = left.pop(0)
        partner = _partner(exponent, left)
        if partner is None:
            joined.append(sign * key * sp.exp(exponent))
            continue
        left.remove(partner)
        other, other_sign = partner
        middle, half = sp.expand((exponent + other) / 2), sp.expand((exponent - other) / 2)
        if half.could_extract_minus_sign():
            half, sign, other_sign = -half, other_sign, sign
        shape = sp.cosh(half) if sign == other_sign else sp.sinh(half)
        joined.append(2 * sign * key * sp.exp(middle) * shape)
    return joined


def _partner(exponent: sp.Expr, others: list[tuple[sp.Expr, int]]) -> tuple[sp.Expr, int] | None:
    """Return the exponent that differs from this one only by signs of terms, of the fewest."""
    mine = _as_dict(exponent)
    best = None
    for item in others:
        theirs = _as_dict(item[0])
        flips = [k for k in mine if theirs.get(k, sp.S.Zero) == -mine[k]]
        same = all(theirs.get(k) == v or k in flips for k, v in mine.items())
        if same and len(theirs) == len(mine) and flips and (best is None or len(flips) < best[0]):
            best = (len(flips), item)
    return best[1] if best else None


def _as_dict(e: sp.Expr) -> dict[sp.Expr, sp.Expr]:
    return {body: number for number, body in (t.as_coeff_Mul() for t in sp.Add.make_args(e))}
