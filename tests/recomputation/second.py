"""Both sides of a claim at a point, in the arithmetic of its rule and in another one.

A rule computes in mpmath with some digits. Here the same sides are computed in balls (python-flint)
with 30 digits more. Where a claim's points can be made in balls, everything is: the references
too ("balls throughout"). Else the references are made in mpmath with 30 digits more, and the sides
in balls ("sides in balls"). A rule that computes in balls is recomputed in mpmath.
"""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from typing import Any, Final

from flint import arb, fmpq
from symderiv_ledger.claims.claim import Claim, Point
from symderiv_ledger.claims.statement import parse_statement
from symderiv_ledger.rules.arithmetic import Indexed
from symderiv_ledger.rules.comparison_rules import Exact, pairs

from symderiv.foundation.errors import SymderivError
from symderiv.precision.balls.contexts import numbers

__all__ = ["Recomputed", "recomputed", "suits"]

MORE: Final = 30
#: What contexts say in other words than ours when a claim asks them for what they do not have.
_NOT_THERE: Final = (SymderivError, AttributeError, TypeError, ValueError, NotImplementedError)


@dataclass(frozen=True)
class Recomputed:
    """A point of a claim.

    Args:
        label: The point.
        how: "balls throughout", "sides in balls" or "mpmath".
        disagreements: What differs, a sentence each.
        values: How many sides were compared.
    """

    label: str
    how: str
    disagreements: tuple[str, ...]
    values: int


def suits(claim: Claim) -> bool:
    """Does the claim state digits, so that they can be checked?"""
    return bool(claim.statement) and isinstance(claim.rule, Exact) and not claim.thorough


def recomputed(claim: Claim, most: int) -> list[Recomputed]:
    """Some points of a claim; none if its statement has what the other arithmetic has not."""
    assert claim.points is not None
    rule = claim.rule
    assert isinstance(rule, Exact)
    with numbers(rule.digits, rule.backend) as first:
        points = list(islice(claim.points(first), most))
        before = [_sides(claim, point, first) for point in points]
    if rule.backend == "arb":
        routes = [("mpmath", _in_mpmath)]
    else:
        routes = [("balls throughout", _in_balls), ("sides in balls", _sides_in_balls)]
    for how, route in routes:
        try:
            after = list(route(claim, most))
        except _NOT_THERE:
            continue
        found = zip(points, before, after, strict=True)
        return [_compared(rule, point, how, one, two) for point, one, two in found]
    return []


Sides = list[tuple[str, ast.cmpop, Any, Any]]


def _sides(claim: Claim, point: Point, context: Any) -> Sides:
    statement = parse_statement(claim.corrected or claim.statement)
    found = pairs(statement, claim.ranges, point, context)
    return [(pair.where, pair.relation, pair.left, pair.right) for pair in found]


def _in_balls(claim: Claim, most: int) -> Iterator[Sides]:
    assert claim.points is not None
    assert claim.rule is not None
    with numbers(claim.rule.digits + MORE, "arb") as balls:
        for point in islice(claim.points(balls), most):
            sides = _sides(claim, point, balls)
            if not all(
                isinstance(side, arb | int) for *_, left, right in sides for side in (left, right)
            ):
                raise TypeError("the references are not balls")
            yield sides


def _sides_in_balls(claim: Claim, most: int) -> Iterator[Sides]:
    assert claim.points is not None
    assert claim.rule is not None
    digits = claim.rule.digits + MORE
    with numbers(digits, "mpmath") as context:
        points = list(islice(claim.points(context), most))
        with numbers(digits, "arb") as balls:
            for point in points:
                values = _Balls(point.values, context)
                yield _sides(claim, Point(point.label, values), balls)


def _in_mpmath(claim: Claim, most: int) -> Iterator[Sides]:
    assert claim.points is not None
    assert claim.rule is not None
    with numbers(claim.rule.digits + MORE, "mpmath") as context:
        for point in islice(claim.points(context), most):
            yield _sides(claim, point, context)


class _Balls(Mapping[str, Any]):
    """The values of a point, their numbers as balls of radius zero."""

    def __init__(self, values: Mapping[str, Any], context: Any) -> None:
        self._values, self._context = values, context

    def __getitem__(self, name: str) -> Any:
        return self._ball(self._values[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def _ball(self, value: Any) -> Any:
        if isinstance(value, bool | int | arb):
            return value
        if isinstance(value, float | Fraction) or hasattr(value, "_mpf_"):
            return ball(value)
        if isinstance(value, Indexed):
            return Indexed(lambda *place: self._ball(value[place]), *value.ranges)
        if callable(value):

            def function(*arguments: Any) -> Any:
                inside = (
                    self._context.mpf(_fraction_text(x)) if isinstance(x, arb) else x
                    for x in arguments
                )
                return self._ball(value(*inside))

            return function
        raise TypeError(f"{type(value).__name__} has no ball")


def _fraction_text(value: arb) -> str:
    return value.str(2 * MORE + 40, radius=False)


def ball(value: Any) -> Any:
    """A number of any kind as an ``arb``, exactly."""
    if isinstance(value, arb):
        return value
    if hasattr(value, "_mpf_"):
        sign, mantissa, exponent, _ = value._mpf_
        if not mantissa and exponent:
            raise ValueError("not a finite number")
        exact = arb(int(mantissa)) * arb(2) ** int(exponent)
        return -exact if sign else exact
    exact = Fraction(value)
    return arb(fmpq(exact.numerator, exact.denominator))


def _compared(rule: Exact, point: Point, how: str, before: Sides, after: Sides) -> Recomputed:
    found, count = [], 0
    with numbers(rule.digits + MORE, "arb"):
        tolerance = 10.0 ** -(rule.digits - rule.lost)
        for (where, relation, *one), (_, _, *two) in zip(before, after, strict=True):
            for name, old, new in zip(("left", "right"), one, two, strict=True):
                count += 1
                if not _close(old, new, tolerance, rule.scale):
                    found.append(f"{where}: the {name} side is {old} and then {new}")
            sharper = (ball(two[0]) - ball(two[1])).abs_lower()
            size = max(abs(float(ball(side))) for side in two)
            if isinstance(relation, ast.Eq):
                if not float(sharper) <= tolerance * max(size, rule.scale):
                    found.append(f"{where}: the sides {two[0]} and {two[1]} differ")
            elif _order(relation, one) != _order(relation, two):
                found.append(f"{where}: the inequality is decided differently")
    return Recomputed(point.label, how, tuple(found), count)


def _close(old: Any, new: Any, tolerance: float, scale: float) -> bool:
    old, new = ball(old), ball(new)
    difference = float(abs(old - new).abs_upper())
    return difference <= tolerance * max(abs(float(new)), scale)


def _order(relation: ast.cmpop, sides: Any) -> bool:
    left, right = (ball(side) for side in sides)
    if isinstance(relation, ast.Lt | ast.LtE):
        return bool(left < right) or bool(isinstance(relation, ast.LtE) and left <= right)
    return bool(left > right) or bool(isinstance(relation, ast.GtE) and left >= right)
