"""The baselines of the benchmarks compute what the generated modules compute."""

import numpy as np
import pytest
from support.plain_module import checked_in

from benchmarks.kernel_limits import compiled_arguments
from benchmarks.numpy_baseline import FastBaseline, power_law_problem
from symderiv.problem.flat_layout import split_flat


# a single mode; more than one block of modes, and a part of one
@pytest.mark.turns(6)
@pytest.mark.parametrize("L", [1, 1029])
@pytest.mark.parametrize("full", [True, False])
def test_the_fast_baseline_agrees_with_the_plain_one_and_with_the_module(full, L):
    K, M = 4, 3
    problem, state = power_law_problem(K, M, L, learning_rate=0.3, seed=3)
    state = state * 40.0  # students of about the size of the teachers
    y, parameters, derivative = compiled_arguments(problem, state, full)
    sizes = np.array([K, M, L])
    checked_in("erf").flat_right_hand_side(0.0, y, sizes, parameters, derivative)
    found = np.empty_like(y)
    FastBaseline(problem).right_hand_side(y, found, full)
    scale = np.abs(found).max()
    np.testing.assert_allclose(found, derivative, rtol=1e-11, atol=1e-14 * scale)
    if full:
        d_students, d_cross, _ = split_flat(found, K, M, L)
        expected = problem.right_hand_side(0.0, state)
        parts = np.concatenate([d_students.ravel(), d_cross.ravel()])
        np.testing.assert_allclose(parts, expected, rtol=1e-11, atol=1e-14 * scale)
