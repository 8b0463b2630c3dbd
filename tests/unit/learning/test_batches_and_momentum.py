"""Equivalent rates of batches and momentum, against the updates with numbers in them."""

import numpy as np
import pytest
import sympy as sp

from symderiv.learning.derivation.equivalent_rates import BATCH as EXAMPLES
from symderiv.learning.derivation.equivalent_rates import (
    BETA,
    batched_velocities,
    heavy_ball,
    small_batch,
)


def test_heavy_ball_is_plain_descent_at_a_larger_rate() -> None:
    """On a quadratic valley of many coordinates, step by step with numbers."""
    found = heavy_ball()
    assert found.factor.subs(BETA, 0) == 1
    beta, random = 0.8, np.random.default_rng(2)
    J, V = random.standard_normal(7), np.zeros(7)
    symbols = {str(symbol): symbol for symbol in found.combination.free_symbols}
    combination = sp.lambdify([symbols["J"], symbols["V"], BETA], found.combination)
    followed = combination(J, V, beta)
    for _ in range(30):
        g = random.standard_normal(7)
        V = beta * V - g
        J = J + V
        followed = followed - float(found.factor.subs(BETA, beta)) * g
        assert combination(J, V, beta) == pytest.approx(followed, rel=1e-12)


def test_orders_are_below_one() -> None:
    for found in (heavy_ball(), small_batch()):
        (N,) = {symbol for symbol in found.distance.free_symbols if str(symbol) == "N"}
        assert sp.degree(1 / found.distance, N) == 1


def test_velocities_of_batches_move_as_those_of_single_examples_at_other_rates() -> None:
    """Drift and squares in a time of one, with numbers: N/b steps against N of single examples."""
    b, eta, gamma, sigma, N, drift, square = 3, 0.7, 1.3, 0.4, 1e6, 0.9, 2.1
    found = batched_velocities()
    scale, rate, memory, noise = (
        float(each.subs(EXAMPLES, b))
        for each in (found.velocity, found.rate, found.memory, found.noise)
    )
    U = 0.8
    moved = N / b * (-gamma / N * scale * U - eta / N * drift) / scale
    assert moved == pytest.approx(-memory * gamma * U - rate * eta * drift)
    squares = N / b * (eta**2 / N * square / b + sigma**2 / N) / scale**2
    assert squares == pytest.approx((rate * eta) ** 2 * square + (noise * sigma) ** 2)
