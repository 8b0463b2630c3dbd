r"""The plateau in closed form against the Jacobian of the full equations, to more than 25 digits.

The full right-hand side is the hand-written one of ``support.reference_dynamics`` (sums of I3, in
ball arithmetic), which shares no formula with the engine. Its Jacobian at the plateau comes from
central differences with a step of 2^-100 in 340 bits: the error of the differences is of order
2^-200. Eigenvalues of that matrix, all of them with multiplicities, are computed with mpmath.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import flint
import mpmath
import pytest
import sympy as sp
from flint import arb
from support.plateau_teachers import rational, two_modes
from support.reference_dynamics import Problem

from symderiv.analysis.plateau.closed_plateau import PlateauForms
from symderiv.analysis.plateau.plateau_forms import plateau_forms
from symderiv.analysis.plateau.stability import PlateauNumbers, plateau_numbers
from symderiv.analysis.plateau.teacher import (
    HomogeneousTeacher,
    teacher_of_moments,
)
from symderiv.learning.derivation.learning_equations import derive_equations
from symderiv.learning.rule.learning_problem import learning_problem
from symderiv.precision.balls.working import working_bits

pytestmark = pytest.mark.turns(9)

BITS = 340
STEP = 100


@lru_cache
def forms_of(name: str) -> PlateauForms:
    return plateau_forms(derive_equations(learning_problem(name)))


def isotropic(M: int, T: str, D: str) -> HomogeneousTeacher:
    one, other = rational(T), rational(D)
    return teacher_of_moments(M, one, other, one, other)


def full_problem(teacher: HomogeneousTeacher, learning_rate: Any) -> Problem:
    M = teacher.units
    assert teacher.modes is not None
    modes = teacher.modes(BITS)

    def matrix(row: Any, difference: Any) -> Any:
        off = (row - difference) / M
        return [[difference + off if a == b else off for b in range(M)] for a in range(M)]

    T1, D1, _, _ = teacher.moments(BITS)
    overlaps = [
        matrix(row, other) for row, other in zip(modes.row_sum, modes.difference, strict=True)
    ]
    T, v = matrix(T1 + D1, T1 - D1 / (M - 1)), [1 / arb(M).sqrt()] * M
    others = [arb(0)] * 4
    spectrum = list(modes.eigenvalue), list(modes.weight)
    return Problem(*spectrum, overlaps, T, v, M, learning_rate, *others, full=False)


def plateau_state(teacher: HomogeneousTeacher, numbers: PlateauNumbers) -> list[Any]:
    M = teacher.units
    assert teacher.modes is not None
    modes = teacher.modes(BITS)
    q, r = [], []
    for rho, row in zip(modes.eigenvalue, modes.row_sum, strict=True):
        q += [numbers.length**2 * M * row / rho**2] * M**2
        r += [numbers.length * row / rho] * M**2
    return [x.mid() for x in (*q, *r)]


def jacobian(problem: Problem, state: list[Any]) -> list[list[Any]]:
    size = len(state)
    weights = [1 / arb(problem.K).sqrt()] * problem.K
    step = arb(2) ** -STEP
    columns = []
    for b in range(size):
        ends = []
        for sign in (1, -1):
            moved = [x + sign * step if a == b else x for a, x in enumerate(state)]
            ends.append(problem.rhs([*moved, *weights])[:size])
        columns.append([((x - y) / (2 * step)).mid() for x, y in zip(*ends, strict=True)])
    return [list(row) for row in zip(*columns, strict=True)]


def eigenvalues(matrix: list[list[Any]]) -> list[Any]:
    with mpmath.workprec(BITS):
        entries = [[mpmath.mpf(x.str(100, radius=False)) for x in row] for row in matrix]
        found = mpmath.eig(mpmath.matrix(entries), left=False, right=False)
        assert all(abs(x.imag) < mpmath.mpf(10) ** -28 for x in found)
        return sorted(x.real for x in found)


CASES = [isotropic(2, "1", "0"), isotropic(3, "1.3", "0.2"), two_modes(2), two_modes(3)]


@pytest.mark.parametrize("teacher", CASES, ids=["2", "3", "2-modes", "3-modes"])
def test_all_eigenvalues_of_the_full_jacobian(teacher: HomogeneousTeacher) -> None:
    with working_bits(BITS):
        rate = arb(flint.fmpq(7, 10))
        numbers = plateau_numbers(forms_of("erf"), teacher, sp.Rational(7, 10), BITS)
        problem = full_problem(teacher, rate)
        state = plateau_state(teacher, numbers)
        weights = [1 / arb(teacher.units).sqrt()] * teacher.units
        assert max(abs(x) for x in problem.rhs([*state, *weights])) < arb(10) ** -90
        found = eigenvalues(jacobian(problem, state))
        expected = [
            value for g in numbers.groups for value in g.values or () for _ in range(g.multiplicity)
        ]
        # The full equations store Q_ij and Q_ji; an antisymmetric part of Q decays like "spread".
        spread = next(g for g in numbers.groups if g.sector.name == "spread")
        expected += [value for value in spread.values or () for _ in range(spread.multiplicity)]
        assert len(expected) == len(found)
        with mpmath.workprec(BITS):
            ours = sorted(mpmath.mpf(x.mid().str(60, radius=False)) for x in expected)
            for one, other in zip(ours, found, strict=True):
                assert abs(one - other) < mpmath.mpf(10) ** -26 * max(abs(one), 1)
            # The escape rate itself to 40 digits.
            top = mpmath.mpf(numbers.unstable_eigenvalue.mid().str(60, radius=False))
            assert abs(top / found[-1] - 1) < mpmath.mpf(10) ** -40


@pytest.mark.parametrize(("M", "T", "D"), [(5, "0.7", "-0.1"), (4, "2.5", "1.5"), (6, "1", "-0.9")])
def test_the_escape_direction_grows_at_the_predicted_rate(M: int, T: str, D: str) -> None:
    """J z = λ z along r_ii = 1, r_in = -1/(M - 1), by one directional difference."""
    teacher = isotropic(M, T, D)
    with working_bits(BITS):
        numbers = plateau_numbers(forms_of("erf"), teacher, sp.Integer(1), BITS)
        problem = full_problem(teacher, arb(1))
        state = plateau_state(teacher, numbers)
        weights = [1 / arb(M).sqrt()] * M
        direction = [arb(0)] * M**2
        direction += [arb(1) if a == b else -arb(1) / (M - 1) for a in range(M) for b in range(M)]
        step = arb(2) ** -STEP
        ends = [
            problem.rhs(
                [*(x + s * step * z for x, z in zip(state, direction, strict=True)), *weights]
            )[: len(state)]
            for s in (1, -1)
        ]
        for plus, minus, z in zip(*ends, direction, strict=True):
            rate = (plus - minus) / (2 * step)
            assert abs((rate - numbers.unstable_eigenvalue * z).mid()) < arb(10) ** -50
        error = problem.error([*state, *weights])
        assert abs((error - numbers.generalization_error).mid()) < arb(10) ** -80
