r"""The linearisation around perfect learning against the generated solver of the full equations.

Rates: the eigenvalues of a difference Jacobian of the solver, restricted to the specialising state.
Curves: the solver integrated from a state close to the teachers. Both know nothing of the symmetric
reduction or of the basis in which the linearisation is written.
"""

import mpmath
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from symderiv.analysis.late.late_dynamics import LateDynamics, fitted_exponent
from symderiv.analysis.late.perfect_equations import tidied
from symderiv.analysis.late.perfect_learning import perfect_learning
from symderiv.foundation.errors import InputError
from symderiv.inputs.spectra import power_law
from symderiv.integrate.flows.study_flow import flat_constants
from symderiv.problem.state import State, split_flat
from symderiv.problem.study import parse_study
from symderiv.storage.kernels import load_kernel

pytestmark = pytest.mark.turns(9)


RHO = np.array([2.0, 0.7, 0.3])
WEIGHT = np.array([0.3, 0.3, 0.4])
RHO = RHO / (WEIGHT @ RHO)

CASES = [
    (2, "1", "0", 0.5, "small-learning-rate"),
    (3, "1.3", "0.2", 0.8, "small-learning-rate"),
    (3, "1.3", "0.2", 2.5, "full"),
    (5, "0.7", "-0.1", 6.0, "full"),  # above the critical learning rate
]


class Full:
    """The generated solver at K = M = units, and states given by deviations from the teachers."""

    def __init__(self, units, T1, D1, eta, order, activation="erf"):
        self.units, self.L = units, RHO.size
        self.teacher = self.matrix(float(T1), float(D1) / (units - 1))
        t = np.array([rho**2 * self.teacher for rho in RHO])
        v = np.full(units, units**-0.5)
        Q = np.array([self.teacher] * self.L)
        self.state = State(
            RHO, WEIGHT, Q, RHO[:, None, None] * Q, t, self.teacher * (WEIGHT @ RHO), v, v
        )
        study = parse_study(
            f'[network]\nactivation = "{activation}"\nstudents = {units}\nteachers = {units}\n'
            '[data]\nmodel = "isotropic"\ndimension = 100\n'
            f'[training]\nlearning_rate = {eta}\norder = "{order}"\n[time]\nend = 1.0\n'
        )
        self.parameters = flat_constants([study], [self.state])[0]
        self.sizes = np.array([units, units, self.L])
        self.kernel = load_kernel(activation)
        self.right_hand_side = self.kernel.right_hand_side_for(units, units)

    def matrix(self, same, other):
        return (same - other) * np.eye(self.units) + other

    def flat(self, cross, square):
        """The state with J·B - B·B and J·J - B·B of every eigenspace, shapes (L, M, M)."""
        flat = self.state.flat().copy()
        Q, r, _ = split_flat(flat, self.units, self.units, self.L)
        Q[:] = self.teacher + square
        r[:] = RHO[:, None, None] * (self.teacher + cross)
        return flat

    def rates(self, flat):
        derivative = np.empty_like(flat)
        self.right_hand_side(
            0.0, np.ascontiguousarray(flat), self.sizes, self.parameters, derivative
        )
        return derivative

    def symmetric_rates(self, x):
        """Rates of (r, s, q, c), shape (4, L) flat, of all eigenspaces."""
        r, s, q, c = x.reshape(4, self.L)
        flat = self.flat(
            np.array([self.matrix(a, b) for a, b in zip(r, s, strict=True)]),
            np.array([self.matrix(a, b) for a, b in zip(q, c, strict=True)]),
        )
        dQ, dr, _ = split_flat(self.rates(flat), self.units, self.units, self.L)
        return np.concatenate([dr[:, 0, 0] / RHO, dr[:, 0, 1] / RHO, dQ[:, 0, 0], dQ[:, 0, 1]])

    def errors(self, flat, alpha):
        found = solve_ivp(
            lambda _, y: self.rates(y),
            (0.0, alpha[-1]),
            flat,
            method="DOP853",
            rtol=1e-13,
            atol=1e-17,
            t_eval=alpha,
        )
        M = self.units
        return np.array(
            [
                self.kernel.flat_observables(
                    np.ascontiguousarray(y),
                    self.sizes,
                    self.parameters,
                    np.empty((M, M)),
                    np.empty((M, M)),
                )
                for y in found.y.T
            ]
        )


def dynamics(units, T1, D1, eta, order):
    return LateDynamics("erf", units, RHO, WEIGHT, eta, order, (T1, D1))


