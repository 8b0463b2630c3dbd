"""Minima of empirical risks against random matrices, fits to examples, and what is possible."""

from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize, minimize_scalar

import symderiv as sd
from symderiv.equilibrium.risk.minimum import HingeProximal, proximal_of
from symderiv.learning.rule.loss import loss


def risk(**others: Any) -> sd.Problem:
    return sd.Problem("linear", students=1, teachers=1, **others)


def test_ridge_is_that_of_random_matrices() -> None:
    """The spectrum of Σ x xᵀ is Marchenko and Pastur's; the rest of y acts as noise."""
    alpha, ridge, noise = 2.0, 0.3, 0.5
    found = risk(teacher_activation="tanh", label_noise=noise).equilibrium(
        alpha=[alpha], kind="erm", ridge=ridge
    )
    first = float(sd.mean("tanh(x)*x", [[1]]))
    second = float(sd.mean("tanh(x)**2", [[1]])) + noise**2
    low, high = (alpha**0.5 - 1) ** 2, (alpha**0.5 + 1) ** 2

    def mean(f: Any) -> float:
        def density(x: float) -> float:
            return float(f(x) * ((high - x) * (x - low)) ** 0.5 / (2 * np.pi * x))

        return float(quad(density, low, high, epsabs=1e-12, limit=200)[0])

    m = first * mean(lambda x: x / (x + ridge))
    q = first**2 * mean(lambda x: (x / (x + ridge)) ** 2)
    q += (second - first**2) * mean(lambda x: x / (x + ridge) ** 2)
    assert found.overlap[0] == pytest.approx(m, abs=1e-8)
    assert found.norm[0] == pytest.approx(q, abs=1e-8)
    error = (second - noise**2 - 2 * first * m + q) / 2
    assert found.error[0] == pytest.approx(error, abs=1e-8)


def test_the_best_ridge_of_a_linear_teacher_is_possible_and_no_more() -> None:
    problem = risk(label_noise=0.7)
    fits = problem.equilibrium(alpha=[0.7], kind="erm")
    possible = problem.equilibrium(alpha=[0.7], kind="bayes-optimal")
    np.testing.assert_allclose(fits.ridge, 0.49, rtol=1e-3)
    np.testing.assert_allclose(fits.error, possible.error, rtol=1e-7)


@pytest.mark.parametrize("name", ["logistic", "hinge", "squared", "exponential"])
def test_proximal_operators_are_minima(name: str) -> None:
    operator = proximal_of(name, loss(name).expression)
    value: Any = sd.activation  # ℓ as a function of h and y, by hand
    value = {
        "logistic": lambda h, y: np.log1p(np.exp(-h * y)),
        "hinge": lambda h, y: max(0.0, 1 - h * y),
        "squared": lambda h, y: (h - y) ** 2 / 2,
        "exponential": lambda h, y: np.exp(-h * y),
    }[name]
    assert isinstance(operator, HingeProximal) == (name == "hinge")
    for y, V in ((1.0, 0.7), (-1.0, 3.0)):
        omega = np.array([-2.0, -0.3, 0.4, 0.9, 2.5])
        h, slope, cost = operator.at(omega, y, V)
        ahead = operator.at(omega + 1e-6, y, V)[0]
        np.testing.assert_allclose(slope, (ahead - h) / 1e-6, atol=1e-5)
        for n, w in enumerate(omega):
            best = minimize_scalar(
                lambda x, w=w, y=y, V=V: (x - w) ** 2 / (2 * V) + value(x, y),
                bounds=(-12, 12),
                method="bounded",
                options={"xatol": 1e-12},
            )
            assert h[n] == pytest.approx(best.x, abs=1e-6)
            assert cost[n] == pytest.approx(value(h[n], y), abs=1e-12)


