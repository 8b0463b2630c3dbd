"""The points of the claims on the Gaussian equivalence slides, by second routes."""

import math

import numpy as np
import pytest
from symderiv_papers.goldt.equivalence import cumulants
from symderiv_papers.goldt.ridge_runs import problems, runs, solution
from symderiv_papers.goldt.setup_points import grid

from symderiv.precision.balls.contexts import numbers


def test_cumulants_of_a_quadratic_generator_against_drawn_fields() -> None:
    """The field b h·c + cᵀ B c - tr B, its weights and rows drawn as in ``cumulants``."""
    N, D, b, e, seed = 12, 5, 1.0, 0.5, 3
    random = np.random.default_rng(seed)
    A = random.standard_normal((N, D))
    A /= np.linalg.norm(A, axis=1)[:, None]
    w = random.choice([0.5, 1.0, 1.5], size=N)
    u = random.standard_normal((1_000_000, D)) @ A.T
    field = (b * u + e * (u**2 - 1)) @ w / math.sqrt(N)
    moments = [float(np.mean(field**s)) for s in (1, 2, 3, 4)]
    errors = [float(np.std(field**s)) / 1000 for s in (1, 2, 3, 4)]
    second, third, fourth = cumulants(N, D, b, e, seed)
    expected = 0.0, second, third, fourth + 3 * second**2
    for moment, error, value in zip(moments, errors, expected, strict=True):
        assert abs(moment - value) < 4 * error
    assert third > 20 * errors[2]


def test_grid_gives_moments_of_normal_vectors() -> None:
    with numbers(30, "mpmath") as context:
        (x, y), weight = grid(2, 5, context)
        assert abs(context.fsum(x**8 * y**4 * weight) - 105 * 3) < 1e-25
        assert abs(context.fsum(x**10 * weight) - 945) > 1


@pytest.mark.parametrize("number", [0, 2])
def test_fixed_point_of_ridge_against_runs(number: int) -> None:
    """V̂, q̂, m̂ of the fixed point against those that runs imply; 4 errors and 5 %."""
    problem = problems()[number]
    found, expected = runs(problem), solution(problem)
    measured = (found.V, found.q, found.m, found.V_hat, found.q_hat, found.m_hat)
    for value, limit in zip(measured, expected, strict=True):
        assert abs(value.mean - limit) < 4 * value.error + 0.05 * abs(limit)
