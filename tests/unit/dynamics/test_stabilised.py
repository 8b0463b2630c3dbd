"""Stabilised steps: order and stability of the table, and when a run goes over to them."""

from __future__ import annotations

import numpy as np
import pytest
from symderiv_kernels.fast import erf

from symderiv.integrate.flows.flat_run import FlatProblem, StepLimits, integrate_flat
from symderiv.integrate.steppers import stabilised_table as table
from symderiv.integrate.steppers import switching
from symderiv.integrate.steppers.walk import WALK
from symderiv.problem.flat_layout import pack_parameters, pack_state, sizes_of


def tableau(number: int) -> tuple[np.ndarray, np.ndarray]:
    """The stages' coefficients and weights, as for any explicit Runge-Kutta method."""
    degree, start = table.DEGREES[number], table.STARTS[number]
    count = degree + 4
    rows, value = np.zeros((count, count)), np.zeros((degree + 1, count))
    value[1, 0] = table.RECURRENCE[start]
    for j in range(2, degree + 1):
        mu, kappa = table.RECURRENCE[start + 2 * j - 3 : start + 2 * j - 1]
        rows[j - 1] = value[j - 1]
        value[j] = (1 + kappa) * value[j - 1] - kappa * value[j - 2]
        value[j, j - 1] += mu
    a = table.STAGES[number]
    for stage, weights in enumerate(([], a[:1], a[1:3], a[3:])):
        rows[degree + stage] = value[degree]
        rows[degree + stage, degree : degree + len(weights)] += weights
    b = value[degree].copy()
    b[degree:] += table.SOLUTION[number]
    return rows, b


@pytest.mark.parametrize("number", range(0, table.DEGREES.size, 3))
def test_the_methods_have_order_four_and_the_second_solutions_order_three(number):
    A, b = tableau(number)
    c = A.sum(axis=1)
    conditions = [(b.sum(), 1), (b @ c, 1 / 2), (b @ c**2, 1 / 3), (b @ A @ c, 1 / 6)]
    conditions += [(b @ c**3, 1 / 4), ((b * c) @ A @ c, 1 / 8)]
    conditions += [(b @ A @ c**2, 1 / 12), (b @ A @ A @ c, 1 / 24)]
    for found, exact in conditions:
        assert found == pytest.approx(exact, abs=3e-12)
    assert abs(b @ c**4 - 1 / 5) > 1e-4
    error = np.concatenate([np.zeros(c.size - 4), table.ERROR[number, :4]])
    fifth = table.ERROR[number, 4]
    for power in range(3):
        assert error @ c**power + fifth == pytest.approx(0.0, abs=1e-11)
    assert abs(error @ c**3 + fifth) > 1e-6


@pytest.mark.parametrize("number", range(0, table.DEGREES.size, 4))
def test_the_methods_are_stable_on_the_axis_as_far_as_their_degree_is_chosen_for(number):
    A, b = tableau(number)
    stages = table.DEGREES[number] + 4
    for z in -np.linspace(1e-3, 0.353 * (stages - 1) ** 2 - 3.0, 400):
        k = np.zeros(stages)
        for s in range(stages):
            k[s] = z * (1.0 + A[s] @ k)
        assert abs(1.0 + b @ k) <= 1.0 + 1e-9, z


def test_stabilised_steps_are_left_where_they_cost_more_and_tried_where_they_cost_less():
    walk = np.zeros(1, dtype=WALK)[0]
    walk["rate"], walk["kind"], walk["alpha"] = 2.0, 1, 10.0
    walk["made"] = 39  # explicit steps would make 40 evaluations for this way
    assert switching.stays(walk)
    assert (walk["made"], walk["from_alpha"]) == (0, 10.0)
    walk["alpha"], walk["made"] = 20.0, 41
    assert not switching.stays(walk)
    walk["step"] = 5.0 / 2.0
    assert not switching.pays(walk, 3.0 / 2.0)
    assert switching.pays(walk, 100.0 / 2.0)
    walk["step"] = 1.0 / 2.0  # explicit steps that stability does not limit
    assert not switching.pays(walk, 100.0 / 2.0)


@pytest.mark.turns(6)
def test_a_long_run_with_modes_that_died_out_takes_fewer_evaluations_to_the_same_accuracy():
    L = 10
    rho = np.arange(1, L + 1) ** -2.0
    rho /= rho.mean()
    training = {"learning_rate": 0.3, "full_order": 1.0}
    sizes, weight = sizes_of(1, 1, L), np.full(L, 1.0 / L)
    one = np.ones(1)
    overlap = (rho**2)[:, None, None] * np.ones((L, 1, 1))
    T = np.array([[np.sum(weight * rho)]])
    parameters = pack_parameters(rho, weight, overlap, T, one, training)
    state = pack_state(np.full((L, 1, 1), 1e-2), np.zeros((L, 1, 1)), one)
    asked = np.geomspace(1e-2, 1e4, 60)

    def run(tolerance: float, stabilise: bool):
        problem = FlatProblem(erf.specialised(1, 1), state, sizes, parameters, asked)
        limits = StepLimits(tolerance, 1e-4 * tolerance, 1e-6)
        return integrate_flat(
            problem, limits, kinds=("explicit", "stabilised") if stabilise else ("explicit",)
        )

    exact, plain, found = run(1e-12, False), run(1e-8, False), run(1e-8, True)
    assert found.cause == "done"
    assert "stabilised" in found.method
    assert found.rhs_evaluations < plain.rhs_evaluations / 2
    largest = np.max(np.abs(exact.results), axis=1, keepdims=True)
    assert np.max(np.abs(found.results - exact.results) / largest) < 6e-8