def drawn(
    N: int, alpha: float, eigenvalues: np.ndarray, flip: float, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return inputs over √N, labels and the teacher times the eigenvalues."""
    B = random.normal(size=N)
    B *= (N / (eigenvalues @ B**2)) ** 0.5
    X = random.normal(size=(int(alpha * N), N)) * np.sqrt(eigenvalues / N)
    y = np.sign(X @ B) * np.where(random.random(len(X)) < flip, -1, 1)
    return X, y, eigenvalues * B


@pytest.mark.turns(2)
def test_logistic_fits_of_drawn_examples() -> None:
    random = np.random.default_rng(2)
    N, alpha, ridge = 400, 2.0, 0.5
    inputs = sd.Spectrum([0.4, 1.6])
    found = risk(loss="logistic", target="sign", label_flip=0.1, inputs=inputs).equilibrium(
        alpha=[alpha], kind="erm", ridge=ridge
    )
    eigenvalues = np.repeat([0.4, 1.6], N // 2)
    seen = []
    for _ in range(8):
        X, y, B = drawn(N, alpha, eigenvalues, 0.1, random)

        def cost(w: np.ndarray, X: Any = X, y: Any = y) -> tuple[float, np.ndarray]:
            margin = y * (X @ w)
            slope = -y / (1 + np.exp(margin))
            value = np.logaddexp(0, -margin).sum() + ridge * w @ w / 2
            return float(value), X.T @ slope + ridge * w

        w = minimize(cost, np.zeros(N), jac=True, method="L-BFGS-B", options={"gtol": 1e-7}).x
        margin = y * (X @ w)
        seen.append((w @ B / N, w @ (eigenvalues * w) / N, np.logaddexp(0, -margin).mean()))
    mean, error = np.mean(seen, axis=0), np.std(seen, axis=0, ddof=1) / 8**0.5
    expected = [found.overlap[0], found.norm[0], found.training_loss[0]]
    assert np.all(np.abs(mean - expected) < 4 * error + 0.003)
    wrong = np.arccos(found.overlap[0] / found.norm[0] ** 0.5) / np.pi
    assert found.error[0] == pytest.approx(wrong, abs=1e-12)


@pytest.mark.turns(2)
def test_hinge_fits_of_scikit_learn() -> None:
    svm = pytest.importorskip("sklearn.svm")
    random = np.random.default_rng(3)
    N, alpha, ridge = 400, 1.5, 0.5
    found = risk(loss="hinge", target="sign").equilibrium(alpha=[alpha], kind="erm", ridge=ridge)
    seen = []
    for _ in range(8):
        X, y, B = drawn(N, alpha, np.ones(N), 0.0, random)
        fit = svm.LinearSVC(
            C=1 / ridge, loss="hinge", fit_intercept=False, tol=1e-5, max_iter=100000
        )
        w = fit.fit(X, y).coef_[0]
        seen.append((w @ B / N, w @ w / N))
    mean, error = np.mean(seen, axis=0), np.std(seen, axis=0, ddof=1) / 8**0.5
    assert np.all(np.abs(mean - [found.overlap[0], found.norm[0]]) < 4 * error + 0.003)


def test_the_best_ridge_has_the_smallest_error() -> None:
    problem = risk(loss="logistic", target="sign", label_flip=0.1)
    best = problem.equilibrium(alpha=[1.0], kind="erm")
    for factor in (0.8, 1.25):
        other = problem.equilibrium(alpha=[1.0], kind="erm", ridge=float(best.ridge[0]) * factor)
        assert other.error[0] > best.error[0]
    axes = best.plot("ridge")
    assert axes.get_ylabel() == "ridge"
    assert "logistic" in best.to_text()


@pytest.mark.parametrize(
    ("given", "asked", "said"),
    [
        ({}, {"ridge": 0.0}, "ridge: must be above 0"),
        ({}, {"alpha": [0.0, 1.0]}, "alpha: must be above 0"),
        ({"students": 2}, {}, "students: empirical risk is minimised for one student"),
        ({"activation": "erf"}, {}, "activation: empirical risk is minimised"),
        ({"teachers": 2}, {}, "teachers: must be 1 for empirical risk"),
        ({"momentum": 0.5}, {}, "kind: empirical risk with"),
        (
            {"loss": "logistic", "target": "sign"},
            {"output": "sign(z) + 1"},
            "loss: the logistic",
        ),
        ({"loss": "huber"}, {"output": "sign(z)"}, "loss: huber has kinks"),
    ],
)
def test_what_is_not_known_is_refused(
    given: dict[str, Any], asked: dict[str, Any], said: str
) -> None:
    problem = sd.Problem(**{"activation": "linear", "students": 1, "teachers": 1, **given})
    with pytest.raises(sd.SymderivError, match=said):
        problem.equilibrium(**{"alpha": [1.0], "kind": "erm", **asked})
