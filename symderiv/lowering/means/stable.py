r"""Closed forms with waves (sin, cos) written so that floating-point numbers keep their digits.

The calculus gives waves as imaginary means, and so as erfi and as means of two signs at imaginary
places. These grow like e^{y²} and are multiplied by a Gaussian factor that is at least as small.
Three rules, term by term:

- e^E erfi(y) = (2/√π) e^{E + y²} D(y) with Dawson's integral D: E + y² is minus half of a
  conditional variance;
- e^E E[sgn(x + i h₁) sgn(y + i h₂)] becomes one function of E, h₁, h₂ and the correlation
  (``symderiv/numerics/signs/waves.py``), in which nothing overflows;
- c e^p - c e^q, which cancels where a covariance is small, becomes c (e^p - e^q) by expm1.
"""

from __future__ import annotations

from itertools import product

import sympy as sp

from symderiv.gaussian.functions import ShiftedSigns, SignMean2

Dawson = type("Dawson", (sp.Function,), {})
TiltedSigns = type("TiltedSigns", (sp.Function,), {})
ExpDifference = type("ExpDifference", (sp.Function,), {})


def stable(value: sp.Expr) -> sp.Expr:
    """Return an equal expression rewritten by the rules above, or the same one if none applies."""
    if not value.has(sp.erfi, SignMean2, ShiftedSigns) and not _differences(value):
        return value
    terms = [_term(term) for term in sp.Add.make_args(sp.expand(value, deep=False))]
    return sp.Add(*_joined(terms))


def _differences(value: sp.Expr) -> bool:
    """Return whether plain exponentials are added with different signs."""
    terms = sp.Add.make_args(value)
    split = [_split(term) for term in terms]
    keys = {key for key, exponent in split if exponent is not None}
    return any(-key in keys for key in keys)


def _split(term: sp.Expr) -> tuple[sp.Expr, sp.Expr | None]:
    """Return a term as coefficient and exponent; the exponent is None without an exponential."""
    exponents = [f.args[0] for f in sp.Mul.make_args(term) if isinstance(f, sp.exp)]
    if not exponents:
        return term, None
    rest = sp.Mul(*(f for f in sp.Mul.make_args(term) if not isinstance(f, sp.exp)))
    return rest, sp.Add(*exponents)


def _term(term: sp.Expr) -> sp.Expr:
    coefficient, exponent = _split(term)
    power = sp.S.Zero if exponent is None else exponent
    factors: list[sp.Expr] = []
    signs: list[SignMean2] = []
    for factor in sp.Mul.make_args(coefficient):
        if isinstance(factor, sp.erfi):
            (y,) = factor.args
            power += y**2
            factors += [2 / sp.sqrt(sp.pi), Dawson(y)]
        elif isinstance(factor, SignMean2) and not signs:
            signs.append(factor)
        else:
            factors.append(factor)
    rest = sp.Mul(*factors)
    if signs:
        return rest * TiltedSigns(power, *signs[0].args)
    return rest if power == 0 else rest * sp.exp(power)


def _joined(terms: list[sp.Expr]) -> list[sp.Expr]:
    """Return pairs of exponentials with opposite coefficients as differences, the most alike
    first.
    """
    joined: list[sp.Expr] = []
    waiting: dict[sp.Expr, tuple[list[sp.Expr], list[sp.Expr]]] = {}
    for term in terms:
        key, exponent = _split(term)
        if exponent is None:
            joined.append(term)
        elif key.could_extract_minus_sign():
            waiting.setdefault(-key, ([], []))[1].append(exponent)
        else:
            waiting.setdefault(key, ([], []))[0].append(exponent)
    for key, (plus, minus) in waiting.items():
        while plus and minus:
            first, second = max(product(plus, minus), key=lambda pair: _alike(*pair))
            plus.remove(first)
            minus.remove(second)
            joined.append(key * ExpDifference(first, second))
        joined += [key * sp.exp(e) for e in plus] + [-key * sp.exp(e) for e in minus]
    return joined


def _alike(first: sp.Expr, second: sp.Expr) -> tuple[int, str, str]:
    """Return a sort key that puts exponents with the most common terms first."""
    shared = set(sp.Add.make_args(first)) & set(sp.Add.make_args(second))
    return len(shared), str(first), str(second)
