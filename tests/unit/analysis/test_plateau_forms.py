"""Plateaus as formulas: that of Saad and Solla, and the specialising state."""

from functools import cache

import numpy as np
import pytest
import sympy as sp

from symderiv.analysis.plateau.closed_plateau import PlateauForms
from symderiv.analysis.plateau.plateau_algebra import TEACHER, M, c
from symderiv.analysis.plateau.plateau_forms import linearised_matrices, plateau_forms
from symderiv.analysis.symmetric import D, reduced_equations
from symderiv.learning.derivation.learning_equations import LearningEquations, derive_equations
from symderiv.learning.rule.learning_problem import learning_problem

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
