"""Noise of kinked units as runs compute it, against panels that close in on where layers are.

The reference knows nothing of the engine's rules: three fields, each between the kinks of its own
factor, with panels a hundred thousand times smaller beside places where others are steep; fields of
one plane in polar coordinates, between the directions where one of them is at its kink.
"""

import math
from collections.abc import Callable

import numpy as np
import pytest
from support.sectors import in_sectors

import symderiv as sd
from symderiv.storage.study_kernel import kernel_for

pytestmark = pytest.mark.turns(15)

SCALE, SHARE = 1.0507009873554805, 1.6732632423543772
Function = Callable[[np.ndarray], np.ndarray]


def elu(x: np.ndarray) -> np.ndarray:
    return np.where(x > 0, x, np.expm1(np.minimum(x, 0)))


def elu_slope(x: np.ndarray) -> np.ndarray:
    return np.where(x > 0, 1.0, np.exp(np.minimum(x, 0)))


def selu(x: np.ndarray) -> np.ndarray:
    return SCALE * np.where(x > 0, x, SHARE * np.expm1(np.minimum(x, 0)))


def selu_slope(x: np.ndarray) -> np.ndarray:
    return SCALE * np.where(x > 0, 1.0, SHARE * np.exp(np.minimum(x, 0)))


UNITS: dict[str, tuple[Function, Function]] = {
    "elu": (elu, elu_slope),
    "selu": (selu, selu_slope),
    "softsign": (lambda x: x / (1 + abs(x)), lambda x: 1 / (1 + abs(x)) ** 2),
}

POINTS, WEIGHTS = np.polynomial.legendre.leggauss(8)
CLOSER = np.array([1e-5, 1e-4, 1e-3, 4e-3, 1.5e-2, 5e-2, 0.15, 0.4])
CLOSER = np.r_[-CLOSER, 0.0, CLOSER]


def line(*cuts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Points and Gaussian weights, a row for every entry of the cuts."""
    whole = np.broadcast_to(np.linspace(-9, 9, 10), (cuts[0].size, 10))
    beside = [np.clip(cut[:, None] + CLOSER, -9, 9) for cut in cuts]
    edges = np.sort(np.concatenate([whole, *beside], axis=1), axis=1)
    half, middle = np.diff(edges, axis=1) / 2, (edges[:, 1:] + edges[:, :-1]) / 2
    z = (middle[:, :, None] + half[:, :, None] * POINTS).reshape(len(edges), -1)
    weight = (half[:, :, None] * WEIGHTS).reshape(len(edges), -1)
    return z, weight * np.exp(-z * z / 2) / math.sqrt(2 * math.pi)


def noise(unit: str, covariance: np.ndarray, v: np.ndarray, taught: float) -> np.ndarray:
    """E[v_i g'(x_i) v_j g'(x_j) (taught g(y) - v g(x))²] for two students and one teacher."""
    (g, slope), L = UNITS[unit], np.linalg.cholesky(covariance)
    (z1,), (w1,) = line(np.zeros(1))
    z2, w2 = line(-L[1, 0] * z1 / L[1, 1], -L[2, 0] * z1 / L[2, 1])
    x = np.stack(
        [np.repeat(L[0, 0] * z1, z2.shape[1]), (L[1, 0] * z1[:, None] + L[1, 1] * z2).ravel()]
    )
    shift, weight = (L[2, 0] * z1[:, None] + L[2, 1] * z2).ravel(), (w1[:, None] * w2).ravel()
    total = np.zeros((2, 2))
    for some in np.array_split(np.arange(shift.size), 60):
        z3, w3 = line(-shift[some] / L[2, 2])
        y, output = shift[some, None] + L[2, 2] * z3, v @ g(x[:, some])
        square = ((taught * g(y) - output[:, None]) ** 2 * w3).sum(axis=1) * weight[some]
        total += np.einsum("ik,jk,k->ij", slope(x[:, some]), slope(x[:, some]), square)
    return total * v[:, None] * v


def of_runs(
    unit: str, covariance: np.ndarray, v: np.ndarray, taught: np.ndarray
) -> tuple[np.ndarray, float]:
    """The noise in the rates of runs, what the learning rate of one adds in its second order, and
    the error of a mean that the module states.
    """
    weights = {"student_weights": v.tolist(), "teacher_weights": taught.tolist()}
    problem = sd.Problem(unit, students=2, teachers=taught.size, learning_rate=1.0, **weights)
    parts = {"Q": covariance[:2, :2], "R": covariance[:2, 2:], "T": covariance[2:, 2:]}
    both, first = (
        problem.replace(order=order).rates(**parts).dQ for order in ("full", "small-learning-rate")
    )
    return both - first, float(kernel_for(problem._study).module.ACTIVATION_ERROR)


def covariance_of(unit: str, nearly: str) -> np.ndarray:
    """Return the covariance of two students and a teacher, some of which are nearly the same."""
    rng = np.random.default_rng(len(unit + nearly))
    rows = rng.normal(size=(3, 3))
    if nearly == "students":
        rows[1] = rows[0] + 1e-3 * rng.normal(size=3)
    elif nearly == "teacher":
        rows[2] = 0.7 * rows[0] + 1e-2 * rng.normal(size=3)
    elif nearly == "opposite":
        rows[1] = 0.05 * rng.normal(size=3) - rows[0]
    rows /= np.sqrt(np.sum(rows**2, axis=1).max() / 1.8)
    covariance: np.ndarray = rows @ rows.T
    return covariance


# Rows of four fields in the plane: where rules were worst, and general ones.
PLANES = (
    [[1.0283, 0.0], [0.877535, 0.630149], [0.613084, 0.145257], [0.603216, -0.496605]],
    [[0.259995, 0.0], [-0.672226, 0.473754], [-0.554128, -0.236664], [1.26811, 0.541592]],
    *np.random.default_rng(3).normal(size=(2, 4, 2)) / 2,
)


def noise_in_plane(unit: str, rows: np.ndarray, v: np.ndarray, taught: np.ndarray) -> np.ndarray:
    """The same for students x = rows[:2] z and teachers y = rows[2:] z, z normal in the plane."""
    g, slope = UNITS[unit]
    fields, weights = in_sectors(rows, 120)
    apart = np.tensordot(taught, g(fields[2:]), 1) - np.tensordot(v, g(fields[:2]), 1)
    slopes = slope(fields[:2])
    total = np.einsum("p,ip,jp,p->ij", weights, slopes, slopes, apart**2)
    return total * v[:, None] * v


@pytest.mark.parametrize("unit", UNITS)
def test_noise_keeps_the_stated_error(unit: str) -> None:
    v, taught = np.array([1.0, 0.8]), np.array([1.1])
    for nearly in ("general", "students", "teacher", "opposite"):
        covariance = covariance_of(unit, nearly)
        found, error = of_runs(unit, covariance, v, taught)
        # nine terms with weights of about one
        allowed = 9 * error
        assert found == pytest.approx(noise(unit, covariance, v, 1.1), abs=allowed), nearly
        assert allowed < 1e-8
    taught = np.array([1.1, -0.7])
    for rows in map(np.array, PLANES):
        found, error = of_runs(unit, rows @ rows.T, v, taught)
        expected = noise_in_plane(unit, rows, v, taught)
        assert found == pytest.approx(expected, abs=16 * error)
