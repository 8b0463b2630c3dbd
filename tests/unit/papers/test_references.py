"""The states and integrals that claims are compared with, each by a second route."""

import itertools
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
import sympy as sp
from pairs.activations import ACTIVATIONS
from support.plain_module import checked_in, module_rates
from symderiv_papers.references.homogeneous import Teachers
from symderiv_papers.references.integrals import Integrals, covariances, is_singular
from symderiv_papers.references.moments import generalization_error, motion
from symderiv_papers.references.plateaus import (
    homogeneous_teachers,
    jacobian,
    plateau_error,
    plateau_length,
    plateau_moments,
    unequal_plateau,
)
from symderiv_papers.references.vectors import Field, Network, field_integral, moments_of, networks

from symderiv.analysis.plateau.closed_plateau import PlateauForms
from symderiv.analysis.plateau.plateau_algebra import SYMBOLS
from symderiv.analysis.plateau.plateau_forms import plateau_forms
from symderiv.learning.derivation.learning_equations import derive_equations
from symderiv.learning.rule.learning_problem import learning_problem
from symderiv.precision.balls.contexts import numbers

pytestmark = pytest.mark.days(6)


def test_covariances_have_all_kinds() -> None:
    for size in (2, 3, 4):
        found = covariances(size)
        singular = [is_singular(rows) for _, rows in found]
        assert sum(singular) >= 4
        assert not all(singular)


@pytest.mark.parametrize("activation", ["erf", "relu"])
def test_integrals_against_quadrature(activation: str) -> None:
    """I3 at a regular and at a singular covariance, over independent normal variables."""
    g, slope = ACTIVATIONS[activation].value, ACTIVATIONS[activation].slope
    rows = [
        [Fraction(2), Fraction(1), Fraction(1, 2)],
        [Fraction(1), Fraction(3), Fraction(1)],
        [Fraction(1, 2), Fraction(1), Fraction(2)],
    ]
    tied = [
        [Fraction(2), Fraction(1), Fraction(4)],
        [Fraction(1), Fraction(3), Fraction(2)],
        [Fraction(4), Fraction(2), Fraction(8)],
    ]
    nodes = np.linspace(-9, 9, 240)
    weights = np.exp(-(nodes**2) / 2) * (nodes[1] - nodes[0]) / np.sqrt(2 * np.pi)
    # the trapezoid rule is exact for smooth functions, of second order where there are kinks
    tolerance = 1e-12 if activation == "erf" else 5e-3
    with numbers(20, "mpmath") as context:
        integrals = Integrals(activation, context)
        for covariance in (rows, tied):
            c = np.array([[float(e) for e in row] for row in covariance])
            # v enters linearly: E[v | u, w]; w = a u + b z
            a = c[0, 2] / c[0, 0]
            b = np.sqrt(max(c[2, 2] - a * c[0, 2], 0.0))
            u = np.sqrt(c[0, 0]) * nodes[:, None]
            w = a * u + b * nodes[None, :]
            regress = np.linalg.lstsq(c[np.ix_([0, 2], [0, 2])], c[[0, 2], 1], rcond=None)[0]
            v = regress[0] * u + regress[1] * w
            expected = np.einsum("a,b,ab->", weights, weights, slope(u) * v * g(w))
            assert float(integrals.at(covariance)) == pytest.approx(expected, rel=tolerance)


