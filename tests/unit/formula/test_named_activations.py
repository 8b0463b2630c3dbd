"""Activations with a name against other forms of what the field calls by it."""

import math
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
import sympy as sp
from scipy.integrate import quad

import symderiv as sd
from symderiv.formula import activation, evaluate_scalar
from symderiv.formula.as_function import as_function

#: By other formulas than those of the table.
OTHERWISE: dict[str, Callable[[float], float]] = {
    "leaky_relu": lambda x: x if x > 0 else x / 100,
    "hard_tanh": lambda x: sorted((-1.0, x, 1.0))[1],
    "mish": lambda x: x * ((1 + math.exp(x)) ** 2 - 1) / ((1 + math.exp(x)) ** 2 + 1),
    "softsign": lambda x: math.copysign(1 - 1 / (1 + abs(x)), x),
    "elu": lambda x: x if x > 0 else math.expm1(x),
    "selu": lambda x: (
        1.0507009873554804934193349852946
        * (x if x > 0 else 1.6732632423543772848170429916717 * math.expm1(x))
    ),
    "arctan": lambda x: math.atan2(x, 1.0),
    "silu": lambda x: x / 2 * (1 + math.tanh(x / 2)),
    "swish": lambda x: x / 2 * (1 + math.tanh(x / 2)),
    "softplus": lambda x: float(np.logaddexp(0.0, x)),
}

POINTS = np.array([-7.0, -1.3, -1e-3, 0.0, 2e-3, 0.8, 5.0])


@pytest.mark.parametrize("name", OTHERWISE)
def test_a_name_means_what_the_field_means_by_it(name: str) -> None:
    wanted = [OTHERWISE[name](float(x)) for x in POINTS]
    found = activation(name)
    np.testing.assert_allclose(
        as_function(sp.Symbol("x", real=True), found.expression)(POINTS),
        wanted,
        rtol=1e-12,
        atol=1e-15,
    )
    said = name if name != "swish" else "SiLU"
    values = [evaluate_scalar(f"{said.lower()}({x!r})", {}) for x in POINTS.tolist()]
    np.testing.assert_allclose(values, wanted, rtol=1e-12, atol=1e-15)


def test_selu_keeps_mean_and_variance_of_a_normal() -> None:
    assert float(sd.mean("selu(x)", [[1]]).value) == pytest.approx(0.0, abs=2e-15)
    assert float(sd.mean("selu(x)**2", [[1]]).value) == pytest.approx(1.0, abs=2e-15)


@pytest.mark.parametrize(
    "name", ["mish", "softsign", "elu", "selu", "arctan", "leaky_relu", "hard_tanh"]
)
def test_means_of_named_activations_are_their_integrals(name: str) -> None:
    g = OTHERWISE[name]
    # y = a x + s z with an independent normal z: E[g(x) y^3] = E[g(x) (a^3 x^3 + 3 a s^2 x)]
    variance, other, covariance = 1.3, 0.7, -0.4
    a = covariance / variance
    s2 = other - a * covariance

    def inside(x: float) -> float:
        density = math.exp(-x * x / (2 * variance)) / math.sqrt(2 * math.pi * variance)
        return g(x) * (a**3 * x**3 + 3 * a * s2 * x) * density

    wanted = sum(quad(inside, *ends, epsabs=1e-13)[0] for ends in pairwise((-30, -1, 0, 1, 30)))
    found = sd.mean(f"{name}(x)*y**3", [["1.3", "-0.4"], ["-0.4", "0.7"]])
    assert float(found.value) == pytest.approx(wanted, rel=1e-10)
