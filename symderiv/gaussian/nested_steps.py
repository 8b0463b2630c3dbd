r"""Rough functions of rough functions, such as max(-1, min(1, x)) or ||x| - 1|, as sums of steps.

A function of one variable is followed through its pieces: between two of the places where one of
its maxima, minima, moduli or signs changes it is smooth. With the pieces f_0, f_1, … apart at
c_1 < c_2 < … it is f_0 + Σ_k (f_k - f_{k-1}) H(x - c_k).
"""

from __future__ import annotations

from itertools import pairwise

import sympy as sp

ROUGH = (sp.Heaviside, sp.sign, sp.Abs, sp.Max, sp.Min)

Pieces = tuple[list[sp.Expr], list[sp.Expr]]
"""Places in ascending order, and the smooth expressions left of, between and right of them."""


class _NoPlacesError(Exception):
    """A function changes at places that are not roots of a polynomial."""


def without_nesting(g: sp.Expr, x: sp.Symbol) -> sp.Expr:
    """Return the function with nested rough functions written as sums of steps.

    Those that change at places that are not roots of polynomials stay as they are.
    """
    replaced = {}
    for outer in g.atoms(*ROUGH):
        if any(argument.has(*ROUGH) for argument in outer.args):
            try:
                replaced[outer] = _steps(_pieces(outer, x), x)
            except _NoPlacesError:
                continue
    return g.xreplace(replaced)


def _steps(pieces: Pieces, x: sp.Symbol) -> sp.Expr:
    places, parts = pieces
    total = parts[0]
    for place, (before, after) in zip(places, pairwise(parts), strict=True):
        total += sp.expand(after - before) * sp.Heaviside(x - place)
    return total


def _pieces(e: sp.Expr, x: sp.Symbol) -> Pieces:
    if not e.has(*ROUGH):
        return [], [e]
    inner = [_pieces(argument, x) for argument in e.args]
    places: list[sp.Expr] = []
    parts: list[sp.Expr] = []
    for low, high in pairwise([-sp.oo, *_sorted(p for own, _ in inner for p in own), sp.oo]):
        at = _between(low, high)
        arguments = [_part(each, at) for each in inner]
        own = [p for p in _changes(e, arguments, x) if low < p < high]
        for start, end in pairwise([low, *_sorted(own), high]):
            part = _smooth(e, arguments, x, _between(start, end))
            if parts and sp.expand(part - parts[-1]) == 0:
                continue
            places += [start] if parts else []
            parts.append(part)
    return places, parts


def _sorted(places: object) -> list[sp.Expr]:
    return sorted(set(places), key=lambda place: sp.N(place, 30))  # type: ignore[call-overload]


def _between(low: sp.Expr, high: sp.Expr) -> sp.Expr:
    """Return a place inside an interval."""
    if low == -sp.oo:
        return sp.S.Zero if high == sp.oo else high - 1
    return low + 1 if high == sp.oo else (low + high) / 2


def _part(pieces: Pieces, at: sp.Expr) -> sp.Expr:
    places, parts = pieces
    return parts[sum(bool(place < at) for place in places)]


def _changes(e: sp.Expr, arguments: list[sp.Expr], x: sp.Symbol) -> list[sp.Expr]:
    """Return the places where a rough function of smooth arguments is not smooth."""
    if not isinstance(e, ROUGH):
        return []
    gaps = [a - b for n, a in enumerate(arguments) for b in arguments[:n]]
    if not isinstance(e, sp.Max | sp.Min):
        gaps = arguments[:1]
    places: list[sp.Expr] = []
    for gap in map(sp.expand, gaps):
        if not gap.is_polynomial(x):
            raise _NoPlacesError
        if gap.has(x):
            places += sp.Poly(gap, x).real_roots()
    return places


def _smooth(e: sp.Expr, arguments: list[sp.Expr], x: sp.Symbol, at: sp.Expr) -> sp.Expr:
    """Return the smooth expression that a function equals around a place where it is smooth."""
    if not isinstance(e, ROUGH):
        return e.func(*arguments)
    values = [sp.N(argument.subs(x, at), 30) for argument in arguments]
    if isinstance(e, sp.Max | sp.Min):
        chosen = max(values) if isinstance(e, sp.Max) else min(values)
        return arguments[values.index(chosen)]
    positive = bool(values[0] > 0)
    if isinstance(e, sp.Heaviside):
        return sp.Integer(positive)
    if isinstance(e, sp.sign):
        return sp.Integer(1 if positive else -1)
    return arguments[0] if positive else -arguments[0]
