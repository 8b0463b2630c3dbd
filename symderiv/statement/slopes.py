"""Derivatives of expressions in fields, as distributions where they have kinks or jumps."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import sympy as sp

from symderiv.statement.indicators import kinks_as_steps, unnested

ROUGH = (sp.Heaviside, sp.sign, sp.Abs, sp.Max, sp.Min)
"""Functions with kinks and jumps."""
_JUMPS = (sp.Heaviside, sp.sign)
_MOST_SIGNED = 3


def gaps_of(rough: sp.Expr) -> list[sp.Expr]:
    """Return the expressions at whose zeros a function with kinks or jumps is not smooth."""
    if isinstance(rough, sp.Max | sp.Min):
        return [a - b for n, a in enumerate(rough.args) for b in rough.args[:n]]
    return [rough.args[0]]


def slope(expression: sp.Expr, symbol: sp.Symbol) -> sp.Expr:
    """Return the derivative by a symbol, without delta functions whose cofactors vanish there.

    (x H(x))' is H(x) without x δ(x): delta functions remain only where a force jumps.
    """
    if not any(e.has(symbol) for e in expression.atoms(*ROUGH)):
        return sp.diff(expression, symbol)
    if any(e.args[0].has(*ROUGH) for e in expression.atoms(*_JUMPS)):
        # delta functions of functions with kinks have other zeros, or none where a step is 0
        straight = kinks_as_steps(expression, lambda e: e.has(symbol))
        expression = unnested(straight, lambda e: e.has(symbol))
    expression = _idempotent(expression)
    derivative = sp.diff(expression, symbol)
    if not derivative.has(sp.DiracDelta):
        return derivative
    return sp.Add(*(term for term in _by_planes(derivative) if not _vanishes(term, symbol)))


def _by_planes(derivative: sp.Expr) -> Iterator[sp.Expr]:
    """Yield the terms of a sum; those with one delta function of a plane together, because their
    cofactors may cancel there.
    """
    planes: dict[sp.Expr, list[sp.Expr]] = {}
    for term in _terms(derivative):
        factors = sp.Mul.make_args(term)
        deltas = [f for f in factors if isinstance(f, sp.DiracDelta) and len(f.args) == 1]
        if len(deltas) != 1 or (term / deltas[0]).has(sp.DiracDelta):
            yield term
            continue
        gap = sp.expand(deltas[0].args[0])
        gap = -gap if gap.could_extract_minus_sign() else gap
        planes.setdefault(gap, []).append(term / deltas[0])
    for gap, cofactors in planes.items():
        yield sp.DiracDelta(gap) * sp.Add(*cofactors)


def _terms(expression: sp.Expr) -> Iterator[sp.Expr]:
    """Yield the terms of a sum, with factors that contain delta functions expanded."""
    for term in sp.Add.make_args(expression):
        inside = next(
            (f for f in sp.Mul.make_args(term) if f.is_Add and f.has(sp.DiracDelta)), None
        )
        if inside is None:
            yield term
        else:
            rest = term / inside
            for part in inside.args:
                yield from _terms(part * rest)


def _idempotent(expression: sp.Expr) -> sp.Expr:
    """Return the expression with at most one jump per plane in each product, expanded where
    necessary.

    The product rule with middle values is right for two factors with a jump at one plane, but not
    for three: sign(x)^3 is sign(x).
    """
    steps = expression.atoms(sp.Heaviside)
    if any(sum(f.has(step) for f in sp.Mul.make_args(expression)) > 1 for step in steps):
        expression = sp.expand_mul(expression)
    expression = expression.replace(
        lambda e: e.is_Pow and isinstance(e.base, sp.Heaviside) and e.exp.is_positive,
        lambda e: e.base,
    )
    jumps = expression.atoms(*_JUMPS)
    if not any(_weight(expression, jump.args[0]) > 2 for jump in jumps):
        return expression
    return sp.Add(*map(_with_single_jumps, sp.Add.make_args(sp.expand(expression))))


def _weight(expression: sp.Expr, gap: sp.Expr) -> int:
    """Return the number of factors in a product that jump where ``gap`` vanishes."""
    if isinstance(expression, _JUMPS):
        return int(_multiple(expression.args[0], gap) is not None)
    weights = [_weight(each, gap) for each in expression.args]
    if expression.is_Mul:
        return sum(weights)
    most = max(weights, default=0)
    whole = expression.is_Pow and expression.exp.is_Integer and expression.exp > 0
    return most * int(expression.exp) if whole else most


def _multiple(gap: sp.Expr, other: sp.Expr) -> sp.Expr | None:
    """Return the real number by which one gap is a multiple of another, or None."""
    ratio = sp.cancel(gap / other)
    return ratio if ratio.is_number and ratio.is_real else None


def _with_single_jumps(term: sp.Expr) -> sp.Expr:
    """Return a product with one step or sign for each plane."""
    rest, planes = sp.S.One, dict[sp.Expr, list[tuple[sp.Expr, int]]]()
    for factor in sp.Mul.make_args(term):
        base, power = factor.as_base_exp()
        if not (isinstance(base, _JUMPS) and power.is_Integer and power > 0):
            rest *= factor
            continue
        same = next((g for g in planes if _multiple(base.args[0], g) is not None), base.args[0])
        planes.setdefault(same, []).append((base, int(power)))
    for gap, jumps in planes.items():
        sides = (_on_side(jumps, gap, side) for side in (1, -1))
        above, below = (sp.Integer(side) for side in sides)
        if above == below:
            rest *= above
        elif above == -below:
            rest *= above * sp.sign(gap)
        else:
            rest *= above * sp.Heaviside(gap) + below * sp.Heaviside(-gap)
    return rest


def _on_side(jumps: list[tuple[sp.Expr, int]], gap: sp.Expr, side: int) -> int:
    """Return the product of steps and signs at one plane on one side of it."""
    product = 1
    for jump, power in jumps:
        ratio = _multiple(jump.args[0], gap)
        sign = side if ratio is not None and ratio > 0 else -side
        product *= (sign if isinstance(jump, sp.sign) else int(sign > 0)) ** power
    return product


def _vanishes(term: sp.Expr, symbol: sp.Symbol) -> bool:
    """Return whether the cofactor of a delta function vanishes at the zero of its argument.

    The zero is solved for the symbol, or for the only function of it that the argument has: where
    erf(x) - y = 1, erf(x) is 1 + y.
    """
    for factor in sp.Mul.make_args(term):
        if not (isinstance(factor, sp.DiracDelta) and len(factor.args) == 1):
            continue
        argument = sp.expand(factor.args[0])
        functions = [f for f in argument.atoms(sp.Function) if f.has(symbol)]
        known = functions[0] if len(functions) == 1 else symbol
        variable = sp.Dummy(real=True)
        gap, left = (e.xreplace({known: variable}) for e in (argument, term / factor))
        rate = sp.diff(gap, variable)
        if rate == 0 or rate.has(variable) or gap.has(symbol):
            continue
        left = left.subs(variable, sp.expand(variable - gap / rate))
        if not rate.is_number:
            # a symbolic rate appears in denominators, which expanding does not cancel
            left = left.replace(
                lambda e: isinstance(e, ROUGH), lambda e: e.func(*map(sp.cancel, e.args))
            )
            left = sp.cancel(left)
        if _is_zero(left):
            return True
    return False


def _is_zero(expression: sp.Expr) -> bool:
    """Return whether an expression vanishes, whatever the signs of numbers of which it has moduli
    or steps.
    """
    rough = expression.atoms(*ROUGH)
    if (smooth := _between_zeros(expression, rough)) is not None:
        return all(sp.expand(each) == 0 for each in smooth)
    signed = sorted({s for each in rough for s in each.free_symbols}, key=str)
    if not signed or len(signed) > _MOST_SIGNED:
        return bool(sp.expand(expression) == 0)
    sizes = [sp.Dummy(positive=True) for _ in signed]
    for signs in itertools.product((1, -1), repeat=len(signed)):
        places = {s: sign * x for s, sign, x in zip(signed, signs, sizes, strict=True)}
        if sp.expand(expression.xreplace(places)) != 0:
            return False
    return True


def _between_zeros(expression: sp.Expr, rough: set[sp.Expr]) -> list[sp.Expr] | None:
    """Return an expression on each interval on which it is smooth; None if its functions with kinks
    and jumps are not those of affine functions of one symbol.
    """
    symbols = set[sp.Symbol]().union(*(each.free_symbols for each in rough))
    if len(symbols) != 1:
        return None
    (symbol,) = symbols
    zeros = set()
    for gap in (sp.expand(gap) for each in rough for gap in gaps_of(each)):
        rate = gap.coeff(symbol)
        zero = sp.S.NaN if gap.has(*ROUGH) or rate == 0 else -(gap - rate * symbol) / rate
        if not (zero.is_number and zero.is_real):
            return None
        zeros.add(zero)
    ordered = sorted(zeros)
    inner = [(low + high) / 2 for low, high in itertools.pairwise(ordered)]
    return [
        expression.xreplace({each: _at_side(each, symbol, place) for each in rough})
        for place in (ordered[0] - 1, *inner, ordered[-1] + 1)
    ]


def _at_side(rough: sp.Expr, symbol: sp.Symbol, place: sp.Expr) -> sp.Expr:
    """Return what a function with kinks or jumps is around a place where it is smooth."""
    if isinstance(rough, sp.Max | sp.Min):
        values = {each.subs(symbol, place): each for each in rough.args}
        return values[rough.func(*values)]
    if isinstance(rough, sp.Abs):
        return rough.args[0] * sp.sign(rough.args[0].subs(symbol, place))
    return rough.subs(symbol, place)
