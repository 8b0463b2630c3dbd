"""The right-hand side at a state, against the definition of the update and by other routes."""

import math
from typing import Any

import numpy as np
import pytest

import symderiv as sd

Q = np.array([[0.8, 0.1, 0.0], [0.1, 0.5, -0.2], [0.0, -0.2, 1.1]])
R = np.array([[0.3, -0.1], [0.2, 0.4], [0.1, 0.2]])
T = np.array([[1.2, 0.3], [0.3, 0.7]])
V = np.array([0.9, -0.4, 0.6])


def problem(activation: str = "erf", **changes: Any) -> sd.Problem:
    return sd.Problem(
        activation,
        students=3,
        teachers=2,
        teacher_activation="relu",
        learning_rate=0.7,
        train_second_layer=True,
        second_layer_learning_rate=0.3,
        weight_decay=0.05,
        label_noise=0.2,
        teacher_weights=[0.5, -1.1],
        **changes,
    )


def sampled(samples: int, seed: int) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Means of the change per example over samples of the fields, and their standard errors."""
    rng = np.random.default_rng(seed)
    covariance = np.block([[Q, R], [R.T, T]])
    fields = rng.multivariate_normal(np.zeros(5), covariance, samples)
    x, y = fields[:, :3], fields[:, 3:]
    erf = np.vectorize(math.erf)
    student, slope = erf(x / math.sqrt(2)), math.sqrt(2 / math.pi) * np.exp(-(x**2) / 2)
    clean = student @ V - np.maximum(y, 0.0) @ np.array([0.5, -1.1])
    delta = clean - 0.2 * rng.standard_normal(samples)
    F = V * slope * delta[:, None]
    eta, kappa = 0.7, 0.05
    one = F[:, :, None] * x[:, None, :]
    dQ = -eta * (one + one.swapaxes(1, 2)) + eta**2 * F[:, :, None] * F[:, None, :] - 2 * kappa * Q
    dR = -eta * F[:, :, None] * y[:, None, :] - kappa * R
    dv = -0.3 * student * delta[:, None]
    values = {"dQ": dQ, "dR": dR, "dv": dv, "generalization_error": clean**2 / 2}
    means = {name: value.mean(axis=0) for name, value in values.items()}
    errors = {name: value.std(axis=0) / math.sqrt(samples) for name, value in values.items()}
    return means, errors


@pytest.mark.turns(6)
def test_rates_are_the_mean_change_of_one_example() -> None:
    found = problem().rates(Q=Q, R=R, T=T, v=V)
    means, errors = sampled(200_000, seed=11)
    for name, mean in means.items():
        distance = np.abs(getattr(found, name) - mean) / errors[name]
        assert np.max(distance) < 5.0, name


def test_rates_of_schedules_and_tasks_are_the_slope_of_the_trajectory_at_their_time() -> None:
    h, start = 1e-4, {"Q": Q[:2, :2], "R": R[:2], "T": T}
    stated = sd.Problem(
        "erf",
        students=2,
        teachers=2,
        train_second_layer=True,
        inputs=sd.Isotropic(300),
        schedule={"power": 0.5, "after": 0.5},
        tasks=[{"until": 1.0, "teachers": [0]}, {"teachers": [1]}],
    )
    run = stated.solve(alpha=[0.5 - h, 0.5, 2 - h, 2, 2 + h], initial=start, progress=False)
    for at, head, before, after, step in ((1, 0, 0, 1, h), (3, 1, 2, 4, 2 * h)):
        order = {"Q": run.Q[at], "R": run.R[at], "T": T, "v": run.heads[at, head]}
        found = stated.rates(**order, alpha=run.alpha[at])
        accuracy = {"rtol": 2e-3 if at == 1 else 1e-6, "atol": 1e-6}
        for now, values in ((found.dQ, run.Q), (found.dv, run.heads[:, head])):
            np.testing.assert_allclose((values[after] - values[before]) / step, now, **accuracy)
        assert found.generalization_error == pytest.approx(run.generalization_error[at], rel=1e-9)
    with pytest.raises(sd.InputError, match="finite time"):
        stated.rates(**start, alpha=-1)


@pytest.mark.parametrize(
    ("order", "argument"),
    [
        ({"Q": Q[:2, :2], "R": R, "T": T}, "Q"),
        ({"R": R, "T": T}, "Q"),
        ({"Q": Q, "R": 10 * R, "T": T}, "R"),
        ({"Q": Q + np.eye(3, k=1), "R": R, "T": T}, "Q"),
        ({"Q": Q, "R": R}, "T"),
        ({"Q": Q, "R": R, "T": T, "v": ["a", 1, 2]}, "v"),
    ],
)
def test_what_is_no_state_is_refused_by_name(order: dict[str, Any], argument: str) -> None:
    with pytest.raises(sd.InputError) as caught:
        problem().rates(**order)
    assert caught.value.argument == argument
