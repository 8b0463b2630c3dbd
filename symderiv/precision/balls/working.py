"""The working precision of ball arithmetic, and balls from exact numbers and bounds."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TypeAlias

from flint import acb, arb, ctx

#: A real or a complex number with its proved radius.
Ball: TypeAlias = arb | acb


@contextmanager
def working_bits(bits: int) -> Iterator[None]:
    """Set the precision of ball arithmetic to ``bits`` inside the block."""
    before = ctx.prec
    ctx.prec = bits
    try:
        yield
    finally:
        ctx.prec = before


def bits_of(digits: int) -> int:
    """Return the number of bits that hold this many decimal digits."""
    return math.ceil(digits * math.log2(10)) + 4


def bits_below(bound: arb, scale: arb, spare: float) -> int:
    """Return the precision, with bits to spare, at which rounding of ``scale`` is below a bound."""
    with working_bits(64):
        ratio = float((scale / bound).log()) / math.log(2)
    return max(64, math.ceil(ratio + spare))


def power_of_two(exponent: int) -> arb:
    """Return 2**exponent, exactly."""
    return arb((1, exponent))


def around_zero(bound: arb) -> arb:
    """Return the ball of all numbers of at most the size of ``bound``."""
    return arb(0, bound.abs_upper())


def largest_of(values: Sequence[arb]) -> arb:
    """Return a number that is at least as large as all of these balls."""
    most = values[0]
    for value in values[1:]:
        most = most.max(value)
    return most.upper()
