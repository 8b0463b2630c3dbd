"""Means of sampled fields against closed forms of the arcsine kind, written out here."""

import numpy as np
import pytest

import symderiv as sd
from symderiv.experiment.studies.rule_means import SampledMeans, Student, Teaching
from symderiv.experiment.studies.rule_tasks import Tasks
from symderiv.experiment.studies.study_measures import PlainErrors
from symderiv.integrate.rules.rule_functions import activation_function

V, W = np.array([0.7, -0.5]), np.array([0.9, -0.6, 0.3])
T = np.array([[1.4, 0.3, -0.2], [0.3, 0.8, 0.1], [-0.2, 0.1, 1.1]])
R = np.array([[0.3, -0.1, 0.2], [0.1, 0.2, -0.3]])
Q = np.array([[0.7, 0.2], [0.2, 0.5]])
TASKS = Tasks(
    np.array([W, [0.9, -0.6, 0.0]]), np.array([0, 1]), np.array([np.inf]), np.array([[0.4, 0.6]])
)
HEADS = np.array([V, [0.4, 0.8]])


def means(
    activation: str, sign: bool = False, keep: float = 1.0, input_noise: float = 0.0
) -> SampledMeans:
    teaching = Teaching(
        activation_function(activation),
        np.zeros(3),
        TASKS,
        sign,
        input_noise,
    )
    return SampledMeans(teaching, 2, T, activation_function(activation), None, keep)


def arcsines(covariance: np.ndarray) -> np.ndarray:
    """E[erf(u/√2) erf(w/√2)] of all pairs."""
    root = np.sqrt(1 + np.diag(covariance))
    return 2 / np.pi * np.arcsin(covariance / np.outer(root, root))


def half_squares(means_of_pairs: np.ndarray, v: np.ndarray, w: np.ndarray) -> float:
    weights = np.concatenate([v, -w])
    return 0.5 * float(weights @ means_of_pairs @ weights)


@pytest.mark.parametrize("distance", [1.0, 1e-2, 1e-4])
def test_errors_of_erf_are_those_of_the_arcsines_also_if_they_are_small(distance):
    # students near the first two teachers
    start = np.block([[Q, R], [R.T, T]])
    mixing = np.eye(5)
    mixing[:2] = distance * mixing[:2]
    mixing[:2, 2:4] += (1 - distance) * np.eye(2)
    whole = mixing @ start @ mixing.T
    v = distance * V + (1 - distance) * W[:2]
    student = Student(whole[:2, :2], whole[:2, 2:], whole[:2, :2], np.array([v, v]), np.zeros(2))
    found = means("erf").of_tasks(student)["generalization_error"]
    for task, w in enumerate(TASKS.teachers):
        expected = half_squares(arcsines(whole), v, w)
        assert found[task] == pytest.approx(expected, rel=1e-3)


def test_a_module_of_the_package_gives_the_same_errors_to_all_digits():
    study = sd.Problem(
        "erf", students=2, teachers=3, learning_rate=0.1, keep=0.8, inputs=sd.Isotropic(9)
    )._study
    assert PlainErrors.know(study)
    found = PlainErrors(study, T)(Q, R, V, W)
    expected = half_squares(arcsines(np.block([[Q, R], [R.T, T]])), V, W)
    assert found == pytest.approx(expected, rel=1e-12)
    for change in ({"teacher_biases": 0.1}, {"target": "sign"}, {"train_biases": True}):
        table = "training" if "target" in change else "network"
        ((key, value),) = change.items()
        assert not PlainErrors.know(study.changed({f"{table}.{key}": value}))


def test_tasks_have_their_heads_and_dropout_its_scale():
    student = Student(Q, R, Q + 0.25 * np.eye(2), HEADS, np.zeros(2))
    whole = arcsines(np.block([[Q, R], [R.T, T]]))
    found = means("erf", keep=0.8, input_noise=0.5).of_tasks(student)
    expected = [half_squares(whole, 0.8 * v, w) for v, w in zip(HEADS, TASKS.teachers, strict=True)]
    np.testing.assert_allclose(found["generalization_error"], expected, rtol=1e-3)
    noisy = arcsines(np.block([[Q + 0.25 * np.eye(2), R], [R.T, T]]))
    expected = [half_squares(noisy, 0.8 * v, w) for v, w in zip(HEADS, TASKS.teachers, strict=True)]
    np.testing.assert_allclose(found["noisy_error"], expected, rtol=1e-3)


def test_signs_are_taken_of_the_whole_sum():
    # linear units: E x sign(y) = sqrt(2/pi) E[xy] / sqrt(E y²)
    student = Student(Q, R, Q, np.array([V, V]), np.zeros(2))
    found = means("linear", sign=True).of_tasks(student)["generalization_error"]
    for task, w in enumerate(TASKS.teachers):
        s2, st, t2 = V @ Q @ V, V @ R @ w, w @ T @ w
        expected = 0.5 * (s2 - 2 * np.sqrt(2 / np.pi) * st / np.sqrt(t2) + 1)
        assert found[task] == pytest.approx(expected, rel=4e-3)
