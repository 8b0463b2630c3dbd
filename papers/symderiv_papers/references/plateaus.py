"""Symmetric plateaus by the engine's flow, without closed forms, for any teachers."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

from symderiv_papers.references.exact import as_number
from symderiv_papers.references.homogeneous import Teachers, ansatz, central_differences
from symderiv_papers.references.moments import Moments, Overlaps, generalization_error, motion

__all__ = [
    "homogeneous_teachers",
    "jacobian",
    "plateau_error",
    "plateau_length",
    "plateau_moments",
    "unequal_plateau",
]


@lru_cache(maxsize=16)
def homogeneous_teachers(*, L: int = 3, orthonormal: bool = False) -> tuple[Teachers, ...]:
    """Return random homogeneous teachers of 3, 2 and 5 units; T^(1) ≠ 1, D^(1) ≠ 0.

    Args:
        L: Distinct eigenvalues, of mean 1.
        orthonormal: T^(0)_nm = δ_nm.
    """
    return tuple(_teacher(M, L, orthonormal) for M in (3, 2, 5))


def _teacher(M: int, L: int, orthonormal: bool) -> Teachers:
    rng = random.Random(100 * M + L)
    shape = [Fraction(1, k) + Fraction(rng.randint(1, 9), 97) for k in range(1, L + 1)]
    scale = L / sum(shape, Fraction(0))
    while True:
        diagonal = [Fraction(rng.randint(8, 24), 16) for _ in shape]
        row = [Fraction(rng.choice((-5, -3, -2, 2, 3, 5)), 16) for _ in shape]
        if orthonormal:
            diagonal = [b + 1 - sum(diagonal, Fraction(0)) / L for b in diagonal]
            row = [d - sum(row, Fraction(0)) / L for d in row]
        if all(-b < d < (M - 1) * b for b, d in zip(diagonal, row, strict=True)):
            eigenvalues = tuple(scale * s for s in shape)
            return Teachers(M, eigenvalues, (Fraction(1, L),) * L, tuple(diagonal), tuple(row))


def jacobian(
    function: Callable[[list[Any]], list[Any]], point: Sequence[Any], numbers: Any
) -> list[list[Any]]:
    """Return derivatives of a vector function, rows by components, to all digits of mpmath numbers.

    Central differences with three times the digits; their error is of the order of the last digit
    squared.
    """
    digits = numbers.dps
    step = numbers.mpf(10) ** -digits
    try:
        numbers.dps = 3 * digits + 10
        columns = central_differences(function, [numbers.mpf(value) for value in point], step)
    finally:
        numbers.dps = digits
    return [[+column[row] for column in columns] for row in range(len(columns[0]))]


def plateau_moments(teacher: Teachers, length: Any, numbers: Any, top: int = 0) -> Moments:
    """Return the state J_i = length Σ_n B_n of all students, orders 0 … max(L, top)."""
    orders = range(max(teacher.modes, top) + 1)
    sums = [as_number(teacher.T(l) + teacher.D(l), numbers) for l in orders]
    R = [length * value for value in sums]
    Q = [length**2 * teacher.units * value for value in sums]
    units = teacher.units
    return replace(teacher.without_students(numbers), Q=ansatz(Q, Q, units), R=ansatz(R, R, units))


def plateau_length(teacher: Teachers, numbers: Any, activation: str = "erf") -> Any:
    """Return the same length without closed forms: where the engine's O(η) flow of R^(1)
    vanishes.
    """

    def rate(length: Any) -> Any:
        state = plateau_moments(teacher, length, numbers)
        found = motion(state, numbers.one, numbers, full_order=False, activation=activation)
        return found.dR[min(1, teacher.modes - 1)][0][0]

    low, high = numbers.mpf(1) / (64 * teacher.units), numbers.mpf(4)
    for _ in range(12):
        middle = (low + high) / 2
        low, high = (middle, high) if rate(middle) > 0 else (low, middle)
    return _secant(rate, low, high, numbers)


def _secant(function: Callable[[Any], Any], a: Any, b: Any, numbers: Any) -> Any:
    before, value = function(a), function(b)
    for _ in range(60):
        if value == before or abs(b - a) <= abs(b) * numbers.mpf(10) ** -(numbers.dps - 2):
            break
        a, b, before = b, b - value * (b - a) / (value - before), value
        value = function(b)
    return b


def unequal_plateau(T: Sequence[Sequence[Any]], numbers: Any, activation: str = "erf") -> list[Any]:
    """c_m of the fixed point J_i = Σ_m c_m B_m of equal students, for any teacher, K = M.

    dr_k = 0 for all modes k of the O(η) flow gives c_m = -B_m/Σ_j A_ij, with the gradients A and B
    of the engine, which depend on T^(1) only.

    Args:
        T: T_nm^(1), numbers (mpmath).
        numbers: The arithmetic, mpmath.
        activation: Of student and teacher.
    """
    M = len(T)
    units = range(M)
    weights = [1 / numbers.sqrt(numbers.mpf(M))] * M

    def force(length: list[Any]) -> list[Any]:
        R = [sum(T[n][m] * length[m] for m in units) for n in units]
        Q = sum(length[n] * R[n] for n in units)
        rows, square = [list(row) for row in T], [[Q] * M for _ in units]
        overlaps = Overlaps(square, [R] * M, rows, weights, weights, activation)
        A, B, _ = overlaps.gradients(numbers)
        return [length[m] * sum(A[0]) + B[0][m] for m in units]

    mean = sum(T[n][n] for n in units) / M
    found = [1 / numbers.sqrt(M * (M + (M - 1) * mean))] * M
    for _ in range(40):
        matrix = numbers.matrix(jacobian(force, found, numbers))
        change = numbers.lu_solve(matrix, numbers.matrix([-f for f in force(found)]))
        found = [a + b for a, b in zip(found, change, strict=True)]
        if max(abs(b) for b in change) <= numbers.mpf(10) ** -(numbers.dps - 3):
            return found
    raise AssertionError("no fixed point of this teacher was found")


def plateau_error(teacher: Teachers, length: Any, numbers: Any, activation: str = "erf") -> Any:
    """ε_g of the plateau state."""
    state = plateau_moments(teacher, length, numbers)
    return generalization_error(state, numbers, activation)
