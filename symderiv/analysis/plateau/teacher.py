r"""Homogeneous teachers: equal variances T^(l) and covariances D^(l)/(M-1) in each order l.

T^(l)_nm = Σ_k w_k ρ_k^(l-2) t_k,nm is the moment of order l. The plateau needs orders 1 (the
covariance of the teachers' fields) and 2, and rates of single modes need the modes themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from flint import arb, fmpq

from symderiv.foundation.errors import InputError
from symderiv.precision.balls.working import working_bits

MAX_MODES = 4096
"""Rates of single modes are computed up to this many distinct eigenvalues."""


@dataclass(frozen=True)
class Modes:
    """Modes of the inputs; every entry is a ball.

    Attributes:
        eigenvalue: ρ_k, distinct.
        weight: w_k, sum 1.
        row_sum: τ_k = t_k,nn + (M-1) t_k,nm.
        difference: θ_k = t_k,nn - t_k,nm.
    """

    eigenvalue: tuple[arb, ...]
    weight: tuple[arb, ...]
    row_sum: tuple[arb, ...]
    difference: tuple[arb, ...]


@dataclass(frozen=True)
class HomogeneousTeacher:
    """M teachers with a common variance and a common covariance.

    Attributes:
        units: M, at least 2.
        moments: A function from a working precision in bits to T1, D1, T2, D2 as balls; D is the
            sum of a row's off-diagonal entries.
        modes: A function from a working precision to the modes, or None if only the moments are
            known.
        words: The description of the spectrum.
    """

    units: int
    moments: Callable[[int], tuple[arb, arb, arb, arb]]
    modes: Callable[[int], Modes] | None
    words: str


def rational_ball(value: Fraction) -> arb:
    """Return an exact rational as a ball."""
    return arb(fmpq(int(value.numerator), int(value.denominator)))


def power_law_balls(count: int, exponent: Fraction) -> list[arb]:
    """Return eigenvalues ∝ k^-(1+β) with mean 1, k = 1 … count, at the present precision."""
    power = -rational_ball(1 + exponent)
    shape = [arb(k) ** power for k in range(1, count + 1)]
    scale = count / sum(shape, arb(0))
    return [scale * x for x in shape]


def _checked_units(units: int) -> int:
    if units < 2:
        raise InputError(
            f"{units} is too few; a symmetric plateau needs at least 2 units", argument="units"
        )
    return units


def _check(order: int, units: int, T: Fraction, D: Fraction) -> None:
    if not T > 0:
        raise InputError(f"{T} is not positive, and it is a variance", argument=f"T{order}")
    highest = (units - 1) * T
    if not -T < D < highest:
        raise InputError(
            f"{D} is out of range: T^({order}) is positive definite only for -T{order} < D{order} "
            f"< (M - 1) T{order}, here between {-T} and {highest} (D is the sum of the "
            "off-diagonal entries of a row)",
            argument=f"D{order}",
        )


def teacher_of_moments(
    units: int, T1: Fraction, D1: Fraction, T2: Fraction, D2: Fraction
) -> HomogeneousTeacher:
    """Return a teacher whose moments of orders 1 and 2 are known, as exact rationals.

    With T2 = T1 and D2 = D1 the inputs are isotropic: one mode, ρ = 1.

    Raises:
        InputError: Fewer than 2 units, a variance that is not positive, or a covariance for which
            the matrix is not positive definite; the message names the bound.
    """
    _checked_units(units)
    _check(1, units, T1, D1)
    _check(2, units, T2, D2)

    def moments(bits: int) -> tuple[arb, arb, arb, arb]:
        with working_bits(bits):
            return rational_ball(T1), rational_ball(D1), rational_ball(T2), rational_ball(D2)

    def modes(bits: int) -> Modes:
        with working_bits(bits):
            one = arb(1)
            T, D = rational_ball(T1), rational_ball(D1)
            return Modes((one,), (one,), (T + D,), (T - D / (units - 1),))

    isotropic = T1 == T2 and D1 == D2
    words = "isotropic inputs" if isotropic else "moments of orders 1 and 2"
    return HomogeneousTeacher(units, moments, modes if isotropic else None, words)


def teacher_of_power_law(units: int, count: int, exponent: Fraction) -> HomogeneousTeacher:
    r"""Return the mean teacher with entries N(0, 1) and inputs of eigenvalues ρ_k = ρ_+ k^-(1+β),
    mean 1.

    T_nm^(l) = δ_nm Σ_k w_k ρ_k^l, so T1 = 1 and D1 = D2 = 0.

    Args:
        units: M.
        count: L, from 1 to :data:`MAX_MODES`.
        exponent: β, a rational above -1 (eigenvalues must differ).

    Raises:
        InputError: A value is outside its range.
    """
    _checked_units(units)
    if not 1 <= count <= MAX_MODES:
        raise InputError(
            f"{count} is not between 1 and {MAX_MODES}", argument="distinct_eigenvalues"
        )
    if not -1 < exponent <= 100:
        raise InputError(
            f"{exponent} is not above -1 and at most 100 (eigenvalues ~ k^-(1+beta))",
            argument="exponent",
        )

    def modes(bits: int) -> Modes:
        # More bits, because a steep spectrum spans many orders of magnitude.
        with working_bits(bits + 40):
            rho = tuple(power_law_balls(count, exponent))
            square = tuple(x * x for x in rho)
            return Modes(rho, (arb(1) / count,) * count, square, square)

    def moments(bits: int) -> tuple[arb, arb, arb, arb]:
        spectrum = modes(bits)
        with working_bits(bits):
            second = sum(
                (w * x for w, x in zip(spectrum.weight, spectrum.difference, strict=True)), arb(0)
            )
        return arb(1), arb(0), second, arb(0)

    return HomogeneousTeacher(units, moments, modes, f"power law, L = {count}, beta = {exponent}")
