r"""Derivatives of activations as distributions.

sgn' = 2δ, H' = δ, |x|' = sgn, and f(x) δ^{(k)}(x - c) is written through the values and derivatives
of f at c, so that (x H(x))' = H(x) carries no spurious x δ(x).
"""

from __future__ import annotations

import sympy as sp

from symderiv.formula.kink_places import in_steps
from symderiv.foundation.errors import InputError

X = sp.Symbol("x", real=True)


def variable_of(g: sp.Expr) -> sp.Symbol:
    """Return the variable of an activation: the symbol named x, or its only symbol."""
    names = sorted(g.free_symbols, key=str)
    for s in names:
        if s.name == "x":
            return s
    if len(names) > 1:
        raise InputError(f"the variable of {g} must be called x")
    return names[0] if names else X


def derivative(g: sp.Expr, order: int = 1) -> sp.Expr:
    """Return the derivative of ``g`` as a distribution, e.g. Heaviside(x) for x*Heaviside(x)."""
    g = sp.sympify(g)
    for _ in range(order):
        x = variable_of(g)
        g = reduced(sp.diff(reduced(g, x), x), x)
    return g


def reduced(g: sp.Expr, x: sp.Symbol) -> sp.Expr:
    """Return the expanded form with H² = H, sgn² = 1, |f|² = f², |f| sgn(f) = f, f δ reduced."""
    if not g.has(sp.Heaviside, sp.sign, sp.Abs, sp.DiracDelta, sp.Max, sp.Min):
        return g
    g = in_steps(g, x)
    g = g.replace(sp.Max, _extremum).replace(sp.Min, lambda *a: -_extremum(*(-b for b in a)))
    return sp.Add(*(_reduced_term(term, x) for term in sp.Add.make_args(sp.expand(g))))


def _extremum(*args: sp.Expr) -> sp.Expr:
    """Write Max as Σ f_i ∏_{j≠i} H(f_i - f_j), or b + (a - b) H(a - b) for two functions."""
    if len(args) == 2:
        a, b = args
        gap = sp.expand(a - b)
        if gap.could_extract_minus_sign():
            gap, b = -gap, a
        return b + gap * sp.Heaviside(gap)
    return sp.Add(
        *(
            f * sp.Mul(*(sp.Heaviside(sp.expand(f - other)) for other in args if other != f))
            for f in args
        )
    )


def _reduced_term(term: sp.Expr, x: sp.Symbol) -> sp.Expr:
    signs: dict[sp.Expr, int] = {}
    steps: set[sp.Expr] = set()
    smooth: list[sp.Expr] = []
    deltas: list[sp.Expr] = []
    for factor in sp.Mul.make_args(term):
        base, power = factor.as_base_exp()
        whole = power.is_Integer and power > 0
        if isinstance(base, sp.Heaviside) and whole:
            steps.add(base.args[0])
        elif isinstance(base, sp.sign) and whole:
            signs[base.args[0]] = signs.get(base.args[0], 0) + int(power)
        elif isinstance(base, sp.Abs) and whole and base.args[0].is_polynomial(x):
            smooth.append(base.args[0] ** power)
            signs[base.args[0]] = signs.get(base.args[0], 0) + int(power)
        elif isinstance(base, sp.DiracDelta):
            deltas.append(factor)
        else:
            smooth.append(factor)
    rough = [sp.Heaviside(a) for a in _farthest(steps, x)]
    rough += [sp.sign(a) for a, n in signs.items() if n % 2 and a not in steps]
    f = sp.Mul(*smooth)
    if len(deltas) == 1 and isinstance(deltas[0], sp.DiracDelta):
        return _at_delta(f, rough, deltas[0], x)
    return sp.Mul(f, *rough, *deltas)


def _farthest(steps: set[sp.Expr], x: sp.Symbol) -> set[sp.Expr]:
    """Return the arguments of steps, of those x - c only the one with the largest c."""
    places = {x - step: step for step in steps if (x - step).is_number}
    if len(places) < 2:
        return steps
    last = max(places, key=lambda place: sp.N(place, 30))
    return steps - set(places.values()) | {places[last]}


def _at_delta(f: sp.Expr, rough: list[sp.Expr], delta: sp.Expr, x: sp.Symbol) -> sp.Expr:
    """Return f δ^{(k)} = Σ_m binom(k, m) (-1)^m f^{(m)}(c) δ^{(k-m)} with argument x - c up to
    scale.
    """
    argument = delta.args[0]
    order = int(delta.args[1]) if len(delta.args) > 1 else 0
    slope = sp.diff(argument, x)
    if slope.has(x) or slope == 0:
        return sp.Mul(f, *rough, delta)
    place = sp.expand(-(argument - slope * x) / slope)
    if slope.is_extended_real and slope.is_nonzero and slope != 1:
        # δ^{(k)}(a y) = a^{-k} δ^{(k)}(y)/|a|, so that equal places are recognised.
        f = f / (slope**order * sp.Abs(slope))
        argument, slope = x - place, sp.S.One
        delta = sp.DiracDelta(argument, order) if order else sp.DiracDelta(argument)
    if any(r.args[0].subs(x, place).is_zero is not False for r in rough):
        if order == 0 and f.subs(x, place) == 0:
            return sp.S.Zero
        return sp.Mul(f, *rough, delta)
    g = f * sp.Mul(*(r.func(r.args[0].subs(x, place)) for r in rough))
    total = sp.S.Zero
    for m in range(order + 1):
        value = sp.diff(g, x, m).subs(x, place) / slope**m
        lower = sp.DiracDelta(argument, order - m) if order > m else sp.DiracDelta(argument)
        total += sp.binomial(order, m) * (-1) ** m * value * lower
    return total
