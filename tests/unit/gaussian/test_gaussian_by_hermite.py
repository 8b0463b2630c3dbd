"""Means of smooth integrands with means, phases and tilts against the Gauss-Hermite rule."""

import numpy as np
import pytest
import sympy as sp

from symderiv.gaussian import covariance_symbols, expectation

x, y, z = FIELDS = sp.symbols("x y z", real=True)
C = covariance_symbols(3)
R = sp.Rational
COVARIANCE = sp.Matrix(
    [[R(3, 4), R(1, 5), -R(1, 4)], [R(1, 5), R(1, 2), R(1, 7)], [-R(1, 4), R(1, 7), R(2, 3)]]
)
MEANS = (R(1, 3), -R(2, 5), R(1, 4))
NONE = (R(0), R(0), R(0))
POINT = {C[i, j]: COVARIANCE[i, j] for i in range(3) for j in range(3)}
ERF_X, ERF_Y = sp.erf(2 * x / 3), sp.erf(y - z / 2)


def by_rule(e: sp.Expr, means: tuple[sp.Expr, ...], covariance: sp.Matrix = COVARIANCE) -> float:
    """The product rule with 36 nodes a direction: exact to rounding for what is tried here."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(36)
    root = np.linalg.cholesky(np.array(covariance, dtype=float))
    grid = np.stack(np.meshgrid(nodes, nodes, nodes, indexing="ij")).reshape(3, -1)
    weight = np.einsum("i,j,k->ijk", weights, weights, weights).ravel() / (2 * np.pi) ** 1.5
    fields = root @ grid + np.array(means, dtype=float)[:, None]
    values = sp.lambdify(FIELDS, e, ["scipy", "numpy"])(*fields)
    return float(weight @ np.broadcast_to(values, weight.shape))


CASES = {
    "phases": (sp.sin(x + R(1, 3)) * sp.cos(y) * z, MEANS),
    "an odd phase": (sp.sin(x - y) * sp.sin(z) * x, MEANS),
    "a sign and a phase": (sp.sin(x + R(1, 3)) * ERF_Y * x, MEANS),
    "a sign, a phase, an exponential": (sp.cos(x) * sp.erf(x + y) * sp.exp(z / 2), NONE),
    "two signs": (ERF_X * ERF_Y * z, MEANS),
    "two signs, one mean": (ERF_X * sp.erf(y), (R(0), R(1, 2), R(0))),
    "copies of a sign": (sp.erf(x / 2) ** 2 * sp.erf(y / 2) * z, NONE),
    "two signs and a phase": (ERF_X * ERF_Y * sp.cos(z), NONE),
    "a tilt": (sp.exp(-(x**2) / 2) * ERF_Y * z**2, MEANS),
    "two tilts": (sp.exp(-((x + y) ** 2) / 3 - z**2 / 5) * (1 + x * z), MEANS),
    "a tilt of the sign's field": (sp.exp(-(y**2) / 2) * sp.erf(y) * z * x**2, MEANS),
}


@pytest.mark.parametrize("name", CASES)
def test_numbers_and_closed_forms_with_names(name: str) -> None:
    e, means = CASES[name]
    expected = by_rule(e, means)
    mean = sp.Matrix(means)
    exact = expectation(e, FIELDS, COVARIANCE, mean)
    assert float(exact.evaluate(15).value) == pytest.approx(expected, rel=1e-9, abs=1e-11)
    folded = expectation(e, FIELDS, C, mean, folded=True)
    values = dict(POINT)
    for symbol, definition in folded.definitions:
        values[symbol] = definition.xreplace(values).evalf(25)
    value = complex(folded.value.subs(values).evalf(20))
    assert value == pytest.approx(expected, rel=1e-9, abs=1e-11)


def test_a_growing_exponential() -> None:
    e = sp.exp(x**2 / 12 + y / 2) * sp.erf(x) * z
    exact = expectation(e, FIELDS, COVARIANCE, sp.Matrix(MEANS))
    assert float(exact.evaluate(15).value) == pytest.approx(by_rule(e, MEANS), rel=1e-9)


def test_definitions_of_a_tilted_field_do_not_cancel() -> None:
    """C_yx - C_yx C_xx/(C_xx + 1) would lose all digits where the variance of x is 10^14."""
    folded = expectation(sp.exp(-(x**2) / 2) * x * y, FIELDS[:2], C[:2, :2], folded=True)
    big = 1e14
    values = {C[0, 0]: big, C[0, 1]: 3e6, C[1, 1]: 1.0}
    for symbol, definition in folded.definitions:
        values[symbol] = float(definition.xreplace(values))
    assert float(folded.value.xreplace(values)) == pytest.approx(
        3e6 / (1 + big) ** 1.5, rel=1e-13, abs=0
    )


def test_numbers_need_no_definitions() -> None:
    e = sp.erf(x) * sp.erf(y) * x**2
    folded = expectation(e, FIELDS[:2], COVARIANCE[:2, :2], folded=True)
    assert folded.definitions == ()
    assert folded.value == expectation(e, FIELDS[:2], COVARIANCE[:2, :2]).value
