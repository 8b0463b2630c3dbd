"""Functions with kinks and jumps as smooth pieces between the planes where they are not smooth.

On each side of a plane the function is written without steps, so that products of steps of one
field disappear, and only one piece is computed at a point.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import sympy as sp

from symderiv.formula.kink_places import in_doubles, in_steps
from symderiv.foundation.errors import NotYetError
from symderiv.statement.slopes import ROUGH, gaps_of

MOST_PLANES, _MOST_PARTED = 12, 4
"""The largest number of planes: each doubles the number of pieces."""

Gaps = tuple[sp.Expr, ...]


def in_pieces(
    expression: sp.Expr,
    fields: Sequence[sp.Symbol],
    of_piece: Callable[[sp.Expr], sp.Expr] = lambda piece: piece,
) -> tuple[sp.Expr, Gaps]:
    """Return an expression as pieces, and the expressions that vanish on the planes between them.

    Args:
        expression: An expression, in which steps, moduli and the like may be nested.
        fields: The fields; kinks in other symbols are kept.
        of_piece: A function applied to every piece.

    Raises:
        NotYetError: A kink is not on planes, or there are too many of them.
    """
    gaps: dict[sp.Expr, None] = {}
    return _parted(expression, set(fields), of_piece, gaps), tuple(gaps)


def by_sides(expression: sp.Expr, fields: Sequence[sp.Symbol]) -> sp.Expr:
    """Return an expression as a sum over the sides of its planes of kinks, a normal form that does
    not depend on the order in which steps were written.

    It is returned unchanged if it has no such planes or more than four.
    """
    _, gaps = in_pieces(expression, fields)
    if not 0 < len(gaps) <= _MOST_PARTED:
        return expression
    total = sp.S.Zero
    for sides in itertools.product((1, -1), repeat=len(gaps)):
        piece = expression
        while inner := _innermost(piece := _straight(piece, set(fields)), set(fields)):
            for gap, side in zip(gaps, sides, strict=True):
                piece = _on_a_side(piece, inner, gap, side, set(fields))
        steps = (sp.Heaviside(side * gap) for gap, side in zip(gaps, sides, strict=True))
        total += piece * sp.Mul(*steps)
    return total


def _parted(
    expression: sp.Expr,
    fields: set[sp.Symbol],
    of_piece: Callable[[sp.Expr], sp.Expr],
    gaps: dict[sp.Expr, None],
) -> sp.Expr:
    expression = _straight(expression, fields)
    inner = sorted(_innermost(expression, fields), key=sp.default_sort_key)
    if not inner:
        return of_piece(expression)
    gap, _ = _normal(gaps_of(inner[0])[0], fields)
    slopes = [sp.diff(gap, z) for z in fields]
    if any(slope.free_symbols & fields for slope in slopes):
        raise NotYetError(
            f"{inner[0]} has its kink where {gap} vanishes: not on a plane of the fields"
        )
    if any(slopes):
        gaps[gap] = None
    if len(gaps) > MOST_PLANES:
        raise NotYetError(f"it has kinks on more than {MOST_PLANES} planes of the fields")
    above, below = (
        _parted(_on_a_side(expression, inner, gap, side, fields), fields, of_piece, gaps)
        for side in (1, -1)
    )
    return above if above == below else sp.Piecewise((above, gap > 0), (below, True))


def _straight(expression: sp.Expr, fields: set[sp.Symbol]) -> sp.Expr:
    """Return an expression in which innermost functions of one field have kinks at places: a step
    of 1 - 2 erf(z) becomes one of z.
    """
    places = {}
    for rough in _innermost(expression, fields):
        own = rough.free_symbols & fields
        if len(own) == 1:
            places[rough] = in_doubles(in_steps(rough, *own))
    return expression.xreplace(places)


def _innermost(expression: sp.Expr, fields: set[sp.Symbol]) -> list[sp.Expr]:
    """Return the innermost functions with kinks or jumps in the fields."""
    rough = [e for e in expression.atoms(*ROUGH) if e.free_symbols & fields]
    return [e for e in rough if not any(e is not other and e.has(other) for other in rough)]


def _normal(gap: sp.Expr, fields: set[sp.Symbol]) -> tuple[sp.Expr, int]:
    """Return a normal form of a plane's equation, the same for all its multiples, and the sign of
    the factor that was divided out.
    """
    gap = sp.expand(gap)
    first = min(gap.free_symbols & fields, key=str, default=None)
    number = sp.S.One if first is None else sp.diff(gap, first).as_coeff_Mul()[0]
    if first is None and gap.could_extract_minus_sign():
        number = -number
    return sp.expand(gap / number), int(sp.sign(number))


def _on_a_side(
    expression: sp.Expr, inner: list[sp.Expr], gap: sp.Expr, side: int, fields: set[sp.Symbol]
) -> sp.Expr:
    """Return an expression on one side of a plane."""
    places: dict[sp.Expr, sp.Expr] = {}
    for rough in inner:
        for each in gaps_of(rough):
            same, sign = _normal(each, fields)
            if same == gap:
                places[rough] = _value(rough, each, sign * side)
                break
    return expression.xreplace(places)


def _value(rough: sp.Expr, gap: sp.Expr, sign: int) -> sp.Expr:
    """Return the value of a function with a kink on the side where ``gap`` has a sign."""
    if isinstance(rough, sp.sign):
        return sp.Integer(sign)
    if isinstance(rough, sp.Heaviside):
        return sp.Integer(sign > 0)
    if isinstance(rough, sp.Abs):
        return sign * rough.args[0]
    a, b = next((a, b) for n, a in enumerate(rough.args) for b in rough.args[:n] if a - b == gap)
    smaller = b if sign > 0 else a
    dropped = smaller if isinstance(rough, sp.Max) else a + b - smaller
    return rough.func(*(e for e in rough.args if e != dropped))
