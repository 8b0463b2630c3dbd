r"""Polynomials in conditional covariance entries, the weights Stein's rule produces.

A weight is a dictionary from monomials to rationals; a monomial is a sorted tuple of
(entry, exponent) and an entry names a conditional covariance, mean, or the imaginary unit. They are
kept unevaluated so that the same weights serve the folded and the unfolded result.
"""

from __future__ import annotations

from fractions import Fraction

Entry = tuple[object, ...]
Monomial = tuple[tuple[Entry, int], ...]
Weight = dict[Monomial, Fraction]

ONE: Weight = {(): Fraction(1)}
IMAGINARY: Entry = ("i",)


def of_entry(entry: Entry, exponent: int = 1) -> Weight:
    """Return the weight that is one entry to a power."""
    return {((entry, exponent),): Fraction(1)}


def scaled(a: Weight, factor: Fraction | int) -> Weight:
    """Return a weight times a rational."""
    return {m: c * factor for m, c in a.items()} if factor else {}


def add(into: Weight, other: Weight) -> None:
    """Add ``other`` to ``into``, dropping what cancels."""
    for m, c in other.items():
        total = into.get(m, 0) + c
        if total:
            into[m] = Fraction(total)
        else:
            into.pop(m, None)


def times(a: Weight, b: Weight) -> Weight:
    """Return the product of two weights; i² = -1 is used."""
    if a == ONE:
        return b
    if b == ONE:
        return a
    total: Weight = {}
    for m, c in a.items():
        for n, d in b.items():
            monomial, sign = _merge(m, n)
            add(total, {monomial: c * d * sign})
    return total


def _merge(m: Monomial, n: Monomial) -> tuple[Monomial, int]:
    powers = dict(m)
    for entry, exponent in n:
        powers[entry] = powers.get(entry, 0) + exponent
    sign = 1
    if IMAGINARY in powers:
        power = powers.pop(IMAGINARY) % 4
        sign = -1 if power >= 2 else 1
        if power % 2:
            powers[IMAGINARY] = 1
    return tuple(sorted((e, p) for e, p in powers.items() if p)), sign


def real_and_imaginary(a: Weight) -> tuple[Weight, Weight]:
    """Return the real and the imaginary part of a weight."""
    real: Weight = {}
    imaginary: Weight = {}
    for m, c in a.items():
        rest = tuple(item for item in m if item[0] != IMAGINARY)
        (imaginary if len(rest) < len(m) else real)[rest] = c
    return real, imaginary
