"""Plateaus as formulas: that of Saad and Solla, gradients of modules along the line."""

from functools import cache

import numpy as np
import pytest
import sympy as sp
from support.plain_module import checked_in

from symderiv.analysis.plateau.closed_plateau import PlateauForms
from symderiv.analysis.plateau.plateau_algebra import TEACHER, M, c
from symderiv.analysis.plateau.plateau_forms import linearised_matrices, plateau_forms
from symderiv.analysis.symmetric import D, reduced_equations
from symderiv.learning.derivation.learning_equations import LearningEquations, derive_equations
from symderiv.learning.rule.learning_problem import learning_problem

module = checked_in("quadratic")
UNITS, T1, D1 = 3, 1.3, 0.2


@cache
def derived(name: str) -> tuple[LearningEquations, PlateauForms]:
    equations = derive_equations(learning_problem(name))
    return equations, plateau_forms(equations)


def at(expression: sp.Expr, length: float) -> float:
    return float(expression.subs({M: UNITS, TEACHER: T1, D: D1, c: length}))


def test_the_plateau_of_saad_and_solla() -> None:
    """Isotropic teachers: R = 1/√(M (2M-1)), Q = 1/(2M-1), height (1/π) (π/6 - M asin(1/(2M)))."""
    _, forms = derived("erf")
    assert forms.closed["difference_stiffness"] == 0
    for m in (2, 3, 7):
        place = {M: m, TEACHER: 1, D: 0}
        R, Q, error = (
            float(forms.closed[name].subs(place)) for name in ("R", "Q", "generalization_error")
        )
        assert pytest.approx(1 / np.sqrt(m * (2 * m - 1))) == R
        assert pytest.approx(1 / (2 * m - 1)) == Q
        assert error == pytest.approx((np.pi / 6 - m * np.arcsin(1 / (2 * m))) / np.pi)


def module_at(lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """A, B and the error of students that are multiples of the sum of the teachers."""
    P = T1 + D1
    Q, R = UNITS * P * np.outer(lengths, lengths), P * np.tile(lengths[:, None], (1, UNITS))
    T = np.where(np.eye(UNITS, dtype=bool), T1, D1 / (UNITS - 1))
    v = np.full(UNITS, UNITS**-0.5)
    A, B, dv = np.empty((UNITS, UNITS)), np.empty((UNITS, UNITS)), np.empty(UNITS)
    module.gradients(Q, R, T, v, v, A, B, dv)
    return A, B, float(module.generalization_error(Q, R, T, v, v))


@pytest.mark.parametrize("length", [0.3, 0.9])
def test_forms_along_equal_students_are_the_gradients_of_the_module(length: float) -> None:
    _, forms = derived("quadratic")
    A, B, error = module_at(np.full(UNITS, length))
    assert at(forms.generalization_error, length) == pytest.approx(error, rel=1e-12)
    stiffness, kappa = A[0].sum(), A[0, 0] - A[0, 1]
    assert at(forms.symmetric_stiffness, length) == pytest.approx(stiffness, rel=1e-12)
    assert at(forms.difference_stiffness, length) == pytest.approx(kappa, rel=1e-11)
    phi = length * stiffness + B[0, 0]
    assert at(forms.stationarity, length) == pytest.approx(phi, rel=1e-11)
    h = 1e-5
    ends = [module_at(np.full(UNITS, length + s * h)) for s in (1, -1)]
    # K M P φ is the slope of the error
    slope = (ends[0][2] - ends[1][2]) / (2 * h)
    assert UNITS**2 * (T1 + D1) * phi == pytest.approx(slope, rel=1e-7)
    phis = [
        (length + s * h) * e[0][0].sum() + e[1][0, 0] for s, e in zip((1, -1), ends, strict=True)
    ]
    # with what A and B do when R of all students moves, by c P
    response = ((phis[0] - phis[1]) / (2 * h) - stiffness) / (T1 + D1)
    assert at(forms.length_response, length) == pytest.approx(response, rel=1e-7)
    # and when that of the first one does, its force against another one's
    apart = []
    for s in (1, -1):
        A, B, _ = module_at(length * np.array([1 + s * h, 1, 1]))
        forces = A[0, 0] + 2 * A[0, 1] - A[1, 0] - A[1, 1] - A[1, 2]
        apart.append(length * forces + B[0, 0])
    response = (apart[0] - apart[1]) / (2 * h) / (length * (T1 + D1))
    assert at(forms.one_length_response, length) == pytest.approx(response, rel=1e-7)


def test_the_matrices_of_the_specialising_state_have_the_rates_of_its_sectors() -> None:
    """One mode, ρ = 1: τ = T + D and θ = T - D/(M-1)."""
    equations, forms = derived("quadratic")
    reduced = reduced_equations(equations, paired=True, noise=False)
    found = linearised_matrices(reduced, forms)
    assert forms.length is not None
    place = {M: UNITS, TEACHER: T1, D: D1}
    G, row, difference, whole = (
        np.array(matrix.subs(place).evalf(), dtype=float)
        for matrix in (found.G, found.H_row, found.H_difference, found.H)
    )
    np.testing.assert_allclose(whole, row + difference, atol=1e-12)
    length = at(forms.length, 1.0)
    tau, theta = T1 + D1, T1 - D1 / (UNITS - 1)
    values = np.linalg.eigvals(-G + tau * row + theta * difference)
    a, kappa, pull, response = (
        at(form, length)
        for form in (
            forms.symmetric_stiffness,
            forms.difference_stiffness,
            forms.teacher_response,
            forms.length_response,
        )
    )
    expected = sorted([-a - response * tau, -2 * a, -kappa - pull * theta, -2 * kappa])
    np.testing.assert_allclose(np.sort(values.real), expected, rtol=1e-9)
    assert at(forms.stationarity, length) == pytest.approx(0.0, abs=1e-12)
