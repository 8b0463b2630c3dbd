"""Plateaus against the generated modules: they stand still, and what leaves them leaves as said."""

from typing import Any

import numpy as np
import pytest
import sympy as sp
from flint import arb
from support.plain_module import checked_in, module_rates
from support.plateau_teachers import rational, two_modes

import symderiv
from symderiv.analysis.plateau.full_plateau import equal_students, full_plateau
from symderiv.analysis.plateau.plateau_forms import full_flow
from symderiv.analysis.plateau.teacher import (
    HomogeneousTeacher,
    teacher_of_moments,
)
from symderiv.foundation.errors import InputError
from symderiv.learning.derivation.learning_equations import derive_equations
from symderiv.learning.rule.learning_problem import learning_problem

pytestmark = pytest.mark.turns(15)

BITS = 120


class Full:
    """The generated module at one teacher, arrays with the eigenvalues last."""

    def __init__(self, name: str, teacher: HomogeneousTeacher, eta: float, order: float) -> None:
        self.module = checked_in(name)
        assert teacher.modes is not None
        modes = teacher.modes(BITS)
        self.M, self.eta, self.order = teacher.units, eta, order
        self.rho = np.array([float(x) for x in modes.eigenvalue])
        self.weight = np.array([float(x) for x in modes.weight])
        self.row = np.array([float(x) for x in modes.row_sum])
        theta = np.array([float(x) for x in modes.difference])
        self.v = np.full(self.M, 1 / np.sqrt(self.M))
        self.t = self.spread(theta + (self.row - theta) / self.M, (self.row - theta) / self.M)
        self.T = self.t @ (self.weight / self.rho)
        self.P = float(self.T[0].sum())

    def spread(self, same: Any, other: Any) -> np.ndarray:
        eye = np.eye(self.M, dtype=bool)[..., None]
        return np.ascontiguousarray(np.where(eye, same, other))

    def rates(self, q: np.ndarray, r: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        arrays = (q, r, self.v, self.rho, self.weight, self.t, self.T, self.v)
        dq, dr, _ = module_rates(self.module, arrays, (self.eta, 0.0, 0.0, 0.0, 0.0, self.order))
        return dq, dr

    def modes_of(self, Q: float, C: float, R: float) -> tuple[np.ndarray, np.ndarray]:
        """The overlaps of every mode that stand still at these order parameters."""
        M = self.M
        Qs, Rs = self.spread(Q, C)[..., 0], np.full((M, M), R)
        A, B, gamma, dv = (np.zeros((M, M)), np.empty((M, M)), np.zeros((M, M)), np.empty(M))
        self.module.gradients(Qs, Rs, self.T, self.v, self.v, A, B, dv)
        if self.order:
            self.module.noise(Qs, Rs, self.T, self.v, self.v, 0.0, gamma)
        stiff, kappa = A[0].sum(), A[0, 0] - A[0, 1]
        r = R / self.P * self.row / self.rho
        total = (-(M**2) * B[0, 0] * r / self.rho + self.eta * gamma[0].sum() / 2) / stiff
        apart = np.full_like(r, Q - C) if self.rho.size == 1 else None
        if apart is None:
            # κ (Q_k - C_k) = η (Γ_ii - Γ_ij)/2, the same for every mode
            apart = np.full_like(r, self.eta * (gamma[0, 0] - gamma[0, 1]) / (2 * kappa))
        off = (total - apart) / M
        return self.spread(off + apart, off), self.spread(r, r)


@pytest.mark.parametrize("M", [2, 3, 5])
def test_the_plateau_of_the_full_flow_stands_still_in_every_mode(M: int) -> None:
    teacher = two_modes(M)
    flow = full_flow(derive_equations(learning_problem("erf")))
    state = full_plateau(flow, teacher, rational("13/10"), BITS)
    full = Full("erf", teacher, 1.3, 1.0)
    numbers = [float(x) for x in (state.Q, state.C, state.R)]
    q, r = full.modes_of(*numbers)
    np.testing.assert_allclose(np.einsum("ijk,k->ij", q, full.weight * full.rho)[0, 0], numbers[0])
    dq, dr = full.rates(q, r)
    assert np.abs(dq).max() < 1e-14
    assert np.abs(dr).max() < 1e-14
    overlaps = full.spread(*numbers[:2])[..., 0], np.full((M, M), numbers[2])
    error = full.module.generalization_error(*overlaps, full.T, full.v, full.v)
    assert float(state.generalization_error) == pytest.approx(error, rel=1e-13)


@pytest.mark.parametrize(("M", "eta"), [(2, "7"), (3, "6.3")])
def test_plateaus_of_two_and_three_units_stand_still_at_large_rates(M: int, eta: str) -> None:
    teacher = teacher_of_moments(M, *map(rational, ("1", "0", "1", "0")))
    flow = full_flow(derive_equations(learning_problem("erf")), units=M)
    state = full_plateau(flow, teacher, rational(eta), BITS)
    Q, C = float(state.Q), float(state.C)
    full = Full("erf", teacher, float(eta), 1.0)
    dq, dr = full.rates(*full.modes_of(Q, C, float(state.R)))
    assert np.abs(dq).max() < 1e-13 * Q
    assert np.abs(dr).max() < 1e-13
    if M == 2:
        # Four different students cannot have these overlaps, and two need no mean of four.
        assert Q + 3 * C < -1
        # Newton's method on equations typed from Saad and Solla (1995), 40 digits
        assert pytest.approx(45.048826, rel=1e-7) == Q


def test_states_of_equal_students_are_left_out_where_no_vectors_have_them() -> None:
    given: Any = {"units": 2, "distinct_eigenvalues": 1, "exponent": 1, "full": True}
    equal = [
        symderiv.plateau(learning_rate=eta, **given).full_flow_equal_students for eta in (3, 5)
    ]
    assert equal[0]["generalization_error"] > 0
    assert equal[1] is None


def test_relu_students_stand_still_apart_also_without_noise() -> None:
    teacher = teacher_of_moments(3, *map(rational, ("1.3", "0.2", "1.3", "0.2")))
    flow = full_flow(derive_equations(learning_problem("relu")), noise=False)
    state = full_plateau(flow, teacher, sp.Integer(1), BITS)
    Q, C = float(state.Q), float(state.C)
    assert Q > 1.5 * C
    full = Full("relu", teacher, 1.0, 0.0)
    dq, dr = full.rates(*full.modes_of(Q, C, float(state.R)))
    assert np.abs(dq).max() < 1e-14
    assert np.abs(dr).max() < 1e-14


def test_equal_students_stand_still_and_escape_faster() -> None:
    teacher = teacher_of_moments(2, *map(sp.Integer, (1, 0, 1, 0)))
    flow = full_flow(derive_equations(learning_problem("erf")))
    equal = equal_students(flow, teacher, rational("1/2"), BITS, (1 / 3, 0.408))
    apart = full_plateau(flow, teacher, rational("1/2"), BITS)
    assert float(equal.unstable_eigenvalue) > 1.03 * float(apart.unstable_eigenvalue)
    full = Full("erf", teacher, 0.5, 1.0)
    Q, R = float(equal.Q), float(equal.R)
    dq, dr = full.rates(full.spread(Q, Q), full.spread(R, R))
    assert np.abs(dq).max() < 1e-15
    assert np.abs(dr).max() < 1e-15


def eigenvalues_of_the_flow(full: Full, Q: float, R: float) -> np.ndarray:
    """All eigenvalues of the Jacobian at equal students, by central differences in doubles."""
    length = R / full.P
    q = full.spread(length**2 * full.M * full.row / full.rho**2, 0.0)
    q += full.spread(0.0, length**2 * full.M * full.row / full.rho**2)
    r = full.spread(1.0, 1.0) * (length * full.row / full.rho)
    state = np.concatenate((q.ravel(), r.ravel()))
    assert float(q[0, 0] @ (full.weight * full.rho)) == pytest.approx(Q, rel=1e-13)

    def rates(y: np.ndarray) -> np.ndarray:
        dq, dr = full.rates(y[: q.size].reshape(q.shape).copy(), y[q.size :].reshape(r.shape))
        return np.concatenate((dq.ravel(), dr.ravel()))

    columns = []
    for place in range(state.size):
        step = 1e-4 * np.eye(state.size)[place]
        columns.append((rates(state + step) - rates(state - step)) / 2e-4)
    return np.sort(np.linalg.eigvals(np.array(columns).T).real)


@pytest.mark.parametrize("name", ["erf", "quadratic"])
def test_all_eigenvalues_of_the_flow(name: str) -> None:
    """Equal quadratic students drift apart (κ < 0), with every response; those of erf do not."""
    from symderiv.analysis.plateau.plateau_forms import plateau_forms
    from symderiv.analysis.plateau.stability import plateau_numbers

    forms = plateau_forms(derive_equations(learning_problem(name)))
    for M in (2, 3):
        teacher = two_modes(M)
        numbers = plateau_numbers(forms, teacher, sp.Integer(1), BITS)
        full = Full(name, teacher, 1.0, 0.0)
        expected = [
            float(value)
            for group in numbers.groups
            for value in group.values or ()
            for _ in range(group.multiplicity)
        ]
        assert (numbers.rates["difference_stiffness"] < 0) == (name == "quadratic")
        # Antisymmetric parts of Q are not a state: modules take the lower triangle.
        found = eigenvalues_of_the_flow(full, float(numbers.Q), float(numbers.R))
        found = np.delete(found, np.argsort(np.abs(found))[: M * (M - 1)])
        expected = sorted(expected)
        zeros = [value for value in expected if abs(value) < 1e-9]
        rest = [value for value in expected if abs(value) >= 1e-9]
        small = len([x for x in found if abs(x) < 1e-5])
        assert small == len(zeros)
        np.testing.assert_allclose([x for x in found if abs(x) >= 1e-5], rest, rtol=2e-6)


def test_a_learning_rate_without_plateau_is_refused_with_the_bound() -> None:
    teacher = teacher_of_moments(3, *map(sp.Integer, (1, 0, 1, 0)))
    flow = full_flow(derive_equations(learning_problem("erf")))
    with pytest.raises(InputError, match=r"learning_rate: 12 .* only up to (6\.4\d+)") as caught:
        full_plateau(flow, teacher, sp.Integer(12), BITS)
    bound = float(str(caught.value).partition("up to ")[2].split()[0])
    below = full_plateau(flow, teacher, sp.Rational(str(round(0.995 * bound, 4))), BITS)
    assert float(below.Q) > 10


@pytest.mark.parametrize(
    ("given", "bound"), [(("1.3", "-0.4"), 6.626), (("0.05", "0"), 4.634), (("3", "2.5"), 7.624)]
)
def test_where_plateaus_of_two_units_end_does_not_depend_on_what_was_asked(
    given: tuple[str, str], bound: float
) -> None:
    """Bounds by arclength on equations typed from Saad and Solla (1995), 50 digits.

    The first plateau has no fold: Q grows without bound, so that doubles say less of its end.
    """
    teacher = teacher_of_moments(2, *map(rational, 2 * given))
    flow = full_flow(derive_equations(learning_problem("erf")), units=2)
    for eta in (sp.Rational(str(bound + 0.002)), rational("61/5"), sp.Integer(20)):
        with pytest.raises(InputError) as caught:
            full_plateau(flow, teacher, eta, BITS)
        found = float(str(caught.value).partition("up to ")[2].split()[0])
        assert found == pytest.approx(bound, abs=1.01e-3)
    # This rate took forever: Newton's steps went on where doubles do not tell what they lead to.
    slow = sp.Rational(str(bound - 3e-4))
    try:
        full_plateau(flow, teacher, slow, BITS)
    except InputError:
        assert given == ("1.3", "-0.4")


def test_rectifiers_have_a_plateau_at_small_rates_and_scale_with_the_teachers() -> None:
    """Rectifiers see no scale: Q, C and R of T = 11/10 are 11/10 of those of T = 1."""
    from symderiv.analysis.plateau.plateau_report import kept_flow
    from symderiv.formula import activation

    found, flow = [], kept_flow(activation("relu"), True)
    for T1 in (sp.Integer(1), rational("11/10")):
        teacher = teacher_of_moments(2, T1, sp.Integer(0), T1, sp.Integer(0))
        found.append(full_plateau(flow, teacher, rational("1/100000"), BITS))
    for name in ("Q", "C", "R"):
        one, other = (getattr(each, name) for each in found)
        assert (1.1 * one).overlaps(other + arb(0, 1e-15))
        assert other.rel_accuracy_bits() > 80
    assert float(found[0].unstable_eigenvalue) == pytest.approx(
        float(found[1].unstable_eigenvalue), rel=1e-14
    )