@pytest.mark.parametrize("case", CASES)
def test_rates_are_the_eigenvalues_of_the_full_equations(case):
    full, found = Full(*case), dynamics(*case)
    n, h = 4 * RHO.size, 2e-4
    jacobian = np.empty((n, n))
    for column in range(n):
        e = np.zeros(n)
        e[column] = h
        outer = full.symmetric_rates(2 * e) - full.symmetric_rates(-2 * e)
        inner = full.symmetric_rates(e) - full.symmetric_rates(-e)
        jacobian[:, column] = (8 * inner - outer) / (12 * h)
    expected = np.linalg.eigvals(jacobian)
    assert np.max(np.abs(expected.imag)) < 1e-9
    assert found.rates() == pytest.approx(np.sort(-expected.real), abs=2e-11)
    assert found.stable == bool(np.all(found.rates() > 0))


@pytest.mark.parametrize("case", CASES[1:3])
def test_the_second_order_error_is_that_of_the_full_equations(case):
    """Its relative error shrinks with the distance; that of the first order does not."""
    full, found = Full(*case), dynamics(*case)
    rng = np.random.default_rng(4)
    alpha = np.array([0.0, 1.0, 4.0, 10.0, 20.0])
    draws = rng.normal(size=(2, 3)), 1.0 + rng.random((2, 3))
    off, first = [], []
    for size in (3e-2, 3e-3):
        r, d = size * draws[0], size**2 * draws[1]

        def matrices(pair, M=full.units):
            same, other = (pair[0] + (M - 1) * pair[1]) / M, (pair[0] - pair[1]) / M
            return np.array([full.matrix(a, b) for a, b in zip(same, other, strict=True)])

        cross = matrices(r)
        along = cross @ np.linalg.inv(full.teacher) @ cross
        exact = full.errors(full.flat(cross, 2 * cross + along + matrices(d)), alpha)
        off.append(np.max(np.abs(found.error_of(alpha, r, d) / exact - 1)))
        first.append(np.max(np.abs(found.error_of(alpha, r, d, second_order=False) / exact - 1)))
    assert off[0] < 0.1
    assert off[1] < 0.15 * off[0]
    assert min(first) > 0.01


@pytest.mark.parametrize("part", [0.3, 1.2])
def test_the_driven_error_is_that_of_the_integrated_equations(part):
    """r decays, and its square and D drive D: by an explicit integrator, below and above the
    critical rate, with eigenvalues over three decades and label noise."""
    eigenvalue, weight = np.geomspace(1e-3, 1.0, 7), np.array([0.3, 0.2, 0.15, 0.05, 0.1, 0.1, 0.1])
    given = "erf", 3, eigenvalue, weight
    critical = LateDynamics(*given, 0.1, "full", (1.3, 0.2)).critical_learning_rate
    late = LateDynamics(*given, part * critical, "full", (1.3, 0.2), label_noise=0.2)
    eta, mass = late.learning_rate, weight * eigenvalue
    curvature = np.array(late.theory.noise_curvature(3, *late.teacher_moments))
    stiffness, teacher = late.stiffness[:, None], late.teacher[:, None]

    def rates(_, flat):
        r, D = flat.reshape(2, 2, -1)
        X = r @ mass
        noise = late.source + late.noise_slope @ ((D + r * r / teacher) @ mass)
        noise = noise + np.einsum("abc,b,c->a", curvature, X, X) / 2
        dr = -eta * eigenvalue * (stiffness * r + teacher * (late.response @ X)[:, None])
        dD = -2 * eta * eigenvalue * stiffness * D + eta**2 * eigenvalue * noise[:, None]
        return np.concatenate([dr.ravel(), dD.ravel()])

    rng = np.random.default_rng(5)
    r, D = rng.normal(scale=0.1, size=(2, 7)), rng.uniform(0, 0.02, (2, 7))
    alpha = np.array([0.0, 0.5, 7.0, 120.0])
    start = np.concatenate([r.ravel(), D.ravel()])
    run = solve_ivp(rates, (0, 120.0), start, "DOP853", t_eval=alpha, rtol=1e-12, atol=1e-15)
    r_at, D_at = np.moveaxis(run.y.T.reshape(-1, 2, 2, 7), 1, 0)
    X = r_at @ mass
    known = (late.stiffness * ((D_at + r_at * r_at / teacher) @ mass)) @ late.multiplicity
    known = (known + np.einsum("pa,ab,pb,a->p", X, late.response, X, late.multiplicity)) / 2
    np.testing.assert_allclose(late.driven_error(alpha, r, D), known, rtol=1e-9)


def test_the_critical_learning_rate_is_where_a_rate_changes_sign():
    for units, T1, D1 in ((2, "1", "0"), (4, "1.4", "-0.2")):
        critical = dynamics(units, T1, D1, 1.0, "full").critical_learning_rate
        below, above = (
            np.min(dynamics(units, T1, D1, factor * critical, "full").rates())
            for factor in (1 - 1e-6, 1 + 1e-6)
        )
        assert below > 0 > above


