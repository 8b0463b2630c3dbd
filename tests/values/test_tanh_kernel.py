"""The scalar functions of tanh modules against quadrature of the exact activations.

The bounds follow from the proved errors: |g| ≤ 1 and |g'| ≤ 1 in the means, so replacing one factor
after the other changes I2 by at most 2 ε0, its derivative by c12 by 2 ε1, I4 by 2 (ε0 + ε1).
"""

from __future__ import annotations

import functools
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import erf
from support.plain_module import plain_module

from symderiv.learning import generate

pytestmark = pytest.mark.turns(9)


TOLERANCE = 1e-5


@functools.cache
def module(student: str, teacher: str | None = None) -> SimpleNamespace:
    return plain_module(generate("tested", student, teacher, TOLERANCE))


def g(x):
    return np.tanh(x)


def dg(x):
    return 1 / np.cosh(x) ** 2


def logistic(x):
    return 0.5 + 0.5 * np.tanh(0.5 * x) + 0.25 * x


def mean(factors, covariance, nodes=61):
    """Trapezoidal rule over the independent variables of a Cholesky factor; exact to 1e-9 here."""
    factor = np.linalg.cholesky(covariance + 1e-15 * np.eye(len(covariance)))
    t = np.linspace(-7.5, 7.5, nodes)
    weight = np.exp(-t * t / 2)
    weight /= weight.sum()
    total = np.ones(())
    grids = np.meshgrid(*[t] * len(factors), indexing="ij", sparse=True)
    for number, function in enumerate(factors):
        field = sum(factor[number, k] * grids[k] for k in range(number + 1))
        total = total * function(field)
        total = total * weight.reshape([-1 if k == number else 1 for k in range(len(factors))])
    return float(total.sum())


def upper(covariance):
    return covariance[np.triu_indices(len(covariance))]


def covariances(size, seed):
    rng = np.random.default_rng(seed)
    factor = rng.normal(size=(size, size))
    generic = factor @ factor.T / size
    # the state at the end of learning: the last field becomes the one before
    aligned = generic.copy()
    aligned[-1] = aligned[-2]
    aligned[:, -1] = aligned[:, -2]
    aligned[-1, -1] = aligned[-2, -2] + 1e-9
    small = generic * np.outer(*[np.r_[1e-3, np.ones(size - 1)]] * 2)
    return [generic, aligned, small]


@pytest.mark.parametrize("number", range(3))
def test_means_of_two_factors_of_tanh(number):
    m, c = module("tanh"), covariances(2, 5)[number]
    error, slope = m.ACTIVATION_ERROR, m.ACTIVATION_DERIVATIVE_ERROR
    assert abs(m.i2(*upper(c)) - mean([g, g], c, 401)) <= 2 * error
    assert abs(m.i2_12(*upper(c)) - mean([dg, dg], c, 401)) <= 2 * slope


@pytest.mark.parametrize("number", range(3))
def test_mean_of_four_factors_of_tanh(number):
    m, c = module("tanh"), covariances(4, 6)[number]
    bound = 2 * (m.ACTIVATION_ERROR + m.ACTIVATION_DERIVATIVE_ERROR)
    assert abs(m.i4(*upper(c)) - mean([dg, dg, g, g], c)) <= bound


def test_price_derivatives_are_those_of_the_mean():
    m = module("tanh")
    c11, c12, c22, h = 0.8, -0.5, 1.7, 1e-5
    by_covariance = (m.i2(c11, c12 + h, c22) - m.i2(c11, c12 - h, c22)) / (2 * h)
    by_variance = (m.i2(c11 + h, c12, c22) - m.i2(c11 - h, c12, c22)) / (2 * h)
    assert m.i2_12(c11, c12, c22) == pytest.approx(by_covariance, abs=1e-9)
    assert m.i2_11(c11, c12, c22) == pytest.approx(by_variance, abs=1e-9)


def test_affine_parts_and_another_teacher():
    m = module("1/(1+exp(-x)) + x/4", "sign")
    error = m.ACTIVATION_ERROR

    def slope(x):
        return 0.25 / np.cosh(0.5 * x) ** 2 + 0.25

    c = covariances(4, 8)[0]
    pair = c[:2, :2]
    assert abs(m.i2_ss(*upper(pair)) - mean([logistic, logistic], pair, 401)) <= 4 * error
    expected = mean([slope, slope, logistic, logistic], c)
    assert abs(m.i4_ss(*upper(c)) - expected) <= 8 * (error + m.ACTIVATION_DERIVATIVE_ERROR)
    # the jump of the teacher converges slowly in a rule with equal steps: its mean is done by hand
    three = c[:3, :3]
    conditional = three[2, :2] @ np.linalg.inv(three[:2, :2])
    rest = three[2, 2] - conditional @ three[:2, 2]
    factor = np.linalg.cholesky(three[:2, :2])
    t = np.linspace(-8, 8, 201)
    w = np.exp(-t * t / 2)
    w /= w.sum()
    u, v = factor[0, 0] * t[:, None], factor[1, 0] * t[:, None] + factor[1, 1] * t[None, :]
    signs = erf((conditional[0] * u + conditional[1] * v) / np.sqrt(2 * rest))
    expected = np.einsum("i,j,ij->", w, w, slope(u) * slope(v) * logistic(u) * signs)
    c4 = c[np.ix_([0, 1, 0, 2], [0, 1, 0, 2])]
    assert abs(m.i4_st(*upper(c4)) - expected) <= 8 * (error + m.ACTIVATION_DERIVATIVE_ERROR)
    # twice the same teacher: the square of a sign is one
    squared = m.i4_tt_abcc(*upper(three))
    assert squared == pytest.approx(m.i2_12_ss(*upper(pair)), rel=1e-12)
