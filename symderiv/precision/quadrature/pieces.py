r"""Piecewise analytic functions: where the kinks are, and the analytic function on each piece.

The arguments of |.|, sign, Heaviside, Max and Min change sign at the kinks. These are isolated with
ball arithmetic: an interval on which the argument keeps its sign holds none, one on which it is
monotone holds one or none, others are halved. Between neighbouring kinks every such function is one
of its branches.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Final

import sympy as sp
from flint import arb

from symderiv.foundation.errors import NotYetError
from symderiv.precision.balls.working import power_of_two, working_bits
from symderiv.precision.quadrature.one_variable import KINKED, OneVariable

_DEPTH: Final = 60
_MAX_ROOTS: Final = 40


@dataclass(frozen=True)
class AnalyticPiece:
    """An analytic function between two points (balls around kinks, or the ends)."""

    low: arb
    high: arb
    expression: sp.Expr


def pieces(g: sp.Expr, x: sp.Symbol, low: float, high: float, bits: int) -> list[AnalyticPiece]:
    """Return the pieces of ``g`` on [low, high].

    Args:
        g: Function of ``x``.
        x: Its variable.
        low, high: Not at a kink.
        bits: Accuracy of the kinks.

    Raises:
        NotYetError: The kinks cannot be isolated.
    """
    with working_bits(bits):
        arguments = _arguments(g)
        kinks: list[arb] = []
        for e in arguments:
            if e.has(*KINKED):
                raise NotYetError(f"not yet: kinks inside kinks, as in {g}, cannot be integrated")
            if e.has(x):
                for root in _roots(e, x, low, high, bits):
                    if not any(root.overlaps(k) for k in kinks):
                        kinks.append(root)
        kinks.sort(key=float)
        ends = [arb(low), *kinks, arb(high)]
        branches = []
        for a, b in pairwise(ends):
            branches.append(AnalyticPiece(a, b, _branch(g, x, ((a + b) / 2).mid())))
        return branches


def _arguments(g: sp.Expr) -> list[sp.Expr]:
    """Return the expressions that change their signs at kinks."""
    arguments: list[sp.Expr] = []
    for node in sorted(g.atoms(*KINKED), key=sp.default_sort_key):
        if isinstance(node, sp.Max | sp.Min):
            arguments += [a - b for a, b in combinations(node.args, 2)]
        else:
            arguments.append(node.args[0])
    return arguments


def _branch(e: sp.Expr, x: sp.Symbol, middle: arb) -> sp.Expr:
    """Return ``e`` as it is on the piece around ``middle``, without kinks."""
    if not e.has(*KINKED):
        return e
    args = [_branch(a, x, middle) for a in e.args]
    if isinstance(e, sp.Abs):
        return _side(args[0], x, middle) * args[0]
    if isinstance(e, sp.sign):
        return sp.Integer(_side(args[0], x, middle))
    if isinstance(e, sp.Heaviside):
        return sp.Integer((_side(args[0], x, middle) + 1) // 2)
    if isinstance(e, sp.Max | sp.Min):
        best = args[0]
        for other in args[1:]:
            above = _side(other - best, x, middle) > 0
            if above == isinstance(e, sp.Max):
                best = other
        return best
    return e.func(*args)


def _side(argument: sp.Expr, x: sp.Symbol, middle: arb) -> int:
    value = OneVariable(argument, x).on_real(128)(middle)
    value = arb(value)
    if value > 0:
        return 1
    if value < 0:
        return -1
    raise NotYetError(f"not yet: the sign of {argument} between its zeros is not certain")


def _roots(e: sp.Expr, x: sp.Symbol, low: float, high: float, bits: int) -> list[arb]:
    """Return enclosures of all zeros, which have to be simple."""
    value = OneVariable(e, x).on_real(bits)
    slope = OneVariable(sp.diff(e, x), x).on_real(bits)
    roots: list[arb] = []
    # unequal parts, so that a zero at a round number is not an end of a part
    waiting = [(low, low + (high - low) * 0.4871, 0), (low + (high - low) * 0.4871, high, 0)]
    while waiting:
        a, b, depth = waiting.pop()
        interval = arb(a).union(arb(b))
        inside = arb(value(interval))
        if inside.is_finite() and not inside.contains(0):
            continue
        steep = arb(slope(interval))
        if steep.is_finite() and not steep.contains(0):
            ends = arb(value(arb(a))) * arb(value(arb(b)))
            if ends > 0:
                continue
            if ends < 0:
                roots.append(_newton(value, slope, interval, bits))
                continue
        if depth > _DEPTH or len(roots) > _MAX_ROOTS:
            raise NotYetError(f"not yet: the zeros of {e} cannot be isolated")
        middle = a + (b - a) * 0.4871
        waiting += [(a, middle, depth + 1), (middle, b, depth + 1)]
    return roots


_Real = Callable[[arb], arb]


def _newton(value: _Real, slope: _Real, interval: arb, bits: int) -> arb:
    """Return the only zero in an interval, on which the function is monotone, as a small ball.

    Newton's method for intervals is used, and halving where it does not help.
    """
    rising = arb(slope(interval)) > 0
    # a zero at 0 could be narrowed down for ever
    enough = power_of_two(-bits)
    while interval.rad() > enough:
        middle = interval.mid()
        better = (middle - arb(value(middle)) / arb(slope(interval))).intersection(interval)
        if not better.rad() < 0.75 * interval.rad():
            # the zero is between points of opposite sign, an eighth from the ends at least
            low, high = interval.lower(), interval.upper()
            for share in (0.375, 0.625):
                point = (low + (high - low) * share).mid()
                above = arb(value(point)) if rising else -arb(value(point))
                if above > 0:
                    high = high.min(point)
                elif above < 0:
                    low = low.max(point)
            better = low.union(high)
        if not better.rad() < 0.9 * interval.rad():
            return better
        interval = better
    return interval
