r"""Rough functions of one variable as sums of steps at places: max(-1, min(1, x)), ||x| - 1|,
max(0, x² - 2) or max(0, 1 - 2 erf(x)).

A function is followed through its pieces: between two of the places where one of its maxima,
minima, moduli or signs changes it is smooth. With the pieces f_0, f_1, … apart at c_1 < c_2 < … it
is f_0 + Σ_k (f_k - f_{k-1}) H(x - c_k).
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import sympy as sp

ROUGH = (sp.Heaviside, sp.sign, sp.Abs, sp.Max, sp.Min)

Pieces = tuple[list[sp.Expr], list[sp.Expr]]
"""Places in ascending order, and the smooth expressions left of, between and right of them."""


_INVERSES: dict[type[sp.Function], tuple[Callable[[sp.Expr], sp.Expr], sp.Expr, sp.Expr]] = {
    sp.erf: (sp.erfinv, sp.Integer(-1), sp.Integer(1)),
    sp.tanh: (sp.atanh, sp.Integer(-1), sp.Integer(1)),
    sp.exp: (sp.log, sp.Integer(0), sp.oo),
}
"""Increasing functions: the inverse, and the ends of the range, which are not reached."""


class _NoPlacesError(ValueError):
    """A function changes at places that have no formula."""


def in_steps(g: sp.Expr, x: sp.Symbol) -> sp.Expr:
    """Return the function with rough functions written as sums of steps H(x - c), unless they
    change at one plane alone.

    Those that change at places without a formula stay as they are.
    """
    replaced = {}
    for outer in g.atoms(*ROUGH):
        gaps = [outer] if isinstance(outer, sp.Max | sp.Min) else outer.args[:1]
        if any(each.has(*ROUGH) for each in outer.args) or any(_bent(gap, x) for gap in gaps):
            try:
                replaced[outer] = _steps(_pieces(outer, x), x)
            except _NoPlacesError:
                continue
    return g.xreplace(replaced)


def _bent(gap: sp.Expr, x: sp.Symbol) -> bool:
    """Return whether an expression is no line in x; of a maximum, whether a difference is none."""
    if isinstance(gap, sp.Max | sp.Min):
        return any(_bent(a - gap.args[0], x) for a in gap.args[1:])
    return bool(gap.has(x) and sp.diff(gap, x).has(x))


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
    places = [place for gap in gaps for place in places_of(sp.expand(gap), x)]
    if not all(place.is_number for place in places):
        raise _NoPlacesError
    return places


def places_of(gap: sp.Expr, x: sp.Symbol) -> list[sp.Expr]:
    """Return the real zeros of a polynomial in x, or in one increasing function of x.

    Raises:
        ValueError: It is another function, or a zero has no formula.
    """
    if not gap.has(x):
        return []
    slope = sp.diff(gap, x)
    if not slope.has(x):
        return [-gap.subs(x, 0) / slope]
    inside = [each for each in gap.atoms(*_INVERSES) if each.has(x)]
    if not inside:
        return _real_roots(gap, x)
    value, argument = sp.Dummy("value", real=True), inside[0].args[0]
    whole, slope = gap.subs(inside[0], value), sp.diff(argument, x)
    if whole.has(x) or slope.has(x):
        raise _NoPlacesError
    inverse, least, most = _INVERSES[inside[0].func]
    reached = [each for each in _real_roots(whole, value) if least < each < most]
    return [(inverse(each) - argument.subs(x, 0)) / slope for each in reached]


def in_doubles(expression: sp.Expr) -> sp.Expr:
    """Return an expression with the nearest doubles in place of numbers that modules cannot
    compute, such as the place at which erf(x) is 1/2.
    """
    numbers = [e for e in expression.atoms(sp.erfinv, sp.atanh, sp.CRootOf) if e.is_number]
    return expression.xreplace({e: sp.Rational(float(e)) for e in numbers})


def _real_roots(gap: sp.Expr, x: sp.Symbol) -> list[sp.Expr]:
    if not gap.is_polynomial(x):
        raise _NoPlacesError
    if not all(number.is_Rational for number in sp.Poly(gap, x).coeffs()):
        raise _NoPlacesError
    roots: list[sp.Expr] = sp.Poly(gap, x).real_roots()
    return roots


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
