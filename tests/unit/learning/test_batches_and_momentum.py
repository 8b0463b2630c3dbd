"""Maps of batches and equivalent rates, against the updates with numbers in them."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp

from symderiv.learning import derive_equations, learning_problem
from symderiv.learning.derivation import symbols as s
from symderiv.learning.derivation.equivalent_rates import BATCH as EXAMPLES
from symderiv.learning.derivation.equivalent_rates import (
    BETA,
    batched_velocities,
    heavy_ball,
    small_batch,
)
from symderiv.learning.derivation.motion import BATCH
from symderiv.learning.rule.learning_rule import LearningRule

K, M, L = 2, 3, 2


@pytest.fixture(scope="module")
def numbers() -> dict[str, np.ndarray]:
    random = np.random.default_rng(5)
    n, N = np.array([40, 24]), 64
    J, B = random.standard_normal((K, N)), random.standard_normal((M, N))
    return {
        "J": J,
        "teachers": B,
        "first": np.array([0, 40, 64]),
        "eigenvalue": np.array([0.7, 1.9]),
        "multiplicity": n,
        "A": random.standard_normal((K, K)),
        "B": random.standard_normal((M, K)).T,
        "Gamma": np.array([[1.3, 0.2], [0.2, 0.8]]),
        "dv": random.standard_normal(K),
    }


def _overlaps(numbers: dict[str, np.ndarray], J: np.ndarray) -> dict[str, np.ndarray]:
    """Q_k, r_k, t_k with Σ_a over an eigenspace; φ = ρ times the teachers' vectors."""
    found: dict[str, list[np.ndarray]] = {"student": [], "cross": [], "teacher": []}
    for k in range(L):
        part = slice(numbers["first"][k], numbers["first"][k + 1])
        phi = numbers["eigenvalue"][k] * numbers["teachers"][:, part]
        count = numbers["multiplicity"][k]
        found["student"].append(J[:, part] @ J[:, part].T / count)
        found["cross"].append(J[:, part] @ phi.T / count)
        found["teacher"].append(phi @ phi.T / count)
    return {name: np.array(values) for name, values in found.items()}


def _value(expression: sp.Expr, at: dict[sp.Basic, int], numbers: dict[str, np.ndarray]) -> float:
    here = _overlaps(numbers, numbers["J"])
    arrays = {
        "student_overlap": here["student"],
        "cross_overlap": here["cross"],
        "teacher_overlap": here["teacher"],
        **{name: numbers[name] for name in ("eigenvalue", "A", "B", "Gamma", "dv")},
    }
    places = {index: sp.Integer(number) for index, number in at.items()}
    done = expression.xreplace({s.K: sp.Integer(K), s.M: sp.Integer(M), **places}).doit()
    values = {
        e: arrays[str(e.base.label)][tuple(int(index) for index in e.indices)]
        for e in done.atoms(sp.Indexed)
    }
    return float(done.xreplace(values).xreplace({s.eta: 0.3, s.eta_v: 0.2, BATCH: 2.5}))


@pytest.mark.turns(6)
def test_the_map_of_a_batch_is_that_of_vectors(numbers: dict[str, np.ndarray]) -> None:
    eta, N = 0.3, numbers["J"].shape[1]
    variance = np.repeat(numbers["eigenvalue"], numbers["multiplicity"])
    # a gradient whose mean is that of Stein's rule, and noise of covariance ρ Γ N/b around it
    J, B = numbers["J"], numbers["teachers"]
    moved = J - eta * variance * (numbers["A"] @ J + numbers["B"] @ B)
    before, after = _overlaps(numbers, J), _overlaps(numbers, moved)
    rule = LearningRule(batches=True)
    motion = derive_equations(learning_problem("linear", rule=rule)).motion
    derived = {str(field.base.label): rate for field, rate in motion.rates}
    for k in range(L):
        noise = eta**2 * numbers["eigenvalue"][k] * numbers["Gamma"] / 2.5
        for i in range(K):
            for j in range(K):
                found = _value(derived["student_overlap"], {s.k: k, s.i: i, s.j: j}, numbers)
                wanted = (after["student"] - before["student"])[k, i, j] + noise[i, j]
                assert found == pytest.approx(wanted, rel=1e-12)
            for n in range(M):
                found = _value(derived["cross_overlap"], {s.k: k, s.i: i, s.n: n}, numbers)
                assert found == pytest.approx(
                    (after["cross"] - before["cross"])[k, i, n], rel=1e-12
                )
    assert _value(derived["v"], {s.i: 1}, numbers) == -0.2 * numbers["dv"][1]
    assert N == 64


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
