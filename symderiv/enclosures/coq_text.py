"""Enclosures of closed formulas at one state as a Coq file, which coq-interval checks.

Every operation is a definition and a lemma that bounds it from the bounds of what it is made of, so
that no formula is written out twice and each lemma is short. Coq knows no arcsine in its intervals;
it is the arctangent of x / sqrt(1 - x²).

G. Melquiond, "Proving bounds on real-valued functions with computations", IJCAR 2008.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from flint import arb, fmpq

from symderiv.foundation.errors import NotYetError
from symderiv.precision.balls.operations import Operations
from symderiv.precision.balls.working import working_bits

__all__ = ["coq_text"]

_BITS, _DIGITS, _SHOWN = 160, 36, 25
_BINARY = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
_FUNCTIONS = {"sqrt": "sqrt {}", "exp": "exp {}", "log": "ln {}", "atan": "atan {}"}
_ARCS = {
    "asin": "atan ({0} / sqrt (1 - {0} * {0}))",
    "acos": "PI / 2 - atan ({0} / sqrt (1 - {0} * {0}))",
}
# Balls of Arb and intervals of Coq are rounded differently, most where a formula has x twice.
_WIDER, _WIDER_ARC = arb(1) + arb(2) ** -10, 4
_HEAD = """\
From Coq Require Import Reals.
From Interval Require Import Tactic.
Open Scope R_scope.

Ltac bounded := intros; interval with (i_prec {bits}).
"""


def coq_text(
    start: Sequence[Fraction], statements: Sequence[tuple[Operations, Mapping[str, int]]]
) -> str:
    """Return definitions, lemmas and theorems: numbers between which each named result is.

    Args:
        start: The state, exact.
        statements: Lists of operations on it, each with the results by name: places among its
            outputs.

    Raises:
        NotYetError: There is an operation that coq-interval does not bound, such as erf.
    """
    lines = [_HEAD.format(bits=_BITS)]
    with working_bits(2 * _BITS):
        for number, (operations, named) in enumerate(statements):
            lines += _statement(f"t{number}_", start, operations, named)
    return "\n".join(lines) + "\n"


def _statement(
    letter: str, start: Sequence[Fraction], operations: Operations, named: Mapping[str, int]
) -> list[str]:
    lines: list[str] = []
    bounds: list[arb] = []
    for place, entry in enumerate(operations.entries):
        text, value, parts = _operation(letter, entry, start, bounds)
        ends = _ends(value, _DIGITS, _WIDER_ARC if entry[0] in _ARCS else _WIDER)
        bounds.append(_ball(ends))
        lines += [
            f"Definition {letter}{place} : R := {text}.",
            _lemma(f"{letter}{place}_bounds", f"{letter}{place}", ends, f"{letter}{place}", parts),
        ]
    for name, output in named.items():
        place = operations.outputs[output]
        whole = f"{letter}{place}"
        lines.append(
            _lemma(name, whole, _ends(bounds[place], _SHOWN, _WIDER), None, [whole], "Theorem")
        )
    return lines


def _operation(
    letter: str, entry: tuple[Any, ...], start: Sequence[Fraction], bounds: Sequence[arb]
) -> tuple[str, arb, list[str]]:
    """Return an operation as text, its value and the names of what it is made of."""
    name, *arguments = entry
    if name in ("state", "number"):
        exact = start[arguments[0]] if name == "state" else arguments[0]
        value = arb(fmpq(exact.numerator, exact.denominator))
        return _fraction(exact), value, []
    if name == "pi":
        return "PI", arb.pi(), []
    parts = [f"{letter}{each}" for each in arguments]
    given = [bounds[each] for each in arguments]
    if name == "neg":
        return f"- {parts[0]}", -given[0], parts
    if name in _BINARY:
        values = {
            "add": arb.__add__,
            "sub": arb.__sub__,
            "mul": arb.__mul__,
            "div": arb.__truediv__,
        }
        return f"{parts[0]} {_BINARY[name]} {parts[1]}", values[name](*given), parts
    if name in _FUNCTIONS:
        return _FUNCTIONS[name].format(parts[0]), getattr(given[0], name)(), parts
    if name in _ARCS:
        x = given[0]
        angle = (x / (1 - x * x).sqrt()).atan()
        value = angle if name == "asin" else arb.pi() / 2 - angle
        return _ARCS[name].format(parts[0]), value, parts
    raise NotYetError(f"has no Coq file: coq-interval does not bound {name}", argument="to")


def _lemma(
    name: str,
    term: str,
    ends: tuple[Fraction, Fraction],
    unfolded: str | None,
    parts: Sequence[str],
    kind: str = "Lemma",
) -> str:
    used = list(dict.fromkeys(parts))
    steps = [f"generalize {each}_bounds." for each in used]
    steps += [f"unfold {unfolded}."] if unfolded else []
    steps += [f"generalize {' '.join(used)}."] if used else []
    low, high = map(_fraction, ends)
    stated = f"{kind} {name} : {low} <= {term} <= {high}."
    return f"{stated}\nProof. {' '.join([*steps, 'bounded.'])} Qed."


def _fraction(value: Fraction) -> str:
    sign, size = ("- ", -value) if value < 0 else ("", value)
    whole = f"{size.numerator}"
    text = whole if size.denominator == 1 else f"({whole} / {size.denominator})"
    return f"({sign}{text})" if sign else text


def _ends(value: arb, digits: int, wider: arb | int) -> tuple[Fraction, Fraction]:
    """Return decimals on both sides of a ball, further from its middle than its ends.

    Raises:
        NotYetError: The ball has no ends.
    """
    if not value.is_finite():
        raise NotYetError("has no Coq file: the start is on the edge of a domain", argument="to")
    wide = wider * value.rad() + arb(10) ** (-digits)
    return _rounded(value - wide, digits, -1), _rounded(value + wide, digits, 1)


def _rounded(value: arb, digits: int, side: int) -> Fraction:
    scaled = value * arb(10) ** digits
    whole = (scaled.lower().floor() if side < 0 else scaled.upper().ceil()).mid()
    mantissa, exponent = map(int, whole.man_exp())
    # the exponent of a whole number is not negative
    return Fraction(mantissa << exponent, 10**digits)


def _ball(ends: tuple[Fraction, Fraction]) -> arb:
    low, high = (arb(fmpq(each.numerator, each.denominator)) for each in ends)
    return low.union(high)
