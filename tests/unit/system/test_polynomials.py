"""Polynomials of some symbols, and their means over Gaussian ones."""

import sympy as sp

from symderiv.formula.polynomials import coefficients

X, Y, A, B = sp.symbols("x y a b", real=True)


def test_coefficients_put_together_are_the_expression() -> None:
    expression = (sp.tanh(A) * X - B + 1) ** 2 * (X * Y + sp.exp(A)) + B * (X - 1) ** 3
    found = coefficients(expression, [X, Y])
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
