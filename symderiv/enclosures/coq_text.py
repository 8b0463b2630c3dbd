"""Enclosures of closed formulas at one state as a Coq file, which coq-interval checks.

Every operation is a definition and a lemma that bounds it from the bounds of its arguments, so that
no formula is written out twice and each lemma is short. The intervals of Coq have no arcsine; it is
the arctangent of x / sqrt(1 - x²).

G. Melquiond, "Proving bounds on real-valued functions with computations", IJCAR 2008.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from flint import arb, fmpq

from symderiv.foundation.errors import NotYetError
from symderiv.precision.balls.operations import Entry, Operations
from symderiv.precision.balls.working import working_bits

#: Two rational numbers, the smaller one first.
Ends = tuple[Fraction, Fraction]

BITS, _DIGITS, _SHOWN = 160, 36, 25
_BINARY = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
_FUNCTIONS = {"sqrt": "sqrt {}", "exp": "exp {}", "log": "ln {}", "atan": "atan {}"}
_ARCS = {
    "asin": "atan ({0} / sqrt (1 - {0} * {0}))",
    "acos": "PI / 2 - atan ({0} / sqrt (1 - {0} * {0}))",
}
# Slack because Arb's balls and Coq's intervals round differently, most if a formula has x twice.
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
    """Return definitions, lemmas and theorems that bound each named result by two numbers.

    Args:
        start: The state, exact.
        statements: Lists of operations on it, each with its results: the position among the
            outputs, by name.

    Raises:
        NotYetError: There is an operation that coq-interval does not bound, such as erf.
    """
    lines = [_HEAD.format(bits=BITS)]
    with working_bits(2 * BITS):
        for number, (operations, named) in enumerate(statements):
            lines += _statement(f"t{number}_", start, operations, named)
    return "\n".join(lines) + "\n"


def _statement(
    letter: str, start: Sequence[Fraction], operations: Operations, named: Mapping[str, int]
) -> list[str]:
    lines: list[str] = []
    bounds: list[Ends] = []
    state = [_exact(each) for each in start]
    for place, entry in enumerate(operations.entries):
        leaf = entry[0] in ("state", "number")
        exact = ("number", start[entry[1]]) if entry[0] == "state" else entry
        parts = [] if leaf else [f"{letter}{each}" for each in entry[1:]]
        bounds.append(bounded(entry, state, bounds))
        own = f"{letter}{place}"
        lines += [
            f"Definition {own} : R := {formula(exact, parts)}.",
            _lemma(f"{own}_bounds", own, bounds[place], own, parts),
        ]
    for name, output in named.items():
        place = operations.outputs[output]
        whole = f"{letter}{place}"
        shown = ends_of(span(bounds[place]), _SHOWN)
        lines.append(_lemma(name, whole, shown, None, [whole], "Theorem"))
    return lines


def formula(entry: Entry, parts: Sequence[str]) -> str:
    """Return an operation as text.

    Args:
        entry: An operation other than a component of the state.
        parts: Its arguments, as text.

    Raises:
        NotYetError: coq-interval does not bound it.
    """
    name = entry[0]
    if name == "number":
        return fraction_text(entry[1])
    if name == "pi":
        return "PI"
    if name == "neg":
        return f"- {parts[0]}"
    if name in _BINARY:
        return f"{parts[0]} {_BINARY[name]} {parts[1]}"
    if name in _FUNCTIONS:
        return _FUNCTIONS[name].format(parts[0])
    if name in _ARCS:
        return _ARCS[name].format(parts[0])
    raise NotYetError(f"has no Coq file: coq-interval does not bound {name}", argument="to")


def bounded(entry: Entry, state: Sequence[arb], known: Sequence[Ends]) -> Ends:
    """Return two numbers that bound an operation such that Coq can prove it.

    Args:
        entry: The operation.
        state: Balls of the components of the state.
        known: Bounds of earlier operations.
    """
    name, *arguments = entry
    if name == "state":
        return ends_of(state[arguments[0]])
    if name == "number":
        return ends_of(_exact(arguments[0]))
    if name == "pi":
        return ends_of(arb.pi())
    given = [span(known[each]) for each in arguments]
    if name == "neg":
        return ends_of(-given[0])
    if name in _BINARY:
        values = {
            "add": arb.__add__,
            "sub": arb.__sub__,
            "mul": arb.__mul__,
            "div": arb.__truediv__,
        }
        return ends_of(values[name](*given))
    if name in _FUNCTIONS:
        return ends_of(getattr(given[0], name)())
    if name in _ARCS:
        x = given[0]
        angle = (x / (1 - x * x).sqrt()).atan()
        return ends_of(angle if name == "asin" else arb.pi() / 2 - angle, wider=_WIDER_ARC)
    raise NotYetError(f"has no Coq file: coq-interval does not bound {name}", argument="to")


def _exact(value: Fraction) -> arb:
    return arb(fmpq(value.numerator, value.denominator))


def _lemma(
    name: str,
    term: str,
    ends: Ends,
    unfolded: str | None,
    parts: Sequence[str],
    kind: str = "Lemma",
) -> str:
    used = list(dict.fromkeys(parts))
    steps = [f"generalize {each}_bounds." for each in used]
    steps += [f"unfold {unfolded}."] if unfolded else []
    steps += [f"generalize {' '.join(used)}."] if used else []
    stated = f"{kind} {name} : {between(ends, term)}."
    return f"{stated}\nProof. {' '.join([*steps, 'bounded.'])} Qed."


def between(ends: Ends, term: str) -> str:
    """Return the claim that a term lies between two numbers."""
    low, high = map(fraction_text, ends)
    return f"{low} <= {term} <= {high}"


def fraction_text(value: Fraction) -> str:
    """Return a rational number as text."""
    sign, size = ("- ", -value) if value < 0 else ("", value)
    whole = f"{size.numerator}"
    text = whole if size.denominator == 1 else f"({whole} / {size.denominator})"
    return f"({sign}{text})" if sign else text


def ends_of(value: arb, digits: int = _DIGITS, wider: arb | int = _WIDER) -> Ends:
    """Return decimals on both sides of a ball, a little outside of its ends.

    Raises:
        NotYetError: The ball has no ends.
    """
    if not value.is_finite():
        raise NotYetError("has no Coq file: the start is on the edge of a domain", argument="to")
    wide = wider * value.rad() + arb(10) ** (-digits)
    return _rounded(value - wide, digits, -1), _rounded(value + wide, digits, 1)


def decimal(value: arb, digits: int) -> Fraction:
    """Return a decimal close to the middle of a ball."""
    return _rounded(value.mid(), digits, 1)


def _rounded(value: arb, digits: int, side: int) -> Fraction:
    scaled = value * arb(10) ** digits
    whole = (scaled.lower().floor() if side < 0 else scaled.upper().ceil()).mid()
    mantissa, exponent = map(int, whole.man_exp())
    # the exponent of a whole number is not negative
    return Fraction(mantissa << exponent, 10**digits)


def span(ends: Ends) -> arb:
    """Return a ball that contains everything between two numbers."""
    low, high = map(_exact, ends)
    return low.union(high)
