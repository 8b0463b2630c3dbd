"""Covariances: validation, and conditional entries against explicit Schur complements."""

from collections.abc import Sequence

import pytest
import sympy as sp

from symderiv.foundation.errors import InexactError, InputError, ShapeError
from symderiv.gaussian.terms.algebra import Algebra
from symderiv.gaussian.terms.covariance import (
    Gaussian,
    Shift,
    Variable,
    covariance_symbols,
    validated,
)
from symderiv.gaussian.terms.working_terms import Affine

R = sp.Rational


def unit(index: int, count: int, constant: object = 0) -> Affine:
    return Affine(tuple(sp.Integer(k == index) for k in range(count)), sp.sympify(constant))


def gaussian(
    covariance: sp.Matrix, mean: Sequence[object] = (), noise: Sequence[object] = ()
) -> Gaussian:
    """One variable per field, with the given noise variances."""
    n = covariance.shape[0]
    means = [sp.sympify(m) for m in mean] or [sp.S.Zero] * n
    noises = [sp.sympify(v) for v in noise] or [sp.S.Zero] * n
    entries = [[covariance[i, j] for j in range(n)] for i in range(n)]
    algebra = Algebra([*means, *noises, *covariance], {})
    if not algebra.numeric:
        algebra.choose_reference(entries)
    variables = [Variable(unit(i, n), noises[i], str(i), f"z_{i}") for i in range(n)]
    return Gaussian(
        algebra,
        [[algebra.element(e) for e in row] for row in entries],
        [algebra.element(m) for m in means],
        variables,
        Shift((sp.S.Zero,) * n, (sp.S.Zero,) * n),
    )


def quotient(g: Gaussian, given: tuple[int, ...], i: int, j: int) -> sp.Expr:
    return g.algebra.expression(g.n(given, i, j)) / g.algebra.expression(g.d(given))


@pytest.mark.parametrize("given", [(0,), (1, 2), (0, 1, 2)])
def test_conditional_entries_and_means_are_schur_complements(given: tuple[int, ...]) -> None:
    c = covariance_symbols(4)
    mean = sp.symbols("m1:5", real=True)
    g = gaussian(c, mean)
    block = c.extract(list(given), list(given)).inv()
    rest = [i for i in range(4) if i not in given]
    for i in rest:
        row = c.extract([i], list(given)) * block
        explained = row * sp.Matrix([mean[k] for k in given])
        assert sp.cancel(quotient(g, given, i, g.real) - mean[i] + explained[0]) == 0
        for j in rest:
            expected = c[i, j] - (row * c.extract(list(given), [j]))[0]
            assert sp.cancel(quotient(g, given, i, j) - expected) == 0


def test_rank_loss_is_recognised_exactly_also_with_square_roots() -> None:
    s = sp.sqrt(6)
    g = gaussian(sp.Matrix([[2, s], [s, 3]]))
    assert g.collinear((), 0, 1)
    assert g.is_zero((0,), 1, 1)


@pytest.mark.parametrize(
    ("matrix", "error"),
    [
        ([[1, 0, 0], [0, 1, 0]], ShapeError),
        ([[1, R(1, 2)], [R(1, 3), 1]], InputError),
        ([[1, 2], [2, 1]], InputError),
        ([[-1, 0], [0, 1]], InputError),
        ([[0, 1], [1, 1]], InputError),
        ([[sp.Float("1.0"), 0], [0, 1]], InexactError),
        ([[sp.nan, 0], [0, 1]], InputError),
        ([[sp.I, 0], [0, 1]], InputError),
    ],
)
def test_bad_covariances_are_refused(matrix: list[list[object]], error: type[InputError]) -> None:
    with pytest.raises(error):
        validated(sp.Matrix(matrix), None, 2)


def test_fields_of_no_variance_may_not_be_correlated() -> None:
    with pytest.raises(InputError, match="zero variance"):
        validated(sp.Matrix([[0, 1], [1, 0]]), None, 2)
    r = sp.Symbol("r", real=True)
    assert validated(sp.Matrix([[0, r], [r, 0]]), None, 2)[0][0][1] == r  # r may be zero


def test_a_negative_variance_is_refused_whatever_it_is_correlated_with() -> None:
    r = sp.Symbol("r", real=True)
    for matrix in ([[1, r], [r, -1]], [[r, 1], [1, R(-1, 3)]]):
        with pytest.raises(InputError, match="the variance of field 2 is -"):
            validated(sp.Matrix(matrix), None, 2)
