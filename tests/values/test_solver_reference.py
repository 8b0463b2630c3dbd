"""The solver against a hand-written arbitrary-precision integration, to 1e-10.

The reference shares nothing with the engine: textbook integrals, another form of the equations,
another integrator, 33 digits. Its integrals are themselves checked against quadrature.
"""

from __future__ import annotations

import flint
import numpy as np
import pytest
from scipy.special import erf
from support import reference_dynamics as reference
from support.studies import toml

from symderiv.integrate.rules.solving import solve
from symderiv.problem.initial import initial
from symderiv.problem.study import parse_study

pytestmark = pytest.mark.turns(9)


TIMES = [0.5, 1.0, 2.0, 5.0, 10.0]

CASES = {
    "two units, one eigenvalue": (
        {"students": 2, "teachers": 2},
        {"model": "isotropic", "dimension": 200},
        {"learning_rate": 0.8},
    ),
    "two units, four eigenvalues": (
        {"students": 2, "teachers": 2},
        {"model": "power-law", "dimension": 200, "distinct_eigenvalues": 4, "exponent": 1.0},
        {"learning_rate": 0.5},
    ),
    "three students, two teachers": (
        {"students": 3, "teachers": 2, "student_weights": "sqrt(M)/K"},
        {
            "model": "spectrum",
            "eigenvalues": [1.6, 0.4, 0.0],
            "weights": [0.5, 0.3, 0.2],
            "dimension": 200,
        },
        {"learning_rate": 0.6},
    ),
    "both layers, noise, decay": (
        {
            "students": 2,
            "teachers": 3,
            "train_second_layer": True,
            "student_weights": [0.3, 0.9],
            "teacher_weights": [0.5, -0.7, 1.1],
        },
        {"model": "power-law", "dimension": 200, "distinct_eigenvalues": 2, "exponent": 0.5},
        {
            "learning_rate": 0.7,
            "second_layer_learning_rate": 0.4,
            "weight_decay": 0.05,
            "second_layer_weight_decay": 0.02,
            "label_noise": 0.3,
        },
    ),
    "small learning rate": (
        {"students": 2, "teachers": 2, "train_second_layer": True},
        {"model": "power-law", "dimension": 200, "distinct_eigenvalues": 2, "exponent": 1.0},
        {"learning_rate": 0.5, "order": "small-learning-rate", "label_noise": 0.5},
    ),
}


@pytest.fixture(autouse=True)
def precision():
    before = flint.ctx.prec
    flint.ctx.prec = 110
    yield
    flint.ctx.prec = before


def study_of(case: str, rtol: float):
    network, data, training = CASES[case]
    time = {"values": TIMES, "relative_tolerance": rtol, "absolute_tolerance": 1e-16}
    tables = {"data": data, "training": training, "time": time}
    initial = {"student_std": 0.4, "seed": 3}
    return parse_study(toml(network={"activation": "erf", **network}, initial=initial, **tables))


@pytest.mark.parametrize("case", CASES)
def test_the_solver_agrees_with_arbitrary_precision_to_ten_digits(case):
    study = study_of(case, 1e-13)
    start = initial(study)
    state = start.state
    training = study.training
    problem = reference.Problem(
        eigenvalue=reference.exact(state.eigenvalue),
        weight=reference.exact(state.weight),
        teacher_overlap=reference.exact(state.teacher_overlap),
        T=reference.exact(state.T),
        v_teacher=reference.exact(state.teacher_weights),
        K=state.K,
        eta=flint.arb(training.learning_rate),
        eta_v=flint.arb(study.second_layer_learning_rate),
        kappa=flint.arb(training.weight_decay),
        kappa_v=flint.arb(study.second_layer_weight_decay),
        sigma=flint.arb(training.label_noise),
        full=training.order == "full",
    )
    y = np.concatenate(
        [state.student_overlap.ravel(), state.cross_overlap.ravel(), state.student_weights]
    )
    exact, spent = reference.integrate(problem, reference.exact(y), TIMES, 1e-15)
    assert spent < 1e-12
    result = solve(study, start=start, check="never")
    assert result.cause == "done"
    flat = np.concatenate(
        [
            result.student_overlap.reshape(len(TIMES), -1),
            result.cross_overlap.reshape(len(TIMES), -1),
            result.v,
        ],
        axis=1,
    )
    expected = np.array([[float(x) for x in row] for row in exact])
    assert np.max(np.abs(flat - expected)) < 1e-10
    # it moved: the agreement is not that of two solvers that stand still
    assert np.max(np.abs(expected[-1] - y)) > 0.1
    errors = [float(problem.error(row).mid()) for row in exact]
    np.testing.assert_allclose(result.generalization_error, errors, rtol=0, atol=1e-12)
    K = state.K
    for row, y in enumerate(exact):
        C = problem.covariance(*problem.unpack(y)[:2])
        Q = [[float(C[i][j]) for j in range(K)] for i in range(K)]
        R = [[float(C[i][K + n]) for n in range(state.M)] for i in range(K)]
        np.testing.assert_allclose(result.Q[row], Q, rtol=0, atol=1e-10)
        np.testing.assert_allclose(result.R[row], R, rtol=0, atol=1e-10)


@pytest.mark.parametrize("rtol", [1e-5, 1e-8])
def test_the_stated_tolerance_is_kept_and_the_error_reported_is_not_smaller_than_the_true_one(rtol):
    best = solve(study_of("two units, four eigenvalues", 1e-13), check="never")
    result = solve(study_of("two units, four eigenvalues", rtol))
    true = max(
        np.max(np.abs(result.Q - best.Q) / np.max(best.Q, axis=(1, 2), keepdims=True)),
        np.max(np.abs(result.R - best.R) / np.max(best.Q, axis=(1, 2), keepdims=True) ** 0.5),
    )
    assert result.succeeded
    assert true <= result.tolerance_reached <= rtol
    assert "larger tolerance" in result.tolerance_method


def test_the_references_integrals_agree_with_quadrature():
    random = np.random.default_rng(2)
    root = random.standard_normal((4, 4)) * 0.4
    C = root @ root.T
    exact = reference.exact(C)
    # Gauss-Hermite in the independent coordinates of the four fields
    points, weights = np.polynomial.hermite_e.hermegauss(28)
    weights = weights / weights.sum()
    axes = np.meshgrid(points, points, points, points, indexing="ij", sparse=True)
    fields = [sum(root[a, b] * axes[b] for b in range(4)) for a in range(4)]

    def mean(values):
        for _ in range(4):
            values = values @ weights
        return float(values)

    g = [erf(field / np.sqrt(2)) for field in fields]
    slope = [np.sqrt(2 / np.pi) * np.exp(-(field**2) / 2) for field in fields]
    for found, expected in (
        (reference.i2(exact[0][0], exact[1][1], exact[0][1]), mean(g[0] * g[1])),
        (
            reference.i3(exact[0][0], exact[0][1], exact[0][2], exact[1][2], exact[2][2]),
            mean(slope[0] * fields[1] * g[2]),
        ),
        (reference.i4(exact, 0, 1, 2, 3), mean(slope[0] * slope[1] * g[2] * g[3])),
        (reference.i4(exact, 0, 1, 1, 3), mean(slope[0] * slope[1] * g[1] * g[3])),
        (
            reference.g_prime_product(exact[0][0], exact[1][1], exact[0][1]),
            mean(slope[0] * slope[1]),
        ),
    ):
        # 28 nodes per axis leave about 1e-9 for variances up to 1
        assert float(found) == pytest.approx(expected, abs=3e-8)
