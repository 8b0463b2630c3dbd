"""Polynomials of some symbols, and their means over Gaussian ones."""

import numpy as np
import sympy as sp

from symderiv.formula.polynomials import coefficients
from symderiv.lowering.means.closed_means import mean_over

X, Y, A, B = sp.symbols("x y a b", real=True)


def test_coefficients_put_together_are_the_expression() -> None:
    expression = (sp.tanh(A) * X - B + 1) ** 2 * (X * Y + sp.exp(A)) + B * (X - 1) ** 3
    found = coefficients(expression, [X, Y])
    assert found is not None
    assert set(found) == {(m, n) for m in range(4) for n in (0, 1)} - {(0, 1)}
    together = sum(c * X**m * Y**n for (m, n), c in found.items())
    assert sp.expand(together - expression) == 0
    assert not any(c.has(X) or c.has(Y) for c in found.values())


def test_coefficients_that_cancel_are_left_out() -> None:
    assert coefficients((X + 1) ** 2 - X**2, [X]) == {(1,): 2, (0,): 1}


def test_functions_and_quotients_are_no_polynomials() -> None:
    assert coefficients(sp.exp(X), [X]) is None
    assert coefficients(A + 1 / (1 + X), [X]) is None
    assert coefficients(X**A, [X]) is None


def test_a_mean_over_two_symbols_is_the_integral() -> None:
    polynomial = (X - 2 * Y + sp.tanh(A)) ** 3 * (X + 1) * Y
    s = sp.symbols("s11 s12 s22", real=True)
    mean = mean_over(polynomial, [X, Y], {(0, 0): s[0], (0, 1): s[1], (1, 1): s[2]})
    assert mean is not None
    numbers = {s[0]: 0.7, s[1]: -0.3, s[2]: 1.1, X: 0.4, Y: -0.2, A: 0.5}
    t, w = np.polynomial.hermite_e.hermegauss(8)
    factor = np.linalg.cholesky([[0.7, -0.3], [-0.3, 1.1]])
    grid = np.array([g.ravel() for g in np.meshgrid(t, t)])
    x, y = factor @ grid + np.array([[0.4], [-0.2]])
    values = (x - 2 * y + np.tanh(0.5)) ** 3 * (x + 1) * y
    wanted = float(np.multiply.outer(w, w).ravel() @ values) / w.sum() ** 2
    assert abs(float(mean.xreplace(numbers)) - wanted) < 1e-12 * abs(wanted)
    assert mean_over(sp.tanh(X), [X], {(0, 0): s[0]}) is None
