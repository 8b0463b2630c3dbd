"""Sums are rewritten without changing their value, and evaluated less often."""

import numpy as np
import pytest
import sympy as sp
from symderiv_codegen import Array, Assignment, ScalarFunction, print_numba
from unit.codegen.support import as_plain_python, one_procedure, text_of

K, M = sp.symbols("K M", integer=True)
i, j, a, b = (sp.Idx(name, K) for name in "ijab")
Q, R, v, w = map(sp.IndexedBase, ["Q", "R", "v", "w"])
out, total = sp.IndexedBase("out"), sp.Symbol("total", real=True)
f, g, h = map(sp.Function, "fgh")
x, y, z = sp.symbols("x y z", real=True)

SYMMETRIC_Q = Array("Q", ("K", "K"), symmetric=True)
V, W, R_ANY = Array("v", ("K",)), Array("w", ("K",)), Array("R", ("K", "K"))
EXCHANGED = ScalarFunction("f", (x, y, z), (), (x + z) * y**2, "", symmetries=((2, 1, 0),))
RANDOM = np.random.default_rng(5)


def run(value: sp.Expr, **arrays: np.ndarray) -> float:
    """The value as the generated text computes it."""
    inputs = tuple(
        Array(name, ("K",) * array.ndim, symmetric=name == "Q") for name, array in arrays.items()
    )
    program = one_procedure(
        inputs, (Array("total"),), Assignment(total, value), functions=(EXCHANGED,)
    )
    return float(as_plain_python(print_numba(program))["p"](*arrays.values()))


def test_a_sum_over_exchangeable_pairs_runs_over_half_of_them() -> None:
    value = sp.Sum(v[i] * v[j] * f(Q[i, i], Q[i, j], Q[j, j]), i, j)
    matrix = RANDOM.normal(size=(4, 4))
    matrix, vector = matrix + matrix.T, RANDOM.normal(size=4)
    program = one_procedure(
        (SYMMETRIC_Q, V), (Array("total"),), Assignment(total, value), functions=(EXCHANGED,)
    )
    assert "for i in range(j + 1):" in text_of(program)
    d = np.diag(matrix)
    expected = np.einsum("i,j,ij->", vector, vector, (d[:, None] + d[None, :]) * matrix**2)
    assert run(value, Q=matrix, v=vector) == pytest.approx(expected, rel=1e-13)


def test_only_pairs_that_run_over_the_same_range_are_halved() -> None:
    """Indices that may be exchanged, but one of them runs further, or begins later."""
    vector, matrix = RANDOM.normal(size=5), RANDOM.normal(size=(5, 5))
    matrix = matrix + matrix.T
    terms = np.outer(vector, vector) * matrix
    for first, second in (
        *(((0, K - 1), (0, K - 2)), ((0, K - 2), (0, K - 1)), ((1, K - 1), (1, K - 1))),
        *(((1, K - 1), (0, K - 1)), ((0, K - 1), (0, K - 1))),
    ):
        value = sp.Sum(v[i] * v[j] * Q[i, j], (i, *first), (j, *second))
        ends = [(low, int(high.subs(K, 5)) + 1) for low, high in (first, second)]
        expected = terms[slice(*ends[0]), slice(*ends[1])].sum()
        assert run(value, Q=matrix, v=vector) == pytest.approx(expected, rel=1e-12)


def test_a_sum_of_something_without_the_index_is_a_product() -> None:
    assert run(sp.Sum(v[0], i), v=np.array([2.0, 5.0, 7.0])) == 6.0


def test_cases_that_vanish_are_not_evaluated() -> None:
    value = sp.Sum(sp.Piecewise((v[i] / (v[i] - v[0]), sp.Ne(i, 0)), (0, True)), i)
    assert run(value, v=np.array([1.0, 2.0, 3.0])) == pytest.approx(3.5)


def test_sums_with_limits_of_their_own_and_shifted_indices() -> None:
    value = sp.Sum(v[i] * w[i + 1] * sp.Sum(v[a], (a, 0, i)), (i, 0, K - 2))
    vector, other = RANDOM.normal(size=(2, 5))
    expected = sum(vector[p] * other[p + 1] * vector[: p + 1].sum() for p in range(4))
    assert run(value, v=vector, w=other) == pytest.approx(expected, rel=1e-13)