@pytest.mark.parametrize("state", networks(), ids=lambda state: state.label)
def test_flow_against_the_spectral_kernel(state: Network) -> None:
    """The same derivatives from the equations of the single eigenspaces, in doubles."""
    K, M, L, eta = state.K, state.M, state.L, 0.7
    copies = state.N // L
    J, B = (
        np.array(rows, dtype=float).reshape(-1, L, copies)
        for rows in (state.student, state.teacher)
    )
    rho = np.array(state.eigenvalues, dtype=float)
    weight = np.full(L, 1 / L)
    # the kernel's arrays have the mode last; teachers are seen through rho B
    Qk = np.einsum("ika,jka->ijk", J, J) / copies
    rk = np.einsum("ika,nka->ink", J, B) * rho / copies
    tk = np.einsum("nka,mka->nmk", B, B) * rho**2 / copies
    T = np.sum(weight * tk / rho, axis=-1)
    v, v_teacher = np.full(K, np.sqrt(M) / K), np.full(M, 1 / np.sqrt(M))
    arrays = (Qk, rk, v, rho, weight, tk, T, v_teacher)
    dQ, dr, _ = module_rates(checked_in("erf"), arrays, (eta, 0.0, 0.0, 0.0, 0.0, 1.0))
    with numbers(30, "mpmath") as context:
        state_in_numbers = moments_of(state, context)
        found = motion(state_in_numbers, context.mpf(eta), context)
        for l in range(L):
            expected = np.sum(weight * rho**l * dQ, axis=-1)
            assert np.array(found.dQ[l], dtype=float) == pytest.approx(
                expected, rel=1e-10, abs=1e-12
            )
            expected = np.sum(weight * rho ** (l - 1.0) * dr, axis=-1)
            assert np.array(found.dR[l], dtype=float) == pytest.approx(
                expected, rel=1e-10, abs=1e-12
            )
        # ε_g from the means of products of the networks' outputs
        integrals = Integrals("erf", context)
        units = [(state.x(i + 1), state_in_numbers.v[i]) for i in range(K)]
        units += [(state.y(n + 1), -state_in_numbers.v_teacher[n]) for n in range(M)]
        total = sum(
            a * b * field_integral(integrals, state, x, y)
            for (x, a), (y, b) in itertools.product(units, repeat=2)
        )
        assert abs(total / 2 - generalization_error(state_in_numbers, context)) < 1e-27


def test_fields_have_the_covariances_of_their_definition() -> None:
    state = networks()[0]
    J, variance = state.student, state.variance
    direct = sum(a * b * r**4 for a, b, r in zip(J[0], J[1], variance, strict=True)) / state.N
    assert state.covariance(state.x(1, 1), state.x(2, 2)) == direct
    assert state.covariance(Field(J[0]), state.y(1)) == state.gram(J, state.teacher, 1)[0][0]
    # Cayley–Hamilton
    for l in range(2):
        lower = sum(c * state.nu(k + l) for k, c in enumerate(state.closure))
        assert state.nu(state.L + l) == -lower


@lru_cache(maxsize=1)
def _forms() -> PlateauForms:
    return plateau_forms(derive_equations(learning_problem("erf")))


def _closed(teacher: Teachers, numbers: Any, name: str) -> Any:
    """A closed form of ``symderiv plateau``."""
    closed = _forms().closed
    M, T, D = SYMBOLS
    exact = {M: sp.Integer(teacher.units), T: _rational(teacher.T(1)), D: _rational(teacher.D(1))}
    return numbers.mpf(str(sp.N(closed[name].xreplace(exact), 40)))


def _rational(value: Fraction) -> sp.Rational:
    return sp.Rational(value.numerator, value.denominator)


@pytest.mark.parametrize("orthonormal", [False, True])
def test_plateau_by_closed_form_and_by_the_flow(orthonormal: bool) -> None:
    with numbers(25, "mpmath") as context:
        for teacher in homogeneous_teachers(orthonormal=orthonormal):
            assert teacher.T(1) != 1
            assert teacher.D(1) != 0
            assert not orthonormal or (teacher.T(0), teacher.D(0)) == (1, 0)
            length = plateau_length(teacher, context)
            assert abs(length - _closed(teacher, context, "c")) < 1e-22
            error = _closed(teacher, context, "generalization_error")
            assert abs(plateau_error(teacher, length, context) - error) < 1e-22
            state = plateau_moments(teacher, length, context)
            rates = motion(state, context.one, context, full_order=False)
            for block in (rates.dQ, rates.dR):
                assert max(abs(x) for rows in block for row in rows for x in row) < 1e-20
            found = unequal_plateau(list(state.T[1]), context)
            assert max(abs(c - length) for c in found) < 1e-20


def test_jacobian_has_all_digits() -> None:
    with numbers(30, "mpmath") as context:
        x = [context.mpf(2) / 3, context.mpf(5)]
        found = jacobian(lambda y: [y[0] ** 3 * context.sqrt(y[1])], x, context)
        exact = [3 * x[0] ** 2 * context.sqrt(x[1]), x[0] ** 3 / (2 * context.sqrt(x[1]))]
        assert max(abs(a - b) for a, b in zip(found[0], exact, strict=True)) < 1e-28
        assert context.dps == 30