def test_no_state_outside_of_the_symmetric_ones_is_less_stable():
    """Full Jacobian, all matrices: at the critical learning rate nothing else grows."""
    critical = dynamics(3, "1", "0", 1.0, "full").critical_learning_rate
    full = Full(3, "1", "0", critical, "full")
    base = full.flat(np.zeros((3, 3, 3)), np.zeros((3, 3, 3)))
    columns = []
    h = 2e-4
    for k in range(3):
        for i in range(3):
            for j in range(i + 1):
                square = np.zeros((3, 3, 3))
                square[k, i, j] = square[k, j, i] = h
                change = full.flat(np.zeros((3, 3, 3)), square) - base
                columns.append(change)
    rows = []
    for change in columns:
        rate = (full.rates(base + change) - full.rates(base - change)) / (2 * h)
        Q, r, _ = split_flat(rate, 3, 3, 3)
        distance = Q - (r + r.transpose(0, 2, 1)) / RHO[:, None, None]
        rows.append([distance[k, i, j] for k in range(3) for i in range(3) for j in range(i + 1)])
    growth = np.linalg.eigvals(np.array(rows).T)
    assert np.max(growth.real) == pytest.approx(0.0, abs=1e-6)


def test_matrices_are_symbolic_in_the_number_of_units():
    found = perfect_learning("erf(x/sqrt(2))")
    G, H, F = (tidied(matrix) for matrix in (found.G, found.H, found.F))
    M = next(iter(G.free_symbols))
    for units in (2, 3, 7):
        full = Full(units, "1", "0", 1.0, "full")
        mean = np.ones(3)  # all eigenspaces deviate alike
        exact = [np.array(m.subs(M, units).evalf(), dtype=float) for m in (G, H, F)]
        h = 1e-4
        for column in range(4):
            x = np.zeros((4, 3))
            x[column] = h * mean
            slope = (full.symmetric_rates(x.ravel()) - full.symmetric_rates(-x.ravel())) / (2 * h)
            for row in range(4):
                entry = -exact[0][row, column] - exact[1][row, column] + exact[2][row, column]
                assert slope.reshape(4, 3)[row] == pytest.approx(entry * RHO, abs=1e-6)


def test_the_first_order_sum_at_many_eigenvalues_against_60_digits():
    model = power_law(4096, 1.0).components[0]
    found = LateDynamics("erf", 4, model.eigenvalue, model.weight, 0.1)
    alpha = [0.0, 10.0, 1e3, 1e5]
    value = found.generalization_error(alpha, 0.1, second_order=False)
    context = mpmath.MPContext()
    context.dps = 60
    stiffness = found.theory.coefficients(4, digits=60).stiffness
    start = context.mpf(1) + context.mpf(0.1) ** 2
    eta = context.mpf(0.1)
    rho = [context.mpf(x) for x in model.eigenvalue]
    for a, got in zip(alpha[1:], value[1:], strict=True):
        exact = sum(
            mu
            * A
            * start
            * context.fsum(x * context.exp(-2 * eta * A * x * context.mpf(a)) for x in rho)
            / (2 * len(rho))
            for mu, A in zip((1, 3), stiffness, strict=True)
        )
        assert float(abs(got - exact) / exact) < 1e-12


def test_the_error_decays_with_the_exponent_of_the_spectrum():
    """-β/(1+β) as L grows; at finite L the fit is off, and less so with more eigenvalues."""
    beta, fits = 1.0, []
    for L in (256, 4096):
        model = power_law(L, beta).components[0]
        found = LateDynamics("erf", 2, model.eigenvalue, model.weight, 0.05)
        alpha = np.geomspace(*found.window, 40)
        fits.append(fitted_exponent(alpha, found.generalization_error(alpha), found.window))
    off = [abs(fit.exponent + beta / (1 + beta)) for fit in fits]
    assert off[1] < off[0] < 0.1
    assert off[1] < fits[1].error


def test_what_has_no_linearisation_is_refused():
    eigenvalue, weight = np.ones(1), np.ones(1)
    with pytest.raises(InputError, match="kink"):
        LateDynamics("relu", 2, eigenvalue, weight, 0.1)
    with pytest.raises(InputError, match="does not tell units apart"):
        LateDynamics("linear", 2, eigenvalue, weight, 0.1)
    with pytest.raises(InputError, match="below 2"):
        LateDynamics("erf", 1, eigenvalue, weight, 0.1)
    with pytest.raises(InputError, match=r"D: 3/2 is outside \(-1, 1\)"):
        LateDynamics("erf", 2, eigenvalue, weight, 0.1, teachers=(1, "1.5"))
    with pytest.raises(InputError, match="learning_rate"):
        LateDynamics("erf", 2, eigenvalue, weight, 0.0)
