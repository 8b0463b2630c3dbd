"""Every mean of modules with a tanh on one side only, against randomised quasi-Monte Carlo."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import erf, ndtr
from scipy.stats import norm, qmc
from support.plain_module import plain_module

from symderiv.learning import generate

pytestmark = pytest.mark.turns(9)


Function = Callable[[NDArray[np.float64]], NDArray[np.float64]]
FACTOR = re.compile(r"([gh])('*)\((\w)\)")


def gelu(x: NDArray[np.float64]) -> NDArray[np.float64]:
    return x / 2 * (1 + erf(x / np.sqrt(2)))


def density(x: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)


# Derivatives of order 0, 1, 2; those of order 2 only where they are functions.
TANH: tuple[Function, ...] = (np.tanh, lambda x: 1 - np.tanh(x) ** 2)
STUDENTS: dict[str, tuple[Function, ...]] = {
    "relu": (lambda x: np.maximum(x, 0), lambda x: (x > 0).astype(float)),
    "gelu": (
        gelu,
        lambda x: ndtr(x) + x * density(x),
        lambda x: (2 - x**2) * density(x),
    ),
    "x**2/2 + x": (lambda x: x**2 / 2 + x, lambda x: x + 1, np.ones_like),
}


@pytest.mark.parametrize("student", STUDENTS)
def test_every_mean_is_that_of_its_definition(student: str) -> None:
    module = plain_module(generate("pair", student, "tanh", tolerance=1e-5))
    orders = {"g": STUDENTS[student], "h": TANH}
    rng = np.random.default_rng(20)
    compared = 0
    for name, function in vars(module).items():
        if not re.match(r"i[24]", name):
            continue
        factors = [(f, len(marks), z) for f, marks, z in FACTOR.findall(function.__doc__)]
        if any(order >= len(orders[f]) for f, order, _ in factors):
            continue
        fields = sorted({z for *_, z in factors})
        root = rng.normal(size=(len(fields), len(fields) + 1))
        covariance = root @ root.T / 3
        triangle = [covariance[a, b] for a in range(len(root)) for b in range(a, len(root))]
        assert len(inspect.signature(function).parameters) == len(triangle)
        means = []
        for seed in range(8):
            uniform = qmc.Sobol(len(fields), rng=seed).random(2**12)
            z = np.linalg.cholesky(covariance) @ norm.ppf(uniform).T
            values = [orders[f][order](z[fields.index(at)]) for f, order, at in factors]
            means.append(np.prod(values, axis=0).mean())
        scale = 0.5 if function.__doc__.startswith("1/2") else 1.0
        expected, spread = scale * np.mean(means), scale * np.std(means) / 7**0.5
        assert function(*triangle) == pytest.approx(expected, abs=6 * spread + 1e-4), name
        compared += 1
    assert compared > 8
