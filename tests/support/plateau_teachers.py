"""Homogeneous teachers in general position: any modes, as exact rationals."""

from collections.abc import Sequence
from fractions import Fraction

import sympy as sp
from flint import arb

from symderiv.analysis.plateau.teacher import HomogeneousTeacher, Modes, rational_ball
from symderiv.precision.balls.working import working_bits

Rationals = Sequence[sp.Rational]


def rational(text: str) -> sp.Rational:
    """The exact number that a ratio or a decimal says."""
    return sp.Rational(Fraction(text).numerator, Fraction(text).denominator)


def two_modes(M: int) -> HomogeneousTeacher:
    """A teacher whose modes differ in all that they have."""
    given = (("3/2", "3/4"), ("1/3", "2/3"), ("2", "1/2"))
    rows = [rational(text) * (M - 1) for text in ("1/10", "-1/20")]
    return teacher_of_modes(M, *(list(map(rational, texts)) for texts in given), rows)


def teacher_of_modes(
    units: int, eigenvalues: Rationals, weights: Rationals, diagonal: Rationals, rows: Rationals
) -> HomogeneousTeacher:
    """Of t_k,nn and the row sums (M - 1) t_k,nm in the modes ρ_k with weights w_k."""

    def order(values: Rationals, power: int) -> sp.Rational:
        parts = zip(weights, eigenvalues, values, strict=True)
        return sp.Add(*(w * rho**power * x for w, rho, x in parts))

    exact = [order(values, power) for power in (-1, 0) for values in (diagonal, rows)]

    def balls(values: Rationals, bits: int) -> tuple[arb, ...]:
        with working_bits(bits):
            return tuple(map(rational_ball, values))

    def modes(bits: int) -> Modes:
        sums = [t + d for t, d in zip(diagonal, rows, strict=True)]
        differences = [t - d / (units - 1) for t, d in zip(diagonal, rows, strict=True)]
        return Modes(*(balls(each, bits) for each in (eigenvalues, weights, sums, differences)))

    def moments(bits: int) -> tuple[arb, arb, arb, arb]:
        first, second, third, fourth = balls(exact, bits)
        return first, second, third, fourth

    return HomogeneousTeacher(units, moments, modes, f"{len(eigenvalues)} modes")
